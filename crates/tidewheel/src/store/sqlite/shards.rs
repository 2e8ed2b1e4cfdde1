//! Shards: parts of a folder that one process has at a time, taken, found abandoned, and removed.
//!
//! What a shard keeps is in `store`.

use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{process, thread};

use rusqlite::{Connection, OptionalExtension as _};

use super::error::FolderError;
use super::folder::DataFolder;
use super::prune::in_transaction;
use super::store::SqliteStore;
use crate::file::{FileLock, Holder};
use crate::store::StoreError;

/// How often somebody who waits for a shard looks whether it is free.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How the names of shards begin that vanish when they have nothing left to do.
const FRESH: &str = "fresh-";
const NAME_MAX: usize = 64;
/// How long a lock is asked for again that somebody has.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);
/// How old the lock of a shard must be that has no row, to be taken for left over.
const LEFT_OVER_AGE: Duration = Duration::from_secs(60);

/// The lock on a shard; all stores of this process on the shard share it. The last one to go gives
/// it back.
#[derive(Debug)]
pub(super) struct ShardLock {
    name: String,
    folder: DataFolder,
    /// Taken out when the lock is given back.
    lock: Mutex<Option<FileLock>>,
    /// The store of this process that took the tenure last, if it still lives.
    holder: Mutex<Weak<()>>,
}

impl ShardLock {
    #[cfg(unix)]
    pub(super) fn share(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        match &*self.lock.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(lock) => lock.share(),
            None => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    /// A store of this process takes the tenure.
    pub(super) fn take(&self) -> Arc<()> {
        let holding = Arc::new(());
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&holding);
        holding
    }

    /// Makes sure that nobody else has what a store has lost: a store of this process that took it
    /// later, or another process, if the file of the lock was removed.
    pub(super) fn expect_free(&self, holding: Option<&Arc<()>>) -> Result<(), StoreError> {
        let held =
            |Holder { pid, since }| Err(StoreError::Held { shard: self.name.clone(), pid, since });
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if holder.is_some_and(|holder| !holding.is_some_and(|own| Arc::ptr_eq(own, &holder))) {
            return held(Holder { pid: Some(process::id()), since: None });
        }
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.as_ref().is_some_and(FileLock::is_in_place) {
            return Ok(());
        }
        match self.folder.take_from_others(&self.name)? {
            Ok(taken) => *lock = Some(taken),
            Err(holder) => return held(holder),
        }
        Ok(())
    }
}

impl DataFolder {
    /// Takes the shard called `name`, which is made when its tenure is first taken.
    ///
    /// In one process and folder a shard may be taken again and again: the newest to take the tenure
    /// has it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] when another process has it; otherwise what went wrong.
    pub fn shard(&self, name: &str) -> Result<SqliteStore, StoreError> {
        match self.take_lock(name)? {
            Ok(lock) => Ok(SqliteStore::new(self.clone(), name, lock)),
            Err(Holder { pid, since }) => {
                Err(StoreError::Held { shard: name.to_owned(), pid, since })
            }
        }
    }

    /// A name that no shard has or had. A shard of this name is removed when it is given back with
    /// nothing unfinished in it, and the names of its work with it.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn fresh_shard(&self) -> Result<String, FolderError> {
        let sql = "SELECT lower(hex(randomblob(8)))";
        let random: String =
            self.ask(|connection| connection.query_row(sql, [], |row| row.get(0)))?;
        Ok(format!("{FRESH}{random}"))
    }

    /// The shards with unfinished runs or submissions, or live schedules, that nobody has: their
    /// holders died, or left waiting work behind. Whoever takes one goes on with it.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn abandoned(&self) -> Result<Vec<String>, FolderError> {
        let sql = "SELECT name FROM shards WHERE id IN
            (SELECT shard FROM live_runs UNION SELECT shard FROM live_submissions
                UNION SELECT shard FROM schedules WHERE NOT ended) ORDER BY id";
        let mut names = self.shard_names(sql)?;
        let mut fault = None;
        names.retain(|name| match self.is_free(name) {
            Ok(is_free) => is_free,
            Err(error) => {
                fault = Some(error);
                false
            }
        });
        fault.map_or(Ok(names), Err)
    }

    /// As [`DataFolder::shard`], but the last processes of a holder that died are waited for: they
    /// are about to end.
    ///
    /// # Errors
    ///
    /// As [`DataFolder::shard`]; [`StoreError::Held`] also when they have not ended after `patience`.
    pub fn shard_when_left(
        &self,
        name: &str,
        patience: Duration,
    ) -> Result<SqliteStore, StoreError> {
        let start = Instant::now();
        loop {
            let taken = self.shard(name);
            let is_held = matches!(taken, Err(StoreError::Held { .. }));
            // What cannot be asked is as if somebody lived there.
            let is_left = is_held && self.is_left(name).unwrap_or_default();
            if !is_left || start.elapsed() > patience {
                return taken;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Whether the holder of a shard has died, whether or not the last of its processes has: then
    /// the shard is free, or will be as soon as they are gone.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn is_left(&self, name: &str) -> Result<bool, FolderError> {
        if self.is_free(name)? {
            return Ok(true);
        }
        let pid = FileLock::holder(&self.lock_path(name)).pid;
        Ok(pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()))
    }

    /// Removes fresh shards that ended with nothing to do but could not tidy up themselves.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn sweep(&self) -> Result<u32, FolderError> {
        let sql = "SELECT name FROM shards WHERE substr(name, 1, 6) = 'fresh-'";
        let mut names: BTreeSet<String> = self.shard_names(sql)?.into_iter().collect();
        names.extend(self.left_over_locks()?);
        let mut count = 0;
        for name in names {
            if self.is_held_here(&name) {
                continue;
            }
            if let Ok(lock) = FileLock::take(&self.lock_path(&name))? {
                count += u32::from(self.remove_if_done(&name, lock)?);
            }
        }
        Ok(count)
    }

    /// The names of fresh shards whose lock is there, from processes that died before they wrote
    /// anything, or after they had removed everything else.
    fn left_over_locks(&self) -> Result<Vec<String>, FolderError> {
        let locks = self.path().join("locks");
        let entries =
            std::fs::read_dir(&locks).map_err(|source| FolderError::io("read", &locks, source))?;
        let is_old = |entry: &DirEntry| {
            let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let age = changed.and_then(|changed| changed.elapsed().ok());
            age.is_some_and(|age| age >= LEFT_OVER_AGE)
        };
        let name = |entry: DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(".lock")?;
            (name.starts_with(FRESH) && check_name(name).is_ok()).then(|| name.to_owned())
        };
        Ok(entries.flatten().filter(is_old).filter_map(name).collect())
    }

    fn shard_names(&self, sql: &str) -> Result<Vec<String>, FolderError> {
        self.ask(|connection| connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    fn is_held_here(&self, name: &str) -> bool {
        self.locks().get(name).is_some_and(|lock| lock.strong_count() > 0)
    }

    pub(super) fn is_free(&self, name: &str) -> Result<bool, FolderError> {
        Ok(!self.is_held_here(name) && FileLock::is_free(&self.lock_path(name))?)
    }

    fn take_lock(&self, name: &str) -> Result<Result<Arc<ShardLock>, Holder>, FolderError> {
        check_name(name)?;
        let mut locks = self.locks();
        if let Some(lock) = locks.get(name).and_then(std::sync::Weak::upgrade) {
            return Ok(Ok(lock));
        }
        let lock = match self.take_from_others(name)? {
            Ok(lock) => lock,
            Err(holder) => return Ok(Err(holder)),
        };
        let name = name.to_owned();
        let shared = Arc::new(ShardLock {
            name: name.clone(),
            folder: self.clone(),
            lock: Mutex::new(Some(lock)),
            holder: Mutex::default(),
        });
        locks.insert(name, Arc::downgrade(&shared));
        Ok(Ok(shared))
    }

    /// Takes a lock that nothing here shares. Somebody may just be looking whether it is free, and
    /// one that this very process has is about to be given back by another thread.
    fn take_from_others(&self, name: &str) -> Result<Result<FileLock, Holder>, FolderError> {
        let started = Instant::now();
        loop {
            let taken = FileLock::take(&self.lock_path(name))?;
            if taken.is_ok() || started.elapsed() >= PATIENCE {
                return Ok(taken);
            }
            super::connection::pause(Duration::from_millis(2));
        }
    }

    /// Removes the shard and the file of its lock if nothing in it is unfinished.
    fn remove_if_done(&self, name: &str, lock: FileLock) -> Result<bool, FolderError> {
        let connection = self.connect()?;
        let removed = remove_shard(&connection, name).map_err(|error| self.failed(error))?;
        if removed {
            lock.remove();
        }
        Ok(removed)
    }
}

impl Drop for ShardLock {
    fn drop(&mut self) {
        let lock = self.lock.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(lock) = lock.take() else { return };
        if self.name.starts_with(FRESH) {
            // What cannot be removed now is found by the next sweep.
            let _ = self.folder.remove_if_done(&self.name, lock);
        }
    }
}

fn check_name(name: &str) -> Result<(), FolderError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut bytes = name.bytes();
    let starts_well = bytes.next().is_some_and(is_plain);
    let goes_on_well = bytes.all(|byte| is_plain(byte) || matches!(byte, b'-' | b'_' | b'.'));
    if starts_well && goes_on_well && name.len() <= NAME_MAX {
        Ok(())
    } else {
        Err(FolderError::ShardName { name: name.to_owned() })
    }
}

/// Removes a shard that has nothing unfinished in it. The caller has its lock, so nobody writes to it
/// meanwhile: whether it has can be looked up without keeping those waiting who write to others.
fn remove_shard(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT id FROM shards WHERE name = ?1";
    let id: Option<i64> = connection.query_row(sql, [name], |row| row.get(0)).optional()?;
    // A lock that was taken without ever taking the tenure left no row: only its file goes.
    let Some(id) = id else { return Ok(true) };
    let sql = "SELECT EXISTS (SELECT 1 FROM live_runs WHERE shard = ?1)
        OR EXISTS (SELECT 1 FROM live_submissions WHERE shard = ?1)
        OR EXISTS (SELECT 1 FROM schedules WHERE shard = ?1 AND NOT ended)";
    if connection.query_row(sql, [id], |row| row.get(0))? {
        return Ok(false);
    }
    in_transaction(connection, |connection| {
        for table in ["queues", "limits", "names", "inbox", "questions", "claims"] {
            connection.execute(&format!("DELETE FROM {table} WHERE shard = ?1"), [id])?;
        }
        connection.execute("DELETE FROM shards WHERE id = ?1", [id])?;
        Ok(true)
    })
}
