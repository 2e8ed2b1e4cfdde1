//! Tasks that do no work of their own: finding out which elements there are, and gathering what
//! elements and called flows left.
//!
//! Whether there is something to gather, or something failed, was decided by the scheduler before.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use tidewheel::{Attempt, NewTask, Outcome, Rejection, Run};

use super::context::Position;
use super::end::Trouble;
use super::runner::FlowRunner;
use crate::compile::{Draft, DraftTask, NewTasks, Role, try_name};
use crate::definition::{Step, Work};

impl FlowRunner {
    /// A success that adds a task for each element to the run.
    pub(super) fn expand(
        &self,
        position: &Position,
        attempt: &Attempt,
    ) -> Result<Outcome, Trouble> {
        let run = run_of(attempt)?;
        let elements = self.elements(&position.scope, &position.step, Some(attempt))?;
        let estimates = BTreeMap::new();
        let mut draft = Draft::new(&self.params, &estimates);
        let after = [position.name.to_string()];
        draft.add_elements(&position.scope, &position.step, &elements.names, &after)?;
        added(draft, &run)
    }

    /// A success that adds the tasks of another try of a group to the run.
    pub(super) fn expand_try(
        &self,
        position: &Position,
        attempt: &Attempt,
    ) -> Result<Outcome, Trouble> {
        let (run, name) = (run_of(attempt)?, &position.name);
        let element = match &name.role {
            Role::Open(element) => element.clone(),
            _ => None,
        };
        let inside = position.scope.inside(&position.step, element, name.again.unwrap_or(1));
        let inside = inside.ok_or_else(|| Trouble::permanent("what is tried again is no group"))?;
        let estimates = BTreeMap::new();
        let mut draft = Draft::new(&self.params, &estimates);
        draft.add_scope(&inside, &[name.to_string()])?;
        added(draft, &run)
    }
    /// What a step with elements, or one that calls a flow, leaves.
    pub(super) fn gather(
        &self,
        position: &Position,
        attempt: Option<&Attempt>,
    ) -> Result<Map<String, Json>, Trouble> {
        let (prefix, step) = (position.scope.prefix(), &*position.step);
        let name = format!("{prefix}{}", step.name);
        let end = match &position.name.role {
            Role::Element(element) => format!("{name}[{element}]"),
            _ => name.clone(),
        };
        let gathers_elements = step.foreach.is_some() && position.name.role == Role::Step;
        if step.tries() > 1 && !gathers_elements {
            return Ok(self.gather_tries(step, &end, position.name.again));
        }
        Ok(match (&position.name.role, &step.foreach) {
            (Role::Step, Some(_)) => {
                let elements = self.elements(&position.scope, &position.step, attempt)?;
                let names = elements.names.iter();
                let tasks: Vec<String> =
                    names.map(|element| format!("{name}[{element}]")).collect();
                self.gather_elements(step, &tasks)
            }
            _ => self.collect(step, &end),
        })
    }

    /// What one try of a group left; for the group itself, that which succeeded.
    fn gather_tries(&self, step: &Step, end: &str, again: Option<u32>) -> Map<String, Json> {
        match again {
            Some(1) => self.collect(step, end),
            Some(again) => self.collect(step, &try_name(end, again)),
            None => {
                let mut tries = (1..=step.tries()).rev();
                let left = tries.find_map(|again| self.outputs.of(&try_name(end, again)));
                left.map(|left| (*left).clone()).unwrap_or_default()
            }
        }
    }

    /// Each output as the list of what the elements left, in their order.
    fn gather_elements(&self, step: &Step, tasks: &[String]) -> Map<String, Json> {
        let left: Vec<Option<Arc<Map<String, Json>>>> =
            tasks.iter().map(|task| self.outputs.of(task)).collect();
        let mut names: Vec<&str> = match &step.work {
            Work::Flow(child) => child.flow.steps.iter().map(|step| step.name.as_str()).collect(),
            _ => step.outputs.iter().map(|output| output.name.as_str()).collect(),
        };
        // What elements left that nobody has declared.
        let more = left.iter().flatten().flat_map(|outputs| outputs.keys());
        let more: BTreeSet<&str> = more.map(String::as_str).collect();
        names.extend(more.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        let of = |name: &str| {
            let value = |outputs: &Option<Arc<Map<String, Json>>>| {
                outputs.as_ref().and_then(|outputs| outputs.get(name).cloned()).unwrap_or_default()
            };
            Json::Array(left.iter().map(value).collect())
        };
        names.into_iter().map(|name| (name.to_owned(), of(name))).collect()
    }

    /// What the steps of a called flow left, by step.
    fn collect(&self, step: &Step, name: &str) -> Map<String, Json> {
        let Work::Flow(child) = &step.work else { return Map::new() };
        let left = child.flow.steps.iter().filter_map(|step| {
            let outputs = self.outputs.of(&format!("{name}/{}", step.name))?;
            Some((step.name.clone(), Json::Object((*outputs).clone())))
        });
        left.collect()
    }
}

/// The tasks of a draft, as what a success adds to the run.
fn added(draft: Draft<'_>, run: &Run) -> Result<Outcome, Trouble> {
    let tasks = ends_first(draft.tasks);
    let tasks = tasks.into_iter().map(|task| {
        let mut new = NewTask::new(task.name).after(task.after).options(task.options);
        if let Some(estimate) = task.estimate {
            new = new.estimate(estimate);
        }
        new.before(task.inside)
    });
    run.expansion(tasks).map_err(refused)
}

/// A group is joined by way of its end, and by its opener before all others.
fn ends_first(mut tasks: NewTasks) -> NewTasks {
    let ends: HashMap<String, Option<String>> =
        tasks.iter().map(|task| (task.name.clone(), task.inside.clone())).collect();
    let depth = |task: &DraftTask| {
        let around = |end: &String| ends.get(end).cloned().flatten();
        std::iter::successors(task.inside.clone(), around).count()
    };
    tasks.sort_by_cached_key(|task| (depth(task), !task.name.ends_with("[]")));
    tasks
}

fn run_of(attempt: &Attempt) -> Result<Run, Trouble> {
    attempt.run().ok_or_else(|| Trouble::permanent("the task is part of no run"))
}

fn refused(error: Rejection) -> Trouble {
    match error {
        Rejection::Unavailable(_) => Trouble::passing(error.to_string()),
        error => Trouble::permanent(error.to_string()),
    }
}
