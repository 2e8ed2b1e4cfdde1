//! [`WholeStep`]: one step of a run with all that is known of it, from one look at the run.
//!
//! What all steps came to is in [`super::view`].

use std::collections::{BTreeSet, HashMap};

use serde_json::Value as Json;
use tidewheel::store::TaskSummary;

use super::error::DeskError;
use super::find::task_of;
use super::local::LocalDesk;
use super::states::step_state;
use super::view::RunView;
use crate::api::{
    ArtifactLine, AttemptLine, LogList, RunState, StepExplained, StepResult, StepState,
};

/// A step of a run.
#[derive(Debug)]
pub struct WholeStep {
    /// The identity of the run.
    pub run_id: String,
    /// The flow that it is a run of.
    pub flow: Option<String>,
    /// How the run stands.
    pub run: RunState,
    /// Its name.
    pub name: String,
    /// What it came to.
    pub result: StepResult,
    /// Its attempts.
    pub attempts: Vec<AttemptLine>,
    /// Why it is where it is, if it waits or was skipped.
    pub explained: Option<StepExplained>,
    /// Whether it waits for somebody to say yes or no.
    pub asks: bool,
    /// What it left.
    pub artifacts: Vec<ArtifactLine>,
    /// Which logs there are of it.
    pub logs: LogList,
}

impl LocalDesk {
    /// A step of a run with all that is known of it.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub fn step(&self, word: &str, step: &str) -> Result<WholeStep, DeskError> {
        let view = self.show(word)?;
        self.step_of(&view, task_of(&view.detail, step)?, &view.elements())
    }

    /// The same of a run that was read before. `elements` has the values that tasks are for, by name.
    pub(super) fn step_of(
        &self,
        view: &RunView,
        task: &TaskSummary,
        elements: &HashMap<String, Json>,
    ) -> Result<WholeStep, DeskError> {
        let summary = &view.detail.summary;
        let step = view.one(task);
        let explained = match step_state(task.state) {
            StepState::Pending if summary.is_live => Some(self.explain_step(view, &step)?),
            StepState::Skipped => Some(self.explain_step(view, &step)?),
            _ => None,
        };
        let element = elements.get(&task.name).cloned();
        let left = self.left_in(summary.id)?;
        let own = left.iter().filter(|left| left.task == task.name);
        Ok(WholeStep {
            run_id: summary.id.to_string(),
            flow: summary.name.clone(),
            run: view.state(),
            name: task.name.clone(),
            result: StepResult { element, ..view.step(&step) },
            attempts: self.attempts_at(summary.id, task)?.attempts,
            explained,
            asks: view.has_asked(task),
            artifacts: own.flat_map(super::artifacts::lines).collect(),
            logs: self.logs_of(view, Some(BTreeSet::from([task.index])), None),
        })
    }
}
