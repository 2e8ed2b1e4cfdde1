//! [`Again`]: a run of a flow made again, of which only what did not succeed is run.
//!
//! Only what is to be done is found out here; a [`FlowOrder`] says it to whoever does it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use tidewheel::TaskState;
use tidewheel::store::RunDetail;

use super::renewal::{Renewal, Seen};
use crate::compile::order::{FlowOrder, step_of};
use crate::definition::Flow;

/// A run that has ended, and what is known of it.
#[derive(Clone, Copy)]
pub struct PastRun<'a> {
    /// Its tasks.
    pub run: &'a RunDetail,
    /// What was asked for. If files have changed since and the new ones are to be used, with their
    /// texts.
    pub order: &'a FlowOrder,
    /// What the task with this index left.
    pub outputs: &'a dyn Fn(u32) -> Map<String, Json>,
}

/// What is run again, and what is used as it was left.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Again {
    /// Tasks that are run again.
    pub run_again: Vec<String>,
    /// What tasks that are not run again left, by name.
    pub reused: BTreeMap<String, Map<String, Json>>,
    /// Those among them that are passed over, now or in the run before.
    pub passed_over: BTreeSet<String>,
}

impl Again {
    /// Whether something that went wrong in the run is run again, or passed over, and not only what goes with every
    /// run, as hooks do. What failed in a try of a group that succeeded in another is neither.
    #[must_use]
    pub fn mends(&self, run: &RunDetail) -> bool {
        let again: BTreeSet<&str> = self.run_again.iter().map(String::as_str).collect();
        let is_wrong =
            |state| matches!(state, TaskState::Failed | TaskState::Unknown | TaskState::Cancelled);
        let mut wrong = run.tasks.iter().filter(|task| is_wrong(task.state));
        wrong.any(|task| again.contains(&*task.name) || self.passed_over.contains(&task.name))
    }
}

/// What is asked for besides running what did not succeed.
#[derive(Debug, Clone, Default)]
pub struct AgainWith {
    /// Steps whose definition has changed: they and all that comes after them are run again.
    pub changed: BTreeSet<String>,
    /// A step that is run again with all that comes after it, even if it succeeded.
    pub from: Option<String>,
    /// Steps that are not run: they count as done, and left nothing.
    pub skip: BTreeSet<String>,
}

/// Why a run cannot be made again as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgainError {
    /// There is no such step.
    #[error("the flow has no step `{step}`")]
    NoStep {
        /// The step that was named.
        step: String,
    },
    /// Only a part of the flow was run, and the step is not in it.
    #[error("step `{step}` is not in the part of the flow that was run")]
    NotInPart {
        /// The step that was named.
        step: String,
    },
    /// It may have taken effect: somebody has to look, and then to name the step.
    #[error("nobody can say whether step `{step}` took effect")]
    Unknown {
        /// The task.
        step: String,
    },
}

impl PastRun<'_> {
    /// What is to be done to make the run again with this flow.
    ///
    /// # Errors
    ///
    /// If there is no such step as is named, or if a task may have taken effect and was not named.
    pub fn again(&self, flow: &Arc<Flow>, with: &AgainWith) -> Result<Again, AgainError> {
        for step in with.from.iter().chain(&with.skip) {
            self.check_part(flow, step)?;
        }
        self.check_known(flow, with)?;
        let mut first = with.changed.iter().chain(&with.from).map(String::as_str).peekable();
        let renewed = match first.peek() {
            Some(_) => flow.descendants_of(first),
            None => BTreeSet::new(),
        };
        let succeeded: BTreeSet<&str> = self
            .run
            .tasks
            .iter()
            .filter(|task| task.state == TaskState::Succeeded)
            .map(|task| task.name.as_str())
            .collect();
        let seen = Seen {
            flow,
            tasks: self.run.tasks.iter().map(|task| (task.name.as_str(), task)).collect(),
            succeeded: &succeeded,
            first: renewed,
            passed_over: &with.skip,
        };
        let renewal = Renewal::of(&seen);
        // What follows a flow that is run again follows it again.
        let is_over = |call: &str| succeeded.contains(call) && !renewal.has(call);
        let follows = |task: &str| {
            let followed = flow.followed_by(task);
            followed.iter().any(|call| call.is_empty() || !is_over(call))
        };
        let is_renewed = |task: &str| renewal.has(task) || follows(task);
        let mut again =
            Again { run_again: Vec::new(), reused: BTreeMap::new(), passed_over: BTreeSet::new() };
        for task in &self.run.tasks {
            if flow.step(step_of(&task.name)).is_none() {
                continue;
            }
            // Elements are found out again unless all of them are done.
            let whole = task.name.strip_suffix("[]").unwrap_or(&task.name);
            let is_done = succeeded.contains(task.name.as_str()) && succeeded.contains(whole);
            if with.skip.contains(step_of(&task.name)) {
                again.reused.insert(task.name.clone(), Map::new());
                again.passed_over.insert(task.name.clone());
            } else if !is_renewed(&task.name) && is_settled(flow, &task.name, &succeeded) {
                // What came of the tries of a group is what the last of them left.
                again.reused.insert(task.name.clone(), Map::new());
            } else if is_done && !is_renewed(&task.name) {
                let before = self.order.reused.get(&task.name).cloned();
                let outputs = before.unwrap_or_else(|| (self.outputs)(task.index));
                again.reused.insert(task.name.clone(), outputs);
            } else {
                again.run_again.push(task.name.clone());
            }
        }
        // What the run was given from outside of its part, or had not come to yet.
        let known: BTreeSet<&str> = self.run.tasks.iter().map(|task| &*task.name).collect();
        for (task, outputs) in &self.order.reused {
            let is_outside = !self.order.is_chosen(task);
            if !known.contains(task.as_str()) && (is_outside || !is_renewed(task)) {
                again.reused.insert(task.clone(), outputs.clone());
            }
        }
        let before = self.order.passed_over.iter().filter(|task| again.reused.contains_key(*task));
        again.passed_over.extend(before.cloned());
        Ok(again)
    }

    fn check_part(&self, flow: &Flow, step: &str) -> Result<(), AgainError> {
        let step = step.to_owned();
        if flow.step(&step).is_none() {
            return Err(AgainError::NoStep { step });
        }
        if !self.order.is_chosen(&step) {
            return Err(AgainError::NotInPart { step });
        }
        Ok(())
    }

    /// A task that may have taken effect is run again only if that is asked for by its name.
    fn check_known(&self, flow: &Flow, with: &AgainWith) -> Result<(), AgainError> {
        let from = with.from.as_deref();
        let mut asked = from.map(|step| flow.descendants(step)).unwrap_or_default();
        asked.extend(with.skip.iter().cloned());
        let unknown =
            self.run.tasks.iter().find(|task| {
                task.state == TaskState::Unknown && !asked.contains(step_of(&task.name))
            });
        match unknown {
            Some(task) => Err(AgainError::Unknown { step: task.name.clone() }),
            None => Ok(()),
        }
    }
}

/// Whether a task that did not succeed is part of a group that did, in another try.
pub(super) fn is_settled(flow: &Arc<Flow>, task: &str, succeeded: &BTreeSet<&str>) -> bool {
    !succeeded.contains(task)
        && flow.tried_ends(task).iter().any(|(end, ..)| succeeded.contains(end.as_str()))
}

impl FlowOrder {
    /// The steps of this order whose definition is not what it was in another.
    #[must_use]
    pub fn changed_since(&self, before: &Self) -> BTreeSet<String> {
        let (before, now) = (before.definitions(), self.definitions());
        now.into_iter()
            .filter(|(step, definition)| before.get(step) != Some(definition))
            .map(|(step, _)| step)
            .collect()
    }
}
