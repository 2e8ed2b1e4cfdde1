//! What is to be done once the lock is released: starts, stops, answers, drops.
//!
//! Everything that may run user code (wakers, drops, callbacks) is one of these, so that user code
//! never runs under the scheduler's lock and may call the wheel from anywhere.

use std::sync::Arc;

use tidewheel_core::decision::{MakeRun, Start};
use tidewheel_core::input::Outcome;
use tidewheel_core::report;
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;

use super::attempt::BoxFuture;
use super::code::{Ask, Repeat, ScheduleEntry, SingleEntry};
use super::engine::ScheduleRef;
use super::making::Maker;
use super::seat::{Seat, Stopped};
use super::span::WorkSpan;
use crate::run::{ExtraCode, RunCell};

/// A graph's code: starts workers for its tasks and is told how the run ended.
pub(crate) trait Launch: Send + Sync {
    /// Spawns a worker that begins with this attempt.
    fn launch(self: Arc<Self>, start: Start);
    /// What the run's handles share.
    fn cell(&self) -> &Arc<RunCell>;
    /// The run has ended with these counts. Called under the scheduler's lock.
    fn count(&self, counts: report::Counts);
    /// The run has ended, with a report unless the wheel is gone.
    fn ended(&self, report: Option<report::RunReport>, end: End);
}

/// Whoever waits for a single submission.
pub(crate) trait Waiter: Send + Sync {
    fn ended(&self, end: End);
    /// Whether it was told.
    fn is_ended(&self) -> bool;
}

/// How a single submission, or everything, ended.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// The scheduler says so.
    Ended { state: TaskState, reason: Reason, error: Option<Arc<str>> },
    /// The wheel was shut down while it waited.
    ShutDown,
    /// Its acceptance was lost, and memory was restored without it.
    Refused(Arc<str>),
    /// The runtime ended, the store failed, or the scheduler broke.
    Lost(Arc<str>),
}

pub(super) enum Effect {
    Launch(Arc<dyn Launch>, Start),
    LaunchSingle(Single),
    Stop(Arc<Seat>, Stopped),
    EndSingle(SingleEntry, End),
    EndRun(Arc<dyn Launch>, Option<Box<report::RunReport>>, End),
    AskTrigger(Option<Ask>, ScheduleRef, Option<Timestamp>),
    MakeRun(Option<Arc<Maker>>, MakeRun),
    /// A schedule's code, to be dropped.
    DropCode(Arc<ScheduleEntry>),
    /// The code of tasks whose addition to a run was lost.
    DropAdded(Vec<Arc<ExtraCode>>),
    ShutDownCompleted,
    Rearm,
}

/// A single attempt ready to run.
pub(super) struct Single {
    pub start: Start,
    pub code: SingleCode,
    pub span: WorkSpan,
}

pub(super) enum SingleCode {
    Future(BoxFuture<Outcome>),
    Call(Arc<Repeat>),
    /// There is no code for it here.
    Missing,
}
