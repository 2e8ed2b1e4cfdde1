//! Tasks that do no work of their own: finding out which elements there are, and gathering what
//! elements and called flows left.
//!
//! Whether there is anything to gather is decided by the scheduler.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use tidewheel::{Attempt, LimitSpec, NewTask, Outcome, Rejection, Run, TaskState};

use super::context::Position;
use super::end::Trouble;
use super::runner::FlowRunner;
use crate::compile::{Draft, Role, Words, waiting_for_elements};
use crate::definition::{Step, Work};

impl FlowRunner {
    /// A success that adds a task for each element to the run.
    pub(super) fn expand(
        &self,
        position: &Position,
        attempt: &Attempt,
    ) -> Result<Outcome, Trouble> {
        let run = run_of(attempt)?;
        let elements = self.elements(&position.scope, &position.step)?;
        let estimates = BTreeMap::new();
        let mut draft = Draft::new(&self.params, &estimates, self.flow.runner.on_error);
        let words = Words::of_scope(&self.flow, &position.scope);
        let after = [position.name.to_string()];
        let count = elements.len() as u32;
        let ends = draft.add_elements(&position.scope, &position.step, 0..count, &after, &words)?;
        let ends: HashSet<String> = ends.into_iter().collect();
        for (limit, units) in &draft.limits {
            let wheel = attempt.wheel().without_waiting();
            wheel.define_limit(limit, LimitSpec::Units(*units)).map_err(refused)?;
        }
        let tasks = (0..).map_while(|index| run.task_name(index));
        let waiting = waiting_for_elements(&self.flow, &position.scope, &position.step, tasks);
        let tasks = draft.tasks.into_iter().map(|task| {
            let is_end = ends.contains(&task.name);
            let mut new = NewTask::new(task.name).after(task.after).options(task.options);
            if let Some(estimate) = task.estimate {
                new = new.estimate(estimate);
            }
            // What is inside an element is waited for by what collects it.
            let before = if is_end { waiting.as_slice() } else { &waiting[1..] };
            new.before(before)
        });
        run.expansion(tasks).map_err(refused)
    }

    /// What a step with elements, or one that calls a flow, leaves.
    pub(super) fn gather(
        &self,
        position: &Position,
        attempt: &Attempt,
    ) -> Result<Map<String, Json>, Trouble> {
        let (prefix, step) = (position.scope.prefix(), &*position.step);
        let name = format!("{prefix}{}", step.name);
        match (position.name.role, &step.foreach) {
            (Role::Step, Some(_)) => {
                self.check_expander(&name, attempt)?;
                let count = self.elements(&position.scope, &position.step)?.len();
                let tasks: Vec<String> =
                    (0..count).map(|element| format!("{name}[{element}]")).collect();
                self.check_all(&tasks, "elements", attempt)?;
                Ok(self.gather_elements(step, &tasks))
            }
            (Role::Element(element), _) => {
                self.collect(step, &format!("{name}[{element}]"), attempt)
            }
            _ => self.collect(step, &name, attempt),
        }
    }

    /// There is nothing to gather if nobody could say what there is.
    fn check_expander(&self, name: &str, attempt: &Attempt) -> Result<(), Trouble> {
        let expander = run_of(attempt)?.task(&format!("{name}[]"));
        let Ok(explained) = attempt.wheel().explain(expander) else { return Ok(()) };
        match explained.facts.state {
            TaskState::Succeeded => Ok(()),
            TaskState::Skipped => Err(Trouble::skipped()),
            state => Err(Trouble::permanent(format!("`{name}[]` is {state}"))),
        }
    }

    /// Each output as the list of what the elements left, in their order.
    fn gather_elements(&self, step: &Step, tasks: &[String]) -> Map<String, Json> {
        let left: Vec<Option<Arc<Map<String, Json>>>> =
            tasks.iter().map(|task| self.outputs.of(task)).collect();
        let names: Vec<&str> = match &step.work {
            Work::Flow(child) => child.flow.steps.iter().map(|step| step.name.as_str()).collect(),
            _ => step.outputs.iter().map(|output| output.name.as_str()).collect(),
        };
        let of = |name: &str| {
            let value = |outputs: &Option<Arc<Map<String, Json>>>| {
                outputs.as_ref().and_then(|outputs| outputs.get(name).cloned()).unwrap_or_default()
            };
            Json::Array(left.iter().map(value).collect())
        };
        names.into_iter().map(|name| (name.to_owned(), of(name))).collect()
    }

    /// What the steps of a called flow left, by step.
    fn collect(
        &self,
        step: &Step,
        name: &str,
        attempt: &Attempt,
    ) -> Result<Map<String, Json>, Trouble> {
        let Work::Flow(child) = &step.work else { return Ok(Map::new()) };
        let steps = child.flow.steps.iter();
        let tasks: Vec<String> = steps.map(|step| format!("{name}/{}", step.name)).collect();
        self.check_all(&tasks, "steps", attempt)?;
        Ok(child
            .flow
            .steps
            .iter()
            .zip(&tasks)
            .filter_map(|(step, task)| {
                let outputs = self.outputs.of(task)?;
                Some((step.name.clone(), Json::Object((*outputs).clone())))
            })
            .collect())
    }

    /// Fails if one of the tasks did; those whose failure is tolerated do not count.
    fn check_all(&self, tasks: &[String], what: &str, attempt: &Attempt) -> Result<(), Trouble> {
        let run = run_of(attempt)?;
        let wheel = attempt.wheel();
        let mut bad = Vec::new();
        for task in tasks {
            let Ok(explained) = wheel.explain(run.task(task)) else {
                bad.push(task.as_str());
                continue;
            };
            let is_bad = matches!(
                explained.facts.state,
                TaskState::Failed | TaskState::Unknown | TaskState::Cancelled
            );
            if is_bad && !(what == "steps" && self.is_tolerated(task)) {
                bad.push(task.as_str());
            }
        }
        if bad.is_empty() {
            return Ok(());
        }
        let shown: Vec<&str> = bad.iter().take(5).copied().collect();
        let more = if bad.len() > shown.len() { ", …" } else { "" };
        Err(Trouble::permanent(format!(
            "{} of {} {what} failed: {}{more}",
            bad.len(),
            tasks.len(),
            shown.join(", ")
        )))
    }
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
