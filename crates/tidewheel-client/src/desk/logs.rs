//! Which logs a run has, and what is known of attempts that wrote none.
//!
//! The files themselves are read in [`super::tail`].

use std::collections::BTreeMap;

use tidewheel::id::TaskId;
use tidewheel::store::{AttemptRecord, RunDetail, TaskResult, TaskSummary};
use tidewheel::{RunId, TaskState};
use tidewheel_flow::listed;

use super::desk::Desk;
use super::error::DeskError;
use super::find::task_of;
use super::states::{reason_words, step_state, timeout_words};
use super::tail::{LogTail, log_path};
use crate::api::{LogFile, LogList, LogStream, RequestEnd};
use crate::kind::Definition;
use crate::text::harmless;

/// Whose logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogWish {
    /// Only of this step.
    pub step: Option<String>,
    /// Of this attempt instead of the newest.
    pub attempt: Option<u32>,
    /// Whether it is waited for more: also for an attempt that is still to come.
    pub follow: bool,
}

/// What steps of a run wrote, as far as it was asked for.
#[derive(Debug)]
pub struct Logs<'a> {
    desk: &'a Desk,
    run: RunId,
    definition: std::sync::Arc<dyn Definition>,
    wanted: Option<u32>,
    attempt: Option<u32>,
}

impl Desk {
    /// The logs of a run, and the run as it is now.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt.
    pub fn logs(&self, word: &str, wish: &LogWish) -> Result<(Logs<'_>, RunDetail), DeskError> {
        let detail = self.find(word)?;
        let wanted = match &wish.step {
            Some(step) => Some(task_of(&detail, step)?),
            None => None,
        };
        if let (Some(task), Some(attempt)) = (wanted, wish.attempt)
            && (!wish.follow || task.state.is_terminal())
        {
            check_attempt(task, attempt)?;
        }
        let logs = Logs {
            desk: self,
            run: detail.summary.id,
            definition: self.kinds.definition_of(&detail),
            wanted: wanted.map(|task| task.index),
            attempt: wish.attempt,
        };
        Ok((logs, detail))
    }
}

fn check_attempt(task: &TaskSummary, attempt: u32) -> Result<(), DeskError> {
    if (1..=task.attempts).contains(&attempt) {
        return Ok(());
    }
    let step = harmless(&task.name);
    Err(DeskError::NoAttempt { step, attempt, newest: task.attempts })
}

impl Logs<'_> {
    /// Whose run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Whether one step was asked for.
    #[must_use]
    pub fn is_of_one(&self) -> bool {
        self.wanted.is_some()
    }

    /// The tasks that were asked for, in the order of the flow.
    #[must_use]
    pub fn tasks<'b>(&self, detail: &'b RunDetail) -> Vec<&'b TaskSummary> {
        let mut tasks = listed(&detail.tasks);
        tasks.retain(|task| self.wanted.is_none_or(|wanted| wanted == task.index));
        tasks
    }

    /// The attempt that was asked for, else the newest; 0 if there is none yet.
    #[must_use]
    pub fn attempt_of(&self, task: &TaskSummary) -> u32 {
        self.attempt.unwrap_or(task.attempts)
    }

    /// What an attempt writes to a stream, from the beginning.
    #[must_use]
    pub fn tail(&self, task: &TaskSummary, attempt: u32, stream: LogStream) -> LogTail {
        LogTail::new(self.path(task, attempt, stream))
    }

    fn path(&self, task: &TaskSummary, attempt: u32, stream: LogStream) -> std::path::PathBuf {
        let id = TaskId { run: self.run, index: task.index };
        log_path(&self.desk.folder.logs_dir(), id, attempt, stream)
    }

    /// Whether a task is a request, of which there is no file.
    #[must_use]
    pub fn is_request(&self, task: &TaskSummary) -> bool {
        self.definition.work_of(&task.name) == Some("http")
    }

    /// What is kept of attempts beside what they wrote, by task.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn results(&self) -> Result<BTreeMap<u32, TaskResult>, DeskError> {
        self.desk.reader.results(self.run).map_err(|error| self.desk.failed(error))
    }

    /// The run as it is now; `None` when it is gone.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn newer(&self) -> Result<Option<RunDetail>, DeskError> {
        self.desk.reader.run(self.run).map_err(|error| self.desk.failed(error))
    }

    /// Whether nobody writes any more: it has ended, or its process is gone.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn is_over(&self, detail: &RunDetail) -> Result<bool, DeskError> {
        Ok(!detail.summary.is_live || self.desk.is_abandoned(&detail.summary)?)
    }

    /// What there is, as a document.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn list(&self, detail: &RunDetail) -> Result<LogList, DeskError> {
        let results = self.results()?;
        let (mut logs, mut requests) = (Vec::new(), Vec::new());
        for task in self.tasks(detail) {
            logs.extend(self.files(task));
            let newest = results.get(&task.index).and_then(|result| result.newest.as_ref());
            if self.is_request(task)
                && let Some(record) = self.record(task, newest)
            {
                requests.push(RequestEnd {
                    step: task.name.clone(),
                    state: step_state(task.state),
                    attempt: record.attempt,
                    status: record.code,
                    error: record.error,
                    answer: record.tail,
                });
            }
        }
        Ok(LogList { version: None, run_id: self.run.to_string(), logs, requests })
    }

    /// The files that there are of a task.
    fn files(&self, task: &TaskSummary) -> Vec<LogFile> {
        let attempts = (1..=task.attempts).filter(|it| self.attempt.is_none_or(|only| only == *it));
        let streams = attempts.flat_map(|attempt| LogStream::ALL.map(|stream| (attempt, stream)));
        let file = |(attempt, stream)| {
            let path = self.path(task, attempt, stream);
            let bytes = std::fs::metadata(&path).ok()?.len();
            Some(LogFile {
                step: task.name.clone(),
                state: step_state(task.state),
                attempt,
                stream,
                path: path.display().to_string(),
                bytes,
            })
        };
        streams.filter_map(file).collect()
    }

    /// What is known of the attempt that was asked for, else of the newest. What ended it may have left
    /// nothing but that: a limit of time, somebody who cancelled it.
    #[must_use]
    pub fn record(
        &self,
        task: &TaskSummary,
        newest: Option<&AttemptRecord>,
    ) -> Option<AttemptRecord> {
        let attempt = self.attempt_of(task);
        if let Some(record) = newest.filter(|record| record.attempt == attempt) {
            return Some(record.clone());
        }
        let is_last = attempt > 0 && attempt == task.attempts && task.state.is_terminal();
        if !is_last || task.state == TaskState::Succeeded {
            return None;
        }
        let error = timeout_words(task.reason, &*self.definition, &task.name)
            .or_else(|| task.error.clone())
            .or_else(|| reason_words(task.reason, |_| "another step".to_owned()));
        Some(AttemptRecord { attempt, error, ..AttemptRecord::default() })
    }

    /// Why a step has no log; `None` if it has one, or its process wrote nothing.
    #[must_use]
    pub fn why_silent(
        &self,
        task: &TaskSummary,
        record: Option<&AttemptRecord>,
    ) -> Option<&'static str> {
        let was_reused = match record.and_then(|record| record.outcome) {
            Some(outcome) => outcome.is_without_work(),
            None => task.attempts == 0 && task.state == TaskState::Succeeded,
        };
        match (task.state, self.definition.work_of(&task.name)) {
            _ if was_reused => Some("the step was not run, what it had left before was used"),
            (TaskState::Skipped, _) => Some("the step was skipped, so it wrote nothing"),
            _ if task.attempts == 0 => Some("the step has not started"),
            (_, Some("http")) => {
                let has_failed = record.is_some_and(|record| record.error.is_some());
                (!has_failed).then_some("what a request brings is not kept in a log")
            }
            (_, None | Some("process")) => None,
            _ => Some("a step of this kind writes no log"),
        }
    }
}
