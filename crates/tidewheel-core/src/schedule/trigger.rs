//! The rule that yields instants, and arithmetic on the instants it yields.
//!
//! What is done with an instant (overlap, misfire, exclusions) is in [`super::schedule`].

use std::time::Duration;

use crate::calendar::{Cron, Zone};
use crate::time::{Moment, Timestamp, duration_nanos};

/// A rule that yields instants.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// One instant.
    Once(Anchor),
    /// Instants at a fixed distance: the k-th is exactly `start + k · period`, to the microsecond below.
    ///
    /// Measured on the monotonic clock, so jumps of the wall clock do not move it. The period counts to the
    /// nanosecond: each instant is rounded by itself, so a period of a third of a second does not drift.
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
    /// `anchor + k · period`, the anchor in microseconds, the period in nanoseconds, and each instant
    /// the whole microsecond below. A period is more than that, so no two are the same.
    Lattice { anchor: i64, period: i128 },
    /// A cron expression.
    Cron(&'a Cron, &'a Zone),
}

impl<'a> Series<'a> {
    /// The instants of `trigger`, where `anchor` is its first, its only or its announced instant.
    pub(super) fn new(trigger: &'a Trigger, anchor: Option<Timestamp>) -> Self {
        match (trigger, anchor) {
            (Trigger::Calendar { cron, zone }, _) => Self::Cron(cron, zone),
            (Trigger::FixedRate { period, .. }, Some(anchor)) => {
                let period = i128::from(duration_nanos(*period).max(1000));
                Self::Lattice { anchor: anchor.as_micros(), period }
            }
            (_, anchor) => Self::Single(anchor.map(Timestamp::as_micros)),
        }
    }

    /// The first instant at or after `from`.
    pub(super) fn first_from(self, from: i64) -> Option<i64> {
        match self {
            Self::Single(instant) => instant.filter(|instant| *instant >= from),
            Self::Lattice { anchor, period } => {
                lattice_point(anchor, period, steps_from(anchor, period, from))
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
                lattice_point(anchor, period, steps_until(anchor, period, until))
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
            Self::Lattice { anchor, .. } if last < anchor => 0,
            Self::Lattice { anchor, period } => {
                let (low, high) =
                    (steps_from(anchor, period, first), steps_until(anchor, period, last));
                u64::try_from((high - low + 1).max(0)).unwrap_or(u64::MAX)
            }
            Self::Cron(cron, zone) => {
                cron.count_between(before(first), Timestamp::from_micros(last), zone)
            }
        }
    }
}

/// The number of the first instant of a lattice at or after `from`.
fn steps_from(anchor: i64, period: i128, from: i64) -> i128 {
    // Rounding down reaches a whole microsecond exactly when the product does.
    let nanos = (i128::from(from) - i128::from(anchor)).max(0) * 1000;
    (nanos + period - 1) / period
}

/// The number of the last instant of a lattice at or before `until`, which is not before its anchor.
fn steps_until(anchor: i64, period: i128, until: i64) -> i128 {
    let nanos = (i128::from(until) - i128::from(anchor)) * 1000 + 999;
    nanos / period
}

fn lattice_point(anchor: i64, period: i128, steps: i128) -> Option<i64> {
    i64::try_from(i128::from(anchor) + steps * period / 1000).ok()
}

/// The last instant before `micros`.
fn before(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros.saturating_sub(1))
}

/// Whole microseconds of `duration`, capped.
pub(super) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
