//! What the operating system says about folders and files: modes, identity, kind of file system.
//!
//! Nothing about databases is known here.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::error::FolderError;
use crate::file::make_private_folder;

/// Makes the folder, for its owner alone, unless it is there; also those above it that are not there.
pub(super) fn make_folder(path: &Path) -> Result<(), FolderError> {
    let made = make_private_folder(path);
    made.map_err(|source| FolderError::io("make the folder", path, source))
}

/// Refuses a folder that others can write; takes reading away from them.
pub(super) fn check_folder(path: &Path) -> Result<(), FolderError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let fail = |source| FolderError::io("look at", path, source);
        let metadata = std::fs::metadata(path).map_err(fail)?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o022 != 0 {
            return Err(FolderError::WritableByOthers { path: path.to_owned(), mode });
        }
        if mode & 0o077 != 0 {
            let permissions = std::fs::Permissions::from_mode(mode & 0o700);
            std::fs::set_permissions(path, permissions)
                .map_err(|source| FolderError::io("restrict", path, source))?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Lets the owner write what belongs to a file that may be written: it was made when that could not be, and
/// got its mode from it.
pub(super) fn match_modes(path: &Path, others: [PathBuf; 2]) -> Result<(), FolderError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).map(|found| found.permissions().mode());
        for other in others {
            let (Ok(own), Ok(its)) = (mode(path), mode(&other)) else { continue };
            if own & 0o200 != 0 && its & 0o200 == 0 {
                std::fs::set_permissions(&other, std::fs::Permissions::from_mode(own & 0o777))
                    .map_err(|source| FolderError::io("change the mode of", &other, source))?;
            }
        }
    }
    #[cfg(not(unix))]
    let _ = (path, others);
    Ok(())
}

/// The nearest folder above in which others could put another one in place of this.
pub(super) fn open_parent(path: &Path) -> Option<&Path> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // In a folder with the sticky bit, such as /tmp, only owners rename and remove.
        let is_open = |folder: &&Path| {
            std::fs::metadata(folder).is_ok_and(|metadata| {
                let mode = metadata.permissions().mode();
                mode & 0o022 != 0 && mode & 0o1000 == 0
            })
        };
        path.ancestors().skip(1).find(is_open)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Makes a change of names in a folder last.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
