//! The rule that yields instants, and arithmetic on the instants it yields.
//!
//! What is done with an instant (overlap, misfire, exclusions) is in [`super::schedule`].

use std::time::Duration;

use crate::calendar::{Cron, Zone};
use crate::time::{Moment, Timestamp};

/// A rule that yields instants.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// One instant.
    Once(Anchor),
    /// Instants at a fixed distance: the k-th is exactly `start + k · period`.
    ///
    /// Measured on the monotonic clock, so jumps of the wall clock do not move it.
    FixedRate {
        /// The distance from one instant to the next.
        period: Duration,
        /// The instant with number 0.
        start: Anchor,
    },
    /// Each instant follows the end of the work before it. Measured on the monotonic clock.
    FixedDelay {
        /// The time between the end of one firing's work and the start of the next.
        delay: Duration,
        /// The first instant.
        start: Anchor,
    },
    /// The instants of a cron expression, on the wall clock of a time zone.
    Calendar {
        /// The expression.
        cron: Cron,
        /// Where its times of day are read.
        zone: Zone,
    },
    /// Instants that the driver computes; the schedule asks for them one by one.
    Custom,
}

impl Trigger {
    /// One firing at `instant`.
    #[must_use]
    pub const fn at(instant: Timestamp) -> Self {
        Self::Once(Anchor::At(instant))
    }

    /// One firing after `delay`.
    #[must_use]
    pub const fn after(delay: Duration) -> Self {
        Self::Once(Anchor::After(delay))
    }

    /// A firing now and then one every `period`.
    #[must_use]
    pub const fn every(period: Duration) -> Self {
        Self::FixedRate { period, start: Anchor::NOW }
    }

    /// A firing now and then one `delay` after the end of the one before.
    #[must_use]
    pub const fn spaced(delay: Duration) -> Self {
        Self::FixedDelay { delay, start: Anchor::NOW }
    }

    /// The instants of `cron` in `zone`.
    #[must_use]
    pub const fn calendar(cron: Cron, zone: Zone) -> Self {
        Self::Calendar { cron, zone }
    }

    /// Whether it follows the wall clock, and not the monotonic one.
    pub(crate) fn is_wall(&self) -> bool {
        matches!(self, Self::Calendar { .. } | Self::Custom | Self::Once(Anchor::At(_)))
    }
}

/// Where a trigger begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// At this instant of the wall clock, read once, when the schedule starts.
    At(Timestamp),
    /// This long after the schedule starts.
    After(Duration),
}

impl Anchor {
    /// When the schedule starts.
    pub const NOW: Self = Self::After(Duration::ZERO);

    pub(super) fn from(self, label: Timestamp) -> Timestamp {
        match self {
            Self::At(instant) => instant,
            Self::After(delay) => label.after(delay),
        }
    }
}

/// When a schedule wants to be polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// When the monotonic clock reaches this.
    Monotonic(Moment),
    /// When the wall clock reaches this.
    Wall(Timestamp),
}

/// The instants of a trigger as numbers on one line, open to arithmetic.
#[derive(Debug, Clone, Copy)]
pub(super) enum Series<'a> {
    /// At most one instant: the only one, or the only one known so far.
    Single(Option<i64>),
    /// `anchor + k · period`, in microseconds.
    Lattice { anchor: i64, period: i64 },
    /// A cron expression.
    Cron(&'a Cron, &'a Zone),
}

impl<'a> Series<'a> {
    /// The instants of `trigger`, where `anchor` is its first, its only or its announced instant.
    pub(super) fn new(trigger: &'a Trigger, anchor: Option<Timestamp>) -> Self {
        match (trigger, anchor) {
            (Trigger::Calendar { cron, zone }, _) => Self::Cron(cron, zone),
            (Trigger::FixedRate { period, .. }, Some(anchor)) => {
                Self::Lattice { anchor: anchor.as_micros(), period: micros(*period).max(1) }
            }
            (_, anchor) => Self::Single(anchor.map(Timestamp::as_micros)),
        }
    }

    /// The first instant at or after `from`.
    pub(super) fn first_from(self, from: i64) -> Option<i64> {
        match self {
            Self::Single(instant) => instant.filter(|instant| *instant >= from),
            Self::Lattice { anchor, period } => {
                let steps = (i128::from(from) - i128::from(anchor)).max(0);
                let steps = (steps + i128::from(period) - 1) / i128::from(period);
                i64::try_from(i128::from(anchor) + steps * i128::from(period)).ok()
            }
            Self::Cron(cron, zone) => cron.next_after(before(from), zone).map(Timestamp::as_micros),
        }
    }

    /// The last instant at or before `until`.
    pub(super) fn last_until(self, until: i64) -> Option<i64> {
        match self {
            Self::Single(instant) => instant.filter(|instant| *instant <= until),
            Self::Lattice { anchor, .. } if until < anchor => None,
            Self::Lattice { anchor, period } => {
                let steps = (i128::from(until) - i128::from(anchor)) / i128::from(period);
                i64::try_from(i128::from(anchor) + steps * i128::from(period)).ok()
            }
            Self::Cron(cron, zone) => {
                let after = Timestamp::from_micros(until.saturating_add(1));
                cron.previous_before(after, zone).map(Timestamp::as_micros)
            }
        }
    }

    /// How many instants lie from `first` to `last`, both included.
    pub(super) fn count(self, first: i64, last: i64) -> u64 {
        if first > last {
            return 0;
        }
        match self {
            Self::Single(instant) => {
                u64::from(instant.is_some_and(|instant| (first..=last).contains(&instant)))
            }
            Self::Lattice { anchor, period } => {
                match (self.first_from(first), self.last_until(last)) {
                    (Some(low), Some(high)) if anchor <= low && low <= high => {
                        let steps = (i128::from(high) - i128::from(low)) / i128::from(period);
                        u64::try_from(steps + 1).unwrap_or(u64::MAX)
                    }
                    _ => 0,
                }
            }
            Self::Cron(cron, zone) => {
                cron.count_between(before(first), Timestamp::from_micros(last), zone)
            }
        }
    }
}

/// The last instant before `micros`.
fn before(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros.saturating_sub(1))
}

/// Whole microseconds of `duration`, capped.
pub(super) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
