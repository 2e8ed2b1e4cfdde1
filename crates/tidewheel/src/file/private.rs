//! Folders and files for their owner alone, whatever the umask.
//!
//! Whether others may use what is there already is found out by whoever opens it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use super::lock::{give_owner, only_owner};

/// Makes a folder, and those above it that are not there, for its owner alone. One that is there stays as it is.
///
/// # Errors
///
/// When one of them cannot be made.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let is_there = |folder: &&Path| folder.as_os_str().is_empty() || folder.is_dir();
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !is_there(folder)).collect();
    missing.into_iter().rev().try_for_each(make_one)
}

/// The umask may take away what the owner needs, so the mode is said again.
fn make_one(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        // Somebody else makes it at the same time.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            return Ok(());
        }
        made => made?,
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Makes or empties a file to be written, for its owner alone.
///
/// # Errors
///
/// When it cannot be made or opened.
pub fn make_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    only_owner(&mut options);
    let file = options.open(path)?;
    give_owner(&file)?;
    Ok(file)
}
