//! [`Throttle`]: how often somebody may ask, each by their own measure.
//!
//! It is pure: what time it is, it is told.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More names are not kept: those that have waited long enough are forgotten first.
const NAMES_MAX: usize = 10_000;

/// So many at once, and one more every so often (GCRA).
#[derive(Debug)]
pub(crate) struct Throttle {
    every: Duration,
    ahead_max: Duration,
    /// Until when each name's requests are paid for.
    paid: Mutex<HashMap<String, Instant>>,
}

impl Throttle {
    /// `at_once` requests, and one more every `every`.
    pub fn new(every: Duration, at_once: u32) -> Self {
        let ahead_max = every.saturating_mul(at_once.max(1) - 1);
        Self { every, ahead_max, paid: Mutex::default() }
    }

    /// Counts a request; how long to wait if it is one too many.
    pub fn take(&self, name: &str, now: Instant) -> Result<(), Duration> {
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        if paid.len() >= NAMES_MAX && !paid.contains_key(name) {
            paid.retain(|_, until| *until > now);
            if paid.len() >= NAMES_MAX {
                return Err(self.every);
            }
        }
        let from = paid.get(name).copied().filter(|until| *until > now).unwrap_or(now);
        let ahead = from.duration_since(now);
        if ahead > self.ahead_max {
            return Err(ahead - self.ahead_max);
        }
        paid.insert(name.to_owned(), from + self.every);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_then_one_by_one() {
        let second = Duration::from_secs(1);
        let (throttle, now) = (Throttle::new(second, 3), Instant::now());
        for _ in 0..3 {
            assert_eq!(throttle.take("a", now), Ok(()));
        }
        assert_eq!(throttle.take("a", now), Err(second));
        assert_eq!(throttle.take("b", now), Ok(()), "others are not held up");
        assert_eq!(throttle.take("a", now + second), Ok(()));
        assert_eq!(throttle.take("a", now + second), Err(second));
        assert_eq!(throttle.take("a", now + 9 * second), Ok(()));
    }

    #[test]
    fn names_do_not_pile_up() {
        let (throttle, now) = (Throttle::new(Duration::from_secs(1), 1), Instant::now());
        for number in 0..NAMES_MAX {
            assert_eq!(throttle.take(&number.to_string(), now), Ok(()));
        }
        assert!(throttle.take("one more", now).is_err());
        assert_eq!(throttle.take("one more", now + Duration::from_secs(2)), Ok(()));
    }
}
