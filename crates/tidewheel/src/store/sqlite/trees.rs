//! Folders of runs with all that is in them: how large they are, and how they are removed.
//!
//! Steps fill them as they like, with links too: those go themselves, and what is behind them stays. Which
//! folders are to go is decided in `prune`.

use std::io;
use std::path::{Path, PathBuf};

/// Deeper folders are for people to remove.
const DEPTH_MAX: usize = 200;

/// What came of removing a folder.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// Files and links that are gone.
    pub files: u64,
    /// The bytes in them.
    pub bytes: u64,
    /// What could not be removed, from the data folder on.
    pub left: Vec<(PathBuf, io::Error)>,
}

/// Removes `name` below a folder of `folder`, with all that is in it. What is not there is no trouble.
pub(super) fn remove(folder: &Path, inside: &str, name: &str) -> Swept {
    let (mut swept, at) = (Swept::default(), Path::new(inside).join(name));
    match Place::open(folder, inside) {
        Ok(Some(place)) => place.remove(name.as_ref(), &at, DEPTH_MAX, &mut swept),
        Ok(None) => {}
        Err(error) => swept.left.push((at, error)),
    }
    swept
}

/// The bytes of the files in it, as far as they can be seen.
pub(super) fn size(folder: &Path, inside: &str, name: &str) -> u64 {
    match Place::open(folder, inside) {
        Ok(Some(place)) => place.size(name.as_ref(), DEPTH_MAX),
        _ => 0,
    }
}

fn too_deep() -> io::Error {
    io::Error::other(format!("more than {DEPTH_MAX} folders in each other"))
}

#[cfg(target_os = "linux")]
use by_descriptor::Place;
#[cfg(not(target_os = "linux"))]
use by_path::Place;

#[cfg(target_os = "linux")]
mod by_descriptor {
    //! Each folder is opened in the one before: nobody can put a link in the way meanwhile.

    use std::ffi::{OsStr, OsString};
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::os::unix::ffi::OsStringExt as _;

    use rustix::fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmod, fchmod, openat, statat, unlinkat,
    };
    use rustix::io::Errno;

    use super::*;

    /// A folder that was reached without following a link.
    pub(super) struct Place(OwnedFd);

    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    impl Place {
        /// `None`: it is not there, or is no folder.
        pub fn open(folder: &Path, inside: &str) -> io::Result<Option<Self>> {
            // The data folder itself may well be a link.
            let folder = openat(CWD, folder, FOLDER, Mode::empty())?;
            match openat(&folder, inside, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(place) => Ok(Some(Self(place))),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }

        pub fn remove(&self, name: &OsStr, at: &Path, depth: usize, swept: &mut Swept) {
            let removed = match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) if is_folder(&found) => {
                    let left_before = swept.left.len();
                    match self.empty(name, at, &found, depth, swept) {
                        // What is left of it was told.
                        Ok(()) if swept.left.len() > left_before => return,
                        Ok(()) => unlinkat(&self.0, name, AtFlags::REMOVEDIR).map_err(Into::into),
                        Err(error) => Err(error),
                    }
                }
                Ok(found) => {
                    unlinkat(&self.0, name, AtFlags::empty()).map_err(Into::into).map(|()| {
                        swept.files += 1;
                        swept.bytes += found.st_size.cast_unsigned();
                    })
                }
                Err(error) => Err(error.into()),
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    swept.left.push((at.to_owned(), error));
                }
                _ => {}
            }
        }

        fn empty(
            &self,
            name: &OsStr,
            at: &Path,
            found: &Stat,
            depth: usize,
            swept: &mut Swept,
        ) -> io::Result<()> {
            if depth == 0 {
                return Err(too_deep());
            }
            // Some programs take the rights to what they made away from themselves.
            let is_ours = Mode::from_raw_mode(found.st_mode).contains(Mode::RWXU);
            let inside = match self.inside(name) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_ours => {
                    self.unlocked(name)?
                }
                inside => inside?,
            };
            if !is_ours {
                let _ = fchmod(&inside.0, Mode::RWXU);
            }
            for name in inside.names()? {
                inside.remove(&name, &at.join(&name), depth - 1, swept);
            }
            Ok(())
        }

        pub fn size(&self, name: &OsStr, depth: usize) -> u64 {
            match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) if is_folder(&found) && depth > 0 => {
                    let Ok(inside) = self.inside(name) else { return 0 };
                    let names = inside.names().unwrap_or_default();
                    names.iter().map(|name| inside.size(name, depth - 1)).sum()
                }
                Ok(found) if !is_folder(&found) => found.st_size.cast_unsigned(),
                _ => 0,
            }
        }

        fn inside(&self, name: &OsStr) -> io::Result<Self> {
            Ok(Self(openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
        }

        /// A folder that we may not read, but is ours.
        fn unlocked(&self, name: &OsStr) -> io::Result<Self> {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let place = openat(&self.0, name, flags, Mode::empty())?;
            // No call takes a descriptor like this one; by its number it is the same folder, whatever
            // stands under its name now.
            chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
            Ok(Self(openat(&place, ".", FOLDER, Mode::empty())?))
        }

        fn names(&self) -> io::Result<Vec<OsString>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.0)? {
                let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
                if name != "." && name != ".." {
                    names.push(name);
                }
            }
            Ok(names)
        }
    }

    fn is_folder(found: &Stat) -> bool {
        FileType::from_raw_mode(found.st_mode) == FileType::Directory
    }
}

#[cfg(not(target_os = "linux"))]
mod by_path {
    //! By looking at each folder first. Somebody quick could put a link there between the look and the
    //! removal.

    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A folder that was looked at, and is no link.
    pub(super) struct Place(PathBuf);

    impl Place {
        pub fn open(folder: &Path, inside: &str) -> io::Result<Option<Self>> {
            let path = folder.join(inside);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => Ok(Some(Self(path))),
                Ok(_) => Ok(None),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        }

        pub fn remove(&self, name: &OsStr, at: &Path, depth: usize, swept: &mut Swept) {
            let path = self.0.join(name);
            let removed = match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => {
                    let left_before = swept.left.len();
                    match Self(path.clone()).empty(at, depth, swept) {
                        Ok(()) if swept.left.len() > left_before => return,
                        Ok(()) => fs::remove_dir(&path),
                        Err(error) => Err(error),
                    }
                }
                Ok(found) => fs::remove_file(&path).map(|()| {
                    swept.files += 1;
                    swept.bytes += found.len();
                }),
                Err(error) => Err(error),
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    swept.left.push((at.to_owned(), error));
                }
                _ => {}
            }
        }

        fn empty(&self, at: &Path, depth: usize, swept: &mut Swept) -> io::Result<()> {
            if depth == 0 {
                return Err(too_deep());
            }
            // Some programs take the rights to what they made away from themselves.
            if let Err(error) = fs::read_dir(&self.0)
                && error.kind() == io::ErrorKind::PermissionDenied
            {
                fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))?;
            }
            for entry in fs::read_dir(&self.0)? {
                let name = entry?.file_name();
                self.remove(&name, &at.join(&name), depth - 1, swept);
            }
            Ok(())
        }

        pub fn size(&self, name: &OsStr, depth: usize) -> u64 {
            let path = self.0.join(name);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() && depth > 0 => {
                    let place = Self(path.clone());
                    let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                    entries.map(|entry| place.size(&entry.file_name(), depth - 1)).sum()
                }
                Ok(found) if !found.is_dir() => found.len(),
                _ => 0,
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown};
    use std::thread;

    use rustix::process::{Uid, geteuid};
    use rustix::thread::set_thread_res_uid;

    use super::*;

    /// Whom nothing is granted; root may do everything, whatever modes say.
    const PLAIN_USER: u32 = 65_534;

    #[test]
    fn folders_that_took_their_own_rights_away_are_removed() {
        let scratch = tidewheel_testing::temp_folder("locked");
        let folder = scratch.path().to_owned();
        let locked = folder.join("runs/run/locked");
        fs::create_dir_all(locked.join("deep")).unwrap();
        fs::write(locked.join("deep/file"), "123").unwrap();
        let user = if geteuid().is_root() { PLAIN_USER } else { geteuid().as_raw() };
        for path in ["", "runs", "runs/run", "runs/run/locked", "runs/run/locked/deep"] {
            chown(folder.join(path), Some(user), None).unwrap();
        }
        for (path, mode) in [(locked.join("deep"), 0o500), (locked, 0o000)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        let swept = thread::scope(|scope| {
            let sweep = scope.spawn(|| {
                let user = Uid::from_raw(user);
                set_thread_res_uid(user, user, user).unwrap();
                remove(&folder, "runs", "run")
            });
            sweep.join().unwrap()
        });
        assert!(swept.left.is_empty(), "{:?}", swept.left);
        assert_eq!((swept.files, swept.bytes), (1, 3));
        assert!(!folder.join("runs/run").exists());
    }
}
