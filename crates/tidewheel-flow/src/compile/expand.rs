//! Makes the tasks of steps: those known at the start, and those that are found out later.
//!
//! Which elements there are is found out in `elements`; what their tasks do is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::TaskOptions;
use tidewheel::graph::GroupKind;
use tidewheel::run::{Ends, When};

use super::blueprint::{
    CompileError, Estimates, call_of, element_end_options, end_options, opener_options, outer_of,
    step_options, try_options, work_options,
};
use super::name::{element_name, try_name};
use super::scope::{Scope, is_late};
use crate::definition::connect::TASKS_MAX;
use crate::definition::{
    ChildFlow, Element, ElementsError, Flow, Foreach, Param, Place, Step, Wait, WaitFor, Work,
    elements_of,
};
use crate::language::template::{Context, Reference};

/// Tasks to be added to a run.
pub(crate) type NewTasks = Vec<DraftTask>;

/// A task before it is in a graph.
#[derive(Debug, Clone)]
pub(crate) struct DraftTask {
    pub name: String,
    pub after: Vec<String>,
    pub estimate: Option<Duration>,
    pub options: TaskOptions,
    /// The end of the group it is in.
    pub inside: Option<String>,
}

/// Tasks under construction.
pub(crate) struct Draft<'a> {
    pub tasks: NewTasks,
    params: &'a BTreeMap<String, Json>,
    estimates: &'a Estimates,
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
enum Outlook {
    Known(Vec<Element>),
    /// They are found out while the run goes on.
    Late,
    /// Params that were not said decide about them. Only in a plan.
    Unsaid(Vec<String>),
}

impl<'a> Draft<'a> {
    pub fn new(params: &'a BTreeMap<String, Json>, estimates: &'a Estimates) -> Self {
        Self { tasks: Vec::new(), params, estimates, unknown: None }
    }

    /// The same for a plan, in which one task stands for all elements that are not known.
    pub fn planned(self) -> Self {
        Self { unknown: Some(Vec::new()), ..self }
    }

    /// The same with room for the tasks of a flow, as far as they are known.
    pub fn with_room_for(mut self, flow: &Flow) -> Self {
        self.tasks.reserve_exact(flow.tasks.min(TASKS_MAX));
        self
    }

    /// Adds the tasks of a flow. Its first steps come after `entry`.
    pub fn add_scope(&mut self, scope: &Scope, entry: &[String]) -> Result<(), CompileError> {
        let (prefix, end) = (scope.prefix(), scope.end());
        let first = self.tasks.len();
        // What follows the flow comes after all of it.
        let mut whole: Option<Vec<String>> = None;
        for step in &scope.flow.steps {
            let mut after: Vec<String> =
                step.after.iter().map(|needed| format!("{prefix}{}", needed.step)).collect();
            if step.place != Place::Flow {
                let tasks = self.tasks[first..].iter().filter(|task| task.inside == end);
                let names = || tasks.map(|task| task.name.clone()).collect();
                after.extend(whole.get_or_insert_with(names).iter().cloned());
                after.sort_unstable();
                after.dedup();
            }
            if after.is_empty() {
                after = entry.to_vec();
            }
            self.add_step(scope, step, &prefix, after)?;
        }
        Ok(())
    }

    fn add_step(
        &mut self,
        scope: &Scope,
        step: &Arc<Step>,
        prefix: &str,
        after: Vec<String>,
    ) -> Result<(), CompileError> {
        let (name, inside) = (format!("{prefix}{}", step.name), scope.end());
        let Some(foreach) = &step.foreach else {
            if let Work::Flow(child) = &step.work {
                let has_opener = step.when.is_some();
                let options = end_options(step, prefix, outer_of(step, &child.flow));
                return self.add_call(scope, step, (name, None), after, has_opener, options);
            }
            self.add(name, step, after, step_options(step, prefix), inside);
            return Ok(());
        };
        let elements = self.elements(scope, step, foreach)?;
        let mut entry = after.clone();
        if matches!(elements, Outlook::Late) || step.when.is_some() && !step.asks_element() {
            entry = vec![self.add_opener(&name, after.clone())];
        }
        match elements {
            Outlook::Known(all) => self.add_elements(scope, step, &all, &entry)?,
            Outlook::Late => self.add_each(scope, step, (foreach, Vec::new()), &entry)?,
            Outlook::Unsaid(params) => self.add_each(scope, step, (foreach, params), &entry)?,
        }
        let mut options = end_options(step, prefix, GroupKind::Parts);
        if let Some(parallel) = foreach.parallel {
            options = options.at_once(parallel);
        }
        self.add(name, step, after, options, inside);
        Ok(())
    }

    /// Adds the task that looks whether what a task stands for is to be done, and for what. Gives its
    /// name.
    fn add_opener(&mut self, end: &str, after: Vec<String>) -> String {
        let name = format!("{end}[]");
        let (options, inside) = (opener_options().inside(end), Some(end.to_owned()));
        self.tasks.push(DraftTask { name: name.clone(), after, estimate: None, options, inside });
        name
    }

    /// In a plan, adds what stands for all elements of a step, and notes that they are not known.
    fn add_each(
        &mut self,
        scope: &Scope,
        step: &Arc<Step>,
        (foreach, params): (&Foreach, Vec<String>),
        after: &[String],
    ) -> Result<(), CompileError> {
        let Some(unknown) = &mut self.unknown else { return Ok(()) };
        let step_name = format!("{}{}", scope.prefix(), step.name);
        unknown.push(UnknownElements { step: step_name, list: foreach.list.to_string(), params });
        self.add_elements(scope, step, &[Element::Each], after)
    }

    /// Adds tasks for elements, parts of the step.
    pub fn add_elements(
        &mut self,
        scope: &Scope,
        step: &Arc<Step>,
        elements: &[Element],
        after: &[String],
    ) -> Result<(), CompileError> {
        let end = format!("{}{}", scope.prefix(), step.name);
        for element in elements {
            let (name, after) = (element_name(&end, element), after.to_vec());
            if let Work::Flow(child) = &step.work {
                let has_opener = step.when.is_some() && step.asks_element();
                let options = element_end_options(step, outer_of(step, &child.flow)).inside(&end);
                let named = (name, Some(element.clone()));
                self.add_call(scope, step, named, after, has_opener, options)?;
            } else {
                self.add(name, step, after, work_options(step), Some(end.clone()));
            }
            if self.tasks.len() > TASKS_MAX {
                let why = format!("the run would have more than {TASKS_MAX} tasks");
                return Err(ElementsError::Wrong { step: step.name.clone(), why }.into());
            }
        }
        Ok(())
    }

    /// Adds the tasks of a called flow and the one that stands for them.
    fn add_call(
        &mut self,
        scope: &Scope,
        step: &Arc<Step>,
        (name, element): (String, Option<Element>),
        after: Vec<String>,
        has_opener: bool,
        options: TaskOptions,
    ) -> Result<(), CompileError> {
        let Some(called) = scope.inside(step, element.clone(), 1) else { return Ok(()) };
        let mut entry = after.clone();
        if has_opener {
            entry = vec![self.add_opener(&name, after.clone())];
        }
        self.add_scope(&called, &entry)?;
        if step.tries() > 1 {
            self.add_tries(step, &called.flow, &name, &entry);
        }
        let inside = match element {
            Some(_) => Some(format!("{}{}", scope.prefix(), step.name)),
            None => scope.end(),
        };
        self.add(name, step, after, options, inside);
        Ok(())
    }

    /// Adds the tasks that stand for the tries of a group, and those that begin all but the first: what is in
    /// them is made when it is their turn, which in a plan it never is.
    fn add_tries(&mut self, step: &Arc<Step>, flow: &Flow, name: &str, entry: &[String]) {
        let last = if self.unknown.is_some() { 1 } else { step.tries() };
        let mut before: Option<String> = None;
        for again in 1..=last {
            let end = try_name(name, again);
            let mut options = try_options(step, call_of(flow), again);
            let mut after = entry.to_vec();
            if let Some(before) = before {
                options = options.when(When::all([&before], Ends::FAILED));
                after = vec![before];
                self.add_opener(&end, after.clone());
                let wait = step.wait_before(again);
                if let Some(opener) = self.tasks.last_mut() {
                    opener.options = std::mem::take(&mut opener.options).start_delay(wait);
                }
            }
            self.add(end.clone(), step, after, options, Some(name.to_owned()));
            before = Some(end);
        }
    }

    /// What is known of elements: all, if they do not depend on what steps leave.
    fn elements(
        &self,
        scope: &Scope,
        step: &Step,
        foreach: &Foreach,
    ) -> Result<Outlook, CompileError> {
        if is_late(scope, foreach) {
            return Ok(Outlook::Late);
        }
        let mut unsaid = BTreeSet::new();
        foreach.list.visit(&mut |leaf| {
            for reference in leaf.template.references() {
                unsaid.extend(self.unsaid_params(&scope.flow, reference));
            }
        });
        if self.unknown.is_some() && !unsaid.is_empty() {
            return Ok(Outlook::Unsaid(unsaid.into_iter().map(str::to_owned).collect()));
        }
        let params = Json::Object(self.params.clone().into_iter().collect());
        let context = Context::new().with("params", params);
        Ok(Outlook::Known(elements_of(step, foreach, &context)?.names))
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

    fn add(
        &mut self,
        name: String,
        step: &Step,
        after: Vec<String>,
        options: TaskOptions,
        inside: Option<String>,
    ) {
        let learnt = self.estimates.get(&name).copied();
        let estimate = estimate_of(step, &name, learnt);
        let options = match &inside {
            Some(end) => options.inside(end),
            None => options,
        };
        self.tasks.push(DraftTask { name, after, estimate, options, inside });
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
