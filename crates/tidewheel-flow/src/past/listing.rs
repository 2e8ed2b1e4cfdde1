//! How the tasks of a run are listed for people: in which order, and which failures were tolerated.
//!
//! Answers only; what a failure means for the run is decided by the scheduler.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tidewheel::TaskState;
use tidewheel::policy::failure;
use tidewheel::store::{RunDetail, TaskSummary};
use tidewheel::task::Reason;

use crate::compile::{Scope, TaskName, try_name};
use crate::definition::Flow;

/// The tasks of a run in the order of its flow. Elements that were found out while it ran, and what is in further tries
/// of groups, come after the task that found or began them, in their order, as if they had been known from the beginning.
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

/// The innermost task that found out that there is such a task, and for which of its elements, or that began the try
/// that it is in.
fn finder_of<'a>(task: &'a str, finders: &HashMap<&str, usize>) -> Option<(usize, &'a str)> {
    let mut places = task.rmatch_indices(['[', '/']);
    places.find_map(|(at, sign)| {
        let element = match sign {
            "[" => task[at + 1..].split(']').next().filter(|it| !it.is_empty())?,
            _ => task[..at].ends_with('}').then_some("")?,
        };
        Some((*finders.get(&task[..at])?, element))
    })
}

/// Whether a task stands for a further try of a group, or begins one. Those are there from the beginning, whether they
/// are needed or not.
#[must_use]
pub fn is_further_try(task: &str) -> bool {
    let name = task.strip_suffix("[]").unwrap_or(task);
    let again = || TaskName::parse(name).and_then(|name| name.again);
    name.ends_with('}') && again().is_some_and(|again| again > 1)
}

/// Whether a task is one of a further try that was not needed, or not yet.
#[must_use]
pub fn is_spare(task: &TaskSummary) -> bool {
    let has_nothing = matches!(task.state, TaskState::Skipped | TaskState::Blocked);
    has_nothing && is_further_try(&task.name)
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
    let begun: BTreeSet<&str> =
        run.tasks.iter().filter(|task| !is_spare(task)).map(|task| &*task.name).collect();
    let is_tolerated = |flow: &Arc<Flow>, task: &str| {
        let is_begun = |next: &str| begun.contains(format!("{next}[]").as_str());
        flow.tolerates(task, &stoppers) || flow.further_tries(task).iter().any(|it| is_begun(it))
    };
    failed.retain(|index| flow.is_some_and(|flow| is_tolerated(flow, name(*index))));
    failed
}

impl Flow {
    /// Whether a failure of this task would be tolerated, as far as it is known while it runs.
    #[must_use]
    pub fn tolerates_task(self: &Arc<Self>, task: &str) -> bool {
        self.tolerates(task, &[]) || !self.further_tries(task).is_empty()
    }

    /// The tries that follow if a task fails: of the groups around it, or of that which it stands for a try of.
    fn further_tries(self: &Arc<Self>, task: &str) -> Vec<String> {
        let ends = self.tried_ends(task).into_iter();
        let next = ends
            .filter_map(|(end, again, tries)| (again < tries).then(|| try_name(&end, again + 1)));
        next.collect()
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
