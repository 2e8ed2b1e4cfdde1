//! [`Blueprint`]: all tasks of a run that are known when it starts.
//!
//! Those that become known later are made by the same code; see `expand`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::{Graph, GraphError, OnError, Retry, TaskOptions};

use super::expand::{Draft, UnknownElements};
use super::scope::Scope;
use crate::definition::{Flow, Place, Step, WaitFor, Work};
use crate::language::tree::RenderError;

/// How long tasks took before, by name.
pub(crate) type Estimates = BTreeMap<String, Duration>;

/// The tasks of a run, as far as they are known when it starts.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub graph: Graph,
    pub options: Vec<TaskOptions>,
    /// Limits that the run brings along, beside those its flow defines.
    pub limits: BTreeMap<String, u32>,
}

impl Blueprint {
    pub fn new(
        flow: &Arc<Flow>,
        params: &BTreeMap<String, Json>,
        estimates: &Estimates,
    ) -> Result<Self, CompileError> {
        let draft = Draft::new(params, estimates, flow.runner.on_error);
        Self::build(flow, draft).map(|(blueprint, _)| blueprint)
    }

    /// A plan of a run of which not everything is known. In the place of elements that nobody knows
    /// yet stands one task, `step[*]`.
    pub fn planned(
        flow: &Arc<Flow>,
        params: &BTreeMap<String, Json>,
        estimates: &Estimates,
    ) -> Result<(Self, Vec<UnknownElements>), CompileError> {
        Self::build(flow, Draft::new(params, estimates, flow.runner.on_error).planned())
    }

    fn build(
        flow: &Arc<Flow>,
        mut draft: Draft<'_>,
    ) -> Result<(Self, Vec<UnknownElements>), CompileError> {
        draft.add_scope(&Scope::outermost(Arc::clone(flow)), &[], &Words::default())?;
        let mut graph = Graph::builder();
        let mut options = Vec::with_capacity(draft.tasks.len());
        for task in draft.tasks {
            let declared = graph.task(&task.name).after(&task.after);
            if let Some(estimate) = task.estimate {
                declared.estimate(estimate);
            }
            options.push(task.options);
        }
        let graph = graph.build().map_err(|error| CompileError::Graph(Box::new(error)))?;
        let unknown = draft.unknown.unwrap_or_default();
        Ok((Self { graph, options, limits: draft.limits }, unknown))
    }
}

/// Why a flow that was checked still makes no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CompileError {
    #[error("step `{step}`: {error}")]
    Render {
        step: String,
        #[source]
        error: RenderError,
    },
    #[error("step `{step}`: {why}")]
    Elements { step: String, why: String },
    #[error(transparent)]
    Graph(Box<GraphError>),
}

/// How the task of a step is treated.
pub(super) fn options_of(step: &Step, words: &Words) -> TaskOptions {
    let said = &step.treatment;
    let mut options = TaskOptions::new();
    if let Some(priority) = said.priority {
        options = options.priority(priority);
    }
    if let Some(queue) = &said.queue {
        options = options.queue(queue);
    }
    options = match (said.retry, step.retries()) {
        (Some(retry), _) => options.retry(retry),
        (None, Some(retries)) => options.retry(Retry::times(retries)),
        (None, None) => options,
    };
    // Waits are ended by the time for the whole step, since each look is an attempt of its own.
    let is_wait = matches!(step.work, Work::Wait(_));
    let (attempt, whole) = match is_wait {
        true => (None, said.step_timeout.or(said.attempt_timeout)),
        false => (said.attempt_timeout, said.step_timeout),
    };
    options = options.attempt_timeout(attempt);
    if let Some(timeout) = whole {
        options = options.task_timeout(timeout);
    }
    if let Work::Wait(wait) = &step.work
        && let WaitFor::Time(time) = wait.what
    {
        options = options.start_delay(time);
    }
    for (limit, units) in &said.limits {
        options = options.units(limit, *units);
    }
    if let Some(deadline) = said.deadline {
        options = options.deadline(deadline);
    }
    if let Some(key) = &said.key {
        options = options.key(key);
    }
    if said.at_most_once {
        options = options.at_most_once();
    }
    words.said_of(options, step)
}

/// What is said about failure around a step: in a called flow, and in what follows a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// The word of steps of a called flow that have none. A failure there fails the call, and what
    /// that means for the run is for the word of the step that calls.
    pub inside: Option<OnError>,
    /// The word of its first steps for the failure of what the call waits for.
    pub entry: Option<OnError>,
    /// Whether the flow is called by a step that follows the run.
    pub follows: bool,
}

impl Words {
    /// For the steps of a flow at its place in a run.
    pub fn of_scope(outermost: &Arc<Flow>, scope: &Scope) -> Self {
        let mut words = Self::default();
        let path = scope.path();
        for (length, (_, step)) in scope.calls.iter().enumerate() {
            let inside = Scope::find(outermost, &path[..=length]);
            let Some(inside) = inside else { continue };
            words = words.of_call(step, &inside.flow, outermost.runner.on_error);
        }
        words
    }

    /// For the flow that a step calls.
    pub fn of_call(&self, step: &Step, child: &Flow, waited_for: OnError) -> Self {
        let said = &step.treatment;
        let own = said.on_dependency_error.or(said.on_error);
        Self {
            inside: Some(child.runner.on_error.min(OnError::Skip)),
            entry: own.or(Some(waited_for)),
            follows: self.follows || step.place != Place::Flow,
        }
    }

    pub fn said_of(&self, mut options: TaskOptions, step: &Step) -> TaskOptions {
        let said = &step.treatment;
        if let Some(word) = said.on_error.or(self.inside) {
            options = options.on_error(word);
        }
        let dependency = match (self.inside, step.after.is_empty()) {
            (None, _) => said.on_dependency_error,
            // What its first steps wait for is outside, and so is the word about it.
            (Some(_), true) => self.entry,
            // A task that is skipped by the scheduler would skip the one that collects, and with it
            // whatever needs the call. So inside a call each task sees for itself whether it has
            // what it needs.
            (Some(_), false) => Some(OnError::Continue),
        };
        if let Some(word) = dependency {
            options = options.on_dependency_error(word);
        }
        if said.always || step.place != Place::Flow || self.follows {
            options = options.always();
        }
        options
    }
}

/// How the task is treated that gathers what others left: whatever became of them, and without
/// what the work itself needs.
pub(super) fn gathering_options(step: &Step, words: &Words) -> TaskOptions {
    let options = words.said_of(TaskOptions::new(), step);
    options.on_dependency_error(OnError::Continue).attempt_timeout(None)
}
