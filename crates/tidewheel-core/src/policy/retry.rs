//! Whether a failed attempt is tried again, and after how long.
//!
//! The wait itself, and a "not before" that a server asked for, are the scheduler's; attempts whose
//! worker was lost have a limit of their own elsewhere.

use std::time::Duration;

use crate::time::duration_nanos;

/// When and how often a task is tried again.
///
/// The default is no retries; waits, when retries are allowed, are `min(1 s · 2^n, 60 s) · U(0,1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Retry {
    /// Attempts beyond the first: 3 means at most 4 attempts.
    pub retries: u32,
    /// How the wait grows.
    pub backoff: Backoff,
    /// How the wait is spread, so that tasks which failed together do not return together.
    pub jitter: Jitter,
    /// Which faults are worth another attempt.
    pub on: RetryOn,
}

/// How an attempt ended badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It failed.
    Failed,
    /// It failed in a way that trying again cannot mend, as far as it knows.
    FailedForGood,
    /// It took longer than it may.
    TimedOut,
}

/// Which faults are worth another attempt. By default all but [`Fault::FailedForGood`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RetryOn {
    /// Whether to retry after [`Fault::Failed`].
    pub failed: bool,
    /// Whether to retry after [`Fault::FailedForGood`].
    pub failed_for_good: bool,
    /// Whether to retry after [`Fault::TimedOut`].
    pub timed_out: bool,
}

impl Default for RetryOn {
    fn default() -> Self {
        Self { failed: true, failed_for_good: false, timed_out: true }
    }
}

/// How the wait grows from one failed attempt to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backoff {
    /// The law of growth.
    pub shape: Shape,
    /// The first wait.
    pub base: Duration,
    /// The longest wait, jitter included.
    pub cap: Duration,
}

/// Doubling from 1 s up to 60 s.
impl Default for Backoff {
    fn default() -> Self {
        Self { shape: Shape::default(), base: Duration::from_secs(1), cap: Duration::from_secs(60) }
    }
}

/// The law by which waits grow; `n` is 0 after the first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Always `base`.
    Fixed,
    /// `base · (n + 1)`.
    Linear,
    /// `base · factor^n`.
    Exponential {
        /// What each wait is multiplied by to give the next.
        factor: Factor,
    },
    /// A random time between `base` and three times the wait before.
    ///
    /// It has its own randomness, so no [`Jitter`] is applied to it. At most the last 64 waits are
    /// followed back; earlier ones no longer show.
    Decorrelated,
}

/// Doubling.
impl Default for Shape {
    fn default() -> Self {
        Self::Exponential { factor: Factor::DOUBLE }
    }
}

/// A multiplier of at least 1, kept in thousandths so that waits are exact on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Factor(u32);

impl Factor {
    /// Two.
    pub const DOUBLE: Self = Self(2000);

    /// The factor `thousandths / 1000`, at least 1.
    #[must_use]
    pub const fn from_thousandths(thousandths: u32) -> Self {
        Self(if thousandths < 1000 { 1000 } else { thousandths })
    }

    /// The factor nearest to `value`, at least 1.
    #[must_use]
    pub fn new(value: f64) -> Self {
        // The conversion saturates, and turns what is not a number into 0.
        Self::from_thousandths((value * 1000.0).round() as u32)
    }

    /// The factor in thousandths.
    #[must_use]
    pub const fn thousandths(self) -> u32 {
        self.0
    }
}

/// How a wait is spread by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Jitter {
    /// Not at all.
    None,
    /// Anywhere between nothing and the whole wait.
    #[default]
    Full,
    /// Anywhere between half the wait and the whole.
    Equal,
    /// The wait and up to this much more. At the cap this spreads no longer.
    Additive {
        /// The most that is added.
        max: Duration,
    },
    /// The wait and up to this share of it more. At the cap this spreads no longer.
    Proportional {
        /// The most that is added, in hundredths of the wait.
        percent: u32,
    },
}

impl Retry {
    /// No second attempt.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Up to `retries` more attempts, with the default waits.
    #[must_use]
    pub fn times(retries: u32) -> Self {
        Self { retries, ..Self::default() }
    }

    /// Whether another attempt follows, where `failed_attempt` is 0 for the first attempt.
    #[must_use]
    pub fn allows(&self, fault: Fault, failed_attempt: u32) -> bool {
        let is_worth_it = match fault {
            Fault::Failed => self.on.failed,
            Fault::FailedForGood => self.on.failed_for_good,
            Fault::TimedOut => self.on.timed_out,
        };
        is_worth_it && failed_attempt < self.retries
    }

    /// How long to wait after an attempt failed, where `failed_attempt` is 0 for the first.
    ///
    /// Chance is a hash of the arguments, which are all durable: the same run asked again, after a
    /// restart or in a replay, waits exactly as long.
    #[must_use]
    pub fn delay(&self, seed: u64, run: u128, task: u32, failed_attempt: u32) -> Duration {
        let chance = Chance::new(seed, run, task);
        let cap = duration_nanos(self.backoff.cap);
        let base = duration_nanos(self.backoff.base).min(cap);
        let wait = match self.backoff.shape {
            Shape::Decorrelated => {
                return Duration::from_nanos(decorrelated(chance, base, cap, failed_attempt));
            }
            Shape::Fixed => base,
            Shape::Linear => base.saturating_mul(u64::from(failed_attempt) + 1),
            Shape::Exponential { factor } => exponential(base, factor, cap, failed_attempt),
        }
        .min(cap);
        let up_to = |most| chance.up_to(failed_attempt, most);
        let spread = match self.jitter {
            Jitter::None => wait,
            Jitter::Full => up_to(wait),
            Jitter::Equal => wait - wait / 2 + up_to(wait / 2),
            Jitter::Additive { max } => wait.saturating_add(up_to(duration_nanos(max))),
            Jitter::Proportional { percent } => {
                let share = u128::from(wait) * u128::from(percent) / 100;
                wait.saturating_add(up_to(u64::try_from(share).unwrap_or(u64::MAX)))
            }
        };
        Duration::from_nanos(spread.min(cap))
    }
}

/// `base · factor^exponent`, at most `cap`, rounded down at each step.
fn exponential(base: u64, factor: Factor, cap: u64, exponent: u32) -> u64 {
    let mut wait = base;
    for _ in 0..exponent {
        let next = u128::from(wait) * u128::from(factor.0) / 1000;
        let next = u64::try_from(next).unwrap_or(u64::MAX);
        // Once it is at the cap or grows no more, the rest of the steps change nothing.
        if next >= cap || next == wait {
            return next;
        }
        wait = next;
    }
    wait
}

fn decorrelated(chance: Chance, base: u64, cap: u64, failed_attempt: u32) -> u64 {
    let mut wait = base;
    for attempt in failed_attempt.saturating_sub(63)..=failed_attempt {
        let most = wait.saturating_mul(3);
        wait = (base + chance.up_to(attempt, most - base)).min(cap);
    }
    wait
}

/// Numbers that look random and depend only on where they are drawn.
#[derive(Clone, Copy)]
struct Chance(u64);

impl Chance {
    fn new(seed: u64, run: u128, task: u32) -> Self {
        let parts = [run as u64, (run >> 64) as u64, u64::from(task)];
        Self(parts.into_iter().fold(mix(seed), |state, part| mix(state ^ part)))
    }

    /// A number from 0 to `most`, both included, all equally likely.
    fn up_to(self, attempt: u32, most: u64) -> u64 {
        let drawn = mix(self.0 ^ u64::from(attempt));
        // Scaling by multiplication avoids the bias of a remainder.
        ((u128::from(drawn) * (u128::from(most) + 1)) >> 64) as u64
    }
}

/// One round of splitmix64: every bit of the input changes about half the bits of the output.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn plain(shape: Shape, base: Duration, cap: Duration) -> Retry {
        let backoff = Backoff { shape, base, cap };
        Retry { retries: 10, backoff, jitter: Jitter::None, on: RetryOn::default() }
    }

    fn waits(retry: Retry) -> [u128; 5] {
        [0, 1, 2, 3, 4].map(|attempt| retry.delay(1, 2, 3, attempt).as_millis())
    }

    #[test]
    fn shapes_without_jitter_are_exact() {
        let (base, cap) = (millis(100), millis(1000));
        assert_eq!(waits(plain(Shape::Fixed, base, cap)), [100; 5]);
        assert_eq!(waits(plain(Shape::Linear, base, cap)), [100, 200, 300, 400, 500]);
        assert_eq!(waits(plain(Shape::default(), base, cap)), [100, 200, 400, 800, 1000]);
        let factor = Factor::new(1.5);
        let slower = plain(Shape::Exponential { factor }, base, cap);
        assert_eq!(waits(slower), [100, 150, 225, 337, 506]);
    }

    #[test]
    fn factors_are_at_least_one() {
        for value in [0.0, -3.0, 0.5, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Factor::new(value).thousandths(), 1000);
        }
        assert_eq!(Factor::new(f64::INFINITY).thousandths(), u32::MAX);
        assert_eq!(Factor::new(2.0), Factor::DOUBLE);
        let factor = Factor::from_thousandths(1);
        let still = plain(Shape::Exponential { factor }, millis(7), millis(1000));
        assert_eq!(still.delay(0, 0, 0, u32::MAX), millis(7));
    }

    #[test]
    fn the_last_attempt_imaginable_stays_within_the_cap() {
        let jitters = [
            Jitter::None,
            Jitter::Full,
            Jitter::Equal,
            Jitter::Additive { max: Duration::MAX },
            Jitter::Proportional { percent: u32::MAX },
        ];
        let shapes = [Shape::Fixed, Shape::Linear, Shape::default(), Shape::Decorrelated];
        for cap in [Duration::ZERO, millis(60_000), Duration::MAX] {
            for base in [Duration::ZERO, millis(1), Duration::MAX] {
                for shape in shapes {
                    for jitter in jitters {
                        let retry = Retry { jitter, ..plain(shape, base, cap) };
                        for attempt in [0, 1, 63, 64, 65, 1000, u32::MAX - 1, u32::MAX] {
                            assert!(retry.delay(u64::MAX, u128::MAX, u32::MAX, attempt) <= cap);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn full_jitter_is_uniform() {
        let retry = Retry::default();
        for attempt in [0_u32, 3, 5, 6, 40] {
            let most = 60.0_f64.min(2.0_f64.powi(attempt as i32));
            let mut counts = [0_u32; 20];
            let mut sum = 0.0;
            for task in 0..10_000 {
                let wait = retry.delay(42, 7, task, attempt).as_secs_f64();
                assert!(wait <= most);
                sum += wait;
                counts[((wait / most * 20.0) as usize).min(19)] += 1;
            }
            let mean = sum / 10_000.0 / most;
            assert!((mean - 0.5).abs() < 0.01, "mean {mean} at attempt {attempt}");
            let expected = 10_000.0 / 20.0;
            let chi_square: f64 =
                counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
            // With 19 degrees of freedom a fair draw exceeds 43.8 once in a thousand times.
            assert!(chi_square < 43.8, "chi-square {chi_square} at attempt {attempt}");
        }
    }

    #[test]
    fn chance_depends_on_every_part_of_the_identity() {
        let retry = Retry::default();
        let first = retry.delay(1, 2, 3, 4);
        assert_eq!(retry.delay(1, 2, 3, 4), first);
        for (seed, run, task, attempt) in
            [(2, 2, 3, 4), (1, 3, 3, 4), (1, 2 | 1 << 64, 3, 4), (1, 2, 4, 4), (1, 2, 3, 3)]
        {
            assert_ne!(retry.delay(seed, run, task, attempt), first);
        }
    }

    #[test]
    fn equal_jitter_keeps_half() {
        let retry = Retry { jitter: Jitter::Equal, ..Retry::default() };
        let waits: Vec<_> = (0..1000).map(|task| retry.delay(5, 5, task, 2)).collect();
        assert!(waits.iter().all(|wait| (millis(2000)..=millis(4000)).contains(wait)));
        assert!(waits.iter().any(|wait| *wait < millis(2100)));
        assert!(waits.iter().any(|wait| *wait > millis(3900)));
    }

    #[test]
    fn a_wait_with_half_of_it_more_can_be_said() {
        // 2^attempts · 100 ms + U(0, half), attempts from 1, at most 60 s.
        let jitter = Jitter::Proportional { percent: 50 };
        let retry = Retry { jitter, ..plain(Shape::default(), millis(200), millis(60_000)) };
        for task in 0..1000 {
            assert!((millis(200)..=millis(300)).contains(&retry.delay(9, 9, task, 0)));
            assert!((millis(400)..=millis(600)).contains(&retry.delay(9, 9, task, 1)));
            assert!((millis(6400)..=millis(9600)).contains(&retry.delay(9, 9, task, 5)));
            assert_eq!(retry.delay(9, 9, task, 20), millis(60_000));
        }
    }

    #[test]
    fn a_wait_with_up_to_half_a_second_more_and_no_cap_can_be_said() {
        let jitter = Jitter::Additive { max: millis(500) };
        let retry = Retry { jitter, ..plain(Shape::default(), millis(1000), Duration::MAX) };
        for attempt in 0..20 {
            let least = millis(1000 << attempt);
            let wait = retry.delay(9, 9, 9, attempt);
            assert!((least..=least + millis(500)).contains(&wait));
        }
    }

    #[test]
    fn decorrelated_waits_follow_the_wait_before() {
        let retry = plain(Shape::Decorrelated, millis(100), millis(10_000));
        let mut longest = Duration::ZERO;
        for task in 0..200 {
            let mut before = millis(100);
            for attempt in 0..60 {
                let wait = retry.delay(3, 3, task, attempt);
                assert!(wait >= millis(100) && wait <= (before * 3).min(millis(10_000)));
                before = wait;
                longest = longest.max(wait);
            }
        }
        assert_eq!(longest, millis(10_000));
    }

    #[test]
    fn retries_are_extra_attempts() {
        let retry = Retry::times(2);
        let allowed = [0, 1, 2, 3].map(|attempt| retry.allows(Fault::Failed, attempt));
        assert_eq!(allowed, [true, true, false, false]);
        assert!(retry.allows(Fault::TimedOut, 0));
        assert!(!retry.allows(Fault::FailedForGood, 0));
        assert!(!Retry::none().allows(Fault::Failed, 0));
        let on = RetryOn { failed: false, failed_for_good: true, timed_out: false };
        let retry = Retry { on, ..retry };
        assert!(retry.allows(Fault::FailedForGood, 0));
        assert!(!retry.allows(Fault::Failed, 0) && !retry.allows(Fault::TimedOut, 0));
    }
}
