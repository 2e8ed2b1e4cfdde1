//! What follows in runs that have groups or conditions: when a group may begin, when its end has its
//! turn, who follows it, and when a condition is decided.
//!
//! What an edge means by itself is in `propagate`, what a failure means for a group as a whole in
//! `judge`; counting everything anew, after a restore, is in `tally`.

use std::sync::Arc;
use std::time::Duration;

use super::propagate::is_asked_for;
use super::state::Scheduler;
use crate::condition::{Condition, Standing};
use crate::decision::Decision;
use crate::id::{RunKey, TaskKey};
use crate::level::{Bond, Level, Levels, RUN};
use crate::report::Whole;
use crate::row::RunResult;
use crate::task::{Reason, Task, TaskState};
use crate::time::Now;

/// How many failed tasks the end of a group names.
const NAMES_MAX: usize = 5;

impl Scheduler {
    pub(super) fn levels(&self, run: RunKey) -> Option<&Levels> {
        self.run(run.0).and_then(|run| run.levels.as_deref())
    }

    pub(super) fn levels_mut(&mut self, run: RunKey) -> Option<&mut Levels> {
        self.run_mut(run.0).and_then(|run| run.levels.as_deref_mut())
    }

    pub(super) fn level(&self, run: RunKey, level: u32) -> Option<&Level> {
        self.levels(run).and_then(|levels| levels.all.get(level as usize))
    }

    fn level_mut(&mut self, run: RunKey, level: u32) -> Option<&mut Level> {
        self.levels_mut(run).and_then(|levels| levels.all.get_mut(level as usize))
    }

    /// The group that a task is the end of.
    pub(super) fn group_of_end(&self, key: TaskKey) -> Option<u32> {
        self.levels(key.run).and_then(|levels| levels.level_ended_by(key.index))
    }

    fn is_waiting(&self, key: TaskKey) -> bool {
        self.member(key).is_some_and(|task| task.state == TaskState::Blocked)
    }

    /// Draws the consequences of an ended task, its failure judged before, in a run with groups or
    /// conditions.
    pub(super) fn tell_levels(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        self.tell_group(key, now, decision);
        let successors: Vec<u32> =
            self.run(key.run.0).map_or_else(Vec::new, |run| run.successors(key.index).collect());
        for index in successors {
            self.tell_bound(key, TaskKey { run: key.run, index }, now, decision);
        }
        self.count_in_levels(key, now, decision);
    }

    /// Draws the consequence of an ended task for one that an edge leads to.
    pub(super) fn tell_bound(
        &mut self,
        ended: TaskKey,
        dependent: TaskKey,
        now: Now,
        decision: &mut Decision,
    ) {
        let bond = self.levels(ended.run).map(|levels| levels.bond(ended.index, dependent.index));
        match bond {
            Some(Bond::Implied) => {}
            Some(Bond::Asked) => self.ask_condition(ended, dependent, now, decision),
            Some(Bond::Judged) | None => self.tell_dependent(ended, dependent, now, decision),
        }
    }

    /// One thing less that a task, or for an end its group, waits for.
    pub(super) fn pass(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        match self.group_of_end(key) {
            Some(level) => self.pass_door(key, level, now, decision),
            None => self.release(key, now, decision),
        }
    }

    fn pass_door(&mut self, end: TaskKey, level: u32, now: Now, decision: &mut Decision) {
        let is_waiting = self.is_waiting(end);
        let Some(entry) = self.level_mut(end.run, level) else { return };
        entry.door = entry.door.saturating_sub(1);
        if entry.door == 0 && is_waiting && !entry.is_open {
            self.open_door(end, level, now, decision);
        }
    }

    /// Nothing outside a group holds it any more: it begins, or declines.
    pub(super) fn open_door(
        &mut self,
        end: TaskKey,
        level: u32,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(entry) = self.level(end.run, level) else { return };
        let declined = entry.declined.or(self.is_not_to_follow(end).then_some(Reason::Condition));
        match (declined, entry.opener) {
            (Some(reason), _) => {
                self.transition(end, TaskState::Skipped, reason, now, decision);
            }
            _ if !self.ask_place(end) => {}
            (None, Some(index)) if !self.has_opened(TaskKey { run: end.run, index }) => {
                self.arm_group(end, now, decision);
                self.release(TaskKey { run: end.run, index }, now, decision);
            }
            (None, _) => self.open_level(end.run, level, now, decision),
        }
    }

    /// The time of a group begins. That is stored, so that it goes on after a crash.
    fn arm_group(&mut self, end: TaskKey, now: Now, decision: &mut Decision) {
        if self.arm_task_timeout(end, now) && decision.is_recording() {
            self.record(end, now, decision);
        }
    }

    /// Whether an opener has ended so that the others may begin. It may have been removed, or done,
    /// before its group had its turn.
    fn has_opened(&self, opener: TaskKey) -> bool {
        self.member(opener).is_some_and(|task| {
            task.state == TaskState::Succeeded || task.state.is_terminal() && task.released
        })
    }

    /// The tasks of a group may start as far as the group is concerned.
    fn open_level(&mut self, run: RunKey, level: u32, now: Now, decision: &mut Decision) {
        // An opener that was done before the run is told of after its group has begun.
        let Some(entry) = self.level_mut(run, level).filter(|entry| !entry.is_open) else { return };
        entry.is_open = true;
        let (opener, members) = (entry.opener, entry.members.clone());
        if let Some(index) = entry.end {
            self.arm_group(TaskKey { run, index }, now, decision);
        }
        for index in members {
            if opener != Some(index) {
                self.pass(TaskKey { run, index }, now, decision);
            }
        }
        self.follow(run, level, now, decision);
        self.close_level(run, level, now, decision);
    }

    /// The time of a group is over: nothing more of it starts, what runs is stopped, and it has failed.
    pub(super) fn group_timed_out(&mut self, end: TaskKey, now: Now, decision: &mut Decision) {
        let reason = Reason::GroupStopped(end.index);
        for (member, is_spared) in self.left_of_group(end) {
            match self.member(member).map(|task| task.state) {
                _ if is_spared => {}
                Some(TaskState::Running | TaskState::Cancelling) => {
                    self.stop_attempt(member, reason, Duration::ZERO, now, decision);
                }
                _ => self.drop_unstarted(member, TaskState::Skipped, reason, now, decision),
            }
        }
        self.transition(end, TaskState::Failed, Reason::TaskTimeout, now, decision);
    }

    /// After a restore: groups that are under way have a time, also where none was stored.
    pub(super) fn arm_groups(&mut self, run: RunKey, now: Now) {
        let Some(levels) = self.levels(run) else { return };
        let open = levels.all.iter().filter(|level| level.is_open).filter_map(|level| level.end);
        for index in open.collect::<Vec<_>>() {
            let end = TaskKey { run, index };
            if self.is_waiting(end) {
                self.arm_task_timeout(end, now);
            }
        }
    }

    /// A group that has not begun never does, once its end or its opener says so.
    fn tell_group(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let Some(levels) = self.levels(key.run) else { return };
        let Some(task) = self.member(key) else { return };
        if let Some(level) = levels.level_ended_by(key.index)
            && !levels.all[level as usize].is_open
        {
            let (to, reason) = fate_of_members(key.index, task);
            for index in levels.all[level as usize].members.clone() {
                let member = TaskKey { run: key.run, index };
                // Only an opener can have got so far as to be ready.
                match self.member(member).map(|task| task.state) {
                    Some(TaskState::Blocked) => {
                        self.transition(member, to, reason, now, decision);
                    }
                    Some(TaskState::Ready | TaskState::Delayed) => {
                        self.drop_unstarted(member, to, reason, now, decision);
                    }
                    _ => {}
                }
            }
        } else if levels.opens(key.index) {
            self.tell_opened(key, now, decision);
        }
    }

    /// The opener of a group has ended: what became of it becomes of the whole.
    fn tell_opened(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let Some(levels) = self.levels(key.run) else { return };
        let level = levels.of(key.index);
        let Some(index) = levels.all[level as usize].end else { return };
        let end = TaskKey { run: key.run, index };
        let Some(task) = self.member(key) else { return };
        if !self.is_waiting(end) {
            return;
        }
        let (to, reason) = match task.state {
            _ if self.has_opened(key) => {
                let entry = &levels.all[level as usize];
                // One that was done before the run does not have a place because of that.
                let is_due = entry.door == 0 && entry.declined.is_none();
                if is_due && !levels.lacks_place(index) {
                    self.open_level(key.run, level, now, decision);
                }
                return;
            }
            TaskState::Failed | TaskState::Unknown => {
                let error = self.work(key).extra(key.index).and_then(|extra| extra.error.clone());
                self.work_mut(end).extra_mut(index).error = error;
                (TaskState::Failed, Reason::PartFailed(key.index))
            }
            state => (state, task.reason),
        };
        self.transition(end, to, reason, now, decision);
    }

    /// Counts an ended task in its level and in those around, and sees whether one of them is over.
    fn count_in_levels(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let is_cut = self.member(key).is_some_and(is_cut);
        let Some(levels) = self.levels_mut(key.run) else { return };
        levels.count_down(key.index);
        if is_cut && !levels.follows(key.index) {
            let level = levels.of(key.index);
            levels.all[level as usize].is_cut = true;
        }
        let around: Vec<(u32, u32)> =
            levels.chain(key.index).map(|task| (task, levels.of(task))).collect();
        for (task, level) in around {
            self.leave_place(TaskKey { run: key.run, index: task });
            self.follow(key.run, level, now, decision);
            self.close_level(key.run, level, now, decision);
        }
    }

    /// When all of a level has ended but what follows it, that has its turn.
    pub(super) fn follow(&mut self, run: RunKey, level: u32, now: Now, decision: &mut Decision) {
        let keep_open = level == RUN && self.run(run.0).is_some_and(|run| run.keep_open);
        let Some(levels) = self.levels_mut(run) else { return };
        let entry = &mut levels.all[level as usize];
        if entry.is_followed || !entry.is_open || entry.body > 0 || keep_open {
            return;
        }
        entry.is_followed = true;
        let members = entry.members.clone();
        let following: Vec<u32> = members.into_iter().filter(|it| levels.follows(*it)).collect();
        for index in following {
            self.pass(TaskKey { run, index }, now, decision);
        }
    }

    /// Whether a task follows its level, and that does not stand as it must. Asked when nothing else
    /// holds the task any more.
    pub(super) fn is_not_to_follow(&self, key: TaskKey) -> bool {
        let Some(levels) = self.levels(key.run) else { return false };
        let has_failed = || self.has_failed(key.run, levels.of(key.index));
        match levels.condition(key.index).map(|condition| &**condition) {
            Some(Condition::OfWhole(Standing::Succeeded)) => has_failed(),
            Some(Condition::OfWhole(Standing::Failed)) => !has_failed(),
            _ => false,
        }
    }

    /// Whether a level counts as failed for what follows it. What fails among that does not count.
    fn has_failed(&self, key: RunKey, level: u32) -> bool {
        let Some((levels, run)) = self.levels(key).zip(self.run(key.0)) else { return false };
        let entry = &levels.all[level as usize];
        let is_of_body = |task: u32| {
            let member = levels.chain(task).find(|member| levels.of(*member) == level);
            member.is_some_and(|member| !levels.follows(member))
        };
        let is_stopped = match (level, run.stopped) {
            (RUN, Some(Reason::RunStopped(stopper))) => is_of_body(stopper),
            (RUN, stopped) => stopped.is_some(),
            // What another task of the run stops is no failure of this group; what somebody ends is.
            (_, None | Some(Reason::RunStopped(_))) => entry.stopped.is_some_and(is_of_body),
            (_, Some(_)) => true,
        };
        is_stopped || entry.is_cut || entry.failed.iter().any(|task| is_of_body(*task))
    }

    /// How the run, or the innermost group that a task is in, stands so far.
    #[must_use]
    pub fn whole(&self, key: TaskKey) -> Option<Whole> {
        let run = self.run(key.run.0)?;
        let (has_failed, failed) = match &run.levels {
            Some(levels) => {
                let level = levels.of(key.index);
                (self.has_failed(key.run, level), failed_in(levels, level))
            }
            None => {
                let failed = self.task_keys(key.run.0).filter(|task| self.is_failure(*task));
                (run.failed || run.stopped.is_some(), failed.map(|task| task.index).collect())
            }
        };
        let result = match run.stopped {
            Some(reason) if is_asked_for(reason) => RunResult::Cancelled,
            _ if has_failed => RunResult::Failed,
            _ => RunResult::Succeeded,
        };
        Some(Whole { result, failed })
    }

    /// When all of a group has ended, its end fails with it or has its turn.
    fn close_level(&mut self, run: RunKey, level: u32, now: Now, decision: &mut Decision) {
        let Some(entry) = self.level(run, level) else { return };
        let Some(index) = entry.end.filter(|_| entry.is_open && entry.unended == 0) else { return };
        let end = TaskKey { run, index };
        if !self.is_waiting(end) {
            return;
        }
        // A step that was skipped before one of its parts failed is not the one to name.
        let has_failed = |index: &&u32| {
            let task = self.member(TaskKey { run, index: **index });
            task.is_some_and(|it| matches!(it.state, TaskState::Failed | TaskState::Unknown))
        };
        match entry.failed.iter().find(has_failed).or(entry.failed.first()) {
            None => self.release(end, now, decision),
            Some(&first) => {
                let text = self.failures_of(run, level);
                self.work_mut(end).extra_mut(index).error = text;
                let reason = Reason::PartFailed(first);
                self.transition(end, TaskState::Failed, reason, now, decision);
            }
        }
    }

    /// Which tasks of a group have failed, in words.
    fn failures_of(&self, run: RunKey, level: u32) -> Option<Arc<str>> {
        let (entry, of_run) = self.level(run, level).zip(self.run(run.0))?;
        let count = entry.members.len() - usize::from(entry.opener.is_some());
        let names = entry.failed.iter().take(NAMES_MAX).map(|index| of_run.name(*index));
        let names: Vec<Arc<str>> = names.collect();
        let more = if entry.failed.len() > names.len() { ", …" } else { "" };
        let text = format!("{} of {count} failed: {}{more}", entry.failed.len(), names.join(", "));
        Some(text.into())
    }

    /// A task that a condition speaks of has ended.
    fn ask_condition(
        &mut self,
        ended: TaskKey,
        dependent: TaskKey,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(levels) = self.levels_mut(ended.run) else { return };
        let Some(open) = levels.undecided.get_mut(&dependent.index) else { return };
        *open = open.saturating_sub(1);
        let is_last = *open == 0;
        let Some(value) = self.condition_value(ended, dependent, is_last) else { return };
        if let Some(levels) = self.levels_mut(ended.run) {
            levels.undecided.remove(&dependent.index);
        }
        if !value {
            self.mark_declined(dependent, Reason::Condition);
        }
        self.pass(dependent, now, decision);
    }

    /// The value of a condition, if it is decided by the task that ended just now. The others are
    /// looked at only if there is a chance: a task may be waited for by a condition over many.
    fn condition_value(&self, ended: TaskKey, dependent: TaskKey, is_last: bool) -> Option<bool> {
        let run = self.run(ended.run.0)?;
        let condition = run.levels.as_ref()?.condition(dependent.index)?;
        let state_of = |index: u32| {
            let task = &run.tasks[index as usize];
            (task.state, task.reason)
        };
        let (state, reason) = state_of(ended.index);
        if is_last || condition.is_moved_by(state, reason) {
            condition.value(state_of)
        } else {
            None
        }
    }
}

/// The tasks of a level whose failure counts, those of groups in place of the groups themselves.
fn failed_in(levels: &Levels, level: u32) -> Vec<u32> {
    let mut failed = Vec::new();
    let mut open: Vec<u32> = levels.all[level as usize].failed.iter().copied().collect();
    open.retain(|task| !levels.follows(*task));
    while let Some(task) = open.pop() {
        let inside = levels.level_ended_by(task).map(|level| &levels.all[level as usize].failed);
        match inside.filter(|inside| !inside.is_empty()) {
            Some(inside) => open.extend(inside),
            None => failed.push(task),
        }
    }
    failed.sort_unstable();
    failed
}

/// Whether a task ended because something, or somebody, cut its level short.
pub(super) const fn is_cut(task: &Task) -> bool {
    match task.state {
        TaskState::Cancelled => true,
        TaskState::Skipped => {
            matches!(task.reason, Reason::RunStopped(_) | Reason::GroupStopped(_))
        }
        _ => false,
    }
}

/// What becomes of the tasks of a group that never begins.
const fn fate_of_members(end: u32, task: &Task) -> (TaskState, Reason) {
    match (task.state, task.reason) {
        (TaskState::Cancelled, reason) => (TaskState::Cancelled, reason),
        (TaskState::Succeeded, _) => (TaskState::Succeeded, Reason::AlreadyDone),
        (_, Reason::Condition) => (TaskState::Skipped, Reason::DependencyDeclined(end)),
        (_, Reason::PartFailed(opener)) => (TaskState::Skipped, Reason::DependencyFailed(opener)),
        (_, reason) => (TaskState::Skipped, reason),
    }
}
