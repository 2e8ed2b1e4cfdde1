//! What the scheduler decided: rows to store, then, once they are stored, what to do.
//!
//! Storing and doing are the driver's business. Actions, replies and notices cannot be reached
//! before a store has given its [`CommitProof`] for exactly these changes: see [`Decision::commit`].

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::id::{RunId, RunKey, ScheduleId, ScheduleKey, TaskId, TaskKey};
use crate::input::{Rejection, Reply};
use crate::policy::Priority;
use crate::row::{Change, RunResult};
use crate::schedule::{Counters, Origin};
use crate::spec::RunGroup;
use crate::task::{Reason, TaskState};
use crate::time::{Moment, Timestamp};

/// The exclusive, numbered right to decide. A store refuses commits under an older number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tenure(pub u64);

/// Something the driver must now do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Start an attempt.
    StartAttempt(Start),
    /// Tell a running attempt to stop; end it after the grace. It still reports how it ended.
    StopAttempt {
        /// The task.
        task: TaskKey,
        /// The attempt.
        attempt: u32,
        /// Time to stop by itself.
        grace: Duration,
        /// Why.
        reason: Reason,
    },
    /// A single submission ended; tell whoever waits.
    SubmissionEnded {
        /// It.
        run: RunKey,
        /// Its durable identity.
        id: RunId,
        /// How.
        state: TaskState,
        /// Why.
        reason: Reason,
        /// The text of its last error.
        error: Option<Arc<str>>,
    },
    /// A run ended. [`crate::Scheduler::take_report`] gives the report, once.
    RunEnded {
        /// The run.
        run: RunKey,
        /// How.
        result: RunResult,
    },
    /// Ask a custom trigger for its next instant.
    AskTrigger {
        /// The schedule.
        schedule: ScheduleKey,
        /// The instant before.
        last: Option<Timestamp>,
    },
    /// Make the run of a firing and submit it with [`crate::Command::SubmitFiring`], or say with
    /// [`crate::Event::RunNotMade`] that it cannot be made. Asked again after a restart.
    MakeRun(MakeRun),
    /// A schedule ended.
    ScheduleEnded {
        /// The schedule, which is gone.
        schedule: ScheduleKey,
        /// Its identity.
        id: ScheduleId,
        /// What it has done.
        counters: Box<Counters>,
    },
    /// Ask for units of a shared limit, in place of what was asked for before; zero: for none any
    /// more. Answered by [`crate::Event::UnitsGranted`] when they are there.
    AskUnits {
        /// The limit.
        limit: Arc<str>,
        /// Units, all of them at once.
        units: u32,
    },
    /// Let others have units of a shared limit.
    ReturnUnits {
        /// The limit.
        limit: Arc<str>,
        /// Units.
        units: u32,
    },
    /// This many units of a shared limit are in use after a restore. Others that were held, or asked
    /// for, are not needed. Answered by [`crate::Event::UnitsKept`].
    KeepUnits {
        /// The limit.
        limit: Arc<str>,
        /// Units.
        units: u32,
        /// When it was restored: tells one restore from another.
        since: Moment,
    },
    /// Find a place in a concurrency group for a run. Answered by [`crate::Event::PlaceGiven`],
    /// [`crate::Event::PlaceTaken`] or [`crate::Event::PlaceRefused`].
    JoinGroup {
        /// The run.
        run: RunId,
        /// The group.
        group: RunGroup,
    },
    /// A run needs its place no more, or no longer waits for one.
    LeaveGroup(RunId),
    /// After a restore: of the runs that have places or wait for them only these are left.
    KeepPlaces(Vec<RunId>),
    /// The shutdown is complete: nothing runs, nothing will.
    ShutDownCompleted,
}

/// A firing whose run is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MakeRun {
    /// The schedule.
    pub schedule: ScheduleKey,
    /// Its durable identity.
    pub id: ScheduleId,
    /// The id that the run must have: it follows from the firing, so nobody can make it twice.
    pub run: RunId,
    /// The nominal instant.
    pub nominal: Timestamp,
    /// Where the firing comes from.
    pub origin: Origin,
}

/// An attempt to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The task.
    pub task: TaskKey,
    /// Its durable identity.
    pub id: TaskId,
    /// The number of the attempt.
    pub attempt: u32,
    /// The schedule whose firing this is.
    pub schedule: Option<ScheduleKey>,
    /// Time after which the executor ends it and reports [`crate::Outcome::TimedOut`].
    pub timeout: Option<Duration>,
}

/// Something observers may show. Numbers count up by one without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its place in the sequence.
    pub sequence: u64,
    /// When, on the wall clock.
    pub at: Timestamp,
    /// What the task, run or schedule is called that it tells of, where it has a name.
    pub name: Option<Arc<str>>,
    /// What.
    pub fact: Fact,
}

/// What a notice says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fact {
    /// A run was accepted.
    RunAccepted(RunId),
    /// A run was paused.
    RunPaused(RunId),
    /// A run was resumed.
    RunResumed(RunId),
    /// The priority of a run, of one of its tasks, or of a single submission was changed.
    PriorityChanged {
        /// The run, or the single submission.
        run: RunId,
        /// The task; `None`: those without a priority of their own.
        task: Option<u32>,
        /// The priority from now on.
        priority: Priority,
    },
    /// A run waits for a place in its concurrency group.
    RunWaits {
        /// The run.
        run: RunId,
        /// The group.
        group: Arc<str>,
        /// The runs that have the places.
        holders: Vec<RunId>,
    },
    /// A run that waited has a place in its concurrency group.
    RunGoesOn(RunId),
    /// A run ended.
    RunEnded(RunId, RunResult),
    /// A task can start as soon as there is room.
    TaskReady(TaskId),
    /// A task was added to a live run.
    TaskAdded(TaskId),
    /// An attempt started.
    AttemptStarted(TaskId, u32),
    /// An attempt failed; the task will be tried again after the delay.
    AttemptFailedWillRetry {
        /// The task.
        task: TaskId,
        /// The attempt that failed.
        attempt: u32,
        /// The wait.
        delay: Duration,
        /// The text of the error.
        error: Option<Arc<str>>,
    },
    /// An attempt found that it is not time yet; another one follows after the delay.
    AttemptPostponed {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: u32,
        /// The wait.
        delay: Duration,
    },
    /// A running attempt was told to stop.
    AttemptStopping(TaskId, u32, Reason),
    /// A task ended.
    TaskEnded(TaskId, TaskState, Reason),
    /// A schedule fired.
    ScheduleFired {
        /// The schedule.
        schedule: ScheduleId,
        /// The nominal instant.
        nominal: Timestamp,
        /// The identity of its run, or of its task, which has the index 0 in it; in the ledger too.
        run: RunId,
        /// How late it was.
        lag: Duration,
    },
    /// The work of a firing ended.
    FiringEnded {
        /// The schedule.
        schedule: ScheduleId,
        /// What [`Fact::ScheduleFired`] said.
        run: RunId,
        /// Whether it ended well.
        success: bool,
        /// The text of its error, of a run that of its first task that failed.
        error: Option<Arc<str>>,
    },
    /// The run of a firing could not be made.
    RunNotMade {
        /// The schedule.
        schedule: ScheduleId,
        /// The nominal instant.
        nominal: Timestamp,
        /// Why.
        error: Arc<str>,
    },
    /// Instants of a schedule were skipped.
    InstantsSkipped {
        /// The schedule.
        schedule: ScheduleId,
        /// The first of them.
        first: Timestamp,
        /// How many.
        count: u64,
        /// Why.
        reason: &'static str,
    },
    /// A schedule ended.
    ScheduleEnded(ScheduleId),
    /// A circuit breaker opened, or closed again.
    BreakerChanged {
        /// The limit.
        limit: Arc<str>,
        /// Whether it is open now.
        open: bool,
    },
    /// The scheduler was paused.
    Paused,
    /// The scheduler was resumed.
    Resumed,
    /// The scheduler is shutting down.
    ShuttingDown,
    /// The right to decide was lost, or nobody can say what is stored: nothing is decided until what
    /// is stored was restored. Says why.
    SteppedDown(Arc<str>),
    /// What is stored was restored, under a new tenure, and it goes on.
    Restored,
}

/// A decision under construction: many inputs may be stepped into one.
#[derive(Debug, Default)]
pub struct Decision {
    number: u64,
    recording: bool,
    changes: Vec<Change>,
    /// The changes so far are stored.
    is_stored: bool,
    outputs: Outputs,
}

/// What becomes reachable once the changes are stored.
#[derive(Debug, Default)]
pub struct Outputs {
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// What to tell observers, in order.
    pub notices: Vec<Notice>,
    /// One answer per command, in order.
    pub replies: Vec<Result<Reply, Rejection>>,
}

impl Outputs {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.notices.is_empty() && self.replies.is_empty()
    }

    fn clear(&mut self) {
        self.actions.clear();
        self.notices.clear();
        self.replies.clear();
    }
}

impl Decision {
    /// An empty decision whose changes will be stored.
    #[must_use]
    pub fn new() -> Self {
        Self { recording: true, ..Self::default() }
    }

    /// An empty decision for a store that keeps nothing: changes are not even made.
    #[must_use]
    pub fn volatile() -> Self {
        Self::default()
    }

    /// Whether changes are collected.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.recording
    }

    /// The changes so far, to be looked at.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Its number, counting up within a tenure.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Has the changes stored, and then hands out what to do. After an error it may be offered again.
    ///
    /// The change set is of this call only, and so is its proof: there is no way to what a decision says
    /// but through a store that takes its changes and says that it has them.
    ///
    /// ```
    /// # use tidewheel_core::decision::{ChangeSet, CommitProof, Decision};
    /// fn keep(changes: ChangeSet<'_>) -> Result<CommitProof<'_>, std::io::Error> {
    ///     // ... write changes.changes() ...
    ///     Ok(changes.stored())
    /// }
    /// # fn main() -> Result<(), std::io::Error> {
    /// let mut decision = Decision::new();
    /// // ... Scheduler::step(now, input, &mut decision) ...
    /// let outputs = decision.commit(keep)?;
    /// assert!(outputs.actions.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Without a proof there are no actions:
    ///
    /// ```compile_fail,E0308
    /// # use tidewheel_core::decision::Decision;
    /// Decision::new().commit(|_changes| Ok::<(), ()>(()));
    /// ```
    ///
    /// A change set says only once that it is stored, and is then gone:
    ///
    /// ```compile_fail,E0382
    /// # use tidewheel_core::decision::Decision;
    /// Decision::new().commit(|changes| {
    ///     let proof = changes.stored();
    ///     changes.stored();
    ///     Ok::<_, ()>(proof)
    /// });
    /// ```
    ///
    /// The proof for one decision does not open another, even an equal one:
    ///
    /// ```compile_fail
    /// # use tidewheel_core::decision::Decision;
    /// Decision::new().commit(|changes| {
    ///     let proof = changes.stored();
    ///     Decision::new().commit(|_other| Ok::<_, ()>(proof));
    ///     Err(())
    /// });
    /// ```
    ///
    /// Nor can it be kept for later:
    ///
    /// ```compile_fail
    /// # use tidewheel_core::decision::Decision;
    /// let mut kept = None;
    /// Decision::new().commit(|changes| {
    ///     kept = Some(changes.stored());
    ///     Err(())
    /// });
    /// ```
    ///
    /// # Errors
    ///
    /// What the store says; then nothing is handed out.
    pub fn commit<E>(
        &mut self,
        store: impl for<'c> FnOnce(ChangeSet<'c>) -> Result<CommitProof<'c>, E>,
    ) -> Result<&mut Outputs, E> {
        let changes =
            ChangeSet { number: self.number, changes: &self.changes, decision: PhantomData };
        let CommitProof(_) = store(changes)?;
        self.is_stored = true;
        Ok(&mut self.outputs)
    }

    /// What to do, if there is nothing to store any more: without changes, as with a store that keeps
    /// nothing, a decision is open from the start; else once it is [committed](Self::commit).
    pub fn open(&mut self) -> Option<&mut Outputs> {
        (self.is_stored || self.changes.is_empty()).then_some(&mut self.outputs)
    }

    /// Whether there is nothing to store and nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.outputs.is_empty()
    }

    /// The answer to the newest command, for whoever must find its way to it later. It is not to be
    /// told before the decision is committed, unless it is a refusal, which changes nothing.
    #[must_use]
    pub fn newest_reply(&self) -> Option<&Result<Reply, Rejection>> {
        self.outputs.replies.last()
    }

    /// Closes the decision. What is stepped from now on belongs to the next one, which may be under
    /// construction while this one is being stored.
    #[must_use]
    pub fn close(&mut self) -> Self {
        let next = Self { number: self.number + 1, recording: self.recording, ..Self::default() };
        std::mem::replace(self, next)
    }

    /// Starts the next decision, keeping the buffers.
    pub fn clear(&mut self) {
        self.number += 1;
        self.is_stored = false;
        self.changes.clear();
        self.outputs.clear();
    }

    /// What would have to be done: for looking ahead, where nothing is stored and nothing done.
    pub(crate) fn unstored_actions(&self) -> &[Action] {
        debug_assert!(!self.recording, "what is stored is done only afterwards");
        &self.outputs.actions
    }

    pub(crate) fn change(&mut self, change: impl FnOnce() -> Change) {
        if self.recording {
            self.is_stored = false;
            self.changes.push(change());
        }
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.outputs.actions.push(action);
    }

    pub(crate) fn notify(&mut self, notice: Notice) {
        self.outputs.notices.push(notice);
    }

    pub(crate) fn reply(&mut self, reply: Result<Reply, Rejection>) {
        self.outputs.replies.push(reply);
    }
}

/// The changes of one decision, with the number that makes storing them twice harmless.
///
/// It exists only while [`Decision::commit`] offers it to a store.
#[derive(Debug)]
pub struct ChangeSet<'c> {
    number: u64,
    changes: &'c [Change],
    decision: PhantomData<OneDecision<'c>>,
}

/// Neither a longer nor a shorter time will do, so that no two decisions are ever taken for one another.
type OneDecision<'c> = fn(&'c ()) -> &'c ();

impl<'c> ChangeSet<'c> {
    /// Its number, counting up within a tenure.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The rows.
    #[must_use]
    pub fn changes(&self) -> &'c [Change] {
        self.changes
    }

    /// The proof that these changes are stored. Only a store that has stored them may call this.
    pub fn stored(self) -> CommitProof<'c> {
        CommitProof(PhantomData)
    }
}

/// Evidence that the change set of one decision is stored.
#[derive(Debug)]
#[must_use]
pub struct CommitProof<'c>(PhantomData<OneDecision<'c>>);
