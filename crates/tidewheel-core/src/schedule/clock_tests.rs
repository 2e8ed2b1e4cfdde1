//! What schedules do when clocks jump, machines sleep and processes are down.
//!
//! Well-behaved clocks are in [`super::tests`].

use std::collections::BTreeSet;

use crate::calendar::steps::counted;
use crate::policy::{Backoff, Jitter, Retry, Shape};
use crate::time::{Moment, Now, Timestamp};

use super::test_bench::*;
use super::{Anchor, Due, Misfire, Overlap, Schedule, ScheduleSpec, SkipReason, Trigger, Verdict};

const STEPS: [u64; 5] = [1, 60, 3_600, 3 * 86_400, 2 * 365 * 86_400];

fn spec(trigger: Trigger) -> ScheduleSpec {
    ScheduleSpec::new(trigger)
}

fn minutely(misfire: Misfire) -> ScheduleSpec {
    ScheduleSpec { misfire, ..spec(cron("* * * * *")) }
}

fn assert_no_instant_twice(bench: &Bench) {
    let unique: BTreeSet<_> = bench.firings().iter().map(|firing| firing.nominal).collect();
    assert_eq!(unique.len(), bench.firings().len());
}

#[test]
fn tp_10_wall_jumps_leave_intervals_alone() {
    for trigger in [Trigger::every(seconds(10)), Trigger::spaced(seconds(10))] {
        let mut bench = Bench::new(spec(trigger));
        bench.run(seconds(25));
        let jumps = ["2026-11-15T13:00:00Z", "2026-11-15T11:00:00Z", "2020-01-01T00:00:00Z"];
        for wall in jumps {
            bench.set_wall(at(wall)).run(seconds(20));
        }
        assert_eq!(
            bench.offsets(),
            [0, 10, 20, 30, 40, 50, 60, 70, 80].map(|second| second * 1000)
        );
        assert!(bench.firings().iter().all(|firing| firing.due_lag.is_zero()));
    }
}

#[test]
fn tp_10_calendar_times_follow_the_wall_clock() {
    let mut bench = Bench::new(spec(cron("30 * * * *")));
    bench.run(seconds(600));
    bench.set_wall(at("2026-11-15T13:29:00Z")).end_new(0).run(seconds(61));
    assert_eq!(bench.nominals(), ["2026-11-15T12:30:00Z", "2026-11-15T13:30:00Z"]);
    bench.set_wall(at("2026-11-15T12:29:00Z")).clear().run(seconds(7_200));
    assert!(bench.firings().is_empty());
    bench.run(seconds(61));
    assert_eq!(bench.nominals(), ["2026-11-15T14:30:00Z"]);
    assert_no_instant_twice(&bench);
}

#[test]
fn tp_11_half_past_two_fires_once_a_day_through_both_clock_changes() {
    let start = |wall| crate::time::Now { monotonic: Moment::ZERO, wall: at(wall) };
    let daily = || spec(cron_in("30 2 * * *", "Europe/Berlin"));
    let mut spring = Bench::at(daily(), start("2026-03-28T00:00:00Z"));
    spring.run(seconds(3 * 86_400));
    assert_eq!(
        spring.nominals(),
        ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
    );
    let mut autumn = Bench::at(daily(), start("2026-10-24T00:00:00Z"));
    autumn.run(seconds(3 * 86_400));
    assert_eq!(
        autumn.nominals(),
        ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
}

#[test]
fn a_clock_set_back_fires_nothing_twice_and_goes_on_at_once() {
    for step in STEPS {
        for told in [true, false] {
            let mut bench = Bench::new(spec(cron("*/10 * * * * *")));
            bench.run(seconds(7_201));
            let fired_until = at("2026-11-15T14:00:00Z");
            assert_eq!(bench.firings().last().map(|firing| firing.nominal), Some(fired_until));
            let back = bench.now.wall.before(seconds(step));
            if told {
                bench.set_wall(back);
            } else {
                bench.now.wall = back;
                bench.poll();
            }
            let next = bench.schedule.next_nominal().expect("it goes on");
            if back < noon().wall {
                // Nothing had fired there: the very next instant does.
                assert!(next > back && next <= back.after(seconds(10)), "{step}");
            } else {
                assert_eq!(next, fired_until.after(seconds(10)), "{step}");
            }
            bench.clear().run(seconds(300));
            assert!(bench.schedule.counters().fired >= 720, "{step}");
            assert_no_instant_twice(&bench);
            // The same again from the other side of what fired.
            bench.set_wall(at("2026-11-15T11:59:45Z")).end_new(0).run(seconds(8_000));
            assert_no_instant_twice(&bench);
            assert!(bench.nominals().contains(&"2026-11-15T14:10:00Z".to_owned()));
        }
    }
}

#[test]
fn a_clock_wrongly_two_years_ahead_and_corrected_does_not_silence_the_schedule() {
    for misfire in [Misfire::Skip, Misfire::Latest, Misfire::All { max: 100 }] {
        let mut bench = Bench::new(minutely(misfire));
        bench.run(seconds(600));
        bench.set_wall(at("2028-11-15T12:10:00Z")).end_new(0).run(seconds(600));
        let before = bench.said.len();
        bench.set_wall(at("2026-11-15T12:20:00Z"));
        let moved = Verdict::Rescheduled {
            from: Some(at("2028-11-15T12:21:00Z")),
            to: Some(at("2026-11-15T12:21:00Z")),
        };
        assert_eq!(bench.said[before], moved);
        bench.clear().run(seconds(60));
        assert_eq!(bench.nominals(), ["2026-11-15T12:21:00Z"]);
        // Two years later the instants that did fire then are passed over.
        bench.set_wall(at("2028-11-15T12:09:30Z")).end_new(0).clear().run(seconds(660));
        assert!(bench.firings().is_empty());
        bench.run(seconds(60));
        assert_eq!(bench.nominals(), ["2028-11-15T12:21:00Z"]);
    }
}

#[test]
fn a_clock_set_forward_follows_the_misfire_policy_with_one_skip_row() {
    for step in STEPS {
        for misfire in [Misfire::Skip, Misfire::Latest, Misfire::All { max: 3 }] {
            let mut bench = Bench::new(minutely(misfire));
            bench.run(seconds(30)).set_wall(noon().wall.after(seconds(30 + step)));
            bench.end_new(0);
            let passed = (30 + step) / 60;
            let fired = match misfire {
                // Half a minute late is within the grace.
                Misfire::Skip | Misfire::Latest => passed.min(1),
                Misfire::All { max } => passed.min(u64::from(max)),
            };
            assert_eq!(bench.firings().len() as u64, fired, "{step} {misfire:?}");
            let skips = bench.skips(SkipReason::Misfire);
            let skipped: Vec<_> = skips.iter().map(|skip| skip.0).collect();
            let expected = passed - fired;
            assert_eq!(skipped, if expected > 0 { vec![expected] } else { vec![] });
            if expected > 0 {
                assert_eq!(skips[0].1, "2026-11-15T12:01:00Z");
                let last = noon().wall.after(seconds(60 * expected));
                assert_eq!(skips[0].2, last.to_string());
            }
            bench.clear().run(seconds(60));
            assert_eq!(bench.firings().len(), 1, "it keeps firing");
        }
    }
}

#[test]
fn misfire_skip_drops_what_is_later_than_the_grace() {
    let mut bench = Bench::new(ScheduleSpec {
        misfire: Misfire::Skip,
        misfire_grace: seconds(5),
        ..spec(cron("0 * * * *"))
    });
    bench.sleep(seconds(3_605)).poll().end(true);
    assert_eq!(bench.nominals(), ["2026-11-15T13:00:00Z"]);
    bench.sleep(seconds(3_601)).poll();
    assert_eq!(bench.skips(SkipReason::Misfire)[0].0, 1);
    assert_eq!(bench.firings().len(), 1);
}

#[test]
fn down_for_101_minutes_with_a_minutely_schedule() {
    for trigger in [cron("* * * * *"), Trigger::every(seconds(60))] {
        let policies = [(Misfire::Skip, 1), (Misfire::Latest, 1), (Misfire::All { max: 50 }, 50)];
        for (misfire, fired) in policies {
            let mut bench = Bench::new(ScheduleSpec { misfire, ..spec(trigger.clone()) });
            bench.run(seconds(90)).clear().outage(seconds(101 * 60)).poll().end_new(0);
            assert_eq!(bench.firings().len(), fired);
            assert_eq!(bench.firings().last().map(|firing| firing.due_lag), Some(seconds(30)));
            let skipped = bench.skips(SkipReason::Misfire);
            let end = noon().wall.after(seconds(60 * (102 - fired as u64))).to_string();
            assert_eq!(skipped, [(101 - fired as u64, "2026-11-15T12:02:00Z".to_owned(), end)]);
            bench.clear().run(seconds(600));
            assert_eq!(bench.firings().len(), 10);
        }
    }
}

#[test]
fn down_for_400_days_with_a_secondly_schedule_takes_no_time_and_no_memory() {
    let missed = 400 * 86_400;
    for trigger in [cron("* * * * * *"), Trigger::every(seconds(1))] {
        let policies = [(Misfire::Skip, 1), (Misfire::Latest, 1), (Misfire::All { max: 500 }, 500)];
        for (misfire, fired) in policies {
            let mut bench = Bench::new(ScheduleSpec { misfire, ..spec(trigger.clone()) });
            bench.run(seconds(10)).clear();
            let (steps, _) = counted(|| _ = bench.outage(seconds(missed)).poll());
            assert!(steps < 10_000, "{steps} steps for {missed} instants");
            assert!(bench.said.len() <= 2 && bench.schedule.state().queue.len() < 500);
            bench.end_new(0);
            assert_eq!(bench.firings().len() as u64, fired);
            assert_eq!(bench.schedule.counters().skipped.misfire, missed - fired);
            assert!(bench.schedule.state().fired_ranges.iter().count() <= 2);
            bench.clear().run(seconds(10));
            assert_eq!(bench.firings().len(), 10, "it keeps firing");
        }
    }
}

#[test]
fn catching_up_runs_one_after_the_other_unless_overlap_is_allowed() {
    let misfire = Misfire::All { max: 10 };
    for (overlap, at_once) in [(Overlap::Skip, 1), (Overlap::Cancel, 1), (Overlap::Allow, 10)] {
        let mut bench = Bench::new(ScheduleSpec { overlap, ..minutely(misfire) });
        bench.outage(seconds(3_601)).poll();
        assert_eq!(bench.schedule.counters().outstanding, at_once);
        bench.end_new(0);
        assert_eq!(bench.schedule.counters().fired, 10);
        assert_eq!(bench.schedule.counters().skipped.misfire, 50);
    }
}

#[test]
fn jitter_is_stored_with_the_pending_firing_and_100_restarts_do_not_move_it() {
    let jittered = ScheduleSpec { jitter: seconds(3_600), ..spec(cron("0 0 * * *")) };
    let mut schedule = Schedule::start(1, SEED, jittered.clone(), noon());
    let due = schedule.next_due();
    let mut now = noon();
    for restart in 0..100 {
        now.wall = now.wall.after(seconds(60));
        now.monotonic = Moment::from_millis(restart);
        // Another seed would draw another jitter, so this one can only be the stored one.
        schedule = Schedule::restore(1, SEED + restart, jittered.clone(), schedule.state(), now);
        assert_eq!(schedule.next_due(), due);
    }
}

#[test]
fn after_a_suspend_what_was_due_fires_at_the_first_poll() {
    for trigger in [cron("0 * * * *"), Trigger::every(seconds(3_600)), Trigger::after(seconds(60))]
    {
        let mut bench = Bench::new(spec(trigger));
        bench.run(seconds(1)).clear().sleep(seconds(8 * 3_600)).poll();
        assert_eq!(bench.firings().len(), 1);
        let due = bench.schedule.next_due();
        let later = match due {
            Some(Due::Wall(instant)) => instant > bench.now.wall,
            Some(Due::Monotonic(moment)) => moment > bench.now.monotonic,
            None => bench.schedule.is_ended(),
        };
        assert!(later, "{due:?}");
    }
}

#[test]
fn new_rules_of_a_time_zone_move_the_pending_instant_at_the_next_start() {
    let mut bench = Bench::new(spec(cron_in("0 18 * * *", "+01:00")));
    bench.run(seconds(60));
    assert_eq!(bench.schedule.next_nominal(), Some(at("2026-11-15T17:00:00Z")));
    // The same zone, whose offset is another since the database was updated: it is read at a start.
    bench.schedule.spec.trigger = cron_in("0 18 * * *", "+02:00");
    bench.outage(seconds(60));
    assert_eq!(bench.schedule.next_nominal(), Some(at("2026-11-15T16:00:00Z")));
    bench.run(seconds(86_400));
    assert_eq!(bench.nominals(), ["2026-11-15T16:00:00Z"]);
}

#[test]
fn the_last_instant_that_there_is_is_decided_once() {
    let spec = ScheduleSpec { overlap: Overlap::Skip, ..spec(Trigger::every(seconds(1))) };
    let wall = Timestamp::from_micros(i64::MAX).before(seconds(2));
    let mut bench = Bench::at(spec, Now { wall, ..noon() });
    // What fires first goes on, and the others are skipped.
    for _ in 0..3 {
        bench.sleep(seconds(1)).poll();
    }
    let skipped = bench.schedule.counters().skipped.total();
    assert!(skipped > 0);
    bench.sleep(seconds(1)).poll().sleep(seconds(1)).poll();
    assert_eq!(bench.schedule.counters().skipped.total(), skipped);
    assert_eq!(bench.schedule.next_due(), None);
}

#[test]
fn a_restart_keeps_the_cadence_of_intervals_even_after_wall_jumps() {
    let mut bench = Bench::new(spec(Trigger::every(seconds(60))));
    bench.run(seconds(90)).set_wall(at("2027-01-01T00:00:00Z")).clear();
    bench.outage(seconds(20)).run(seconds(15));
    assert_eq!(bench.offsets(), [120_000]);
    assert_eq!(bench.schedule.counters().skipped.total(), 0);
    // Set back while down: not one period is lost, and no label comes twice.
    bench.clear();
    bench.now.wall = at("2026-01-01T00:00:00Z");
    bench.outage(seconds(0)).run(seconds(60));
    assert_eq!(bench.offsets(), [180_000]);
}

#[test]
fn a_restart_keeps_what_remains_of_a_delay() {
    let mut bench = Bench::new(spec(Trigger::spaced(seconds(60))));
    bench.poll().sleep(seconds(5)).end(true).sleep(seconds(10)).poll();
    bench.outage(seconds(20));
    let due = Moment::from_millis(1).after(seconds(30));
    assert_eq!(bench.schedule.next_due(), Some(Due::Monotonic(due)));
    let mut once = Bench::new(spec(Trigger::after(seconds(60))));
    once.outage(seconds(3_600)).pass(seconds(0));
    assert_eq!(once.firings()[0].due_lag, seconds(3_540));
}

#[test]
fn a_fixed_rate_may_be_anchored_at_an_instant_long_past() {
    let start = Anchor::At(Timestamp::UNIX_EPOCH);
    let mut bench = Bench::new(spec(Trigger::FixedRate { period: seconds(7), start }));
    bench.run(seconds(69));
    assert_eq!(bench.firings().len(), 10);
    let on_grid = |instant: Timestamp| instant.as_micros() % 7_000_000 == 0;
    assert!(bench.firings().iter().all(|firing| on_grid(firing.nominal)));
}

#[test]
fn the_wait_after_a_failure_is_a_length_of_time_whatever_the_wall_clock_does() {
    let retry = Retry { jitter: Jitter::None, ..Retry::none() };
    let shape = Shape::Fixed;
    let backoff =
        Some(Retry { backoff: Backoff { shape, base: seconds(10), cap: seconds(10) }, ..retry });
    let mut bench = Bench::new(ScheduleSpec { backoff, ..spec(cron("* * * * * *")) });
    bench.pass(seconds(1)).end(false).set_wall(at("2026-11-15T11:00:00Z"));
    bench.clear().pass(seconds(9));
    assert!(bench.firings().is_empty());
    bench.pass(seconds(1));
    assert_eq!(bench.nominals(), ["2026-11-15T11:00:10Z"]);
    bench.end(false).pass(seconds(1)).set_wall(at("2026-11-15T13:00:00Z"));
    bench.clear().pass(seconds(8));
    assert!(bench.firings().is_empty());
    bench.pass(seconds(1));
    assert_eq!(bench.nominals(), ["2026-11-15T13:00:09Z"]);
}

#[test]
fn a_wait_after_a_failure_grows_by_no_clock_that_was_set_back_while_down() {
    let backoff = Backoff { shape: Shape::Fixed, base: seconds(10), cap: seconds(10) };
    let backoff = Some(Retry { backoff, jitter: Jitter::None, ..Retry::none() });
    let mut bench = Bench::new(ScheduleSpec { backoff, ..spec(cron("* * * * * *")) });
    bench.pass(seconds(1)).end(false).clear();
    bench.now.wall = at("2026-11-15T08:00:00Z");
    bench.outage(seconds(0)).poll().pass(seconds(9));
    assert!(bench.firings().is_empty());
    bench.pass(seconds(1));
    assert_eq!(bench.nominals(), ["2026-11-15T08:00:10Z"]);
}

#[test]
fn a_custom_trigger_is_asked_again_when_the_clock_is_set_back() {
    let mut bench = Bench::new(spec(Trigger::Custom));
    bench.poll();
    for minute in [1, 2] {
        let next = noon().wall.after(seconds(60 * minute));
        bench.schedule.answer(bench.now, Some(next), &mut bench.said);
        bench.run(seconds(60));
    }
    let pending = at("2026-11-15T13:00:00Z");
    bench.schedule.answer(bench.now, Some(pending), &mut bench.said);
    bench.clear().set_wall(at("2026-11-15T11:00:00Z"));
    let last = Some(at("2026-11-15T12:02:00Z"));
    assert_eq!(bench.said.last(), Some(&Verdict::AskTrigger { last }));
    bench.schedule.answer(bench.now, Some(at("2026-11-15T11:01:00Z")), &mut bench.said);
    bench.run(seconds(60));
    assert_eq!(bench.nominals(), ["2026-11-15T11:01:00Z"]);
    // What fired before is not accepted.
    bench.clear();
    bench.schedule.answer(bench.now, Some(at("2026-11-15T12:01:00Z")), &mut bench.said);
    assert!(matches!(bench.said[..], [Verdict::AskTrigger { .. }]));
}
