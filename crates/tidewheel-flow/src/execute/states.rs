//! What became of steps and of the run, as templates may ask for it: `steps`, and more of `run` in hooks.
//!
//! States, errors and attempts are the scheduler's; codes and times are noted here as attempts end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde_json::{Map, Value as Json, json};
use tidewheel::run::TaskReport;
use tidewheel::{Attempt, Run, RunId, TaskState, Timestamp};

use super::end::Trouble;
use super::runner::{FlowRunner, folder_of_flow};
use crate::compile::{Role, Scope, TaskName};
use crate::definition::names::ABOUT_RUN;
use crate::definition::{Flow, Work};
use crate::language::template::{Data, Lookup};

/// What is noted of a task beside what the scheduler knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// When its last attempt ended.
    pub ended_at: Option<Timestamp>,
    /// The exit code of its process, or the status of its answer.
    pub code: Option<i32>,
    /// How often it was done and is to be done again.
    pub rounds: u32,
}

impl Trace {
    /// What a store knows of a task.
    #[must_use]
    pub fn of(
        started_at: Option<Timestamp>,
        ended_at: Option<Timestamp>,
        code: Option<i32>,
    ) -> Self {
        Self { started_at, ended_at, code, rounds: 0 }
    }

    /// The same of one that was done so often and is to be done again.
    #[must_use]
    pub fn with_rounds(self, rounds: u32) -> Self {
        Self { rounds, ..self }
    }
}

/// What is noted of the tasks of a run, by name.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    by_task: RwLock<HashMap<String, Trace>>,
    /// The attempts with which tasks began to look whether it is time, by the task's index.
    looks: Mutex<HashMap<u32, u32>>,
}

impl Traces {
    pub fn insert(&self, task: &str, trace: Trace) {
        self.by_task.write().unwrap_or_else(PoisonError::into_inner).insert(task.to_owned(), trace);
    }

    /// Notes that an attempt at a task ended, and when it began.
    pub fn note(&self, task: &str, began: Timestamp, ended: Timestamp, code: Option<i32>) {
        let mut traces = self.by_task.write().unwrap_or_else(PoisonError::into_inner);
        let trace = traces.entry(task.to_owned()).or_default();
        trace.started_at.get_or_insert(began);
        trace.ended_at = Some(ended);
        trace.code = code;
    }

    fn of(&self, task: &str) -> Trace {
        let traces = self.by_task.read().unwrap_or_else(PoisonError::into_inner);
        traces.get(task).copied().unwrap_or_default()
    }

    /// From the beginning of the first to the end of the last task whose name starts so.
    fn span(&self, starts: [String; 3]) -> Trace {
        let traces = self.by_task.read().unwrap_or_else(PoisonError::into_inner);
        let is_inside = |task: &str| starts.iter().any(|start| task.starts_with(start));
        let inside = || traces.iter().filter(|(task, _)| is_inside(task)).map(|(_, trace)| trace);
        Trace {
            started_at: inside().filter_map(|trace| trace.started_at).min(),
            ended_at: inside().filter_map(|trace| trace.ended_at).max(),
            ..Trace::default()
        }
    }

    /// The tasks that began and whose name starts so, without that.
    fn begun(&self, start: &str) -> Vec<String> {
        let traces = self.by_task.read().unwrap_or_else(PoisonError::into_inner);
        let begun = traces.iter().filter(|(_, trace)| trace.started_at.is_some());
        begun.filter_map(|(task, _)| task.strip_prefix(start)).map(str::to_owned).collect()
    }

    /// Notes that a task begins, unless it began before. When that was.
    pub fn begin(&self, task: &str, at: Timestamp) -> Timestamp {
        let mut traces = self.by_task.write().unwrap_or_else(PoisonError::into_inner);
        *traces.entry(task.to_owned()).or_default().started_at.get_or_insert(at)
    }

    /// The first of the looks that this attempt of a task goes on with.
    pub fn first_look(&self, task: u32, attempt: u32) -> u32 {
        *self.looks().entry(task).or_insert(attempt)
    }

    /// An attempt did more than look.
    pub fn end_looks(&self, task: u32) {
        self.looks().remove(&task);
    }

    fn looks(&self) -> MutexGuard<'_, HashMap<u32, u32>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a round of a task. How many it has had.
    pub fn count_round(&self, task: &str) -> u32 {
        let mut traces = self.by_task.write().unwrap_or_else(PoisonError::into_inner);
        let trace = traces.entry(task.to_owned()).or_default();
        trace.rounds = trace.rounds.saturating_add(1);
        trace.rounds
    }
}

/// What a task knows of itself and its run, as templates ask for it: `run`. Few do, so nothing is put into words
/// before.
pub(super) struct RunLookup {
    /// The run and the attempt's number, once there is one.
    pub attempt: Option<(RunId, u32)>,
    pub run: Option<Run>,
    pub scheduled_at: Option<Timestamp>,
    pub flow: Arc<Flow>,
    /// The flow that the task's step is in.
    pub around: Arc<Flow>,
    pub task: TaskName,
    /// What hooks know besides.
    pub whole: Map<String, Json>,
}

impl RunLookup {
    fn started_at(&self) -> Option<Timestamp> {
        self.run.as_ref()?.accepted_at()
    }
}

impl Lookup for RunLookup {
    fn value(&self, name: &str) -> Option<Data> {
        let instant = |at: Option<Timestamp>| at.map_or(Json::Null, |at| at.to_string().into());
        let value: Json = match name {
            "id" => self.attempt.map_or(Json::Null, |(run, _)| run.to_string().into()),
            "flow" => self.flow.name.clone().into(),
            "step" => self.task.to_string().into(),
            "attempt" => self.attempt.map_or(Json::Null, |(_, number)| number.into()),
            "folder" => folder_of_flow(&self.around).to_string_lossy().into(),
            "started_at" => instant(self.started_at()),
            "scheduled_at" => instant(self.scheduled_at.or_else(|| self.started_at())),
            other => self.whole.get(other)?.clone(),
        };
        Some(value.into())
    }

    fn names(&self) -> Vec<String> {
        let whole = self.whole.keys().cloned();
        ABOUT_RUN.into_iter().map(str::to_owned).chain(whole).collect()
    }
}

/// What became of the steps of one flow, as templates know it: `steps`.
pub(super) struct StepsLookup {
    pub run: Run,
    pub traces: Arc<Traces>,
    pub prefix: String,
    pub flow: Arc<Flow>,
    /// Of a group, those of what is around it.
    pub around: Option<Box<StepsLookup>>,
}

impl Lookup for StepsLookup {
    fn value(&self, name: &str) -> Option<Data> {
        let Some(step) = self.flow.step(name) else {
            return self.around.as_ref().and_then(|around| around.value(name));
        };
        let task = format!("{}{name}", self.prefix);
        // A step that is not part of this run, since only others were chosen, is not there.
        let facts = self.run.facts(&task)?;
        let is_wait = matches!(step.work, Work::Wait(_));
        let stands_for_others = step.foreach.is_some() || matches!(step.work, Work::Flow(_));
        let trace = match stands_for_others {
            true => self.traces.span(["[", "/", "{"].map(|sign| format!("{task}{sign}"))),
            false => self.traces.of(&task),
        };
        let attempts = match facts.state {
            // What it did was to see that there is nothing to do.
            TaskState::Skipped => 0,
            _ if stands_for_others => self.tries_of(&task),
            _ if is_wait => facts.attempts.min(1),
            _ => facts.attempts,
        };
        Some(about_step(&facts, trace, attempts).into())
    }

    fn names(&self) -> Vec<String> {
        let is_there = |name: &&String| self.run.facts(&format!("{}{name}", self.prefix)).is_some();
        let mut names: Vec<String> = self.flow.names.iter().filter(is_there).cloned().collect();
        names.extend(self.around.iter().flat_map(|around| around.names()));
        names
    }
}

impl StepsLookup {
    /// How often what a task stands for was tried: of elements, that which was tried most often.
    fn tries_of(&self, task: &str) -> u32 {
        let tries = |rest: String| {
            let first = rest.split('/').next().unwrap_or_default();
            let name = TaskName::parse(&format!("{task}{first}"))?;
            let is_worker = first == rest && matches!(name.role, Role::Element(_));
            match name.again {
                // A try, or something in one.
                Some(again) => Some(again),
                None if is_worker => Some(self.run.facts(&format!("{task}{rest}"))?.attempts),
                None => (!rest.is_empty()).then_some(1),
            }
        };
        let begun = self.traces.begun(task).into_iter();
        let inside = begun.filter(|rest| rest.starts_with(['[', '/', '{']));
        inside.filter_map(tries).max().unwrap_or_default()
    }
}

fn about_step(facts: &TaskReport, trace: Trace, attempts: u32) -> Json {
    let state = match facts.state {
        state if state.is_terminal() => state.word(),
        TaskState::Running | TaskState::Cancelling => TaskState::Running.word(),
        _ => "waiting",
    };
    let took = match (trace.started_at, trace.ended_at) {
        (Some(from), Some(to)) if facts.state.is_terminal() => seconds(from, to),
        _ => Json::Null,
    };
    let error = facts.error.as_deref().filter(|_| facts.state != TaskState::Succeeded);
    json!({
        "state": state,
        "code": trace.code,
        "error": error,
        "attempts": attempts,
        "took": took,
    })
}

fn seconds(from: Timestamp, to: Timestamp) -> Json {
    json!(to.since(from).as_millis() as f64 / 1000.0)
}

impl FlowRunner {
    /// What templates of hooks know beside what all do: how the flow stands that this task of it follows.
    pub(super) fn about_whole(
        &self,
        attempt: &Attempt,
        scope: &Scope,
        follower: &str,
    ) -> Result<Map<String, Json>, Trouble> {
        let run = attempt.run();
        let whole = run.as_ref().and_then(|run| run.whole(run.facts(follower)?.id.index));
        let (Some(run), Some(whole)) = (run, whole) else { return Ok(Map::new()) };
        let mut failed = Vec::new();
        for index in &whole.failed {
            let Some(task) = run.task_name(*index) else { continue };
            let error = run.facts(&task).and_then(|facts| facts.error);
            failed.push(self.about_failed(&task, scope, error.as_deref(), attempt)?);
        }
        let now = attempt.wheel().wall_clock();
        let took = run.accepted_at().map_or(Json::Null, |at| seconds(at, now));
        let values = [json!(whole.result.word()), Json::Array(failed), took];
        Ok(["state", "failed", "took"].map(str::to_owned).into_iter().zip(values).collect())
    }

    /// A failed task as the hooks of a flow see it: by the step of that flow.
    fn about_failed(
        &self,
        task: &str,
        scope: &Scope,
        error: Option<&str>,
        attempt: &Attempt,
    ) -> Result<Json, Trouble> {
        let inside = task.strip_prefix(&scope.prefix()).unwrap_or(task);
        let first = inside.split('/').next().unwrap_or(inside);
        let name = TaskName::parse(first);
        let step = name.as_ref().and_then(|name| scope.flow.step(&name.step));
        let element = match (name.as_ref().map(|name| &name.role), step) {
            (Some(Role::Element(element) | Role::Open(Some(element))), Some(step)) => {
                let elements = self.elements(scope, step, Some(attempt))?;
                elements.find(element).map(|(_, value)| value.clone()).unwrap_or_default()
            }
            _ => Json::Null,
        };
        let step = step.map_or(first, |step| &step.name);
        Ok(json!({ "task": task, "step": step, "element": element, "error": error }))
    }
}
