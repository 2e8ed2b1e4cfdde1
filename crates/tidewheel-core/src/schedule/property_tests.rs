//! Random schedules under random treatment: what must hold whatever happens.
//!
//! Behaviours one by one are in [`super::tests`] and [`super::clock_tests`].

use std::collections::BTreeSet;
use std::time::Duration;

use crate::policy::Retry;
use crate::time::{Moment, Timestamp};

use super::test_bench::*;
use super::trigger::Series;
use super::{Anchor, Due, Misfire, Overlap, ScheduleSpec, Span, Trigger, Verdict};

/// Marsaglia's xorshift: the same numbers for the same seed on every machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    /// Short and long times alike.
    fn time(&mut self, powers: u64) -> Duration {
        let power = self.below(powers);
        Duration::from_micros(1_000 + self.below(1_000 << power))
    }

    /// Instants that are known in advance.
    fn planned_trigger(&mut self) -> Trigger {
        let crons = ["* * * * * *", "*/7 * * * * *", "* * * * *", "30 2 * * *", "5,6 */2 * * mon"];
        let zones = ["UTC", "Europe/Berlin", "Australia/Lord_Howe"];
        match self.below(3) {
            0 => Trigger::every(self.time(24) * 4 / 3),
            1 => {
                let start = Anchor::At(noon().wall.before(self.time(40)));
                Trigger::FixedRate { period: self.time(24) * 8 / 7, start }
            }
            _ => cron_in(self.pick(&crons), self.pick(&zones)),
        }
    }

    fn any_trigger(&mut self) -> Trigger {
        match self.below(6) {
            0 => Trigger::spaced(self.time(24)),
            1 => Trigger::after(self.time(30)),
            2 => Trigger::at(noon().wall.after(self.time(30))),
            3 => Trigger::Custom,
            _ => self.planned_trigger(),
        }
    }

    fn span(&mut self) -> Span {
        let from = noon().wall.after(self.time(34));
        Span::new(from, from.after(self.time(32)))
    }

    fn spec(&mut self, trigger: Trigger) -> ScheduleSpec {
        let overlaps = [
            Overlap::Skip,
            Overlap::QueueOne,
            Overlap::QueueNewest,
            Overlap::QueueAll { max: 3 },
            Overlap::Cancel,
            Overlap::Allow,
        ];
        let misfires =
            [Misfire::Skip, Misfire::Latest, Misfire::All { max: 1 }, Misfire::All { max: 20 }];
        ScheduleSpec {
            overlap: self.pick(&overlaps),
            misfire: self.pick(&misfires),
            misfire_grace: self.time(28),
            jitter: if self.one_in(2) { Duration::ZERO } else { self.time(28) },
            window: self.one_in(4).then(|| self.span()),
            exclusions: (0..self.below(4)).map(|_| self.span()).collect(),
            max_firings: self.one_in(6).then(|| 1 + self.below(100)),
            backoff: self.one_in(3).then(Retry::none),
            ..ScheduleSpec::new(trigger)
        }
    }
}

/// Does one random thing that needs no clock to be set back.
fn treat(bench: &mut Bench, chance: &mut Chance) {
    match chance.below(12) {
        0..4 => {
            // To the due time, or a little past it.
            let wait = match bench.schedule.next_due() {
                Some(Due::Monotonic(moment)) => moment.since(bench.now.monotonic),
                Some(Due::Wall(instant)) => instant.since(bench.now.wall),
                None => chance.time(24),
            };
            let late = if chance.one_in(2) { chance.time(10) } else { Duration::ZERO };
            bench.sleep(wait.min(seconds(86_400)) + late).poll();
        }
        4 => drop(bench.sleep(chance.time(34)).poll()),
        5..9 => drop(bench.sleep(chance.time(10)).end(!chance.one_in(3))),
        9 => bench.schedule.pause(bench.now),
        10 => bench.schedule.resume(bench.now, &mut bench.said),
        _ => {
            bench.outage(chance.time(34));
            bench.sleep(chance.time(10));
        }
    }
    if bench.schedule.state().paused && chance.one_in(2) {
        bench.schedule.resume(bench.now, &mut bench.said);
    }
}

/// Answers the custom trigger as a trigger might that follows the wall clock.
fn answer(bench: &mut Bench, chance: &mut Chance, from: usize) {
    let asked = bench.said[from..].iter().rev().find_map(|verdict| match verdict {
        Verdict::AskTrigger { last } => Some(*last),
        _ => None,
    });
    if let Some(last) = asked {
        let base = last.map_or(bench.now.wall, |last| last.max(bench.now.wall));
        let next = base.after(chance.time(24));
        bench.schedule.answer(bench.now, Some(next), &mut bench.said);
    }
}

/// What fired was due, and a poll before the next due time decides nothing.
fn assert_not_early(bench: &Bench, from: usize) {
    for verdict in &bench.said[from..] {
        if let Verdict::Fire(firing) = verdict {
            let due = bench.schedule.with_jitter(firing.nominal.as_micros()).due;
            assert!(firing.nominal <= due && due <= bench.schedule.state().seen_label);
        }
    }
    let mut early = bench.clone();
    match early.schedule.next_due() {
        Some(Due::Monotonic(due)) if due > early.now.monotonic => {
            early.sleep(due.since(early.now.monotonic) - Duration::from_nanos(1));
        }
        Some(Due::Wall(due)) if due > early.now.wall => {
            early.sleep(due.since(early.now.wall) - Duration::from_micros(1));
        }
        _ => return,
    }
    early.clear().poll();
    assert_eq!(early.said, []);
}

#[derive(Default)]
struct Decided(BTreeSet<Timestamp>);

impl Decided {
    fn add(&mut self, instant: Timestamp) {
        assert!(self.0.insert(instant), "{instant} was decided twice");
    }
}

/// Every instant up to the cursor, from the trigger itself: fired, queued or skipped, once.
fn assert_all_accounted_for(bench: &Bench) {
    let state = bench.schedule.state();
    let spec = bench.schedule.spec();
    let series = Series::new(&spec.trigger, state.anchor);
    let mut decided = Decided::default();
    for verdict in &bench.said {
        match verdict {
            Verdict::Fire(firing) => decided.add(firing.nominal),
            Verdict::Skipped { count, first, last, .. } => {
                let mut at = first.as_micros();
                for _ in 0..*count {
                    assert!(at <= last.as_micros(), "the count is too large");
                    decided.add(Timestamp::from_micros(at));
                    at = series.first_from(at + 1).unwrap_or(i64::MAX);
                }
                assert!(at > last.as_micros(), "the count is too small");
            }
            _ => {}
        }
    }
    state.queue.iter().for_each(|queued| decided.add(queued.nominal));
    let window = spec.window.unwrap_or(Span::since(Timestamp::from_micros(i64::MIN)));
    let first = match &spec.trigger {
        Trigger::Calendar { .. } => noon().wall.as_micros() + 1,
        _ => noon().wall.as_micros(),
    };
    let mut at = series.first_from(first.max(window.from.as_micros()));
    let mut decided = decided.0.into_iter();
    while let Some(instant) = at
        && instant <= state.cursor.as_micros()
        && instant < window.until.as_micros()
    {
        assert_eq!(decided.next(), Some(Timestamp::from_micros(instant)));
        at = series.first_from(instant + 1);
    }
    assert_eq!(decided.next(), None);
}

#[test]
fn every_instant_is_fired_or_skipped_exactly_once() {
    let (mut fired, mut skipped) = (0, 0);
    for seed in 1..=400 {
        let mut chance = Chance(seed * 0x9e37_79b9);
        let trigger = chance.planned_trigger();
        let mut bench = Bench::new(chance.spec(trigger));
        for _ in 0..60 {
            let from = bench.said.len();
            treat(&mut bench, &mut chance);
            assert_not_early(&bench, from);
            // Listing them is the test's way, not the schedule's.
            if bench.schedule.counters().skipped.total() > 2_000 {
                break;
            }
        }
        let counters = bench.schedule.counters();
        if counters.skipped.total() < 50_000 {
            assert_all_accounted_for(&bench);
            fired += counters.fired;
            skipped += counters.skipped.total();
        }
    }
    assert!(fired > 1_000 && skipped > 100_000, "{fired} and {skipped} prove little");
}

#[test]
fn no_instant_fires_twice_whatever_the_clocks_do() {
    let mut fired_in_all = 0;
    for seed in 1..=1_200 {
        let mut chance = Chance(seed * 0x51ed_270b);
        let trigger = chance.any_trigger();
        let mut bench = Bench::new(chance.spec(trigger));
        let mut running = 0_u64;
        for _ in 0..80 {
            let from = bench.said.len();
            let before = bench.schedule.counters();
            match chance.below(8) {
                0 => {
                    let back = bench.now.wall.before(chance.time(38));
                    bench.set_wall(back);
                }
                1 => {
                    let ahead = bench.now.wall.after(chance.time(38));
                    bench.set_wall(ahead);
                }
                2 if chance.one_in(3) => {
                    let trigger = if chance.one_in(2) {
                        bench.schedule.spec().trigger.clone()
                    } else {
                        chance.any_trigger()
                    };
                    bench.schedule.update(chance.spec(trigger), bench.now);
                }
                _ => treat(&mut bench, &mut chance),
            }
            answer(&mut bench, &mut chance, from);
            let after = bench.schedule.counters();
            let fired = after.fired - before.fired;
            running += fired;
            assert!(u64::from(after.outstanding) <= running);
            if bench.schedule.spec().overlap != Overlap::Allow {
                // Work that was allowed to overlap goes on when that is allowed no more.
                assert!(after.outstanding <= before.outstanding.max(1));
            }
            assert!(after.queued <= 20);
            assert!(bench.schedule.state().fired_ranges.iter().count() <= 32);
        }
        let firings = bench.firings();
        let unique: BTreeSet<_> = firings.iter().map(|firing| firing.nominal).collect();
        assert_eq!(unique.len(), firings.len(), "seed {seed}");
        let ordinals: Vec<_> = firings.iter().map(|firing| firing.ordinal).collect();
        assert_eq!(ordinals, (1..=firings.len() as u64).collect::<Vec<_>>());
        fired_in_all += firings.len();
    }
    assert!(fired_in_all > 5_000, "{fired_in_all} firings prove little");
}

#[test]
fn a_restart_at_any_time_changes_nothing() {
    for seed in 1..=300 {
        let mut chance = Chance(seed * 0x2545_f491);
        let trigger = chance.planned_trigger();
        let mut bench = Bench::new(chance.spec(trigger));
        let mut restarted = bench.clone();
        for _ in 0..40 {
            let state = chance.0;
            treat(&mut bench, &mut chance);
            chance.0 = state;
            treat(&mut restarted, &mut chance);
            restarted.outage(Duration::ZERO);
            restarted.now.monotonic = Moment::from_millis(chance.below(1_000_000));
            restarted.outage(Duration::ZERO);
            bench.poll();
            restarted.poll();
            assert_eq!(restarted.said, bench.said, "seed {seed}");
            assert_eq!(restarted.schedule.state(), bench.schedule.state(), "seed {seed}");
        }
    }
}
