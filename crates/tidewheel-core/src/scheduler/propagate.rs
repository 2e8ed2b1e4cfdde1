//! What follows from an ended task: for those that wait for it, for its run, for its schedule.
//!
//! What it means for a group is in `levels`, whether it stops something in `judge`. Tasks are worked
//! off one by one from a list, never by recursion, however deep the graph.

use super::firing::FiringEnd;
use super::judge::words;
use super::state::Scheduler;
use crate::decision::{Action, Decision, Fact};
use crate::id::{RunKey, TaskId, TaskKey};
use crate::level::RUN;
use crate::policy::{OnError, OnSkip, Priority};
use crate::policy::{failure, skip};
use crate::row::{Change, RunChange, RunResult};
use crate::run::{Run, Work};
use crate::task::{Reason, Task, TaskState};
use crate::time::Now;

/// What an ended task means for one that waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consequence {
    /// One dependency less.
    Release,
    /// It will not run.
    Skip(Reason),
    /// It will not run unless something else it needs fails, which would count for more.
    Decline,
}

impl Scheduler {
    /// Draws all consequences of tasks that ended in this step.
    pub(super) fn settle(&mut self, now: Now, decision: &mut Decision) {
        loop {
            while let Some(key) = self.ended.pop_front() {
                self.draw_consequences(key, now, decision);
            }
            // Only now every failure is judged.
            if let Some((run, level)) = self.dealing.pop() {
                self.deal_place(run, level, now, decision);
                continue;
            }
            // A run that ends may let its schedule go on.
            let Some(run) = self.finishing.pop() else { return };
            self.finish_run_if_ended(run, now, decision);
        }
    }

    #[inline]
    fn draw_consequences(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        if self.count_ended(key, now) {
            self.tidy_extra(key);
        }
        match self.work(key) {
            Work::Run(_) => {
                self.tell_dependents(key, now, decision);
                let has_ended = self.run(key.run.0).is_some_and(|run| run.unended == 0);
                if has_ended && self.finishing.last() != Some(&key.run) {
                    self.finishing.push(key.run);
                }
            }
            Work::Single(_) => self.finish_single(key, now, decision),
        }
    }

    /// Counts an ended task. Whether it had something out of the ordinary to be tidied up.
    #[inline]
    fn count_ended(&mut self, key: TaskKey, now: Now) -> bool {
        let Self { works, classes, queues, .. } = self;
        let work = works.get(key.run.0).expect("the key was checked on arrival");
        let task = work.task(key.index).expect("the key was checked on arrival");
        let priority = Priority::new(i64::from(task.priority));
        let class = work.class(key.index);
        let statistics = &mut queues[classes[class as usize].queue as usize].statistics;
        match task.state {
            TaskState::Succeeded | TaskState::Failed | TaskState::Unknown if task.attempts > 0 => {
                statistics.completed += 1;
                statistics.high_priority_completed += u64::from(priority.is_high());
                statistics.low_priority_completed += u64::from(priority.is_low());
                statistics.failed += u64::from(task.state != TaskState::Succeeded);
            }
            TaskState::Skipped => statistics.skipped += 1,
            TaskState::Cancelled => statistics.cancelled += 1,
            TaskState::Succeeded => statistics.already_done += 1,
            _ => statistics.failed_unstarted += 1,
        }
        let Some(extra) = work.extra(key.index) else { return false };
        let late = extra.deadline.is_some_and(|deadline| deadline < now.monotonic);
        statistics.late += u64::from(late);
        true
    }

    /// Cancels the timers of an ended task and lets the next of its key go on.
    fn tidy_extra(&mut self, key: TaskKey) {
        let extra = self.work_mut(key).extra_mut(key.index);
        let timers = [extra.timeout_timer.take(), extra.delay_timer.take()];
        for timer in timers.into_iter().flatten() {
            self.timers.cancel(timer);
        }
        self.release_key(key);
    }

    fn tell_dependents(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let Some(run) = self.run(key.run.0) else { return };
        let task = &run.tasks[key.index as usize];
        if run.is_plain && task.is_met() && run.added_successors.is_empty() {
            self.release_successors(key, now, decision);
            return;
        }
        let has_levels = run.levels.is_some();
        if matches!(task.state, TaskState::Failed | TaskState::Unknown) {
            self.judge_failure(key, now, decision);
        }
        if has_levels {
            self.tell_levels(key, now, decision);
            return;
        }
        let successors: Vec<u32> =
            self.run(key.run.0).map_or_else(Vec::new, |run| run.successors(key.index).collect());
        for index in successors {
            self.tell_dependent(key, TaskKey { run: key.run, index }, now, decision);
        }
    }

    /// The common case: a task of the graph succeeded, or had nothing to do. Nothing is copied or asked twice.
    fn release_successors(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let mut place = 0;
        while let Some(Work::Run(run)) = self.works.get_mut(key.run.0) {
            if key.index >= run.spec.graph.len() {
                return;
            }
            let successors = &run.spec.graph.successors(key.index)[place..];
            let (pending, tasks) = (&mut run.pending, &run.tasks);
            let found = successors.iter().position(|&successor| {
                let pending = &mut pending[successor as usize];
                *pending = pending.saturating_sub(1);
                *pending == 0 && tasks[successor as usize].state == TaskState::Blocked
            });
            let Some(found) = found else { return };
            let dependent = TaskKey { run: key.run, index: successors[found] };
            place += found + 1;
            self.become_ready(dependent, now, decision);
        }
    }

    /// Draws the consequence of an ended task for one that waits for it.
    pub(super) fn tell_dependent(
        &mut self,
        ended: TaskKey,
        dependent: TaskKey,
        now: Now,
        decision: &mut Decision,
    ) {
        match self.consequence(ended, dependent) {
            Consequence::Release => self.pass(dependent, now, decision),
            Consequence::Skip(reason) => self.skip(dependent, reason, now, decision),
            Consequence::Decline => {
                self.mark_declined(dependent, Reason::DependencyDeclined(ended.index));
                self.pass(dependent, now, decision);
            }
        }
    }

    pub(super) fn consequence(&self, ended: TaskKey, dependent: TaskKey) -> Consequence {
        let Work::Run(run) = self.work(ended) else { return Consequence::Release };
        let task = &run.tasks[ended.index as usize];
        let profile = self.profile_spec(dependent);
        if task.state == TaskState::Succeeded || task.released || profile.always {
            return Consequence::Release;
        }
        let level = run.levels.as_ref().map_or(RUN, |levels| levels.of(dependent.index));
        let (on_error, on_skip) = self.defaults(ended.run, level);
        match task.state {
            TaskState::Skipped if task.reason.is_declined() => {
                let own = self.profile_spec(ended).on_skip;
                match skip::word(profile.on_skip, own, on_skip) {
                    OnSkip::Continue => Consequence::Release,
                    OnSkip::Skip => Consequence::Decline,
                }
            }
            TaskState::Failed | TaskState::Unknown => {
                let word = failure::word(
                    words(profile).as_dependent(),
                    words(self.profile_spec(ended)).as_failed(),
                    on_error,
                );
                match word {
                    OnError::Continue => Consequence::Release,
                    OnError::Skip | OnError::Fail => {
                        Consequence::Skip(Reason::DependencyFailed(ended.index))
                    }
                }
            }
            _ => Consequence::Skip(Reason::DependencySkipped(ended.index)),
        }
    }

    /// One dependency less; with the last one gone the task becomes ready, or declines.
    pub(super) fn release(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        if self.one_dependency_less(key) == 0 {
            self.begin(key, now, decision);
        }
    }

    /// A task waits for nothing more: it becomes ready, or declines.
    pub(super) fn begin(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let Some(task) = self.member(key).filter(|task| task.state == TaskState::Blocked) else {
            return;
        };
        let reason = if self.is_not_to_follow(key) { Reason::Condition } else { task.reason };
        if reason.is_declined() {
            self.transition(key, TaskState::Skipped, reason, now, decision);
        } else if self.ask_place(key) {
            self.become_ready(key, now, decision);
        }
    }

    /// Notes with a task that waits that it will decline. It does so when all it needs has ended: if
    /// something of that fails, the task is skipped because of it, whichever came first.
    pub(super) fn mark_declined(&mut self, key: TaskKey, reason: Reason) {
        if let Some(level) = self.group_of_end(key)
            && let Some(levels) = self.levels_mut(key.run)
        {
            levels.all[level as usize].declined.get_or_insert(reason);
            return;
        }
        let task = self.work_mut(key).task_mut(key.index);
        if task.state == TaskState::Blocked && !task.reason.is_declined() {
            task.reason = reason;
        }
    }

    fn one_dependency_less(&mut self, key: TaskKey) -> u32 {
        let Some(run) = self.run_mut(key.run.0) else { return 0 };
        let pending = &mut run.pending[key.index as usize];
        *pending = pending.saturating_sub(1);
        *pending
    }

    /// All dependencies have ended: the task is ready, or waits for its start delay.
    pub(super) fn become_ready(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let profile = &self.profiles[self.work(key).profile(key.index).0 as usize];
        let delay = profile.spec.start_delay;
        if profile.plain || delay.is_zero() {
            self.transit(key, TaskState::Ready, Reason::Ordinary, now, decision);
        } else {
            self.delay(key, Reason::Ordinary, now.monotonic.after(delay), now, decision);
        }
    }

    /// After a restore: notes again which of the tasks that wait will decline. With groups and
    /// conditions it is part of counting everything (see `tally`).
    pub(super) fn mark_all_declined(&mut self, run: RunKey) {
        if self.run(run.0).is_none_or(|run| run.is_plain || run.levels.is_some()) {
            return;
        }
        for ended in self.task_keys(run.0) {
            if !self.member(ended).is_some_and(Task::is_declined) {
                continue;
            }
            let successors: Vec<u32> =
                self.run(run.0).map_or_else(Vec::new, |run| run.successors(ended.index).collect());
            for index in successors {
                let dependent = TaskKey { run, index };
                if self.consequence(ended, dependent) == Consequence::Decline {
                    self.mark_declined(dependent, Reason::DependencyDeclined(ended.index));
                }
            }
        }
    }

    fn skip(&mut self, key: TaskKey, reason: Reason, now: Now, decision: &mut Decision) {
        let mut has_begun = false;
        match self.group_of_end(key).zip(self.levels_mut(key.run)) {
            Some((level, levels)) => {
                let group = &mut levels.all[level as usize];
                group.door = group.door.saturating_sub(1);
                has_begun = group.is_open;
            }
            None => {
                self.one_dependency_less(key);
            }
        }
        let is_blocked = self.member(key).is_some_and(|task| task.state == TaskState::Blocked);
        if is_blocked && !has_begun {
            self.transition(key, TaskState::Skipped, reason, now, decision);
        }
    }

    pub(super) fn finish_run_if_ended(&mut self, key: RunKey, now: Now, decision: &mut Decision) {
        if !self.ended.is_empty() {
            // Not before every failure is judged.
            self.finishing.push(key);
            return;
        }
        let Some(run) = self.run_mut(key.0) else { return };
        if run.result.is_some() || run.keep_open || run.unended > 0 {
            return;
        }
        let result = match run.stopped {
            Some(reason) if is_asked_for(reason) => RunResult::Cancelled,
            _ if run.failed => RunResult::Failed,
            _ => RunResult::Succeeded,
        };
        run.result = Some(result);
        run.ended_at = now.monotonic;
        let (id, timer, schedule) = (run.id, run.timeout_timer.take(), run.schedule);
        if let Some(timer) = timer {
            self.timers.cancel(timer);
        }
        self.record_run(key, now, decision);
        self.leave_group(key.0, decision);
        decision.act(Action::RunEnded { run: key, result });
        self.notify(now, decision, || Fact::RunEnded(id, result));
        self.run_keys.remove(&id);
        if let Some(schedule) = schedule {
            let error = self.run(key.0).and_then(Run::first_error);
            let end = FiringEnd { run: id, success: result == RunResult::Succeeded, error };
            self.firing_ended(now, schedule, key.0, end, decision);
        }
    }

    pub(super) fn record_run(&self, key: RunKey, now: Now, decision: &mut Decision) {
        let Some(run) = self.run(key.0) else { return };
        decision.change(|| {
            Change::RunChanged(RunChange {
                id: run.id,
                paused: run.paused,
                keep_open: run.keep_open,
                stopped: run.stopped,
                result: run.result,
                ended_at: run.result.map(|_| now.wall),
            })
        });
    }

    fn finish_single(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let Some(Work::Single(single)) = self.works.remove(key.run.0) else { return };
        self.profiles.leave(single.task.profile);
        let (state, reason) = (single.task.state, single.task.reason);
        let error = single.extra.and_then(|extra| extra.error);
        let (run, id) = (key.run, single.id);
        if !self.restored.is_empty() {
            self.restored.remove(&id);
        }
        let end = single.schedule.map(|schedule| {
            let success = single.task.is_met();
            (schedule, FiringEnd { run: id, success, error: error.clone() })
        });
        decision.act(Action::SubmissionEnded { run, id, state, reason, error });
        if let Some((schedule, end)) = end {
            self.firing_ended(now, schedule, key.run.0, end, decision);
        }
    }

    /// Tells that a task was added; the run may have been about to end.
    pub(super) fn notify_added(&mut self, id: TaskId, now: Now, decision: &mut Decision) {
        self.notify(now, decision, || Fact::TaskAdded(id));
    }
}

/// Whether a run that was stopped for this reason counts as cancelled.
pub(super) const fn is_asked_for(reason: Reason) -> bool {
    use Reason::{GroupTaken, Replaced, Requested, ShutDown};
    matches!(reason, Requested | ShutDown | Replaced | GroupTaken)
}
