//! [`LocalDesk`]: a data folder of this machine, and who understands what is in it.
//!
//! Each question and each wish is in a file of its own. Surfaces ask a [`Desk`](super::Desk), which may be
//! elsewhere.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidewheel::id::{ScheduleId, TaskId};
use tidewheel::store::sqlite::{DataFolder, FolderError, Reader, RunPlace};
use tidewheel::store::{AttemptRecord, RunDetail, RunFilter, RunKind, RunSummary};
use tidewheel::{RunId, TaskState, Timestamp};

use super::error::DeskError;
use super::find::task_of;
use super::states::run_state;
use super::surface::Surface;
use super::view::RunView;
use crate::api::{
    AttemptLine, AttemptList, ListWish, RunLine, RunList, RunResult, RunState, StateWish,
};
use crate::kind::{Kind, Kinds};
use crate::log::Shelf;

/// The desk of a data folder on this machine, and what only whoever has the folder can do: prepare runs
/// that are started or taken over here.
///
/// Its methods read and write files and wait for them, so they are not for threads of a runtime:
/// [`Desk::here`](super::Desk::here) calls them elsewhere.
#[derive(Debug)]
pub struct LocalDesk {
    pub(super) folder: DataFolder,
    /// Those that nobody reads with now: who asks takes one, or opens one more.
    readers: Mutex<Vec<Reader>>,
    pub(super) kinds: Kinds,
    /// What is known of logs that somebody reads.
    pub(super) shelf: Shelf,
    /// Of which flow schedules are, by what is kept with them: to read a flow takes its time.
    pub(super) flows: FlowNames,
}

/// The names of flows, each with the payload that it was read from.
type FlowNames = Mutex<HashMap<ScheduleId, (Arc<[u8]>, Option<String>)>>;

/// Readers that are kept for later: each has the database open.
const READERS_MAX: usize = 4;

/// So many runs are looked at at once where few of them may be meant.
const PAGE: u32 = 100;

/// So many are looked at for one answer: where none is meant, it says where to go on.
const LOOKS_MAX: usize = if cfg!(test) { 3 } else { 1_000 };

/// Whether they have not ended, and in which states.
fn filter(wish: StateWish) -> (Option<bool>, Vec<TaskState>) {
    match wish {
        StateWish::Running => (Some(true), Vec::new()),
        StateWish::Succeeded => (Some(false), vec![TaskState::Succeeded]),
        StateWish::Failed => (Some(false), vec![TaskState::Failed, TaskState::Unknown]),
        StateWish::Cancelled => (Some(false), vec![TaskState::Cancelled, TaskState::Skipped]),
    }
}

/// How a place in the order of acceptance is written. Nobody else is to read anything from it.
fn cursor_of(place: i64) -> String {
    format!("{place:x}")
}

fn place_of_cursor(cursor: &str) -> Result<i64, DeskError> {
    let place = i64::from_str_radix(cursor, 16).ok().filter(|place| cursor_of(*place) == cursor);
    place.ok_or_else(|| DeskError::Cursor { cursor: cursor.to_owned() })
}

impl LocalDesk {
    /// A desk for a data folder, at which flows are understood.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn open(folder: DataFolder) -> Result<Self, DeskError> {
        let reader = folder.reader().map_err(|error| DeskError::folder(error, folder.path()))?;
        let (readers, kinds) = (Mutex::new(vec![reader]), Kinds::default());
        let (shelf, flows) = (Shelf::default(), Mutex::default());
        Ok(Self { folder, readers, kinds, shelf, flows })
    }

    /// Understands these kinds of work, and no others.
    #[must_use]
    pub fn of_kinds(mut self, kinds: Kinds) -> Self {
        self.kinds = kinds;
        self
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
    pub fn list(&self, wish: &ListWish) -> Result<RunList, DeskError> {
        let (live, states) = wish.state.map(filter).unwrap_or_default();
        let mut filter = RunFilter {
            name: wish.name.clone(),
            kind: Some(RunKind::Run),
            live,
            states,
            limit: wish.tag.as_ref().map_or(wish.limit, |_| wish.limit.max(PAGE)),
            before: wish.cursor.as_deref().map(place_of_cursor).transpose()?,
            ..RunFilter::default()
        };
        let is_meant = |line: &RunLine| wish.tag.as_ref().is_none_or(|tag| line.tags.contains(tag));
        let limit = wish.limit as usize;
        let mut list = RunList::default();
        let mut looks = 0;
        // Which tags a run has is known only from what it was started with: page by page, it is looked there.
        loop {
            let page = self.read(|reader| reader.runs(&filter))?;
            for run in &page {
                if list.runs.len() >= limit || (looks >= LOOKS_MAX && wish.tag.is_some()) {
                    break;
                }
                looks += 1;
                filter.before = Some(run.place);
                let line = self.line(run);
                if is_meant(&line) {
                    list.runs.push(line);
                }
            }
            let is_last = page.len() < filter.limit as usize;
            let has_rest = page.last().is_some_and(|last| Some(last.place) != filter.before);
            if list.runs.len() >= limit || is_last || looks >= LOOKS_MAX {
                list.next = filter.before.filter(|_| !is_last || has_rest).map(cursor_of);
                return Ok(list);
            }
        }
    }

    /// A run in one line, if it is known.
    pub(crate) fn run_line(&self, word: &str) -> Result<Option<RunLine>, DeskError> {
        match self.find(word) {
            Ok(detail) => Ok(Some(self.line(&detail.summary))),
            Err(DeskError::NoRun { .. } | DeskError::RunGone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A run in one line.
    pub(super) fn line(&self, run: &RunSummary) -> RunLine {
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
            accepted_at: run.accepted_at,
            started_at: run.started_at.or_else(|| self.first_start(run)),
            ended_at: run.ended_at,
            steps: run.tasks,
            failed: run.failed,
            error: run.error.clone(),
            tags: self.tags_of(run),
        }
    }

    fn tags_of(&self, run: &RunSummary) -> Vec<String> {
        let payload = self.read(|reader| reader.payload(run)).unwrap_or_default();
        let tags = payload.map(|(payload, kind)| self.kinds.tags_of(kind.as_deref(), &payload));
        tags.unwrap_or_default()
    }

    /// What a run came to, or has come to so far, whatever its kind.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub fn show(&self, word: &str) -> Result<RunView, DeskError> {
        self.view(self.find(word)?)
    }

    /// The same as a document.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub fn result(&self, word: &str) -> Result<RunResult, DeskError> {
        self.result_for(word, Surface::Command)
    }

    /// The same in the words of a surface.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub fn result_for(&self, word: &str, at: Surface) -> Result<RunResult, DeskError> {
        self.document(&self.show(word)?, at)
    }

    /// What a run came to, with the files it left.
    pub(super) fn document(&self, view: &RunView, at: Surface) -> Result<RunResult, DeskError> {
        let mut result = view.document(&self.folder.logs_dir(), at);
        let left = self.left_in(view.detail.summary.id)?;
        result.artifacts = left.iter().flat_map(super::artifacts::lines).collect();
        Ok(result)
    }

    /// The same of a run by its identity; `None` when it is gone.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn show_run(&self, run: RunId) -> Result<Option<RunView>, DeskError> {
        let detail = self.read(|reader| reader.run(run))?;
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
        let records = self.read(|reader| reader.attempts(id))?;
        let line = |record: AttemptRecord| AttemptLine {
            attempt: record.attempt,
            outcome: record.outcome.map(|outcome| outcome.word().to_owned()),
            started_at: record.started_at,
            ended_at: record.ended_at,
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
        let results = self.read(|reader| reader.results(detail.summary.id))?;
        let is_abandoned = self.is_abandoned(&detail.summary)?;
        let definition = self.kinds.definition_of(&detail);
        let place = self.place_of(&detail.summary)?;
        Ok(RunView { detail, results, definition, is_abandoned, place })
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

    /// When the first attempt of a run that has not ended started: its own row does not say.
    fn first_start(&self, run: &RunSummary) -> Option<Timestamp> {
        let detail = match run.is_live {
            true => self.read(|reader| reader.run(run.id)).ok()??,
            false => return None,
        };
        detail.tasks.iter().filter_map(|task| task.started_at).min()
    }

    /// Asks a reader that nobody else asks meanwhile.
    pub(super) fn read<T>(
        &self,
        ask: impl FnOnce(&Reader) -> Result<T, FolderError>,
    ) -> Result<T, DeskError> {
        let idle = self.idle().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => self.folder.reader().map_err(|error| self.failed(error))?,
        };
        let answer = ask(&reader).map_err(|error| self.failed(error));
        let mut idle = self.idle();
        if idle.len() < READERS_MAX {
            idle.push(reader);
        }
        answer
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn failed(&self, error: FolderError) -> DeskError {
        DeskError::folder(error, self.folder.path())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel::store::sqlite::Options;
    use tidewheel::{Graph, Shutdown, Tidewheel};

    use super::*;

    #[tokio::test]
    async fn a_list_by_tag_looks_at_so_many_and_says_where_to_go_on() {
        let path = std::env::temp_dir().join(format!("tidewheel-tags-{}", std::process::id()));
        let folder = DataFolder::open(&path, Options::default()).unwrap();
        let wheel =
            Tidewheel::builder().store(folder.shard("default").unwrap()).try_start().unwrap();
        for _ in 0..7 {
            let graph = Graph::from_edges([("one", "two")]).unwrap();
            let run = wheel.run(graph, |_| async {}).start().unwrap();
            run.report().await.unwrap();
        }
        wheel.shutdown(Shutdown::drain()).await;
        let desk = LocalDesk::open(folder).unwrap();
        let mut wish = ListWish { tag: Some("nothing".to_owned()), ..ListWish::default() };
        for _ in 0..2 {
            let list = desk.list(&wish).unwrap();
            assert_eq!(list.runs, []);
            wish.cursor = Some(list.next.unwrap());
        }
        assert_eq!(desk.list(&wish).unwrap().next, None, "the seventh was the last");
        let all = desk.list(&ListWish::default()).unwrap();
        assert_eq!((all.runs.len(), all.next), (7, None), "without a tag all are meant");
        let _ = std::fs::remove_dir_all(path);
    }
}
