//! The steps of a flow beside its newest runs.
//!
//! Which steps a flow has is known to a [house](crate::house).

use std::collections::HashMap;

use tidewheel::store::{RunFilter, RunKind, RunSummary, TaskSummary};

use super::error::DeskError;
use super::local::LocalDesk;
use super::states::step_state;
use crate::api::{FlowGrid, GridRun, StepState};

/// Tasks that are looked at in all; of very large runs fewer are told of.
const TASKS_MAX: u32 = 50_000;

/// Where a run has no such step.
const ABSENT: char = '-';

impl LocalDesk {
    /// How each of these steps did in the newest runs of a flow, at most so many.
    pub(crate) fn grid(
        &self,
        flow: &str,
        steps: Vec<String>,
        most: u32,
    ) -> Result<FlowGrid, DeskError> {
        let filter = RunFilter {
            name: Some(flow.to_owned()),
            kind: Some(RunKind::Run),
            limit: most,
            ..RunFilter::default()
        };
        let newest = self.read(|reader| reader.runs(&filter))?;
        let (mut left, mut runs) = (TASKS_MAX, Vec::new());
        for run in &newest {
            let Some(rest) = left.checked_sub(run.tasks).or((runs.is_empty()).then_some(0)) else {
                break;
            };
            left = rest;
            runs.extend(self.grid_run(run, &steps)?);
        }
        runs.reverse();
        Ok(FlowGrid { version: None, flow: flow.to_owned(), steps, runs })
    }

    fn grid_run(&self, run: &RunSummary, steps: &[String]) -> Result<Option<GridRun>, DeskError> {
        let Some(detail) = self.read(|reader| reader.run(run.id))? else { return Ok(None) };
        let letters = letters(&detail.tasks, steps);
        Ok(Some(GridRun { run: self.past_run(run), letters }))
    }
}

/// The worst of what each step consists of.
fn letters(tasks: &[TaskSummary], steps: &[String]) -> String {
    let mut worst: HashMap<&str, StepState> = HashMap::new();
    for task in tasks {
        let state = step_state(task.state);
        let known = worst.entry(step_of(&task.name)).or_insert(state);
        if badness(state) > badness(*known) {
            *known = state;
        }
    }
    let letter = |step: &String| worst.get(step.as_str()).map_or(ABSENT, |state| state.letter());
    steps.iter().map(letter).collect()
}

/// The step that a task is, or is a part of: one of its elements, or inside the flow that it calls.
fn step_of(task: &str) -> &str {
    task.find(['[', '/', '{']).filter(|end| *end > 0).map_or(task, |end| &task[..end])
}

fn badness(state: StepState) -> u8 {
    match state {
        StepState::Skipped => 0,
        StepState::Succeeded => 1,
        StepState::Pending => 2,
        StepState::Cancelled => 3,
        StepState::Running => 4,
        StepState::Unknown => 5,
        StepState::Failed => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_called_flows_belong_to_their_step() {
        let steps = ["each[3]", "call/inner", "group{2}", "plain", "[odd"].map(step_of);
        assert_eq!(steps, ["each", "call", "group", "plain", "[odd"]);
    }

    #[test]
    fn what_failed_is_worse_than_what_goes_on() {
        let order = [
            StepState::Skipped,
            StepState::Succeeded,
            StepState::Pending,
            StepState::Cancelled,
            StepState::Running,
            StepState::Unknown,
            StepState::Failed,
        ];
        assert!(order.windows(2).all(|pair| badness(pair[0]) < badness(pair[1])));
    }
}
