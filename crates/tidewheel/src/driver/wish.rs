//! [`Wish`]: what is asked of a scheduler and outlasts a store in trouble.
//!
//! How it is kept, and asked again when memory was lost, is in `books`.

use std::time::Duration;

use tidewheel_core::id::TaskKey;
use tidewheel_core::input::{CancelMode, Command, Dependents, ShutdownMode};
use tidewheel_core::policy::Priority;

use super::engine::{Engine, RunRef, ScheduleRef};

/// Something that is not forgotten while the store is in trouble, and asked again should it be lost with memory.
#[derive(Debug, Clone, Copy)]
pub enum Wish {
    /// Start nothing more.
    Pause,
    /// Start tasks again.
    Resume,
    /// Cancel a run or single submission.
    Cancel(RunRef, CancelMode),
    /// Nobody waits for a single submission any more.
    Abandon(RunRef),
    /// Start nothing more of a run.
    PauseRun(RunRef),
    /// Start tasks of a run again.
    ResumeRun(RunRef),
    /// Let a run that was kept open end.
    CloseRun(RunRef),
    /// Change how many tasks of a run may run at once.
    SetRunSlots(RunRef, Option<u32>),
    /// Change the priority of a run, of one of its tasks, or of a single submission.
    SetPriority(RunRef, Option<u32>, Priority),
    /// Cancel a task of a run.
    CancelTask(RunRef, u32, CancelMode),
    /// Take a task out of a run.
    RemoveTask(RunRef, u32, Dependents, Option<Duration>),
    /// Let nothing of a schedule fire.
    PauseSchedule(ScheduleRef),
    /// Let a schedule fire again.
    ResumeSchedule(ScheduleRef),
    /// End a schedule.
    CancelSchedule(ScheduleRef),
    /// Come to an end.
    ShutDown(ShutdownMode, Option<Duration>),
}

impl Wish {
    /// The command; `None` when what it is about is gone.
    #[must_use]
    pub fn command(self, engine: &Engine) -> Option<Command> {
        let task = |run, index| Some(TaskKey { run: engine.find_run(run)?, index });
        Some(match self {
            Self::Pause => Command::Pause,
            Self::Resume => Command::Resume,
            Self::Cancel(run, mode) => Command::CancelRun { run: engine.find_run(run)?, mode },
            Self::Abandon(run) => Command::Abandon(engine.find_run(run)?),
            Self::PauseRun(run) => Command::PauseRun(engine.find_run(run)?),
            Self::ResumeRun(run) => Command::ResumeRun(engine.find_run(run)?),
            Self::CloseRun(run) => Command::CloseRun(engine.find_run(run)?),
            Self::SetRunSlots(run, slots) => {
                Command::SetRunSlots { run: engine.find_run(run)?, slots }
            }
            Self::SetPriority(run, task, priority) => {
                Command::SetPriority { run: engine.find_run(run)?, task, priority }
            }
            Self::CancelTask(run, index, mode) => {
                Command::CancelTask { task: task(run, index)?, mode }
            }
            Self::RemoveTask(run, index, dependents, grace) => {
                Command::RemoveTask { task: task(run, index)?, dependents, grace }
            }
            Self::PauseSchedule(schedule) => {
                Command::PauseSchedule(engine.find_schedule(schedule)?)
            }
            Self::ResumeSchedule(schedule) => {
                Command::ResumeSchedule(engine.find_schedule(schedule)?)
            }
            Self::CancelSchedule(schedule) => {
                Command::CancelSchedule(engine.find_schedule(schedule)?)
            }
            Self::ShutDown(mode, grace) => Command::ShutDown { mode, grace },
        })
    }
}
