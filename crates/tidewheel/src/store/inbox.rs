//! Commands for work that another process has.
//!
//! How they get there is the store's business; what they do is the scheduler's.

use std::error::Error;
use std::time::Duration;

use tidewheel_core::id::RunId;
use tidewheel_core::policy::Priority;
use tidewheel_core::time::Timestamp;

use super::question::{Previewed, Question, TaskAnswer, WhatIf};

/// Finds commands that other processes sent.
pub trait CommandSource: Send {
    /// Has `ring` called whenever something may have come, for as long as the source is there. False where nobody can tell:
    /// then it is looked again and again. What is told may be told too often, and should it be kept back, it is looked all
    /// the same from time to time.
    fn listen(&mut self, ring: Box<dyn Fn() + Send>) -> bool {
        let _ = ring;
        false
    }

    /// The commands that came since the last call, oldest first. Called often: cheap when there are
    /// none.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn take(&mut self) -> Result<Vec<SentCommand>, Box<dyn Error + Send + Sync>>;

    /// Removes commands that were followed, or that nobody can follow any more.
    ///
    /// # Errors
    ///
    /// When the store cannot be written: they will come again to the next owner.
    fn acknowledge(&mut self, commands: &[SentCommand])
    -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Whether a run or submission is unfinished, as stored, and whoever finds these commands has it. Asked about those that
    /// nobody knows: somebody may have put them there.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn has(&mut self, run: RunId) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let _ = run;
        Ok(false)
    }

    /// The questions that came since the last call, oldest first. Called after [`CommandSource::take`],
    /// as often.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn questions(&mut self) -> Result<Vec<Question>, Box<dyn Error + Send + Sync>> {
        Ok(Vec::new())
    }

    /// Answers a question, unless nobody waits for the answer any more.
    ///
    /// # Errors
    ///
    /// When the store cannot be written: whoever asked gets no answer.
    fn answer(
        &mut self,
        question: i64,
        answer: &Vec<TaskAnswer>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let _ = (question, answer);
        Ok(())
    }

    /// The questions about other priorities that came since the last call, oldest first. Called after
    /// [`CommandSource::questions`], as often.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn what_ifs(&mut self) -> Result<Vec<WhatIf>, Box<dyn Error + Send + Sync>> {
        Ok(Vec::new())
    }

    /// Answers a question about another priority, unless nobody waits for the answer any more.
    ///
    /// # Errors
    ///
    /// When the store cannot be written: whoever asked gets no answer.
    fn answer_what_if(
        &mut self,
        question: i64,
        answer: &Previewed,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let _ = (question, answer);
        Ok(())
    }
}

/// What somebody wants of a run or submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunCommand {
    /// Start nothing more of it; what runs finishes.
    Drain,
    /// Cancel it; its clean-up still runs.
    Cancel {
        /// Time for running attempts to stop by themselves.
        grace: Duration,
    },
    /// Cancel it, clean-up too.
    End {
        /// Time for running attempts to stop by themselves.
        grace: Duration,
    },
    /// Cancel one of its tasks: what needs it is skipped, everything else goes on.
    CancelTask {
        /// The index of the task.
        task: u32,
        /// Time for a running attempt to stop by itself.
        grace: Duration,
    },
    /// Cancel it, because a newer run of its concurrency group takes its place.
    Replace {
        /// Time for running attempts to stop by themselves.
        grace: Duration,
    },
    /// Start nothing more of it until it is resumed.
    Pause,
    /// Go on with it.
    Resume,
    /// Change its priority.
    SetPriority {
        /// The index of a task; `None`: all that were given no other priority than the run.
        task: Option<u32>,
        /// The priority.
        priority: Priority,
    },
    /// Something of a schedule, whose identity stands in the place of the run's.
    OfSchedule(ScheduleCommand),
}

/// What somebody wants of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleCommand {
    /// Let no instant fire until it is resumed.
    Pause,
    /// Let it fire again.
    Resume,
    /// Fire once, now.
    FireNow {
        /// Only if no more firings were asked for than this: a command may come twice.
        asked_for: u64,
    },
    /// Fire an instant of the past.
    Backfill {
        /// The instant.
        nominal: Timestamp,
        /// Only if no more firings were asked for than this.
        asked_for: u64,
        /// Whether it runs beside others, instead of after them.
        at_once: bool,
    },
}

/// A command as its owner finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentCommand {
    /// Its number, to be acknowledged when it was followed.
    pub id: i64,
    /// The run or submission, or the identity of a schedule.
    pub run: RunId,
    /// What is wanted.
    pub command: RunCommand,
}
