//! States and reasons in the words that surfaces use.

use tidewheel::store::{RunSummary, TaskSummary};
use tidewheel::{Reason, TaskState};

/// pending, running, succeeded, failed, skipped, cancelled, unknown.
pub(crate) fn task_state(state: TaskState) -> &'static str {
    match state {
        TaskState::Blocked | TaskState::Delayed | TaskState::Ready => "pending",
        TaskState::Running | TaskState::Cancelling => "running",
        ended => ended.word(),
    }
}

/// The same of a run, and whether it is paused or without anybody who runs it.
pub(crate) fn run_state(summary: &RunSummary, is_abandoned: bool) -> &'static str {
    match (summary.is_live, is_abandoned, summary.is_paused) {
        (false, ..) => task_state(summary.state),
        (true, true, _) => "interrupted",
        (true, false, true) => "paused",
        (true, false, false) => "running",
    }
}

/// Why a task is in its state, if that needs saying.
pub(crate) fn reason_words(task: &TaskSummary, tasks: &[TaskSummary]) -> Option<String> {
    let cause = |index: u32| {
        tasks.get(index as usize).map_or_else(|| "?".to_owned(), |task| task.name.clone())
    };
    Some(match task.reason {
        Reason::Ordinary => return None,
        Reason::Error => "failed".to_owned(),
        Reason::DependencyFailed(index) => format!("`{}` failed", cause(index)),
        Reason::DependencySkipped(index) => format!("`{}` was skipped", cause(index)),
        Reason::RunStopped(index) => format!("the run was stopped by `{}`", cause(index)),
        Reason::AttemptTimeout => "timed out".to_owned(),
        Reason::TaskTimeout => "out of time".to_owned(),
        Reason::RunTimeout => "the run was out of time".to_owned(),
        Reason::Requested => "cancelled".to_owned(),
        Reason::AlreadyDone => "reused".to_owned(),
        Reason::Condition => "condition".to_owned(),
        Reason::Quarantined => "quarantined".to_owned(),
        Reason::Ambiguous => "nobody can say whether it took effect".to_owned(),
        Reason::Postponed => "waits".to_owned(),
        other => other.word().to_owned(),
    })
}
