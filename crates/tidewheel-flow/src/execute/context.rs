//! What templates of a task are given: `flows`, `steps`, `params`, `sources`, `secrets`, `run`, and
//! the element.
//!
//! What each place in a file may name was checked when the file was read.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tidewheel::{Attempt, Run};

use super::end::Trouble;
use super::outputs::FlowsLookup;
use super::runner::FlowRunner;
use super::states::{RunLookup, StepsLookup};
use crate::compile::{Role, Scope, Segment, TaskName};
use crate::definition::{Element, Elements, Flow, SourceView, Step, Work, elements_of};
use crate::language::template::Context;

/// A task that was found in the flow, with everything about where it stands.
pub(super) struct Position {
    pub name: TaskName,
    pub scope: Scope,
    pub step: Arc<Step>,
}

impl FlowRunner {
    /// Finds the step a task is for.
    pub(super) fn position(&self, task: &str) -> Result<Position, Trouble> {
        let unknown = || Trouble::permanent(format!("the flow has nothing for task `{task}`"));
        let name = TaskName::parse(task).ok_or_else(unknown)?;
        let scope = Scope::find(&self.flow, &name.scope).ok_or_else(unknown)?;
        let step = Arc::clone(scope.flow.step(&name.step).ok_or_else(unknown)?);
        Ok(Position { name, scope, step })
    }

    /// What the templates of a step are given. Without an attempt, what is known before there is a run.
    pub(super) fn context(
        &self,
        position: &Position,
        attempt: Option<&Attempt>,
    ) -> Result<Context, Trouble> {
        let mut context = self.scope_context(&position.scope, attempt)?;
        if let Role::Element(element) | Role::Open(Some(element)) = &position.name.role {
            let (scope, step) = (&position.scope, &position.step);
            context = self.with_element(context, scope, step, element, attempt)?;
        }
        Ok(context.with_lookup("run", Arc::new(self.about(attempt, position)?)))
    }

    fn about(&self, attempt: Option<&Attempt>, position: &Position) -> Result<RunLookup, Trouble> {
        let whole = match (self.follower(position), attempt) {
            (Some((scope, task)), Some(attempt)) => self.about_whole(attempt, &scope, &task)?,
            _ => Map::new(),
        };
        Ok(RunLookup {
            attempt: attempt.map(|attempt| (attempt.id().run, attempt.number())),
            run: attempt.and_then(Attempt::run),
            scheduled_at: self.scheduled_at,
            flow: Arc::clone(&self.flow),
            around: Arc::clone(&position.scope.flow),
            task: position.name.clone(),
            whole,
        })
    }

    /// The flow that a task follows, and which task of it does so: that of its step, or of the group that the
    /// step is in.
    fn follower(&self, position: &Position) -> Option<(Scope, String)> {
        let (mut scope, mut step) = (position.scope.clone(), Arc::clone(&position.step));
        while !step.follows_run() {
            let (_, group) = scope.calls.last().filter(|_| scope.is_group())?.clone();
            scope = scope.around(&self.flow)?;
            step = group;
        }
        let task = format!("{}{}", scope.prefix(), step.name);
        Some((scope, task))
    }

    /// What the templates of every step of a flow are given.
    pub(super) fn scope_context(
        &self,
        scope: &Scope,
        attempt: Option<&Attempt>,
    ) -> Result<Context, Trouble> {
        let context = self.lasting_context(scope, attempt)?;
        // It knows the run, and so must not be kept: the run keeps us.
        let Some(run) = attempt.and_then(Attempt::run) else { return Ok(context) };
        Ok(context.with_lookup("steps", Arc::new(self.steps_lookup(scope, &run))))
    }

    /// What became of the steps of a flow; for a group, of those around it too.
    fn steps_lookup(&self, scope: &Scope, run: &Run) -> StepsLookup {
        let around = scope.around(&self.flow).filter(|_| scope.is_group());
        StepsLookup {
            run: run.clone(),
            traces: Arc::clone(&self.traces),
            prefix: scope.prefix(),
            flow: Arc::clone(&scope.flow),
            around: around.map(|around| Box::new(self.steps_lookup(&around, run))),
        }
    }

    /// What of it does not change. It is put together once for each place of a flow.
    fn lasting_context(
        &self,
        scope: &Scope,
        attempt: Option<&Attempt>,
    ) -> Result<Context, Trouble> {
        let path = scope.path();
        if let Some(known) = self.known_context(&path) {
            return Ok(known);
        }
        let context = match scope.is_group() {
            true => self.context_around(scope, attempt)?,
            false => Context::new()
                .with("params", Json::Object(self.params_of(scope, attempt)?.into_iter().collect()))
                .with("sources", self.sources(&scope.flow))
                .with("secrets", self.secrets.to_json(&scope.flow)),
        };
        let context = context
            .with_lookup("flows", Arc::new(FlowsLookup::of(scope, &self.flow, &self.outputs)));
        self.remember_context(path, &context);
        Ok(context)
    }

    /// What templates of a group know from around it: all that is known there, and the element.
    fn context_around(&self, scope: &Scope, attempt: Option<&Attempt>) -> Result<Context, Trouble> {
        let lost = || Trouble::permanent("what is around the group cannot be found");
        let (segment, step) = scope.calls.last().ok_or_else(lost)?;
        let around = scope.around(&self.flow).ok_or_else(lost)?;
        let context = self.lasting_context(&around, attempt)?;
        match &segment.element {
            Some(element) => self.with_element(context, &around, step, element, attempt),
            None => Ok(context),
        }
    }

    /// The params of a flow: those of the run, or what the call says.
    fn params_of(
        &self,
        scope: &Scope,
        attempt: Option<&Attempt>,
    ) -> Result<BTreeMap<String, Json>, Trouble> {
        let Some((segment, step)) = scope.calls.last() else { return Ok(self.params.clone()) };
        let Work::Flow(child) = &step.work else { return Ok(BTreeMap::new()) };
        let around = scope
            .around(&self.flow)
            .ok_or_else(|| Trouble::permanent("the flow that calls this one cannot be found"))?;
        let mut context = self.scope_context(&around, attempt)?;
        if let Some(element) = &segment.element {
            context = self.with_element(context, &around, step, element, attempt)?;
        }
        let mut said = BTreeMap::new();
        for (name, tree) in &child.params {
            said.insert(name.clone(), tree.render(&context)?);
        }
        crate::definition::params::resolve_params(&child.flow, said)
            .map_err(|error| Trouble::permanent(format!("flow `{}`: {error}", child.flow.name)))
    }

    pub(super) fn with_element(
        &self,
        context: Context,
        scope: &Scope,
        step: &Arc<Step>,
        element: &Element,
        attempt: Option<&Attempt>,
    ) -> Result<Context, Trouble> {
        let Some(foreach) = &step.foreach else { return Ok(context) };
        let elements = self.elements(scope, step, attempt)?;
        let (index, value) = elements.find(element).ok_or_else(|| {
            Trouble::permanent(format!("the list of `{}` has no element {element}", step.name))
        })?;
        Ok(context.with(&foreach.variable, value.clone()).with("index", json!(index)))
    }

    /// The elements of a step. They are rendered once: what they depend on does not change.
    pub(super) fn elements(
        &self,
        scope: &Scope,
        step: &Arc<Step>,
        attempt: Option<&Attempt>,
    ) -> Result<Arc<Elements>, Trouble> {
        let Some(foreach) = &step.foreach else { return Ok(Arc::default()) };
        let mut path = scope.path();
        path.push(Segment { step: step.name.clone(), element: None, again: 1 });
        if let Some(known) = self.known_elements(&path) {
            return Ok(known);
        }
        let context = self.scope_context(scope, attempt)?;
        let elements = Arc::new(elements_of(step, foreach, &context)?);
        self.remember_elements(path, &elements);
        Ok(elements)
    }

    /// What templates know as `sources`.
    fn sources(&self, flow: &Flow) -> Json {
        let view = |view: &SourceView| match view {
            SourceView::Definition(definition) => definition.clone(),
            SourceView::Variables(names) => self.variables(names),
        };
        let sources = flow.sources.iter();
        Json::Object(sources.map(|(name, source)| (name.clone(), view(source))).collect())
    }

    /// Variables of our own environment; those that are not set, or no text, are null.
    pub(super) fn variables(&self, names: &[String]) -> Json {
        let all: HashMap<OsString, OsString> = self.means.world.variables().into_iter().collect();
        let value = |name: &String| {
            let text = all.get(OsStr::new(name)).and_then(|value| value.to_str());
            text.map_or(Json::Null, Json::from)
        };
        Json::Object(names.iter().map(|name| (name.clone(), value(name))).collect())
    }
}
