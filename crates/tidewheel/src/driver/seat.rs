//! [`Seat`]: one running attempt, as user code and requests to stop see it.
//!
//! A worker keeps its seat from one attempt to the next; polling is in `attempt`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidewheel_core::decision::Start;
use tidewheel_core::id::AttemptId;
use tidewheel_core::input::Outcome;
use tidewheel_core::task::Reason;

use super::books::AttemptEnd;
use super::shared::Shared;
use crate::run::RunCell;
use crate::store::AttemptRecord;

pub(crate) struct Seat {
    pub shared: Arc<Shared>,
    /// The run, for a task of a graph.
    pub run: Option<Arc<RunCell>>,
    pub start: Start,
    /// The task's name, once somebody asked and it had to be made.
    pub name: OnceLock<String>,
    /// Requests to stop reach the seat directly. Until then the driver remembers them.
    is_registered: AtomicBool,
    /// The attempt has ended; only user code that kept its context still has the seat.
    is_over: AtomicBool,
    /// User code has seen that it should stop.
    has_seen_stop: AtomicBool,
    /// The attempt's code ends by itself when told to stop, and must not be cut off.
    ends_itself: AtomicBool,
    /// What the attempt's code handed over is in `left`.
    has_left: AtomicBool,
    left: Mutex<Option<Arc<AttemptRecord>>>,
    signal: Mutex<Signal>,
}

#[derive(Default)]
struct Signal {
    stop: Option<Stopped>,
    worker: Option<Waker>,
    listeners: Vec<Waker>,
}

/// A request to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopped {
    /// [`Duration::MAX`]: as long as the attempt itself finds right.
    pub grace: Duration,
    pub reason: Reason,
}

impl Seat {
    pub fn new(shared: Arc<Shared>, run: Option<Arc<RunCell>>, start: Start) -> Self {
        Self {
            shared,
            run,
            start,
            name: OnceLock::new(),
            is_registered: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            has_seen_stop: AtomicBool::new(false),
            ends_itself: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            left: Mutex::default(),
            signal: Mutex::default(),
        }
    }

    /// Makes an unshared seat that of the next attempt.
    #[inline]
    pub fn reuse(&mut self, start: Start) {
        self.start = start;
        *self.is_over.get_mut() = false;
        if *self.has_left.get_mut() {
            self.take_left();
        }
        if *self.is_registered.get_mut() {
            *self.is_registered.get_mut() = false;
            *self.has_seen_stop.get_mut() = false;
            *self.ends_itself.get_mut() = false;
            *self.signal.get_mut().unwrap_or_else(PoisonError::into_inner) = Signal::default();
        }
        if self.name.get().is_some() {
            self.name = OnceLock::new();
        }
    }

    pub fn id(&self) -> AttemptId {
        AttemptId { task: self.start.id, number: self.start.attempt }
    }

    pub fn is_registered(&self) -> bool {
        self.is_registered.load(Ordering::Acquire)
    }

    /// Lets requests to stop reach this seat, and takes over one that came before.
    pub fn register(self: &Arc<Self>) {
        if self.is_registered() {
            return;
        }
        let mut state = self.shared.lock();
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        let early = state.register(self);
        if let Some(stopped) = early {
            // Nobody can listen yet, so no waker is called under the lock.
            self.signal().stop = Some(stopped);
        }
        self.is_registered.store(true, Ordering::Release);
    }

    /// Whether the attempt was to be ended at once before it began. It must not begin, then; whoever was
    /// granted time may use it.
    #[inline]
    pub fn is_stopped_early(self: &Arc<Self>) -> bool {
        self.shared.has_early.load(Ordering::Relaxed) && {
            self.register();
            self.signal().stop.is_some_and(|stopped| stopped.grace.is_zero())
        }
    }

    /// The attempt has ended. Called under the scheduler's lock.
    pub fn leave(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Tells the attempt to stop. Must be called without the scheduler's lock.
    pub fn stop(&self, stopped: Stopped) {
        let mut signal = self.signal();
        // A second request may only shorten the grace.
        match &mut signal.stop {
            Some(before) if before.grace <= stopped.grace => return,
            before => *before = Some(stopped),
        }
        let worker = signal.worker.take();
        let listeners = std::mem::take(&mut signal.listeners);
        drop(signal);
        worker.into_iter().chain(listeners).for_each(Waker::wake);
    }

    /// For the worker: the request to stop, if any; else it will be woken by one.
    pub fn poll_worker(&self, context: &mut Context<'_>) -> Option<Stopped> {
        let mut signal = self.signal();
        match &mut signal.worker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        signal.stop
    }

    /// For user code: whether it should stop.
    pub fn is_stopped(self: &Arc<Self>) -> bool {
        self.register();
        let is_stopped = self.signal().stop.is_some();
        if is_stopped {
            self.has_seen_stop.store(true, Ordering::Relaxed);
        }
        is_stopped
    }

    /// For user code: waits until it should stop.
    pub fn poll_stopped(self: &Arc<Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_stop(None, context).map(drop)
    }

    /// For user code: waits until it should stop, with less grace than was granted before, and says
    /// how.
    pub fn poll_stop(
        self: &Arc<Self>,
        granted: Option<Duration>,
        context: &mut Context<'_>,
    ) -> Poll<Stopped> {
        self.register();
        let mut signal = self.signal();
        if let Some(stopped) = signal.stop
            && granted.is_none_or(|granted| stopped.grace < granted)
        {
            self.has_seen_stop.store(true, Ordering::Relaxed);
            return Poll::Ready(stopped);
        }
        if !signal.listeners.iter().any(|waker| waker.will_wake(context.waker())) {
            signal.listeners.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// For user code: promises to end soon after it was told to stop, whatever it takes.
    pub fn end_itself(self: &Arc<Self>) {
        self.register();
        self.ends_itself.store(true, Ordering::Release);
    }

    pub fn ends_itself(&self) -> bool {
        self.ends_itself.load(Ordering::Acquire)
    }

    /// For user code: hands over what is to be stored with the outcome. The last one counts.
    pub fn leave_record(&self, mut record: AttemptRecord) {
        record.task = self.start.id;
        if record.attempt == 0 {
            record.attempt = self.start.attempt;
        }
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(record));
        self.has_left.store(true, Ordering::Release);
    }

    /// The end of the attempt: how, and what its code handed over.
    pub fn end(&self, outcome: Outcome) -> AttemptEnd {
        AttemptEnd { outcome, record: self.take_left() }
    }

    fn take_left(&self) -> Option<Arc<AttemptRecord>> {
        if !self.has_left.swap(false, Ordering::Acquire) {
            return None;
        }
        self.left.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// For user code: why it should stop.
    pub fn stop_reason(self: &Arc<Self>) -> Option<Reason> {
        if self.is_stopped() { self.signal().stop.map(|stopped| stopped.reason) } else { None }
    }

    pub fn has_seen_stop(&self) -> bool {
        self.has_seen_stop.load(Ordering::Relaxed)
    }

    fn signal(&self) -> MutexGuard<'_, Signal> {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
