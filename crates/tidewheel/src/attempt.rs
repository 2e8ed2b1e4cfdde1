//! [`Attempt`]: what the code of a single task or a firing knows about its own attempt.
//!
//! Tasks of a graph know more; their context is [`crate::Task`].

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tidewheel_core::id::{AttemptId, TaskId};
use tidewheel_core::task::Reason;
use tidewheel_core::time::Timestamp;

use crate::driver::{Seat, Until};
use crate::run::Run;
use crate::store::AttemptRecord;
use crate::wheel::Tidewheel;

/// One try at a single task or at a firing of a schedule, as its own code sees it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::Tidewheel;
///
/// let wheel = Tidewheel::builder().start();
/// let request = wheel.task_with(|attempt| async move {
///     if attempt.number() < 3 { Err("not yet") } else { Ok(attempt.number()) }
/// });
/// # let request = request.base_delay(std::time::Duration::from_millis(1));
/// assert_eq!(request.retries(5).submit().await?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Attempt {
    seat: Arc<Seat>,
}

impl Attempt {
    pub(crate) fn new(seat: Arc<Seat>) -> Self {
        Self { seat }
    }

    /// The number of the try, from 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.seat.start.attempt
    }

    /// The durable identity of the task; the same for all its attempts.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.seat.start.id
    }

    /// The durable identity of the attempt, which no other has: as text, a key for doing things only
    /// once.
    #[must_use]
    pub fn attempt_id(&self) -> AttemptId {
        self.seat.id()
    }

    /// Whether the attempt was told to stop. It is ended by force after its grace.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.seat.is_stopped()
    }

    /// Waits until the attempt is told to stop.
    pub async fn cancelled(&self) {
        std::future::poll_fn(|context| self.seat.poll_stopped(context)).await;
    }

    /// Why the attempt was told to stop, if it was.
    #[must_use]
    pub fn stop_reason(&self) -> Option<Reason> {
        self.seat.stop_reason()
    }

    /// Waits until the attempt is told to stop, and says how.
    pub async fn stop(&self) -> StopRequest {
        std::future::poll_fn(|context| self.poll_stop(None, context)).await
    }

    /// Waits until the attempt is told to stop with less grace than this: a second request can
    /// shorten what a first has granted, such as a shutdown that comes after a patient cancel.
    pub async fn stop_sooner(&self, than: Duration) -> StopRequest {
        std::future::poll_fn(|context| self.poll_stop(Some(than), context)).await
    }

    pub(crate) fn poll_stop(
        &self,
        granted: Option<Duration>,
        context: &mut Context<'_>,
    ) -> Poll<StopRequest> {
        let stopped = std::task::ready!(self.seat.poll_stop(granted, context));
        let grace = Some(stopped.grace).filter(|grace| *grace < Duration::MAX);
        Poll::Ready(StopRequest { grace, reason: stopped.reason })
    }

    /// Promises that the attempt ends by itself soon after it was told to stop, which includes that
    /// its time is over. It is then waited for instead of being dropped, so that whatever it started
    /// has come to an end before anything is tried again.
    pub fn end_by_itself(&self) {
        self.seat.end_itself();
    }

    /// Hands over what is to be kept of this attempt beside its outcome: both are stored, or neither.
    /// The last record counts; which task it is of need not be said, nor the number of the attempt.
    ///
    /// A store that keeps nothing keeps no record either.
    pub fn record(&self, record: AttemptRecord) {
        self.seat.leave_record(record);
    }

    /// What was given along for whoever runs the task; it outlives a crash.
    #[must_use]
    pub fn payload(&self) -> Option<Arc<[u8]>> {
        let state = self.seat.shared.lock();
        state.engine.scheduler().payload(state.key_of(&self.seat)?).cloned()
    }

    /// Who understands what was given along, as whoever gave it said.
    #[must_use]
    pub fn kind(&self) -> Option<Arc<str>> {
        let state = self.seat.shared.lock();
        state.engine.scheduler().kind(state.key_of(&self.seat)?.run).cloned()
    }

    /// The instant of the firing that the task is, as its trigger named it, without jitter or lateness: after a
    /// restart and when the past is made up for, it is that of then. `None` if the task is no firing; whoever makes
    /// the run of one knows it from [`crate::schedule::Firing::nominal`].
    #[must_use]
    pub fn nominal(&self) -> Option<Timestamp> {
        let state = self.seat.shared.lock();
        state.engine.scheduler().nominal(state.key_of(&self.seat)?.run)
    }

    /// What the schedule is called whose firing the task, or its run, is.
    #[must_use]
    pub fn schedule_name(&self) -> Option<Arc<str>> {
        let state = self.seat.shared.lock();
        let scheduler = state.engine.scheduler();
        let schedule = scheduler.schedule_of(state.key_of(&self.seat)?.run)?;
        scheduler.schedule_spec(schedule)?.name.clone()
    }

    /// The name of a task of a graph; of a single one, its identity in words.
    #[must_use]
    pub fn task_name(&self) -> Option<Arc<str>> {
        let state = self.seat.shared.lock();
        state.engine.scheduler().task_name(state.key_of(&self.seat)?)
    }

    /// The run that the task belongs to, to be steered from inside; `None` for a single task or a
    /// firing. Tasks that are added to it without code of their own run the run's code: for a run
    /// that was restored, what [`crate::Builder::adopt`] was given.
    #[must_use]
    pub fn run(&self) -> Option<Run> {
        self.seat.run.as_ref().map(|cell| Run::new(Arc::clone(cell), Until::Stored))
    }

    /// The wheel that runs it.
    #[must_use]
    pub fn wheel(&self) -> Tidewheel {
        Tidewheel::from_shared(Arc::clone(&self.seat.shared))
    }

    pub(crate) fn seat(&self) -> &Seat {
        &self.seat
    }

    pub(crate) fn has_seen_stop(&self) -> bool {
        self.seat.has_seen_stop()
    }
}

/// How an attempt should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRequest {
    /// Time to stop gently; `None`: as the attempt itself finds right.
    pub grace: Option<Duration>,
    /// Why.
    pub reason: Reason,
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt").field("id", &self.id()).field("number", &self.number()).finish()
    }
}
