//! File systems of other machines: on those, locks and shared memory of this one do not reach everybody.
//!
//! What is refused there is for whoever relies on a lock to say.

use std::io;
use std::path::Path;

/// The kind of file system of other machines that a path is on, if it is on one.
///
/// # Errors
///
/// When nobody can look.
pub fn network_file_system(path: &Path) -> io::Result<Option<&'static str>> {
    #[cfg(target_os = "linux")]
    {
        let found = rustix::fs::statfs(path).map_err(io::Error::from)?;
        // The kernel's numbers are 32 bits; the field is as wide as the machine likes.
        Ok(network_kind(found.f_type as u32))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        Ok(None)
    }
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
