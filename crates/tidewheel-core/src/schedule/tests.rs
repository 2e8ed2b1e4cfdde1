//! What schedules do when clocks behave: triggers, overlap, backoff, pause, bounds.
//!
//! Clocks that jump and outages are in [`super::clock_tests`].

use std::time::Duration;

use crate::policy::{Backoff, Jitter, Retry, Shape};
use crate::time::{Moment, Timestamp};

use super::test_bench::*;
use super::{
    Anchor, Due, EndReason, Misfire, Overlap, Schedule, ScheduleSpec, SkipReason, Span, SpecError,
    Trigger, Verdict,
};

fn spec(trigger: Trigger) -> ScheduleSpec {
    ScheduleSpec::new(trigger)
}

#[test]
fn tp_01_once_fires_once_not_early_and_is_gone() {
    let mut bench = Bench::new(spec(Trigger::after(millis(500))));
    assert_eq!(bench.schedule.next_due(), Some(Due::Monotonic(Moment::from_millis(5_500))));
    bench.sleep(Duration::from_nanos(499_999_999)).poll();
    assert_eq!(bench.said, []);
    bench.sleep(Duration::from_nanos(1)).poll();
    assert_eq!(bench.offsets(), [500]);
    assert_eq!(bench.said[1], Verdict::Ended(EndReason::Exhausted));
    assert!(bench.schedule.is_ended());
    bench.end(true).pass(seconds(3_600));
    assert_eq!(bench.said.len(), 2);
    assert_eq!(bench.schedule.next_due(), None);
}

#[test]
fn once_at_a_wall_instant_follows_the_wall_clock() {
    let mut bench = Bench::new(spec(Trigger::at(at("2026-11-15T13:00:00Z"))));
    bench.pass(seconds(3_599));
    assert_eq!(bench.said, []);
    bench.set_wall(at("2026-11-15T12:00:00Z")).pass(seconds(3_599));
    assert_eq!(bench.said, []);
    bench.pass(seconds(1));
    assert_eq!(bench.nominals(), ["2026-11-15T13:00:00Z"]);
}

#[test]
fn tp_02_fixed_rate_does_not_drift() {
    let mut bench = Bench::new(spec(Trigger::every(millis(300))));
    for _ in 0..100 {
        let before = bench.said.len();
        bench.pass(millis(100));
        assert_eq!(bench.said.len(), before + 1);
        bench.end(true).pass(millis(199));
        bench.sleep(millis(1));
    }
    assert_eq!(bench.offsets(), (0..100).map(|step| step * 300).collect::<Vec<_>>());
    assert!(bench.firings().iter().all(|firing| firing.due_lag == Duration::ZERO));
}

#[test]
fn fixed_rate_is_anchored_over_10_000_firings() {
    let mut bench = Bench::new(spec(Trigger::every(millis(300))));
    while bench.schedule.counters().fired < 10_000 {
        // Served a little late each time, and never mind.
        bench.sleep(millis(17)).poll().end(true);
        bench.sleep(millis(283));
    }
    let firings = bench.firings();
    let last = firings.last().expect("10,000 firings");
    assert_eq!(last.nominal, noon().wall.after(millis(9_999 * 300)));
    assert_eq!((last.ordinal, last.due_lag), (10_000, millis(17)));
    assert_eq!(bench.schedule.state().fired_ranges.iter().count(), 1);
}

/// A third of a second, and 60 Hz: instants are rounded one by one, never the period.
#[test]
fn periods_that_are_no_whole_microseconds_do_not_drift() {
    for period in [seconds(1) / 3, seconds(1) / 60, Duration::from_nanos(1_000_001)] {
        let mut bench = Bench::new(spec(Trigger::every(period)));
        let exact = |steps: u32| {
            let nanos = period.as_nanos() * u128::from(steps);
            noon().wall.after(Duration::from_micros((nanos / 1000) as u64))
        };
        let mut steps = 0;
        while steps < 20_000 {
            assert_eq!(bench.schedule.next_nominal(), Some(exact(steps)), "{period:?}");
            let Some(Due::Monotonic(due)) = bench.schedule.next_due() else { panic!("not due") };
            bench.sleep(due.since(bench.now.monotonic)).poll().end(true);
            steps += 1;
        }
        assert_eq!(bench.schedule.counters().fired, u64::from(steps));
        assert_eq!(bench.schedule.state().fired_ranges.iter().count(), 1);
        // Centuries of them, all missed: counted by arithmetic, and the next one is where it belongs.
        bench.outage(seconds(3_600_000_000)).poll().end(true);
        let last = bench.firings().last().map(|firing| firing.nominal).expect("the latest");
        let number = last.since(noon().wall).as_nanos().div_ceil(period.as_nanos());
        let nanos = number * period.as_nanos();
        assert_eq!(last, noon().wall.after(Duration::from_micros((nanos / 1000) as u64)));
        let counters = bench.schedule.counters();
        assert_eq!(u128::from(counters.fired + counters.skipped.total()), number + 1);
    }
}

#[test]
fn a_delay_of_parts_of_a_microsecond_is_not_cut_short() {
    let delay = Duration::from_nanos(1_000_001);
    let mut bench = Bench::new(spec(Trigger::spaced(delay)));
    bench.poll().sleep(millis(1)).end(true);
    let Some(Due::Monotonic(due)) = bench.schedule.next_due() else { panic!("not due") };
    let waited = due.since(bench.now.monotonic);
    assert!(waited >= delay && waited < delay + Duration::from_micros(1), "{waited:?}");
}

#[test]
fn tp_03_fixed_delay_counts_from_the_end_of_the_work() {
    let mut bench = Bench::new(spec(Trigger::spaced(millis(700))));
    bench.poll();
    for _ in 0..5 {
        assert_eq!(bench.schedule.next_due(), None);
        bench.pass(millis(200)).end(true).pass(millis(700));
    }
    assert_eq!(bench.offsets(), [0, 900, 1_800, 2_700, 3_600, 4_500]);
}

#[test]
fn delay_and_backoff_are_never_early_by_a_part_of_a_microsecond() {
    let backoff = Some(doubling(millis(1)));
    let overlap = Overlap::QueueOne;
    let every = spec(Trigger::every(Duration::from_micros(1_200)));
    let mut queued = Bench::new(ScheduleSpec { backoff, overlap, ..every });
    queued.poll().pass(Duration::from_nanos(1_200_500)).end(false);
    let ended = queued.now.monotonic;
    let Some(Due::Monotonic(due)) = queued.schedule.next_due() else { panic!("a due moment") };
    assert_eq!(due, ended.after(Duration::from_nanos(1_000_500)));
    let mut bench = Bench::new(spec(Trigger::spaced(millis(1))));
    bench.poll().sleep(Duration::from_nanos(1_500)).end(true);
    let ended = bench.now.monotonic;
    let Some(Due::Monotonic(due)) = bench.schedule.next_due() else { panic!("a monotonic due") };
    assert!(due >= ended.after(millis(1)) && due <= ended.after(Duration::from_nanos(1_001_000)));
}

#[test]
fn tp_04_work_longer_than_the_period_skips_and_counts_the_ticks_between() {
    let mut bench = Bench::new(spec(Trigger::every(millis(100))));
    bench.pass(millis(350)).end(true).pass(millis(350)).end(true);
    assert_eq!(bench.offsets(), [0, 400]);
    assert_eq!(bench.schedule.counters().skipped.overlap, 6);
    assert_eq!(bench.schedule.counters().outstanding, 0);
}

#[test]
fn tp_05_schedules_of_one_instant_fire_with_that_instant_whatever_their_number() {
    // Which work starts first is the ready order's; it needs every firing, undelayed, by instant.
    for id in 0..10 {
        let mut schedule = Schedule::start(id, SEED, spec(cron("0 13 * * *")), noon());
        let mut said = Vec::new();
        let mut now = noon();
        now.wall = at("2026-11-15T13:00:00Z");
        schedule.poll(now, &mut said);
        let Verdict::Fire(firing) = said[0] else { panic!("{said:?}") };
        assert_eq!((firing.nominal, firing.due_lag), (now.wall, Duration::ZERO));
    }
}

fn doubling(base: Duration) -> Retry {
    let backoff = Backoff { shape: Shape::default(), base, cap: seconds(60) };
    Retry { backoff, jitter: Jitter::None, ..Retry::none() }
}

#[test]
fn fixed_rate_keeps_its_cadence_after_backoff() {
    let backoff = Some(doubling(millis(200)));
    let mut bench = Bench::new(ScheduleSpec { backoff, ..spec(Trigger::every(millis(100))) });
    bench.poll().sleep(millis(10)).end(false);
    assert_eq!(bench.schedule.counters().backoff_level, 1);
    bench.pass(millis(290)).sleep(millis(10)).end(false);
    assert_eq!(bench.offsets(), [0, 300]);
    assert_eq!(bench.schedule.counters().backoff_level, 2);
    bench.pass(millis(490)).end(true).pass(millis(100));
    assert_eq!(bench.offsets(), [0, 300, 800, 900]);
    assert_eq!(bench.schedule.counters().skipped.backoff, 2 + 4);
}

#[test]
fn tp_06_fixed_delay_waits_longer_after_each_failure_and_success_resets_it() {
    let backoff = Some(doubling(millis(200)));
    let mut bench = Bench::new(ScheduleSpec { backoff, ..spec(Trigger::spaced(millis(100))) });
    bench.poll().end(false).pass(millis(200)).end(false).pass(millis(400)).end(true);
    bench.pass(millis(100));
    assert_eq!(bench.offsets(), [0, 200, 600, 700]);
    assert_eq!(bench.schedule.counters().backoff_level, 0);
}

#[test]
fn tp_08_cancelled_before_due_never_fires() {
    let mut bench = Bench::new(spec(Trigger::every(seconds(1))));
    assert!(bench.schedule.cancel());
    assert!(!bench.schedule.cancel());
    bench.sleep(seconds(10)).poll();
    assert_eq!((bench.said.len(), bench.schedule.next_due()), (0, None));
}

#[test]
fn tp_08_cancelled_while_running_finishes_and_has_no_next() {
    let overlap = Overlap::QueueAll { max: 5 };
    for trigger in [Trigger::every(seconds(1)), Trigger::spaced(seconds(1))] {
        let mut bench = Bench::new(ScheduleSpec { overlap, ..spec(trigger) });
        bench.pass(seconds(3)).clear();
        assert!(bench.schedule.cancel());
        assert!(bench.schedule.is_ended());
        assert_eq!(bench.schedule.counters().outstanding, 1);
        bench.end(true).pass(seconds(10)).end(false);
        assert_eq!(bench.said, []);
        assert_eq!(bench.schedule.counters().outstanding, 0);
    }
}

#[test]
fn tp_09_a_custom_trigger_without_next_ends_the_schedule() {
    let mut bench = Bench::new(spec(Trigger::Custom));
    bench.pass(seconds(1));
    assert_eq!(bench.said, [Verdict::AskTrigger { last: None }]);
    assert_eq!(bench.schedule.next_due(), None);
    let first = at("2026-11-15T12:00:05Z");
    bench.schedule.answer(bench.now, Some(first), &mut bench.said);
    bench.clear().pass(seconds(10)).end(true);
    assert_eq!(bench.nominals(), ["2026-11-15T12:00:05Z"]);
    assert_eq!(bench.said[1], Verdict::AskTrigger { last: Some(first) });
    bench.clear();
    bench.schedule.answer(bench.now, None, &mut bench.said);
    assert_eq!(bench.said, [Verdict::Ended(EndReason::Exhausted)]);
    bench.schedule.answer(bench.now, Some(at("2026-11-15T13:00:00Z")), &mut bench.said);
    assert_eq!(bench.said.len(), 1);
}

#[test]
fn a_custom_trigger_that_repeats_itself_is_asked_again_and_then_ended() {
    let mut bench = Bench::new(spec(Trigger::Custom));
    let first = at("2026-11-15T12:00:05Z");
    bench.poll();
    bench.schedule.answer(bench.now, Some(first), &mut bench.said);
    bench.pass(seconds(10)).clear();
    bench.schedule.answer(bench.now, Some(first), &mut bench.said);
    assert_eq!(bench.said, [Verdict::AskTrigger { last: Some(first) }]);
    bench.schedule.answer(bench.now, Some(first), &mut bench.said);
    assert_eq!(bench.said[1], Verdict::Ended(EndReason::TriggerStuck));
}

#[test]
fn custom_instants_outside_window_and_in_exclusions_are_skipped_and_asked_past() {
    let hour = |hour| at(&format!("2026-11-15T{hour}:00:00Z"));
    let mut bench = Bench::new(ScheduleSpec {
        window: Some(Span::new(hour(14), hour(18))),
        exclusions: vec![Span::new(hour(15), hour(16))],
        ..spec(Trigger::Custom)
    });
    bench.poll();
    for answer in [13, 15] {
        bench.schedule.answer(bench.now, Some(hour(answer)), &mut bench.said);
        assert_eq!(bench.said.last(), Some(&Verdict::AskTrigger { last: Some(hour(answer)) }));
    }
    bench.schedule.answer(bench.now, Some(hour(17)), &mut bench.said);
    bench.pass(seconds(5 * 3_600 + 1));
    assert_eq!(bench.nominals(), ["2026-11-15T17:00:00Z"]);
    bench.schedule.answer(bench.now, Some(hour(18)), &mut bench.said);
    assert_eq!(bench.said.last(), Some(&Verdict::Ended(EndReason::WindowClosed)));
    let skipped = bench.schedule.counters().skipped;
    assert_eq!((skipped.window, skipped.excluded), (1, 1));
}

#[test]
fn tp_13_a_thousand_schedules_of_one_instant_spread_over_the_jitter() {
    let one = ScheduleSpec { jitter: seconds(1), ..spec(cron("0 13 * * *")) };
    let nominal = at("2026-11-15T13:00:00Z");
    let mut tenths = [0; 10];
    for id in 0..1_000 {
        let schedule = Schedule::start(id, SEED, one.clone(), noon());
        let Some(Due::Wall(due)) = schedule.next_due() else { panic!("a wall due") };
        assert_eq!(schedule.next_nominal(), Some(nominal));
        assert!(nominal <= due && due <= nominal.after(seconds(1)));
        tenths[(due.since(nominal).as_millis() as usize / 100).min(9)] += 1;
    }
    assert!(tenths.iter().all(|count| (65..=140).contains(count)), "{tenths:?}");
}

#[test]
fn jitter_never_reaches_the_next_instant() {
    let mut bench = Bench::new(ScheduleSpec { jitter: seconds(3_600), ..spec(cron("* * * * *")) });
    bench.run(seconds(3_600 * 3));
    assert!((178..=180).contains(&bench.schedule.counters().fired));
    bench.schedule.spec.trigger = cron("* * * * * *");
    for second in 0..1_000 {
        let pending = bench.schedule.with_jitter(second * 1_000_000);
        assert!(pending.due < pending.nominal.after(seconds(1)));
    }
    assert_eq!(bench.schedule.counters().skipped.total(), 0);
    assert!(bench.firings().iter().all(|firing| firing.due_lag == Duration::ZERO));
}

#[test]
fn overlap_skip_drops_what_comes_while_work_runs() {
    let mut bench = Bench::new(spec(cron("* * * * *")));
    bench.pass(seconds(180)).end(true).pass(seconds(60));
    assert_eq!(bench.nominals(), ["2026-11-15T12:01:00Z", "2026-11-15T12:04:00Z"]);
    let skipped = |minute| format!("2026-11-15T12:0{minute}:00Z");
    assert_eq!(
        bench.skips(SkipReason::Overlap),
        [(1, skipped(2), skipped(2)), (1, skipped(3), skipped(3))]
    );
}

#[test]
fn overlap_queue_one_starts_the_first_that_waited() {
    let overlap = Overlap::QueueOne;
    let mut bench = Bench::new(ScheduleSpec { overlap, ..spec(cron("* * * * *")) });
    bench.pass(seconds(270));
    assert_eq!(bench.schedule.counters().queued, 1);
    bench.end(true);
    let firings = bench.firings();
    assert_eq!(bench.nominals(), ["2026-11-15T12:01:00Z", "2026-11-15T12:02:00Z"]);
    assert_eq!(firings[1].due_lag, seconds(150));
    assert_eq!(bench.schedule.counters().skipped.queue_full, 2);
}

#[test]
fn overlap_queue_newest_starts_the_last_that_came() {
    let overlap = Overlap::QueueNewest;
    let mut bench = Bench::new(ScheduleSpec { overlap, ..spec(cron("* * * * *")) });
    bench.pass(seconds(270));
    assert_eq!(bench.schedule.counters().queued, 1);
    bench.end(true);
    let firings = bench.firings();
    assert_eq!(bench.nominals(), ["2026-11-15T12:01:00Z", "2026-11-15T12:04:00Z"]);
    assert_eq!(firings[1].due_lag, seconds(30));
    assert_eq!(bench.schedule.counters().skipped.queue_full, 2);
}

#[test]
fn overlap_queue_all_starts_them_in_order_and_is_bounded() {
    let overlap = Overlap::QueueAll { max: 2 };
    let mut bench = Bench::new(ScheduleSpec { overlap, ..spec(Trigger::every(seconds(60))) });
    bench.pass(seconds(250)).end(true).end(false).end(true).end(true);
    assert_eq!(bench.offsets(), [0, 60_000, 120_000]);
    assert_eq!(bench.schedule.counters().skipped.queue_full, 2);
    assert_eq!(bench.schedule.counters().outstanding, 0);
}

#[test]
fn overlap_cancel_stops_the_running_one_and_starts_the_newest_after_it() {
    let overlap = Overlap::Cancel;
    let backoff = Some(doubling(seconds(600)));
    let mut bench =
        Bench::new(ScheduleSpec { overlap, backoff, ..spec(Trigger::every(seconds(60))) });
    bench.pass(seconds(130));
    let cancels = bench.said.iter().filter(|verdict| **verdict == Verdict::CancelRunning).count();
    assert_eq!((cancels, bench.offsets()), (1, vec![0]));
    // That it was displaced is no failure of the work.
    bench.end(false);
    assert_eq!(bench.offsets(), [0, 120_000]);
    assert_eq!(bench.schedule.counters().backoff_level, 0);
    assert_eq!(bench.schedule.counters().skipped.overlap, 1);
}

#[test]
fn overlap_allow_lets_them_run_side_by_side() {
    let overlap = Overlap::Allow;
    let mut bench = Bench::new(ScheduleSpec { overlap, ..spec(Trigger::every(seconds(60))) });
    bench.pass(seconds(180));
    assert_eq!(bench.schedule.counters().outstanding, 4);
    bench.end(true).end(true);
    assert_eq!(bench.schedule.counters().outstanding, 2);
}

#[test]
fn overlap_survives_a_crash_of_the_scheduler_and_of_the_work() {
    let policies = [
        (Overlap::Skip, 1, 0),
        (Overlap::QueueOne, 1, 1),
        (Overlap::QueueNewest, 1, 1),
        (Overlap::QueueAll { max: 9 }, 1, 1),
        (Overlap::Cancel, 1, 1),
        (Overlap::Allow, 2, 0),
    ];
    for (overlap, outstanding, queued) in policies {
        let mut bench = Bench::new(ScheduleSpec { overlap, ..spec(Trigger::every(seconds(60))) });
        bench.poll().pass(seconds(10)).outage(seconds(20)).pass(seconds(31));
        let counters = bench.schedule.counters();
        assert_eq!((counters.outstanding, counters.queued), (outstanding, queued), "{overlap:?}");
        bench.outage(seconds(1));
        assert_eq!(bench.schedule.counters(), counters);
        // The work is found lost: what waited starts, and the schedule goes on.
        bench.clear().end(false).end_new(0).run(seconds(60));
        assert_eq!(bench.firings().len() as u32, 1 + queued, "{overlap:?}");
    }
}

#[test]
fn pause_lets_nothing_fire_and_resume_applies_the_misfire_policy() {
    let policies = [
        (Misfire::Skip, vec![], 5),
        (Misfire::Latest, vec!["2026-11-15T12:05:00Z"], 4),
        (Misfire::All { max: 2 }, vec!["2026-11-15T12:04:00Z", "2026-11-15T12:05:00Z"], 3),
    ];
    for (misfire, fired, skipped) in policies {
        let mut bench = Bench::new(ScheduleSpec { misfire, ..spec(cron("* * * * *")) });
        bench.schedule.pause(bench.now);
        assert_eq!(bench.schedule.next_due(), None);
        bench.pass(seconds(310)).poll().outage(seconds(1)).poll();
        assert_eq!(bench.said, []);
        let mut preview = bench.clone();
        preview.schedule.resume(preview.now, &mut preview.said);
        bench.schedule.resume(bench.now, &mut bench.said);
        assert_eq!(preview.said, bench.said, "a clone shows what resuming would do");
        bench.end_new(0);
        assert_eq!(bench.nominals(), fired);
        assert_eq!(bench.schedule.counters().skipped.paused, skipped);
        bench.clear().run(seconds(60));
        assert_eq!(bench.nominals(), ["2026-11-15T12:06:00Z"]);
    }
}

#[test]
fn what_is_queued_waits_for_the_end_of_a_pause() {
    let overlap = Overlap::QueueOne;
    let mut bench = Bench::new(ScheduleSpec { overlap, ..spec(Trigger::every(seconds(60))) });
    bench.pass(seconds(70));
    bench.schedule.pause(bench.now);
    bench.end(true);
    assert_eq!(bench.offsets(), [0]);
    bench.schedule.resume(bench.now, &mut bench.said);
    assert_eq!(bench.offsets(), [0, 60_000]);
}

#[test]
fn window_and_exclusions_bound_the_instants() {
    let minute = |minute: u32| at(&format!("2026-11-15T12:{minute:02}:00Z"));
    let mut bench = Bench::new(ScheduleSpec {
        window: Some(Span::new(minute(2), minute(10))),
        exclusions: vec![
            Span::new(minute(6), minute(8)),
            Span::new(minute(4), minute(5)),
            Span::new(minute(5), minute(7)),
        ],
        ..spec(cron("* * * * *"))
    });
    bench.run(seconds(3_600));
    let fired = [2, 3, 8, 9].map(|number| minute(number).to_string());
    assert_eq!(bench.nominals(), fired);
    let skips = bench.skips(SkipReason::Excluded);
    assert_eq!(skips, [(4, minute(4).to_string(), minute(7).to_string())]);
    assert_eq!(bench.said.last(), Some(&Verdict::Ended(EndReason::WindowClosed)));
}

#[test]
fn a_fixed_delay_is_put_off_to_the_end_of_an_exclusion() {
    let minute = |minute: u32| at(&format!("2026-11-15T12:{minute:02}:00Z"));
    let exclusions = vec![Span::new(minute(1), minute(5))];
    let mut bench = Bench::new(ScheduleSpec { exclusions, ..spec(Trigger::spaced(seconds(90))) });
    bench.run(seconds(420));
    assert_eq!(bench.offsets(), [0, 300_000, 390_000]);
}

#[test]
fn max_firings_counts_firings_and_not_skips() {
    let max_firings = Some(3);
    let overlap = Overlap::QueueAll { max: 10 };
    for trigger in [Trigger::every(seconds(1)), Trigger::spaced(seconds(1)), cron("* * * * * *")] {
        let mut bench = Bench::new(ScheduleSpec { max_firings, overlap, ..spec(trigger) });
        bench.run(seconds(20));
        assert_eq!(bench.firings().len(), 3);
        assert_eq!(bench.said.last(), Some(&Verdict::Ended(EndReason::MaxFirings)));
    }
    let every = Trigger::every(seconds(1));
    let mut bench = Bench::new(ScheduleSpec { max_firings, overlap, ..spec(every) });
    bench.pass(seconds(20));
    assert!(!bench.schedule.is_ended(), "two are queued");
    bench.end(true).end(true);
    assert_eq!(bench.firings().len(), 3);
    assert!(bench.schedule.is_ended());
}

#[test]
fn a_changed_trigger_never_fires_an_instant_before_the_change() {
    let changes = [
        cron("* * * * * *"),
        cron("30 12 * * *"),
        cron_in("* * * * *", "Asia/Kathmandu"),
        Trigger::FixedRate { period: seconds(7), start: Anchor::At(Timestamp::UNIX_EPOCH) },
        Trigger::FixedDelay { delay: seconds(7), start: Anchor::At(Timestamp::UNIX_EPOCH) },
        Trigger::at(at("2026-11-15T12:10:00Z")),
        Trigger::every(seconds(7)),
    ];
    for trigger in changes {
        for unseen in [0, 1, 120] {
            let mut bench = Bench::new(spec(cron("*/2 * * * *")));
            bench.run(seconds(3_600)).sleep(seconds(unseen)).clear();
            let change = bench.now.wall;
            assert!(bench.schedule.update(spec(trigger.clone()), bench.now));
            bench.run(seconds(86_400));
            assert!(bench.firings().iter().all(|firing| firing.nominal >= change), "{trigger:?}");
            assert_eq!(bench.firings().is_empty(), matches!(trigger, Trigger::Once(_)));
        }
    }
}

#[test]
fn changed_policies_keep_the_rhythm_and_hold_for_the_pending_instant() {
    let mut bench = Bench::new(spec(Trigger::every(seconds(60))));
    bench.run(seconds(90)).clear();
    let excluded = Span::new(at("2026-11-15T12:02:00Z"), at("2026-11-15T12:03:30Z"));
    let changed = ScheduleSpec { exclusions: vec![excluded], ..bench.schedule.spec().clone() };
    assert!(bench.schedule.update(changed.clone(), bench.now));
    assert_eq!(bench.schedule.next_nominal(), Some(at("2026-11-15T12:04:00Z")));
    bench.run(seconds(180)).clear();
    let jittered = ScheduleSpec { jitter: seconds(50), ..changed };
    assert!(bench.schedule.update(jittered.clone(), bench.now));
    assert_eq!(bench.schedule.next_nominal(), Some(at("2026-11-15T12:05:00Z")));
    assert!(bench.schedule.state().pending.is_some_and(|next| next.due > next.nominal));
    let fired = bench.schedule.counters().fired;
    assert!(
        bench.schedule.update(ScheduleSpec { max_firings: Some(fired), ..jittered }, bench.now)
    );
    assert!(bench.schedule.is_ended() && !bench.schedule.update(spec(cron("@hourly")), bench.now));
}

#[test]
fn an_interval_changed_while_the_wall_clock_is_off_repeats_no_label() {
    let mut bench = Bench::new(spec(Trigger::every(seconds(60))));
    bench.run(seconds(7_200));
    bench.set_wall(at("2026-11-15T13:00:00Z"));
    assert!(bench.schedule.update(spec(Trigger::every(seconds(30))), bench.now));
    bench.run(seconds(600));
    assert!(bench.firings().is_sorted_by(|one, next| one.nominal < next.nominal));
    assert_eq!(bench.firings().len(), 120 + 21);
}

#[test]
fn a_calendar_set_back_and_changed_to_an_interval_fires_at_once_and_repeats_no_label() {
    let mut bench = Bench::new(spec(cron("* * * * *")));
    bench.run(seconds(7_200));
    bench.set_wall(at("2026-11-15T13:00:00Z"));
    assert!(bench.schedule.update(spec(Trigger::every(seconds(60))), bench.now));
    bench.run(seconds(600));
    assert!(bench.firings().is_sorted_by(|one, next| one.nominal < next.nominal));
    assert_eq!(bench.firings().len(), 120 + 11);
}

#[test]
fn specifications_that_make_no_sense_are_refused() {
    let check = |spec: ScheduleSpec| spec.check(noon());
    let minutely = || spec(cron("* * * * *"));
    let noon = noon().wall;
    assert_eq!(check(minutely()), Ok(()));
    assert_eq!(check(spec(Trigger::Custom)), Ok(()));
    assert_eq!(check(spec(Trigger::spaced(seconds(1)))), Ok(()));
    let never = Err(SpecError::NeverFires);
    assert_eq!(check(spec(cron("0 0 30 2 *"))), never);
    assert_eq!(check(ScheduleSpec { max_firings: Some(0), ..minutely() }), never);
    assert_eq!(check(ScheduleSpec { window: Some(Span::before(noon)), ..minutely() }), never);
    let exclusions = vec![Span::since(noon)];
    assert_eq!(check(ScheduleSpec { exclusions: exclusions.clone(), ..minutely() }), never);
    let once = spec(Trigger::after(seconds(1)));
    assert_eq!(check(ScheduleSpec { exclusions, ..once }), never);
    let zero = Err(SpecError::Step { name: "period" });
    assert_eq!(check(spec(Trigger::every(Duration::ZERO))), zero);
    assert_eq!(check(spec(Trigger::every(Duration::from_nanos(999_999)))), zero);
    assert_eq!(check(spec(Trigger::every(Duration::from_nanos(2_000_001)))), Ok(()));
    let zero = Err(SpecError::Step { name: "delay" });
    assert_eq!(check(spec(Trigger::spaced(Duration::ZERO))), zero);
    let long = Err(SpecError::TooLong { name: "jitter" });
    assert_eq!(check(ScheduleSpec { jitter: Duration::MAX, ..minutely() }), long);
    let window = Some(Span::new(noon, noon));
    let empty = Err(SpecError::EmptySpan { from: noon, until: noon });
    assert_eq!(check(ScheduleSpec { window, ..minutely() }), empty);
    let overlap = Overlap::QueueAll { max: 0 };
    assert!(check(ScheduleSpec { overlap, ..minutely() }).is_err());
    let misfire = Misfire::All { max: 1_000_000 };
    assert!(check(ScheduleSpec { misfire, ..minutely() }).is_err());
    let instant = at("2026-11-15T11:00:00Z");
    assert_eq!(check(spec(Trigger::at(instant))), Err(SpecError::InThePast { instant }));
}

#[test]
fn what_was_not_checked_ends_or_goes_on_but_does_not_panic() {
    let mut never = Bench::new(spec(cron("0 0 30 2 *")));
    never.pass(seconds(1));
    assert_eq!(never.said, [Verdict::Ended(EndReason::Exhausted)]);
    let mut zero = Bench::new(spec(Trigger::every(Duration::ZERO)));
    zero.sleep(seconds(1)).poll();
    assert_eq!(zero.firings().len(), 1);
    for time in [Duration::MAX, Duration::from_nanos(1)] {
        for trigger in [Trigger::every(time), Trigger::spaced(time), Trigger::after(time)] {
            let mut bench = Bench::new(ScheduleSpec {
                jitter: time,
                misfire_grace: time,
                exclusions: vec![Span::since(noon().wall.after(seconds(1)))],
                ..spec(trigger)
            });
            bench.sleep(seconds(1)).poll().end(false).sleep(seconds(1_000_000)).poll();
        }
    }
}

#[test]
fn what_comes_next_is_what_then_fires() {
    let window = Some(Span::new(at("2026-11-15T00:00:00Z"), at("2026-11-15T12:09:00Z")));
    let exclusions = vec![Span::new(at("2026-11-15T12:02:00Z"), at("2026-11-15T12:04:00Z"))];
    let bounded = ScheduleSpec { window, exclusions, ..spec(cron("* * * * *")) };
    for (spec, count) in [
        (bounded.clone(), 6),
        (ScheduleSpec { max_firings: Some(3), ..bounded }, 3),
        (ScheduleSpec { max_firings: Some(4), ..spec(Trigger::every(seconds(7))) }, 4),
        (spec(Trigger::after(seconds(5))), 1),
    ] {
        let mut bench = Bench::new(spec);
        let foretold: Vec<String> =
            bench.schedule.upcoming().map(|instant| instant.to_string()).collect();
        assert_eq!(foretold.len(), count);
        bench.run(seconds(3_600));
        assert_eq!(bench.nominals(), foretold);
        assert_eq!(bench.schedule.upcoming().next(), None);
    }
    // What counts from the end of the work before is not known further ahead.
    let bench = Bench::new(spec(Trigger::spaced(seconds(5))));
    assert_eq!(bench.schedule.upcoming().count(), 1);
}
