//! How important a task is, and how waiting makes it more important.
//!
//! The lanes in which tasks wait, and the choice between them, belong to the scheduler's queue.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::time::duration_nanos;

/// How important a task is, from 0 to 100. Higher goes first.
///
/// ```
/// # use tidewheel_core::policy::Priority;
/// assert_eq!(Priority::new(150), Priority::CRITICAL);
/// assert_eq!("high".parse(), Ok(Priority::HIGH));
/// assert_eq!(Priority::new(33).to_string(), "33");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// 100: before everything else.
    pub const CRITICAL: Self = Self(100);
    /// 80.
    pub const HIGH: Self = Self(80);
    /// 50: what a task has when nothing is said.
    pub const NORMAL: Self = Self(50);
    /// 20.
    pub const LOW: Self = Self(20);
    /// 0: when there is nothing else to do.
    pub const BACKGROUND: Self = Self(0);

    /// The priority nearest to `value`: below 0 becomes 0, above 100 becomes 100.
    #[must_use]
    pub const fn new(value: i64) -> Self {
        match value {
            ..=0 => Self::BACKGROUND,
            100.. => Self::CRITICAL,
            between => Self(between as u8),
        }
    }

    /// The priority of a number from a system in which lower numbers go first: `100 - value`.
    #[must_use]
    pub const fn from_lower_is_better(value: i64) -> Self {
        Self::new(100_i64.saturating_sub(value))
    }

    /// The number, from 0 to 100.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// Whether statistics count it as high: at least 75.
    #[must_use]
    pub const fn is_high(self) -> bool {
        self.0 >= 75
    }

    /// Whether statistics count it as low: below 25.
    #[must_use]
    pub const fn is_low(self) -> bool {
        self.0 < 25
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

macro_rules! from_integers {
    ($($integer:ty),+) => {
        $(/// Clamps, as [`Priority::new`] does: a number beyond an end says as well as the end what goes
        /// first.
        impl From<$integer> for Priority {
            #[allow(unused_comparisons, reason = "types without a sign are among them")]
            fn from(value: $integer) -> Self {
                let beyond = if value < 0 { i64::MIN } else { i64::MAX };
                Self::new(i64::try_from(value).unwrap_or(beyond))
            }
        })+
    };
}

from_integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

const LEVELS: [(&str, Priority); 5] = [
    ("critical", Priority::CRITICAL),
    ("high", Priority::HIGH),
    ("normal", Priority::NORMAL),
    ("low", Priority::LOW),
    ("background", Priority::BACKGROUND),
];

/// The name of the level if there is one, else the number.
impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match LEVELS.iter().find(|(_, level)| level == self) {
            Some((name, _)) => f.pad(name),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

/// Text that is not a priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a priority: use critical, high, normal, low, background or 0 to 100")]
pub struct ParsePriorityError {
    text: String,
}

/// The name of a level in any case, or a whole number, which is clamped.
impl FromStr for Priority {
    type Err = ParsePriorityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = text.trim();
        if let Some((_, level)) = LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            return Ok(*level);
        }
        word.parse().map(Self::new).map_err(|_| ParsePriorityError { text: text.to_owned() })
    }
}

/// How fast waiting tasks gain priority, so that none waits for ever behind more important ones.
///
/// A task gains 10 for every full step it has waited, up to 100. A step is a sixth of the
/// starvation timeout: with 30 s a task of priority 0 stands at 60 after 30 s, at 100 after 50 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ageing {
    /// Zero when there is no ageing.
    step_nanos: u64,
}

/// What one step of waiting adds.
const BOOST: u64 = 10;

impl Ageing {
    /// Ageing at the rate of a starvation timeout; a timeout of zero means none.
    #[must_use]
    pub const fn from_starvation_timeout(timeout: Duration) -> Self {
        let nanos = duration_nanos(timeout);
        // A timeout too short to divide still means ageing, as fast as can be counted.
        Self { step_nanos: if nanos > 0 && nanos < 6 { 1 } else { nanos / 6 } }
    }

    /// No ageing.
    #[must_use]
    pub const fn off() -> Self {
        Self { step_nanos: 0 }
    }

    /// The waiting time that adds 10, or `None` without ageing.
    #[must_use]
    pub const fn step(self) -> Option<Duration> {
        if self.step_nanos == 0 { None } else { Some(Duration::from_nanos(self.step_nanos)) }
    }

    /// The priority that counts after waiting, from 0 to 100.
    #[must_use]
    pub const fn effective(self, priority: Priority, waited: Duration) -> u8 {
        let aged = (priority.0 as u64).saturating_add(self.steps(waited).saturating_mul(BOOST));
        if aged > 100 { 100 } else { aged as u8 }
    }

    /// How many times waiting has raised the priority. Steps after reaching 100 do not count.
    #[must_use]
    pub const fn promotions(self, priority: Priority, waited: Duration) -> u32 {
        let possible = (100 - priority.0 as u64).div_ceil(BOOST);
        let steps = self.steps(waited);
        (if steps < possible { steps } else { possible }) as u32
    }

    /// How much longer a task has to wait until it stands at 100, or `None` without ageing. From then on nothing goes before it
    /// that has waited less.
    #[must_use]
    pub fn top_in(self, priority: Priority, waited: Duration) -> Option<Duration> {
        let steps = (100 - u32::from(priority.0)).div_ceil(BOOST as u32);
        Some(self.step()?.saturating_mul(steps).saturating_sub(waited))
    }

    /// Whether a task that waited so many nanoseconds has gained anything; cheaper than how much.
    #[must_use]
    pub const fn has_aged(self, waited_nanos: u64) -> bool {
        self.step_nanos != 0 && waited_nanos >= self.step_nanos
    }

    const fn steps(self, waited: Duration) -> u64 {
        match duration_nanos(waited).checked_div(self.step_nanos) {
            Some(steps) => steps,
            None => 0,
        }
    }
}

/// A starvation timeout of 30 s.
impl Default for Ageing {
    fn default() -> Self {
        Self::from_starvation_timeout(Duration::from_secs(30))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_clamped() {
        for (value, expected) in [(-10, 0), (0, 0), (1, 1), (99, 99), (100, 100), (150, 100)] {
            assert_eq!(Priority::new(value).value(), expected);
            assert_eq!(Priority::from(value as i32).value(), expected);
        }
        assert_eq!(Priority::new(i64::MIN), Priority::BACKGROUND);
        assert_eq!(Priority::new(i64::MAX), Priority::CRITICAL);
        assert_eq!(Priority::default(), Priority::NORMAL);
        assert_eq!(Priority::from(33_u8).value(), 33);
        assert_eq!(Priority::from(33_usize).value(), 33);
        assert_eq!([i128::MIN, i128::MAX].map(|value| Priority::from(value).value()), [0, 100]);
        assert_eq!(Priority::from(u64::MAX), Priority::CRITICAL);
    }

    #[test]
    fn lower_is_better_turns_round() {
        for (value, expected) in [(0, 100), (5, 95), (100, 0), (1000, 0), (-3, 100)] {
            assert_eq!(Priority::from_lower_is_better(value).value(), expected);
        }
        assert_eq!(Priority::from_lower_is_better(i64::MIN), Priority::CRITICAL);
    }

    #[test]
    fn tiers_have_exact_bounds() {
        let high = [74, 75, 80, 100].map(|value| Priority::new(value).is_high());
        assert_eq!(high, [false, true, true, true]);
        let low = [0, 10, 24, 25].map(|value| Priority::new(value).is_low());
        assert_eq!(low, [true, true, true, false]);
    }

    #[test]
    fn every_priority_survives_being_written_and_read() {
        for value in 0..=100 {
            let priority = Priority::new(value);
            assert_eq!(priority.to_string().parse(), Ok(priority));
            assert_eq!(value.to_string().parse(), Ok(priority));
        }
        assert_eq!(" Critical ".parse(), Ok(Priority::CRITICAL));
        assert_eq!("-5".parse(), Ok(Priority::BACKGROUND));
        let error = "urgent".parse::<Priority>().unwrap_err();
        assert!(error.to_string().starts_with("`urgent` is not a priority"));
    }

    #[test]
    fn ageing_follows_the_table() {
        let ageing = Ageing::from_starvation_timeout(Duration::from_secs(30));
        let at =
            |value, seconds| ageing.effective(Priority::new(value), Duration::from_secs(seconds));
        let table = [(0, 0), (4, 0), (5, 10), (10, 20), (25, 50), (30, 60), (50, 100), (500, 100)];
        for (seconds, expected) in table {
            assert_eq!(at(0, seconds), expected, "after {seconds} s");
        }
        assert_eq!(at(20, 10), 40);
        assert_eq!(at(20, 60), 100);
        assert_eq!(at(95, 5), 100);
        let just_before = Duration::from_secs(5) - Duration::from_nanos(1);
        assert_eq!(ageing.effective(Priority::BACKGROUND, just_before), 0);
        assert_eq!(ageing, Ageing::default());
    }

    #[test]
    fn ageing_follows_its_setting() {
        let waited = Duration::from_secs(12);
        let at = |timeout| {
            let ageing = Ageing::from_starvation_timeout(Duration::from_secs(timeout));
            ageing.effective(Priority::BACKGROUND, waited)
        };
        assert_eq!((at(10), at(30), at(60)), (70, 20, 10));
        assert_eq!(Ageing::off().effective(Priority::LOW, Duration::MAX), 20);
        assert_eq!(Ageing::from_starvation_timeout(Duration::ZERO), Ageing::off());
        assert_eq!(Ageing::off().step(), None);
        let fastest = Ageing::from_starvation_timeout(Duration::from_nanos(1));
        assert_eq!(fastest.effective(Priority::LOW, Duration::MAX), 100);
    }

    #[test]
    fn waiting_takes_to_the_top_when_it_is_said_to() {
        let ageing = Ageing::default();
        for value in 0..=100 {
            let (priority, nano) = (Priority::new(value), Duration::from_nanos(1));
            let top = ageing.top_in(priority, Duration::ZERO).unwrap();
            assert_eq!(ageing.effective(priority, top), 100, "{value} after {top:?}");
            assert!(top.is_zero() || ageing.effective(priority, top - nano) < 100, "{value}");
            assert_eq!(ageing.top_in(priority, top + nano), Some(Duration::ZERO));
        }
        assert_eq!(Ageing::off().top_in(Priority::LOW, Duration::ZERO), None);
    }

    #[test]
    fn promotions_count_only_what_raised() {
        let ageing = Ageing::default();
        let count =
            |value, seconds| ageing.promotions(Priority::new(value), Duration::from_secs(seconds));
        assert_eq!(count(20, 4), 0);
        assert_eq!(count(20, 12), 2);
        assert_eq!(count(0, 10_000), 10);
        assert_eq!(count(95, 10_000), 1);
        assert_eq!(count(100, 10_000), 0);
        assert_eq!(Ageing::off().promotions(Priority::LOW, Duration::MAX), 0);
    }
}
