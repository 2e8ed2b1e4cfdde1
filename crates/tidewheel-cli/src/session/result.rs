//! What a run came to, as one JSON value and in words. Its fields are only ever added to.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json, json};
use tidewheel::TaskState;
use tidewheel::store::sqlite::{DataFolder, Reader};
use tidewheel::store::{
    OutputRecord, OutputValue, RecordedOutcome, RunDetail, TaskResult, TaskSummary,
};
use tidewheel_flow::{Flow, FlowOrder, listed, tolerated};

use super::states::{reason_words, run_state, task_state, timeout_words};
use crate::data::folder_error;
use crate::error::CommandError;

/// A run with everything that is known of its tasks.
#[derive(Debug)]
pub(crate) struct RunResultView {
    pub detail: RunDetail,
    pub results: BTreeMap<u32, TaskResult>,
    /// What was asked for, if it was a run of a flow.
    pub order: Option<FlowOrder>,
    /// Whether it has not ended and nobody runs it.
    pub is_abandoned: bool,
}

/// A task of a run, with what only the whole run and its flow can say of it.
#[derive(Debug)]
pub(crate) struct StepView<'a> {
    pub task: &'a TaskSummary,
    /// How often it was tried. The looks of one that waits are one attempt.
    pub attempts: u32,
    /// Whether it failed, and the flow says that this does not matter.
    pub is_tolerated: bool,
    /// Which limit it ran into, if it did.
    pub timeout: Option<String>,
}

/// Reads what a run came to, or has come to so far.
pub(crate) fn result_of(
    folder: &DataFolder,
    reader: &Reader,
    detail: RunDetail,
) -> Result<RunResultView, CommandError> {
    let failed = |error| folder_error(error, folder.path());
    let results = reader.results(detail.summary.id).map_err(failed)?;
    let is_abandoned = match &detail.summary.shard {
        Some(shard) => folder.is_left(shard).map_err(failed)?,
        None => false,
    };
    let order = FlowOrder::of_run(&detail).ok();
    Ok(RunResultView { detail, results, order, is_abandoned })
}

impl RunResultView {
    pub fn state(&self) -> &'static str {
        run_state(&self.detail.summary, self.is_abandoned)
    }

    /// 0 when all went well, else 1.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.detail.summary.state != TaskState::Succeeded)
    }

    /// Outputs by step, as flowtoy writes them: only of steps that succeeded.
    pub fn outputs(&self) -> Outputs<'_> {
        Outputs(self)
    }

    pub fn outputs_of(&self, index: u32) -> Map<String, Json> {
        let own = self.results.get(&index).map(|result| values(&result.outputs));
        let task = self.detail.tasks.get(index as usize);
        let before = || self.order.as_ref()?.reused.get(&task?.name).cloned();
        own.filter(|own| !own.is_empty()).or_else(before).unwrap_or_default()
    }

    /// The tasks in the order of the flow.
    pub fn listed(&self) -> Vec<StepView<'_>> {
        let tasks = &self.detail.tasks;
        let are_many = tasks.iter().any(|task| task.attempts > 1);
        // To read a flow again takes its time.
        let needs_flow = are_many || tasks.iter().any(|task| is_failure(task.state));
        let flow = self.order.as_ref().filter(|_| needs_flow).and_then(|order| order.flow().ok());
        let is_wait = |name: &str| flow.as_ref().is_some_and(|flow| flow.is_wait(name));
        let tolerated = tolerated(&self.detail, flow.as_ref());
        let view = |task| StepView {
            task,
            attempts: match task.state {
                // What it did was to see that there is nothing to do.
                TaskState::Skipped => 0,
                _ if task.attempts > 1 && is_wait(&task.name) => 1,
                _ => task.attempts,
            },
            is_tolerated: tolerated.contains(&task.index),
            timeout: self.timeout(task, flow.as_ref()),
        };
        listed(tasks).into_iter().map(view).collect()
    }

    /// The limit that a task ran into, with the last that is known of what it waited for.
    fn timeout(&self, task: &TaskSummary, flow: Option<&Arc<Flow>>) -> Option<String> {
        let step = flow.and_then(|flow| flow.step_of_task(&task.name));
        let words = timeout_words(task.reason, step.as_deref())?;
        let newest = self.results.get(&task.index).and_then(|result| result.newest.as_ref());
        match newest.and_then(|record| record.error.as_ref()) {
            Some(error) if step.is_some_and(|step| step.waits_for().is_some()) => {
                Some(format!("{words}: {error}"))
            }
            _ => Some(words),
        }
    }

    /// Why a task is in its state, if that needs saying.
    pub fn reason(&self, task: &TaskSummary) -> Option<String> {
        let newest = self.results.get(&task.index).and_then(|result| result.newest.as_ref());
        let outcome = newest.and_then(|record| record.outcome);
        match (task.state, outcome) {
            (TaskState::Succeeded, Some(cached @ RecordedOutcome::Cached)) => {
                Some(cached.word().to_owned())
            }
            // It saw for itself that it lacks something.
            (TaskState::Skipped, Some(RecordedOutcome::Skipped)) => {
                newest.and_then(|record| record.error.clone())
            }
            _ => reason_words(task, &self.detail.tasks),
        }
    }

    fn started_at(&self) -> Option<String> {
        let started = self.detail.tasks.iter().filter_map(|task| task.started_at).min();
        started.or(self.detail.summary.started_at).map(|at| at.to_string())
    }

    fn step(&self, StepView { task, attempts, is_tolerated, .. }: &StepView<'_>) -> Json {
        let result = self.results.get(&task.index);
        let newest = result.and_then(|result| result.newest.as_ref());
        let is_over = task.state.is_terminal();
        let error = task.error.clone().or(newest.and_then(|record| record.error.clone()));
        json!({
            "state": task_state(task.state),
            "reason": self.reason(task),
            "tolerated": is_tolerated,
            "attempts": attempts,
            "started_at": task.started_at.map(|at| at.to_string()),
            "ended_at": task.at.filter(|_| is_over).map(|at| at.to_string()),
            "code": newest.and_then(|record| record.code),
            "error": error.filter(|_| !matches!(task.state, TaskState::Succeeded | TaskState::Skipped)),
            "outputs": self.outputs_of(task.index),
        })
    }
}

/// The result of `run --format json` and `show --format json`. It is written piece by piece: as one
/// value a run of many steps would take more memory than to run it.
impl Serialize for RunResultView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let summary = &self.detail.summary;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("run_id", &summary.id.to_string())?;
        map.serialize_entry("flow", &summary.name)?;
        map.serialize_entry("state", self.state())?;
        map.serialize_entry("accepted_at", &summary.accepted_at.to_string())?;
        map.serialize_entry("started_at", &self.started_at())?;
        map.serialize_entry("ended_at", &summary.ended_at.map(|at| at.to_string()))?;
        map.serialize_entry("steps", &Steps(self))?;
        map.serialize_entry("outputs", &self.outputs())?;
        map.end()
    }
}

struct Steps<'a>(&'a RunResultView);

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let steps = self.0.listed();
        serializer.collect_map(steps.iter().map(|step| (&step.task.name, self.0.step(step))))
    }
}

/// Outputs by step.
pub(crate) struct Outputs<'a>(&'a RunResultView);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tasks = listed(&self.0.detail.tasks);
        tasks.retain(|it| it.state == TaskState::Succeeded && !it.name.ends_with("[]"));
        let outputs = tasks.into_iter().map(|task| (&task.name, self.0.outputs_of(task.index)));
        serializer.collect_map(outputs)
    }
}

fn is_failure(state: TaskState) -> bool {
    matches!(state, TaskState::Failed | TaskState::Unknown)
}

fn values(records: &[OutputRecord]) -> Map<String, Json> {
    let value = |record: &OutputRecord| match &record.value {
        OutputValue::Bytes(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        OutputValue::File { path, .. } => json!({ "file": path }),
    };
    records.iter().map(|record| (record.name.clone(), value(record))).collect()
}
