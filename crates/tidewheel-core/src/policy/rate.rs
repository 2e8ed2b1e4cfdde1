//! How many starts a period allows: a token bucket kept as one point in time.
//!
//! Waiting for the next unit, and waking those that wait, is the scheduler's. The rule is the generic
//! cell rate algorithm: it gives the same answers as a bucket that fills continuously, needs no
//! refilling, and is exact, because the fraction of a nanosecond is kept too.
//!
//! Nobody wakes up on the nanosecond. If what a wake-up was late were lost, a rate of 1,000 a second
//! with a burst of 1 would be half of that on a timer that is a millisecond late. So the bucket goes on
//! from when a unit was due, not from when it was taken, if whoever took it had waited for it. What is
//! forgiven is bounded by [`Rate::LATENESS_MAX`], and a bucket that rests collects nothing.

use std::time::Duration;

use crate::time::{Moment, duration_nanos};

/// So many units per period, of which some may be taken at once.
///
/// After a rest the burst is all there is. While somebody waits, the rate is kept although timers are late:
/// what a start was late is made up for, up to [`Rate::LATENESS_MAX`]. So no stretch of time `t` ever holds
/// more starts than `burst + count · (t + 10 ms) / per`.
///
/// ```
/// # use std::time::Duration;
/// # use tidewheel_core::policy::{Bucket, Rate};
/// # use tidewheel_core::time::Moment;
/// let rate = Rate::new(2, Duration::from_secs(1))?;
/// let mut bucket = Bucket::default();
/// let asked = Moment::ZERO;
/// assert_eq!(bucket.take(rate, asked, Moment::ZERO), Ok(()));
/// assert_eq!(bucket.take(rate, asked, Moment::ZERO), Ok(()));
/// assert_eq!(bucket.take(rate, asked, Moment::ZERO), Err(Moment::from_millis(500)));
/// // Two milliseconds late; the next one is not.
/// assert_eq!(bucket.take(rate, asked, Moment::from_millis(502)), Ok(()));
/// assert_eq!(bucket.take(rate, asked, Moment::from_millis(503)), Err(Moment::from_millis(1000)));
/// # Ok::<(), tidewheel_core::policy::RateError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    count: u32,
    per_nanos: u64,
    burst: u32,
}

/// A rate that could never let anything through, or everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RateError {
    /// No units in a period.
    #[error("a rate needs a count of at least 1")]
    ZeroCount,
    /// A period without length.
    #[error("a rate needs a period longer than zero")]
    ZeroPeriod,
    /// Nothing could ever be taken.
    #[error("a rate needs a burst of at least 1")]
    ZeroBurst,
}

impl Rate {
    /// How late a start may be and still be made up for: a little more than timers are late.
    pub const LATENESS_MAX: Duration = Duration::from_millis(10);

    /// `count` units in every `per`, all of which may be taken at once.
    ///
    /// # Errors
    ///
    /// When the count or the period is zero.
    pub const fn new(count: u32, per: Duration) -> Result<Self, RateError> {
        if count == 0 {
            return Err(RateError::ZeroCount);
        }
        if per.is_zero() {
            return Err(RateError::ZeroPeriod);
        }
        Ok(Self { count, per_nanos: duration_nanos(per), burst: count })
    }

    /// The same rate with another number of units that may be taken at once.
    ///
    /// # Errors
    ///
    /// When the burst is zero.
    pub const fn with_burst(self, burst: u32) -> Result<Self, RateError> {
        if burst == 0 { Err(RateError::ZeroBurst) } else { Ok(Self { burst, ..self }) }
    }

    /// Units per period.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The period.
    #[must_use]
    pub const fn per(self) -> Duration {
        Duration::from_nanos(self.per_nanos)
    }

    /// How many units may be taken at once after a long rest.
    #[must_use]
    pub const fn burst(self) -> u32 {
        self.burst
    }
}

/// How much of a [`Rate`] is used up. A new one is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bucket {
    /// When it will be full again: whole nanoseconds …
    full_at: u64,
    /// … and a rest, in parts of a nanosecond of which `Rate::count` make one.
    fraction: u32,
}

impl Bucket {
    /// When one unit may be taken, `now` at the earliest.
    #[must_use]
    pub fn earliest(&self, rate: Rate, now: Moment) -> Moment {
        // With the intervals of all but one unit of the burst to spare. In parts of a nanosecond.
        let spare = u128::from(rate.burst - 1) * u128::from(rate.per_nanos);
        let parts = self.full_at_parts(rate).saturating_sub(spare);
        let nanos = parts.div_ceil(u128::from(rate.count));
        now.max(Moment::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// Takes one unit for somebody who has wanted it since `wanted`.
    ///
    /// Of the time from when it was there, that before `wanted` was rest, and is gone. That after it was
    /// lateness, and counts as if the unit had been taken on time, up to [`Rate::LATENESS_MAX`].
    ///
    /// # Errors
    ///
    /// When there is none: the moment from which there is one, if nobody else takes it.
    pub fn take(&mut self, rate: Rate, wanted: Moment, now: Moment) -> Result<(), Moment> {
        let earliest = self.earliest(rate, now);
        if earliest > now {
            return Err(earliest);
        }
        let count = u64::from(rate.count);
        // Clocks show whole nanoseconds: a unit taken at the first of them that is not too early is
        // not late, and the part of it that has passed must not be lost, or the rate would drift.
        let rounded_up = self.full_at.saturating_add(u64::from(self.fraction > 0));
        let forgiven = now.as_nanos().saturating_sub(duration_nanos(Rate::LATENESS_MAX));
        let rested_until = wanted.as_nanos().clamp(forgiven, now.as_nanos());
        if rounded_up < rested_until {
            *self = Self { full_at: rested_until, fraction: 0 };
        }
        let fraction = u64::from(self.fraction) + rate.per_nanos % count;
        let whole = (rate.per_nanos / count).saturating_add(fraction / count);
        self.full_at = self.full_at.saturating_add(whole);
        self.fraction = (fraction % count) as u32;
        Ok(())
    }

    /// How many units could be taken now.
    #[must_use]
    pub fn available(&self, rate: Rate, now: Moment) -> u32 {
        let now = u128::from(now.as_nanos()) * u128::from(rate.count);
        let missing = self.full_at_parts(rate).saturating_sub(now).div_ceil(rate.per_nanos.into());
        u32::try_from(missing).map_or(0, |missing| rate.burst.saturating_sub(missing))
    }

    fn full_at_parts(&self, rate: Rate) -> u128 {
        u128::from(self.full_at) * u128::from(rate.count) + u128::from(self.fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(count: u32, millis: u64, burst: u32) -> Rate {
        let rate = Rate::new(count, Duration::from_millis(millis)).unwrap();
        rate.with_burst(burst).unwrap()
    }

    /// Takes units as early as possible from `start` on, and says when each was taken.
    fn greedy(bucket: &mut Bucket, rate: Rate, start: Moment, units: usize) -> Vec<u64> {
        let mut now = start;
        let mut taken = Vec::new();
        while taken.len() < units {
            match bucket.take(rate, start, now) {
                Ok(()) => taken.push(now.as_nanos()),
                Err(later) => {
                    assert!(later > now);
                    assert_eq!(bucket.available(rate, now), 0);
                    let just_before = Moment::from_nanos(later.as_nanos() - 1);
                    assert_eq!(bucket.take(rate, start, just_before), Err(later));
                    now = later;
                }
            }
        }
        taken
    }

    #[test]
    fn useless_rates_are_refused() {
        assert_eq!(Rate::new(0, Duration::from_secs(1)), Err(RateError::ZeroCount));
        assert_eq!(Rate::new(1, Duration::ZERO), Err(RateError::ZeroPeriod));
        assert_eq!(rate(1, 1, 1).with_burst(0), Err(RateError::ZeroBurst));
        let rate = Rate::new(5, Duration::from_secs(2)).unwrap();
        assert_eq!((rate.count(), rate.per(), rate.burst()), (5, Duration::from_secs(2), 5));
    }

    #[test]
    fn a_full_burst_first_and_then_the_rate() {
        let rate = rate(10, 1000, 3);
        let taken = greedy(&mut Bucket::default(), rate, Moment::ZERO, 6);
        assert_eq!(taken, [0, 0, 0, SECOND / 10, SECOND / 5, SECOND * 3 / 10]);
        let start = Moment::from_millis(123_456);
        let taken = greedy(&mut Bucket::default(), rate, start, 4);
        let start = start.as_nanos();
        assert_eq!(taken, [start, start, start, start + SECOND / 10]);
    }

    #[test]
    fn there_is_no_drift_even_where_the_interval_is_no_whole_number() {
        for count in [3_u32, 7, 999] {
            let rate = rate(count, 1000, 1);
            let units = count as usize * 1000 + 1;
            let taken = greedy(&mut Bucket::default(), rate, Moment::ZERO, units);
            for (second, nanos) in taken.iter().step_by(count as usize).enumerate() {
                assert_eq!(*nanos, second as u64 * SECOND, "{count} per second");
            }
        }
    }

    #[test]
    fn no_window_holds_more_than_burst_and_rate() {
        let rate = rate(7, 1000, 4);
        let taken = greedy(&mut Bucket::default(), rate, Moment::ZERO, 300);
        for (first, start) in taken.iter().enumerate() {
            let within = taken[first..].iter().take_while(|at| **at < start + SECOND).count();
            assert!(within <= 7 + 4, "{within} from {start} on");
        }
    }

    /// Takes units whenever there is one, waking up `late(n)` nanoseconds late the n-th time.
    fn tardy(rate: Rate, until: u64, mut late: impl FnMut(u64) -> u64) -> Vec<u64> {
        let (mut bucket, mut now, mut taken) = (Bucket::default(), Moment::ZERO, Vec::new());
        for wakeup in 0.. {
            match bucket.take(rate, Moment::ZERO, now) {
                Ok(()) => taken.push(now.as_nanos()),
                Err(due) => now = Moment::from_nanos(due.as_nanos() + late(wakeup)),
            }
            if now.as_nanos() >= until {
                break;
            }
        }
        taken
    }

    #[test]
    fn a_rate_holds_although_every_wakeup_is_late() {
        let millis = SECOND / 1000;
        for (count, burst) in [(100, 1), (500, 1), (1000, 1), (1000, 10), (3, 1), (20_000, 1)] {
            for late in [0, 1, millis, 3 * millis, 9 * millis] {
                let taken = tardy(rate(count, 1000, burst), 10 * SECOND, |_| late).len() as u64;
                let exact = u64::from(count) * 10 + u64::from(burst);
                // The last wake-up may lie beyond the ten seconds.
                let least = exact - u64::from(count) * late / SECOND - 2;
                assert!((least..=exact).contains(&taken), "{taken} of {count}/s, {late} ns late");
            }
        }
    }

    #[test]
    fn lateness_beyond_what_is_forgiven_is_lost() {
        // Of each 15 ms late 10 are made up for: 11 units at each of the wake-ups, which are 16 ms apart.
        let taken = tardy(rate(1000, 1000, 1), 16 * SECOND, |_| 15 * SECOND / 1000);
        assert_eq!(taken.len(), 1 + 11 * 999);
    }

    #[test]
    fn who_did_not_wait_gets_the_burst_and_no_more() {
        let rate = rate(1000, 1000, 2);
        let mut bucket = Bucket::default();
        for millis in [0, 100, 109, 1000] {
            let now = Moment::from_millis(millis);
            assert_eq!(bucket.take(rate, now, now), Ok(()));
            assert_eq!(bucket.take(rate, now, now), Ok(()));
            assert_eq!(bucket.take(rate, now, now), Err(Moment::from_millis(millis + 1)));
        }
    }

    #[test]
    fn whoever_comes_when_no_window_holds_more_than_burst_rate_and_lateness() {
        for seed in 1..500 {
            let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed);
            let mut below = |end: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % end
            };
            let rate = rate(1 + below(5000) as u32, 1000, 1 + below(20) as u32);
            let crowded = below(3) > 0;
            let (mut bucket, mut wanted, mut now) = (Bucket::default(), 0, 0);
            let mut taken = Vec::new();
            for _ in 0..200 {
                // Who comes how long after the one before, and how late he is woken up.
                wanted += below(if crowded { 500_000 } else { 30_000_000 });
                now = now.max(wanted);
                let ask = |bucket: &mut Bucket, now| {
                    bucket.take(rate, Moment::from_nanos(wanted), Moment::from_nanos(now))
                };
                if let Err(due) = ask(&mut bucket, now) {
                    now = due.as_nanos() + below(25_000_000);
                    assert!(ask(&mut bucket, now).is_ok());
                }
                taken.push(now);
            }
            check_windows(rate, &taken, seed);
        }
    }

    fn check_windows(rate: Rate, taken: &[u64], seed: u64) {
        let forgiven = duration_nanos(Rate::LATENESS_MAX);
        for (first, start) in taken.iter().enumerate() {
            for (more, end) in taken[first..].iter().enumerate() {
                // A nanosecond more, because starts are put off to whole ones.
                let parts = u128::from(end - start + forgiven + 1) * u128::from(rate.count);
                let most = u128::from(rate.burst) + parts / u128::from(SECOND);
                assert!((more as u128) < most, "seed {seed}: {first} and {more} more");
            }
        }
    }

    #[test]
    fn a_long_rest_fills_the_bucket_and_no_more() {
        let rate = rate(10, 1000, 5);
        let mut bucket = Bucket::default();
        greedy(&mut bucket, rate, Moment::ZERO, 50);
        let later = Moment::from_millis(365 * 24 * 3_600_000);
        assert_eq!(bucket.available(rate, later), 5);
        let taken = greedy(&mut bucket, rate, later, 6);
        assert!(taken[..5].iter().all(|at| *at == later.as_nanos()));
        assert_eq!(taken[5], later.as_nanos() + SECOND / 10);
    }

    #[test]
    fn units_come_back_one_by_one() {
        let rate = rate(2, 1000, 4);
        let mut bucket = Bucket::default();
        greedy(&mut bucket, rate, Moment::ZERO, 4);
        let at = |millis| bucket.available(rate, Moment::from_millis(millis));
        assert_eq!(
            [at(0), at(499), at(500), at(999), at(1000), at(1999), at(2000), at(9000)],
            [0, 0, 1, 1, 2, 3, 4, 4]
        );
        assert_eq!(bucket.earliest(rate, Moment::ZERO), Moment::from_millis(500));
        assert_eq!(bucket.earliest(rate, Moment::from_millis(800)), Moment::from_millis(800));
    }

    #[test]
    fn a_jump_to_the_end_of_time_does_no_harm() {
        let rate = rate(3, 1000, 2);
        let mut bucket = Bucket::default();
        bucket.take(rate, Moment::MAX, Moment::MAX).unwrap();
        bucket.take(rate, Moment::MAX, Moment::MAX).unwrap();
        assert_eq!(bucket.full_at, u64::MAX);
        let slow = Rate::new(1, Duration::MAX).unwrap();
        let mut bucket = Bucket::default();
        let moments = [Moment::from_millis(5), Moment::from_millis(6)];
        bucket.take(slow, moments[0], moments[0]).unwrap();
        assert_eq!(bucket.take(slow, moments[1], moments[1]), Err(Moment::MAX));
    }

    #[test]
    fn a_changed_rate_holds_at_once() {
        let mut bucket = Bucket::default();
        greedy(&mut bucket, rate(7, 1000, 1), Moment::ZERO, 3);
        let faster = rate(2, 1000, 2);
        let taken = greedy(&mut bucket, faster, Moment::from_millis(2000), 3);
        assert_eq!(taken, [2 * SECOND, 2 * SECOND, 2 * SECOND + SECOND / 2]);
    }
}
