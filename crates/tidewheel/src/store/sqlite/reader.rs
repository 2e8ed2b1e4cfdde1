//! [`Reader`]: lists and shows what is stored, for surfaces. Its read transactions are short, so
//! that it never keeps the write-ahead log from starting over.
//!
//! Nothing is decided by what it reads. Schedules, queues and limits are in `reader_definitions`.

use std::borrow::Cow;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::spec::{RunSpec, TaskSpec};
use tidewheel_core::task::TaskState;
use tidewheel_core::time::Timestamp;

use super::changes::blob;
use super::error::{FolderError, Stage, store_error};
use super::folder::DataFolder;
use super::store::Fault;
use crate::store::codec::{self, RunRecord};
use crate::store::reader::range_of;
use crate::store::records::complete;
use crate::store::{
    AttemptRecord, LogFile, OutputRecord, OutputValue, RecordedOutcome, RunDetail, RunFilter,
    RunKind, RunSummary, StoreCounts, TaskSummary,
};

/// Reads a folder. Made by [`DataFolder::reader`]; each has a connection of its own.
#[derive(Debug)]
pub struct Reader {
    // Closed before the folder: it may only read, and whoever closes last puts the log away.
    pub(super) connection: Connection,
    folder: DataFolder,
}

/// The columns of a summary, in the order in which they are read.
pub(super) const LIVE_RUN: &str =
    "SELECT seq, run_id, 'run', live.name, 'running', COALESCE(stopped, 'ordinary'),
        stopped_by, accepted_at, NULL, NULL, tasks, 0, 0, NULL, NULL, NULL, schedule, nominal, 1,
        live.paused, shards.name
    FROM live_runs AS live LEFT JOIN shards ON shards.id = shard";
const LIVE_SINGLE: &str = "SELECT seq, run_id, 'single', NULL, COALESCE(state, 'ready'),
        COALESCE(reason, 'ordinary'), cause, accepted_at, started_at, NULL, 1, 0, attempts, error,
        priority, key, schedule, nominal, 1, 0, shards.name
    FROM live_submissions AS live LEFT JOIN shards ON shards.id = shard";
pub(super) const ENDED: &str =
    "SELECT seq, run_id, kind, name, state, reason, cause, accepted_at, started_at,
        ended_at, tasks, failed, attempts, error, priority, key, schedule, nominal, 0, 0, NULL
    FROM runs";

impl DataFolder {
    /// A reader of this folder.
    ///
    /// # Errors
    ///
    /// When the database cannot be opened.
    pub fn reader(&self) -> Result<Reader, FolderError> {
        Ok(Reader { connection: self.connect_to_read()?, folder: self.clone() })
    }
}

/// A payload, and the word for its kind.
pub type StoredPayload = (Vec<u8>, Option<String>);

impl Reader {
    /// Runs and submissions, newest first.
    ///
    /// # Errors
    ///
    /// When the database cannot be read; so for every question.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, FolderError> {
        self.read(|connection| list(connection, filter))
    }

    /// A run or submission with its tasks.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn run(&self, id: RunId) -> Result<Option<RunDetail>, FolderError> {
        self.read(|connection| detail(connection, id))
    }

    /// The payload of a run or submission, and its kind.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn payload(&self, run: &RunSummary) -> Result<Option<StoredPayload>, FolderError> {
        let sql = "SELECT payload, kind FROM specs WHERE seq = ?1 AND payload IS NOT NULL";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement
                .query_row([run.place], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            Ok(found)
        })
    }

    /// Tells the payload of each of these runs or submissions and its kind, in their order, as they all are at one instant.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn payloads(
        &self,
        runs: &[RunSummary],
        mut tell: impl FnMut(Option<(&[u8], Option<&str>)>),
    ) -> Result<(), FolderError> {
        let sql = "SELECT payload, kind FROM specs WHERE seq = ?1 AND payload IS NOT NULL";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            for run in runs {
                let mut rows = statement.query([run.place])?;
                match rows.next()? {
                    Some(row) => {
                        let payload = row.get_ref(0)?.as_blob().map_err(wrong)?;
                        tell(Some((payload, row.get_ref(1)?.as_str_or_null().map_err(wrong)?)));
                    }
                    None => tell(None),
                }
            }
            Ok(())
        })
    }

    /// The runs and submissions whose identities begin with `prefix`, in hexadecimal, with or
    /// without dashes; at most `limit`.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn find(&self, prefix: &str, limit: u32) -> Result<Vec<RunId>, FolderError> {
        let Some((least, most)) = range_of(prefix) else { return Ok(Vec::new()) };
        let sql = "SELECT run_id FROM live_runs WHERE run_id BETWEEN ?1 AND ?2
            UNION ALL SELECT run_id FROM live_submissions WHERE run_id BETWEEN ?1 AND ?2
            UNION ALL SELECT run_id FROM runs WHERE run_id BETWEEN ?1 AND ?2 LIMIT ?3";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement
                .query_map(params![blob(least), blob(most), limit], |row| run_id(row, 0))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
    }

    /// The attempts of a task that are known, by number.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRecord>, FolderError> {
        self.read(|connection| attempts(connection, task))
    }

    /// The values that a task left, by name.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn outputs(&self, task: TaskId) -> Result<Vec<OutputRecord>, FolderError> {
        self.read(|connection| Ok(outputs(connection, task)?))
    }

    /// How much there is. This looks at all of history.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn counts(&self) -> Result<StoreCounts, FolderError> {
        let mut counts = self.live_counts()?;
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT state, COUNT(*) FROM runs GROUP BY state")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let state = codec::state_of(row.get_ref(0)?.as_str().map_err(wrong)?)?;
                counts.ended.push((state, row.get::<_, i64>(1)?.cast_unsigned()));
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// The same without what has ended, which takes no longer the more of that there is.
    ///
    /// # Errors
    ///
    /// As [`Reader::runs`].
    pub fn live_counts(&self) -> Result<StoreCounts, FolderError> {
        self.read(|connection| {
            let count = |sql: &str| {
                connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
            };
            Ok(StoreCounts {
                live_runs: count("SELECT COUNT(*) FROM live_runs")?,
                live_submissions: count("SELECT COUNT(*) FROM live_submissions")?,
                ended: Vec::new(),
                schedules: count("SELECT COUNT(*) FROM schedules WHERE NOT ended")?,
            })
        })
    }

    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }

    /// Where the folder's files are.
    #[must_use]
    pub fn folder(&self) -> &DataFolder {
        &self.folder
    }

    /// Reads in one short transaction, so that all of an answer is from one instant.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, FolderError> {
        let answer = self
            .connection
            .unchecked_transaction()
            .map_err(Fault::from)
            .and_then(|transaction| work(&transaction));
        answer.map_err(|fault| match fault {
            Fault::Database(error, _) => {
                FolderError::Store(store_error(error, Stage::Before, self.folder.database()))
            }
            Fault::Refused(error) => FolderError::Store(error),
        })
    }
}

fn list(connection: &Connection, filter: &RunFilter) -> Result<Vec<RunSummary>, Fault> {
    let mut found = Vec::new();
    let floor = match filter.since {
        Some(since) => first_since(connection, since)?,
        None => i64::MIN,
    };
    let single = filter.kind != Some(RunKind::Run) && filter.name.is_none();
    let graph = filter.kind != Some(RunKind::Single);
    let running = filter.states.is_empty() || filter.states.contains(&TaskState::Running);
    if filter.live != Some(false) {
        if graph && running {
            let state = RunFilter { states: Vec::new(), ..filter.clone() };
            found.extend(select(connection, LIVE_RUN, "live.name", &state, i64::MIN)?);
        }
        if single {
            found.extend(select(connection, LIVE_SINGLE, "NULL", filter, i64::MIN)?);
        }
    }
    if filter.live != Some(true) {
        for states in listed_by_state(filter) {
            let filter = RunFilter { states, ..filter.clone() };
            found.extend(select(connection, ENDED, "name", &filter, floor)?);
        }
    }
    found.sort_by_key(|summary| std::cmp::Reverse(summary.place));
    found.truncate(filter.limit as usize);
    Ok(found)
}

/// How runs can have ended.
const ENDS: [TaskState; 5] = [
    TaskState::Succeeded,
    TaskState::Failed,
    TaskState::Skipped,
    TaskState::Cancelled,
    TaskState::Unknown,
];

/// The states of history, as they are asked for: each by itself, because only then are the newest first in an index. Several
/// at once would all be read and sorted, however few are wanted.
fn listed_by_state(filter: &RunFilter) -> Vec<Vec<TaskState>> {
    match (filter.states.as_slice(), &filter.name) {
        ([], None) => vec![Vec::new()],
        ([], Some(_)) => ENDS.map(|state| vec![state]).to_vec(),
        (states, _) => states.iter().map(|state| vec![*state]).collect(),
    }
}

fn select(
    connection: &Connection,
    from: &str,
    name_column: &str,
    filter: &RunFilter,
    floor: i64,
) -> Result<Vec<RunSummary>, Fault> {
    let mut sql = format!("{from} WHERE seq < ?1 AND seq >= ?2");
    let mut values = vec![Value::from(filter.before.unwrap_or(i64::MAX)), Value::from(floor)];
    if let Some(since) = filter.since {
        sql.push_str(" AND accepted_at >= ?");
        values.push(Value::from(since.as_micros()));
    }
    if let Some(name) = &filter.name {
        sql.push_str(&format!(" AND {name_column} = ?"));
        values.push(Value::from(name.clone()));
    }
    if from == ENDED
        && let Some(kind) = filter.kind
    {
        let word = if kind == RunKind::Run { "run" } else { "single" };
        sql.push_str(&format!(" AND kind = '{word}'"));
    }
    if let Some((_, more)) = filter.states.split_first() {
        sql.push_str(&format!(" AND state IN (?{})", ", ?".repeat(more.len())));
        values.extend(filter.states.iter().map(|state| Value::from(state.word().to_owned())));
    }
    sql.push_str(" ORDER BY seq DESC LIMIT ?");
    values.push(Value::from(i64::from(filter.limit)));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(summary(row)?);
    }
    Ok(found)
}

/// The first place in history from which on everything was accepted at or after `since`, as long as
/// the clock was not set back.
fn first_since(connection: &Connection, since: Timestamp) -> rusqlite::Result<i64> {
    let ends = "SELECT COALESCE(MIN(seq), 0), COALESCE(MAX(seq), 0) + 1 FROM runs";
    let (mut low, mut high): (i64, i64) =
        connection.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sql = "SELECT seq, accepted_at FROM runs WHERE seq >= ?1 ORDER BY seq LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    while low < high {
        let middle = low + (high - low) / 2;
        let found: Option<(i64, i64)> =
            statement.query_row([middle], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        match found {
            Some((seq, accepted_at)) if accepted_at < since.as_micros() => low = seq + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

pub(super) fn summary(row: &Row<'_>) -> Result<RunSummary, Fault> {
    let schedule: Option<[u8; 16]> = row.get(16)?;
    let schedule = schedule.map(|id| ScheduleId(u128::from_be_bytes(id)));
    Ok(RunSummary {
        place: row.get(0)?,
        id: run_id(row, 1)?,
        kind: match row.get_ref(2)?.as_str().map_err(wrong)? {
            "run" => RunKind::Run,
            _ => RunKind::Single,
        },
        name: row.get(3)?,
        state: codec::state_of(row.get_ref(4)?.as_str().map_err(wrong)?)?,
        reason: codec::reason_of(row.get_ref(5)?.as_str().map_err(wrong)?, row.get(6)?)?,
        accepted_at: Timestamp::from_micros(row.get(7)?),
        started_at: instant(row, 8)?,
        ended_at: instant(row, 9)?,
        tasks: row.get(10)?,
        failed: row.get(11)?,
        attempts: row.get(12)?,
        error: row.get(13)?,
        priority: row.get(14)?,
        key: row.get(15)?,
        firing: schedule.zip(instant(row, 17)?),
        is_live: row.get(18)?,
        is_paused: row.get(19)?,
        shard: row.get(20)?,
    })
}

fn summary_of(connection: &Connection, id: RunId) -> Result<Option<RunSummary>, Fault> {
    for from in [LIVE_RUN, LIVE_SINGLE, ENDED] {
        let mut statement = connection.prepare_cached(&format!("{from} WHERE run_id = ?1"))?;
        let mut rows = statement.query([blob(id)])?;
        if let Some(row) = rows.next()? {
            return summary(row).map(Some);
        }
    }
    Ok(None)
}

fn detail(connection: &Connection, id: RunId) -> Result<Option<RunDetail>, Fault> {
    let Some(summary) = summary_of(connection, id)? else { return Ok(None) };
    let sql = "SELECT spec, payload, kind FROM specs WHERE seq = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let (spec, payload, payload_kind): (Option<String>, _, _) = statement
        .query_row([summary.place], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?
        .unwrap_or_default();
    let tasks = match (summary.kind, spec) {
        (RunKind::Run, Some(spec)) => {
            tasks_of(connection, summary.place, &codec::read_record::<RunSpec>(&spec)?)?
        }
        _ => vec![TaskSummary::of_single(&summary)],
    };
    Ok(Some(RunDetail { summary, tasks, payload, payload_kind }))
}

fn tasks_of(
    connection: &Connection,
    seq: i64,
    record: &RunRecord,
) -> Result<Vec<TaskSummary>, Fault> {
    let mut tasks: Vec<TaskSummary> = (0..record.graph.len())
        .map(|index| {
            let name = record.graph.name(index).map(Cow::into_owned).unwrap_or_default();
            TaskSummary::blocked(index, name, Vec::new())
        })
        .collect();
    for (before, after) in record.graph.edges() {
        if let Some(task) = tasks.get_mut(after as usize) {
            task.after.push(before);
        }
    }
    let sql = "SELECT idx, spec FROM added_tasks WHERE seq = ?1 ORDER BY idx";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([seq])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_str().map_err(wrong)?;
        let added = codec::read_record::<TaskSpec>(text)?;
        let index = row.get(0)?;
        for before in added.before {
            if let Some(task) = tasks.get_mut(before as usize) {
                task.after.push(index);
            }
        }
        tasks.push(TaskSummary::blocked(index, added.name.to_string(), added.after));
    }
    let mut statement =
        connection.prepare_cached(&format!("{TASKS} WHERE seq = ?1 ORDER BY idx"))?;
    let mut rows = statement.query([seq])?;
    while let Some(row) = rows.next()? {
        let index: u32 = row.get(0)?;
        // Indices have no gaps: those of added tasks follow those of the graph.
        let Some(task) = tasks.get_mut(index as usize) else { continue };
        stand(task, row)?;
    }
    Ok(tasks)
}

/// The columns of a task, in the order in which they are read.
const TASKS: &str =
    "SELECT idx, state, reason, cause, attempts, started_at, at, until, error FROM tasks";

/// Takes over how a task stands.
fn stand(task: &mut TaskSummary, row: &Row<'_>) -> Result<(), Fault> {
    task.state = codec::state_of(row.get_ref(1)?.as_str().map_err(wrong)?)?;
    task.reason = codec::reason_of(row.get_ref(2)?.as_str().map_err(wrong)?, row.get(3)?)?;
    task.attempts = row.get(4)?;
    task.started_at = instant(row, 5)?;
    task.at = instant(row, 6)?;
    task.until = instant(row, 7)?;
    task.error = row.get(8)?;
    Ok(())
}

/// How one task stands, without its name and what it waits for: for those, all of what was asked for is read.
fn standing_of(connection: &Connection, task: TaskId) -> Result<Option<TaskSummary>, Fault> {
    let Some(run) = summary_of(connection, task.run)? else { return Ok(None) };
    if run.kind == RunKind::Single {
        return Ok(Some(TaskSummary::of_single(&run)).filter(|it| it.index == task.index));
    }
    let mut statement =
        connection.prepare_cached(&format!("{TASKS} WHERE seq = ?1 AND idx = ?2"))?;
    let mut rows = statement.query(params![run.place, task.index])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut found = TaskSummary::blocked(task.index, String::new(), Vec::new());
    stand(&mut found, row)?;
    Ok(Some(found))
}

fn attempts(connection: &Connection, task: TaskId) -> Result<Vec<AttemptRecord>, Fault> {
    let sql =
        "SELECT number, started_at, ended_at, outcome, code, signal, error, tail, stdout_path,
            stdout_bytes, stdout_cut, stderr_path, stderr_bytes, stderr_cut, warnings
        FROM attempts WHERE run_id = ?1 AND idx = ?2 ORDER BY number";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![blob(task.run), task.index], |row| {
        let log = |first: usize| -> rusqlite::Result<Option<LogFile>> {
            let path: Option<String> = row.get(first)?;
            let Some(path) = path else { return Ok(None) };
            let bytes: Option<i64> = row.get(first + 1)?;
            let cut: Option<bool> = row.get(first + 2)?;
            let bytes = bytes.unwrap_or_default().cast_unsigned();
            Ok(Some(LogFile { path: path.into(), bytes, cut: cut.unwrap_or_default() }))
        };
        Ok(AttemptRecord {
            task,
            attempt: row.get(0)?,
            started_at: instant(row, 1)?,
            ended_at: instant(row, 2)?,
            outcome: outcome(row, 3)?,
            code: row.get(4)?,
            signal: row.get(5)?,
            error: row.get(6)?,
            tail: row.get(7)?,
            stdout: log(8)?,
            stderr: log(11)?,
            warnings: lines(row, 14)?,
            outputs: Vec::new(),
        })
    })?;
    let mut known = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    // The newest attempt has no row when nobody left a record of it.
    if let Some(row) = standing_of(connection, task)? {
        complete(task, row, &mut known);
    }
    Ok(known)
}

fn outputs(connection: &Connection, task: TaskId) -> rusqlite::Result<Vec<OutputRecord>> {
    let sql = "SELECT name, bytes, value, path FROM outputs
        WHERE run_id = ?1 AND idx = ?2 ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![blob(task.run), task.index], |row| {
        let path: Option<String> = row.get(3)?;
        let value = match path {
            Some(path) => OutputValue::File {
                path: path.into(),
                bytes: row.get::<_, i64>(1)?.cast_unsigned(),
            },
            None => OutputValue::Bytes(row.get::<_, Option<_>>(2)?.unwrap_or_default()),
        };
        Ok(OutputRecord { name: row.get(0)?, value })
    })?;
    rows.collect()
}

pub(super) fn run_id(row: &Row<'_>, column: usize) -> rusqlite::Result<RunId> {
    Ok(RunId(u128::from_be_bytes(row.get(column)?)))
}

/// The lines of a text, of which there may be none.
pub(super) fn lines(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.iter().flat_map(|text| text.lines()).map(str::to_owned).collect())
}

pub(super) fn instant(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_micros))
}

pub(super) fn outcome(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<RecordedOutcome>> {
    let word: Option<String> = row.get(column)?;
    Ok(word.as_deref().and_then(codec::outcome_of))
}

/// A column that is not what it should be.
pub(super) fn wrong(error: rusqlite::types::FromSqlError) -> Fault {
    Fault::from(rusqlite::Error::from(error))
}
