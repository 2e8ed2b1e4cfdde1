//! How the tasks of a run are listed for people: in which order, and which failures were tolerated.
//!
//! Answers only; what a failure means for the run is decided by the scheduler.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tidewheel::TaskState;
use tidewheel::policy::failure;
use tidewheel::store::{RunDetail, TaskSummary};
use tidewheel::task::Reason;

use crate::compile::{Scope, TaskName};
use crate::definition::Flow;

/// The tasks of a run in the order of its flow. Elements that were found out while it ran come after
/// the task that found them, in their order, as if they had been known from the beginning.
#[must_use]
pub fn listed(tasks: &[TaskSummary]) -> Vec<&TaskSummary> {
    let finders: HashMap<&str, usize> = tasks
        .iter()
        .enumerate()
        .filter_map(|(place, task)| Some((task.name.strip_suffix("[]")?, place)))
        .collect();
    let mut found: HashMap<usize, Vec<(u32, &TaskSummary)>> = HashMap::new();
    let mut listed = Vec::with_capacity(tasks.len());
    let mut open = Vec::new();
    // Elements that have a name instead of a number come as they were added.
    let mut named: HashMap<(usize, &str), u32> = HashMap::new();
    for task in tasks {
        match finder_of(&task.name, &finders) {
            Some((finder, element)) => {
                let next = named.len() as u32;
                let mut by_name = || *named.entry((finder, element)).or_insert(next);
                let place = element.parse().unwrap_or_else(|_| by_name());
                found.entry(finder).or_default().push((place, task));
            }
            None => open.push(task),
        }
    }
    open.reverse();
    while let Some(task) = open.pop() {
        listed.push(task);
        let step = task.name.strip_suffix("[]");
        let place = step.and_then(|step| finders.get(step));
        let mut elements = place.and_then(|place| found.remove(place)).unwrap_or_default();
        elements.sort_by_key(|(element, _)| *element);
        open.extend(elements.into_iter().rev().map(|(_, task)| task));
    }
    listed
}

/// The innermost task that found out that there is such a task, and for which of its elements.
fn finder_of<'a>(task: &'a str, finders: &HashMap<&str, usize>) -> Option<(usize, &'a str)> {
    let mut brackets = task.rmatch_indices('[').map(|(at, _)| at);
    brackets.find_map(|at| {
        let element = task[at + 1..].split(']').next().filter(|it| !it.is_empty())?;
        Some((*finders.get(&task[..at])?, element))
    })
}

/// The failed tasks of a run whose failure was tolerated, by index.
#[must_use]
pub fn tolerated(run: &RunDetail, flow: Option<&Arc<Flow>>) -> BTreeSet<u32> {
    let is_failed = |task: &TaskSummary| {
        let is_failure = matches!(task.state, TaskState::Failed | TaskState::Unknown);
        is_failure.then_some(task.index)
    };
    let mut failed: BTreeSet<u32> = run.tasks.iter().filter_map(is_failed).collect();
    // Otherwise it would not have succeeded.
    if failed.is_empty() || run.summary.state == TaskState::Succeeded {
        return failed;
    }
    let name = |index: u32| run.tasks.get(index as usize).map_or("", |task| task.name.as_str());
    let stopper = |task: &TaskSummary| match task.reason {
        Reason::RunStopped(index) | Reason::GroupStopped(index) => Some(index),
        _ => None,
    };
    let stoppers: BTreeSet<u32> = run.tasks.iter().filter_map(stopper).collect();
    let stoppers: Vec<TaskName> =
        stoppers.into_iter().filter_map(|index| TaskName::parse(name(index))).collect();
    failed.retain(|index| flow.is_some_and(|flow| flow.tolerates(name(*index), &stoppers)));
    failed
}

impl Flow {
    /// Whether a failure of this task would be tolerated, as far as it is known while it runs.
    #[must_use]
    pub fn tolerates_task(self: &Arc<Self>, task: &str) -> bool {
        self.tolerates(task, &[])
    }

    /// Whether a failure of this task fails neither the run nor a flow that the run calls, unless it
    /// was one that stopped the run or that flow. The word is that of its step, or of a step that calls the
    /// flow it is in.
    fn tolerates(self: &Arc<Self>, task: &str, stoppers: &[TaskName]) -> bool {
        let Some(name) = TaskName::parse(task) else { return false };
        (0..=name.scope.len()).any(|depth| {
            let around = &name.scope[..depth];
            let step = name.scope.get(depth).map_or(&name.step, |call| &call.step);
            let scope = Scope::find(self, around);
            let known = scope.and_then(|scope| scope.flow.step(step).cloned());
            let has_stopped =
                stoppers.iter().any(|stopper| stopper.scope == around && stopper.step == *step);
            known.is_some_and(|it| failure::is_tolerated(it.treatment.on_error, has_stopped))
        })
    }
}
