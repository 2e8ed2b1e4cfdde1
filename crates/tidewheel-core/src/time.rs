//! The two notions of time the core reasons about, and nothing that reads a clock.
//!
//! Calendars and time zones live in [`crate::calendar`]; deadlines are kept by [`crate::timer`].

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// A point on the monotonic clock: nanoseconds since an origin the driver chose.
///
/// It never goes back and counts time asleep. Intervals, timeouts and ageing are measured with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// The farthest point, over 584 years from the origin; used for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The moment `millis` milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Nanoseconds from `earlier` to `self`, zero when `earlier` is later.
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This moment moved by `delay`, stopping at [`Moment::MAX`].
    #[must_use]
    pub const fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(duration_nanos(delay)))
    }
}

/// Nanoseconds of `duration`, capped at `u64::MAX` (584 years).
#[must_use]
pub const fn duration_nanos(duration: Duration) -> u64 {
    let nanos = duration.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}

/// A point on the wall clock: microseconds since 1970-01-01T00:00:00Z.
///
/// The wall clock may jump. Calendars and what people read are measured with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(0);

    /// The instant `micros` microseconds after the epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The instant `seconds` seconds after the epoch.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        let micros = self.0.saturating_sub(earlier.0);
        Duration::from_micros(if micros < 0 { 0 } else { micros as u64 })
    }

    /// This instant moved forward by `delay`, stopping at the last one that can be represented.
    #[must_use]
    pub const fn after(self, delay: Duration) -> Self {
        let micros = delay.as_micros();
        let micros = if micros > i64::MAX as u128 { i64::MAX } else { micros as i64 };
        Self(self.0.saturating_add(micros))
    }

    /// This instant moved back by `delay`.
    #[must_use]
    pub const fn before(self, delay: Duration) -> Self {
        let micros = delay.as_micros();
        let micros = if micros > i64::MAX as u128 { i64::MAX } else { micros as i64 };
        Self(self.0.saturating_sub(micros))
    }
}

/// To the microsecond below, stopping at what can be represented.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => Self::UNIX_EPOCH.after(since),
            Err(before) => {
                let micros = before.duration().as_nanos().div_ceil(1000);
                Self(i64::try_from(micros).map_or(i64::MIN, |micros| -micros))
            }
        }
    }
}

/// One that the clock of a system cannot represent, of which Unix has none, becomes the epoch.
impl From<Timestamp> for SystemTime {
    fn from(instant: Timestamp) -> Self {
        let distance = Duration::from_micros(instant.0.unsigned_abs());
        let moved = if instant.0 < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(distance)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(distance)
        };
        moved.unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// As [`Timestamp::after`].
impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, delay: Duration) -> Self {
        self.after(delay)
    }
}

impl AddAssign<Duration> for Timestamp {
    fn add_assign(&mut self, delay: Duration) {
        *self = self.after(delay);
    }
}

/// As [`Timestamp::before`].
impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, delay: Duration) -> Self {
        self.before(delay)
    }
}

impl SubAssign<Duration> for Timestamp {
    fn sub_assign(&mut self, delay: Duration) {
        *self = self.before(delay);
    }
}

/// As [`Timestamp::since`]: zero when the other is later, as with `Instant` of the standard library.
impl Sub for Timestamp {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// RFC 3339 in UTC, with as many decimals as needed: `2026-11-15T08:27:00Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(instant) => write!(f, "{instant}"),
            Err(_) => write!(f, "{} µs after 1970", self.0),
        }
    }
}

/// Text that is not an instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an RFC 3339 instant such as 2026-11-15T08:27:00Z: {reason}")]
pub struct ParseTimestampError {
    text: String,
    reason: String,
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().parse::<jiff::Timestamp>() {
            Ok(instant) => Ok(Self(instant.as_microsecond())),
            Err(error) => {
                Err(ParseTimestampError { text: text.to_owned(), reason: error.to_string() })
            }
        }
    }
}

/// Both clocks, read together by the driver and handed to every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// The monotonic clock.
    pub monotonic: Moment,
    /// The wall clock.
    pub wall: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_go_to_the_systems_time_and_back() {
        for micros in [0, 1, -1, 1_763_280_000_123_456, -62_135_596_800_000_000] {
            let instant = Timestamp::from_micros(micros);
            assert_eq!(Timestamp::from(SystemTime::from(instant)), instant);
        }
        let nanos = |nanos| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
        assert_eq!(Timestamp::from(nanos(1999)), Timestamp::from_micros(1));
        let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(Timestamp::from(before), Timestamp::from_micros(-1));
    }

    #[test]
    fn operators_stop_at_the_ends() {
        let second = Duration::from_secs(1);
        let mut instant = Timestamp::from_seconds(5) + second;
        assert_eq!(instant - Timestamp::from_seconds(2), 4 * second);
        assert_eq!(Timestamp::from_seconds(2) - instant, Duration::ZERO);
        instant += second;
        instant -= 3 * second;
        assert_eq!(instant, Timestamp::from_seconds(4));
        let last = Timestamp::from_micros(i64::MAX);
        assert_eq!(last + Duration::MAX, last);
        assert_eq!(
            Timestamp::from_micros(i64::MIN) - Duration::MAX,
            Timestamp::from_micros(i64::MIN)
        );
    }
}
