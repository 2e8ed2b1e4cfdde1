//! Figures about the scheduler and each queue, and how they are kept.
//!
//! How they are shown (text, JSON, metrics formats) is left to the surfaces.

use std::sync::Arc;
use std::time::Duration;

use crate::histogram::Histogram;

/// Figures of one queue, or of all together.
///
/// The books close: tasks submitted and restored are those completed, skipped, cancelled, failed
/// unstarted and already done, and those that have not ended.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// Attempts running now.
    pub active: u64,
    /// Tasks that are ready and wait for their turn, a slot or a limit.
    pub queued: u64,
    /// Tasks accepted.
    pub submitted: u64,
    /// Tasks taken over from the store that had not ended.
    pub restored: u64,
    /// Tasks that ran and ended, well or badly.
    pub completed: u64,
    /// Of those, tasks with a submitted priority of 75 and more.
    pub high_priority_completed: u64,
    /// Of those, tasks with a submitted priority below 25.
    pub low_priority_completed: u64,
    /// Times that waiting raised a task's priority. Of tasks that still wait, the oldest are counted, some ten
    /// thousand; the others when they start.
    pub promotions: u64,
    /// Tasks refused because a queue was full or the scheduler was shutting down.
    pub rejected: u64,
    /// Tasks cancelled or abandoned.
    pub cancelled: u64,
    /// Tasks skipped by rule, or because there was nothing to do.
    pub skipped: u64,
    /// Of the completed ones, those that failed.
    pub failed: u64,
    /// Tasks that failed without an attempt: their time was over before, or the group they stand
    /// for failed.
    pub failed_unstarted: u64,
    /// Tasks that were done before their run began.
    pub already_done: u64,
    /// Attempts that failed and were, or will be, followed by another.
    pub retried: u64,
    /// Attempts lost with their worker.
    pub lost: u64,
    /// Attempts that found that it was not time yet.
    pub postponed: u64,
    /// Attempts ended to make room for more important ones.
    pub preempted: u64,
    /// Tasks that ended after their deadline.
    pub late: u64,
    /// Time from ready to started.
    pub wait_time: Histogram,
    /// Time from started to ended, each attempt that had something to do.
    pub run_time: Histogram,
    /// Time from the instant a firing was due to the moment it was noticed. That of firings that are runs is counted in
    /// the queue `default`.
    pub due_lag: Histogram,
}

impl Statistics {
    /// Failed attempts as a share of all that ended, 0 to 1.
    #[must_use]
    pub fn failure_rate(&self) -> f64 {
        let ended = self.run_time.count();
        if ended == 0 { 0.0 } else { (self.failed + self.retried) as f64 / ended as f64 }
    }

    /// Tasks that have ended, in any way.
    #[must_use]
    pub fn ended(&self) -> u64 {
        let unstarted = self.failed_unstarted + self.already_done;
        self.completed + self.skipped + self.cancelled + unstarted
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.active += other.active;
        self.queued += other.queued;
        self.submitted += other.submitted;
        self.restored += other.restored;
        self.completed += other.completed;
        self.high_priority_completed += other.high_priority_completed;
        self.low_priority_completed += other.low_priority_completed;
        self.promotions += other.promotions;
        self.rejected += other.rejected;
        self.cancelled += other.cancelled;
        self.skipped += other.skipped;
        self.failed += other.failed;
        self.failed_unstarted += other.failed_unstarted;
        self.already_done += other.already_done;
        self.retried += other.retried;
        self.lost += other.lost;
        self.postponed += other.postponed;
        self.preempted += other.preempted;
        self.late += other.late;
        self.wait_time.merge(&other.wait_time);
        self.run_time.merge(&other.run_time);
        self.due_lag.merge(&other.due_lag);
    }
}

/// The figures of a scheduler at one moment.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// All queues together.
    pub total: Statistics,
    /// Each queue, in the order of definition; the first is `default`.
    pub queues: Vec<(Arc<str>, Statistics)>,
    /// Attempts that may run at once; `None`: no bound.
    pub slots: Option<u32>,
    /// Runs that have not ended.
    pub runs: u64,
    /// Tasks that wait for time: retries, start delays, and those that asked for it.
    pub delayed: u64,
    /// The longest series of failures any schedule is in now.
    pub backoff_level: u32,
    /// Live schedules.
    pub schedules: u64,
    /// Timers armed.
    pub timers: u64,
    /// Whether the scheduler is paused.
    pub paused: bool,
    /// The longest time any ready task has been waiting.
    pub oldest_wait: Duration,
}
