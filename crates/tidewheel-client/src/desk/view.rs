//! [`RunView`]: what a run came to, or has come to so far, with what is known of its tasks.
//!
//! The document that is made of it is [`crate::api::RunResult`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value as Json, json};
use tidewheel::TaskState;
use tidewheel::store::sqlite::RunPlace;
use tidewheel::store::{
    OutputRecord, OutputValue, RecordedOutcome, RunDetail, TaskResult, TaskSummary,
};
use tidewheel::task::Reason;
use tidewheel_flow::listed;

use super::states::{group_words, reason_of, run_state, step_state, timeout_words};
use crate::api::{RunResult, RunState, StepResult};
use crate::kind::Definition;

/// A run with everything that is known of its tasks.
#[derive(Debug)]
pub struct RunView {
    /// The run and its tasks.
    pub detail: RunDetail,
    /// What is kept of attempts, by task.
    pub results: BTreeMap<u32, TaskResult>,
    /// What was asked for.
    pub definition: Arc<dyn Definition>,
    /// Whether it has not ended and nobody runs it.
    pub is_abandoned: bool,
    /// How it stands in its concurrency group, while it has not ended.
    pub place: Option<RunPlace>,
    /// Who has units of shared limits outside the run, by limit, while it has not ended.
    pub shared: BTreeMap<String, Vec<String>>,
}

/// A task of a run, with what only the whole run and its flow can say of it.
#[derive(Debug)]
pub struct StepView<'a> {
    /// The task.
    pub task: &'a TaskSummary,
    /// How often it was tried. The looks of one that waits are one attempt.
    pub attempts: u32,
    /// Whether it failed, and the flow says that this does not matter.
    pub is_tolerated: bool,
    /// Which limit it ran into, if it did.
    pub timeout: Option<String>,
}

impl RunView {
    /// How it stands.
    #[must_use]
    pub fn state(&self) -> RunState {
        match run_state(&self.detail.summary, self.is_abandoned) {
            RunState::Running if self.waits_for().is_some() => RunState::Waiting,
            state => state,
        }
    }

    /// For which runs of its concurrency group it waits, in words, if it does.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        let place = self.place.as_ref().filter(|place| !place.is_given && !self.is_abandoned)?;
        Some(group_words(&place.group, &place.holders))
    }

    /// Whether another run of its concurrency group went before it, or took its place.
    #[must_use]
    pub fn has_made_room(&self) -> bool {
        matches!(self.detail.summary.reason, Reason::GroupTaken | Reason::Replaced)
    }

    /// Whether all went well, failures that are tolerated included.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.detail.summary.state == TaskState::Succeeded
    }

    /// Outputs by step, as flowtoy writes them: only of steps that succeeded.
    #[must_use]
    pub fn outputs(&self) -> Outputs<'_> {
        Outputs(self)
    }

    /// What a task left, or what the run was given as left by it.
    #[must_use]
    pub fn outputs_of(&self, index: u32) -> Map<String, Json> {
        let own = self.results.get(&index).map(|result| values(&result.outputs));
        let task = self.detail.tasks.get(index as usize);
        let before = || self.definition.reused(&task?.name);
        own.filter(|own| !own.is_empty()).or_else(before).unwrap_or_default()
    }

    /// The tasks in the order of the flow.
    #[must_use]
    pub fn listed(&self) -> Vec<StepView<'_>> {
        let tolerated = self.definition.tolerated(&self.detail);
        let attempts = |task: &TaskSummary| match task.state {
            // What it did was to see that there is nothing to do.
            TaskState::Skipped => 0,
            _ if task.attempts > 1 && self.definition.is_wait(&task.name) => 1,
            _ => task.attempts,
        };
        let view = |task| StepView {
            task,
            attempts: attempts(task),
            is_tolerated: tolerated.contains(&task.index),
            timeout: self.timeout(task),
        };
        listed(&self.detail.tasks).into_iter().map(view).collect()
    }

    /// The limit that a task ran into, with the last that is known of what it waited for.
    fn timeout(&self, task: &TaskSummary) -> Option<String> {
        let words = timeout_words(task.reason, &*self.definition, &task.name)?;
        let newest = self.results.get(&task.index).and_then(|result| result.newest.as_ref());
        match newest.and_then(|record| record.error.as_ref()) {
            Some(error) if self.definition.waits_for(&task.name).is_some() => {
                Some(format!("{words}: {error}"))
            }
            _ => Some(words),
        }
    }

    /// Why a task is in its state, if that needs saying.
    #[must_use]
    pub fn reason(&self, task: &TaskSummary) -> Option<String> {
        let newest = self.results.get(&task.index).and_then(|result| result.newest.as_ref());
        let outcome = newest.and_then(|record| record.outcome);
        match (task.state, outcome) {
            (TaskState::Succeeded, Some(cached @ RecordedOutcome::Cached)) => {
                Some(cached.word().to_owned())
            }
            _ => reason_of(task, &self.detail.tasks),
        }
    }

    fn started_at(&self) -> Option<String> {
        let started = self.detail.tasks.iter().filter_map(|task| task.started_at).min();
        started.or(self.detail.summary.started_at).map(|at| at.to_string())
    }

    fn step(&self, StepView { task, attempts, is_tolerated, .. }: &StepView<'_>) -> StepResult {
        let result = self.results.get(&task.index);
        let newest = result.and_then(|result| result.newest.as_ref());
        let is_over = task.state.is_terminal();
        let is_well = matches!(task.state, TaskState::Succeeded | TaskState::Skipped);
        let error = task.error.clone().or(newest.and_then(|record| record.error.clone()));
        StepResult {
            state: step_state(task.state),
            reason: self.reason(task),
            tolerated: *is_tolerated,
            attempts: *attempts,
            started_at: task.started_at.map(|at| at.to_string()),
            ended_at: task.at.filter(|_| is_over).map(|at| at.to_string()),
            code: newest.and_then(|record| record.code),
            error: error.filter(|_| !is_well),
            outputs: self.outputs_of(task.index),
        }
    }

    /// The result as a document, whose steps are made when they are written.
    #[must_use]
    pub fn document(&self) -> RunResult<Steps<'_>, Outputs<'_>> {
        let summary = &self.detail.summary;
        RunResult {
            version: None,
            run_id: summary.id.to_string(),
            flow: summary.name.clone(),
            state: self.state(),
            accepted_at: summary.accepted_at.to_string(),
            started_at: self.started_at(),
            ended_at: summary.ended_at.map(|at| at.to_string()),
            steps: Steps(self),
            outputs: self.outputs(),
        }
    }
}

/// Steps by name.
#[derive(Debug, Clone, Copy)]
pub struct Steps<'a>(&'a RunView);

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let steps = self.0.listed();
        serializer.collect_map(steps.iter().map(|step| (&step.task.name, self.0.step(step))))
    }
}

/// Outputs by step.
#[derive(Debug, Clone, Copy)]
pub struct Outputs<'a>(&'a RunView);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tasks = listed(&self.0.detail.tasks);
        tasks.retain(|it| it.state == TaskState::Succeeded && !it.name.ends_with("[]"));
        let outputs = tasks.into_iter().map(|task| (&task.name, self.0.outputs_of(task.index)));
        serializer.collect_map(outputs)
    }
}

fn values(records: &[OutputRecord]) -> Map<String, Json> {
    let value = |record: &OutputRecord| match &record.value {
        OutputValue::Bytes(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        OutputValue::File { path, .. } => json!({ "file": path }),
    };
    records.iter().map(|record| (record.name.clone(), value(record))).collect()
}
