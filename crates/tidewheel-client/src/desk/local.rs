//! [`LocalDesk`]: a data folder of this machine, and who understands what is in it.
//!
//! Each question and each wish is in a file of its own. Surfaces ask a [`Desk`](super::Desk), which may be
//! elsewhere.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use tidewheel::explain::Answers;
use tidewheel::id::{ScheduleId, TaskId};
use tidewheel::store::sqlite::{DataFolder, FolderError, Reader, RunPlace};
use tidewheel::store::{AttemptRecord, RunDetail, RunFilter, RunKind, RunSummary, TaskSummary};
use tidewheel::{RunId, TaskState, Tidewheel, Timestamp};

use super::error::DeskError;
use super::find::task_of;
use super::reach::Reach;
use super::readers::Readers;
use super::states::run_state;
use super::surface::Surface;
use super::view::{RunView, StepView};
use crate::api::{
    AttemptLine, AttemptList, ListWish, OriginWord, RunLine, RunList, RunResult, RunState,
    StateWish,
};
use crate::kind::{Definition, Kind, Kinds};
use crate::log::Shelf;

/// The desk of a data folder on this machine, and what only whoever has the folder can do: prepare runs
/// that are started or taken over here.
///
/// Its methods read and write files and wait for them, so they are not for threads of a runtime:
/// [`Desk::here`](super::Desk::here) calls them elsewhere. Clones share what they have open.
#[derive(Debug, Clone)]
pub struct LocalDesk {
    pub(super) folder: DataFolder,
    readers: Arc<Readers>,
    pub(super) kinds: Kinds,
    /// What is known of logs that somebody reads.
    pub(super) shelf: Arc<Shelf>,
    /// Of which flow schedules are, by what is kept with them: to read a flow takes its time.
    pub(super) flows: Arc<FlowNames>,
    /// What runs were started with that were looked at last: it never changes, and to read it takes its time.
    definitions: Arc<Definitions>,
    /// Of which flows whoever asks may know.
    pub(super) reach: Reach,
    /// Who has runs of the folder in this very process: they are not asked through it.
    pub(super) own: Option<Answers>,
}

/// The names of flows, each with the payload that it was read from.
type FlowNames = Mutex<HashMap<ScheduleId, (Arc<[u8]>, Option<String>)>>;

/// What runs were started with, the one that was asked for last behind.
type Definitions = Mutex<VecDeque<(RunId, Arc<dyn Definition>)>>;

/// Of so many runs it is kept what they were started with: somebody who looks at one run, or at what runs now, looks again.
const DEFINITIONS_MAX: usize = 8;

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
        StateWish::Paused | StateWish::Waiting | StateWish::Interrupted => (Some(true), Vec::new()),
        StateWish::Unknown => (Some(false), vec![TaskState::Unknown]),
    }
}

/// How those stand that are meant, where that is not stored as it is said.
fn exactly(wish: Option<StateWish>) -> Option<RunState> {
    match wish? {
        StateWish::Paused => Some(RunState::Paused),
        StateWish::Waiting => Some(RunState::Waiting),
        StateWish::Interrupted => Some(RunState::Interrupted),
        _ => None,
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
        let (readers, kinds) = (Arc::new(Readers::new(reader)), Kinds::default());
        let (shelf, flows, definitions) = (Arc::default(), Arc::default(), Arc::default());
        let (reach, own) = (Reach::all(), None);
        Ok(Self { folder, readers, kinds, shelf, flows, definitions, reach, own })
    }

    /// Asks this wheel about the runs that it has, which is in the same process: nothing is written for that.
    #[must_use]
    pub fn beside(mut self, wheel: &Tidewheel) -> Self {
        self.own = Some(wheel.answers());
        self
    }

    /// Understands these kinds of work, and no others.
    #[must_use]
    pub fn of_kinds(mut self, kinds: Kinds) -> Self {
        self.kinds = kinds;
        self.definitions = Arc::default();
        self
    }

    /// Makes one more kind of work known.
    #[must_use]
    pub fn knowing(mut self, kind: impl Kind + 'static) -> Self {
        self.kinds = self.kinds.with(kind);
        self.definitions = Arc::default();
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
        if let Some(id) = &wish.id {
            return self.list_beginning(id, wish, (live, &states));
        }
        // Some of those that are found may not be meant.
        let exact = exactly(wish.state);
        let is_chosen = wish.tag.is_some() || exact.is_some() || !self.reach.is_all();
        let mut filter = RunFilter {
            name: wish.name.clone(),
            kind: Some(RunKind::Run),
            live,
            states,
            limit: if is_chosen { wish.limit.max(PAGE) } else { wish.limit },
            before: wish.cursor.as_deref().map(place_of_cursor).transpose()?,
            ..RunFilter::default()
        };
        let has_tag = |tags: &[String]| wish.tag.as_ref().is_none_or(|tag| tags.contains(tag));
        let limit = wish.limit as usize;
        let mut list = RunList::default();
        let mut looks = 0;
        // Which tags a run has is known only from what it was started with: page by page, it is looked there.
        loop {
            let page = self.read(|reader| reader.runs(&filter))?;
            let tags = self.tags_of(&page);
            for (run, tags) in page.iter().zip(tags) {
                if list.runs.len() >= limit || (looks >= LOOKS_MAX && is_chosen) {
                    break;
                }
                looks += 1;
                filter.before = Some(run.place);
                if has_tag(&tags) && self.reach.has(run.name.as_deref()) {
                    let line = self.tagged_line(run, tags);
                    list.runs.extend(Some(line).filter(|it| exact.is_none_or(|is| is == it.state)));
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

    /// Those whose identities begin so.
    fn list_beginning(
        &self,
        id: &str,
        wish: &ListWish,
        (live, states): (Option<bool>, &[TaskState]),
    ) -> Result<RunList, DeskError> {
        let mut runs = self.runs_beginning(id)?;
        runs.retain(|run| {
            let is_of_flow = wish.name.is_none() || run.name == wish.name;
            let is_so = states.is_empty() || states.contains(&run.state);
            is_of_flow && is_so && live.is_none_or(|live| live == run.is_live)
        });
        let tags = self.tags_of(&runs);
        let has_tag = |tags: &[String]| wish.tag.as_ref().is_none_or(|tag| tags.contains(tag));
        let meant = runs.iter().zip(tags).filter(|(_, tags)| has_tag(tags));
        let exact = exactly(wish.state);
        let lines = meant.map(|(run, tags)| self.tagged_line(run, tags));
        let lines = lines.filter(|line| exact.is_none_or(|is| is == line.state));
        Ok(RunList { runs: lines.take(wish.limit as usize).collect(), ..RunList::default() })
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
        let tags = self.tags_of(std::slice::from_ref(run)).pop().unwrap_or_default();
        self.tagged_line(run, tags)
    }

    fn tagged_line(&self, run: &RunSummary, tags: Vec<String>) -> RunLine {
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
            tags,
        }
    }

    /// The tags of runs, in their order.
    fn tags_of(&self, runs: &[RunSummary]) -> Vec<Vec<String>> {
        let mut tags = Vec::with_capacity(runs.len());
        let read = self.read(|reader| {
            reader.payloads(runs, |payload| {
                let read =
                    |(payload, kind): (&[u8], Option<&str>)| self.kinds.tags_of(kind, payload);
                tags.push(payload.map(read).unwrap_or_default());
            })
        });
        // Whoever lists many does not want to miss all for want of a word.
        if read.is_err() {
            tags.clear();
        }
        tags.resize(runs.len(), Vec::new());
        tags
    }

    /// Of each of these runs, in their order, whether one of its steps may ask somebody.
    pub(super) fn may_ask(&self, runs: &[RunSummary]) -> Vec<bool> {
        let mut found = Vec::with_capacity(runs.len());
        let read = self.read(|reader| {
            reader.payloads(runs, |payload| {
                found
                    .push(payload.is_some_and(|(payload, kind)| self.kinds.may_ask(kind, payload)));
            })
        });
        if read.is_err() {
            found.clear();
        }
        // What is not known is looked for.
        found.resize(runs.len(), true);
        found
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

    /// The same without its steps, of which nothing is read.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub fn about(&self, word: &str) -> Result<RunResult, DeskError> {
        self.document_of(&self.outline(word)?, &[], HashMap::new())
    }

    /// What a run came to, with all that is told of it.
    fn document(&self, view: &RunView, at: Surface) -> Result<RunResult, DeskError> {
        self.completed(view, view.document(&self.folder.logs_dir(), at))
    }

    /// The same, of what was found out before.
    pub(super) fn document_of(
        &self,
        view: &RunView,
        listed: &[StepView<'_>],
        elements: HashMap<String, Json>,
    ) -> Result<RunResult, DeskError> {
        let logs = self.folder.logs_dir();
        self.completed(view, view.document_of(listed, elements, &logs, Surface::Command))
    }

    /// The same with when it began, the files it left, and the schedule that made it.
    fn completed(&self, view: &RunView, mut result: RunResult) -> Result<RunResult, DeskError> {
        let run = &view.detail.summary;
        result.started_at = run.started_at.or_else(|| self.first_start(run));
        let left = self.left_in(run.id)?;
        result.artifacts = left.iter().flat_map(super::artifacts::lines).collect();
        if let Some(origin) = result.origin.as_mut().filter(|it| it.by == OriginWord::Schedule) {
            (origin.schedule, origin.firing) = self.fired_by(run)?;
        }
        Ok(result)
    }

    /// The same of a run by its identity; `None` when it is gone.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn show_run(&self, run: RunId) -> Result<Option<RunView>, DeskError> {
        self.run_within(run)?.map(|detail| self.view(detail)).transpose()
    }

    /// The attempts at a step of a run.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub fn attempts(&self, word: &str, step: &str) -> Result<AttemptList, DeskError> {
        let detail = self.find(word)?;
        let task = task_of(&detail, step)?;
        self.attempts_at(detail.summary.id, task)
    }

    /// The same of a task that was found before.
    pub(super) fn attempts_at(
        &self,
        run: RunId,
        task: &TaskSummary,
    ) -> Result<AttemptList, DeskError> {
        let id = TaskId { run, index: task.index };
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
        Ok(RunView { results, ..self.bare(detail)? })
    }

    /// The same for whoever looks again and again: what tasks left is read only where it says for which elements they are.
    pub(super) fn glimpse(&self, detail: RunDetail) -> Result<RunView, DeskError> {
        let run = detail.summary.id;
        let results = match self.definition_of(&detail).needs_outputs(&detail) {
            true => self.read(|reader| reader.results(run))?,
            false => self.read(|reader| reader.notable(run))?,
        };
        Ok(RunView { results, ..self.bare(detail)? })
    }

    /// A run without what its tasks left, which takes its time where there are many.
    pub(super) fn outline(&self, word: &str) -> Result<RunView, DeskError> {
        self.bare(self.find(word)?)
    }

    fn bare(&self, detail: RunDetail) -> Result<RunView, DeskError> {
        let is_abandoned = self.is_abandoned(&detail.summary)?;
        let definition = self.definition_of(&detail);
        let place = self.place_of(&detail.summary)?;
        Ok(RunView { detail, results: BTreeMap::new(), definition, is_abandoned, place })
    }

    /// What a run was started with.
    pub(super) fn definition_of(&self, run: &RunDetail) -> Arc<dyn Definition> {
        let id = run.summary.id;
        let mut known = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|(other, _)| *other == id);
        let found = place.and_then(|place| known.remove(place));
        let definition = match found {
            Some((_, definition)) => definition,
            None => self.kinds.definition_of(run),
        };
        if known.len() == DEFINITIONS_MAX {
            known.pop_front();
        }
        known.push_back((id, Arc::clone(&definition)));
        definition
    }

    /// How a run that has not ended stands in its concurrency group.
    fn place_of(&self, run: &RunSummary) -> Result<Option<RunPlace>, DeskError> {
        match run.is_live {
            true => {
                let place = self.folder.place_of(run.id).map_err(|error| self.failed(error))?;
                place.map(|place| self.place_within(place)).transpose()
            }
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
        match run.is_live {
            true => self.read(|reader| reader.first_start(run.place)).ok()?,
            false => None,
        }
    }

    /// Asks a reader that nobody else asks meanwhile.
    pub(super) fn read<T>(
        &self,
        ask: impl FnOnce(&Reader) -> Result<T, FolderError>,
    ) -> Result<T, DeskError> {
        let reader = self.readers.take(&self.folder).map_err(|error| self.failed(error))?;
        let answer = ask(&reader).map_err(|error| self.failed(error));
        self.readers.put_back(reader);
        answer
    }

    pub(super) fn failed(&self, error: FolderError) -> DeskError {
        DeskError::folder(error, self.folder.path())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel::store::sqlite::Options;
    use tidewheel::{Graph, Shutdown};
    use tidewheel_testing::temp_folder;

    use super::*;

    #[tokio::test]
    async fn a_list_by_tag_looks_at_so_many_and_says_where_to_go_on() {
        let temp = temp_folder("tags");
        let folder = DataFolder::open(temp.path(), Options::default()).unwrap();
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
    }
}
