//! A tiny driver for tests: one schedule and two clocks that the test moves.
//!
//! The tests themselves are in [`super::tests`], [`super::clock_tests`] and
//! [`super::property_tests`].

use std::time::Duration;

use crate::calendar::{Cron, Zone};
use crate::time::{Moment, Now, Timestamp};

use super::{Due, Firing, Schedule, ScheduleSpec, SkipReason, Trigger, Verdict};

pub(super) const SEED: u64 = 7;

pub(super) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

pub(super) fn cron(expression: &str) -> Trigger {
    cron_in(expression, "UTC")
}

pub(super) fn cron_in(expression: &str, zone: &str) -> Trigger {
    let cron = Cron::parse(expression).expect("a valid expression");
    Trigger::calendar(cron, Zone::named(zone).expect("a known zone"))
}

/// Noon of a Sunday in November; the monotonic clock has another origin.
pub(super) fn noon() -> Now {
    Now { monotonic: Moment::from_millis(5_000), wall: at("2026-11-15T12:00:00Z") }
}

/// A schedule, the time, and what it said.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(super) now: Now,
    pub(super) schedule: Schedule,
    pub(super) said: Vec<Verdict>,
}

impl Bench {
    pub(super) fn new(spec: ScheduleSpec) -> Self {
        Self::at(spec, noon())
    }

    pub(super) fn at(spec: ScheduleSpec, now: Now) -> Self {
        Self { now, schedule: Schedule::start(1, SEED, spec, now), said: Vec::new() }
    }

    /// Lets time pass, polling whenever the schedule wants it.
    pub(super) fn pass(&mut self, time: Duration) -> &mut Self {
        let end = self.now.monotonic.after(time);
        loop {
            let wait = match self.schedule.next_due() {
                Some(Due::Monotonic(moment)) => moment.since(self.now.monotonic),
                Some(Due::Wall(instant)) => instant.since(self.now.wall),
                None => Duration::MAX,
            };
            if wait > end.since(self.now.monotonic) {
                break;
            }
            self.sleep(wait);
            self.poll();
        }
        self.sleep(end.since(self.now.monotonic))
    }

    /// Lets time pass with nobody watching.
    pub(super) fn sleep(&mut self, time: Duration) -> &mut Self {
        self.now.monotonic = self.now.monotonic.after(time);
        self.now.wall = self.now.wall.after(time);
        self
    }

    pub(super) fn poll(&mut self) -> &mut Self {
        self.schedule.poll(self.now, &mut self.said);
        self
    }

    pub(super) fn end(&mut self, success: bool) -> &mut Self {
        self.schedule.ended(self.now, success, &mut self.said);
        self
    }

    /// Lets time pass, ending each firing's work as soon as it has started.
    pub(super) fn run(&mut self, time: Duration) -> &mut Self {
        let end = self.now.monotonic.after(time);
        while self.now.monotonic < end {
            let before = self.said.len();
            let wait = match self.schedule.next_due() {
                Some(Due::Monotonic(moment)) => moment.since(self.now.monotonic),
                Some(Due::Wall(instant)) => instant.since(self.now.wall),
                None => Duration::MAX,
            };
            self.sleep(wait.min(end.since(self.now.monotonic))).poll();
            self.end_new(before);
        }
        self
    }

    /// Ends the work of all firings told since `from`, and of those that this starts.
    pub(super) fn end_new(&mut self, from: usize) -> &mut Self {
        let mut index = from;
        while index < self.said.len() {
            if matches!(self.said[index], Verdict::Fire(_)) {
                self.end(true);
            }
            index += 1;
        }
        self
    }

    pub(super) fn set_wall(&mut self, wall: Timestamp) -> &mut Self {
        self.now.wall = wall;
        self.schedule.clock_moved(self.now, &mut self.said);
        self
    }

    /// Down for `time`, then restored in a process with another monotonic origin.
    pub(super) fn outage(&mut self, time: Duration) -> &mut Self {
        let state = self.schedule.state();
        self.now.wall = self.now.wall.after(time);
        self.now.monotonic = Moment::from_millis(1);
        let spec = self.schedule.spec().clone();
        self.schedule = Schedule::restore(1, SEED, spec, state, self.now);
        self
    }

    pub(super) fn firings(&self) -> Vec<Firing> {
        self.said
            .iter()
            .filter_map(|verdict| match verdict {
                Verdict::Fire(firing) => Some(*firing),
                _ => None,
            })
            .collect()
    }

    pub(super) fn nominals(&self) -> Vec<String> {
        self.firings().iter().map(|firing| firing.nominal.to_string()).collect()
    }

    /// Milliseconds from noon to each firing's instant.
    pub(super) fn offsets(&self) -> Vec<i64> {
        let noon = noon().wall.as_micros();
        self.firings().iter().map(|firing| (firing.nominal.as_micros() - noon) / 1000).collect()
    }

    /// (count, first, last) of what was skipped for `reason`.
    pub(super) fn skips(&self, wanted: SkipReason) -> Vec<(u64, String, String)> {
        self.said
            .iter()
            .filter_map(|verdict| match verdict {
                Verdict::Skipped { count, first, last, reason, .. } if *reason == wanted => {
                    Some((*count, first.to_string(), last.to_string()))
                }
                _ => None,
            })
            .collect()
    }

    pub(super) fn clear(&mut self) -> &mut Self {
        self.said.clear();
        self
    }
}
