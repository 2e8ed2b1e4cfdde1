//! The task: its states, the reasons for them, and the one table of legal transitions.
//!
//! ```text
//!            ┌───────────── removed, skipped, cancelled ──────────────┐
//!            │                                                        v
//! Blocked ─> Ready ─> Running ──────────────────> Succeeded | Failed | Skipped | Cancelled | Unknown
//!    └─> Delayed ^ <──┘  │  └─> Cancelling ────────────────────────^
//!           └────┘       └─ retry, not time yet: Delayed or Ready
//! ```
//!
//! What follows from a transition (dependents, slots, rows) is the scheduler's business.

use std::fmt;

use crate::id::ProfileId;
use crate::time::Moment;

/// Where a task stands. Terminal states have no exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskState {
    /// Waits for other tasks.
    Blocked,
    /// Waits for time: a start delay, the pause before a retry, or the time it asked for itself. Holds
    /// no slot.
    Delayed,
    /// Could start; waits for its turn, a slot or a limit.
    Ready,
    /// An attempt is under way.
    Running,
    /// An attempt is under way and has been told to stop.
    Cancelling,
    /// Ended well.
    Succeeded,
    /// Ended badly, after its last attempt.
    Failed,
    /// Not done, by rule: something it needs did not succeed, the run or its group stopped, its
    /// condition does not hold, or its own attempt found that there is nothing to do. Only in the last
    /// case was it ever started.
    Skipped,
    /// Ended by request.
    Cancelled,
    /// An at-most-once task whose attempt was lost: nobody can say whether it took effect.
    Unknown,
}

impl TaskState {
    /// Every state, in order.
    pub const ALL: [Self; 10] = [
        Self::Blocked,
        Self::Delayed,
        Self::Ready,
        Self::Running,
        Self::Cancelling,
        Self::Succeeded,
        Self::Failed,
        Self::Skipped,
        Self::Cancelled,
        Self::Unknown,
    ];

    /// Whether the state has no exits.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Skipped | Self::Cancelled | Self::Unknown
        )
    }

    /// Whether an attempt is under way and holds a slot.
    #[must_use]
    pub const fn holds_slot(self) -> bool {
        matches!(self, Self::Running | Self::Cancelling)
    }

    /// The table of legal transitions.
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        use TaskState::*;
        matches!(
            (self, to),
            (Blocked, Ready | Delayed | Succeeded | Failed | Skipped | Cancelled)
                | (Delayed, Ready | Failed | Skipped | Cancelled)
                | (Ready, Running | Failed | Skipped | Cancelled)
                | (
                    Running,
                    Ready
                        | Delayed
                        | Cancelling
                        | Succeeded
                        | Failed
                        | Skipped
                        | Cancelled
                        | Unknown
                )
                | (
                    Cancelling,
                    Ready | Delayed | Succeeded | Failed | Skipped | Cancelled | Unknown
                )
        )
    }

    /// The word used in rows, reports and scenarios.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Delayed => "delayed",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a task is in its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing special: it waits, runs or succeeded in the ordinary way.
    #[default]
    Ordinary,
    /// Its last attempt failed.
    Error,
    /// Its last attempt panicked.
    Panic,
    /// Its last attempt ran out of time.
    AttemptTimeout,
    /// The time for all its attempts and waiting ran out.
    TaskTimeout,
    /// The time for the whole run ran out.
    RunTimeout,
    /// The task with this index, which it needs, failed.
    DependencyFailed(u32),
    /// The task with this index, which it needs, did not run.
    DependencySkipped(u32),
    /// The task with this index, which it needs, was skipped by a condition, and so is this one.
    DependencyDeclined(u32),
    /// The failure of the task with this index stopped the run.
    RunStopped(u32),
    /// The failure of the task with this index stopped the group it is in.
    GroupStopped(u32),
    /// The task with this index, which is in the group that this one is the end of, failed.
    PartFailed(u32),
    /// Somebody asked for it.
    Requested,
    /// It was taken out of the run.
    Removed,
    /// It was recorded as done before the run started.
    AlreadyDone,
    /// Nobody waits for its result any more.
    Abandoned,
    /// The scheduler shut down.
    ShutDown,
    /// A newer firing of its schedule, or a newer run of its concurrency group, replaced it.
    Replaced,
    /// Its concurrency group was taken, and it was not to wait.
    GroupTaken,
    /// An attempt gave way to a more important task; the task will run again.
    Preempted,
    /// A shutdown that keeps waiting work stopped an attempt; the task will run again.
    HandedBack,
    /// An attempt was lost with its worker; the task will run again.
    Lost,
    /// Too many of its attempts were lost with their worker.
    Quarantined,
    /// Its only attempt was lost and may have taken effect.
    Ambiguous,
    /// Its condition does not hold: that over other tasks, or the one that its attempt looked at.
    Condition,
    /// Its attempt found that it is not time yet; the task will run again.
    Postponed,
}

impl Reason {
    /// The word used in rows, reports and scenarios.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::AttemptTimeout => "attempt-timeout",
            Self::TaskTimeout => "task-timeout",
            Self::RunTimeout => "run-timeout",
            Self::DependencyFailed(_) => "dependency-failed",
            Self::DependencySkipped(_) => "dependency-skipped",
            Self::DependencyDeclined(_) => "dependency-declined",
            Self::RunStopped(_) => "run-stopped",
            Self::GroupStopped(_) => "group-stopped",
            Self::PartFailed(_) => "part-failed",
            Self::Requested => "requested",
            Self::Removed => "removed",
            Self::AlreadyDone => "already-done",
            Self::Abandoned => "abandoned",
            Self::ShutDown => "shut-down",
            Self::Replaced => "replaced",
            Self::GroupTaken => "group-taken",
            Self::Preempted => "preempted",
            Self::HandedBack => "handed-back",
            Self::Lost => "lost",
            Self::Quarantined => "quarantined",
            Self::Ambiguous => "ambiguous",
            Self::Condition => "condition",
            Self::Postponed => "postponed",
        }
    }

    /// The index of the task that caused it, where one did.
    #[must_use]
    pub const fn cause(self) -> Option<u32> {
        match self {
            Self::DependencyFailed(index)
            | Self::DependencySkipped(index)
            | Self::DependencyDeclined(index)
            | Self::RunStopped(index)
            | Self::GroupStopped(index)
            | Self::PartFailed(index) => Some(index),
            _ => None,
        }
    }

    /// Whether a task that was skipped for it declined: by a condition, its own or that of a task it
    /// needs, and not because something failed. Only such skips have words (see
    /// [`crate::policy::skip`]).
    #[must_use]
    pub const fn is_declined(self) -> bool {
        matches!(self, Self::Condition | Self::DependencyDeclined(_))
    }

    /// Whether the attempt that led to it says how long such work takes, and how it fares.
    pub(crate) const fn tells_of_work(self) -> bool {
        !matches!(self, Self::Condition | Self::Postponed)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What the scheduler holds of a task. One cache line; a million of them are 64 MB.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub state: TaskState,
    pub priority: u8,
    /// Dependents go on although this task did not succeed (see [`crate::policy`]).
    pub released: bool,
    /// The task waits because another task of its key is ahead.
    pub held_by_key: bool,
    /// Index into the run's profiles; the scheduler's own number for a single submission.
    pub profile: ProfileId,
    /// Attempts claimed so far.
    pub attempts: u32,
    pub reason: Reason,
    pub ready_at: Moment,
    pub started_at: Moment,
    pub ended_at: Moment,
    /// Place in the order of becoming ready, unique in the scheduler.
    pub ready_sequence: u64,
    /// Place in the run's own order; lower goes first.
    pub rank: u32,
    /// Next task of the same rank in the ready set.
    pub next: u32,
}

/// "No task" in links between tasks.
pub(crate) const NO_TASK: u32 = u32::MAX;

impl Task {
    pub fn new(profile: ProfileId, priority: u8) -> Self {
        Self {
            state: TaskState::Blocked,
            priority,
            released: false,
            held_by_key: false,
            profile,
            attempts: 0,
            reason: Reason::Ordinary,
            ready_at: Moment::ZERO,
            started_at: Moment::MAX,
            ended_at: Moment::MAX,
            ready_sequence: 0,
            rank: 0,
            next: NO_TASK,
        }
    }

    /// Whether it was skipped by a condition.
    pub fn is_declined(&self) -> bool {
        self.state == TaskState::Skipped && self.reason.is_declined()
    }

    /// Whether it has ended in a way that lets every task go on that needs it, unless a word for
    /// skips says otherwise.
    pub fn is_met(&self) -> bool {
        self.state == TaskState::Succeeded || self.is_declined()
    }

    /// Whether it was removed while it ran: what its attempt says at its end counts for nothing.
    #[inline]
    pub fn is_being_removed(&self) -> bool {
        self.state == TaskState::Cancelling && self.reason == Reason::Removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_states_have_no_exits() {
        for from in TaskState::ALL.into_iter().filter(|state| state.is_terminal()) {
            for to in TaskState::ALL {
                assert!(!from.may_become(to), "{from} -> {to}");
            }
        }
    }

    #[test]
    fn every_state_but_the_first_can_be_reached() {
        let mut reached = vec![TaskState::Blocked];
        let mut next = 0;
        while let Some(from) = reached.get(next).copied() {
            next += 1;
            for to in TaskState::ALL {
                if from.may_become(to) && !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        for state in TaskState::ALL {
            assert!(reached.contains(&state), "{state} cannot be reached from {}", reached[0]);
        }
    }

    #[test]
    fn a_task_is_one_cache_line() {
        assert_eq!(size_of::<Task>(), 64);
    }
}
