//! The reader's answers about schedules, their instants, queues and limits.
//!
//! Runs and tasks are in `reader`.

use rusqlite::{Connection, params};
use tidewheel_core::id::ScheduleId;
use tidewheel_core::input::Fires;
use tidewheel_core::policy::Priority;
use tidewheel_core::schedule::{Origin, ScheduleSpec};
use tidewheel_core::time::Timestamp;

use super::error::FolderError;
use super::reader::{Reader, run_id, wrong};
use super::store::Fault;
use crate::store::codec;
use crate::store::{FiringFate, FiringSummary, LimitSummary, QueueSummary, ScheduleSummary};

impl Reader {
    /// The schedules that have not ended, oldest first, or all that are still known.
    ///
    /// # Errors
    ///
    /// When the database cannot be read; so for every question.
    pub fn schedules(&self, ended_too: bool) -> Result<Vec<ScheduleSummary>, FolderError> {
        self.read(|connection| schedules(connection, ended_too))
    }

    /// The name of a schedule, if it is still known and has one.
    ///
    /// # Errors
    ///
    /// As [`Reader::schedules`].
    pub fn schedule_name(&self, schedule: ScheduleId) -> Result<Option<String>, FolderError> {
        self.read(|connection| {
            let sql = "SELECT spec FROM schedules WHERE id = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([schedule.0.to_be_bytes()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let spec: ScheduleSpec = codec::read(row.get_ref(0)?.as_str().map_err(wrong)?)?;
            Ok(spec.name.as_deref().map(str::to_owned))
        })
    }

    /// What became of the instants of a schedule, newest first, those before `before`.
    ///
    /// # Errors
    ///
    /// As [`Reader::schedules`].
    pub fn firings(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<FiringSummary>, FolderError> {
        self.read(|connection| Ok(firings(connection, schedule, before, limit)?))
    }

    /// All queues, by shard and in the order in which they were defined.
    ///
    /// # Errors
    ///
    /// As [`Reader::schedules`].
    pub fn queues(&self) -> Result<Vec<QueueSummary>, FolderError> {
        let sql = "SELECT shards.name, queues.name, spec, queues.paused
            FROM queues JOIN shards ON shards.id = shard ORDER BY shard, place";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(QueueSummary {
                    shard: row.get(0)?,
                    name: row.get(1)?,
                    spec: codec::read(row.get_ref(2)?.as_str().map_err(wrong)?)?,
                    is_paused: row.get(3)?,
                });
            }
            Ok(found)
        })
    }

    /// All limits, by shard and in the order in which they were defined.
    ///
    /// # Errors
    ///
    /// As [`Reader::schedules`].
    pub fn limits(&self) -> Result<Vec<LimitSummary>, FolderError> {
        let sql = "SELECT shards.name, limits.name, spec
            FROM limits JOIN shards ON shards.id = shard ORDER BY shard, place";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(LimitSummary {
                    shard: row.get(0)?,
                    name: row.get(1)?,
                    spec: codec::read(row.get_ref(2)?.as_str().map_err(wrong)?)?,
                });
            }
            Ok(found)
        })
    }
}

fn schedules(connection: &Connection, ended_too: bool) -> Result<Vec<ScheduleSummary>, Fault> {
    let sql = "SELECT schedules.id, COALESCE(shards.name, ''), schedules.spec, payload,
            profiles.spec, state, ended, schedules.kind, priority
        FROM schedules LEFT JOIN profiles ON profiles.id = profile
            LEFT JOIN shards ON shards.id = shard
        WHERE ?1 OR NOT ended ORDER BY place";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([ended_too])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut spec: ScheduleSpec = codec::read(row.get_ref(2)?.as_str().map_err(wrong)?)?;
        spec.payload = row.get(3)?;
        spec.kind = row.get(7)?;
        let profile = row.get_ref(4)?.as_str_or_null().map_err(wrong)?;
        let fires = match profile {
            Some(profile) => {
                Fires::Task { profile: codec::read(profile)?, priority: Priority::new(row.get(8)?) }
            }
            None => Fires::Run,
        };
        found.push(ScheduleSummary {
            id: ScheduleId(u128::from_be_bytes(row.get(0)?)),
            shard: row.get(1)?,
            spec,
            fires,
            state: codec::read(row.get_ref(5)?.as_str().map_err(wrong)?)?,
            is_ended: row.get(6)?,
        });
    }
    Ok(found)
}

fn firings(
    connection: &Connection,
    schedule: ScheduleId,
    before: Option<Timestamp>,
    limit: u32,
) -> rusqlite::Result<Vec<FiringSummary>> {
    let sql = "SELECT nominal, last, count, run_id, skipped, error, number, origin FROM firings
        WHERE schedule = ?1 AND nominal < ?2 ORDER BY nominal DESC, number DESC LIMIT ?3";
    let before = before.map_or(i64::MAX, Timestamp::as_micros);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![schedule.0.to_be_bytes(), before, limit], |row| {
        let (skipped, error): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
        let (number, word) = (row.get::<_, i64>(6)?.cast_unsigned(), row.get_ref(7)?.as_str()?);
        Ok(FiringSummary {
            nominal: Timestamp::from_micros(row.get(0)?),
            // A word that a newer program wrote still says that somebody asked.
            origin: Origin::from_parts(word, number).unwrap_or(Origin::ByHand(number)),
            last: Timestamp::from_micros(row.get(1)?),
            count: row.get::<_, i64>(2)?.cast_unsigned(),
            fate: match (skipped, error) {
                (Some(word), _) => FiringFate::Skipped(word),
                (None, Some(error)) => FiringFate::NotMade { run: run_id(row, 3)?, error },
                (None, None) => FiringFate::Ran(run_id(row, 3)?),
            },
        })
    })?;
    rows.collect()
}
