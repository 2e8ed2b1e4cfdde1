//! Taking tasks out of live runs, right for their neighbours in every state.
//!
//! Putting them in is in `command`; cancelling, which is no removal, in `control`.

use std::time::Duration;

use super::state::Scheduler;
use crate::decision::Decision;
use crate::id::TaskKey;
use crate::input::{Dependents, Rejection, Reply};
use crate::level::Bond;
use crate::task::{Reason, TaskState};
use crate::time::Now;

impl Scheduler {
    pub(super) fn remove_task(
        &mut self,
        now: Now,
        key: TaskKey,
        dependents: Dependents,
        grace: Option<Duration>,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        self.live_run(key.run)?;
        let Some(state) = self.member(key).map(|task| task.state) else {
            return Err(Rejection::UnknownTask(key.index));
        };
        if state.is_terminal() {
            return Ok(Reply::Unchanged);
        }
        // The end of a group stands for all of it.
        for (member, is_spared) in self.left_of_group(key) {
            if !is_spared {
                self.remove_one(member, grace, now, decision);
            }
        }
        self.work_mut(key).task_mut(key.index).released = dependents == Dependents::Release;
        self.remove_one(key, grace, now, decision);
        if state.holds_slot() && grace.is_none() {
            // It finishes, but whatever comes of it, its dependents hear of a removal.
            self.detach_dependents(key, dependents, now, decision);
        }
        Ok(Reply::Done)
    }

    fn remove_one(
        &mut self,
        key: TaskKey,
        grace: Option<Duration>,
        now: Now,
        decision: &mut Decision,
    ) {
        let holds_slot = self.member(key).is_some_and(|task| task.state.holds_slot());
        match (holds_slot, grace) {
            (true, Some(grace)) => self.stop_attempt(key, Reason::Removed, grace, now, decision),
            (true, None) => self.forbid_retry(key, Reason::Removed, now, decision),
            (false, _) => {
                self.transition(key, TaskState::Cancelled, Reason::Removed, now, decision);
            }
        }
    }

    /// A running task is removed and left to finish: its dependents are told now.
    fn detach_dependents(
        &mut self,
        key: TaskKey,
        dependents: Dependents,
        now: Now,
        decision: &mut Decision,
    ) {
        if dependents == Dependents::Release {
            return;
        }
        let successors: Vec<u32> =
            self.run(key.run.0).map_or_else(Vec::new, |run| run.successors(key.index).collect());
        for index in successors {
            let dependent = TaskKey { run: key.run, index };
            let blocked =
                self.member(dependent).is_some_and(|task| task.state == TaskState::Blocked);
            let is_bound = self
                .levels(key.run)
                .is_none_or(|levels| levels.bond(key.index, index) == Bond::Judged);
            if blocked && is_bound && !self.profile_spec(dependent).always {
                let reason = Reason::DependencySkipped(key.index);
                self.transition(dependent, TaskState::Skipped, reason, now, decision);
            }
        }
    }
}
