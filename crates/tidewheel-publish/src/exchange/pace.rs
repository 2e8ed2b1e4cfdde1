//! [`Bucket`]: how many uploads a registry takes now, and when it takes the next.
//!
//! It has no clock of its own. What a registry answers counts more than what a bucket says.

use std::time::Duration;

use tidewheel::Timestamp;

use crate::plan::Rate;

/// So many at once, then one after the other.
#[derive(Debug, Clone)]
pub struct Bucket {
    rate: Rate,
    /// What is in it.
    left: u32,
    /// When the next one drops in, unless it is full.
    next: Timestamp,
    /// Nothing before this instant, whatever is in it.
    closed_until: Option<Timestamp>,
}

impl Bucket {
    /// A full one.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { rate, left: rate.burst, next: Timestamp::from_micros(0), closed_until: None }
    }

    /// One of a registry of which nothing is known.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(Rate { burst: u32::MAX, every: Duration::ZERO })
    }

    /// Takes one, or says how long there is none.
    ///
    /// # Errors
    ///
    /// The time until there is one.
    pub fn take(&mut self, now: Timestamp) -> Result<(), Duration> {
        if let Some(until) = self.closed_until.filter(|until| *until > now) {
            return Err(until.since(now));
        }
        self.closed_until = None;
        self.fill(now);
        if self.left == 0 {
            return Err(self.next.since(now));
        }
        if self.left == self.rate.burst {
            self.next = now + self.rate.every;
        }
        self.left -= 1;
        Ok(())
    }

    /// The registry has said that it takes none for so long: what was thought to be left is not.
    pub fn close(&mut self, now: Timestamp, wait: Duration) {
        self.closed_until = Some(now + wait);
        // One is taken when it opens again, and the others one after the other.
        self.left = self.rate.burst.min(1);
        self.next = now + wait + self.rate.every;
    }

    fn fill(&mut self, now: Timestamp) {
        if self.rate.every.is_zero() && self.next <= now {
            self.left = self.rate.burst;
        }
        while self.left < self.rate.burst && self.next <= now {
            self.left += 1;
            self.next += self.rate.every;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0) + Duration::from_secs(1_000 + seconds)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn forty_updates_go_in_ten_minutes_without_one_too_many() {
        let mut bucket = Bucket::new(Rate { burst: 30, every: seconds(60) });
        let mut now = 0;
        for _ in 0..40 {
            if let Err(wait) = bucket.take(at(now)) {
                now += wait.as_secs();
                assert_eq!(bucket.take(at(now)), Ok(()));
            }
        }
        assert_eq!(now, 600);
    }

    #[test]
    fn what_is_not_taken_is_not_kept_beyond_the_burst() {
        let mut bucket = Bucket::new(Rate { burst: 2, every: seconds(60) });
        assert_eq!(bucket.take(at(0)), Ok(()));
        assert_eq!(bucket.take(at(10_000)), Ok(()));
        assert_eq!(bucket.take(at(10_000)), Ok(()));
        assert_eq!(bucket.take(at(10_000)), Err(seconds(60)));
    }

    #[test]
    fn what_a_registry_says_counts_more() {
        let mut bucket = Bucket::new(Rate { burst: 5, every: seconds(60) });
        bucket.close(at(0), seconds(90));
        assert_eq!(bucket.take(at(0)), Err(seconds(90)));
        assert_eq!(bucket.take(at(90)), Ok(()));
        assert_eq!(bucket.take(at(90)), Err(seconds(60)));
        assert_eq!(bucket.take(at(150)), Ok(()));
    }
}
