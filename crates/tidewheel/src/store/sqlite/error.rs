//! What can go wrong with a data folder, in plain words, and what SQLite's codes mean for a store.
//!
//! Nothing is retried here; whoever called decides.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;
use tidewheel_core::id::RunId;

use crate::file::LockError;
use crate::store::StoreError;

/// Why a data folder cannot be used, or did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The operating system refused something.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Other users could change what is stored.
    #[error("{} can be written by others (mode {mode:03o}); run `chmod go-w` on it", path.display())]
    WritableByOthers {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The folder is on a file system of another machine, where the locks of SQLite do not hold.
    #[error("{} is on a network file system ({kind}); choose a folder on a local disk", path.display())]
    NetworkFileSystem {
        /// The folder.
        path: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },
    /// SQLite cannot open files with so long a path.
    #[error("the path {} has {bytes} bytes, at most {most} are possible; choose a shorter one", path.display())]
    LongPath {
        /// The folder.
        path: PathBuf,
        /// Its length.
        bytes: usize,
        /// The greatest length.
        most: usize,
    },
    /// The file is not a database: something else, or cut off, or overwritten with zeros.
    #[error("{} is not a database of tidewheel: {what}; it was left as it is", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        what: String,
    },
    /// The log of a database is there, but not the database. A new one beside it would take the
    /// log for its own.
    #[error(
        "{} belongs to a database that is not there; put that back, or move the log away with it",
        log.display()
    )]
    LogWithoutDatabase {
        /// The log, or its index.
        log: PathBuf,
    },
    /// A newer program wrote it.
    #[error(
        "{} has schema {found}, this program knows up to {known}; upgrade tidewheel or use another folder",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// The SQLite that was linked has a bug that can destroy data.
    #[error("SQLite {found} is too old, at least {least} is needed")]
    OldSqlite {
        /// What was linked.
        found: String,
        /// What is needed.
        least: &'static str,
    },
    /// A name that cannot be the name of a shard.
    #[error(
        "`{name}` cannot name a shard: use 1 to 64 of a-z, 0-9, `-`, `_` and `.`, a letter or digit first"
    )]
    ShardName {
        /// The name.
        name: String,
    },
    /// There is no such run.
    #[error("there is no run {run}")]
    UnknownRun {
        /// The identity.
        run: RunId,
    },
    /// The run has ended.
    #[error("run {run} has ended")]
    AlreadyEnded {
        /// The identity.
        run: RunId,
    },
    /// Something is there that would be overwritten.
    #[error("{} exists already", path.display())]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// Somebody uses the folder.
    #[error("{} is in use: {by}", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// By whom.
        by: String,
    },
    /// Another process is in the middle of writing, and does not come to its end.
    #[error("another process has kept {} busy for {} s: nothing was asked", path.display(), patience.as_secs())]
    Busy {
        /// The database.
        path: PathBuf,
        /// How long it was waited for.
        patience: Duration,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl FolderError {
    pub(super) fn io(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), source }
    }
}

impl From<LockError> for FolderError {
    fn from(LockError { doing, path, source }: LockError) -> Self {
        Self::Io { doing, path, source }
    }
}

impl From<FolderError> for StoreError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Store(error) => error,
            error @ (FolderError::NotOurs { .. } | FolderError::Newer { .. }) => {
                Self::Corrupt { what: error.to_string() }
            }
            error => Self::Unavailable { source: Box::new(error) },
        }
    }
}

/// An error of SQLite with the file it is about. What it says is all there is to say: SQLite's own words for
/// it are no source, or they would be said again.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {}", path.display())]
struct DatabaseError {
    what: String,
    path: PathBuf,
    cause: rusqlite::Error,
}

/// Where in a transaction an error came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before COMMIT: nothing is stored.
    Before,
    /// At COMMIT: nobody can say.
    Commit,
}

/// The cause of an error in plain words.
fn plain(error: &rusqlite::Error) -> String {
    let words = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full",
        _ if is_out_of_room(error) => "the disk is full",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "other processes have kept the database busy for a minute"
        }
        Some(ErrorCode::SystemIoFailure) => "reading or writing the disk failed",
        Some(ErrorCode::ReadOnly) => "the database cannot be written",
        Some(ErrorCode::PermissionDenied) => "permission was denied",
        Some(ErrorCode::CannotOpen) => "the database cannot be opened",
        Some(ErrorCode::DatabaseCorrupt) => "the database is damaged",
        Some(ErrorCode::NotADatabase) => "this is not a database",
        Some(ErrorCode::OutOfMemory) => "memory ran out",
        _ => return error.to_string(),
    };
    words.to_owned()
}

/// Whether there was no room on the disk.
pub(super) fn is_full(error: &FolderError) -> bool {
    let FolderError::Store(StoreError::Unavailable { source }) = error else { return false };
    source.downcast_ref::<DatabaseError>().is_some_and(|error| {
        let is_full = error.cause.sqlite_error_code() == Some(ErrorCode::DiskFull);
        is_full || is_out_of_room(&error.cause)
    })
}

/// Whether the memory that processes share could not be made as large as it must be: for want of room.
fn is_out_of_room(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

/// Whether others have the database.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether what is on the disk must be looked at before it is trusted again.
pub(super) fn is_disk_fault(error: &rusqlite::Error) -> bool {
    !is_out_of_room(error)
        && matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt)
        )
}

/// What an error of SQLite means to whoever uses the store.
pub(super) fn store_error(error: rusqlite::Error, stage: Stage, path: &Path) -> StoreError {
    let what = plain(&error);
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            let hint = "restore a backup, or move the whole folder away to start anew";
            return StoreError::Corrupt { what: format!("{what}: {} ({hint})", path.display()) };
        }
        Some(ErrorCode::ConstraintViolation) => {
            return StoreError::Conflict { what: error.to_string() };
        }
        _ => {}
    }
    if matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    ) {
        return StoreError::Corrupt { what: format!("{what}: {}", path.display()) };
    }
    let source = Box::new(DatabaseError { what, path: path.to_owned(), cause: error });
    match stage {
        Stage::Before => StoreError::Unavailable { source },
        Stage::Commit => StoreError::Ambiguous { source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
    }

    #[test]
    fn a_full_disk_is_called_so_and_what_is_said_is_said_once() {
        let codes = [rusqlite::ffi::SQLITE_FULL, rusqlite::ffi::SQLITE_IOERR_SHMSIZE];
        for code in codes {
            assert!(!is_disk_fault(&failure(code)), "there is nothing wrong with the disk");
            let error = store_error(failure(code), Stage::Before, Path::new("/data/tidewheel.db"));
            assert!(error.is_transient());
            let said = crate::error::describe(&error);
            assert_eq!(said, "the store is not available: the disk is full: /data/tidewheel.db");
        }
        assert!(is_disk_fault(&failure(rusqlite::ffi::SQLITE_IOERR_WRITE)));
    }
}
