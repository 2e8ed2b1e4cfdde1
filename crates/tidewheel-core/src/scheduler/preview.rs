//! What the order would be if a priority were another: asked before it is changed.
//!
//! Nothing is reckoned here. Two copies of the scheduler are played ahead, one as it is and one as it would be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::forecast::Forecast;
use super::state::Scheduler;
use crate::id::{RunKey, TaskId, TaskKey};
use crate::input::{Command, Rejection};
use crate::policy::Priority;

/// The order of what waits, as it is and as it would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// As it is: those that are expected to start first first, then those of which nobody knows when.
    pub before: Vec<Prospect>,
    /// As it would be.
    pub after: Vec<Prospect>,
    /// How many more wait for room, as far as was counted.
    pub more: u64,
}

/// A task that waits, and what it can hope for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prospect {
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: Arc<str>,
    /// The name of its run, if that has one.
    pub run: Option<Arc<str>>,
    /// The queue it waits in.
    pub queue: Arc<str>,
    /// Its priority.
    pub priority: u8,
    /// What waiting has made of it, while it waits for room.
    pub effective: u8,
    /// Whether this is one of those whose priority changes.
    pub is_changed: bool,
    /// In how long it is expected to start, where that can be told.
    pub expected_start: Option<Duration>,
}

impl Forecast {
    /// The order if this priority were given to a run, or to one of its tasks: at most so many tasks of either order.
    ///
    /// # Errors
    ///
    /// When the change would be refused.
    pub fn preview(
        self,
        run: RunKey,
        task: Option<u32>,
        priority: Priority,
        max: usize,
    ) -> Result<Preview, Rejection> {
        let mut supposed = self.clone();
        supposed.suppose(Command::SetPriority { run, task, priority })?;
        let changed: Vec<TaskKey> = self
            .scheduler
            .task_keys(run.0)
            .filter(|key| self.scheduler.priority(*key) != supposed.scheduler.priority(*key))
            .collect();
        let line = self.line(max);
        let in_line = line.tasks.iter().map(|standing| standing.key);
        let then = supposed.line(max).tasks.into_iter().map(|standing| standing.key);
        let waits = |key: &TaskKey| self.scheduler.waits(*key);
        let wanted: Vec<TaskKey> =
            in_line.chain(then).chain(changed.iter().copied().filter(waits).take(max)).collect();
        let changed: BTreeSet<TaskKey> = changed.into_iter().collect();
        let before = self.prospects(&wanted, &changed, max);
        let after = supposed.prospects(&wanted, &changed, max);
        Ok(Preview { before, after, more: line.more })
    }

    /// These tasks in the order in which they are expected to start; those of which nobody knows stand behind, as they
    /// stand in line.
    fn prospects(
        self,
        wanted: &[TaskKey],
        changed: &BTreeSet<TaskKey>,
        max: usize,
    ) -> Vec<Prospect> {
        let all: BTreeSet<TaskKey> = wanted.iter().copied().collect();
        let line = self.line(wanted.len()).tasks;
        let starts = self.clone().starts_of(&all);
        let known: BTreeMap<TaskKey, Duration> = starts.iter().copied().collect();
        let order = starts.iter().map(|(key, _)| key);
        let order = order.chain(line.iter().map(|standing| &standing.key)).chain(wanted);
        let mut left = all;
        let order: Vec<TaskKey> = order.copied().filter(|key| left.remove(key)).collect();
        let effective: BTreeMap<TaskKey, u8> = line
            .iter()
            .filter_map(|it| Some((it.key, it.explanation.place.as_ref()?.effective)))
            .collect();
        let scheduler = &self.scheduler;
        let prospects = order.into_iter().filter_map(|key| {
            let priority = scheduler.priority(key)?.value();
            Some(Prospect {
                task: scheduler.id_of(key)?,
                name: scheduler.task_name(key)?,
                run: scheduler.name_of_its_run(key),
                queue: scheduler.name_of_its_queue(key),
                priority,
                effective: effective.get(&key).copied().unwrap_or(priority),
                is_changed: changed.contains(&key),
                expected_start: known.get(&key).copied(),
            })
        });
        prospects.take(max).collect()
    }
}

impl Scheduler {
    /// Whether a task has no attempt under way and has not ended.
    fn waits(&self, key: TaskKey) -> bool {
        self.member(key).is_some_and(|it| !it.state.is_terminal() && !it.state.holds_slot())
    }

    fn name_of_its_run(&self, key: TaskKey) -> Option<Arc<str>> {
        let name = &self.run_spec(key.run)?.options.name;
        (!name.is_empty()).then(|| Arc::clone(name))
    }

    fn name_of_its_queue(&self, key: TaskKey) -> Arc<str> {
        let class = self.work(key).class(key.index);
        self.queues[self.classes[class as usize].queue as usize].name.clone()
    }
}
