//! Copies of a database while it is in use, the way back, and whether a database is sound.
//!
//! Logs are files of their own and are not part of a copy.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::connection::{self, with_suffix};
use super::error::{FolderError, Stage, store_error};
use super::folder::{DataFolder, Durability, OPENING_WAIT, lock_opening};
use super::private;
use crate::file::{self, FileLock};
use crate::store::StoreError;

impl DataFolder {
    /// Writes a copy of the database to `to`, while others go on writing. It holds everything that
    /// was stored before the call.
    ///
    /// # Errors
    ///
    /// When there is something at `to`, the copy cannot be written, or it is not sound; then there
    /// is nothing at `to`.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), FolderError> {
        let to = to.as_ref();
        if to.exists() {
            return Err(FolderError::Exists { path: to.to_owned() });
        }
        let source = connection::open_read_only(self.database()).map_err(|e| self.failed(e))?;
        let unfinished = Unfinished::make(to)?;
        copy(&source, &unfinished.path).map_err(|error| failed(error, &unfinished.path))?;
        check_copy(&unfinished.path)?;
        unfinished.finish(to)
    }

    /// What is wrong with the database: nothing, when it is sound.
    ///
    /// # Errors
    ///
    /// When it cannot be read at all.
    pub fn check(&self) -> Result<Vec<String>, FolderError> {
        let connection = connection::open_read_only(self.database()).map_err(|e| self.failed(e))?;
        findings(&connection).map_err(|error| self.failed(error))
    }
}

/// Makes the folder at `folder` one that holds what `backup` holds.
///
/// The folder gets a new [mark](DataFolder::mark): it is not the folder that was copied.
///
/// # Errors
///
/// When `backup` is not a sound copy, the folder has a database and `overwrite` is false, or
/// somebody uses the folder.
pub fn restore_backup(
    backup: impl AsRef<Path>,
    folder: impl AsRef<Path>,
    overwrite: bool,
) -> Result<(), FolderError> {
    let (backup, folder) = (backup.as_ref(), folder.as_ref());
    drop(connection::check_ours(backup)?);
    private::make_folder(folder)?;
    private::check_folder(folder)?;
    let locks = folder.join("locks");
    private::make_folder(&locks)?;
    let _opening = lock_opening(folder, OPENING_WAIT)?;
    let database = folder.join("tidewheel.db");
    let _held = if database.exists() {
        if !overwrite {
            return Err(FolderError::Exists { path: database });
        }
        take_all(folder, &locks)?
    } else {
        Vec::new()
    };
    let unfinished = Unfinished::make(&database)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let source =
        Connection::open_with_flags(backup, flags).map_err(|error| failed(error, backup))?;
    copy(&source, &unfinished.path).map_err(|error| failed(error, &unfinished.path))?;
    new_mark(&unfinished.path).map_err(|error| failed(error, &unfinished.path))?;
    check_copy(&unfinished.path)?;
    for suffix in ["-wal", "-shm"] {
        // They belong to the database that goes: applied to another they would destroy it.
        let path = with_suffix(&database, suffix);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(FolderError::io("remove", &path, error));
            }
            _ => {}
        }
    }
    unfinished.finish(&database)
}

/// Takes every shard of the folder, so that nobody decides anything meanwhile.
fn take_all(folder: &Path, locks: &Path) -> Result<Vec<FileLock>, FolderError> {
    let io = |source| FolderError::io("read", locks, source);
    let mut held = Vec::new();
    for entry in std::fs::read_dir(locks).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        match FileLock::take(&path)? {
            Ok(lock) => held.push(lock),
            Err(holder) => {
                let shard = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let by = StoreError::Held { shard, pid: holder.pid, since: holder.since };
                return Err(FolderError::InUse { path: folder.to_owned(), by: by.to_string() });
            }
        }
    }
    // What others stored is in the database itself then, should this end before the new one is in
    // its place.
    let database = folder.join("tidewheel.db");
    if let Ok(connection) = connection::open(&database, Durability::Power) {
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
    Ok(held)
}

/// What SQLite leaves beside a file that it writes.
const BESIDE: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// A copy in the making, under another name; removed unless it is finished, by the next one if its process
/// died.
struct Unfinished {
    path: PathBuf,
    is_finished: bool,
    /// By this others see that somebody is at it.
    _lock: File,
}

impl Unfinished {
    fn make(to: &Path) -> Result<Self, FolderError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        remove_left(to);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = with_suffix(to, &format!(".{}-{number}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        file::only_owner(&mut options);
        let failed = |source| FolderError::io("make", &path, source);
        let file = options.open(&path).map_err(failed)?;
        file::give_owner(&file).and_then(|()| file.lock()).map_err(failed)?;
        Ok(Self { path, is_finished: false, _lock: file })
    }

    fn finish(mut self, to: &Path) -> Result<(), FolderError> {
        let finish = || {
            File::open(&self.path)?.sync_all()?;
            std::fs::rename(&self.path, to)?;
            let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
            private::sync_folder(parent.unwrap_or(Path::new(".")))
        };
        finish().map_err(|source| FolderError::io("write", to, source))?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished {
            remove_with_others(&self.path);
        }
    }
}

fn remove_with_others(path: &Path) {
    for suffix in BESIDE {
        let _ = std::fs::remove_file(with_suffix(path, suffix));
    }
}

/// Removes what copies to the same place left whose processes died. Those of this process are left alone:
/// to open them here would drop the locks that SQLite has on them.
fn remove_left(to: &Path) {
    let Some(name) = to.file_name().and_then(|name| name.to_str()) else { return };
    let own = format!("{}-", std::process::id());
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(parent.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let number = found.to_str().and_then(|found| found.strip_prefix(name)?.strip_prefix('.'));
        let Some(number) = number.and_then(|number| number.strip_suffix(".tmp")) else { continue };
        let is_ours = |byte: u8| byte.is_ascii_digit() || byte == b'-';
        if !number.bytes().all(is_ours) || number.starts_with(&own) {
            continue;
        }
        // Whoever is at it has locked it.
        let path = entry.path();
        if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            remove_with_others(&path);
        }
    }
}

/// Copies all pages in one read transaction: in steps it would begin again whenever somebody writes,
/// and somebody always does. Those who write are not kept waiting.
fn copy(source: &Connection, to: &Path) -> rusqlite::Result<()> {
    let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let backup = Backup::new(source, &mut target)?;
    while backup.step(-1)? != StepResult::Done {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(backup);
    // One file that can be copied, not one with a log beside it.
    target.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    target.close().map_err(|(_, error)| error)
}

fn new_mark(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let sql = "UPDATE meta SET value = lower(hex(randomblob(16))) WHERE key = 'mark'";
    connection.execute(sql, [])?;
    connection.close().map_err(|(_, error)| error)
}

fn check_copy(path: &Path) -> Result<(), FolderError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let findings = Connection::open_with_flags(path, flags)
        .and_then(|connection| findings(&connection))
        .map_err(|error| failed(error, path))?;
    match findings.first() {
        None => Ok(()),
        Some(first) => Err(FolderError::Store(StoreError::Corrupt {
            what: format!("the copy is not sound: {first}"),
        })),
    }
}

fn findings(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    let mut findings = rows.collect::<rusqlite::Result<Vec<String>>>()?;
    findings.retain(|finding| finding != "ok");
    Ok(findings)
}

fn failed(error: rusqlite::Error, path: &Path) -> FolderError {
    FolderError::Store(store_error(error, Stage::Before, path))
}
