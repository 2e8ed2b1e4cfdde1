//! Runs a process for an attempt of a wheel: told to stop when the attempt is, and waited for.
//!
//! What the end means for the task is for the task's code to say.

use super::{AttemptId, ProcessCommand, ProcessEnd, ProcessError, Processes, Stop};
use crate::attempt::Attempt;

impl Processes {
    /// Runs a command as the process of this attempt. When the attempt is told to stop, or its time
    /// is over, so is the whole tree, and the attempt ends when that is gone, not before.
    ///
    /// # Errors
    ///
    /// As [`Processes::run`].
    pub async fn run_attempt(
        &self,
        attempt: &Attempt,
        command: &ProcessCommand,
    ) -> Result<ProcessEnd, ProcessError> {
        attempt.end_by_itself();
        let id = AttemptId { task: attempt.id(), number: attempt.number() };
        let stop = async {
            let request = attempt.stop().await;
            Stop { grace: request.grace.unwrap_or_else(|| self.grace()) }
        };
        self.run(id, command, stop).await
    }
}
