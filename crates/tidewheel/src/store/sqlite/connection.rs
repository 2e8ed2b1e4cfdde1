//! Connections to the database of a folder: how they are opened, and what holds for all of them.
//!
//! What is asked through them is elsewhere.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::checkpoint::PAGES_FOR_COMMIT;
use super::error::{FolderError, Stage, store_error};
use super::folder::Durability;
use super::{migrations, private, schema};
use crate::file;

/// The first SQLite without the bug that let a reset of the write-ahead log destroy data.
const SQLITE_MIN: (i32, &str) = (3_051_003, "3.51.3");
/// What every SQLite database begins with is so long.
const HEADER_BYTES: u64 = 100;
/// The longest path that SQLite can open, and the longest name it is asked for.
const PATH_BYTES_MAX: usize = 510;
const LONGEST_NAME: &str = "/tidewheel.db.new-journal";
/// Statements kept ready by each connection that writes; more than there are.
const STATEMENTS_MAX: usize = 64;
/// To what size the write-ahead log is cut when it starts over.
const LOG_BYTES_KEPT: i64 = 64 * 1024 * 1024;
/// Memory for pages of the connection that writes, in KiB.
const CACHE_KIB: i64 = 32 * 1024;

/// Refuses an SQLite that can destroy data.
pub(super) fn check_version() -> Result<(), FolderError> {
    let (least, word) = SQLITE_MIN;
    if rusqlite::version_number() < least {
        let found = rusqlite::version().to_owned();
        return Err(FolderError::OldSqlite { found, least: word });
    }
    Ok(())
}

/// Refuses a folder whose files SQLite could not open, before anything is made.
pub(super) fn check_length(folder: &Path) -> Result<(), FolderError> {
    let bytes = |path: &Path| path.as_os_str().len();
    // SQLite follows links, and has no room for more.
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let bytes = bytes(folder).max(bytes(&real));
    let most = PATH_BYTES_MAX - LONGEST_NAME.len();
    if bytes > most {
        return Err(FolderError::LongPath { path: folder.to_owned(), bytes, most });
    }
    Ok(())
}

/// A database that was opened.
pub(super) struct Prepared {
    pub connection: Connection,
    /// One that only reads, through which it was looked at, for the first reader: what is in a database takes
    /// each connection longer to learn than most questions do.
    pub looking: Option<Connection>,
}

/// Makes the database if there is none, brings it up to date, and opens it.
///
/// The caller holds the lock on opening the folder.
pub(super) fn prepare(path: &Path, durability: Durability) -> Result<Prepared, FolderError> {
    let is_new = !path.exists();
    let mut looking = None;
    if is_new {
        create(path)?;
    } else {
        private::match_modes(path, ["-wal", "-shm"].map(|suffix| with_suffix(path, suffix)))?;
        looking = check_ours(path)?;
    }
    let database = |error| FolderError::Store(store_error(error, Stage::Before, path));
    let connection = open(path, durability).map_err(database)?;
    if !is_new {
        migrations::migrate(&connection, migrations::MIGRATIONS).map_err(database)?;
        // A restored copy comes without.
        let set = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        set.map_err(database)?;
    }
    Ok(Prepared { connection, looking })
}

/// A connection that may write.
pub(super) fn open(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    // Not created here: a database that vanished is not replaced by an empty one.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    be_patient(&mut connection, true)?;
    let synchronous = match durability {
        Durability::Power => "FULL",
        Durability::Process => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", PAGES_FOR_COMMIT)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
    keep_statements(&connection)?;
    Ok(connection)
}

/// A connection that only reads.
///
/// Beside a database SQLite keeps memory that its users share, and makes it even to read. Where that cannot
/// be done, because the disk is full or may not be written, and nobody has the database open, it is read as
/// one that does not change.
pub(super) fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    open_to_read(path).map(|(connection, _)| connection)
}

/// The same, and whether it sees what is written from now on.
fn open_to_read(path: &Path) -> rusqlite::Result<(Connection, bool)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let look = |connection: &Connection| {
        connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |_| Ok(()))
    };
    let (mut connection, sees_changes) = match look(&connection) {
        Err(error) if is_refused_memory(&error) && is_at_rest(path) => {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            (Connection::open_with_flags(unchanging(path), flags)?, false)
        }
        // What else is wrong is met again by whoever asks.
        _ => (connection, true),
    };
    be_patient(&mut connection, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    keep_statements(&connection)?;
    Ok((connection, sees_changes))
}

/// Keeps statements ready once they were read. By itself SQLite reads one anew whenever a value is bound that another plan might
/// suit better, although there are no statistics here by which it could choose one.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

fn is_refused_memory(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly, SystemIoFailure};
    let code = error.sqlite_error_code();
    matches!(code, Some(CannotOpen | PermissionDenied | ReadOnly | SystemIoFailure))
}

/// Whether nobody has it open, as far as its log says: everything is in the database itself.
fn is_at_rest(path: &Path) -> bool {
    std::fs::metadata(with_suffix(path, "-wal")).map_or(true, |log| log.len() == 0)
}

/// The database as one that does not change, in the words of SQLite.
fn unchanging(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

/// Lets a connection wait for other processes, or only for what they are just completing.
pub(super) fn be_patient(connection: &mut Connection, patient: bool) -> rusqlite::Result<()> {
    let handler: fn(i32) -> bool = if patient { wait } else { linger };
    connection.busy_handler(Some(handler))
}

/// Waits for others for as long as one of their transactions takes.
fn linger(tries: i32) -> bool {
    let goes_on = tries < 2;
    if goes_on {
        pause(Duration::from_millis(1));
    }
    goes_on
}

/// Sleeps because another process or thread is in the way.
pub(super) fn pause(time: Duration) {
    #[cfg(test)]
    PAUSED.set(PAUSED.get() + time);
    thread::sleep(time);
}

// Tests count what a thread wanted to sleep: how long that took says more about the machine.
#[cfg(test)]
thread_local! {
    pub(super) static PAUSED: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

/// Waits for other processes, patiently: in small steps, for a minute in all.
fn wait(tries: i32) -> bool {
    const QUICK: i32 = 50;
    pause(Duration::from_millis(if tries < QUICK { 1 } else { 5 }));
    tries < QUICK + 12_000
}

/// Makes the database under another name first: the file is there completely or not at all.
fn create(path: &Path) -> Result<(), FolderError> {
    for suffix in ["-wal", "-shm"] {
        let log = with_suffix(path, suffix);
        if log.exists() {
            return Err(FolderError::LogWithoutDatabase { log });
        }
    }
    let new = with_suffix(path, ".new");
    for suffix in ["", "-journal", "-wal", "-shm"] {
        // From a process that died right here; there is nothing in it.
        let _ = std::fs::remove_file(with_suffix(&new, suffix));
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    file::only_owner(&mut options);
    let made = options.open(&new).and_then(|file| file::give_owner(&file));
    made.map_err(|source| FolderError::io("make", &new, source))?;
    let database = |error| FolderError::Store(store_error(error, Stage::Before, &new));
    write_first(&new).map_err(database)?;
    let io = |source| FolderError::io("make", path, source);
    File::open(&new).and_then(|file| file.sync_all()).map_err(io)?;
    std::fs::rename(&new, path).map_err(io)?;
    path.parent().map_or(Ok(()), private::sync_folder).map_err(io)
}

fn write_first(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // It is flushed as a whole before it gets its name; what is there until then need not last.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    schema::make(&connection)?;
    connection.execute("INSERT INTO meta VALUES ('mark', lower(hex(randomblob(16))))", [])?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)
}

/// Whether the file is a database of ours that this program can read. Nothing is written. The connection that
/// looked is given back if it can go on.
///
/// SQLite itself looks: to open and close the file by other means would, by the rules of POSIX,
/// drop the locks of every connection that this process has to it.
pub(super) fn check_ours(path: &Path) -> Result<Option<Connection>, FolderError> {
    let refused = |what: &str| FolderError::NotOurs { path: path.to_owned(), what: what.into() };
    let size =
        std::fs::metadata(path).map_err(|source| FolderError::io("look at", path, source))?.len();
    if size < HEADER_BYTES {
        return Err(refused("it is cut off"));
    }
    let look = || {
        let (connection, sees_changes) = open_to_read(path)?;
        let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
        // Reading the schema makes SQLite compare the file with what its first page says of it.
        number("SELECT COUNT(*) FROM sqlite_schema")?;
        let numbers = (number("PRAGMA application_id")?, number("PRAGMA user_version")?);
        Ok((numbers, sees_changes.then_some(connection)))
    };
    let (numbers, looking) = look().map_err(|error| not_ours(path, error))?;
    match numbers {
        (schema::APPLICATION_ID, version) if version > schema::VERSION => Err(newer(path, version)),
        // A database is in its place only with everything in it.
        (schema::APPLICATION_ID, version) if version < 1 => {
            Err(refused(&format!("it says that its schema is {version}, which is none")))
        }
        (schema::APPLICATION_ID, _) => Ok(looking),
        _ => Err(refused("it is the database of another program")),
    }
}

/// Whether it is a database of ours to which nothing must be done before it can be read.
pub(super) fn check_current(path: &Path) -> Result<(), FolderError> {
    check_ours(path)?;
    let database = |error| FolderError::Store(store_error(error, Stage::Before, path));
    let connection = open_read_only(path).map_err(database)?;
    match schema::user_version(&connection).map_err(database)? {
        schema::VERSION => Ok(()),
        _ => {
            let what = String::from("it must be brought up to date first");
            Err(FolderError::NotOurs { path: path.to_owned(), what })
        }
    }
}

fn newer(path: &Path, found: i64) -> FolderError {
    FolderError::Newer { path: path.to_owned(), found, known: schema::VERSION }
}

fn not_ours(path: &Path, error: rusqlite::Error) -> FolderError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            let what = String::from("it is something else, damaged or cut off");
            FolderError::NotOurs { path: path.to_owned(), what }
        }
        _ => FolderError::Store(store_error(error, Stage::Before, path)),
    }
}

/// The path with something added to its last part.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// Reading statements anew took a quarter of what a server does that accepts runs.
    #[test]
    fn a_statement_is_read_once_whatever_is_bound_to_it() {
        let scratch = tidewheel_testing::temp_folder("once");
        let path = scratch.path().join("once.db");
        create(&path).unwrap();
        let writes = open(&path, Durability::Power).unwrap();
        for connection in [&writes, &open_read_only(&path).unwrap()] {
            let sql = "SELECT seq FROM runs WHERE name = ?1 AND state = ?2 AND seq < ?3
                ORDER BY seq DESC LIMIT 3";
            let mut statement = connection.prepare(sql).unwrap();
            for name in ["one", "two", "three"] {
                let found = statement.query_row((name, "failed", 7), |_| Ok(()));
                assert_eq!(found, Err(rusqlite::Error::QueryReturnedNoRows));
            }
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        }
    }
}
