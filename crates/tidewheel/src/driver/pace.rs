//! [`Pace`]: how long the attempts of a worker take, by themselves.
//!
//! What follows from that is for the turnstile to know.

use tidewheel_core::time::Moment;

/// How long attempts take, without the time that passes between them: where little is in this core's cache, that is
/// more than an attempt of a microsecond, and says nothing about whether another thread would be of use.
///
/// Reading the clock twice for each would cost what the shortest take, so only some are timed.
pub(super) struct Pace {
    /// When it last went on, or had something to report; zero before its first attempt.
    last: Moment,
    /// Nothing lay between that and the attempt.
    is_exact: bool,
    attempts: u32,
}

/// One attempt of so many is timed.
const TIMED: u32 = 16;
/// What takes as long is noted in any case, with what lay before it.
const LONG_NANOS: u64 = 24_000;

impl Pace {
    pub fn new() -> Self {
        Self { last: Moment::ZERO, is_exact: false, attempts: 0 }
    }

    /// An attempt has ended. How long it took, if that is known.
    pub fn ended(&mut self, now: Moment) -> Option<u64> {
        // Nothing is known of a worker's first attempt.
        let took = if self.last == Moment::ZERO { 0 } else { now.nanos_since(self.last) };
        let is_known = self.is_exact || took > LONG_NANOS;
        (self.last, self.is_exact) = (now, false);
        self.attempts = self.attempts.wrapping_add(1);
        is_known.then_some(took)
    }

    /// When it last went on, or had something to report.
    pub fn last(&self) -> Moment {
        self.last
    }

    pub fn wants_time(&self) -> bool {
        self.attempts.is_multiple_of(TIMED)
    }

    /// The next attempt begins.
    pub fn goes_on(&mut self, now: Moment) {
        (self.last, self.is_exact) = (now, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    /// A worker whose attempts take so long, with so much between them, both in nanoseconds: what is known of each.
    fn known(attempts: u32, took: u64, between: u64) -> Vec<u64> {
        let (mut pace, mut now, mut known) = (Pace::new(), 1, Vec::new());
        for _ in 0..attempts {
            now += took;
            known.extend(pace.ended(at(now)));
            now += between;
            if pace.wants_time() {
                pace.goes_on(at(now));
            }
        }
        known
    }

    #[test]
    fn what_lies_between_attempts_is_not_their_time() {
        assert_eq!(known(4 * TIMED, 300, 5_000), [300; 3]);
    }

    #[test]
    fn a_long_attempt_is_known_at_once() {
        assert_eq!(known(4, 50_000, 1_000), [51_000; 3]);
    }

    #[test]
    fn a_turn_that_others_had_is_nobodys_time() {
        let mut pace = Pace::new();
        assert_eq!(pace.ended(at(500)), None);
        pace.goes_on(at(4_000_000));
        assert_eq!(pace.ended(at(4_000_400)), Some(400));
    }
}
