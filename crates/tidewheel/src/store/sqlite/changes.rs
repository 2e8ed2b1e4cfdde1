//! From the changes of one decision to rows.
//!
//! What need not be written is left out in `store/coalesce`. Transactions and tenure are in `store`,
//! queues, limits and schedules in `definitions`.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, params};
use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::row::{Change, PriorityRow, RunChange, RunRow, SubmissionRow, TaskRow};
use tidewheel_core::schedule::ScheduleSpec;
use tidewheel_core::spec::{Attachment, OnceKey, Profile, TaskSpec};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;

use super::attempts;
use super::definitions;
use super::store::Fault;
use crate::store::coalesce::{Accepted, Coalesced, EndedAttempt, RunTask, Single};
use crate::store::codec;

/// The most profiles whose numbers are remembered.
const PROFILES_MAX: usize = 4_096;

/// What a store remembers of what is stored, to save asking. Forgotten after any fault.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The live runs of the shard and their places; `None` until asked for.
    runs: Option<HashMap<RunId, i64>>,
    /// Profiles by where they are in memory. Holding them keeps the place theirs.
    profiles: HashMap<usize, (Arc<Profile>, i64)>,
    /// Schedules as last written: their text is written again only when it is another.
    pub(super) schedules: HashMap<ScheduleId, Arc<ScheduleSpec>>,
}

/// One change set being written.
pub(super) struct Writing<'a> {
    pub(super) connection: &'a Connection,
    pub(super) shard: i64,
    pub(super) known: &'a mut Known,
    /// The next place in the order of acceptance, once it was needed.
    next: Option<i64>,
}

impl<'a> Writing<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        shard: i64,
        known: &'a mut Known,
    ) -> Result<Self, Fault> {
        if known.runs.is_none() {
            known.runs = Some(read_live_runs(connection, shard)?);
        }
        Ok(Self { connection, shard, known, next: None })
    }

    /// Writes all of `changes`.
    pub(super) fn write(mut self, changes: &[Change]) -> Result<(), Fault> {
        let live = self.live_runs();
        let coalesced = Coalesced::new(changes, |run| live.contains_key(&run));
        let mut places = HashMap::new();
        for accepted in &coalesced.accepted {
            match accepted {
                Accepted::Run(row) => self.accept_run(row)?,
                Accepted::Single(single) => {
                    if let Some(row) = coalesced.singles[*single].accepted {
                        places.insert(row.id, self.accept_single(row)?);
                    }
                }
            }
        }
        for (id, spec) in &coalesced.added {
            self.add_task(*id, spec)?;
        }
        for change in &coalesced.others {
            self.define(change)?;
        }
        for ended in &coalesced.ended {
            self.end_attempt(ended)?;
        }
        for single in &coalesced.singles {
            self.write_single(single, places.get(&single.id).copied())?;
        }
        self.write_tasks(&coalesced.tasks)?;
        self.write_priorities(&coalesced.priorities)?;
        self.write_runs(&coalesced.runs)?;
        if let Some(next) = self.next {
            self.connection.prepare_cached("UPDATE counter SET next = ?1")?.execute([next])?;
        }
        Ok(())
    }

    fn define(&mut self, change: &Change) -> Result<(), Fault> {
        match change {
            Change::SchedulerPaused(paused) => definitions::pause(self, *paused),
            Change::QueueStored { name, spec, paused } => {
                definitions::store_queue(self, name, spec, *paused)
            }
            Change::LimitStored { name, spec } => definitions::store_limit(self, name, spec),
            Change::ScheduleStored(row) => definitions::store_schedule(self, row),
            Change::ScheduleEnded(id) => definitions::end_schedule(self, *id),
            Change::FiringStored(row) => definitions::store_firing(self, row),
            // Those are of runs and submissions, and coalesced.
            Change::RunAccepted(_)
            | Change::RunChanged(_)
            | Change::SubmissionAccepted(_)
            | Change::TaskAdded { .. }
            | Change::TaskChanged(_)
            | Change::PriorityChanged(_) => Ok(()),
        }
    }

    fn accept_run(&mut self, row: &RunRow) -> Result<(), Fault> {
        let seq = self.place()?;
        let once = row.spec.attachment.once.as_ref();
        self.keep_name(once, row.id, row.accepted_at, seq)?;
        let spec = codec::write(&*row.spec)?;
        self.keep_spec(seq, Some(&spec), &row.spec.attachment)?;
        let sql = "INSERT INTO live_runs (seq, run_id, shard, name, accepted_at, tasks, schedule,
                nominal)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let name = Some(&*row.spec.options.name).filter(|name| !name.is_empty());
        self.connection.prepare_cached(sql)?.execute(params![
            seq,
            blob(row.id),
            self.shard,
            name,
            row.accepted_at.as_micros(),
            row.spec.graph.len(),
            row.firing.map(|(schedule, _)| schedule.0.to_be_bytes()),
            row.firing.map(|(_, nominal)| nominal.as_micros()),
        ])?;
        self.live_runs().insert(row.id, seq);
        Ok(())
    }

    /// Gives a submission its place, and keeps what travels with it.
    fn accept_single(&mut self, row: &SubmissionRow) -> Result<i64, Fault> {
        let seq = self.place()?;
        if let Some(attachment) = &row.attachment {
            self.keep_name(attachment.once.as_ref(), row.id, row.accepted_at, seq)?;
            if attachment.payload.is_some() || attachment.kind.is_some() {
                self.keep_spec(seq, None, attachment)?;
            }
        }
        Ok(seq)
    }

    fn add_task(&mut self, id: TaskId, spec: &TaskSpec) -> Result<(), Fault> {
        let Some(seq) = self.live_runs().get(&id.run).copied() else { return Ok(()) };
        let sql = "INSERT OR REPLACE INTO added_tasks VALUES (?1, ?2, ?3, ?4)";
        let text = codec::write(spec)?;
        let row = params![seq, id.index, text, spec.payload.as_deref()];
        self.connection.prepare_cached(sql)?.execute(row)?;
        let sql = "UPDATE live_runs SET tasks = MAX(tasks, ?2) WHERE seq = ?1";
        let row = params![seq, i64::from(id.index) + 1];
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    fn end_attempt(&mut self, ended: &EndedAttempt<'_>) -> Result<(), Fault> {
        let EndedAttempt { row, started_at, is_single } = ended;
        let started_at = match started_at.map(Timestamp::as_micros) {
            Some(started_at) => Some(started_at),
            None if *is_single => self.stored_start_of_single(row.id.run)?,
            None => match self.live_runs().get(&row.id.run).copied() {
                Some(seq) => self.stored_start_of_task(seq, row.id.index)?,
                None => None,
            },
        };
        Ok(attempts::write_ended(self.connection, row, started_at)?)
    }

    fn write_single(&mut self, single: &Single<'_>, place: Option<i64>) -> Result<(), Fault> {
        let started_at = single.started_at.map(Timestamp::as_micros);
        match (single.accepted.zip(place), single.ended()) {
            (Some((row, seq)), Some(ended)) => self.write_history(seq, row, ended, started_at),
            (Some((row, seq)), None) => self.insert_single(seq, row, single.newest, started_at),
            (None, Some(ended)) => self.end_single(ended, started_at),
            (None, None) => match single.newest {
                Some(row) => self.update_single(row, started_at),
                None => Ok(()),
            },
        }
    }

    /// A submission that was accepted and has ended since the last change set.
    fn write_history(
        &mut self,
        seq: i64,
        row: &SubmissionRow,
        ended: &TaskRow,
        started_at: Option<i64>,
    ) -> Result<(), Fault> {
        let profile = self.profile(&row.profile)?;
        let sql = "INSERT INTO runs (seq, run_id, kind, state, reason, cause, accepted_at,
                started_at, ended_at, tasks, failed, attempts, error, profile, priority, key,
                schedule, nominal)
            VALUES (?1, ?2, 'single', ?3, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
                ?16)";
        self.connection.prepare_cached(sql)?.execute(params![
            seq,
            blob(row.id),
            ended.state.word(),
            ended.reason.word(),
            ended.reason.cause(),
            row.accepted_at.as_micros(),
            started_at,
            ended.at.as_micros(),
            ended.state == TaskState::Failed,
            ended.attempts,
            ended.error,
            profile,
            row.priority.value(),
            row.key,
            row.firing.map(|(schedule, _)| schedule.0.to_be_bytes()),
            row.firing.map(|(_, nominal)| nominal.as_micros()),
        ])?;
        Ok(())
    }

    fn insert_single(
        &mut self,
        seq: i64,
        row: &SubmissionRow,
        task: Option<&TaskRow>,
        started_at: Option<i64>,
    ) -> Result<(), Fault> {
        let profile = self.profile(&row.profile)?;
        let once = row.attachment.as_ref().and_then(|attachment| attachment.once.as_ref());
        let sql = "INSERT INTO live_submissions (run_id, seq, shard, profile, priority, deadline,
                key, accepted_at, schedule, nominal, once_key, once_digest, state, reason, cause,
                attempts, lost, uncounted, at, until, expires, released, error, started_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                ?18, ?19, ?20, ?21, ?22, ?23, ?24)";
        self.connection.prepare_cached(sql)?.execute(params![
            blob(row.id),
            seq,
            self.shard,
            profile,
            row.priority.value(),
            row.deadline.map(Timestamp::as_micros),
            row.key,
            row.accepted_at.as_micros(),
            row.firing.map(|(schedule, _)| schedule.0.to_be_bytes()),
            row.firing.map(|(_, nominal)| nominal.as_micros()),
            once.map(|once| &once.key),
            once.map(|once| once.digest.to_be_bytes()),
            task.map(|task| task.state.word()),
            task.map(|task| task.reason.word()),
            task.and_then(|task| task.reason.cause()),
            task.map_or(0, |task| task.attempts),
            task.map_or(0, |task| task.lost),
            task.map_or(0, |task| task.uncounted),
            task.map(|task| task.at.as_micros()),
            task.and_then(|task| task.until).map(Timestamp::as_micros),
            task.and_then(|task| task.expires).map(Timestamp::as_micros),
            task.is_some_and(|task| task.released),
            task.and_then(|task| task.error.as_deref()),
            started_at,
        ])?;
        Ok(())
    }

    fn update_single(&self, row: &TaskRow, started_at: Option<i64>) -> Result<(), Fault> {
        let sql = "UPDATE live_submissions SET state = ?2, reason = ?3, cause = ?4, attempts = ?5,
                lost = ?6, uncounted = ?7, at = ?8, until = ?9, expires = ?10, released = ?11,
                error = ?12, started_at = COALESCE(?13, started_at)
            WHERE run_id = ?1";
        self.connection.prepare_cached(sql)?.execute(params![
            blob(row.id.run),
            row.state.word(),
            row.reason.word(),
            row.reason.cause(),
            row.attempts,
            row.lost,
            row.uncounted,
            row.at.as_micros(),
            row.until.map(Timestamp::as_micros),
            row.expires.map(Timestamp::as_micros),
            row.released,
            row.error,
            started_at,
        ])?;
        Ok(())
    }

    fn end_single(&self, row: &TaskRow, started_at: Option<i64>) -> Result<(), Fault> {
        let sql = "INSERT INTO runs (seq, run_id, kind, state, reason, cause, accepted_at,
                started_at, ended_at, tasks, failed, attempts, error, profile, priority, key,
                schedule, nominal)
            SELECT seq, run_id, 'single', ?2, ?3, ?4, accepted_at, COALESCE(?5, started_at), ?6, 1,
                ?7, ?8, ?9, profile, priority, key, schedule, nominal
            FROM live_submissions WHERE run_id = ?1";
        self.connection.prepare_cached(sql)?.execute(params![
            blob(row.id.run),
            row.state.word(),
            row.reason.word(),
            row.reason.cause(),
            started_at,
            row.at.as_micros(),
            row.state == TaskState::Failed,
            row.attempts,
            row.error,
        ])?;
        let sql = "DELETE FROM live_submissions WHERE run_id = ?1";
        self.connection.prepare_cached(sql)?.execute([blob(row.id.run)])?;
        Ok(())
    }

    fn write_tasks(&mut self, tasks: &[RunTask<'_>]) -> Result<(), Fault> {
        let sql =
            "INSERT INTO tasks (seq, idx, state, reason, cause, attempts, lost, uncounted, at,
                until, expires, released, error, started_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
            ON CONFLICT (seq, idx) DO UPDATE SET state = excluded.state, reason = excluded.reason,
                cause = excluded.cause, attempts = excluded.attempts, lost = excluded.lost,
                uncounted = excluded.uncounted, at = excluded.at, until = excluded.until,
                expires = excluded.expires, released = excluded.released, error = excluded.error,
                started_at = COALESCE(excluded.started_at, started_at)";
        let mut statement = self.connection.prepare_cached(sql)?;
        for RunTask { newest: row, started_at } in tasks {
            let Some(seq) = self.live_runs().get(&row.id.run).copied() else { continue };
            statement.execute(params![
                seq,
                row.id.index,
                row.state.word(),
                row.reason.word(),
                row.reason.cause(),
                row.attempts,
                row.lost,
                row.uncounted,
                row.at.as_micros(),
                row.until.map(Timestamp::as_micros),
                row.expires.map(Timestamp::as_micros),
                row.released,
                row.error,
                started_at.map(Timestamp::as_micros),
            ])?;
        }
        Ok(())
    }

    fn write_priorities(&mut self, rows: &[&PriorityRow]) -> Result<(), Fault> {
        for row in rows {
            let priority = row.priority.value();
            match self.live_runs().get(&row.run).copied() {
                Some(seq) => {
                    let sql = "INSERT OR REPLACE INTO priorities VALUES (?1, ?2, ?3)";
                    let index = row.task.map_or(-1, i64::from);
                    self.connection.prepare_cached(sql)?.execute(params![seq, index, priority])?;
                }
                None => {
                    let sql = "UPDATE live_submissions SET priority = ?2 WHERE run_id = ?1";
                    let row = params![blob(row.run), priority];
                    self.connection.prepare_cached(sql)?.execute(row)?;
                }
            }
        }
        Ok(())
    }

    fn write_runs(&mut self, runs: &[&RunChange]) -> Result<(), Fault> {
        for change in runs {
            let Some(seq) = self.live_runs().get(&change.id).copied() else { continue };
            match change.result {
                Some(result) => {
                    self.end_run(seq, change, result.word())?;
                    self.live_runs().remove(&change.id);
                }
                None => {
                    let sql = "UPDATE live_runs SET changed = 1, paused = ?2, keep_open = ?3,
                        stopped = ?4, stopped_by = ?5 WHERE seq = ?1";
                    self.connection.prepare_cached(sql)?.execute(params![
                        seq,
                        change.paused,
                        change.keep_open,
                        change.stopped.map(Reason::word),
                        change.stopped.and_then(Reason::cause),
                    ])?;
                }
            }
        }
        Ok(())
    }

    fn end_run(&self, seq: i64, change: &RunChange, result: &str) -> Result<(), Fault> {
        let sql = "INSERT INTO runs (seq, run_id, kind, name, state, reason, cause, accepted_at,
                started_at, ended_at, tasks, failed, attempts, error, schedule, nominal)
            SELECT live.seq, run_id, 'run', name, ?2, ?3, ?4, accepted_at,
                COALESCE(MIN(MIN(tasks.started_at), (SELECT MIN(started_at) FROM attempts
                    WHERE attempts.run_id = live.run_id)), MIN(tasks.started_at)),
                ?5, live.tasks, COALESCE(SUM(tasks.state IN ('failed', 'unknown')), 0),
                COALESCE(SUM(tasks.attempts), 0),
                (SELECT error FROM tasks WHERE seq = ?1 AND state = 'failed' AND error IS NOT NULL
                    ORDER BY at, idx LIMIT 1),
                schedule, nominal
            FROM live_runs AS live LEFT JOIN tasks ON tasks.seq = live.seq
            WHERE live.seq = ?1 GROUP BY live.seq";
        let reason = change.stopped.unwrap_or_default();
        self.connection.prepare_cached(sql)?.execute(params![
            seq,
            result,
            reason.word(),
            reason.cause(),
            change.ended_at.map_or(0, Timestamp::as_micros),
        ])?;
        self.connection.prepare_cached("DELETE FROM live_runs WHERE seq = ?1")?.execute([seq])?;
        Ok(())
    }

    /// The next place in the order of acceptance.
    pub(super) fn place(&mut self) -> Result<i64, Fault> {
        let place = match self.next {
            Some(next) => next,
            None => self
                .connection
                .prepare_cached("SELECT next FROM counter")?
                .query_row([], |row| row.get(0))?,
        };
        self.next = Some(place + 1);
        Ok(place)
    }

    /// The number of a profile, which is written the first time it is seen.
    pub(super) fn profile(&mut self, profile: &Arc<Profile>) -> Result<i64, Fault> {
        let address = Arc::as_ptr(profile).addr();
        if let Some((_, id)) = self.known.profiles.get(&address) {
            return Ok(*id);
        }
        let text = codec::write(&**profile)?;
        let sql = "INSERT INTO profiles (spec) VALUES (?1) ON CONFLICT (spec) DO NOTHING";
        self.connection.prepare_cached(sql)?.execute([&text])?;
        let sql = "SELECT id FROM profiles WHERE spec = ?1";
        let id = self.connection.prepare_cached(sql)?.query_row([&text], |row| row.get(0))?;
        if self.known.profiles.len() >= PROFILES_MAX {
            self.known.profiles.clear();
        }
        self.known.profiles.insert(address, (Arc::clone(profile), id));
        Ok(id)
    }

    fn keep_name(
        &self,
        once: Option<&OnceKey>,
        run: RunId,
        accepted_at: Timestamp,
        seq: i64,
    ) -> Result<(), Fault> {
        let Some(once) = once else { return Ok(()) };
        let sql = "INSERT OR REPLACE INTO names (shard, key, digest, run_id, accepted_at, seq)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let digest = once.digest.to_be_bytes();
        let at = accepted_at.as_micros();
        let row = params![self.shard, once.key, digest, blob(run), at, seq];
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    fn keep_spec(&self, seq: i64, spec: Option<&str>, with: &Attachment) -> Result<(), Fault> {
        let sql = "INSERT INTO specs (seq, spec, payload, kind) VALUES (?1, ?2, ?3, ?4)";
        let row = params![seq, spec, with.payload.as_deref(), with.kind];
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    fn stored_start_of_single(&self, run: RunId) -> Result<Option<i64>, Fault> {
        let sql = "SELECT started_at FROM live_submissions WHERE run_id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found: Option<Option<i64>> =
            statement.query_row([blob(run)], |row| row.get(0)).optional()?;
        Ok(found.flatten())
    }

    fn stored_start_of_task(&self, seq: i64, index: u32) -> Result<Option<i64>, Fault> {
        let sql = "SELECT started_at FROM tasks WHERE seq = ?1 AND idx = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found: Option<Option<i64>> =
            statement.query_row(params![seq, index], |row| row.get(0)).optional()?;
        Ok(found.flatten())
    }

    fn live_runs(&mut self) -> &mut HashMap<RunId, i64> {
        self.known.runs.get_or_insert_default()
    }
}

fn read_live_runs(connection: &Connection, shard: i64) -> rusqlite::Result<HashMap<RunId, i64>> {
    let sql = "SELECT run_id, seq FROM live_runs WHERE shard = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement
        .query_map([shard], |row| Ok((RunId(u128::from_be_bytes(row.get(0)?)), row.get(1)?)))?;
    rows.collect()
}

/// An identity as it is stored: big end first, so that ids sort as they count.
pub(super) fn blob(run: RunId) -> [u8; 16] {
    run.0.to_be_bytes()
}
