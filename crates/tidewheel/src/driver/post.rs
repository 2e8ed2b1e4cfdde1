//! Reports of workers that found the scheduler busy, served by whoever has it.
//!
//! Two threads that both want the lock after every short task would pass the whole scheduler from
//! one core's cache to the other's each time. So a worker that finds the lock taken leaves its
//! report here, and the holder takes it in along with its own; only the small answer travels. A
//! worker that finds it taken again and again by another one leaves: then tasks are so short that
//! one worker alone is faster, and what it would have gone on with is spare work for the other.
//!
//! Only a wheel whose store keeps nothing uses it. Where decisions are kept, what comes next is known
//! only once they are stored, so a report just takes the lock (`Shared::attempt_ended_in_books`).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidewheel_core::input::Outcome;
use tidewheel_core::time::Moment;

use super::seat::Seat;
use super::state::{Next, Wanted};

/// The end of an attempt, waiting to be taken in.
pub(super) struct Report {
    pub seat: Arc<Seat>,
    pub outcome: Outcome,
    /// What the worker could go on with, and where it looks for it; `None` when it has left.
    pub wanted: Option<(Wanted, Arc<Answer>)>,
}

/// Where a worker finds what to go on with.
#[derive(Default)]
pub(super) struct Answer {
    is_there: AtomicBool,
    next: Mutex<Option<Next>>,
}

impl Answer {
    pub fn give(&self, next: Option<Next>) {
        *lock(&self.next) = next;
        self.is_there.store(true, Ordering::Release);
    }

    /// The answer, once it is there; then it can be given again.
    pub fn take(&self) -> Option<Option<Next>> {
        if !self.is_there.load(Ordering::Acquire) {
            return None;
        }
        let next = lock(&self.next).take();
        self.is_there.store(false, Ordering::Release);
        Some(next)
    }
}

/// What a worker knows of how it fares against others.
#[derive(Default)]
pub(super) struct Rival {
    pub answer: Arc<Answer>,
    /// Grows when it finds the scheduler taken, shrinks when it finds it free.
    pub defeats: u32,
    /// When it last had an attempt to report.
    pub last: Moment,
    pace: u64,
}

impl Rival {
    /// How long the last attempts took, the newest counting most, in nanoseconds.
    ///
    /// One long attempt is seen at once; a hiccup of a few microseconds is not taken for one.
    pub fn pace(&mut self, now: Moment) -> u64 {
        // Nothing is known of a worker's first attempt.
        let took = if self.last == Moment::ZERO { 0 } else { now.nanos_since(self.last) };
        self.last = now;
        self.pace = self.pace - self.pace / 8 + took / 8;
        self.pace
    }
}

/// Reports that nobody has taken in yet.
#[derive(Default)]
pub(super) struct Post {
    count: AtomicUsize,
    reports: Mutex<Vec<Report>>,
}

impl Post {
    pub fn leave(&self, report: Report) {
        let mut reports = lock(&self.reports);
        reports.push(report);
        self.count.store(reports.len(), Ordering::SeqCst);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Everything left so far, swapped against an empty list.
    pub fn collect(&self, into: &mut Vec<Report>) {
        let mut reports = lock(&self.reports);
        std::mem::swap(&mut *reports, into);
        self.count.store(0, Ordering::Release);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
