//! What a run came to, as one JSON value and in words. Its fields are only ever added to.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use tidewheel::TaskState;
use tidewheel::flow::FlowOrder;
use tidewheel::store::sqlite::{DataFolder, Reader};
use tidewheel::store::{OutputRecord, OutputValue, RunDetail, TaskResult};

use super::states::{reason_words, run_state, task_state};
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
    let order = FlowOrder::from_payload(detail.payload.as_deref()).ok();
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

    /// The result of `run --format json` and `show --format json`.
    pub fn to_json(&self) -> Json {
        let summary = &self.detail.summary;
        json!({
            "run_id": summary.id.to_string(),
            "flow": summary.name,
            "state": self.state(),
            "accepted_at": summary.accepted_at.to_string(),
            "started_at": self.started_at(),
            "ended_at": summary.ended_at.map(|at| at.to_string()),
            "steps": self.steps(),
            "outputs": self.outputs(),
        })
    }

    /// Outputs by step, as flowtoy writes them: only of steps that succeeded.
    pub fn outputs(&self) -> Json {
        let mut outputs = Map::new();
        for task in &self.detail.tasks {
            if task.state == TaskState::Succeeded && !task.name.ends_with("[]") {
                outputs.insert(task.name.clone(), Json::Object(self.outputs_of(task.index)));
            }
        }
        Json::Object(outputs)
    }

    pub fn outputs_of(&self, index: u32) -> Map<String, Json> {
        let own = self.results.get(&index).map(|result| values(&result.outputs));
        let task = self.detail.tasks.get(index as usize);
        let before = || self.order.as_ref()?.reused.get(&task?.name).cloned();
        own.filter(|own| !own.is_empty()).or_else(before).unwrap_or_default()
    }

    /// How often each task was tried, by index. The looks of one that waits are one attempt.
    pub fn attempts(&self) -> Vec<u32> {
        let tasks = &self.detail.tasks;
        let are_many = tasks.iter().any(|task| task.attempts > 1);
        let flow = self.order.as_ref().filter(|_| are_many).and_then(|order| order.flow().ok());
        let is_wait = |name: &str| flow.as_ref().is_some_and(|flow| flow.is_wait(name));
        let counted = tasks.iter().map(|task| match task.attempts > 1 && is_wait(&task.name) {
            true => 1,
            false => task.attempts,
        });
        counted.collect()
    }

    fn started_at(&self) -> Option<String> {
        let started = self.detail.tasks.iter().filter_map(|task| task.started_at).min();
        started.or(self.detail.summary.started_at).map(|at| at.to_string())
    }

    fn steps(&self) -> Json {
        let mut steps = Map::new();
        for (task, attempts) in self.detail.tasks.iter().zip(self.attempts()) {
            let result = self.results.get(&task.index);
            let newest = result.and_then(|result| result.newest.as_ref());
            let is_over = task.state.is_terminal();
            let reason = match newest.and_then(|record| record.outcome.as_deref()) {
                Some("cached") if task.state == TaskState::Succeeded => Some("cached".to_owned()),
                _ => reason_words(task, &self.detail.tasks),
            };
            let error = task.error.clone().or(newest.and_then(|record| record.error.clone()));
            steps.insert(
                task.name.clone(),
                json!({
                    "state": task_state(task.state),
                    "reason": reason,
                    "attempts": attempts,
                    "started_at": task.started_at.map(|at| at.to_string()),
                    "ended_at": task.at.filter(|_| is_over).map(|at| at.to_string()),
                    "code": newest.and_then(|record| record.code),
                    "error": error.filter(|_| task.state != TaskState::Succeeded),
                    "outputs": self.outputs_of(task.index),
                }),
            );
        }
        Json::Object(steps)
    }
}

fn values(records: &[OutputRecord]) -> Map<String, Json> {
    let value = |record: &OutputRecord| match &record.value {
        OutputValue::Bytes(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        OutputValue::File { path, .. } => json!({ "file": path }),
    };
    records.iter().map(|record| (record.name.clone(), value(record))).collect()
}
