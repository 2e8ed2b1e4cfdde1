//! What a store keeps of a schedule, as plain data, and the counts that people ask for.
//!
//! Nothing here changes itself; the transitions are in [`super::schedule`].

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Timestamp;

use super::ranges::FiredRanges;
use super::verdict::{EndReason, Origin, SkipReason};

/// Where a schedule stands. With the specification it is all that a restart needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleState {
    /// The first, only or announced instant of triggers that have one.
    pub anchor: Option<Timestamp>,
    /// Instants up to here are decided, or came before the schedule.
    pub cursor: Timestamp,
    /// The next instant, with its jitter.
    pub pending: Option<Pending>,
    /// Instants that wait for the work before them to end.
    pub queue: VecDeque<Pending>,
    /// Instants that fired or are queued.
    pub fired_ranges: FiredRanges,
    /// The newest instant that fired.
    pub last_fired: Option<Timestamp>,
    /// The instant decided last, fired or not.
    pub last_decided: Option<Timestamp>,
    /// Firings whose work has not ended.
    pub outstanding: u32,
    /// Whether the outstanding work was asked to stop for a newer firing.
    pub cancelling: bool,
    /// Whether it is paused.
    pub paused: bool,
    /// Why no further instant will be planned.
    pub end: Option<EndReason>,
    /// Whether the end was told.
    pub end_told: bool,
    /// Firings of the trigger so far.
    pub fired: u64,
    /// Firings that people asked for so far, skipped ones too: the number of the newest.
    pub asked_for: u64,
    /// Firings whose work has failed or was cancelled.
    pub failed: u64,
    /// Instants skipped so far.
    pub skipped: SkipCounts,
    /// How late the last firing was.
    pub last_due_lag: Duration,
    /// Failures since the last success, while there is a backoff policy.
    pub backoff_level: u32,
    /// Nothing fires before this because of a failure.
    pub not_before: Option<Timestamp>,
    /// The schedule's own time when it was last called: the wall clock's for calendars, for
    /// intervals a clock that started as the wall clock and does not jump with it.
    pub seen_label: Timestamp,
    /// The wall clock when it was last called.
    pub seen_wall: Timestamp,
}

/// An instant that is to fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// The instant the trigger named.
    pub nominal: Timestamp,
    /// The instant plus its jitter.
    pub due: Timestamp,
    /// Where it comes from.
    pub origin: Origin,
}

/// Skipped instants by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkipCounts {
    /// [`SkipReason::Misfire`].
    pub misfire: u64,
    /// [`SkipReason::Overlap`].
    pub overlap: u64,
    /// [`SkipReason::Paused`].
    pub paused: u64,
    /// [`SkipReason::Excluded`].
    pub excluded: u64,
    /// [`SkipReason::Window`].
    pub window: u64,
    /// [`SkipReason::QueueFull`].
    pub queue_full: u64,
    /// [`SkipReason::Backoff`].
    pub backoff: u64,
}

impl SkipCounts {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.misfire, self.overlap, self.paused, self.excluded, self.window, self.queue_full]
            .into_iter()
            .fold(self.backoff, u64::saturating_add)
    }

    pub(super) fn add(&mut self, reason: SkipReason, count: u64) {
        let counter = match reason {
            SkipReason::Misfire => &mut self.misfire,
            SkipReason::Overlap => &mut self.overlap,
            SkipReason::Paused => &mut self.paused,
            SkipReason::Excluded => &mut self.excluded,
            SkipReason::Window => &mut self.window,
            SkipReason::QueueFull => &mut self.queue_full,
            SkipReason::Backoff => &mut self.backoff,
        };
        *counter = counter.saturating_add(count);
    }
}

/// What a schedule has done and is doing, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Firings of the trigger so far.
    pub fired: u64,
    /// Firings that people asked for so far, skipped ones too.
    pub asked_for: u64,
    /// Firings whose work has failed or was cancelled, retries and all.
    pub failed: u64,
    /// Instants skipped so far, by cause.
    pub skipped: SkipCounts,
    /// How late the last firing was.
    pub last_due_lag: Duration,
    /// Failures since the last success, while there is a backoff policy.
    pub backoff_level: u32,
    /// Firings whose work has not ended.
    pub outstanding: u32,
    /// Firings that wait for the work before them.
    pub queued: u32,
}
