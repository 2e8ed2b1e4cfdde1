//! Removing files of runs: only what is really in the data folder, whatever links lie in the way.
//!
//! A step has the rights of its user and could put a link in the place of a folder of logs; what is
//! behind it is nobody's business here. Which files are to go is decided in `prune`.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path};

/// What became of a file that is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removed {
    /// It is gone, and had so many bytes.
    Gone(u64),
    /// It was not there, or is not in the folder.
    Nothing,
}

/// Removes a file below `folder`, and folders above it that are empty then, but not the first one. Links are
/// not followed; one in the place of the file goes itself.
pub(super) fn remove(folder: &Path, stored: &Path) -> io::Result<Removed> {
    let Some(parts) = plain_parts(stored) else { return Ok(Removed::Nothing) };
    let Some((name, above)) = parts.split_last() else { return Ok(Removed::Nothing) };
    let Some(way) = Way::open(folder, above)? else { return Ok(Removed::Nothing) };
    let removed = way.remove(name)?;
    way.remove_empty();
    Ok(removed)
}

/// The names in a folder below `folder`. A link in its place is removed.
pub(super) fn list(folder: &Path, stored: &Path) -> io::Result<Vec<OsString>> {
    let Some(parts) = plain_parts(stored) else { return Ok(Vec::new()) };
    match Way::open(folder, &parts)? {
        Some(way) => way.names(),
        None => {
            // No folder: nothing at all, or a link.
            if let Some((name, above)) = parts.split_last()
                && let Some(way) = Way::open(folder, above)?
            {
                way.remove_link(name)?;
            }
            Ok(Vec::new())
        }
    }
}

/// The parts of a path that stays inside; `None` if it could lead elsewhere.
fn plain_parts(stored: &Path) -> Option<Vec<OsString>> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    };
    stored.components().map(part).collect()
}

#[cfg(target_os = "linux")]
use by_descriptor::Way;
#[cfg(not(target_os = "linux"))]
use by_path::Way;

#[cfg(target_os = "linux")]
mod by_descriptor {
    //! Folder by folder, each opened in the one before: nobody can put a link in the way meanwhile.

    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt as _;

    use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
    use rustix::io::Errno;

    use super::*;

    /// Folders that were gone through without following a link.
    pub(super) struct Way {
        folders: Vec<OwnedFd>,
        names: Vec<OsString>,
    }

    impl Way {
        /// `None`: one of them is not there, or is no folder.
        pub fn open(folder: &Path, names: &[OsString]) -> io::Result<Option<Self>> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            // The data folder itself may well be a link.
            let mut folders = vec![openat(CWD, folder, flags, Mode::empty())?];
            for name in names {
                let above = &folders[folders.len() - 1];
                match openat(above, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
                    Ok(next) => folders.push(next),
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(Some(Self { folders, names: names.to_vec() }))
        }

        fn last(&self) -> &OwnedFd {
            &self.folders[self.folders.len() - 1]
        }

        pub fn remove(&self, name: &OsString) -> io::Result<Removed> {
            let bytes = match statat(self.last(), name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => found.st_size.cast_unsigned(),
                Err(Errno::NOENT) => return Ok(Removed::Nothing),
                Err(error) => return Err(error.into()),
            };
            match unlinkat(self.last(), name, AtFlags::empty()) {
                Ok(()) => Ok(Removed::Gone(bytes)),
                Err(Errno::NOENT) => Ok(Removed::Nothing),
                Err(error) => Err(error.into()),
            }
        }

        pub fn remove_link(&self, name: &OsString) -> io::Result<()> {
            let found = statat(self.last(), name, AtFlags::SYMLINK_NOFOLLOW);
            let is_link = |mode| FileType::from_raw_mode(mode) == FileType::Symlink;
            if found.is_ok_and(|found| is_link(found.st_mode)) {
                unlinkat(self.last(), name, AtFlags::empty())?;
            }
            Ok(())
        }

        pub fn remove_empty(&self) {
            for (above, name) in self.folders.iter().zip(&self.names).skip(1).rev() {
                if unlinkat(above, name, AtFlags::REMOVEDIR).is_err() {
                    return;
                }
            }
        }

        pub fn names(&self) -> io::Result<Vec<OsString>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(self.last())? {
                let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
                if name != "." && name != ".." {
                    names.push(name);
                }
            }
            Ok(names)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod by_path {
    //! By looking at each folder first. Somebody quick could put a link there between the look and the
    //! removal.

    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// Folders that were looked at, and are no links.
    pub(super) struct Way {
        folders: Vec<PathBuf>,
    }

    impl Way {
        pub fn open(folder: &Path, names: &[OsString]) -> io::Result<Option<Self>> {
            let mut folders = vec![folder.to_owned()];
            for name in names {
                let next = folders[folders.len() - 1].join(name);
                match fs::symlink_metadata(&next) {
                    Ok(found) if found.is_dir() => folders.push(next),
                    Ok(_) => return Ok(None),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
            Ok(Some(Self { folders }))
        }

        fn last(&self) -> &Path {
            &self.folders[self.folders.len() - 1]
        }

        pub fn remove(&self, name: &OsString) -> io::Result<Removed> {
            let path = self.last().join(name);
            let bytes = match fs::symlink_metadata(&path) {
                Ok(found) => found.len(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Removed::Nothing);
                }
                Err(error) => return Err(error),
            };
            fs::remove_file(&path).map(|()| Removed::Gone(bytes))
        }

        pub fn remove_link(&self, name: &OsString) -> io::Result<()> {
            let path = self.last().join(name);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => fs::remove_file(path),
                _ => Ok(()),
            }
        }

        pub fn remove_empty(&self) {
            for folder in self.folders.iter().skip(2).rev() {
                if fs::remove_dir(folder).is_err() {
                    return;
                }
            }
        }

        pub fn names(&self) -> io::Result<Vec<OsString>> {
            fs::read_dir(self.last())?.map(|entry| Ok(entry?.file_name())).collect()
        }
    }
}
