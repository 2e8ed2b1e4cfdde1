//! Reads back what is unfinished in a shard, in the order in which it was accepted.
//!
//! History is not looked at, so it does not matter how much of it there is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Row};
use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::input::Fires;
use tidewheel_core::policy::Priority;
use tidewheel_core::row::{
    NameRow, PriorityRow, RunChange, RunRow, ScheduleRow, Snapshot, StoredRun, SubmissionRow,
    TaskRow,
};
use tidewheel_core::schedule::ScheduleSpec;
use tidewheel_core::spec::{Attachment, OnceKey, Profile, RunSpec, TaskSpec};
use tidewheel_core::time::Timestamp;

use super::folder::now;
use super::store::Fault;
use crate::store::codec;

/// Names beyond their time that are removed when they are met.
const NAMES_AT_ONCE: i64 = 10_000;

/// All that is unfinished in the shard.
pub(super) fn read(connection: &Connection, shard: i64) -> Result<Snapshot, Fault> {
    let mut profiles = Profiles { connection, read: HashMap::new() };
    let sql = "SELECT paused FROM shards WHERE id = ?1";
    Ok(Snapshot {
        paused: connection.query_row(sql, [shard], |row| row.get(0))?,
        queues: read_queues(connection, shard)?,
        limits: read_limits(connection, shard)?,
        runs: read_runs(connection, shard)?,
        submissions: read_submissions(connection, shard, &mut profiles)?,
        schedules: read_schedules(connection, shard, &mut profiles)?,
        names: read_names(connection, shard)?,
    })
}

/// Calls `each` for every row of the shard.
fn rows(
    connection: &Connection,
    sql: &str,
    id: i64,
    mut each: impl FnMut(&Row<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        each(row)?;
    }
    Ok(())
}

type Queues = Vec<(Arc<str>, tidewheel_core::spec::QueueSpec, bool)>;

fn read_queues(connection: &Connection, shard: i64) -> Result<Queues, Fault> {
    let sql = "SELECT name, spec, paused FROM queues WHERE shard = ?1 ORDER BY place";
    let mut queues = Vec::new();
    rows(connection, sql, shard, |row| {
        queues.push((row.get(0)?, codec::read(text(row, 1)?)?, row.get(2)?));
        Ok(())
    })?;
    Ok(queues)
}

type Limits = Vec<(Arc<str>, tidewheel_core::spec::LimitSpec)>;

fn read_limits(connection: &Connection, shard: i64) -> Result<Limits, Fault> {
    let sql = "SELECT name, spec FROM limits WHERE shard = ?1 ORDER BY place";
    let mut limits = Vec::new();
    rows(connection, sql, shard, |row| {
        limits.push((row.get(0)?, codec::read(text(row, 1)?)?));
        Ok(())
    })?;
    Ok(limits)
}

fn read_runs(connection: &Connection, shard: i64) -> Result<Vec<StoredRun>, Fault> {
    let sql = "SELECT seq, run_id, accepted_at, changed, paused, keep_open, stopped, stopped_by,
            spec, payload, kind, schedule, nominal
        FROM live_runs JOIN specs USING (seq) WHERE shard = ?1 ORDER BY seq";
    let mut runs = Vec::new();
    rows(connection, sql, shard, |row| {
        let seq: i64 = row.get(0)?;
        let id = run_id(row, 1)?;
        let mut spec: RunSpec = codec::read(text(row, 8)?)?;
        spec.attachment.payload = row.get(9)?;
        spec.attachment.kind = row.get(10)?;
        let stopped = match row.get_ref(6)?.as_str_or_null().map_err(rusqlite::Error::from)? {
            Some(word) => Some(codec::reason_of(word, row.get(7)?)?),
            None => None,
        };
        let change = RunChange {
            id,
            paused: row.get(4)?,
            keep_open: row.get(5)?,
            stopped,
            result: None,
            ended_at: None,
        };
        runs.push(StoredRun {
            row: RunRow {
                id,
                spec: Arc::new(spec),
                accepted_at: instant(row, 2)?,
                firing: schedule_id(row, 11)?.zip(maybe_instant(row, 12)?),
            },
            change: row.get::<_, bool>(3)?.then_some(change),
            priorities: read_priorities(connection, seq, id)?,
            added: read_added(connection, seq)?,
            tasks: read_tasks(connection, seq, id)?,
        });
        Ok(())
    })?;
    Ok(runs)
}

fn read_priorities(
    connection: &Connection,
    seq: i64,
    run: RunId,
) -> Result<Vec<PriorityRow>, Fault> {
    let sql = "SELECT idx, priority FROM priorities WHERE seq = ?1 ORDER BY idx";
    let mut priorities = Vec::new();
    rows(connection, sql, seq, |row| {
        let task = u32::try_from(row.get::<_, i64>(0)?).ok();
        let priority = Priority::from(row.get::<_, i64>(1)?);
        priorities.push(PriorityRow { run, task, priority });
        Ok(())
    })?;
    Ok(priorities)
}

fn read_added(connection: &Connection, seq: i64) -> Result<Vec<(u32, Arc<TaskSpec>)>, Fault> {
    let sql = "SELECT idx, spec, payload FROM added_tasks WHERE seq = ?1 ORDER BY idx";
    let mut added = Vec::new();
    rows(connection, sql, seq, |row| {
        let mut spec: TaskSpec = codec::read(text(row, 1)?)?;
        spec.payload = row.get(2)?;
        added.push((row.get(0)?, Arc::new(spec)));
        Ok(())
    })?;
    Ok(added)
}

fn read_tasks(connection: &Connection, seq: i64, run: RunId) -> Result<Vec<TaskRow>, Fault> {
    let sql = "SELECT idx, state, reason, cause, attempts, lost, uncounted, at, until, expires,
            released, error
        FROM tasks WHERE seq = ?1 ORDER BY idx";
    let mut tasks = Vec::new();
    rows(connection, sql, seq, |row| {
        tasks.push(task_row(row, TaskId { run, index: row.get(0)? }, 1)?);
        Ok(())
    })?;
    Ok(tasks)
}

fn read_submissions(
    connection: &Connection,
    shard: i64,
    profiles: &mut Profiles<'_>,
) -> Result<Vec<(SubmissionRow, Option<TaskRow>)>, Fault> {
    let sql = "SELECT run_id, profile, priority, deadline, key, accepted_at, schedule, nominal,
            once_key, once_digest, payload, state, reason, cause, attempts, lost, uncounted, at,
            until, expires, released, error, kind
        FROM live_submissions LEFT JOIN specs USING (seq) WHERE shard = ?1 ORDER BY seq";
    let mut submissions = Vec::new();
    rows(connection, sql, shard, |row| {
        let id = run_id(row, 0)?;
        let task = TaskId { run: id, index: 0 };
        let task = match row.get_ref(11)?.as_str_or_null().map_err(rusqlite::Error::from)? {
            Some(_) => Some(task_row(row, task, 11)?),
            None => None,
        };
        let submission = SubmissionRow {
            id,
            profile: profiles.get(row.get(1)?)?,
            priority: Priority::new(row.get(2)?),
            deadline: maybe_instant(row, 3)?,
            key: row.get(4)?,
            accepted_at: instant(row, 5)?,
            firing: schedule_id(row, 6)?.zip(maybe_instant(row, 7)?),
            attachment: attachment(row)?,
        };
        submissions.push((submission, task));
        Ok(())
    })?;
    Ok(submissions)
}

/// What travels with a submission; nothing is the same as an empty one.
fn attachment(row: &Row<'_>) -> Result<Option<Arc<Attachment>>, Fault> {
    let key: Option<Arc<str>> = row.get(8)?;
    let digest: Option<[u8; 16]> = row.get(9)?;
    let once =
        key.zip(digest).map(|(key, digest)| OnceKey { key, digest: u128::from_be_bytes(digest) });
    let attachment = Attachment { payload: row.get(10)?, kind: row.get(22)?, once };
    Ok((attachment != Attachment::default()).then(|| Arc::new(attachment)))
}

fn schedule_id(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ScheduleId>> {
    let id: Option<[u8; 16]> = row.get(column)?;
    Ok(id.map(|id| ScheduleId(u128::from_be_bytes(id))))
}

fn read_schedules(
    connection: &Connection,
    shard: i64,
    profiles: &mut Profiles<'_>,
) -> Result<Vec<ScheduleRow>, Fault> {
    let sql = "SELECT id, spec, payload, profile, priority, state, kind, wanted FROM schedules
        WHERE shard = ?1 AND NOT ended ORDER BY place";
    let mut schedules = Vec::new();
    rows(connection, sql, shard, |row| {
        let mut spec: ScheduleSpec = codec::read(text(row, 1)?)?;
        spec.payload = row.get(2)?;
        spec.kind = row.get(6)?;
        let fires = match row.get::<_, Option<i64>>(3)? {
            Some(profile) => {
                let priority = Priority::new(row.get(4)?);
                Fires::Task { profile: profiles.get(profile)?, priority }
            }
            None => Fires::Run,
        };
        let wanted = row.get_ref(7)?.as_str_or_null().map_err(rusqlite::Error::from)?;
        schedules.push(ScheduleRow {
            id: ScheduleId(u128::from_be_bytes(row.get(0)?)),
            spec: Arc::new(spec),
            fires,
            state: codec::read(text(row, 5)?)?,
            wanted: wanted.map_or(Ok(Vec::new()), codec::read)?,
        });
        Ok(())
    })?;
    Ok(schedules)
}

/// Removes names that are beyond their time, but not too many at once: the rest leaves when the
/// shard is next taken, or the folder pruned.
pub(super) fn forget_names(connection: &Connection, shard: i64) -> rusqlite::Result<()> {
    let cutoff = names_cutoff(connection, shard)?.as_micros();
    let sql = "DELETE FROM names WHERE (shard, key) IN
        (SELECT shard, key FROM names WHERE shard = ?1 AND accepted_at < ?2 LIMIT ?3)";
    connection.execute(sql, [shard, cutoff, NAMES_AT_ONCE])?;
    Ok(())
}

/// Names from before this instant are beyond their time. Whoever wrote them may have another clock
/// than we, so it is reckoned from the newest of them, unless that is in the future.
fn names_cutoff(connection: &Connection, shard: i64) -> rusqlite::Result<Timestamp> {
    let sql = "SELECT MAX(accepted_at) FROM names WHERE shard = ?1";
    let newest: Option<i64> = connection.query_row(sql, [shard], |row| row.get(0))?;
    let newest = newest.map_or(Timestamp::UNIX_EPOCH, Timestamp::from_micros);
    let sql = "SELECT names_kept FROM shards WHERE id = ?1";
    let kept: i64 = connection.query_row(sql, [shard], |row| row.get(0))?;
    Ok(newest.min(now()).before(Duration::from_micros(kept.unsigned_abs())))
}

fn read_names(connection: &Connection, shard: i64) -> Result<Vec<NameRow>, Fault> {
    let cutoff = names_cutoff(connection, shard)?;
    let sql = "SELECT key, digest, run_id, accepted_at FROM names WHERE shard = ?1
        ORDER BY accepted_at, seq";
    let mut names = Vec::new();
    rows(connection, sql, shard, |row| {
        if instant(row, 3)? < cutoff {
            return Ok(());
        }
        let once = OnceKey { key: row.get(0)?, digest: u128::from_be_bytes(row.get(1)?) };
        let name = NameRow { once, run: run_id(row, 2)?, accepted_at: instant(row, 3)? };
        names.push(name);
        Ok(())
    })?;
    Ok(names)
}

/// Profiles that were read, each once, so that work treated alike shares one.
struct Profiles<'a> {
    connection: &'a Connection,
    read: HashMap<i64, Arc<Profile>>,
}

impl Profiles<'_> {
    fn get(&mut self, id: i64) -> Result<Arc<Profile>, Fault> {
        if let Some(profile) = self.read.get(&id) {
            return Ok(Arc::clone(profile));
        }
        let sql = "SELECT spec FROM profiles WHERE id = ?1";
        let text: String = self.connection.query_row(sql, [id], |row| row.get(0))?;
        let profile: Arc<Profile> = Arc::new(codec::read(&text)?);
        self.read.insert(id, Arc::clone(&profile));
        Ok(profile)
    }
}

/// The task whose state stands in twelve columns from `first` on.
fn task_row(row: &Row<'_>, id: TaskId, first: usize) -> Result<TaskRow, Fault> {
    Ok(TaskRow {
        id,
        state: codec::state_of(text(row, first)?)?,
        reason: codec::reason_of(text(row, first + 1)?, row.get(first + 2)?)?,
        attempts: row.get(first + 3)?,
        lost: row.get(first + 4)?,
        uncounted: row.get(first + 5)?,
        at: instant(row, first + 6)?,
        until: maybe_instant(row, first + 7)?,
        expires: maybe_instant(row, first + 8)?,
        released: row.get(first + 9)?,
        error: row.get(first + 10)?,
    })
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a str> {
    Ok(row.get_ref(column)?.as_str()?)
}

fn run_id(row: &Row<'_>, column: usize) -> rusqlite::Result<RunId> {
    Ok(RunId(u128::from_be_bytes(row.get(column)?)))
}

fn instant(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    Ok(Timestamp::from_micros(row.get(column)?))
}

fn maybe_instant(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_micros))
}
