//! [`Reuse`]: what a run of a part of a flow takes from earlier runs.
//!
//! What a run that is made again takes from the one before is found out by its kind.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};
use tidewheel::store::{RunFilter, RunKind};
use tidewheel::{RunId, TaskState};
use tidewheel_flow::{Dependency, Flow, FlowOrder};

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
    /// Steps that follow the run and are not done, each with one that it needs and that is not run.
    pub left_out: Vec<(String, String)>,
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
        let waited_for: BTreeSet<&str> = others(flow, &chosen).map(|it| &*it.step).collect();
        let mut reuse = Reuse { left_out: left_out(flow, &chosen), ..Reuse::default() };
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
            let is_wanted = |step: &str| waited_for.contains(step) && !changed.contains(step);
            reuse.take(&self.view(detail)?, is_wanted);
        }
        let needed = others(flow, &chosen).filter(|needed| needed.needs_outputs());
        let needed: BTreeSet<&str> = needed.map(|needed| &*needed.step).collect();
        let is_missing = |step: &&str| !reuse.outputs.contains_key(*step);
        reuse.missing = needed.into_iter().filter(is_missing).map(str::to_owned).collect();
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

/// What chosen steps wait for that is not chosen.
fn others<'a>(
    flow: &'a Flow,
    chosen: &'a BTreeSet<String>,
) -> impl Iterator<Item = &'a Dependency> {
    let steps = flow.steps.iter().filter(move |step| chosen.contains(&step.name));
    let needed = steps.flat_map(|step| &step.after);
    needed.filter(move |needed| !chosen.contains(&needed.step))
}

/// What would follow the run, and does not because of a step that is not run.
fn left_out(flow: &Flow, chosen: &BTreeSet<String>) -> Vec<(String, String)> {
    let hooks = flow.steps.iter().filter(|step| step.follows_run());
    let left = hooks.filter(|step| !chosen.contains(&step.name)).filter_map(|step| {
        let needed = step.after.iter().find(|needed| !chosen.contains(&needed.step))?;
        Some((step.name.clone(), needed.step.clone()))
    });
    left.collect()
}
