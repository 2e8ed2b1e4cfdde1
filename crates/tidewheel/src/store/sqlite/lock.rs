//! The kernel lock on a file that makes one process the holder of a shard.
//!
//! It vanishes with its holder, however that ends. What the file says (process, start) is for
//! messages only; nothing is decided by it. Numbers of tenures are in the database.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tidewheel_core::time::Timestamp;

use super::error::FolderError;
use super::folder::now;
use super::private;

/// How often somebody who waits looks whether a lock is free.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
pub(super) struct FileLock {
    /// Held open: the lock lasts as long as it, and as those it is shared with.
    file: File,
    path: PathBuf,
}

/// Who holds a lock, as far as its file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Holder {
    pub(super) pid: Option<u32>,
    pub(super) since: Option<Timestamp>,
}

impl FileLock {
    /// Takes the lock at once, or says who has it.
    pub(super) fn take(path: &Path) -> Result<Result<Self, Holder>, FolderError> {
        loop {
            let mut file = open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(read_holder(&mut file))),
                Err(TryLockError::Error(source)) => {
                    return Err(FolderError::io("lock", path, source));
                }
            }
            // The holder before may have removed the file between our opening and locking it: then
            // this lock is on a file that nobody else will ever find.
            if private::is_same_file(&file, path) {
                let lock = Self { file, path: path.to_owned() };
                lock.write_holder();
                return Ok(Ok(lock));
            }
        }
    }

    /// Whether nobody has the lock at this moment. Nothing is made or changed.
    pub(super) fn is_free(path: &Path) -> Result<bool, FolderError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            Err(source) => return Err(FolderError::io("open the lock", path, source)),
        };
        // Shared, so that several may look at once.
        match file.try_lock_shared() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(source)) => Err(FolderError::io("lock", path, source)),
        }
    }

    /// Whether others find the file of this lock. If it was removed, they find none, or one of
    /// their own.
    pub(super) fn is_in_place(&self) -> bool {
        private::is_same_file(&self.file, &self.path)
    }

    /// Who took the lock last, as far as its file says.
    pub(super) fn holder(path: &Path) -> Holder {
        File::open(path).map(|mut file| read_holder(&mut file)).unwrap_or_default()
    }

    /// Waits for the lock, but not for ever; then says who has it.
    pub(super) fn wait(
        path: &Path,
        patience: Duration,
    ) -> Result<Result<Self, Holder>, FolderError> {
        let started = Instant::now();
        loop {
            match Self::take(path)? {
                Err(_) if started.elapsed() < patience => thread::sleep(LOOK_AGAIN),
                taken => return Ok(taken),
            }
        }
    }

    /// Gives the lock back and removes its file.
    pub(super) fn remove(self) {
        // While the lock is still held: nobody can have taken this file meanwhile. If it cannot be
        // removed, a small file is left over and nothing else happens.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Another descriptor of the same lock: the lock lasts until both are closed, or until this one
    /// is dropped by a living process.
    #[cfg(unix)]
    pub(super) fn share(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        self.file.try_clone().map(Into::into)
    }

    fn write_holder(&self) {
        let text = format!("{} {}\n", std::process::id(), now().as_micros());
        let mut file = &self.file;
        // Only a message would be poorer without it.
        let _ = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(text.as_bytes()));
    }
}

/// A living process gives the lock back for all descriptors that share it.
impl Drop for FileLock {
    fn drop(&mut self) {
        // If it fails, closing the file does the same once nobody shares it.
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> Result<File, FolderError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private::only_owner(&mut options);
    options.open(path).map_err(|source| FolderError::io("open the lock", path, source))
}

fn read_holder(file: &mut File) -> Holder {
    let mut text = String::new();
    if file.read_to_string(&mut text).is_err() {
        return Holder::default();
    }
    let mut words = text.split_whitespace();
    Holder {
        pid: words.next().and_then(|word| word.parse().ok()),
        since: words.next().and_then(|word| word.parse().ok()).map(Timestamp::from_micros),
    }
}
