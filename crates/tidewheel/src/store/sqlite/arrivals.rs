//! What has arrived from outside for schedules whose instants are told: kept before it is told, so that it counts once.
//!
//! What arrives, and what it means, is known to whoever keeps the schedule. What becomes of its instant is in the ledger.

use rusqlite::{OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use tidewheel_core::time::Timestamp;

use super::error::FolderError;
use super::folder::DataFolder;
use super::reader::Reader;

/// Something that has arrived for a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// What tells it from others of the same schedule.
    pub key: String,
    /// Its own instant, which no other of the schedule has.
    pub nominal: Timestamp,
    /// What it brought along; nobody here looks inside.
    pub content: Vec<u8>,
}

/// What has arrived, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The arrival; one that was known before as it was then.
    pub arrival: Arrival,
    /// Whether it was not known before.
    pub is_new: bool,
}

impl DataFolder {
    /// Keeps what has arrived for a schedule, by its name: each key once. New ones get instants of their own, from `at`
    /// on and after all that are kept, in their order. All or none of it is stored.
    ///
    /// # Errors
    ///
    /// When it cannot be stored.
    pub fn keep_arrivals(
        &self,
        schedule: &str,
        at: Timestamp,
        arrived: &[(String, Vec<u8>)],
    ) -> Result<Vec<Kept>, FolderError> {
        self.change(|transaction| keep(transaction, schedule, at, arrived))
    }

    /// Lets what has arrived for a schedule up to an instant wait no longer: it is decided, or nobody is left to.
    ///
    /// # Errors
    ///
    /// When it cannot be stored.
    pub fn settle_arrivals(&self, schedule: &str, until: Timestamp) -> Result<(), FolderError> {
        self.change(|transaction| {
            let sql =
                "UPDATE arrivals SET waiting = 0 WHERE schedule = ?1 AND nominal <= ?2 AND waiting";
            transaction.execute(sql, params![schedule, until.as_micros()])
        })?;
        Ok(())
    }

    /// Forgets what has arrived for a schedule under these keys: should it come again, it is new.
    ///
    /// # Errors
    ///
    /// When it cannot be stored.
    pub fn forget_arrivals(&self, schedule: &str, keys: &[String]) -> Result<(), FolderError> {
        self.change(|transaction| {
            for key in keys {
                let sql = "DELETE FROM arrivals WHERE schedule = ?1 AND key = ?2";
                transaction.execute(sql, [schedule, key])?;
            }
            Ok(())
        })
    }

    /// Forgets what has arrived for a schedule before an instant and does not wait.
    ///
    /// # Errors
    ///
    /// When it cannot be stored.
    pub fn forget_arrivals_before(
        &self,
        schedule: &str,
        before: Timestamp,
    ) -> Result<(), FolderError> {
        self.change(|transaction| {
            let sql = "DELETE FROM arrivals WHERE schedule = ?1 AND nominal < ?2 AND NOT waiting";
            transaction.execute(sql, params![schedule, before.as_micros()])
        })?;
        Ok(())
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, FolderError> {
        let mut connection = self.connect()?;
        let immediate = TransactionBehavior::Immediate;
        let changed = connection.transaction_with_behavior(immediate).and_then(|transaction| {
            let changed = change(&transaction)?;
            transaction.commit()?;
            Ok(changed)
        });
        changed.map_err(|error| self.failed(error))
    }
}

impl Reader {
    /// What has arrived for a schedule, by its name, at this instant.
    ///
    /// # Errors
    ///
    /// As [`Reader::schedules`].
    pub fn arrival(
        &self,
        schedule: &str,
        nominal: Timestamp,
    ) -> Result<Option<Arrival>, FolderError> {
        let sql = "SELECT key, nominal, content FROM arrivals WHERE schedule = ?1 AND nominal = ?2";
        self.read(|connection| {
            let values = params![schedule, nominal.as_micros()];
            Ok(connection.query_row(sql, values, arrival).optional()?)
        })
    }

    /// What has arrived for a schedule and is still kept: the key and the instant of each, oldest first.
    ///
    /// # Errors
    ///
    /// As [`Reader::schedules`].
    pub fn arrivals(&self, schedule: &str) -> Result<Vec<(String, Timestamp)>, FolderError> {
        let sql = "SELECT key, nominal FROM arrivals WHERE schedule = ?1 ORDER BY nominal";
        self.list_arrivals(sql, schedule)
    }

    /// The same of what may not be decided yet.
    ///
    /// # Errors
    ///
    /// As [`Reader::schedules`].
    pub fn waiting_arrivals(
        &self,
        schedule: &str,
    ) -> Result<Vec<(String, Timestamp)>, FolderError> {
        let sql =
            "SELECT key, nominal FROM arrivals WHERE schedule = ?1 AND waiting ORDER BY nominal";
        self.list_arrivals(sql, schedule)
    }

    fn list_arrivals(
        &self,
        sql: &str,
        schedule: &str,
    ) -> Result<Vec<(String, Timestamp)>, FolderError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let read = |row: &Row<'_>| Ok((row.get(0)?, Timestamp::from_micros(row.get(1)?)));
            let rows = statement.query_map([schedule], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

fn keep(
    transaction: &Transaction<'_>,
    schedule: &str,
    at: Timestamp,
    arrived: &[(String, Vec<u8>)],
) -> rusqlite::Result<Vec<Kept>> {
    let sql = "SELECT max(nominal) FROM arrivals WHERE schedule = ?1";
    let newest: Option<i64> = transaction.query_row(sql, [schedule], |row| row.get(0))?;
    let mut next = newest.map_or(at.as_micros(), |newest| at.as_micros().max(newest + 1));
    let mut kept = Vec::new();
    for (key, content) in arrived {
        let sql = "SELECT key, nominal, content FROM arrivals WHERE schedule = ?1 AND key = ?2";
        let known = transaction.query_row(sql, [schedule, key], arrival).optional()?;
        if let Some(arrival) = known {
            kept.push(Kept { arrival, is_new: false });
            continue;
        }
        let sql = "INSERT INTO arrivals (schedule, key, nominal, content) VALUES (?1, ?2, ?3, ?4)";
        transaction.execute(sql, params![schedule, key, next, content])?;
        let nominal = Timestamp::from_micros(next);
        let arrival = Arrival { key: key.clone(), nominal, content: content.clone() };
        kept.push(Kept { arrival, is_new: true });
        next += 1;
    }
    Ok(kept)
}

fn arrival(row: &Row<'_>) -> rusqlite::Result<Arrival> {
    let nominal = Timestamp::from_micros(row.get(1)?);
    Ok(Arrival { key: row.get(0)?, nominal, content: row.get(2)? })
}
