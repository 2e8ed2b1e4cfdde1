//! Steps of which nobody can say when they start, whatever the scheduler expects: what happens outside decides.
//!
//! When all others are expected to is played ahead by the scheduler that has the run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tidewheel::id::TaskId;
use tidewheel::store::{RunDetail, TaskSummary};

use super::error::DeskError;
use super::local::LocalDesk;
use crate::kind::Definition;

/// So many runs are looked at; of steps of more of them, nothing is said.
const RUNS_MAX: usize = 100;

impl LocalDesk {
    /// Those of these tasks of which nobody can say when they start.
    pub(crate) fn unforeseen(&self, tasks: &[TaskId]) -> Result<BTreeSet<TaskId>, DeskError> {
        let mut of_runs = BTreeMap::new();
        let mut unforeseen = BTreeSet::new();
        for task in tasks {
            if !of_runs.contains_key(&task.run) {
                let is_beyond = of_runs.len() >= RUNS_MAX;
                let detail = if is_beyond { None } else { self.read(|it| it.run(task.run))? };
                let held = detail.map(|it| held_outside(&it, &*self.definition_of(&it)));
                of_runs.insert(task.run, held.ok_or(is_beyond));
            }
            let is_held = match &of_runs[&task.run] {
                Ok(held) => held.contains(&task.index),
                Err(is_beyond) => *is_beyond,
            };
            if is_held {
                unforeseen.insert(*task);
            }
        }
        Ok(unforeseen)
    }
}

/// The tasks of a run of which nobody can say when they start: what looks for something outside and has begun to, whose next
/// look is no start; and all that comes after such, since what a look brings is not known.
pub(super) fn held_outside(run: &RunDetail, definition: &dyn Definition) -> HashSet<u32> {
    let open = || run.tasks.iter().filter(|task| !task.state.is_terminal());
    let looking: Vec<&TaskSummary> =
        open().filter(|task| definition.looks_outside(&task.name)).collect();
    let has_begun = |task: &&&TaskSummary| task.attempts > 0;
    let mut held: HashSet<u32> = looking.iter().filter(has_begun).map(|it| it.index).collect();
    let mut left: Vec<u32> = looking.iter().map(|it| it.index).collect();
    if left.is_empty() {
        return held;
    }
    let mut after: HashMap<u32, Vec<u32>> = HashMap::new();
    for task in open() {
        for before in &task.after {
            after.entry(*before).or_default().push(task.index);
        }
    }
    while let Some(before) = left.pop() {
        let next = after.remove(&before).unwrap_or_default();
        held.extend(&next);
        left.extend(next);
    }
    held
}
