//! What reaches the scheduler: commands, which may be refused, and events, which may only be stale.
//!
//! What the scheduler answers with is in [`crate::decision`].

use std::sync::Arc;
use std::time::Duration;

use crate::id::{ProfileId, RunId, RunKey, ScheduleId, ScheduleKey, TaskKey};
use crate::policy::Priority;
use crate::schedule::{Overlap, ScheduleSpec};
use crate::spec::{Addition, Attachment, LimitSpec, QueueSpec, RunSpec};
use crate::task::TaskState;
use crate::time::{Moment, Timestamp};

/// One thing that happened or is asked for.
#[derive(Debug, Clone)]
pub enum Input {
    /// Somebody asks.
    Command(Command),
    /// The world reports.
    Event(Event),
}

/// A request. It may be refused with a [`Rejection`].
#[derive(Debug, Clone)]
pub enum Command {
    /// Run one task.
    Submit(Submission),
    /// Run a graph.
    SubmitRun {
        /// A fresh id.
        id: RunId,
        /// The run.
        spec: Arc<RunSpec>,
    },
    /// Run a graph that a schedule asked for with [`crate::Action::MakeRun`].
    SubmitFiring {
        /// The schedule.
        schedule: ScheduleKey,
        /// The id that it named.
        id: RunId,
        /// The run.
        spec: Arc<RunSpec>,
    },
    /// Add tasks to a live run.
    AddTasks {
        /// The run.
        run: RunKey,
        /// The tasks.
        addition: Addition,
    },
    /// Take a task out of a live run.
    RemoveTask {
        /// The task.
        task: TaskKey,
        /// What becomes of tasks that need it.
        dependents: Dependents,
        /// Time for a running attempt to stop by itself; `None`: it finishes.
        grace: Option<Duration>,
    },
    /// Stop starting tasks of a run.
    PauseRun(RunKey),
    /// Start tasks of the run again.
    ResumeRun(RunKey),
    /// Change how many tasks of a run may run at once; `None`: as many as there is room for. Like
    /// [`Command::SetSlots`] it holds until the scheduler ends, and is not stored.
    SetRunSlots {
        /// The run.
        run: RunKey,
        /// Its slots.
        slots: Option<u32>,
    },
    /// Change the priority of a run, of one of its tasks, or of a single submission. It holds from now on, also after a
    /// restart; what waits goes on waiting since when it did, and what runs goes on.
    SetPriority {
        /// The run, or the single submission.
        run: RunKey,
        /// The task; the end of a group stands for all of it. `None`: all tasks of the run that were given no other
        /// priority than the run.
        task: Option<u32>,
        /// The priority.
        priority: Priority,
    },
    /// End a run, or a single submission.
    CancelRun {
        /// The run.
        run: RunKey,
        /// What becomes of running attempts.
        mode: CancelMode,
    },
    /// End a run because a newer one of its concurrency group takes its place.
    ReplaceRun {
        /// The run.
        run: RunKey,
        /// What becomes of running attempts.
        mode: CancelMode,
    },
    /// End one task; tasks that need it are skipped.
    CancelTask {
        /// The task.
        task: TaskKey,
        /// What becomes of a running attempt.
        mode: CancelMode,
    },
    /// Let an open run end when all its tasks have.
    CloseRun(RunKey),
    /// Nobody waits for this single submission any more: forget it unless it runs, else stop it.
    Abandon(RunKey),
    /// Stop starting anything.
    Pause,
    /// Start again.
    Resume,
    /// Stop starting tasks of a queue.
    PauseQueue(Arc<str>),
    /// Start tasks of the queue again.
    ResumeQueue(Arc<str>),
    /// Change how many attempts may run at once.
    SetSlots(Option<u32>),
    /// Make a queue, or change it.
    DefineQueue {
        /// Its name.
        name: Arc<str>,
        /// Its settings.
        spec: QueueSpec,
    },
    /// Make a limit, or change it.
    DefineLimit {
        /// Its name.
        name: Arc<str>,
        /// Its kind and size.
        spec: LimitSpec,
    },
    /// Close a circuit breaker by hand.
    ResetBreaker(Arc<str>),
    /// Bind a trigger to work. If there is a live schedule of its name, that is the one: it is changed to
    /// what is said now, if that is something else.
    AddSchedule {
        /// A fresh id, for a new one.
        id: ScheduleId,
        /// Trigger and policies.
        spec: Box<ScheduleSpec>,
        /// What its firings are.
        fires: Fires<ProfileId>,
    },
    /// Change a schedule: other policies, perhaps another trigger, whose instants count from now on.
    /// What was decided stays so.
    UpdateSchedule {
        /// The schedule.
        schedule: ScheduleKey,
        /// Trigger and policies as they shall be.
        spec: Box<ScheduleSpec>,
    },
    /// Remove a schedule; what runs is finished.
    CancelSchedule(ScheduleKey),
    /// Let no instant of a schedule fire.
    PauseSchedule(ScheduleKey),
    /// Let it fire again; what was missed follows its misfire policy.
    ResumeSchedule(ScheduleKey),
    /// Fire instants of the past, whether they were missed or fired before, oldest first.
    Backfill {
        /// The schedule.
        schedule: ScheduleKey,
        /// The instants.
        instants: Vec<Timestamp>,
        /// The overlap policy; `None`: that of the schedule.
        overlap: Option<Overlap>,
        /// How many firings were asked for when the asker looked at what was missed. If there were
        /// more since, it is refused, so that nobody asks twice for the same. `None`: never mind.
        asked_for: Option<u64>,
    },
    /// Fire once, now, outside the trigger.
    FireNow {
        /// The schedule.
        schedule: ScheduleKey,
        /// The overlap policy; `None`: that of the schedule.
        overlap: Option<Overlap>,
    },
    /// Accept nothing more and come to an end.
    ShutDown {
        /// What becomes of waiting work.
        mode: ShutdownMode,
        /// Time for running attempts to stop by themselves; `None`: they finish.
        grace: Option<Duration>,
    },
}

/// What the firings of a schedule are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fires<P> {
    /// Tasks on their own.
    Task {
        /// How they are treated.
        profile: P,
        /// Their priority.
        priority: Priority,
    },
    /// Runs that are made when they are due, by whoever owns the schedule. Until its run has ended a
    /// firing counts as running, and holds no slot but those of its tasks.
    Run,
}

/// One task to be run on its own.
#[derive(Debug, Clone, Default)]
pub struct Submission {
    /// A fresh id.
    pub id: RunId,
    /// How it is treated; from [`crate::Scheduler::profile`].
    pub profile: ProfileId,
    /// Its priority (that of the profile does not count).
    pub priority: Priority,
    /// Time until it should have ended.
    pub deadline: Option<Duration>,
    /// Tasks of one key run one at a time, in order.
    pub key: Option<Arc<str>>,
    /// What travels with it.
    pub attachment: Option<Arc<Attachment>>,
}

/// What becomes of tasks that need a removed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dependents {
    /// They are skipped, and what needs them too.
    #[default]
    Skip,
    /// They go on as if it had succeeded.
    Release,
}

/// What becomes of running attempts when something is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelMode {
    /// They finish.
    Drain,
    /// They are told to stop, and ended after the grace. Tasks that run always still do.
    Stop {
        /// Time to stop by themselves.
        grace: Duration,
    },
    /// As [`CancelMode::Stop`], and tasks that run always are treated as all others.
    End {
        /// Time to stop by themselves.
        grace: Duration,
    },
}

/// What becomes of waiting work at shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownMode {
    /// Everything accepted is run.
    Drain,
    /// Waiting tasks are cancelled; their waiters are told.
    Reject,
    /// Waiting tasks stay in the store for the next start; their waiters are told.
    Persist,
}

/// A report. It cannot be refused, only be found stale.
#[derive(Debug, Clone)]
pub enum Event {
    /// An attempt ended.
    AttemptEnded {
        /// The task.
        task: TaskKey,
        /// The number of the attempt.
        attempt: u32,
        /// How it ended.
        outcome: Outcome,
    },
    /// Time passed: timers may be due, the wall clock may have moved.
    TimePassed,
    /// A custom trigger answered.
    TriggerAnswered {
        /// The schedule that asked.
        schedule: ScheduleKey,
        /// Its next instant, or the end of the schedule.
        next: Option<Timestamp>,
    },
    /// The answer to [`crate::Action::KeepUnits`]: units that are granted from now on were asked for
    /// after the restore.
    UnitsKept {
        /// The limit.
        limit: Arc<str>,
        /// Which restore.
        since: Moment,
    },
    /// Units of a shared limit that were asked for are there: nobody else has them.
    UnitsGranted {
        /// The limit.
        limit: Arc<str>,
        /// Units.
        units: u32,
    },
    /// Units of a shared limit that were asked for cannot be had yet.
    UnitsTaken {
        /// The limit.
        limit: Arc<str>,
        /// Who has them, as far as known; for explanations.
        holders: Vec<Arc<str>>,
    },
    /// A run has a place in its concurrency group.
    PlaceGiven(RunId),
    /// A run must wait for a place in its concurrency group.
    PlaceTaken {
        /// The run.
        run: RunId,
        /// The runs that have the places.
        holders: Vec<RunId>,
    },
    /// A run gets no place in its concurrency group.
    PlaceRefused {
        /// The run.
        run: RunId,
        /// Whether a newer one replaced it; else the group was taken, and it was not to wait.
        replaced: bool,
    },
    /// A run that a schedule asked for cannot be made.
    RunNotMade {
        /// The schedule.
        schedule: ScheduleKey,
        /// The run.
        run: RunId,
        /// Why.
        error: Arc<str>,
    },
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Well.
    Succeeded,
    /// Well, and these tasks are to be added to its run in the same step. What waits for the task finds
    /// them there. If they are refused, the attempt has failed for good; in a run that was stopped none
    /// is added.
    Expanded(Box<Addition>),
    /// With an error.
    Failed(Box<Failure>),
    /// Its time was over and it was ended.
    TimedOut,
    /// It was told to stop, and stopped.
    Cancelled,
    /// Its worker is gone; nobody knows.
    Lost,
    /// It found that there is nothing to do. What needs the task goes on as if it had succeeded.
    Skipped,
    /// It was not time yet: nothing was done, and another attempt should follow after this time.
    /// That uses no retry up.
    Postponed(Duration),
}

/// What is known of a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// What to tell people.
    pub message: Arc<str>,
    /// Another try would be in vain.
    pub permanent: bool,
    /// It was a panic.
    pub panicked: bool,
    /// The other side asked not to be tried again before this time has passed.
    pub retry_after: Option<Duration>,
}

/// A command was refused; nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The queue has no room for all that is asked for, so nothing of it is accepted.
    #[error("queue `{queue}` {} ({current}/{max})", no_room(*wanted))]
    QueueFull {
        /// The queue.
        queue: Arc<str>,
        /// Tasks that were to be accepted.
        wanted: u64,
        /// Tasks accepted and not started, whatever they wait for.
        current: u64,
        /// Tasks that may wait.
        max: u64,
    },
    /// A circuit breaker lets nothing through, and work that could wait for it is not wanted.
    #[error("breaker `{limit}` is open{}", again(*.left))]
    BreakerOpen {
        /// The breaker.
        limit: Arc<str>,
        /// When it lets somebody through; `None`: when the probe that is under way succeeds.
        left: Option<Duration>,
    },
    /// The scheduler accepts nothing more.
    #[error("the scheduler is shutting down")]
    ShuttingDown,
    /// A run brings along a queue or a limit that is defined otherwise.
    #[error(
        "{what} `{name}` of `{run}` is defined otherwise by {by}: say the same in both, or give one of \
         them another name"
    )]
    Contradiction {
        /// `queue` or `limit`.
        what: &'static str,
        /// Its name.
        name: Arc<str>,
        /// The name of the run.
        run: Arc<str>,
        /// Who has defined it, in words.
        by: Arc<str>,
    },
    /// There is no such queue.
    #[error("there is no queue `{0}`; define it first")]
    UnknownQueue(Arc<str>),
    /// There is no such limit.
    #[error("there is no limit `{0}`; define it first")]
    UnknownLimit(Arc<str>),
    /// More units are asked for than there are.
    #[error("{wanted} units of `{limit}` can never be had, there are {max}")]
    NeverFits {
        /// The limit.
        limit: Arc<str>,
        /// Units asked for.
        wanted: u64,
        /// Units there are.
        max: u32,
    },
    /// The run, task or schedule has ended or never was.
    #[error("there is no such {0} any more")]
    Gone(&'static str),
    /// A task of this name is in the run already.
    #[error("the run has a task `{0}` already")]
    DuplicateTask(Arc<str>),
    /// The same work was accepted before under the same name.
    #[error("accepted before as run {0}")]
    AlreadyAccepted(RunId),
    /// The name stands for other work.
    #[error("`{key}` was used for other work: run {run}")]
    KeyTaken {
        /// The name.
        key: Arc<str>,
        /// What it stands for.
        run: RunId,
    },
    /// A dependency is not in the run.
    #[error("there is no task with index {0} in the run")]
    UnknownTask(u32),
    /// Something was to be put before a task that does not wait for other tasks any more.
    #[error("`{task}` is {state} already: nothing can be put before it")]
    TooLate {
        /// The task that should have waited.
        task: Arc<str>,
        /// Its state.
        state: TaskState,
    },
    /// Something was to be changed about a task that has ended.
    #[error("`{task}` is {state} already")]
    Ended {
        /// The task.
        task: Arc<str>,
        /// Its state.
        state: TaskState,
    },
    /// A task was to be put between two others of which the first waits for the second.
    #[error("`{task}` cannot come after `{after}` and before `{before}`: that is a cycle")]
    Circular {
        /// The task to be added.
        task: Arc<str>,
        /// What it was to wait for.
        after: Arc<str>,
        /// What was to wait for it.
        before: Arc<str>,
    },
    /// The store cannot keep anything for now. Whether this was kept is not known; asking again
    /// under the same name is safe.
    #[error("the store cannot be written: {0}")]
    Unavailable(Arc<str>),
    /// A live schedule has this name already.
    #[error("there is a schedule `{0}` already")]
    DuplicateSchedule(Arc<str>),
    /// What the asker knew is no longer so.
    #[error("the {0} has changed since; look again")]
    Outdated(&'static str),
    /// A setting makes no sense.
    #[error("{0}")]
    Invalid(Arc<str>),
}

fn again(left: Option<Duration>) -> String {
    match left {
        Some(left) => format!(": try again in {:.1} s", left.as_secs_f64()),
        None => ": it waits for its probe".to_owned(),
    }
}

/// The answer to a command, valid once the decision is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done.
    Done,
    /// The run or single submission was accepted.
    Accepted(RunKey),
    /// Tasks were added; those that were passed over are not counted.
    Added {
        /// The first of them.
        first: TaskKey,
        /// How many; their indices follow each other.
        count: u32,
    },
    /// The schedule was accepted.
    Scheduled(ScheduleKey),
    /// Nothing had to be done: it was so already, or had ended.
    Unchanged,
}

fn no_room(wanted: u64) -> String {
    if wanted == 1 { "is full".into() } else { format!("has no room for {wanted} tasks") }
}
