//! [`Outbox`]: what is left for whoever has a run: commands, questions, and answers to its tasks.
//!
//! How the owner finds it is in `inbox`.

use std::time::Duration;

use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::policy::Priority;

use super::{Answer, Previewed, RunCommand, StoreError, TaskAnswer};

/// Leaves something for whoever has a run, in this process or another.
pub trait Outbox: Send {
    /// Leaves a command for whoever has the run or submission.
    ///
    /// # Errors
    ///
    /// When the store cannot be written: nothing was left.
    fn send(&self, run: RunId, command: RunCommand) -> Result<Sent, StoreError>;

    /// Asks whoever has a run why tasks of it are not running, and waits for the answer, for `patience`
    /// at the most. `None`: nobody answered, or nobody has the run.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    fn ask(
        &self,
        run: RunId,
        tasks: &[u32],
        patience: Duration,
    ) -> Result<Option<Vec<TaskAnswer>>, StoreError>;

    /// Asks whoever has a run what the order would be if it, or one of its tasks, had this priority, and waits for the
    /// answer, for `patience` at the most. `None`: nobody answered, or nobody has the run.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    fn preview(
        &self,
        run: RunId,
        task: Option<u32>,
        priority: Priority,
        patience: Duration,
    ) -> Result<Option<Previewed>, StoreError> {
        let _ = (run, task, priority, patience);
        Ok(None)
    }

    /// Keeps what somebody says to a task that waits for it. The first answer counts: `false` if there
    /// is one already.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn answer(&self, task: TaskId, answer: &Answer) -> Result<bool, StoreError>;
}

/// What became of a command that was to be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It waits for the owner.
    Left,
    /// The run has ended.
    Ended,
    /// There is no such run.
    Unknown,
}
