//! Telling observers: facts, with a number, the time and a name.
//!
//! What happened is said where it happens; nothing is decided by it.

use std::sync::Arc;

use super::state::Scheduler;
use crate::decision::{Decision, Fact, Notice};
use crate::id::{RunId, ScheduleId, TaskId};
use crate::time::Now;

impl Scheduler {
    pub(super) fn notify(
        &mut self,
        now: Now,
        decision: &mut Decision,
        fact: impl FnOnce() -> Fact,
    ) {
        if self.config.notices {
            self.notice_sequence += 1;
            let (sequence, at, fact) = (self.notice_sequence, now.wall, fact());
            decision.notify(Notice { sequence, at, name: self.name_in(&fact), fact });
        }
    }

    /// What a fact is about, as people call it.
    fn name_in(&self, fact: &Fact) -> Option<Arc<str>> {
        match fact {
            Fact::RunAccepted(run)
            | Fact::RunPaused(run)
            | Fact::RunResumed(run)
            | Fact::RunGoesOn(run)
            | Fact::RunEnded(run, _)
            | Fact::PriorityChanged { run, task: None, .. }
            | Fact::RunWaits { run, .. } => self.name_of_run(*run),
            Fact::PriorityChanged { run, task: Some(index), .. } => {
                self.name_of_task(TaskId { run: *run, index: *index })
            }
            Fact::TaskReady(task)
            | Fact::TaskAdded(task)
            | Fact::AttemptStarted(task, _)
            | Fact::AttemptFailedWillRetry { task, .. }
            | Fact::AttemptPostponed { task, .. }
            | Fact::AttemptStopping(task, ..)
            | Fact::TaskEnded(task, ..) => self.name_of_task(*task),
            Fact::ScheduleFired { schedule, .. }
            | Fact::FiringEnded { schedule, .. }
            | Fact::RunNotMade { schedule, .. }
            | Fact::InstantsSkipped { schedule, .. }
            | Fact::ScheduleEnded(schedule) => self.name_of_schedule(*schedule),
            Fact::BreakerChanged { limit, .. } => Some(limit.clone()),
            Fact::Paused
            | Fact::Resumed
            | Fact::ShuttingDown
            | Fact::SteppedDown(_)
            | Fact::Restored => None,
        }
    }

    fn name_of_run(&self, id: RunId) -> Option<Arc<str>> {
        let run = self.run(*self.run_keys.get(&id)?)?;
        Some(run.spec.options.name.clone()).filter(|name| !name.is_empty())
    }

    fn name_of_task(&self, id: TaskId) -> Option<Arc<str>> {
        let run = self.run(*self.run_keys.get(&id.run)?)?;
        ((id.index as usize) < run.tasks.len()).then(|| run.name(id.index))
    }

    fn name_of_schedule(&self, id: ScheduleId) -> Option<Arc<str>> {
        self.schedules.get(*self.schedule_keys.get(&id)?)?.spec.name.clone()
    }
}
