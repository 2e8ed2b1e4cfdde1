//! Which logs a run has, and what is known of attempts that wrote none.
//!
//! The files themselves are read in [`super::tail`].

use std::collections::BTreeSet;

use tidewheel::id::TaskId;
use tidewheel::store::{AttemptRecord, RunDetail, TaskSummary, log_file};
use tidewheel::{RunId, TaskState};
use tidewheel_flow::listed;

use super::error::DeskError;
use super::find::{run_id_of, task_of};
use super::local::LocalDesk;
use super::states::{reason_words, step_state, timeout_words};
use super::tail::{LogTail, log_path};
use super::view::RunView;
use crate::api::{LogFile, LogList, LogStream, LogTurn, LogWanted, LogWish, RequestEnd, StepLogs};
use crate::kind::Definition;
use crate::text::harmless;

/// What steps of a run wrote, as far as it was asked for.
#[derive(Debug)]
struct Logs<'a> {
    desk: &'a LocalDesk,
    run: RunId,
    definition: std::sync::Arc<dyn Definition>,
    wanted: Option<BTreeSet<u32>>,
    attempt: Option<u32>,
}

impl LocalDesk {
    /// What is kept of the output of a run's steps, as it is now.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt.
    pub fn logs(&self, word: &str, wish: &LogWish) -> Result<LogList, DeskError> {
        let view = self.show(word)?;
        let wanted = wish.step.as_ref().map(|step| task_of(&view.detail, step)).transpose()?;
        if let (Some(task), Some(attempt)) = (wanted, wish.attempt)
            && (!wish.follow || task.state.is_terminal())
        {
            check_attempt(task, attempt)?;
        }
        let wanted = wanted.map(|task| BTreeSet::from([task.index]));
        Ok(self.logs_of(&view, wanted, wish.attempt))
    }

    /// The same of a run that was read before, of these of its tasks.
    pub(super) fn logs_of(
        &self,
        view: &RunView,
        wanted: Option<BTreeSet<u32>>,
        attempt: Option<u32>,
    ) -> LogList {
        let run = view.detail.summary.id;
        let definition = std::sync::Arc::clone(&view.definition);
        Logs { desk: self, run, definition, wanted, attempt }.list(view)
    }

    /// Some of what an attempt wrote to a stream; nothing at the end of what there is.
    ///
    /// # Errors
    ///
    /// When there can be no such run.
    pub fn log(&self, wanted: &LogWanted) -> Result<Vec<u8>, DeskError> {
        let run = run_id_of(&wanted.run_id).ok_or_else(|| self.no_run(&wanted.run_id))?;
        self.check_within(run, &wanted.run_id)?;
        let id = TaskId { run, index: wanted.task };
        let path = log_path(&self.folder.logs_dir(), id, wanted.attempt, wanted.stream);
        Ok(LogTail::from(path, wanted.from).bytes())
    }
}

/// A line of the file with the order of streams; the last may not be whole yet.
fn turn(line: &str) -> Option<LogTurn> {
    let (letter, bytes) = line.split_once(' ')?;
    let stream = match letter {
        "o" => LogStream::Stdout,
        "e" => LogStream::Stderr,
        _ => return None,
    };
    Some(LogTurn { stream, bytes: bytes.parse().ok()? })
}

/// The attempt in whose log is what this attempt at a task writes.
pub(super) fn log_attempt(definition: &dyn Definition, task: &str, attempt: u32) -> u32 {
    if definition.has_one_log(task) { attempt.min(1) } else { attempt }
}

pub(super) fn check_attempt(task: &TaskSummary, attempt: u32) -> Result<(), DeskError> {
    if (1..=task.attempts).contains(&attempt) {
        return Ok(());
    }
    let step = harmless(&task.name);
    Err(DeskError::NoAttempt { step, attempt, newest: task.attempts })
}

impl Logs<'_> {
    /// The tasks that were asked for, in the order of the flow.
    fn tasks<'b>(&self, detail: &'b RunDetail) -> Vec<&'b TaskSummary> {
        let mut tasks = listed(&detail.tasks);
        tasks.retain(|task| self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&task.index)));
        tasks
    }

    /// The attempt that was asked for, else the newest; 0 if there is none yet.
    fn attempt_of(&self, task: &TaskSummary) -> u32 {
        self.attempt.unwrap_or(task.attempts)
    }

    /// The one in whose log is what that one wrote.
    fn log_attempt_of(&self, task: &TaskSummary) -> u32 {
        log_attempt(&*self.definition, &task.name, self.attempt_of(task))
    }

    fn path(&self, task: &TaskSummary, attempt: u32, stream: LogStream) -> std::path::PathBuf {
        let id = TaskId { run: self.run, index: task.index };
        log_path(&self.desk.folder.logs_dir(), id, attempt, stream)
    }

    /// In which order the attempt wrote to its streams.
    fn turns(&self, task: &TaskSummary) -> Vec<LogTurn> {
        let id = TaskId { run: self.run, index: task.index };
        let path = log_file(id, self.log_attempt_of(task), "seq");
        let text = std::fs::read_to_string(self.desk.folder.logs_dir().join(path));
        text.unwrap_or_default().lines().map_while(turn).collect()
    }

    /// Whether a task is a request, of which there is no file.
    fn is_request(&self, task: &TaskSummary) -> bool {
        self.definition.work_of(&task.name) == Some("http")
    }

    fn list(&self, RunView { detail, results, is_abandoned, .. }: &RunView) -> LogList {
        let over = !detail.summary.is_live || *is_abandoned;
        let (mut logs, mut requests, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for task in self.tasks(detail) {
            logs.extend(self.files(task));
            let newest = results.get(&task.index).and_then(|result| result.newest.as_ref());
            let record = self.record(task, newest);
            steps.push(StepLogs {
                step: task.name.clone(),
                task: task.index,
                state: step_state(task.state),
                attempt: self.log_attempt_of(task),
                turns: self.turns(task),
                silent: self.why_silent(task, record.as_ref()).map(str::to_owned),
                warnings: record.as_ref().map(|it| it.warnings.clone()).unwrap_or_default(),
            });
            if self.is_request(task)
                && let Some(record) = record
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
        LogList { version: None, run_id: self.run.to_string(), logs, requests, steps, over }
    }

    /// The files that there are of a task.
    fn files(&self, task: &TaskSummary) -> Vec<LogFile> {
        let newest = log_attempt(&*self.definition, &task.name, task.attempts);
        let only = self.attempt.map(|it| log_attempt(&*self.definition, &task.name, it));
        let attempts = (1..=newest).filter(|it| only.is_none_or(|only| only == *it));
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
    fn record(&self, task: &TaskSummary, newest: Option<&AttemptRecord>) -> Option<AttemptRecord> {
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
    fn why_silent(
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
            (TaskState::Skipped, _) if record.is_none_or(|it| it.code.is_none()) => {
                Some("the step was skipped, so it wrote nothing")
            }
            _ if task.attempts == 0 => Some("the step has not started"),
            (_, Some("http")) => {
                let has_failed = record.is_some_and(|record| record.error.is_some());
                (!has_failed).then_some("what a request brings is not kept in a log")
            }
            (_, None | Some("process")) => None,
            _ if self.definition.has_one_log(&task.name) => None,
            _ => Some("a step of this kind writes no log"),
        }
    }
}
