//! [`Desk`]: a data folder, and who understands what is in it.
//!
//! Each question and each wish is in a file of its own.

use std::collections::BTreeMap;

use tidewheel::id::TaskId;
use tidewheel::store::sqlite::{DataFolder, FolderError, Reader, RunPlace};
use tidewheel::store::{AttemptRecord, RunDetail, RunFilter, RunKind, RunSummary};
use tidewheel::{RunId, TaskState};

use super::error::DeskError;
use super::find::task_of;
use super::states::run_state;
use super::view::RunView;
use crate::api::{AttemptLine, AttemptList, RunLine, RunList, RunState};
use crate::kind::{Kind, Kinds};
use crate::text::short_id;

/// Where questions about the runs of a data folder are asked, and wishes said.
///
/// Its methods read and write files and may wait for them: where a runtime must not be held up, they are
/// called on a thread for that.
#[derive(Debug)]
pub struct Desk {
    pub(super) folder: DataFolder,
    pub(super) reader: Reader,
    pub(super) kinds: Kinds,
}

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListWish {
    /// Only of this name.
    pub name: Option<String>,
    /// Only in this state.
    pub state: Option<StateWish>,
    /// At most so many.
    pub limit: u32,
}

impl Default for ListWish {
    fn default() -> Self {
        Self { name: None, state: None, limit: 20 }
    }
}

/// The states of runs that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateWish {
    /// Those that have not ended, whoever runs them.
    Running,
    /// Those that went well.
    Succeeded,
    /// Those that did not, and those of which nobody can say.
    Failed,
    /// Those that were ended, or were not to be done.
    Cancelled,
}

impl StateWish {
    fn filter(self) -> (Option<bool>, Vec<TaskState>) {
        match self {
            Self::Running => (Some(true), Vec::new()),
            Self::Succeeded => (Some(false), vec![TaskState::Succeeded]),
            Self::Failed => (Some(false), vec![TaskState::Failed, TaskState::Unknown]),
            Self::Cancelled => (Some(false), vec![TaskState::Cancelled, TaskState::Skipped]),
        }
    }
}

impl Desk {
    /// A desk for a data folder, at which flows are understood.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn open(folder: DataFolder) -> Result<Self, DeskError> {
        let reader = folder.reader().map_err(|error| DeskError::folder(error, folder.path()))?;
        Ok(Self { folder, reader, kinds: Kinds::default() })
    }

    /// Makes one more kind of work known.
    #[must_use]
    pub fn knowing(mut self, kind: impl Kind + 'static) -> Self {
        self.kinds = self.kinds.with(kind);
        self
    }

    /// The data folder.
    #[must_use]
    pub fn folder(&self) -> &DataFolder {
        &self.folder
    }

    /// Which runs there are, newest first.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn list(&self, wish: &ListWish) -> Result<Vec<RunSummary>, DeskError> {
        let (live, states) = wish.state.map(StateWish::filter).unwrap_or_default();
        let filter = RunFilter {
            name: wish.name.clone(),
            kind: Some(RunKind::Run),
            live,
            states,
            limit: wish.limit,
            ..RunFilter::default()
        };
        self.reader.runs(&filter).map_err(|error| self.failed(error))
    }

    /// The same as a document.
    #[must_use]
    pub fn listed(&self, runs: &[RunSummary]) -> RunList {
        RunList { version: None, runs: runs.iter().map(|run| self.line(run)).collect() }
    }

    /// A run in one line.
    #[must_use]
    pub fn line(&self, run: &RunSummary) -> RunLine {
        // Whoever lists many does not want to miss all because of one.
        let is_abandoned = self.is_abandoned(run).unwrap_or_default();
        let place = self.place_of(run).unwrap_or_default();
        let state = match run_state(run, is_abandoned) {
            RunState::Running if place.is_some_and(|place| !place.is_given) => RunState::Waiting,
            state => state,
        };
        RunLine {
            run_id: run.id.to_string(),
            flow: run.name.clone(),
            state,
            accepted_at: run.accepted_at.to_string(),
            started_at: run.started_at.map(|at| at.to_string()),
            ended_at: run.ended_at.map(|at| at.to_string()),
            steps: run.tasks,
            failed: run.failed,
            error: run.error.clone(),
        }
    }

    /// What a run came to, or has come to so far, whatever its kind.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub fn show(&self, word: &str) -> Result<RunView, DeskError> {
        self.view(self.find(word)?)
    }

    /// The same of a run by its identity; `None` when it is gone.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn show_run(&self, run: RunId) -> Result<Option<RunView>, DeskError> {
        let detail = self.reader.run(run).map_err(|error| self.failed(error))?;
        detail.map(|detail| self.view(detail)).transpose()
    }

    /// The attempts at a step of a run.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub fn attempts(&self, word: &str, step: &str) -> Result<AttemptList, DeskError> {
        let detail = self.find(word)?;
        let task = task_of(&detail, step)?;
        let id = TaskId { run: detail.summary.id, index: task.index };
        let records = self.reader.attempts(id).map_err(|error| self.failed(error))?;
        let line = |record: AttemptRecord| AttemptLine {
            attempt: record.attempt,
            outcome: record.outcome.map(|outcome| outcome.word().to_owned()),
            started_at: record.started_at.map(|at| at.to_string()),
            ended_at: record.ended_at.map(|at| at.to_string()),
            code: record.code,
            signal: record.signal,
            error: record.error,
        };
        Ok(AttemptList {
            version: None,
            run_id: id.run.to_string(),
            step: task.name.clone(),
            attempts: records.into_iter().map(line).collect(),
        })
    }

    pub(super) fn view(&self, detail: RunDetail) -> Result<RunView, DeskError> {
        let results = self.reader.results(detail.summary.id).map_err(|error| self.failed(error))?;
        let is_abandoned = self.is_abandoned(&detail.summary)?;
        let definition = self.kinds.definition_of(&detail);
        let shared = self.shared_by_others(&detail.summary)?;
        let place = self.place_of(&detail.summary)?;
        Ok(RunView { detail, results, definition, is_abandoned, place, shared })
    }

    /// Who has units of shared limits outside a run that has not ended, by limit.
    fn shared_by_others(
        &self,
        run: &RunSummary,
    ) -> Result<BTreeMap<String, Vec<String>>, DeskError> {
        let Some(own) = &run.shard else { return Ok(BTreeMap::new()) };
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for holder in self.folder.unit_holders().map_err(|error| self.failed(error))? {
            if holder.shard == *own {
                continue;
            }
            let runs: Vec<String> =
                holder.runs.iter().map(|run| format!("run {}", short_id(*run))).collect();
            let pid = holder.pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            found.entry(holder.limit).or_default().push(format!("{}{pid}", runs.join(", ")));
        }
        Ok(found)
    }

    /// How a run that has not ended stands in its concurrency group.
    fn place_of(&self, run: &RunSummary) -> Result<Option<RunPlace>, DeskError> {
        match run.is_live {
            true => self.folder.place_of(run.id).map_err(|error| self.failed(error)),
            false => Ok(None),
        }
    }

    /// Whether a run has not ended and nobody runs it.
    pub(super) fn is_abandoned(&self, run: &RunSummary) -> Result<bool, DeskError> {
        let Some(shard) = &run.shard else { return Ok(false) };
        self.folder.is_left(shard).map_err(|error| self.failed(error))
    }

    pub(super) fn failed(&self, error: FolderError) -> DeskError {
        DeskError::folder(error, self.folder.path())
    }
}
