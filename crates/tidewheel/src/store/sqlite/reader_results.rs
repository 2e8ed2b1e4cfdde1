//! What tasks came to: their newest attempts, what they left, how long they took, and what people
//! said to those that wait for them.
//!
//! Everything about one run is read at once; runs have thousands of tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rusqlite::{OptionalExtension as _, params};
use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::task::{Reason, TaskState};

use super::changes::blob;
use super::error::FolderError;
use super::folder::{DataFolder, now};
use super::reader::{Reader, instant, outcome};
use crate::store::{
    Answer, AttemptRecord, OutputRecord, OutputValue, RecordedOutcome, RunFilter, RunKind,
    TaskResult,
};

/// How many runs are looked at for times, and how many tasks of them in all.
const PAST_RUNS_MAX: u32 = 50;
const PAST_TASKS_MAX: usize = 50_000;

impl Reader {
    /// The newest attempt that is known of each task of a run, and what it left, by index.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn results(&self, run: RunId) -> Result<BTreeMap<u32, TaskResult>, FolderError> {
        self.read(|connection| {
            let mut results: BTreeMap<u32, TaskResult> = BTreeMap::new();
            let sql = "SELECT idx, number, started_at, ended_at, outcome, code, signal, error, tail
                FROM attempts WHERE run_id = ?1 ORDER BY idx, number";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([blob(run)])?;
            while let Some(row) = rows.next()? {
                let index = row.get(0)?;
                let record = AttemptRecord {
                    task: TaskId { run, index },
                    attempt: row.get(1)?,
                    started_at: instant(row, 2)?,
                    ended_at: instant(row, 3)?,
                    outcome: outcome(row, 4)?,
                    code: row.get(5)?,
                    signal: row.get(6)?,
                    error: row.get(7)?,
                    tail: row.get(8)?,
                    ..AttemptRecord::default()
                };
                results.entry(index).or_default().newest = Some(record);
            }
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

    /// How long the tasks of runs of this name took the last few times they did their work and
    /// succeeded, by name: the middle one of `samples` times. Runs are looked at from the newest on,
    /// until enough is known or they become too many.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn durations(
        &self,
        name: &str,
        samples: usize,
    ) -> Result<BTreeMap<String, Duration>, FolderError> {
        let filter = RunFilter {
            name: Some(name.to_owned()),
            kind: Some(RunKind::Run),
            live: Some(false),
            limit: PAST_RUNS_MAX,
            ..RunFilter::default()
        };
        let mut taken: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
        let mut tasks_read = 0;
        for summary in self.runs(&filter)? {
            let Some(detail) = self.run(summary.id)? else { continue };
            let without_work = self.without_work(summary.id)?;
            tasks_read += detail.tasks.len();
            let mut is_enough = summary.state == TaskState::Succeeded;
            for task in detail.tasks {
                let has_worked = task.state == TaskState::Succeeded
                    && task.reason == Reason::Ordinary
                    && !without_work.contains(&task.index);
                let (true, Some(from), Some(to)) = (has_worked, task.started_at, task.at) else {
                    continue;
                };
                let times = taken.entry(task.name).or_default();
                if times.len() < samples {
                    times.push(to.since(from));
                }
                is_enough &= times.len() >= samples;
            }
            if is_enough || tasks_read >= PAST_TASKS_MAX {
                break;
            }
        }
        let middle = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        Ok(taken.into_iter().map(|(name, times)| (name, middle(times))).collect())
    }

    /// The tasks of a run that succeeded without doing anything: what they would have left was there.
    fn without_work(&self, run: RunId) -> Result<BTreeSet<u32>, FolderError> {
        self.read(|connection| {
            let sql = "SELECT idx FROM attempts WHERE run_id = ?1 AND outcome = ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement
                .query_map(params![blob(run), RecordedOutcome::Cached.word()], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
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
