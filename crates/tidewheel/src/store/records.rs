//! [`Records`]: what attempts left, and what people said to tasks, as a store gives it back.
//!
//! How it gets there is in `keep` (with the outcome of the attempt) and `outbox` (from another process).

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::row::TaskRow;
use tidewheel_core::task::{Reason, TaskState};

use super::{
    Answer, AttemptRecord, OutputRecord, RecordedOutcome, StoreError, TaskResult, TaskSummary,
};

/// Gives back what attempts left. Every question fails only when the store cannot be read.
#[expect(clippy::missing_errors_doc, reason = "said once, above")]
pub trait Records: Send {
    /// The attempts of a task that are known, by number, without their outputs.
    fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRecord>, StoreError>;

    /// The values that a task left, by name.
    fn outputs(&self, task: TaskId) -> Result<Vec<OutputRecord>, StoreError>;

    /// The newest attempt that is known of each task of a run, and what it left, by index.
    fn results(&self, run: RunId) -> Result<BTreeMap<u32, TaskResult>, StoreError>;

    /// How the newest attempt of each task ended of which that is known, by index.
    fn outcomes(&self, run: RunId) -> Result<BTreeMap<u32, RecordedOutcome>, StoreError>;

    /// How long the newest attempt of each task took by its own account, of those that gave one, by index. What was
    /// decided is stored with the time of deciding, and a store that is slow comes in between.
    fn times(&self, _run: RunId) -> Result<BTreeMap<u32, Duration>, StoreError> {
        Ok(BTreeMap::new())
    }

    /// What somebody said to a task that waits for it.
    fn answer(&self, task: TaskId) -> Result<Option<Answer>, StoreError>;
}

/// Takes over what `newer` knows of the same attempt, except its outputs.
pub(super) fn merge(record: &mut AttemptRecord, newer: &AttemptRecord) {
    let newer = newer.clone();
    let older = std::mem::take(record);
    *record = AttemptRecord {
        task: newer.task,
        attempt: newer.attempt,
        started_at: newer.started_at.or(older.started_at),
        ended_at: newer.ended_at.or(older.ended_at),
        outcome: newer.outcome.or(older.outcome),
        code: newer.code.or(older.code),
        signal: newer.signal.or(older.signal),
        error: newer.error.or(older.error),
        tail: newer.tail.or(older.tail),
        warnings: if newer.warnings.is_empty() { older.warnings } else { newer.warnings },
        stdout: newer.stdout.or(older.stdout),
        stderr: newer.stderr.or(older.stderr),
        outputs: older.outputs,
    };
}

/// Whether the row says that an attempt ended and the task did not: then the attempt is known by it,
/// whether or not it left a record.
///
/// Attempts that only found that it is not time yet are not kept so, however many there are.
pub(super) fn says_attempt_ended(row: &TaskRow) -> bool {
    matches!(row.state, TaskState::Ready | TaskState::Delayed)
        && row.attempts > 0
        && !matches!(row.reason, Reason::Ordinary | Reason::Postponed)
}

/// Adds what the row of a task says of its newest attempt to what is known of its attempts: nobody may
/// have left a record of it.
pub(super) fn complete(task: TaskId, row: TaskSummary, known: &mut Vec<AttemptRecord>) {
    let is_over = row.state.is_terminal();
    if row.attempts == 0 || !(is_over || row.state.holds_slot()) {
        return;
    }
    let newest = match known.iter_mut().find(|record| record.attempt == row.attempts) {
        Some(newest) => newest,
        None => {
            known.push(AttemptRecord { task, attempt: row.attempts, ..AttemptRecord::default() });
            let last = known.len() - 1;
            &mut known[last]
        }
    };
    newest.started_at = newest.started_at.or(row.started_at);
    if is_over {
        newest.ended_at = newest.ended_at.or(row.at);
        newest.outcome = newest.outcome.or(RecordedOutcome::of_state(row.state));
        newest.error = newest.error.take().or(row.error);
    }
}
