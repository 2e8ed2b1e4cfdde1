//! Restoring: from what a store kept to a scheduler in memory. It is the only way to recover.
//!
//! Attempts that were running are lost, for nobody is left to report about them, unless the caller
//! itself still has them: then only its store was gone for a while.

use std::collections::BTreeSet;

use slotmap::DefaultKey;

use super::state::{Alarm, ScheduleEntry, Scheduler};
use crate::decision::Decision;
use crate::id::{AttemptId, RunKey, TaskKey};
use crate::input::{Fires, Rejection, Submission};
use crate::limit::LimitKind;
use crate::row::{ScheduleRow, Snapshot, StoredRun, SubmissionRow, TaskRow};
use crate::run::{Extra, Run};
use crate::schedule::Schedule;
use crate::spec::Config;
use crate::task::{Reason, Task, TaskState};
use crate::time::{Moment, Now, Timestamp};

/// What was stored cannot be made sense of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A row asks for something that is not there.
    #[error("stored {what} {id} cannot be restored: {source}")]
    Refused {
        /// What kind of row.
        what: &'static str,
        /// Which.
        id: String,
        /// Why.
        source: Box<Rejection>,
    },
    /// A row speaks of a task that its run does not have.
    #[error("run {run} has no task with index {index}")]
    NoSuchTask {
        /// The run.
        run: String,
        /// The index.
        index: u32,
    },
}

/// What was running when the rows were stored.
struct Running<'a> {
    /// Attempts that the caller still has.
    alive: &'a BTreeSet<AttemptId>,
    /// Tasks whose attempts nobody has any more.
    lost: Vec<TaskKey>,
}

impl Scheduler {
    /// A scheduler that goes on where the stored one ended. Attempts in `alive` are still under way
    /// and will be reported; all others that were running are lost.
    ///
    /// # Errors
    ///
    /// When rows contradict each other.
    pub fn restore(
        config: Config,
        snapshot: Snapshot,
        alive: &BTreeSet<AttemptId>,
        now: Now,
        decision: &mut Decision,
    ) -> Result<Self, RestoreError> {
        let mut scheduler = Self::new(config);
        scheduler.paused = snapshot.paused;
        // What was stored is not stored again.
        let mut silent = Decision::volatile();
        for (name, spec, paused) in snapshot.queues {
            let defined = scheduler.define_queue(name.clone(), spec, &mut silent);
            defined.map_err(|source| refused("queue", &name, source))?;
            if paused {
                let _ = scheduler.pause_queue(&name, true, &mut silent);
            }
        }
        for (name, spec) in snapshot.limits {
            let defined = scheduler.define_limit(name.clone(), &spec, &mut silent);
            defined.map_err(|source| refused("limit", &name, source))?;
        }
        let mut wanted = Vec::new();
        for row in snapshot.schedules {
            let of_this = row.wanted.clone();
            let key = scheduler.restore_schedule(row, now)?;
            wanted.extend(of_this.into_iter().map(|wanted| (key, wanted)));
        }
        for name in snapshot.names {
            scheduler.remember(name, now.wall);
        }
        let mut running = Running { alive, lost: Vec::new() };
        let mut works = Vec::new();
        for stored in snapshot.runs {
            works.push(scheduler.restore_run(stored, now, &mut running)?);
        }
        for (row, task) in snapshot.submissions {
            works.push(scheduler.restore_single(row, task, now, &mut running)?);
        }
        scheduler.index_preemptible();
        for &work in &works {
            scheduler.count_restored(work);
        }
        // Only when everything has its state, anything may follow from it.
        for work in works {
            scheduler.wake_restored(work, now, decision);
        }
        for key in running.lost {
            scheduler.attempt_lost(key, now, decision);
        }
        scheduler.settle(now, decision);
        // From here on a jump of the wall clock is noticed.
        scheduler.notice_clock(now, decision);
        let keys: Vec<_> = scheduler.schedules.keys().collect();
        for key in keys {
            scheduler.poll_schedule(key, now, decision);
        }
        for (key, wanted) in wanted {
            scheduler.ask_again(key, wanted, decision);
        }
        scheduler.settle(now, decision);
        scheduler.fill_slots(now, decision);
        scheduler.keep_restored_places(decision);
        scheduler.keep_restored_units(now.monotonic, decision);
        scheduler.settle_shares(now.monotonic, decision);
        Ok(scheduler)
    }

    fn count_restored(&mut self, work: RunKey) {
        for key in self.task_keys(work.0) {
            if self.member(key).is_some_and(|task| !task.state.is_terminal()) {
                let class = self.work(key).class(key.index);
                let queue = self.classes[class as usize].queue;
                self.queues[queue as usize].statistics.restored += 1;
            }
        }
    }

    fn restore_schedule(&mut self, row: ScheduleRow, now: Now) -> Result<DefaultKey, RestoreError> {
        let fires = match row.fires {
            Fires::Task { profile, priority } => {
                let found = self.profile(&profile);
                let refused = |source| refused("schedule", &row.id.to_string(), source);
                Fires::Task { profile: found.map_err(refused)?, priority }
            }
            Fires::Run => Fires::Run,
        };
        let seed = self.config.seed;
        let spec = (*row.spec).clone();
        Ok(self.insert_schedule(ScheduleEntry {
            schedule: Schedule::restore(row.id.0, seed, spec, row.state, now),
            id: row.id,
            spec: row.spec,
            fires,
            timer: None,
            running: Vec::new(),
            wanted: row.wanted,
        }))
    }

    fn restore_run(
        &mut self,
        stored: StoredRun,
        now: Now,
        running: &mut Running<'_>,
    ) -> Result<RunKey, RestoreError> {
        let id = stored.row.id;
        let spec = stored.row.spec;
        let fail = |source| refused("run", &id.to_string(), source);
        let queue = self.find_queue(&spec.options.queue).map_err(fail)?;
        let profiles = self.resolve_run(&spec, queue).map_err(fail)?;
        let mut run = Run::new(id, spec.clone(), now.monotonic, stored.row.accepted_at);
        if let Some(change) = stored.change {
            run.paused = change.paused;
            run.keep_open = change.keep_open;
            run.stopped = change.stopped;
        }
        let schedule = stored.row.firing.and_then(|(id, _)| self.schedule_keys.get(&id).copied());
        run.schedule = schedule;
        let key = RunKey(self.insert_run(run, profiles, now));
        if let Some(schedule) = schedule {
            self.schedules[schedule].running.push(key.0);
        }
        for (_, task) in &stored.added {
            let default_queue = spec.options.queue.clone();
            let queue = task.profile.queue.as_ref().unwrap_or(&default_queue);
            let queue = self.find_queue(queue).map_err(fail)?;
            let profile = self.resolve(&task.profile, queue).map_err(fail)?;
            self.insert_task(key, task, profile, now);
        }
        self.restore_priorities(key, &stored.priorities).map_err(fail)?;
        for row in &stored.tasks {
            self.restore_task(key, row, now, running)?;
        }
        self.recount(key);
        self.mark_all_declined(key);
        self.rejudge(key);
        self.take_restored_places(key);
        self.tally(key, false);
        self.arm_groups(key, now);
        Ok(key)
    }

    /// Brings a task to its stored state without any consequence.
    fn restore_task(
        &mut self,
        run: RunKey,
        row: &TaskRow,
        now: Now,
        running: &mut Running<'_>,
    ) -> Result<(), RestoreError> {
        let key = TaskKey { run, index: row.id.index };
        if self.member(key).is_none() {
            let run = row.id.run.to_string();
            return Err(RestoreError::NoSuchTask { run, index: row.id.index });
        }
        let work = self.work_mut(key);
        let task = work.task_mut(key.index);
        task.attempts = row.attempts;
        task.released = row.released;
        task.reason = row.reason;
        if row.state.is_terminal() {
            task.ended_at = now.monotonic;
        }
        if row.uncounted > 0 || row.error.is_some() || row.until.is_some() {
            let extra: &mut Extra = work.extra_mut(key.index);
            extra.lost = row.lost;
            extra.uncounted = row.uncounted;
            extra.error = row.error.clone();
            // However the wall clock was set meanwhile, the wait is never longer than it was.
            extra.until = row
                .until
                .map(|until| moment_of(until, now).min(now.monotonic.after(until.since(row.at))));
        }
        // Delayed and ready tasks are brought there by the ordinary transitions later.
        let state = match row.state {
            TaskState::Ready | TaskState::Delayed => TaskState::Blocked,
            other => other,
        };
        self.force_state(key, state);
        if let Some(expires) = row.expires.filter(|_| !state.is_terminal()) {
            let left = expires.since(row.at).min(expires.since(now.wall));
            let timer = self.timers.insert(now.monotonic.after(left), Alarm::TaskTimeout(key));
            self.work_mut(key).extra_mut(key.index).timeout_timer = Some(timer);
        }
        let attempt = AttemptId { task: row.id, number: row.attempts };
        let is_alive = state.holds_slot() && running.alive.contains(&attempt);
        // One that was postponed gave its place away.
        if row.attempts > 0 && !state.is_terminal() && row.reason != Reason::Postponed {
            self.stand_ahead(key, is_alive);
        }
        if state.holds_slot() {
            self.take_restored_slot(key, is_alive);
            if is_alive {
                self.work_mut(key).task_mut(key.index).started_at = now.monotonic;
            } else {
                running.lost.push(key);
            }
        }
        Ok(())
    }

    /// The task of a key that was started before stands ahead of all that were not. Two have been where work
    /// of another shard is taken in: the one that runs is first, whichever was stored first.
    fn stand_ahead(&mut self, key: TaskKey, is_alive: bool) {
        let work = self.work(key);
        let Some(name) = work.extra(key.index).and_then(|extra| extra.key.clone()) else { return };
        let queue = self.classes[work.class(key.index) as usize].queue;
        // Whoever was not started comes later: waking is not before all have their state.
        let line = self.keys.entry((queue, name)).or_default();
        match is_alive {
            true => line.push_front(key),
            false => line.push_back(key),
        }
    }

    fn force_state(&mut self, key: TaskKey, state: TaskState) {
        let task = self.work_mut(key).task_mut(key.index);
        let from = std::mem::replace(&mut task.state, state);
        if let Some(run) = self.run_mut(key.run.0) {
            run.counts.leave(from);
            run.counts.enter(state);
            run.unended -= u32::from(state.is_terminal());
        }
    }

    /// A running task of a stored run holds its slot until it is found lost. Shared units that it
    /// had are still ours only if it is alive: otherwise somebody else may have them by now.
    fn take_restored_slot(&mut self, key: TaskKey, is_alive: bool) {
        let (class, party) = (self.work(key).class(key.index), self.party(key));
        if let Some(run) = self.run_mut(key.run.0) {
            run.active += 1;
        }
        self.active += 1;
        let class = &self.classes[class as usize];
        let queue = &mut self.queues[class.queue as usize];
        queue.active += 1;
        if let Some(parties) = &mut queue.parties {
            parties.restored(party);
        }
        for &(index, units) in &class.needs {
            let limit = &mut self.limits[index as usize];
            if let LimitKind::Units { used, .. } = &mut limit.kind {
                *used += u64::from(units);
            }
            if let Some(share) = limit.share.as_mut().filter(|_| is_alive) {
                share.held = share.held.saturating_add(units);
            }
        }
    }

    /// Recomputes what each task waits for: dependencies that have not ended.
    fn recount(&mut self, key: RunKey) {
        let Some(run) = self.run_mut(key.0) else { return };
        let mut pending = vec![0_u32; run.tasks.len()];
        for index in 0..run.tasks.len() as u32 {
            if !run.tasks[index as usize].state.is_terminal() {
                for successor in run.successors(index) {
                    pending[successor as usize] += 1;
                }
            }
        }
        run.pending = pending;
    }

    /// Lets every task that waits for nothing but time or its turn go on.
    fn wake_restored(&mut self, run: RunKey, now: Now, decision: &mut Decision) {
        for key in self.task_keys(run.0) {
            if self.lacks_place(key) {
                self.ask_again_for_place(key);
                continue;
            }
            let Some(task) = self.member(key) else { continue };
            let pending = self.run(run.0).map_or(0, |run| run.pending[key.index as usize]);
            if task.state != TaskState::Blocked || pending > 0 {
                continue;
            }
            let (attempts, reason) = (task.attempts, task.reason);
            let until = self.work(key).extra(key.index).and_then(|extra| extra.until);
            match until {
                Some(until) => self.delay(key, reason, until, now, decision),
                None if attempts > 0 => {
                    self.transition(key, TaskState::Ready, reason, now, decision);
                }
                None => self.become_ready(key, now, decision),
            }
        }
        self.finish_run_if_ended(run, now, decision);
    }

    fn restore_single(
        &mut self,
        row: SubmissionRow,
        task: Option<TaskRow>,
        now: Now,
        running: &mut Running<'_>,
    ) -> Result<RunKey, RestoreError> {
        let fail = |source| refused("submission", &row.id.to_string(), source);
        let profile = self.profile(&row.profile).map_err(fail)?;
        let schedule = row.firing.and_then(|(id, _)| self.schedule_keys.get(&id).copied());
        let extra = Extra {
            deadline: row.deadline.map(|deadline| moment_of(deadline, now)),
            key: row.key.clone(),
            nominal: row.firing.map(|(_, nominal)| nominal),
            attachment: row.attachment.clone(),
            ..Extra::default()
        };
        let submission =
            Submission { id: row.id, profile, priority: row.priority, ..Submission::default() };
        let run = self.insert_single(&submission, Some(Box::new(extra)), schedule);
        self.restored.insert(row.id, run);
        if let Some(schedule) = schedule {
            self.schedules[schedule].running.push(run);
        }
        if let Some(task) = &task {
            self.restore_task(RunKey(run), task, now, running)?;
        }
        Ok(RunKey(run))
    }

    /// Whether a stored run has failed follows from its failed tasks.
    fn rejudge(&mut self, key: RunKey) {
        let Some(run) = self.run(key.0) else { return };
        if run.levels.is_some() {
            let timed_out = run.stopped == Some(Reason::RunTimeout);
            for key in self.task_keys(key.0) {
                let failed =
                    |task: &Task| matches!(task.state, TaskState::Failed | TaskState::Unknown);
                if self.member(key).is_some_and(failed) {
                    self.judge_again(key);
                }
            }
            if let Some(run) = self.run_mut(key.0) {
                run.failed |= timed_out;
            }
            return;
        }
        let failed = run.tasks.iter().enumerate().any(|(index, task)| {
            let profile = run.profiles[task.profile.0 as usize].profile;
            let own = self.profiles[profile.0 as usize].spec.on_error;
            let stopped = run.stopped == Some(Reason::RunStopped(index as u32));
            matches!(task.state, TaskState::Failed | TaskState::Unknown)
                && !crate::policy::failure::is_tolerated(own, stopped)
        });
        let timed_out = run.stopped == Some(Reason::RunTimeout);
        if let Some(run) = self.run_mut(key.0) {
            run.failed = failed || timed_out;
        }
    }
}

fn refused(what: &'static str, id: &str, source: Rejection) -> RestoreError {
    RestoreError::Refused { what, id: id.to_owned(), source: Box::new(source) }
}

fn moment_of(instant: Timestamp, now: Now) -> Moment {
    now.monotonic.after(instant.since(now.wall))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::id::{RunId, TaskId};
    use crate::policy::Priority;
    use crate::spec::Profile;

    /// A submission of one key whose first attempt was under way when it was stored.
    fn under_way(number: u128) -> (SubmissionRow, Option<TaskRow>) {
        let submission = SubmissionRow {
            id: RunId(number),
            profile: Arc::new(Profile::default()),
            priority: Priority::NORMAL,
            deadline: None,
            key: Some("red".into()),
            accepted_at: Timestamp::default(),
            firing: None,
            attachment: None,
        };
        let task = TaskRow {
            id: TaskId { run: RunId(number), index: 0 },
            state: TaskState::Running,
            reason: Reason::Ordinary,
            attempts: 1,
            lost: 0,
            uncounted: 0,
            at: Timestamp::default(),
            until: None,
            expires: None,
            released: false,
            error: None,
        };
        (submission, Some(task))
    }

    /// The runs whose attempts are under way when two of a key were stored, of which only one is alive.
    fn restored(stored: [u128; 2], alive: u128) -> Vec<RunId> {
        let snapshot =
            Snapshot { submissions: stored.map(under_way).to_vec(), ..Snapshot::default() };
        let alive = AttemptId { task: TaskId { run: RunId(alive), index: 0 }, number: 1 };
        let mut decision = Decision::volatile();
        let (alive, now) = (BTreeSet::from([alive]), Now::default());
        let scheduler = Scheduler::restore(Config::default(), snapshot, &alive, now, &mut decision);
        let scheduler = scheduler.expect("rows that make sense");
        scheduler.running().map(|(task, _)| scheduler.task_id(task).run).collect()
    }

    #[test]
    fn work_that_is_taken_in_does_not_run_beside_the_living_one_of_its_key() {
        assert_eq!(restored([1, 2], 1), [RunId(1)]);
        assert_eq!(restored([1, 2], 2), [RunId(2)]);
    }
}
