//! [`Blueprint`]: all tasks of a run that are known when it starts.
//!
//! Those that become known later are made by the same code; see `expand`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::graph::GroupKind;
use tidewheel::policy::OnSkip;
use tidewheel::run::{Standing, When};
use tidewheel::{Graph, GraphError, OnError, Retry, TaskOptions};

use super::expand::{Draft, UnknownElements};
use super::scope::Scope;
use crate::definition::{ElementsError, Flow, Place, Step, WaitFor, Work};

/// How long tasks took before, by name.
pub(crate) type Estimates = BTreeMap<String, Duration>;

/// The tasks of a run, as far as they are known when it starts.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub graph: Graph,
    pub options: Vec<TaskOptions>,
}

impl Blueprint {
    pub fn new(
        flow: &Arc<Flow>,
        params: &BTreeMap<String, Json>,
        estimates: &Estimates,
    ) -> Result<Self, CompileError> {
        Self::build(flow, Draft::new(params, estimates)).map(|(blueprint, _)| blueprint)
    }

    /// A plan of a run of which not everything is known. In the place of elements that nobody knows
    /// yet stands one task, `step[*]`.
    pub fn planned(
        flow: &Arc<Flow>,
        params: &BTreeMap<String, Json>,
        estimates: &Estimates,
    ) -> Result<(Self, Vec<UnknownElements>), CompileError> {
        Self::build(flow, Draft::new(params, estimates).planned())
    }

    fn build(
        flow: &Arc<Flow>,
        mut draft: Draft<'_>,
    ) -> Result<(Self, Vec<UnknownElements>), CompileError> {
        draft = draft.with_room_for(flow);
        draft.add_scope(&Scope::outermost(Arc::clone(flow)), &[])?;
        let mut inside: HashMap<String, Vec<String>> = HashMap::new();
        for task in &draft.tasks {
            if let Some(end) = &task.inside {
                inside.entry(end.clone()).or_default().push(task.name.clone());
            }
        }
        let mut graph = Graph::builder();
        let mut options = Vec::with_capacity(draft.tasks.len());
        for task in draft.tasks {
            // The end of a group comes after all of it, in pictures and on paths too.
            let members = inside.remove(&task.name).unwrap_or_default();
            let declared = graph.task(&task.name).after(&task.after).after(&members);
            if let Some(estimate) = task.estimate {
                declared.estimate(estimate);
            }
            options.push(task.options);
        }
        let graph = graph.build().map_err(|error| CompileError::Graph(Box::new(error)))?;
        let unknown = draft.unknown.unwrap_or_default();
        Ok((Self { graph, options }, unknown))
    }
}

/// Why a flow that was checked still makes no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CompileError {
    #[error(transparent)]
    Elements(#[from] ElementsError),
    #[error(transparent)]
    Graph(Box<GraphError>),
}

fn retry_of(step: &Step) -> Option<Retry> {
    let mut retry = step.treatment.retry.or_else(|| step.retries().map(Retry::times))?;
    if let Work::Http(request) = &step.work {
        // What was under way when its time was up may have been done, and so may what was answered.
        retry.on.timed_out &= request.is_repeatable();
        retry.on.failed_for_good &= request.is_repeatable();
    }
    Some(retry)
}

/// What the work of a step needs, and how often it is tried.
pub(super) fn work_options(step: &Step) -> TaskOptions {
    let said = &step.treatment;
    let mut options = TaskOptions::new();
    if let Some(priority) = said.priority {
        options = options.priority(priority);
    }
    if let Some(queue) = &said.queue {
        options = options.queue(queue);
    }
    if let Some(retry) = retry_of(step) {
        options = options.retry(retry);
    }
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
    options
}

/// The same with what is said about failures and skips, and when it is its turn.
fn with_words(mut options: TaskOptions, step: &Step, prefix: &str) -> TaskOptions {
    let said = &step.treatment;
    if let Some(word) = said.on_error {
        options = options.on_error(word);
    }
    if let Some(word) = said.on_dependency_error {
        options = options.on_dependency_error(word);
    }
    if let Some(word) = said.on_skip {
        options = options.on_skip(word);
    }
    if said.always {
        options = options.always();
    }
    if let Some(when) = condition_of(step, prefix) {
        options = options.when(when);
    }
    match step.place {
        Place::Flow => options,
        Place::OnSuccess => options.when(When::whole(Standing::Succeeded)),
        Place::OnFailure => options.when(When::whole(Standing::Failed)),
        Place::Finally => options.when(When::whole(Standing::Ended)),
    }
}

/// How the task of a step that has no others is treated.
pub(super) fn step_options(step: &Step, prefix: &str) -> TaskOptions {
    with_words(work_options(step), step, prefix)
}

/// What must have become of the steps it needs, which are those of the flow with this prefix.
fn condition_of(step: &Step, prefix: &str) -> Option<When> {
    let conditions = step.clauses.iter().map(|clause| {
        let tasks = clause.steps.iter().map(|step| format!("{prefix}{step}"));
        match clause.is_any {
            true => When::any(tasks, clause.ends),
            false => When::all(tasks, clause.ends),
        }
    });
    conditions.reduce(When::and)
}

/// How the task of a step is treated that others do the work for: it stands for them, and gathers what
/// they left without what the work itself needs.
pub(super) fn end_options(step: &Step, prefix: &str, group: GroupKind) -> TaskOptions {
    with_words(element_end_options(step, group), step, prefix)
}

/// The same of one element. What is said of the step is said of all of them; only the time of a group, or of
/// a called flow, is that of each.
pub(super) fn element_end_options(step: &Step, group: GroupKind) -> TaskOptions {
    let said = &step.treatment;
    let timeout = match step.tries() {
        0 | 1 => said.step_timeout.or(said.attempt_timeout),
        // The other one is for each of its tries.
        _ => said.step_timeout,
    };
    with_time(group, timeout)
}

/// How the task is treated that stands for one of the tries of a group.
pub(super) fn try_options(step: &Step, group: GroupKind, again: u32) -> TaskOptions {
    let options = with_time(group, step.treatment.attempt_timeout);
    match again < step.tries() {
        // Another one follows: it is no failure of the step.
        true => options.on_error(OnError::Continue),
        false => options,
    }
}

fn with_time(group: GroupKind, timeout: Option<Duration>) -> TaskOptions {
    let options = TaskOptions::new().attempt_timeout(None).ends(group);
    match (group, timeout) {
        (GroupKind::Call { .. }, Some(timeout)) => options.task_timeout(timeout),
        _ => options,
    }
}

/// How the task is treated that looks whether a step is to be done, and for what.
pub(super) fn opener_options() -> TaskOptions {
    TaskOptions::new().attempt_timeout(None).opens()
}

/// The group that a step stands for which calls a flow: that of the flow, or of its tries.
pub(super) fn outer_of(step: &Step, flow: &Flow) -> GroupKind {
    match step.tries() {
        0 | 1 => call_of(flow),
        _ => GroupKind::Call { on_error: OnError::Skip, on_skip: OnSkip::Continue },
    }
}

/// The group of a called flow.
pub(super) fn call_of(flow: &Flow) -> GroupKind {
    GroupKind::Call { on_error: flow.runner.on_error, on_skip: flow.runner.on_skip }
}
