//! A circuit breaker: after too many failures in a row, starts nothing for a while, then one probe.
//!
//! ```text
//!            failures_max failures in a row            reset_after has passed
//!   Closed ─────────────────────────────────▶ Open ──────────────────────────▶ HalfOpen
//!     ▲                                        ▲          next start           │  │  ▲
//!     │                                        └──────── probe failed ─────────┘  │  │ probe
//!     └───────────────────────── probe succeeded ─────────────────────────────────┘  │ cancelled
//!                                                                             (a next may probe)
//! ```
//!
//! Which attempts pass through a breaker, and what counts as a failure, is the scheduler's to say.

use std::time::Duration;

use crate::time::Moment;

/// The settings of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSpec {
    /// How many failures in a row open it; zero counts as one.
    pub failures_max: u32,
    /// How long it stays open, counted from the end of the attempt that opened it.
    pub reset_after: Duration,
    /// Whether a single submission is refused while it is open, instead of waiting for the probe.
    pub fail_fast: bool,
}

/// 5 failures, 30 s.
impl Default for BreakerSpec {
    fn default() -> Self {
        Self::new(5, Duration::from_secs(30))
    }
}

impl BreakerSpec {
    /// Open for `reset_after` once `failures_max` attempts in a row have failed.
    #[must_use]
    pub const fn new(failures_max: u32, reset_after: Duration) -> Self {
        Self { failures_max, reset_after, fail_fast: false }
    }

    /// Refuses single submissions at once while nothing may pass. What was accepted before it opened,
    /// tasks of runs and firings wait for the probe as ever: they have nobody who could turn elsewhere.
    #[must_use]
    pub const fn fail_fast(self) -> Self {
        Self { fail_fast: true, ..self }
    }
}

/// A breaker: its settings, its state, and which attempts may still speak about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    spec: BreakerSpec,
    state: BreakerState,
    epoch: Epoch,
}

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Everything passes.
    Closed {
        /// Failures since the last success.
        consecutive: u32,
    },
    /// Nothing passes.
    Open {
        /// From when on a probe may pass.
        until: Moment,
    },
    /// One attempt is let through to see how things are.
    HalfOpen {
        /// Whether it is under way; if not, the next start is the probe.
        probing: bool,
    },
}

/// Whether an attempt may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Admit,
    /// Not before this moment.
    WaitUntil(Moment),
    /// Not before the probe that is under way has ended.
    WaitForProbe,
}

/// Names the stretch of time in which an attempt was let through.
///
/// Every change of state begins a new one, so that an attempt from before an opening can neither
/// close nor prolong what came after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u64);

/// How an attempt that was let through ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// What is protected works.
    Succeeded,
    /// What is protected failed.
    Failed,
    /// It tells nothing: the attempt was cancelled or lost.
    Cancelled,
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub const fn new(spec: BreakerSpec) -> Self {
        Self { spec, state: BreakerState::Closed { consecutive: 0 }, epoch: Epoch(0) }
    }

    /// The settings.
    #[must_use]
    pub const fn spec(&self) -> BreakerSpec {
        self.spec
    }

    /// Where it stands. It turns half-open when the probe starts, not when the time is up.
    #[must_use]
    pub const fn state(&self) -> BreakerState {
        self.state
    }

    /// Whether an attempt may start now.
    #[must_use]
    pub fn admits(&self, now: Moment) -> Admission {
        match self.state {
            BreakerState::Closed { .. } | BreakerState::HalfOpen { probing: false } => {
                Admission::Admit
            }
            BreakerState::Open { until } if until <= now => Admission::Admit,
            BreakerState::Open { until } => Admission::WaitUntil(until),
            BreakerState::HalfOpen { probing: true } => Admission::WaitForProbe,
        }
    }

    /// Notes that an attempt starts, if it may. The epoch belongs in the report of its end.
    pub fn started(&mut self, now: Moment) -> Option<Epoch> {
        if self.admits(now) != Admission::Admit {
            return None;
        }
        if !matches!(self.state, BreakerState::Closed { .. }) {
            self.turn(BreakerState::HalfOpen { probing: true });
        }
        Some(self.epoch)
    }

    /// Notes how an attempt ended. Returns whether the breaker opened or closed because of it.
    ///
    /// The end of an attempt from an earlier epoch changes nothing.
    pub fn ended(&mut self, started: Epoch, now: Moment, ending: Ending) -> bool {
        if started != self.epoch {
            return false;
        }
        match (self.state, ending) {
            (BreakerState::Closed { .. }, Ending::Succeeded) => {
                self.state = BreakerState::Closed { consecutive: 0 };
                false
            }
            (BreakerState::Closed { consecutive }, Ending::Failed) => {
                let consecutive = consecutive.saturating_add(1);
                if consecutive < self.spec.failures_max {
                    self.state = BreakerState::Closed { consecutive };
                    return false;
                }
                self.open(now);
                true
            }
            (BreakerState::HalfOpen { .. }, Ending::Succeeded) => {
                self.reset();
                true
            }
            (BreakerState::HalfOpen { .. }, Ending::Failed) => {
                self.open(now);
                true
            }
            (BreakerState::HalfOpen { .. }, Ending::Cancelled) => {
                self.turn(BreakerState::HalfOpen { probing: false });
                false
            }
            (BreakerState::Closed { .. }, Ending::Cancelled) | (BreakerState::Open { .. }, _) => {
                false
            }
        }
    }

    /// Closes it and forgets all failures.
    pub fn reset(&mut self) {
        self.turn(BreakerState::Closed { consecutive: 0 });
    }

    fn open(&mut self, now: Moment) {
        self.turn(BreakerState::Open { until: now.after(self.spec.reset_after) });
    }

    fn turn(&mut self, state: BreakerState) {
        self.state = state;
        self.epoch.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Ending::{Cancelled, Failed, Succeeded};
    use super::*;

    const fn at(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    fn breaker(failures_max: u32, reset_millis: u64) -> Breaker {
        Breaker::new(BreakerSpec::new(failures_max, Duration::from_millis(reset_millis)))
    }

    /// An attempt that starts and ends at once.
    fn attempt(breaker: &mut Breaker, now: Moment, ending: Ending) -> bool {
        let epoch = breaker.started(now).expect("the attempt may start");
        breaker.ended(epoch, now, ending)
    }

    fn is_closed(breaker: &Breaker) -> bool {
        matches!(breaker.state(), BreakerState::Closed { .. })
    }

    #[test]
    fn the_threshold_is_exact() {
        let mut breaker = breaker(4, 1000);
        for _ in 0..3 {
            assert!(!attempt(&mut breaker, at(0), Failed));
        }
        assert_eq!(breaker.state(), BreakerState::Closed { consecutive: 3 });
        assert!(attempt(&mut breaker, at(0), Failed));
        assert_eq!(breaker.state(), BreakerState::Open { until: at(1000) });
    }

    #[test]
    fn an_open_breaker_starts_nothing() {
        let mut breaker = breaker(1, 1000);
        attempt(&mut breaker, at(0), Failed);
        for now in [0, 1, 500, 998, 999] {
            assert_eq!(breaker.admits(at(now)), Admission::WaitUntil(at(1000)));
            assert_eq!(breaker.started(at(now)), None);
        }
        assert_eq!(breaker.admits(at(1000)), Admission::Admit);
    }

    #[test]
    fn a_success_begins_the_count_anew() {
        let mut breaker = breaker(3, 1000);
        for ending in [Failed, Failed, Succeeded, Failed, Failed] {
            attempt(&mut breaker, at(0), ending);
        }
        assert!(is_closed(&breaker));
    }

    #[test]
    fn a_probe_that_succeeds_closes() {
        let mut breaker = breaker(2, 200);
        attempt(&mut breaker, at(0), Failed);
        attempt(&mut breaker, at(0), Failed);
        assert!(attempt(&mut breaker, at(300), Succeeded));
        assert_eq!(breaker.state(), BreakerState::Closed { consecutive: 0 });
    }

    #[test]
    fn a_probe_that_fails_opens_again_and_stands_alone() {
        let mut breaker = breaker(2, 200);
        attempt(&mut breaker, at(0), Failed);
        attempt(&mut breaker, at(0), Failed);
        let probe = breaker.started(at(300)).unwrap();
        assert_eq!(breaker.admits(at(310)), Admission::WaitForProbe);
        assert_eq!(breaker.started(at(310)), None);
        assert!(breaker.ended(probe, at(350), Failed));
        assert_eq!(breaker.state(), BreakerState::Open { until: at(550) });
    }

    #[test]
    fn failures_of_all_users_count_together() {
        let mut breaker = breaker(3, 1000);
        let (first, second) = (breaker.started(at(0)).unwrap(), breaker.started(at(0)).unwrap());
        let third = breaker.started(at(1)).unwrap();
        assert!(!breaker.ended(first, at(2), Failed));
        assert!(!breaker.ended(third, at(3), Failed));
        assert!(breaker.ended(second, at(4), Failed));
        assert!(!is_closed(&breaker));
    }

    #[test]
    fn a_cancelled_probe_leaves_the_way_to_another() {
        let mut breaker = breaker(1, 200);
        attempt(&mut breaker, at(0), Failed);
        let probe = breaker.started(at(200)).unwrap();
        assert!(!breaker.ended(probe, at(210), Cancelled));
        assert_eq!(breaker.admits(at(210)), Admission::Admit);
        let second = breaker.started(at(220)).unwrap();
        // Whatever the first still says is not about the second.
        assert!(!breaker.ended(probe, at(221), Failed));
        assert_eq!(breaker.state(), BreakerState::HalfOpen { probing: true });
        assert!(breaker.ended(second, at(230), Succeeded));
        assert!(is_closed(&breaker));
    }

    #[test]
    fn the_pause_counts_from_the_end_of_the_attempt_that_opened_it() {
        let mut breaker = breaker(1, 200);
        let long = breaker.started(at(0)).unwrap();
        breaker.ended(long, at(10_000), Failed);
        assert_eq!(breaker.admits(at(10_199)), Admission::WaitUntil(at(10_200)));
    }

    #[test]
    fn attempts_from_before_the_opening_have_no_say() {
        let mut breaker = breaker(1, 200);
        let late_success = breaker.started(at(0)).unwrap();
        let late_failure = breaker.started(at(0)).unwrap();
        attempt(&mut breaker, at(5), Failed);
        assert!(!breaker.ended(late_success, at(6), Succeeded));
        assert!(!breaker.ended(late_failure, at(100), Failed));
        assert_eq!(breaker.state(), BreakerState::Open { until: at(205) });
        breaker.started(at(205)).unwrap();
        assert!(!breaker.ended(late_success, at(206), Succeeded));
        assert_eq!(breaker.state(), BreakerState::HalfOpen { probing: true });
    }

    #[test]
    fn a_cancelled_attempt_counts_for_nothing() {
        let mut breaker = breaker(2, 200);
        attempt(&mut breaker, at(0), Failed);
        attempt(&mut breaker, at(0), Cancelled);
        assert_eq!(breaker.state(), BreakerState::Closed { consecutive: 1 });
    }

    #[test]
    fn a_reset_closes_at_once() {
        let mut breaker = breaker(0, 200);
        let epoch = breaker.started(at(0)).unwrap();
        attempt(&mut breaker, at(0), Failed);
        assert!(!is_closed(&breaker));
        breaker.reset();
        assert_eq!(breaker.admits(at(0)), Admission::Admit);
        assert!(!breaker.ended(epoch, at(1), Failed));
        assert_eq!(breaker.state(), BreakerState::Closed { consecutive: 0 });
        assert_eq!(BreakerSpec::default().failures_max, 5);
    }
}
