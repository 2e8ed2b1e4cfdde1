//! Makes the tasks of steps: those known at the start, and those that are found out later.
//!
//! Which elements a list has is rendered here; what their tasks do is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::{OnError, TaskOptions};

use super::blueprint::{CompileError, Estimates, Words, gathering_options, options_of};
use super::name::{EACH, element_name};
use super::scope::Scope;
use crate::definition::connect::TASKS_MAX;
use crate::definition::{
    ChildFlow, Flow, Foreach, ForeachList, Param, Place, Step, Wait, WaitFor, Work,
};
use crate::language::template::{Context, Reference};
use crate::language::tree::{RenderError, starts_with};

/// Tasks to be added to a run.
pub(crate) type NewTasks = Vec<DraftTask>;

/// A task before it is in a graph.
#[derive(Debug, Clone)]
pub(crate) struct DraftTask {
    pub name: String,
    pub after: Vec<String>,
    pub estimate: Option<Duration>,
    pub options: TaskOptions,
}

/// Tasks under construction.
pub(crate) struct Draft<'a> {
    pub tasks: NewTasks,
    pub limits: BTreeMap<String, u32>,
    params: &'a BTreeMap<String, Json>,
    estimates: &'a Estimates,
    /// The word of the run for failures.
    run_word: OnError,
    /// For a plan: the elements that nobody knows yet.
    pub unknown: Option<Vec<UnknownElements>>,
}

/// Elements that nobody knows before the run, or before its params are said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownElements {
    /// The step that is done for each of them.
    pub step: String,
    /// The list, as it is written.
    pub list: String,
    /// The params that would have to be said. None if the list is found out while the flow runs.
    pub params: Vec<String>,
}

/// What is known of the elements of a step.
enum Elements {
    Known(usize),
    /// They are found out while the run goes on.
    Late,
    /// Params that were not said decide about them. Only in a plan.
    Unsaid(Vec<String>),
}

impl<'a> Draft<'a> {
    pub fn new(
        params: &'a BTreeMap<String, Json>,
        estimates: &'a Estimates,
        run_word: OnError,
    ) -> Self {
        let (tasks, limits) = (Vec::new(), BTreeMap::new());
        Self { tasks, limits, params, estimates, run_word, unknown: None }
    }

    /// The same for a plan, in which one task stands for all elements that are not known.
    pub fn planned(self) -> Self {
        Self { unknown: Some(Vec::new()), ..self }
    }

    /// Adds the tasks of a flow. Its first steps wait for `entry`.
    pub fn add_scope(
        &mut self,
        scope: &Scope,
        entry: &[String],
        words: &Words,
    ) -> Result<(), CompileError> {
        let prefix = scope.prefix();
        let first = self.tasks.len();
        // What follows the run waits for all of it, elements and called flows included: when a
        // failure stops the run, the tasks that gather are over before those they gather from.
        let mut whole: Option<Vec<String>> = None;
        for step in &scope.flow.steps {
            let mut after: Vec<String> =
                step.after.iter().map(|needed| format!("{prefix}{}", needed.step)).collect();
            if step.place != Place::Flow {
                let names = || self.tasks[first..].iter().map(|task| task.name.clone()).collect();
                after.extend(whole.get_or_insert_with(names).iter().cloned());
                after.sort_unstable();
                after.dedup();
            }
            if after.is_empty() {
                after = entry.to_vec();
            }
            self.add_step(scope, step, &prefix, after, words)?;
        }
        Ok(())
    }

    fn add_step(
        &mut self,
        scope: &Scope,
        step: &Arc<Step>,
        prefix: &str,
        after: Vec<String>,
        words: &Words,
    ) -> Result<(), CompileError> {
        let name = format!("{prefix}{}", step.name);
        let Some(foreach) = &step.foreach else {
            return match &step.work {
                Work::Flow(_) => self.add_call(scope, step, name, None, after, words),
                _ => {
                    self.add(name, step, after, options_of(step, words));
                    Ok(())
                }
            };
        };
        if let Some(parallel) = foreach.parallel {
            self.limits.insert(limit_of(scope, step), parallel);
        }
        let gathered = match self.elements(scope, step, foreach)? {
            Elements::Known(count) => {
                let children = self.add_elements(scope, step, 0..count as u32, &after, words)?;
                if children.is_empty() { after } else { children }
            }
            Elements::Late => {
                let expander = format!("{name}[]");
                let options = words.said_of(TaskOptions::new().attempt_timeout(None), step);
                self.add_plain(expander.clone(), after, options);
                let found = vec![expander];
                let each = self.add_each(scope, step, (foreach, Vec::new()), &found, words)?;
                if each.is_empty() { found } else { each }
            }
            Elements::Unsaid(params) => {
                self.add_each(scope, step, (foreach, params), &after, words)?
            }
        };
        let mut options = gathering_options(step, words);
        // An element that fails stops the run as its step would, and at once. Inside a called flow
        // the elements see for themselves.
        if scope.calls.is_empty() && scope.flow.is_stopped_by(step) {
            options = options.on_dependency_error(OnError::Fail);
        }
        self.add(name, step, gathered, options);
        Ok(())
    }

    /// In a plan, adds what stands for all elements of a step, and notes that they are not known.
    fn add_each(
        &mut self,
        scope: &Scope,
        step: &Arc<Step>,
        (foreach, params): (&Foreach, Vec<String>),
        after: &[String],
        words: &Words,
    ) -> Result<Vec<String>, CompileError> {
        let Some(unknown) = &mut self.unknown else { return Ok(Vec::new()) };
        let step_name = format!("{}{}", scope.prefix(), step.name);
        unknown.push(UnknownElements { step: step_name, list: foreach.list.to_string(), params });
        self.add_elements(scope, step, std::iter::once(EACH), after, words)
    }

    /// Adds tasks for elements; gives the names of those that the gathering task waits for.
    pub fn add_elements(
        &mut self,
        scope: &Scope,
        step: &Arc<Step>,
        elements: impl Iterator<Item = u32>,
        after: &[String],
        words: &Words,
    ) -> Result<Vec<String>, CompileError> {
        let prefix = scope.prefix();
        let limit = step.foreach.as_ref().and_then(|it| it.parallel).map(|_| limit_of(scope, step));
        let mut names = Vec::new();
        for element in elements {
            let name = element_name(&format!("{prefix}{}", step.name), element);
            names.push(name.clone());
            match &step.work {
                Work::Flow(_) => {
                    self.add_call(scope, step, name, Some(element), after.to_vec(), words)?;
                }
                _ => {
                    let mut options = options_of(step, words);
                    if let Some(limit) = &limit {
                        options = options.units(limit, 1);
                    }
                    self.add(name, step, after.to_vec(), options);
                }
            }
            if self.tasks.len() > TASKS_MAX {
                let why = format!("the run would have more than {TASKS_MAX} tasks");
                return Err(CompileError::Elements { step: step.name.clone(), why });
            }
        }
        Ok(names)
    }

    /// Adds the tasks of a called flow and the one that collects what they leave.
    fn add_call(
        &mut self,
        scope: &Scope,
        step: &Arc<Step>,
        name: String,
        element: Option<u32>,
        after: Vec<String>,
        words: &Words,
    ) -> Result<(), CompileError> {
        let Some(inside) = scope.inside(step, element) else { return Ok(()) };
        let first = self.tasks.len();
        let within = words.of_call(step, &inside.flow, self.word_of_needed(scope, step));
        self.add_scope(&inside, &after, &within)?;
        let mut inner: Vec<String> =
            self.tasks[first..].iter().map(|task| task.name.clone()).collect();
        if inner.is_empty() {
            inner = after;
        }
        self.add(name, step, inner, gathering_options(step, words));
        Ok(())
    }

    /// The strictest word of what a step waits for.
    fn word_of_needed(&self, scope: &Scope, step: &Step) -> OnError {
        let needed = step.after.iter().filter_map(|needed| scope.flow.step(&needed.step));
        let words = needed.map(|needed| needed.treatment.on_error.unwrap_or(self.run_word));
        words.max().unwrap_or(self.run_word)
    }

    /// What is known of elements: all, if they do not depend on what steps leave.
    fn elements(
        &self,
        scope: &Scope,
        step: &Step,
        foreach: &Foreach,
    ) -> Result<Elements, CompileError> {
        let mut is_late = !scope.calls.is_empty();
        let mut unsaid = BTreeSet::new();
        foreach.list.visit(&mut |leaf| {
            for reference in leaf.template.references() {
                is_late |= !starts_with(reference, "params");
                unsaid.extend(self.unsaid_params(&scope.flow, reference));
            }
        });
        if is_late {
            return Ok(Elements::Late);
        }
        if self.unknown.is_some() && !unsaid.is_empty() {
            return Ok(Elements::Unsaid(unsaid.into_iter().map(str::to_owned).collect()));
        }
        let params = Json::Object(self.params.clone().into_iter().collect());
        let context = Context::new().with("params", params);
        elements_of(step, foreach, &context).map(|elements| Elements::Known(elements.len()))
    }

    /// Params without a value that a template may need.
    fn unsaid_params<'f>(
        &self,
        flow: &'f Flow,
        reference: &Reference,
    ) -> impl Iterator<Item = &'f str> {
        let name = reference.path.get(1);
        let is_meant = move |param: &&Param| name.is_none_or(|name| *name == param.name);
        let params = flow.params.iter().filter(is_meant).map(|param| param.name.as_str());
        params.filter(|name| !self.params.contains_key(*name))
    }

    fn add(&mut self, name: String, step: &Step, after: Vec<String>, options: TaskOptions) {
        let learnt = self.estimates.get(&name).copied();
        let estimate = estimate_of(step, &name, learnt);
        self.tasks.push(DraftTask { name, after, estimate, options });
    }

    fn add_plain(&mut self, name: String, after: Vec<String>, options: TaskOptions) {
        self.tasks.push(DraftTask { name, after, estimate: None, options });
    }
}

/// How long a task of a step is expected to take.
pub(crate) fn estimate_of(step: &Step, task: &str, learnt: Option<Duration>) -> Option<Duration> {
    let declared = step.treatment.estimate;
    match &step.work {
        Work::Flow(ChildFlow { .. }) => learnt,
        // It only gathers what its elements left, or finds them out.
        _ if step.foreach.is_some() && (!task.ends_with(']') || task.ends_with("[]")) => learnt,
        // Only the last look of a wait is timed. How long others wait is not for us to say.
        Work::Wait(Wait { what: WaitFor::Time(time), .. }) => declared.or(Some(*time)),
        Work::Wait(_) => declared,
        _ => learnt.or(declared),
    }
}

/// The tasks that must wait for elements that are found out late: the one that gathers them, which
/// comes first, and those of all steps that follow the flows around.
pub(crate) fn waiting_for_elements(
    outermost: &Arc<Flow>,
    scope: &Scope,
    step: &Step,
    tasks: impl Iterator<Item = String>,
) -> Vec<String> {
    let path = scope.path();
    let mut following = Vec::new();
    for length in 0..=path.len() {
        let Some(around) = Scope::find(outermost, &path[..length]) else { continue };
        let prefix = around.prefix();
        let steps = around.flow.steps.iter().filter(|step| step.place != Place::Flow);
        following.extend(steps.map(|step| format!("{prefix}{}", step.name)));
    }
    let mut waiting = vec![format!("{}{}", scope.prefix(), step.name)];
    if following.is_empty() {
        return waiting;
    }
    let belongs = |task: &str| {
        following.iter().any(|step| {
            let rest = task.strip_prefix(step.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '/']))
        })
    };
    waiting.extend(tasks.filter(|task| belongs(task)));
    waiting
}

/// The limit that bounds the elements of a step.
fn limit_of(scope: &Scope, step: &Step) -> String {
    format!("foreach {}/{}{}", scope.flow.name, scope.prefix(), step.name)
}

/// What a step is done for.
pub(crate) fn elements_of(
    step: &Step,
    foreach: &Foreach,
    context: &Context,
) -> Result<Vec<Json>, CompileError> {
    let render = |error: RenderError| CompileError::Render { step: step.name.clone(), error };
    let wrong = |why: String| CompileError::Elements { step: step.name.clone(), why };
    let list = |value: Json, what: &str| match value {
        Json::Array(elements) => Ok(elements),
        other => Err(wrong(format!("{what} must be a list, this is {}", kind(&other)))),
    };
    let elements = match &foreach.list {
        ForeachList::Elements(tree) => list(tree.render(context).map_err(render)?, "`foreach`")?,
        ForeachList::Product(axes) => {
            let mut combinations = vec![serde_json::Map::new()];
            for (name, tree) in axes {
                let values =
                    list(tree.render(context).map_err(render)?, &format!("`matrix.{name}`"))?;
                if combinations.len().saturating_mul(values.len()) > foreach.count_max {
                    return Err(wrong(format!("more than {} combinations", foreach.count_max)));
                }
                let with = |known: &serde_json::Map<String, Json>, value: &Json| {
                    let mut known = known.clone();
                    known.insert(name.clone(), value.clone());
                    known
                };
                combinations = combinations
                    .iter()
                    .flat_map(|known| values.iter().map(move |value| with(known, value)))
                    .collect();
            }
            combinations.into_iter().map(Json::Object).collect()
        }
    };
    match elements.len() > foreach.count_max {
        true => Err(wrong(format!(
            "the list has {} elements, at most {} are taken",
            elements.len(),
            foreach.count_max
        ))),
        false => Ok(elements),
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "nothing",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a mapping",
    }
}
