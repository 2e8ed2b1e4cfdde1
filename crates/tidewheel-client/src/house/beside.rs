//! [`Beside`]: what happens to runs of the data folder that other processes have, told as if it were ours.
//!
//! It is found in the store: whether anybody has written there costs next to nothing to ask, and only what has changed
//! since is read. What it is told to is in [`super::happenings`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidewheel::store::sqlite::{DataFolder, FolderError, Reader};
use tidewheel::store::{RunDetail, RunSummary, TaskSummary};
use tidewheel::{RunId, TaskState, Timestamp};
use tokio::sync::Notify;

use super::happenings::Ring;
use super::house::SHARD;
use crate::api::What;
use crate::desk::{blocking, run_state};

/// A look takes at most so large a part of the time.
const PART: u32 = 10;

/// How often it is looked where the system says when there may be news: should it keep that to itself.
const SELDOM: Duration = Duration::from_secs(5);

/// Tells a ring what happens beside the house. Between two looks is at least the time of `every`.
pub(super) async fn tell_beside(
    mut beside: Beside,
    folder: DataFolder,
    ring: Arc<Ring>,
    every: Duration,
) {
    let news = Arc::new(Notify::new());
    let rung = Arc::clone(&news);
    let bell = folder.bell(move || rung.notify_one());
    let mut pause = every;
    loop {
        tokio::time::sleep(pause).await;
        if bell.is_some() && beside.unsure.is_empty() {
            // Either way it is time to look.
            let _ = tokio::time::timeout(SELDOM, news.notified()).await;
        }
        let (began, known) = (Instant::now(), Arc::clone(&ring));
        let looked = blocking(move || {
            let news = beside.look(|run| known.is_own(run));
            (beside, news)
        });
        let Ok((looked, news)) = looked.await else { return };
        beside = looked;
        // What cannot be read now is read the next time.
        for news in news.unwrap_or_default() {
            ring.of_others(news);
        }
        pause = every.max(began.elapsed() * PART);
    }
}

/// Something that happened to a run of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News {
    pub at: Timestamp,
    pub what: What,
    pub run: RunId,
    pub flow: Option<String>,
    pub step: Option<String>,
    pub attempt: Option<u32>,
    pub state: Option<String>,
    pub error: Option<String>,
}

/// What is known of runs that others have.
pub(super) struct Beside {
    reader: Reader,
    /// What was there at the last look.
    version: i64,
    /// Up to where in the order of acceptance everything is known.
    place: i64,
    known: HashMap<RunId, Known>,
    /// Runs that came and ended between two looks. Whose they were is not stored; if they are ours, that is known by the
    /// next look.
    unsure: Vec<RunSummary>,
}

#[derive(Default)]
struct Known {
    stamp: String,
    is_paused: bool,
    /// The state and the attempts of each task.
    tasks: Vec<(TaskState, u32)>,
}

impl Beside {
    /// Knows what is there, and tells nothing of it.
    pub fn open(folder: &DataFolder) -> Result<Self, FolderError> {
        let reader = folder.reader()?;
        let (known, unsure) = (HashMap::new(), Vec::new());
        let mut beside = Self { reader, version: i64::MIN, place: i64::MAX, known, unsure };
        beside.look(|_| true)?;
        Ok(beside)
    }

    /// What has happened since the last look, the earliest first.
    fn look(&mut self, is_own: impl Fn(RunId) -> bool) -> Result<Vec<News>, FolderError> {
        let version = self.reader.version()?;
        if version == self.version && self.unsure.is_empty() {
            return Ok(Vec::new());
        }
        let mut news = Vec::new();
        for run in std::mem::take(&mut self.unsure) {
            if !is_own(run.id) {
                self.follow(&run, "", &mut news)?;
            }
        }
        let seen = self.reader.beside(SHARD, self.place)?;
        let mut gone: Vec<RunId> = self.known.keys().copied().collect();
        for (run, stamp) in &seen.live {
            gone.retain(|other| *other != run.id);
            self.follow(run, stamp, &mut news)?;
        }
        let ended = seen.ended.into_iter();
        self.unsure = ended.filter(|run| !gone.contains(&run.id) && !is_own(run.id)).collect();
        for run in gone {
            if is_own(run) {
                // The house has taken it over, and tells of it itself.
                self.known.remove(&run);
                continue;
            }
            match self.reader.run(run)? {
                Some(detail) => self.follow_detail(&detail, "", &mut news),
                // It was pruned.
                None => _ = self.known.remove(&run),
            }
        }
        (self.version, self.place) = (version, seen.last_place);
        news.sort_by_key(|news| news.at);
        Ok(news)
    }

    fn follow(
        &mut self,
        run: &RunSummary,
        stamp: &str,
        news: &mut Vec<News>,
    ) -> Result<(), FolderError> {
        if run.is_live && self.known.get(&run.id).is_some_and(|known| known.stamp == stamp) {
            return Ok(());
        }
        if let Some(detail) = self.reader.run(run.id)? {
            self.follow_detail(&detail, stamp, news);
        }
        Ok(())
    }

    fn follow_detail(&mut self, run: &RunDetail, stamp: &str, news: &mut Vec<News>) {
        let is_new = !self.known.contains_key(&run.summary.id);
        let known = self.known.entry(run.summary.id).or_default();
        known.tell(run, is_new, news);
        stamp.clone_into(&mut known.stamp);
        if !run.summary.is_live {
            self.known.remove(&run.summary.id);
        }
    }
}

impl Known {
    fn tell(&mut self, run: &RunDetail, is_new: bool, news: &mut Vec<News>) {
        let summary = &run.summary;
        let of_run = |at: Timestamp, what: What| News {
            at,
            what,
            run: summary.id,
            flow: summary.name.clone(),
            step: None,
            attempt: None,
            state: None,
            error: None,
        };
        if is_new {
            news.push(of_run(summary.accepted_at, What::RunAccepted));
        }
        self.tasks.resize(run.tasks.len(), (TaskState::Blocked, 0));
        for (known, task) in self.tasks.iter_mut().zip(&run.tasks) {
            let now = (task.state, task.attempts);
            let before = std::mem::replace(known, now);
            if before != now {
                tell_task(before, task, of_run, news);
            }
        }
        if summary.is_paused != self.is_paused && summary.is_live {
            self.is_paused = summary.is_paused;
            let what = if summary.is_paused { What::RunPaused } else { What::RunResumed };
            news.push(of_run(tidewheel::clock::wall_clock(), what));
        }
        if let Some(ended_at) = summary.ended_at {
            let state = Some(run_state(summary, false).word().to_owned());
            news.push(News { state, ..of_run(ended_at, What::RunEnded) });
        }
    }
}

fn tell_task(
    (before, attempts): (TaskState, u32),
    task: &TaskSummary,
    of_run: impl Fn(Timestamp, What) -> News,
    news: &mut Vec<News>,
) {
    let attempt = (task.attempts > 0).then_some(task.attempts);
    let of_step = |at: Option<Timestamp>, what: What| {
        let step = Some(task.name.clone());
        News { step, attempt, ..of_run(at.unwrap_or_default(), what) }
    };
    let has_begun = task.attempts > attempts
        || (task.state == TaskState::Running && before != TaskState::Running);
    if has_begun && task.started_at.is_some() {
        news.push(of_step(task.started_at, What::StepStarted));
    }
    if task.state.is_terminal() {
        let state = Some(task.state.to_string());
        news.push(News { state, attempt: None, ..of_step(task.at, What::StepEnded) });
    } else if task.state == TaskState::Delayed && task.error.is_some() {
        news.push(News { error: task.error.clone(), ..of_step(task.at, What::StepRetries) });
    }
}
