//! Preemption: which running attempt gives way when something more important waits.
//!
//! The attempts that may are kept in order, by the transition; nothing is searched. Queues without
//! preemption keep nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use super::state::Scheduler;
use crate::decision::Decision;
use crate::id::{RunKey, TaskKey};
use crate::queue::Preemptible;
use crate::ready::Choice;
use crate::run::Work;
use crate::task::{Reason, Task, TaskState};
use crate::time::{Moment, Now};

impl Scheduler {
    /// Ends a less important attempt when a more important task waits and all slots are taken.
    ///
    /// One at a time: the next is looked for when this one has ended and its slot was filled.
    pub(super) fn preempt(&mut self, now: Now, decision: &mut Decision) {
        for queue in 0..self.queues.len() as u32 {
            let entry = &self.queues[queue as usize];
            if !entry.spec.preempt
                || entry.paused
                || entry.open.is_empty()
                || entry.preemptible.is_giving_way()
            {
                continue;
            }
            let Some(choice) = self.best_startable(queue, now.monotonic) else { continue };
            if let Some(first) = self.queues[queue as usize].preemptible.below(choice.priority) {
                self.stop_attempt(first, Reason::Preempted, Duration::ZERO, now, decision);
            }
        }
    }

    /// The task of a queue that would start first if there were a slot.
    fn best_startable(&mut self, queue: u32, now: Moment) -> Option<Choice> {
        loop {
            let (class, choice) = self.best_of(queue, now)?;
            let entry = self.classes[class as usize].lanes.peek(choice)?;
            if !entry.is_single() && self.run(entry.run).is_none_or(|run| run.is_held()) {
                self.unlist(class, choice, entry);
            } else if self.classes[class as usize].needs.is_empty()
                || !self.is_blocked(class, entry.ready_at, now)
            {
                return Some(choice);
            }
        }
    }

    /// A task, or the reason its attempt is stopped for, has changed from `before`.
    #[inline(never)]
    pub(super) fn note_preemptible(&mut self, key: TaskKey, before: (TaskState, Reason)) {
        let Some(task) = self.member(key) else { return };
        let before = Task { state: before.0, reason: before.1, ..task.clone() };
        self.move_preemptible(key, &before);
    }

    /// A task that runs has another priority than `before`.
    pub(super) fn move_preemptible(&mut self, key: TaskKey, before: &Task) {
        let work = self.work(key);
        let Some(task) = work.task(key.index).cloned() else { return };
        let may_give_way = self.may_give_way(key);
        let queue = self.classes[work.class(key.index) as usize].queue;
        let queue = &mut self.queues[queue as usize];
        if queue.spec.preempt {
            queue.preemptible.leave(key, before);
            queue.preemptible.enter(key, &task, may_give_way);
        }
    }

    fn may_give_way(&self, key: TaskKey) -> bool {
        let profile = self.profile_spec(key);
        !profile.at_most_once && !profile.stays
    }

    /// What [`Self::note_preemptible`] keeps, found by looking at everything: for queues that are to
    /// have preemption from now on, and to check.
    pub(super) fn find_preemptible(&self) -> BTreeMap<u32, Preemptible> {
        let mut found: BTreeMap<u32, Preemptible> = BTreeMap::new();
        if !self.has_preemption {
            return found;
        }
        for (run, work) in &self.works {
            let tasks = match work {
                Work::Run(run) => &run.tasks[..],
                Work::Single(single) => std::slice::from_ref(&single.task),
            };
            for (task, index) in tasks.iter().zip(0..) {
                let queue = self.classes[work.class(index) as usize].queue;
                if task.state.holds_slot() && self.queues[queue as usize].spec.preempt {
                    let key = TaskKey { run: RunKey(run), index };
                    let may_give_way = self.may_give_way(key);
                    found.entry(queue).or_default().enter(key, task, may_give_way);
                }
            }
        }
        found
    }

    /// Queues may have got preemption, or lost it, or their tasks were restored.
    pub(super) fn index_preemptible(&mut self) {
        self.has_preemption = self.queues.iter().any(|queue| queue.spec.preempt);
        let mut found = self.find_preemptible();
        for (queue, index) in self.queues.iter_mut().zip(0..) {
            queue.preemptible = found.remove(&index).unwrap_or_default();
        }
    }
}
