//! [`Reuse`]: what a run of a part of a flow takes from earlier runs.
//!
//! What a run that is made again takes from the one before is found out by its kind.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};
use tidewheel::store::{RunFilter, RunKind};
use tidewheel::{RunId, TaskState};
use tidewheel_flow::{Flow, FlowOrder};

use super::error::DeskError;
use super::local::LocalDesk;
use super::view::RunView;
use crate::kind::FlowRun;

/// How many runs it is looked through for outputs of steps that are not run.
const RUNS_MAX: usize = 20;
/// How far back for runs of the same files.
const RUNS_SEEN_MAX: u32 = 200;

/// What steps that are not run left in earlier runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reuse {
    /// The outputs, by step.
    pub outputs: BTreeMap<String, Map<String, Json>>,
    /// From which run which steps' come, newest first.
    pub found: Vec<(RunId, Vec<String>)>,
    /// Steps whose outputs are needed, and of which there are none.
    pub missing: Vec<String>,
}

impl LocalDesk {
    /// Gives a run of a part of a flow what the other steps left in the newest run of the same files, with
    /// the same params, in which they succeeded and were what they are now.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn reuse(&self, run: &mut FlowRun) -> Result<Reuse, DeskError> {
        let FlowRun { flow, order, .. } = run;
        let Some(only) = &order.only else { return Ok(Reuse::default()) };
        let chosen: BTreeSet<String> = only.iter().cloned().collect();
        let filter = RunFilter {
            name: Some(flow.name.clone()),
            kind: Some(RunKind::Run),
            limit: RUNS_SEEN_MAX,
            ..RunFilter::default()
        };
        let mut reuse = Reuse::default();
        let mut runs_seen = 0;
        for summary in self.read(|reader| reader.runs(&filter))? {
            if runs_seen == RUNS_MAX {
                break;
            }
            let detail = self.read(|reader| reader.run(summary.id))?;
            let Some(detail) = detail else { continue };
            let Ok(known) = FlowOrder::of_run(&detail) else { continue };
            if !known.is_of_same_files(order) || known.params != order.params {
                continue;
            }
            runs_seen += 1;
            let changed = order.changed_since(&known);
            let is_wanted = |step: &str| {
                !chosen.contains(step) && flow.step(step).is_some() && !changed.contains(step)
            };
            reuse.take(&self.view(detail)?, is_wanted);
        }
        let needed = needed_of_others(flow, &chosen);
        reuse.missing =
            needed.filter(|step| !reuse.outputs.contains_key(*step)).map(str::to_owned).collect();
        order.reused.clone_from(&reuse.outputs);
        Ok(reuse)
    }
}

impl Reuse {
    /// Takes what a run has that no newer one had.
    fn take(&mut self, run: &RunView, is_wanted: impl Fn(&str) -> bool) {
        let mut found = Vec::new();
        for task in run.detail.tasks.iter().filter(|task| task.state == TaskState::Succeeded) {
            if is_wanted(&task.name) && !self.outputs.contains_key(&task.name) {
                self.outputs.insert(task.name.clone(), run.outputs_of(task.index));
                found.push(task.name.clone());
            }
        }
        if !found.is_empty() {
            self.found.push((run.detail.summary.id, found));
        }
    }
}

/// Steps that are not chosen, and whose outputs are named by chosen ones.
fn needed_of_others<'a>(
    flow: &'a Flow,
    chosen: &'a BTreeSet<String>,
) -> impl Iterator<Item = &'a str> {
    let steps = flow.steps.iter().filter(|step| chosen.contains(&step.name));
    let needed: BTreeSet<&str> = steps
        .flat_map(|step| step.after.iter().filter(|needed| needed.needs_outputs()))
        .map(|needed| needed.step.as_str())
        .filter(|step| !chosen.contains(*step))
        .collect();
    needed.into_iter()
}
