//! States and reasons in the words that surfaces use: the same while a run goes on and afterwards.

use tidewheel::store::{RunSummary, TaskSummary};
use tidewheel::{Reason, TaskState};
use tidewheel_client::text::span;
use tidewheel_flow::Step;

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
    words_of(task.reason, cause)
}

/// The same of a reason alone, with the names of tasks that are the cause.
pub(crate) fn words_of(reason: Reason, cause: impl Fn(u32) -> String) -> Option<String> {
    Some(match reason {
        Reason::Ordinary => return None,
        Reason::Error => "failed".to_owned(),
        Reason::DependencyFailed(index) => format!("`{}` failed", cause(index)),
        Reason::DependencySkipped(index) => format!("`{}` was skipped", cause(index)),
        Reason::DependencyDeclined(index) => {
            format!("`{}` was skipped by its condition", cause(index))
        }
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

/// Which limit a task of this step ran into, and what it waited for.
pub(crate) fn timeout_words(reason: Reason, step: Option<&Step>) -> Option<String> {
    let is_wait = step.is_some_and(|step| step.waits_for().is_some());
    let limit = |step: &Step| match reason {
        Reason::AttemptTimeout => step.treatment.attempt_timeout,
        // The looks of a step that waits have no limit of their own.
        _ if is_wait => step.treatment.step_timeout.or(step.treatment.attempt_timeout),
        _ => step.treatment.step_timeout,
    };
    if !matches!(reason, Reason::AttemptTimeout | Reason::TaskTimeout) {
        return None;
    }
    let said = if is_wait { Reason::AttemptTimeout } else { reason };
    let mut words = words_of(said, |_| String::new())?;
    if let Some(limit) = step.and_then(limit) {
        words.push_str(&format!(" after {}", span(limit)));
    }
    if let Some(what) = step.and_then(Step::waits_for) {
        words.push_str(&format!(", {}", what.replacen("waits", "waited", 1)));
    }
    Some(words)
}
