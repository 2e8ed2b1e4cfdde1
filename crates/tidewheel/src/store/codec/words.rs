//! States, reasons and outcomes as the words that rows hold, read back.
//!
//! The words themselves are where the types are (`word()`); here they only find their way home.

use tidewheel_core::task::{Reason, TaskState};

use super::CodecError;
use crate::store::RecordedOutcome;

/// The state called `word`.
pub(crate) fn state_of(word: &str) -> Result<TaskState, CodecError> {
    let found = TaskState::ALL.into_iter().find(|state| state.word() == word);
    found.ok_or_else(|| CodecError::value("the state of a task", word))
}

/// The reason called `word`, with the index of the task that caused it where it has one.
pub(crate) fn reason_of(word: &str, cause: Option<u32>) -> Result<Reason, CodecError> {
    let cause = cause.unwrap_or_default();
    let known = [
        Reason::Ordinary,
        Reason::Error,
        Reason::Panic,
        Reason::AttemptTimeout,
        Reason::TaskTimeout,
        Reason::RunTimeout,
        Reason::DependencyFailed(cause),
        Reason::DependencySkipped(cause),
        Reason::DependencyDeclined(cause),
        Reason::RunStopped(cause),
        Reason::GroupStopped(cause),
        Reason::PartFailed(cause),
        Reason::Requested,
        Reason::Removed,
        Reason::AlreadyDone,
        Reason::Abandoned,
        Reason::ShutDown,
        Reason::Replaced,
        Reason::GroupTaken,
        Reason::Preempted,
        Reason::HandedBack,
        Reason::Lost,
        Reason::Quarantined,
        Reason::Ambiguous,
        Reason::Condition,
        Reason::Postponed,
    ];
    let found = known.into_iter().find(|reason| reason.word() == word);
    found.ok_or_else(|| CodecError::value("the reason for a state", word))
}

/// The outcome called `word`. Nothing is decided by it, so one that this program does not know is left
/// out, as if nobody had recorded it.
pub(crate) fn outcome_of(word: &str) -> Option<RecordedOutcome> {
    let plain = RecordedOutcome::PLAIN.into_iter().find(|outcome| outcome.word() == word);
    plain.or_else(|| reason_of(word, None).ok().map(RecordedOutcome::Again))
}
