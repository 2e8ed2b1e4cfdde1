//! States and reasons in the words that surfaces use: the same while a run goes on and afterwards.
//!
//! The words of states themselves are in [`crate::api`].

use tidewheel::store::{AttemptRecord, RecordedOutcome, RunSummary, TaskSummary};
use tidewheel::task::Reason;
use tidewheel::{RunId, TaskState, Timestamp};

use crate::api::{RunState, StepState};
use crate::kind::Definition;
use crate::text::{harmless, short_id, span};

/// How a step stands, for people.
#[must_use]
pub fn step_state(state: TaskState) -> StepState {
    match state {
        TaskState::Blocked | TaskState::Delayed | TaskState::Ready => StepState::Pending,
        TaskState::Running | TaskState::Cancelling => StepState::Running,
        TaskState::Succeeded => StepState::Succeeded,
        TaskState::Failed => StepState::Failed,
        TaskState::Skipped => StepState::Skipped,
        TaskState::Cancelled => StepState::Cancelled,
        _ => StepState::Unknown,
    }
}

/// What the outcome of an attempt amounts to, from the word for it in [`AttemptLine`](crate::api::AttemptLine). One that
/// ended while its step goes on is what a step would be that ends so.
#[must_use]
pub fn attempt_state(outcome: &str) -> StepState {
    match outcome {
        "succeeded" | "cached" | "reused" => StepState::Succeeded,
        // It was taken away from it, and did not fail.
        "cancelled" | "preempted" | "shut-down" | "handed-back" => StepState::Cancelled,
        "skipped" | "postponed" => StepState::Skipped,
        "unknown" | "lost" | "ambiguous" => StepState::Unknown,
        _ => StepState::Failed,
    }
}

/// The same of a run, and whether it is paused or without anybody who runs it.
#[must_use]
pub fn run_state(summary: &RunSummary, is_abandoned: bool) -> RunState {
    match (summary.is_live, is_abandoned, summary.is_paused) {
        (true, true, _) => RunState::Interrupted,
        (true, false, true) => RunState::Paused,
        (true, false, false) => RunState::Running,
        (false, ..) => match summary.state {
            TaskState::Succeeded => RunState::Succeeded,
            TaskState::Failed => RunState::Failed,
            TaskState::Skipped => RunState::Skipped,
            TaskState::Cancelled => RunState::Cancelled,
            _ => RunState::Unknown,
        },
    }
}

/// That a run waits for its concurrency group, and for whom.
#[must_use]
pub fn group_words(group: &str, holders: &[RunId]) -> String {
    let holders: Vec<String> =
        holders.iter().map(|run| format!("run {}", short_id(*run))).collect();
    let group = harmless(group);
    match holders.is_empty() {
        true => format!("waiting for its group `{group}`"),
        false => format!("waiting for its group `{group}`, held by {}", holders.join(", ")),
    }
}

const REUSED: &str = "reused";

/// The word for a task that was not run: what it had left was used, or it was passed over.
pub(crate) fn done_before(definition: &dyn Definition, task: &str) -> String {
    if definition.is_passed_over(task) { "passed over" } else { REUSED }.to_owned()
}

/// When a task ended, if it was its newest attempt that ended it, by what that one left: what happened may have been
/// decided much later. One that was ended by others may have ended before that was known.
pub(crate) fn ended_by_itself(state: TaskState, record: &AttemptRecord) -> Option<Timestamp> {
    use RecordedOutcome::{Cached, Failed, Reused, Succeeded};
    let is_its_end = match state {
        TaskState::Succeeded => matches!(record.outcome, None | Some(Succeeded | Cached | Reused)),
        TaskState::Failed => matches!(record.outcome, None | Some(Failed)),
        _ => false,
    };
    record.ended_at.filter(|_| is_its_end)
}

/// Why a task is in its state, if that needs saying.
pub(super) fn reason_of(task: &TaskSummary, tasks: &[TaskSummary]) -> Option<String> {
    let cause = |index: u32| {
        tasks.get(index as usize).map_or_else(|| "?".to_owned(), |task| task.name.clone())
    };
    reason_words(task.reason, cause)
}

/// The same of a reason alone, with the names of tasks that are the cause.
#[must_use]
pub fn reason_words(reason: Reason, cause: impl Fn(u32) -> String) -> Option<String> {
    Some(match reason {
        Reason::Ordinary => return None,
        Reason::Error => "failed".to_owned(),
        Reason::DependencyFailed(index) => format!("`{}` failed", cause(index)),
        Reason::DependencySkipped(index) => format!("`{}` was skipped", cause(index)),
        Reason::DependencyDeclined(index) => {
            format!("`{}` was skipped by its condition", cause(index))
        }
        Reason::RunStopped(index) => format!("the run was stopped by `{}`", cause(index)),
        // By something in its group, or by the group itself, whose time was over.
        Reason::GroupStopped(index) => format!("stopped by `{}`", cause(index)),
        Reason::PartFailed(index) => format!("`{}` failed", cause(index)),
        Reason::AttemptTimeout => "timed out".to_owned(),
        Reason::TaskTimeout => "out of time".to_owned(),
        Reason::RunTimeout => "the run was out of time".to_owned(),
        Reason::Requested => "cancelled".to_owned(),
        Reason::AlreadyDone => REUSED.to_owned(),
        Reason::Replaced => "a newer run of its group took its place".to_owned(),
        Reason::GroupTaken => "its group was taken".to_owned(),
        Reason::Condition => "condition".to_owned(),
        Reason::Quarantined => "quarantined".to_owned(),
        Reason::Ambiguous => "nobody can say whether it took effect".to_owned(),
        Reason::Postponed => "waits".to_owned(),
        other => other.word().to_owned(),
    })
}

/// Why a task was skipped that said by its exit code that there is nothing to do.
pub(crate) fn skip_words(code: i32) -> String {
    format!("exit code {code}")
}

/// Which limit a task ran into, and what it waited for.
pub(crate) fn timeout_words(
    reason: Reason,
    definition: &dyn Definition,
    task: &str,
) -> Option<String> {
    if !matches!(reason, Reason::AttemptTimeout | Reason::TaskTimeout) {
        return None;
    }
    let (waited_for, limits) = (definition.waits_for(task), definition.timeouts(task));
    let limit = match reason {
        Reason::AttemptTimeout => limits.attempt,
        // The looks of a step that waits have no limit of their own.
        _ if waited_for.is_some() => limits.task.or(limits.attempt),
        _ => limits.task,
    };
    let said = if waited_for.is_some() { Reason::AttemptTimeout } else { reason };
    let mut words = reason_words(said, |_| String::new())?;
    if let Some(limit) = limit {
        words.push_str(&format!(" after {}", span(limit)));
    }
    if let Some(what) = waited_for {
        words.push_str(&format!(", {}", what.replacen("waits", "waited", 1)));
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_without_work_has_succeeded_and_one_taken_away_has_not_failed() {
        use RecordedOutcome::{Again, Cached, Failed, Reused, Skipped, Succeeded, Unknown};
        let outcomes = [
            (Succeeded, StepState::Succeeded),
            (Cached, StepState::Succeeded),
            (Reused, StepState::Succeeded),
            (Failed, StepState::Failed),
            (Skipped, StepState::Skipped),
            (RecordedOutcome::Cancelled, StepState::Cancelled),
            (Unknown, StepState::Unknown),
            (Again(Reason::Error), StepState::Failed),
            (Again(Reason::Panic), StepState::Failed),
            (Again(Reason::AttemptTimeout), StepState::Failed),
            (Again(Reason::Postponed), StepState::Skipped),
            (Again(Reason::Preempted), StepState::Cancelled),
            (Again(Reason::HandedBack), StepState::Cancelled),
            (Again(Reason::ShutDown), StepState::Cancelled),
            (Again(Reason::Lost), StepState::Unknown),
            (Again(Reason::Ambiguous), StepState::Unknown),
        ];
        for (outcome, state) in outcomes {
            assert_eq!(attempt_state(outcome.word()), state, "{outcome:?}");
        }
    }
}
