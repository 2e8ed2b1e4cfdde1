//! Rows: what a store keeps of each decision, and gets back at restore.
//!
//! Plain data with durable identities only; how it is laid out on disk is the store's business.

use std::sync::Arc;

use crate::id::{AttemptId, RunId, ScheduleId, TaskId};
use crate::input::Fires;
use crate::policy::Priority;
use crate::schedule::{Origin, ScheduleSpec, ScheduleState};
use crate::spec::{Attachment, LimitSpec, OnceKey, Profile, QueueSpec, RunSpec, TaskSpec};
use crate::task::{Reason, TaskState};
use crate::time::Timestamp;

/// One row to store. The newest row of an identity replaces the one before.
#[derive(Debug, Clone)]
pub enum Change {
    /// A run was accepted.
    RunAccepted(RunRow),
    /// A run as a whole changed.
    RunChanged(RunChange),
    /// A single submission was accepted.
    SubmissionAccepted(SubmissionRow),
    /// A task was added to a live run.
    TaskAdded {
        /// Its identity.
        id: TaskId,
        /// What was asked for.
        spec: Arc<TaskSpec>,
    },
    /// A task changed.
    TaskChanged(TaskRow),
    /// Somebody has changed a priority.
    PriorityChanged(PriorityRow),
    /// The whole scheduler was paused or resumed.
    SchedulerPaused(bool),
    /// A queue was defined or changed.
    QueueStored {
        /// Its name.
        name: Arc<str>,
        /// Its settings.
        spec: QueueSpec,
        /// Whether it is paused.
        paused: bool,
    },
    /// A limit was defined or changed.
    LimitStored {
        /// Its name.
        name: Arc<str>,
        /// Its settings.
        spec: LimitSpec,
    },
    /// A schedule was accepted or changed.
    ScheduleStored(Box<ScheduleRow>),
    /// A schedule ended.
    ScheduleEnded(ScheduleId),
    /// An instant of a schedule fired or was skipped: unique by (schedule, nominal instant, number
    /// of its origin).
    FiringStored(FiringRow),
}

/// A run as accepted.
#[derive(Debug, Clone)]
pub struct RunRow {
    /// Its identity.
    pub id: RunId,
    /// What was asked for.
    pub spec: Arc<RunSpec>,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// The firing it came from.
    pub firing: Option<(ScheduleId, Timestamp)>,
}

/// The state of a run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunChange {
    /// The run.
    pub id: RunId,
    /// Whether it is paused.
    pub paused: bool,
    /// Whether it waits for more tasks when all have ended.
    pub keep_open: bool,
    /// Why it starts nothing more, where it was stopped.
    pub stopped: Option<Reason>,
    /// How it ended.
    pub result: Option<RunResult>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunResult {
    /// Every failure, if any, was tolerated.
    Succeeded,
    /// A task failed and nobody's word tolerated it, or its time was over.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl RunResult {
    /// The word used in reports and scenarios.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A single submission as accepted.
#[derive(Debug, Clone)]
pub struct SubmissionRow {
    /// Its identity.
    pub id: RunId,
    /// How it is treated.
    pub profile: Arc<Profile>,
    /// Its priority.
    pub priority: Priority,
    /// When it should have ended.
    pub deadline: Option<Timestamp>,
    /// Its key.
    pub key: Option<Arc<str>>,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// The firing it came from.
    pub firing: Option<(ScheduleId, Timestamp)>,
    /// What travels with it.
    pub attachment: Option<Arc<Attachment>>,
}

/// A task as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its identity.
    pub id: TaskId,
    /// Its state.
    pub state: TaskState,
    /// Why.
    pub reason: Reason,
    /// Attempts claimed so far.
    pub attempts: u32,
    /// Attempts lost with their worker so far.
    pub lost: u32,
    /// Attempts that do not count against retries: lost, preempted, handed back, postponed.
    pub uncounted: u32,
    /// When this state was entered.
    pub at: Timestamp,
    /// Until when it is delayed.
    pub until: Option<Timestamp>,
    /// When its time is over, where it is limited.
    pub expires: Option<Timestamp>,
    /// Whether tasks that need it go on although it did not succeed.
    pub released: bool,
    /// The text of its last error.
    pub error: Option<Arc<str>>,
}

/// A priority as it was changed while the work was live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityRow {
    /// The run, or the single submission: then it is the one that a store keeps in its [`SubmissionRow`] from now on.
    pub run: RunId,
    /// The task. `None`: those without a priority of their own.
    pub task: Option<u32>,
    /// The priority.
    pub priority: Priority,
}

/// A schedule as it stands.
#[derive(Debug, Clone)]
pub struct ScheduleRow {
    /// Its identity.
    pub id: ScheduleId,
    /// Trigger and policies.
    pub spec: Arc<ScheduleSpec>,
    /// What its firings are.
    pub fires: Fires<Arc<Profile>>,
    /// Where it stands.
    pub state: ScheduleState,
    /// Firings whose runs were asked for and are not made yet, oldest first.
    pub wanted: Vec<Wanted>,
}

/// A firing whose run was asked for and is not made yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The id that the run will have.
    pub run: RunId,
    /// The nominal instant.
    pub nominal: Timestamp,
    /// Where the firing comes from.
    pub origin: Origin,
}

/// What became of one nominal instant, or of a range of skipped ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiringRow {
    /// The schedule.
    pub schedule: ScheduleId,
    /// The instant; the first of a range of skipped ones.
    pub nominal: Timestamp,
    /// Where it comes from. With schedule and instant its number is the key of the row.
    pub origin: Origin,
    /// The last of the range; equal to `nominal` for one.
    pub last: Timestamp,
    /// How many instants the row stands for.
    pub count: u64,
    /// What became of it.
    pub fate: Fate,
}

/// What became of an instant of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It fired, and this submission or run came of it.
    Fired(RunId),
    /// It did not fire, for the reason that this word stands for.
    Skipped(&'static str),
    /// It fired, but its run could not be made.
    NotMade {
        /// The id that the run would have had.
        run: RunId,
        /// Why.
        error: Arc<str>,
    },
}

impl Fate {
    /// The submission or run that it fired, or would have.
    #[must_use]
    pub const fn run(&self) -> Option<RunId> {
        match self {
            Self::Fired(run) | Self::NotMade { run, .. } => Some(*run),
            Self::Skipped(_) => None,
        }
    }
}

/// Everything a store kept, in the order in which it should be restored.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Whether the whole scheduler is paused.
    pub paused: bool,
    /// Queues: name, settings, paused.
    pub queues: Vec<(Arc<str>, QueueSpec, bool)>,
    /// Limits.
    pub limits: Vec<(Arc<str>, LimitSpec)>,
    /// Unfinished runs with what happened to them since.
    pub runs: Vec<StoredRun>,
    /// Unfinished single submissions.
    pub submissions: Vec<(SubmissionRow, Option<TaskRow>)>,
    /// Live schedules.
    pub schedules: Vec<ScheduleRow>,
    /// Names that submissions were accepted under, ended ones too, earliest first.
    pub names: Vec<NameRow>,
}

impl Snapshot {
    /// Unfinished runs and single submissions.
    pub fn works(&self) -> impl Iterator<Item = RunId> + '_ {
        let runs = self.runs.iter().map(|run| run.row.id);
        runs.chain(self.submissions.iter().map(|(row, _)| row.id))
    }

    /// Attempts that were under way.
    #[must_use]
    pub fn under_way(&self) -> Vec<AttemptId> {
        let of_runs = self.runs.iter().flat_map(|run| &run.tasks);
        let singles = self.submissions.iter().filter_map(|(_, task)| task.as_ref());
        let rows = of_runs.chain(singles).filter(|row| row.state.holds_slot());
        rows.map(|row| AttemptId { task: row.id, number: row.attempts }).collect()
    }
}

/// A name that work was accepted under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRow {
    /// The name, and the digest of the work.
    pub once: OnceKey,
    /// The run or single submission.
    pub run: RunId,
    /// When it was accepted.
    pub accepted_at: Timestamp,
}

/// An unfinished run as stored.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// As accepted.
    pub row: RunRow,
    /// The newest state of the run as a whole.
    pub change: Option<RunChange>,
    /// Priorities changed since, the newest of each task and of the run.
    pub priorities: Vec<PriorityRow>,
    /// Tasks added since, by index.
    pub added: Vec<(u32, Arc<TaskSpec>)>,
    /// The newest row of each task that has one, by index.
    pub tasks: Vec<TaskRow>,
}
