//! What readers of a store get to see: runs, tasks, schedules, as plain data for surfaces.
//!
//! Nothing is decided by it: by the time it is read, it may have changed.

use std::collections::BTreeSet;

use tidewheel_core::id::{RunId, ScheduleId};
use tidewheel_core::input::Fires;
use tidewheel_core::row::RunResult;
use tidewheel_core::schedule::{
    Counters, EndReason, Origin, Schedule, ScheduleSpec, ScheduleState, Span,
};
use tidewheel_core::spec::{LimitSpec, Profile, QueueSpec};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::{Now, Timestamp};

/// Which runs and submissions to list. The default is the newest hundred, whatever they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFilter {
    /// Only those in one of these states; empty: in any.
    pub states: Vec<TaskState>,
    /// Only runs of this name.
    pub name: Option<String>,
    /// Only those that have not ended, or only those that have.
    pub live: Option<bool>,
    /// Only graphs, or only single submissions.
    pub kind: Option<RunKind>,
    /// Only those accepted at or after this instant.
    pub since: Option<Timestamp>,
    /// Only those accepted before the one with this [`RunSummary::place`]: the next page.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: u32,
}

impl Default for RunFilter {
    fn default() -> Self {
        Self {
            states: Vec::new(),
            name: None,
            live: None,
            kind: None,
            since: None,
            before: None,
            limit: 100,
        }
    }
}

impl RunFilter {
    /// Whether it is to be listed, if there is room.
    pub(super) fn admits(&self, summary: &RunSummary) -> bool {
        (self.states.is_empty() || self.states.contains(&summary.state))
            && self.name.as_ref().is_none_or(|name| summary.name.as_ref() == Some(name))
            && self.live.is_none_or(|live| summary.is_live == live)
            && self.kind.is_none_or(|kind| summary.kind == kind)
            && self.since.is_none_or(|since| summary.accepted_at >= since)
            && self.before.is_none_or(|before| summary.place < before)
    }
}

/// What was submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// A graph of tasks.
    Run,
    /// One task on its own.
    Single,
}

/// A run or submission in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Its identity.
    pub id: RunId,
    /// Its place in the order of acceptance.
    pub place: i64,
    /// What it is.
    pub kind: RunKind,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// How it stands. A run that has not ended is running.
    pub state: TaskState,
    /// Why.
    pub reason: Reason,
    /// Whether it has not ended.
    pub is_live: bool,
    /// Whether it is paused.
    pub is_paused: bool,
    /// The shard of one that has not ended.
    pub shard: Option<String>,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// When its first attempt that is known started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How many tasks it has.
    pub tasks: u32,
    /// How many of them failed, once it has ended.
    pub failed: u32,
    /// How many attempts were made, once it has ended.
    pub attempts: u32,
    /// The text of its first error, once it has ended.
    pub error: Option<String>,
    /// The priority of a submission.
    pub priority: Option<u8>,
    /// The key of a submission.
    pub key: Option<String>,
    /// The firing it came from.
    pub firing: Option<(ScheduleId, Timestamp)>,
}

impl RunSummary {
    /// How it ended.
    #[must_use]
    pub fn result(&self) -> Option<RunResult> {
        match self.state {
            TaskState::Succeeded => Some(RunResult::Succeeded),
            TaskState::Failed | TaskState::Unknown => Some(RunResult::Failed),
            TaskState::Skipped if self.reason == Reason::Condition => Some(RunResult::Succeeded),
            TaskState::Cancelled | TaskState::Skipped => Some(RunResult::Cancelled),
            _ => None,
        }
    }
}

/// A run or submission with its tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDetail {
    /// The line about it.
    pub summary: RunSummary,
    /// Its tasks by index.
    pub tasks: Vec<TaskSummary>,
    /// What travelled with it.
    pub payload: Option<Vec<u8>>,
    /// Who understands that.
    pub payload_kind: Option<String>,
}

/// A task in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSummary {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// The indices of the tasks it waits for.
    pub after: Vec<u32>,
    /// Its state.
    pub state: TaskState,
    /// Why.
    pub reason: Reason,
    /// Attempts so far.
    pub attempts: u32,
    /// When the newest attempt started.
    pub started_at: Option<Timestamp>,
    /// When this state was entered.
    pub at: Option<Timestamp>,
    /// Until when it is delayed.
    pub until: Option<Timestamp>,
    /// The text of its last error.
    pub error: Option<String>,
}

impl TaskSummary {
    /// One of which nothing is stored yet.
    pub(super) fn blocked(index: u32, name: String, after: Vec<u32>) -> Self {
        Self {
            index,
            name,
            after,
            state: TaskState::Blocked,
            reason: Reason::Ordinary,
            attempts: 0,
            started_at: None,
            at: None,
            until: None,
            error: None,
        }
    }

    /// A submission is its own only task.
    pub(super) fn of_single(summary: &RunSummary) -> Self {
        Self {
            index: 0,
            name: summary.name.clone().unwrap_or_default(),
            after: Vec::new(),
            state: summary.state,
            reason: summary.reason,
            attempts: summary.attempts,
            started_at: summary.started_at,
            at: summary.ended_at,
            until: None,
            error: summary.error.clone(),
        }
    }
}

/// A schedule as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleSummary {
    /// Its identity.
    pub id: ScheduleId,
    /// The shard it is in.
    pub shard: String,
    /// Trigger and policies.
    pub spec: ScheduleSpec,
    /// What its firings are.
    pub fires: Fires<Profile>,
    /// Where it stands.
    pub state: ScheduleState,
    /// Whether it has ended.
    pub is_ended: bool,
}

impl ScheduleSummary {
    /// The instants of the trigger in `span` that were decided and did not fire, earliest first, at
    /// most `max`: for [`crate::schedule::Backfill::at`]. `ledger` is all that is known about instants in the span.
    ///
    /// An instant that somebody asked for and that fired is not missed any more. One whose run could
    /// not be made is.
    #[must_use]
    pub fn missed(&self, ledger: &[FiringSummary], span: Span, max: usize) -> Vec<Timestamp> {
        let ran = ledger.iter().filter(|firing| matches!(firing.fate, FiringFate::Ran(_)));
        let queued = self.state.queue.iter().map(|queued| queued.nominal);
        let fired: BTreeSet<Timestamp> = ran.map(|firing| firing.nominal).chain(queued).collect();
        self.as_it_stands()
            .instants(span)
            .filter(|instant| !fired.contains(instant))
            .take(max)
            .collect()
    }

    /// The instants of its trigger in a span that are decided, whether they fired or not, oldest first, at most `max`.
    #[must_use]
    pub fn instants(&self, span: Span, max: usize) -> Vec<Timestamp> {
        self.as_it_stands().instants(span).take(max).collect()
    }
}

impl ScheduleSummary {
    /// The instants that will fire if nothing is changed, the next one first, at most `max`, as far as the
    /// trigger can tell.
    #[must_use]
    pub fn upcoming(&self, max: usize) -> Vec<Timestamp> {
        self.as_it_stands().upcoming().take(max).collect()
    }

    /// How often it has done what, as it was stored.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.as_it_stands().counters()
    }

    /// Whether it fires no more because it has fired all that it was to, and not because somebody ended it.
    #[must_use]
    pub fn has_come_to_its_end(&self) -> bool {
        self.is_ended && self.state.end.is_some_and(|why| why != EndReason::Cancelled)
    }

    fn as_it_stands(&self) -> Schedule {
        let (spec, state) = (self.spec.clone(), self.state.clone());
        let now = Now { wall: state.seen_wall, ..Now::default() };
        Schedule::restore(self.id.0, 0, spec, state, now)
    }
}

/// What became of an instant, or of a range of skipped ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiringSummary {
    /// The instant; the first of a range.
    pub nominal: Timestamp,
    /// Where it comes from: the trigger, or somebody who asked.
    pub origin: Origin,
    /// The last of the range.
    pub last: Timestamp,
    /// How many instants it stands for.
    pub count: u64,
    /// What became of it.
    pub fate: FiringFate,
}

/// What became of an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FiringFate {
    /// It fired, and this submission or run came of it.
    Ran(RunId),
    /// It was skipped, for the reason that this word stands for.
    Skipped(String),
    /// It fired, but its run could not be made.
    NotMade {
        /// The id that the run would have had.
        run: RunId,
        /// Why.
        error: String,
    },
}

/// A queue as defined.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSummary {
    /// The shard it is in.
    pub shard: String,
    /// Its name.
    pub name: String,
    /// Its settings.
    pub spec: QueueSpec,
    /// Whether it is paused.
    pub is_paused: bool,
}

/// A limit as defined.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitSummary {
    /// The shard it is in.
    pub shard: String,
    /// Its name.
    pub name: String,
    /// Its settings.
    pub spec: LimitSpec,
}

/// How much there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Runs that have not ended.
    pub live_runs: u64,
    /// Submissions that have not ended.
    pub live_submissions: u64,
    /// Runs and submissions that have ended, by how they did.
    pub ended: Vec<(TaskState, u64)>,
    /// Schedules that have not ended.
    pub schedules: u64,
}
