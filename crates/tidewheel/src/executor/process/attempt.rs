//! Runs a process for an attempt of a wheel: told to stop when the attempt is, and waited for.
//!
//! What the end means for the task is for the task's code to say.

use std::task::{Context, Poll};
use std::time::Duration;

use super::{AttemptId, Output, ProcessCommand, ProcessEnd, ProcessError, ProcessStatus};
use super::{Processes, ProcessesBuilder, Stop, end_survivors};
use crate::attempt::Attempt;
use crate::store::{AttemptRecord, LogFile, SharedShard};

impl Processes {
    /// Runs a command as the process of this attempt. When the attempt is told to stop, or its time
    /// is over, so is the whole tree, and the attempt ends when that is gone, not before. When it is
    /// told again, with less time left, that counts.
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
        let stop = |context: &mut Context<'_>, granted: Option<Duration>| {
            let request = std::task::ready!(attempt.poll_stop(granted, context));
            let own = command.grace.unwrap_or_else(|| self.grace());
            Poll::Ready(Stop { grace: request.grace.unwrap_or(own) })
        };
        self.run_until_stopped(attempt.attempt_id(), command, stop).await
    }
}

impl ProcessesBuilder {
    /// Everything about processes of work that a shard keeps: the mark of its folder, its logs, and
    /// its lock, which then lasts until the last process is gone.
    pub fn of_shard(self, shard: SharedShard) -> Self {
        self.mark(&shard.mark).logs(shard.logs).hold(shard.lock)
    }

    /// As [`Processes::reclaim`], before any spawner is started.
    pub fn reclaim(
        &self,
    ) -> impl FnMut(&[AttemptId]) -> Result<(), crate::task::BoxError> + Send + 'static {
        reclaim(self.mark.clone(), self.grace)
    }
}

impl Processes {
    /// For [`crate::Builder::reclaim`]: ends what is left of attempts that were under way when the
    /// last owner of the store died.
    pub fn reclaim(
        &self,
    ) -> impl FnMut(&[AttemptId]) -> Result<(), crate::task::BoxError> + Send + 'static {
        reclaim(self.mark().to_owned(), self.grace())
    }
}

fn reclaim(
    mark: String,
    grace: Duration,
) -> impl FnMut(&[AttemptId]) -> Result<(), crate::task::BoxError> + Send + 'static {
    move |attempts| {
        if !attempts.is_empty() {
            end_survivors(&mark, Some(attempts), grace)?;
        }
        Ok(())
    }
}

impl ProcessEnd {
    /// What a store keeps of it.
    #[must_use]
    pub fn record(&self, attempt: &Attempt) -> AttemptRecord {
        let (code, signal) = match self.status {
            ProcessStatus::Exited(code) => (Some(code), None),
            ProcessStatus::Signalled { number, .. } => (None, Some(number)),
        };
        AttemptRecord {
            task: attempt.id(),
            attempt: attempt.number(),
            started_at: Some(self.started.into()),
            ended_at: Some(self.ended.into()),
            code,
            signal,
            tail: Some(self.tail.clone()).filter(|tail| !tail.is_empty()),
            stdout: log_file(&self.stdout),
            stderr: log_file(&self.stderr),
            warnings: [("output", &self.stdout), ("error", &self.stderr)]
                .into_iter()
                .filter_map(|(stream, output)| not_kept(stream, output))
                .collect(),
            ..AttemptRecord::default()
        }
    }
}

/// That what a process wrote could not be written down.
fn not_kept(stream: &str, output: &Output) -> Option<String> {
    let problem = output.problem.as_ref()?;
    Some(format!("its standard {stream} could not be kept: {problem}"))
}

fn log_file(output: &Output) -> Option<LogFile> {
    let path = output.path.clone()?;
    Some(LogFile { path, bytes: output.bytes_kept, cut: output.is_cut })
}
