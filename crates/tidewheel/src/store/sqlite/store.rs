//! [`SqliteStore`]: one shard as a [`Store`]: transactions, tenure, and what follows from faults.
//!
//! Which rows a change becomes is in `changes`, how rows are read back in `snapshot`.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};
use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::row::Snapshot;

use super::changes::{Known, Writing};
use super::checkpoint::{self, Checkpoints};
use super::commons::SqliteCommons;
use super::connection;
use super::error::{Stage, is_busy, is_disk_fault, store_error};
use super::folder::{DataFolder, Durability, now};
use super::shards::ShardLock;
use super::{attempts, snapshot};
#[cfg(unix)]
use crate::store::SharedShard;
use crate::store::{AttemptRecord, CommandSource, Commons, Pace, Store, StoreError};

/// One shard of a [`DataFolder`], as a store. Made by [`DataFolder::shard`].
#[derive(Debug)]
pub struct SqliteStore {
    folder: DataFolder,
    name: String,
    /// The row of the shard, once its tenure was taken.
    shard: Option<i64>,
    /// Dropped after any fault: a transaction whose end is unknown must not be continued.
    connection: Option<Connection>,
    /// The disk failed: what is on it is looked at before it is trusted again.
    is_suspect: bool,
    known: Known,
    checkpoints: Checkpoints,
    /// Whether others who write are waited for.
    is_patient: bool,
    /// How long names of work must be known, if that was said.
    names_kept: Option<Duration>,
    /// Lives as long as this store, which has taken the tenure.
    holding: Option<Arc<()>>,
    /// Declared last, so that the lock is given back when everything else is closed.
    lock: Arc<ShardLock>,
}

/// Why a transaction was not completed.
pub(super) enum Fault {
    /// The database failed.
    Database(rusqlite::Error, Stage),
    /// The store itself refuses.
    Refused(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error, Stage::Before)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<crate::store::codec::CodecError> for Fault {
    fn from(error: crate::store::codec::CodecError) -> Self {
        Self::Refused(error.into())
    }
}

impl SqliteStore {
    pub(super) fn new(folder: DataFolder, name: &str, lock: Arc<ShardLock>) -> Self {
        Self {
            folder,
            name: name.to_owned(),
            shard: None,
            connection: None,
            is_suspect: false,
            known: Known::default(),
            checkpoints: Checkpoints::default(),
            holding: None,
            is_patient: true,
            names_kept: None,
            lock,
        }
    }

    /// The folder it is in.
    #[must_use]
    pub fn folder(&self) -> &DataFolder {
        &self.folder
    }

    /// The name of the shard.
    #[must_use]
    pub fn shard(&self) -> &str {
        &self.name
    }

    /// What an executor needs that runs attempts of this shard.
    ///
    /// # Errors
    ///
    /// When there are no descriptors left.
    #[cfg(unix)]
    pub fn share(&self) -> std::io::Result<SharedShard> {
        let (mark, logs) = (self.folder.mark().to_owned(), self.folder.logs_dir());
        Ok(SharedShard { mark, logs, lock: self.share_lock()? })
    }

    /// A descriptor of the lock on the shard, for somebody who should outlive us: the shard cannot be
    /// taken by others while it is open, unless this store is dropped in good order.
    ///
    /// # Errors
    ///
    /// When there are no descriptors left.
    #[cfg(unix)]
    pub fn share_lock(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        self.lock.share()
    }

    /// As after a fault of the disk.
    #[cfg(test)]
    pub(super) fn suspect(&mut self) {
        self.is_suspect = true;
        self.connection = None;
    }

    #[cfg(test)]
    pub(super) fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut()
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// Does `work` in one transaction that may write.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&mut Self, &Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.transact_as("BEGIN IMMEDIATE", work)
    }

    fn transact_as<T>(
        &mut self,
        begin: &str,
        work: impl FnOnce(&mut Self, &Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            // A damaged one is looked at as a whole.
            None if !self.is_patient => return Err(StoreError::Busy),
            None => self.reopen()?,
        };
        let say = |word: &str| connection.prepare_cached(word)?.execute([]);
        let begun = say(begin);
        if !self.is_patient && begun.as_ref().is_err_and(is_busy) {
            self.connection = Some(connection);
            return Err(StoreError::Busy);
        }
        let done =
            begun.map_err(Fault::from).and_then(|_| work(self, &connection)).and_then(|value| {
                match say("COMMIT") {
                    Ok(_) => Ok(value),
                    Err(error) => Err(Fault::Database(error, Stage::Commit)),
                }
            });
        match done {
            Ok(value) => {
                self.connection = Some(connection);
                Ok(value)
            }
            Err(fault) => {
                // What was learned in a transaction that did not happen is not so.
                self.known = Known::default();
                Err(self.give_up(connection, fault))
            }
        }
    }

    fn give_up(&mut self, connection: Connection, fault: Fault) -> StoreError {
        match fault {
            Fault::Refused(error) => {
                if connection.execute_batch("ROLLBACK").is_ok() {
                    self.connection = Some(connection);
                }
                error
            }
            Fault::Database(error, stage) => {
                self.is_suspect |= is_disk_fault(&error);
                // Dropped with the connection, a transaction that was not committed is undone.
                store_error(error, stage, self.folder.database())
            }
        }
    }

    fn reopen(&mut self) -> Result<Connection, StoreError> {
        let durability = self.folder.options().durability;
        let failed = |error| store_error(error, Stage::Before, self.folder.database());
        let mut connection =
            connection::open(self.folder.database(), durability).map_err(failed)?;
        if self.is_suspect {
            if !look_at(&connection).map_err(failed)? {
                let source = "after a fault of the disk the log must start over, but is being read";
                return Err(StoreError::Unavailable { source: source.into() });
            }
            connection::be_patient(&mut connection, true).map_err(failed)?;
        }
        self.is_suspect = false;
        Ok(connection)
    }

    pub(super) fn begin_tenure(&mut self, connection: &Connection) -> Result<(Tenure, i64), Fault> {
        let sql = "INSERT INTO shards (name, tenure, created_at) VALUES (?1, 1, ?2)
            ON CONFLICT (name) DO UPDATE SET tenure = tenure + 1, newest = NULL
            RETURNING id, tenure";
        let (id, tenure): (i64, i64) =
            connection.query_row(sql, params![self.name, now().as_micros()], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        if let Some(kept) = self.names_kept {
            let kept = i64::try_from(kept.as_micros()).unwrap_or(i64::MAX);
            let sql = "UPDATE shards SET names_kept = ?2 WHERE id = ?1 AND names_kept <> ?2";
            connection.execute(sql, [id, kept])?;
        }
        if tenure > 1 {
            snapshot::forget_names(connection, id)?;
        }
        self.shard = Some(id);
        Ok((tenure_of(tenure), id))
    }

    fn find_shard(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT id FROM shards WHERE name = ?1";
        connection.query_row(sql, [&self.name], |row| row.get(0)).optional()
    }

    /// Takes note of a change set. False if this tenure has stored it before.
    fn note(
        connection: &Connection,
        shard: i64,
        tenure: Tenure,
        number: u64,
    ) -> Result<bool, Fault> {
        let sql = "UPDATE shards SET newest = ?3
            WHERE id = ?1 AND tenure = ?2 AND (newest IS NULL OR newest < ?3)";
        let noted = connection.prepare_cached(sql)?.execute([
            shard,
            tenure.0.cast_signed(),
            number.cast_signed(),
        ])?;
        if noted == 1 {
            return Ok(true);
        }
        let sql = "SELECT tenure FROM shards WHERE id = ?1";
        let current = connection.query_row(sql, [shard], |row| row.get(0)).optional()?;
        // A shard that was removed had nothing unfinished, so whoever asks is from before that.
        let current = tenure_of(current.unwrap_or(i64::MAX));
        if current == tenure { Ok(false) } else { Err(stale(tenure, current).into()) }
    }

    fn store(
        &mut self,
        connection: &Connection,
        tenure: Tenure,
        changes: &ChangeSet<'_>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<(), Fault> {
        let shard = match self.shard {
            Some(shard) => shard,
            // Opened again after a fault, with the tenure of before.
            None => self.find_shard(connection)?.ok_or_else(|| stale(tenure, Tenure(0)))?,
        };
        self.shard = Some(shard);
        if !Self::note(connection, shard, tenure, changes.number())? {
            return Ok(());
        }
        Writing::new(connection, shard, &mut self.known)?.write(changes.changes())?;
        for record in records {
            attempts::write_record(connection, record, self.folder.path())?;
        }
        Ok(())
    }
}

impl Store for SqliteStore {
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.known = Known::default();
        let (tenure, shard) = self.transact(Self::begin_tenure)?;
        self.holding = Some(self.lock.take());
        // A shard that nobody had before holds nothing.
        if tenure == Tenure(1) {
            return Ok((tenure, Snapshot::default()));
        }
        // Only those of this tenure write to the shard now, so it can be read without keeping those
        // who write to others waiting: their work is passed over, however much there is.
        let read = |_: &mut Self, connection: &Connection| snapshot::read(connection, shard);
        let snapshot = self.transact_as("BEGIN", read)?;
        Ok((tenure, snapshot))
    }

    fn retake_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.lock.expect_free(self.holding.as_ref())?;
        self.take_tenure()
    }

    fn commit<'c>(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'c>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError> {
        self.transact(|store, connection| store.store(connection, tenure, &changes, records))?;
        if let Some(connection) = &self.connection {
            let count = changes.changes().len();
            self.checkpoints.committed(count, connection, self.folder.database());
        }
        Ok(changes.stored())
    }

    fn inbox(&mut self) -> Option<Box<dyn CommandSource>> {
        Some(Box::new(self.folder.unopened_inbox(&self.name)))
    }

    fn commons(&mut self) -> Option<Box<dyn Commons>> {
        Some(Box::new(SqliteCommons::new(&self.folder, &self.name)))
    }

    fn keep_names(&mut self, kept: Duration) {
        self.names_kept = Some(kept);
    }

    fn be_patient(&mut self, patient: bool) {
        if self.is_patient == patient {
            return;
        }
        self.is_patient = patient;
        if let Some(connection) = &mut self.connection
            && connection::be_patient(connection, patient).is_err()
        {
            // It is opened anew, by somebody who has time.
            self.connection = None;
        }
    }

    fn pace(&self) -> Pace {
        match self.folder.options().durability {
            Durability::Power => Pace::Slow,
            Durability::Process => Pace::Brief,
        }
    }
}

fn stale(held: Tenure, current: Tenure) -> StoreError {
    StoreError::StaleTenure { held, current }
}

fn tenure_of(stored: i64) -> Tenure {
    Tenure(stored.cast_unsigned())
}

/// After a fault of the disk nothing is taken for granted: the pages are looked at, and what the
/// log holds is written to the database and flushed anew. A flush that failed is never repeated as
/// if it could still succeed: the kernel may have dropped the very pages it was about.
///
/// Whether that could be done: while somebody reads from the log it cannot start over. Nobody is
/// waited for here, because others who write would have to wait as well; it is tried again.
fn look_at(connection: &Connection) -> rusqlite::Result<bool> {
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        return Err(rusqlite::Error::SqliteFailure(code, Some(verdict)));
    }
    checkpoint::start_over(connection)
}
