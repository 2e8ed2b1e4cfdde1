//! [`DataFolder`]: a folder with a database, logs and locks, and who may use it.
//!
//! Shards are taken in `shards`, rows are written in `store`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rusqlite::Connection;

use super::connection::{self, Prepared};
use super::error::{FolderError, Stage, store_error};
use super::private;
use super::shards::ShardLock;
use crate::file::{FileLock, network_file_system};
use crate::store::StoreError;

/// How long somebody else may take to open the folder, who may be frozen.
pub(super) const OPENING_WAIT: Duration = Duration::from_secs(10);

/// Where runs have folders of their own.
pub(super) const RUNS: &str = "runs";

/// A folder that keeps what schedulers decided. Cheap to clone; clones are the same folder.
///
/// Any number of processes may share one: each takes a [shard](DataFolder::shard) of its own.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::Tidewheel;
/// use tidewheel::store::sqlite::{DataFolder, Options};
///
/// # let path = std::env::temp_dir().join(format!("tidewheel-doc-{}", std::process::id()));
/// let folder = DataFolder::open(&path, Options::default())?;
/// let wheel = Tidewheel::builder().store(folder.shard("default")?).start();
/// assert_eq!(wheel.submit_normal(async { 6 * 7 }).await?, 42);
/// # drop(wheel);
/// # std::fs::remove_dir_all(path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct DataFolder {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    path: PathBuf,
    database: PathBuf,
    options: Options,
    mark: String,
    network: Option<&'static str>,
    /// The locks on shards that this process holds through this folder.
    locks: Mutex<HashMap<String, Weak<ShardLock>>>,
    /// A connection for the first reader. It is closed before the keeper: it may only read.
    looking: Mutex<Option<Connection>>,
    /// Open as long as the folder is, for small questions; and so that connections that come and go
    /// beside it are never the last, which would have to put the log away.
    keeper: Mutex<Connection>,
}

/// How a folder is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// What stored decisions survive.
    pub durability: Durability,
    /// Whether a folder on a network file system is used all the same. Two machines that use it at
    /// once can destroy it.
    pub allow_network_fs: bool,
}

/// What stored decisions survive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power failure: every commit waits for the disk.
    #[default]
    Power,
    /// The death of the process at any instant, but not that of the machine: after a power failure
    /// the newest commits may be missing, all from some point on and none before it.
    Process,
}

impl Options {
    /// The options with another durability.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }
}

impl DataFolder {
    /// Opens the folder at `path`, which is made if it is not there.
    ///
    /// Where nothing can be written, on a full disk or a read-only one, a folder that is up to date opens all
    /// the same, to be read; whatever would write says why it cannot.
    ///
    /// # Errors
    ///
    /// When it cannot be made or read, others can write it, it is on a network file system, somebody
    /// else has been opening it for 10 s, or the database in it is none, belongs to another program,
    /// or was written by a newer tidewheel. What is there is never overwritten.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, FolderError> {
        connection::check_version()?;
        let path = path.as_ref();
        let path =
            std::path::absolute(path).map_err(|source| FolderError::io("find", path, source))?;
        connection::check_length(&path)?;
        private::make_folder(&path)?;
        private::check_folder(&path)?;
        let network =
            network_file_system(&path).map_err(|error| FolderError::io("look at", &path, error))?;
        check_network(&path, network, options.allow_network_fs)?;
        let database = path.join("tidewheel.db");
        let prepared = match prepare(&path, &database, options.durability) {
            Ok(prepared) => prepared,
            // It may be on a full disk, or on one that must not be written: then it can still be read.
            Err(error) => read_at_least(&database, error)?,
        };
        let Prepared { connection: keeper, looking } = prepared;
        let mark = read_mark(&keeper)
            .map_err(|error| FolderError::Store(store_error(error, Stage::Before, &database)))?;
        let locks = Mutex::new(HashMap::new());
        let (looking, keeper) = (Mutex::new(looking), Mutex::new(keeper));
        let inner = Inner { path, database, options, mark, network, locks, looking, keeper };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Where people expect it: `$XDG_DATA_HOME/tidewheel`, `~/.local/share/tidewheel` or, on a Mac,
    /// `~/Library/Application Support/tidewheel`. `None` when there is no home.
    #[must_use]
    pub fn default_path() -> Option<PathBuf> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        if cfg!(target_os = "macos") {
            return home.map(|home| home.join("Library/Application Support/tidewheel"));
        }
        if cfg!(windows) {
            let local = std::env::var_os("LOCALAPPDATA").map(PathBuf::from);
            return local.map(|local| local.join("tidewheel"));
        }
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
        data.filter(|data| data.is_absolute())
            .or_else(|| home.map(|home| home.join(".local/share")))
            .map(|data| data.join("tidewheel"))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The database file.
    #[must_use]
    pub fn database(&self) -> &Path {
        &self.inner.database
    }

    /// Where logs of attempts go.
    #[must_use]
    pub fn logs_dir(&self) -> PathBuf {
        self.inner.path.join("logs")
    }

    /// Where runs have folders of their own, each under its identity.
    #[must_use]
    pub fn runs_dir(&self) -> PathBuf {
        self.inner.path.join(RUNS)
    }

    /// A folder above this one in which others could put a folder of theirs in its place, for a
    /// warning.
    #[must_use]
    pub fn open_parent(&self) -> Option<&Path> {
        private::open_parent(&self.inner.path)
    }

    /// The kind of network file system it is on, which was allowed, for a warning.
    #[must_use]
    pub fn network_file_system(&self) -> Option<&'static str> {
        self.inner.network
    }

    /// A random text that names this folder and no other, for as long as it lives.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.inner.mark
    }

    /// How it was opened.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Asks a small question.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, FolderError> {
        let keeper = self.inner.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        question(&keeper).map_err(|error| self.failed(error))
    }

    /// A connection that only reads.
    pub(super) fn connect_to_read(&self) -> Result<Connection, FolderError> {
        let looking = self.inner.looking.lock().unwrap_or_else(PoisonError::into_inner).take();
        match looking {
            Some(connection) => Ok(connection),
            None => {
                connection::open_read_only(&self.inner.database).map_err(|error| self.failed(error))
            }
        }
    }

    /// A connection that writes.
    pub(super) fn connect(&self) -> Result<Connection, FolderError> {
        connection::open(&self.inner.database, self.inner.options.durability)
            .map_err(|error| self.failed(error))
    }

    /// What an error before any commit means.
    pub(super) fn failed(&self, error: rusqlite::Error) -> FolderError {
        FolderError::Store(store_error(error, Stage::Before, &self.inner.database))
    }

    /// Where the lock of a shard is.
    pub(super) fn lock_path(&self, shard: &str) -> PathBuf {
        self.inner.path.join("locks").join(format!("{shard}.lock"))
    }

    /// The locks on shards that this process holds.
    pub(super) fn locks(&self) -> MutexGuard<'_, HashMap<String, Weak<ShardLock>>> {
        // Nothing below panics halfway through a change.
        self.inner.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes what is not there, brings the database up to date and opens it.
fn prepare(
    folder: &Path,
    database: &Path,
    durability: Durability,
) -> Result<Prepared, FolderError> {
    for folder in [folder.join("locks"), folder.join("logs")] {
        private::make_folder(&folder)?;
    }
    let _opening = lock_opening(folder, OPENING_WAIT)?;
    connection::prepare(database, durability)
}

/// Opens a database that cannot be written, if it can be read; else the first error counts.
fn read_at_least(database: &Path, error: FolderError) -> Result<Prepared, FolderError> {
    let is_about_writing = matches!(
        error,
        FolderError::Io { .. } | FolderError::Store(StoreError::Unavailable { .. })
    );
    if !is_about_writing || !database.exists() || connection::check_current(database).is_err() {
        return Err(error);
    }
    let connection = connection::open_read_only(database).map_err(|_| error)?;
    Ok(Prepared { connection, looking: None })
}

/// Takes the lock under which a folder is made, brought up to date or replaced.
pub(super) fn lock_opening(folder: &Path, patience: Duration) -> Result<FileLock, FolderError> {
    FileLock::wait(&folder.join("locks").join(".open"), patience)?.map_err(|holder| {
        let who = holder.pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
        let since = holder.since.map(|since| format!(" since {since}")).unwrap_or_default();
        let by = format!("{who} has been opening or restoring it{since}");
        FolderError::InUse { path: folder.to_owned(), by }
    })
}

/// Refuses a folder on a file system of other machines, unless that is allowed.
fn check_network(
    path: &Path,
    network: Option<&'static str>,
    is_allowed: bool,
) -> Result<(), FolderError> {
    match network {
        Some(kind) if !is_allowed => {
            Err(FolderError::NetworkFileSystem { path: path.to_owned(), kind })
        }
        _ => Ok(()),
    }
}

fn read_mark(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT value FROM meta WHERE key = 'mark'", [], |row| row.get(0))
}

/// The wall clock, for what people read and for how long things are kept.
pub(super) use crate::clock::wall_clock as now;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_file_system_is_refused_with_advice_unless_it_is_allowed() {
        let check = |network, is_allowed| {
            let checked = check_network(Path::new("/mnt/share"), network, is_allowed);
            checked.map_err(|error| error.to_string())
        };
        let text = check(Some("NFS"), false).expect_err("it is refused");
        assert!(text.contains("/mnt/share") && text.contains("(NFS)"), "{text}");
        assert!(text.contains("choose a folder on a local disk"), "{text}");
        assert_eq!(check(Some("NFS"), true), Ok(()));
        assert_eq!(check(None, false), Ok(()));
    }
}
