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

/// The kind of file system of other machines that a folder is on, if it is on one.
pub(super) fn network_file_system(path: &Path) -> Result<Option<&'static str>, FolderError> {
    #[cfg(target_os = "linux")]
    {
        let found = rustix::fs::statfs(path)
            .map_err(|error| FolderError::io("look at", path, io::Error::from(error)))?;
        // The kernel's numbers are 32 bits; the field is as wide as the machine likes.
        Ok(network_kind(found.f_type as u32))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        Ok(None)
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

/// Which file system of other machines has this number: those on which the locks of SQLite, or the
/// memory that it shares between processes, do not reach all users.
///
/// Not among them: FUSE, virtiofs, overlay and 9P. The roots and folders of containers are on them,
/// where they work; that an `sshfs` is among the FUSE ones cannot be told.
#[cfg(target_os = "linux")]
fn network_kind(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xff53_4d42 => "CIFS",
        0xfe53_4d42 => "SMB2",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x00c3_6400 => "Ceph",
        0x0bd0_0bd0 => "Lustre",
        0x564c => "NCP",
        0x786f_4256 => "VirtualBox shared folder",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_other_machines_are_known_and_those_of_containers_spared() {
        let network = [
            (0x6969, "NFS"),
            (0xff53_4d42, "CIFS"),
            (0xfe53_4d42, "SMB2"),
            (0x6b41_4653, "AFS"),
            (0x00c3_6400, "Ceph"),
            (0x0bd0_0bd0, "Lustre"),
        ];
        for (magic, kind) in network {
            assert_eq!(network_kind(magic), Some(kind));
        }
        let local = [
            ("ext4", 0xef53),
            ("XFS", 0x5846_5342),
            ("Btrfs", 0x9123_683e),
            ("ZFS", 0x2fc1_2fc1),
            ("tmpfs", 0x0102_1994),
            ("overlay", 0x794c_7630),
            ("FUSE and virtiofs", 0x6573_5546),
            ("9P", 0x0102_1997),
        ];
        for (kind, magic) in local {
            assert_eq!(network_kind(magic), None, "{kind}");
        }
    }
}
