//! [`RunView`]: what a run came to, or has come to so far, with what is known of its tasks.
//!
//! The document that is made of it is [`crate::api::RunResult`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tidewheel::id::TaskId;
use tidewheel::store::sqlite::RunPlace;
use tidewheel::store::{
    OutputRecord, OutputValue, RecordedOutcome, RunDetail, TaskResult, TaskSummary,
};
use tidewheel::task::Reason;
use tidewheel::{TaskState, Timestamp};
use tidewheel_flow::{is_spare, listed};

use super::states::{
    done_before, ended_by_itself, group_words, reason_of, reason_words, run_state, skip_words,
    step_state, timeout_words,
};
use super::surface::Surface;
use super::tail::log_path;
use crate::api::{
    LogStream, Named, OriginWord, RunOrigin, RunResult, RunState, StepResult, StepState,
};
use crate::kind::Definition;
use crate::text::{quoted, short_id};

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

    /// Whether all went well, failures that are tolerated included.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.detail.summary.state == TaskState::Succeeded
    }

    /// What a task left, or what the run was given as left by it.
    #[must_use]
    pub fn outputs_of(&self, index: u32) -> Map<String, Json> {
        let own = self.results.get(&index).map(|result| values(&result.outputs));
        let task = self.detail.tasks.get(index as usize);
        let before = || self.definition.reused(&task?.name);
        own.filter(|own| !own.is_empty()).or_else(before).unwrap_or_default()
    }

    /// The tasks in the order of the flow, without those of tries that were not needed.
    #[must_use]
    pub fn listed(&self) -> Vec<StepView<'_>> {
        let tolerated = self.definition.tolerated(&self.detail);
        let tasks = listed(&self.detail.tasks).into_iter().filter(|task| !is_spare(task));
        tasks.map(|task| self.step_view(task, &tolerated)).collect()
    }

    /// All of them, by index.
    pub(super) fn all(&self) -> Vec<StepView<'_>> {
        let tolerated = self.definition.tolerated(&self.detail);
        self.detail.tasks.iter().map(|task| self.step_view(task, &tolerated)).collect()
    }

    /// One of them.
    pub(super) fn one<'a>(&'a self, task: &'a TaskSummary) -> StepView<'a> {
        self.step_view(task, &self.definition.tolerated(&self.detail))
    }

    fn step_view<'a>(&'a self, task: &'a TaskSummary, tolerated: &BTreeSet<u32>) -> StepView<'a> {
        let attempts = match task.state {
            // What it did was to see that there is nothing to do.
            TaskState::Skipped if self.skip_code(task).is_none() => 0,
            _ if task.attempts > 1 && self.definition.is_wait(&task.name) => 1,
            _ => task.attempts,
        };
        let is_tolerated = tolerated.contains(&task.index);
        StepView { task, attempts, is_tolerated, timeout: self.timeout(task) }
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
            _ if task.reason == Reason::AlreadyDone => {
                Some(done_before(&*self.definition, &task.name))
            }
            _ => match self.skip_code(task) {
                Some(code) => Some(skip_words(code)),
                None => reason_of(task, &self.detail.tasks),
            },
        }
    }

    /// The exit code by which a task said that there is nothing to do, if it did.
    pub(super) fn skip_code(&self, task: &TaskSummary) -> Option<i32> {
        let newest = self.results.get(&task.index).and_then(|result| result.newest.as_ref());
        newest.filter(|_| task.reason == Reason::Condition)?.code
    }

    /// The result as a document, in the words of a surface. `logs` is the folder of what steps wrote.
    #[must_use]
    pub fn document(&self, logs: &Path, at: Surface) -> RunResult {
        self.document_of(&self.listed(), self.elements(), logs, at)
    }

    /// The same, of what was found out before.
    pub(super) fn document_of(
        &self,
        listed: &[StepView<'_>],
        mut elements: HashMap<String, Json>,
        logs: &Path,
        at: Surface,
    ) -> RunResult {
        let summary = &self.detail.summary;
        let step = |it: &StepView<'_>| {
            let element = elements.remove(&it.task.name);
            (it.task.name.clone(), StepResult { element, ..self.step(it) })
        };
        let steps: Vec<(String, StepResult)> = listed.iter().map(step).collect();
        // As flowtoy writes them: only of steps that succeeded.
        let has_left = |(name, step): &&(String, StepResult)| {
            step.state == StepState::Succeeded && !name.ends_with("[]")
        };
        let outputs = steps.iter().filter(has_left);
        let outputs = outputs.map(|(name, step)| (name.clone(), step.outputs.clone())).collect();
        RunResult {
            version: None,
            run_id: summary.id.to_string(),
            flow: summary.name.clone(),
            state: self.state(),
            accepted_at: summary.accepted_at,
            started_at: summary.started_at,
            ended_at: summary.ended_at,
            reason: self.run_reason(),
            tags: self.definition.tags(),
            params: self.definition.params(),
            origin: Some(self.origin()),
            made_room: matches!(summary.reason, Reason::GroupTaken | Reason::Replaced),
            hints: self.hints(listed, logs, at),
            steps: Named(steps),
            outputs: Named(outputs),
            artifacts: Vec::new(),
        }
    }

    /// What made it, as far as its own row and what it was started with say that.
    fn origin(&self) -> RunOrigin {
        match (self.definition.makes_again(), self.detail.summary.firing) {
            (Some(run), _) => RunOrigin { run_id: Some(run), ..RunOrigin::by(OriginWord::Retry) },
            (None, Some((_, nominal))) => {
                RunOrigin { nominal: Some(nominal), ..RunOrigin::by(OriginWord::Schedule) }
            }
            (None, None) => RunOrigin::by(OriginWord::ByHand),
        }
    }

    /// The values of elements, by task.
    pub(super) fn elements(&self) -> HashMap<String, Json> {
        self.definition.elements(&self.detail, &|index| self.outputs_of(index))
    }

    /// Why the run as a whole is in its state, if that needs saying.
    fn run_reason(&self) -> Option<String> {
        let summary = &self.detail.summary;
        match summary.reason {
            _ if summary.is_live => self.waits_for(),
            Reason::GroupTaken | Reason::Replaced | Reason::RunTimeout => {
                reason_words(summary.reason, |_| String::new())
            }
            _ => None,
        }
    }

    /// When the newest attempt at a task began, and when it ended if the task has. What the executor saw happened
    /// then; the row says when it was decided, which a store in trouble puts off.
    pub(super) fn times_of(&self, task: &TaskSummary) -> (Option<Timestamp>, Option<Timestamp>) {
        let newest = self.results.get(&task.index).and_then(|result| result.newest.as_ref());
        let newest = newest.filter(|record| record.attempt == task.attempts);
        let started = newest.and_then(|record| record.started_at).or(task.started_at);
        let ended = newest.and_then(|record| ended_by_itself(task.state, record)).or(task.at);
        (started, ended.filter(|_| task.state.is_terminal()))
    }

    /// What a task came to, without the value that it is for.
    pub(super) fn step(
        &self,
        StepView { task, attempts, is_tolerated, timeout }: &StepView<'_>,
    ) -> StepResult {
        let result = self.results.get(&task.index);
        let newest = result.and_then(|result| result.newest.as_ref());
        let is_well = matches!(task.state, TaskState::Succeeded | TaskState::Skipped);
        let error = task.error.clone().or(newest.and_then(|record| record.error.clone()));
        let (started_at, ended_at) = self.times_of(task);
        StepResult {
            state: step_state(task.state),
            reason: self.reason(task),
            tolerated: *is_tolerated,
            attempts: *attempts,
            element: None,
            tags: self.definition.tags_of(&task.name),
            started_at,
            ended_at,
            code: newest.and_then(|record| record.code),
            error: error.filter(|_| !is_well),
            timeout: timeout.clone(),
            warnings: newest.map(|record| record.warnings.clone()).unwrap_or_default(),
            outputs: self.outputs_of(task.index).into(),
        }
    }

    /// What can be done about a run that did not go well.
    fn hints(&self, steps: &[StepView<'_>], logs: &Path, at: Surface) -> Vec<String> {
        let short = short_id(self.detail.summary.id);
        match self.state() {
            RunState::Interrupted => {
                return vec![format!("{}  goes on with it", at.of_run("resume", &short))];
            }
            RunState::Running | RunState::Waiting | RunState::Paused | RunState::Succeeded => {
                return Vec::new();
            }
            _ => {}
        }
        // Rather one that the flow did not expect to fail, and rather the work than who gathers it.
        let failed = steps.iter().filter(|step| step.task.state == TaskState::Failed);
        let worst = failed.min_by_key(|StepView { task, is_tolerated, .. }| {
            (*is_tolerated, task.attempts == 0, task.at)
        });
        let worst = worst.filter(|step| self.has_log(step.task, logs));
        let log = worst.map(|it| match at {
            Surface::Command => format!("tidewheel logs {short} {}", quoted(&it.task.name)),
            Surface::Http => format!("GET /api/v1/runs/{short}/logs?step={}", it.task.name),
        });
        let unknown = self.detail.tasks.iter().find(|task| task.state == TaskState::Unknown);
        let next = match unknown {
            Some(task) => {
                format!("see whether {} took effect; nobody else can say", quoted(&task.name))
            }
            None => format!("{}  runs what is left", at.of_run("retry", &short)),
        };
        log.into_iter().chain([next]).collect()
    }

    /// Whether something is kept of what the last attempt at a task wrote, or was answered.
    fn has_log(&self, task: &TaskSummary, logs: &Path) -> bool {
        let id = TaskId { run: self.detail.summary.id, index: task.index };
        let mut paths = LogStream::ALL.iter().map(|it| log_path(logs, id, task.attempts, *it));
        let newest = self.results.get(&task.index).and_then(|result| result.newest.as_ref());
        newest.is_some_and(|record| record.tail.is_some()) || paths.any(|path| path.exists())
    }
}

fn values(records: &[OutputRecord]) -> Map<String, Json> {
    let value = |record: &OutputRecord| match &record.value {
        OutputValue::Bytes(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        OutputValue::File { path, .. } => json!({ "file": path }),
    };
    records.iter().map(|record| (record.name.clone(), value(record))).collect()
}
