//! What tasks came to: their newest attempts, what they left, how long they took, and what people
//! said to those that wait for them.
//!
//! Everything about one run is read at once; runs have thousands of tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};
use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::time::Timestamp;

use super::changes::blob;
use super::error::FolderError;
use super::folder::{DataFolder, now};
use super::reader::{Reader, instant, lines, outcome};
use super::store::Fault;
use crate::store::{
    Answer, AttemptRecord, AttemptTimes, OutputRecord, OutputValue, RecordedOutcome, TaskResult,
    durations,
};

impl Reader {
    /// The newest attempt that is known of each task of a run, and what it left, by index.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn results(&self, run: RunId) -> Result<BTreeMap<u32, TaskResult>, FolderError> {
        self.read(|connection| {
            let mut results: BTreeMap<u32, TaskResult> = BTreeMap::new();
            newest(connection, run, |record| {
                let index = record.task.index;
                results.entry(index).or_default().newest = Some(record);
            })?;
            let sql = "SELECT idx, name, bytes, value, path FROM outputs
                WHERE run_id = ?1 ORDER BY idx, id";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([blob(run)])?;
            while let Some(row) = rows.next()? {
                let path: Option<String> = row.get(4)?;
                let value = match path {
                    Some(path) => OutputValue::File {
                        path: path.into(),
                        bytes: row.get::<_, i64>(2)?.cast_unsigned(),
                    },
                    None => OutputValue::Bytes(row.get::<_, Option<_>>(3)?.unwrap_or_default()),
                };
                let output = OutputRecord { name: row.get(1)?, value };
                results.entry(row.get(0)?).or_default().outputs.push(output);
            }
            Ok(results)
        })
    }

    /// The newest attempt of each task of a run of which there is more to say than that it did its work, by index. What they
    /// left is not read: this is for whoever looks at a run again and again.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn notable(&self, run: RunId) -> Result<BTreeMap<u32, TaskResult>, FolderError> {
        self.read(|connection| {
            let mut notable: BTreeMap<u32, TaskResult> = BTreeMap::new();
            newest(connection, run, |record| {
                let index = record.task.index;
                match record.outcome {
                    Some(RecordedOutcome::Succeeded) => drop(notable.remove(&index)),
                    _ => notable.entry(index).or_default().newest = Some(record),
                }
            })?;
            Ok(notable)
        })
    }

    /// When the first attempt at any task of a run started, by the run's place: the row of one that has not ended does not
    /// say.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn first_start(&self, place: i64) -> Result<Option<Timestamp>, FolderError> {
        self.read(|connection| {
            // The row of a task has when its newest attempt started.
            let sql = "SELECT MIN(at) FROM (SELECT MIN(started_at) AS at FROM tasks WHERE seq = ?1
                UNION ALL SELECT MIN(started_at) FROM attempts
                    WHERE run_id = (SELECT run_id FROM live_runs WHERE seq = ?1))";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([place], |row| instant(row, 0))?)
        })
    }

    /// When the tasks of a run were tried of which that is known, by index, the oldest attempt first.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn attempt_times(
        &self,
        run: RunId,
    ) -> Result<BTreeMap<u32, Vec<AttemptTimes>>, FolderError> {
        self.read(|connection| {
            let sql = "SELECT idx, number, started_at, ended_at, outcome
                FROM attempts WHERE run_id = ?1 ORDER BY idx, number";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([blob(run)])?;
            let mut times: BTreeMap<u32, Vec<AttemptTimes>> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                times.entry(row.get(0)?).or_default().push(AttemptTimes {
                    attempt: row.get(1)?,
                    started_at: instant(row, 2)?,
                    ended_at: instant(row, 3)?,
                    outcome: outcome(row, 4)?,
                });
            }
            Ok(times)
        })
    }

    /// How long the tasks of runs of this name took: [`durations`].
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn durations(
        &self,
        name: &str,
        samples: usize,
    ) -> Result<BTreeMap<String, Duration>, FolderError> {
        Ok(durations(self, name, samples)?)
    }

    /// How the newest attempt of each task ended of which that is known, by index.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn outcomes(&self, run: RunId) -> Result<BTreeMap<u32, RecordedOutcome>, FolderError> {
        self.read(|connection| {
            let sql = "SELECT idx, outcome FROM attempts
                WHERE run_id = ?1 AND outcome IS NOT NULL ORDER BY idx, number";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([blob(run)])?;
            let mut outcomes = BTreeMap::new();
            while let Some(row) = rows.next()? {
                if let Some(known) = outcome(row, 1)? {
                    outcomes.insert(row.get(0)?, known);
                }
            }
            Ok(outcomes)
        })
    }

    /// What somebody said to a task that waits for it.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn answer(&self, task: TaskId) -> Result<Option<Answer>, FolderError> {
        self.read(|connection| {
            let sql = "SELECT approved, who, note FROM answers WHERE run_id = ?1 AND idx = ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let answer = statement
                .query_row(params![blob(task.run), task.index], |row| {
                    Ok(Answer { is_approved: row.get(0)?, by: row.get(1)?, note: row.get(2)? })
                })
                .optional()?;
            Ok(answer)
        })
    }
}

/// Tells the attempts at the tasks of a run, the newest of each task last.
fn newest(
    connection: &Connection,
    run: RunId,
    mut tell: impl FnMut(AttemptRecord),
) -> Result<(), Fault> {
    let sql =
        "SELECT idx, number, started_at, ended_at, outcome, code, signal, error, tail, warnings
        FROM attempts WHERE run_id = ?1 ORDER BY idx, number";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([blob(run)])?;
    while let Some(row) = rows.next()? {
        tell(AttemptRecord {
            task: TaskId { run, index: row.get(0)? },
            attempt: row.get(1)?,
            started_at: instant(row, 2)?,
            ended_at: instant(row, 3)?,
            outcome: outcome(row, 4)?,
            code: row.get(5)?,
            signal: row.get(6)?,
            error: row.get(7)?,
            tail: row.get(8)?,
            warnings: lines(row, 9)?,
            ..AttemptRecord::default()
        });
    }
    Ok(())
}

impl DataFolder {
    /// Keeps what somebody says to a task that waits for it. The first answer counts: `false` if
    /// there is one already.
    ///
    /// # Errors
    ///
    /// When the database cannot be written.
    pub fn answer(&self, task: TaskId, answer: &Answer) -> Result<bool, FolderError> {
        let sql = "INSERT OR IGNORE INTO answers (run_id, idx, approved, who, note, at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![
            blob(task.run),
            task.index,
            answer.is_approved,
            answer.by,
            answer.note,
            now().as_micros(),
        ];
        Ok(self.ask(|connection| connection.execute(sql, values))? > 0)
    }
}
