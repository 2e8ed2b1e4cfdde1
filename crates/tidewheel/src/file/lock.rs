//! [`FileLock`]: the kernel lock on a file that makes one process the holder of something.
//!
//! It vanishes with its holder, however that ends. What the file says (process, start) is for
//! messages only; nothing is decided by it. What is held, a shard or a workspace, is not known here.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tidewheel_core::time::Timestamp;

use crate::clock::wall_clock;

/// How often somebody who waits looks whether a lock is free.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A lock that this process holds until it is dropped.
///
/// ```
/// use tidewheel::file::FileLock;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("tidewheel-doc-{}.lock", std::process::id()));
/// let lock = FileLock::take(&path)?.map_err(|holder| holder.to_string())?;
/// // Whoever else tries is told who has it.
/// let holder = FileLock::take(&path)?.unwrap_err();
/// assert_eq!(holder.pid, Some(std::process::id()));
/// lock.remove();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileLock {
    /// Held open: the lock lasts as long as it, and as those it is shared with.
    file: File,
    path: PathBuf,
}

/// Who holds a lock, as far as its file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holder {
    /// Its process.
    pub pid: Option<u32>,
    /// Since when.
    pub since: Option<Timestamp>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("another process")?,
        }
        match self.since {
            Some(since) => write!(f, " since {since}"),
            None => Ok(()),
        }
    }
}

/// Why it cannot be known whether a lock is free.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {}", path.display())]
pub struct LockError {
    /// What was tried.
    pub doing: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl LockError {
    fn new(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self { doing, path: path.to_owned(), source }
    }
}

impl FileLock {
    /// Takes the lock at once, or says who has it.
    ///
    /// # Errors
    ///
    /// When the file cannot be made, opened or locked for other reasons than that somebody has it.
    pub fn take(path: &Path) -> Result<Result<Self, Holder>, LockError> {
        loop {
            let mut file = open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(read_holder(&mut file))),
                Err(TryLockError::Error(source)) => {
                    return Err(LockError::new("lock", path, source));
                }
            }
            // The holder before may have removed the file between our opening and locking it: then
            // this lock is on a file that nobody else will ever find.
            if is_same_file(&file, path) {
                let lock = Self { file, path: path.to_owned() };
                lock.write_holder();
                return Ok(Ok(lock));
            }
        }
    }

    /// Whether nobody has the lock at this moment. Nothing is made or changed.
    ///
    /// # Errors
    ///
    /// When the file cannot be made, opened or locked for other reasons than that somebody has it.
    pub fn is_free(path: &Path) -> Result<bool, LockError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(source) => return Err(LockError::new("open the lock", path, source)),
        };
        // Shared, so that several may look at once.
        match file.try_lock_shared() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(source)) => Err(LockError::new("lock", path, source)),
        }
    }

    /// Whether others find the file of this lock. If it was removed, they find none, or one of
    /// their own.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        is_same_file(&self.file, &self.path)
    }

    /// Who took the lock last, as far as its file says.
    #[must_use]
    pub fn holder(path: &Path) -> Holder {
        File::open(path).map(|mut file| read_holder(&mut file)).unwrap_or_default()
    }

    /// Waits for the lock, but not for ever; then says who has it.
    ///
    /// # Errors
    ///
    /// When the file cannot be made, opened or locked for other reasons than that somebody has it.
    pub fn wait(path: &Path, patience: Duration) -> Result<Result<Self, Holder>, LockError> {
        let started = Instant::now();
        loop {
            match Self::take(path)? {
                Err(_) if started.elapsed() < patience => thread::sleep(LOOK_AGAIN),
                taken => return Ok(taken),
            }
        }
    }

    /// Gives the lock back and removes its file.
    pub fn remove(self) {
        // While the lock is still held: nobody can have taken this file meanwhile. If it cannot be
        // removed, a small file is left over and nothing else happens.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Another descriptor of the same lock: the lock lasts until both are closed, or until this one
    /// is dropped by a living process.
    ///
    /// # Errors
    ///
    /// When there are no descriptors left.
    #[cfg(unix)]
    pub fn share(&self) -> io::Result<std::os::fd::OwnedFd> {
        self.file.try_clone().map(Into::into)
    }

    fn write_holder(&self) {
        let text = format!("{} {}\n", std::process::id(), wall_clock().as_micros());
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

fn open(path: &Path) -> Result<File, LockError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    only_owner(&mut options);
    let failed = |source| LockError::new("open the lock", path, source);
    let is_new = !path.exists();
    let file = options.open(path).map_err(failed)?;
    if is_new {
        give_owner(&file).map_err(failed)?;
    }
    Ok(file)
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

/// Files that are made with these options can be read by their owner alone.
pub(crate) fn only_owner(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Lets the owner of a file that was just made read and write it, whatever the umask took away.
pub(crate) fn give_owner(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o600 != 0o600 {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Whether the open file is the one at `path`.
fn is_same_file(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        match (file.metadata(), std::fs::metadata(path)) {
            (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        // Open files cannot be removed there.
        let _ = (file, path);
        true
    }
}
