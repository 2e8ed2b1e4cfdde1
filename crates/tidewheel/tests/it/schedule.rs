//! Schedules: when they fire, what they skip, how they end, retry and follow the clocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Gate, Log, builder, millis, seconds, settle};
use tidewheel::clock::VirtualClock;
use tidewheel::policy::Jitter;
use tidewheel::schedule::{Misfire, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel::{Backoff, Priority, Rejection, Retry, Shutdown, Tidewheel, Timestamp};
use tokio::time::Instant;

/// Code that notes when it starts, in milliseconds since now, and takes `work`.
fn ticking(log: &Log, work: Duration) -> impl Fn() -> futures::Ticking + Send + Sync + use<> {
    let (log, origin) = (log.clone(), Instant::now());
    move || {
        log.add(origin.elapsed().as_millis().to_string());
        // sleeps: in paused time
        Box::pin(tokio::time::sleep(work))
    }
}

mod futures {
    pub type Ticking = std::pin::Pin<Box<tokio::time::Sleep>>;
}

fn times(log: &Log) -> Vec<u64> {
    log.take().iter().map(|entry| entry.parse().unwrap()).collect()
}

/// TP-01.
#[tokio::test(start_paused = true)]
async fn a_one_shot_runs_once_not_early_and_is_gone() {
    let (wheel, log) = (builder().start(), Log::default());
    let once = wheel.once_after(millis(500)).run(ticking(&log, Duration::ZERO)).unwrap();
    assert_eq!(once.next(), Some("2026-03-01T00:00:00.5Z".parse().unwrap()));
    tokio::time::sleep(millis(499)).await;
    assert_eq!(log.len(), 0);
    tokio::time::sleep(seconds(10)).await;
    assert_eq!(times(&log), [500]);
    assert!(once.is_ended());
    assert_eq!(wheel.stats().schedules, 0);

    let at: Timestamp = "2026-03-01T01:00:00Z".parse().unwrap();
    wheel.once_at(at).run(ticking(&log, Duration::ZERO)).unwrap();
    tokio::time::sleep(seconds(4000)).await;
    assert_eq!(log.len(), 1);
    assert!(wheel.once_at(at).run(|| async {}).is_err());
    wheel.check();
}

/// TP-02.
#[tokio::test(start_paused = true)]
async fn a_fixed_rate_does_not_drift() {
    let (wheel, log) = (builder().start(), Log::default());
    let ticker = wheel.every(millis(300)).run(ticking(&log, millis(100))).unwrap();
    tokio::time::sleep(millis(300 * 100 + 50)).await;
    ticker.cancel();
    assert_eq!(times(&log), (0..=100).map(|k| k * 300).collect::<Vec<_>>());
    assert!(!ticker.is_ended(), "a firing is under way");
    tokio::time::sleep(seconds(1)).await;
    assert!(ticker.is_ended());
}

/// TP-03.
#[tokio::test(start_paused = true)]
async fn a_fixed_delay_counts_from_the_end_of_the_work() {
    let (wheel, log) = (builder().start(), Log::default());
    let spaced = wheel.every_after(millis(700)).run(ticking(&log, millis(200))).unwrap();
    tokio::time::sleep(millis(3000)).await;
    spaced.cancel();
    assert_eq!(times(&log), [0, 900, 1800, 2700]);
}

/// TP-04.
#[tokio::test(start_paused = true)]
async fn work_longer_than_the_period_follows_the_overlap_policy() {
    for (overlap, starts, skipped) in [
        (Overlap::Skip, vec![0, 400, 800], 7),
        (Overlap::QueueOne, vec![0, 350, 700], 6),
        (Overlap::Allow, (0..10).map(|k| k * 100).collect(), 0),
    ] {
        let (wheel, log) = (builder().start(), Log::default());
        let ticker =
            wheel.every(millis(100)).overlap(overlap).run(ticking(&log, millis(350))).unwrap();
        tokio::time::sleep(millis(999)).await;
        assert_eq!(times(&log), starts, "{overlap:?}");
        let counters = ticker.counters().unwrap();
        assert_eq!(counters.fired as usize, starts.len(), "{overlap:?}");
        let skips = counters.skipped.overlap + counters.skipped.queue_full;
        assert_eq!(skips, skipped, "{overlap:?} {counters:?}");
        wheel.check();
    }
}

#[tokio::test(start_paused = true)]
async fn a_newer_firing_can_replace_the_one_that_runs() {
    let (wheel, log) = (builder().start(), Log::default());
    let ticker = wheel
        .every(millis(100))
        .overlap(Overlap::Cancel)
        .run(ticking(&log, seconds(3600)))
        .unwrap();
    tokio::time::sleep(millis(350)).await;
    assert_eq!(times(&log), [0, 100, 200, 300]);
    assert_eq!(wheel.stats().total.active, 1);
    ticker.cancel();
}

/// TP-05.
#[tokio::test(start_paused = true)]
async fn at_one_instant_the_important_goes_first_and_equals_in_order() {
    let (wheel, log) = (builder().slots(1).start(), Log::default());
    for (name, priority) in [
        ("low", Priority::LOW),
        ("first", Priority::NORMAL),
        ("second", Priority::NORMAL),
        ("high", Priority::HIGH),
    ] {
        let log = log.clone();
        let code = move || {
            log.add(name);
            tokio::task::yield_now()
        };
        wheel.once_after(millis(100)).priority(priority).run(code).unwrap();
    }
    tokio::time::sleep(millis(200)).await;
    assert_eq!(log.take(), ["high", "first", "second", "low"]);
}

/// TP-06.
#[tokio::test(start_paused = true)]
async fn a_failing_schedule_backs_off_and_a_success_resets_it() {
    let (wheel, log) = (builder().start(), Log::default());
    let (inner, origin) = (log.clone(), Instant::now());
    let backoff = Retry {
        backoff: Backoff { base: millis(200), ..Backoff::default() },
        jitter: Jitter::Proportional { percent: 50 },
        ..Retry::default()
    };
    let calls = Arc::new(AtomicUsize::new(0));
    let ticker = wheel
        .every_after(millis(1))
        .backoff(backoff)
        .run(move || {
            inner.add(origin.elapsed().as_millis().to_string());
            let call = calls.fetch_add(1, Ordering::SeqCst);
            async move { if call < 2 { Err("down") } else { Ok(()) } }
        })
        .unwrap();
    tokio::time::sleep(millis(950)).await;
    let starts = times(&log);
    assert!((200..=301).contains(&(starts[1] - starts[0])), "{starts:?}");
    assert!((400..=601).contains(&(starts[2] - starts[1])), "{starts:?}");
    assert!(starts[3] - starts[2] <= 2, "{starts:?}");
    assert_eq!(ticker.counters().unwrap().backoff_level, 0);
}

/// TP-07.
#[tokio::test(start_paused = true)]
async fn a_failing_one_shot_is_retried() {
    let wheel = builder().start();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let once = wheel
        .once_after(millis(10))
        .retries(3)
        .base_delay(millis(100))
        .run_with(move |attempt| {
            assert_eq!(attempt.number() as usize, count.fetch_add(1, Ordering::SeqCst) + 1);
            async move { if attempt.number() < 3 { Err("not yet") } else { Ok(()) } }
        })
        .unwrap();
    tokio::time::sleep(seconds(10)).await;
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    assert!(once.is_ended());
    assert_eq!(wheel.stats().total.completed, 1);
    wheel.check();
}

/// TP-08.
#[tokio::test(start_paused = true)]
async fn cancelling_a_schedule_before_twice_and_while_it_runs() {
    let (wheel, log) = (builder().start(), Log::default());
    let before = wheel.once_after(millis(100)).run(ticking(&log, Duration::ZERO)).unwrap();
    before.cancel();
    before.cancel();
    let (inner, ended) = (log.clone(), log.clone());
    let running = wheel
        .every(millis(100))
        .run(move || {
            inner.add("start");
            let ended = ended.clone();
            async move {
                tokio::time::sleep(millis(50)).await;
                ended.add("end");
            }
        })
        .unwrap();
    tokio::time::sleep(millis(20)).await;
    running.cancel();
    tokio::time::sleep(seconds(1)).await;
    assert!(running.is_ended() && !running.pause() && !running.resume());
    assert_eq!(log.take(), ["start", "end"]);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_firing_that_waits_when_its_schedule_is_cancelled_still_has_its_code() {
    let (wheel, log) = (builder().slots(1).start(), Log::default());
    let gate = Gate::closed();
    let blocker = wheel.submit_normal(gate.pass());
    let ticker = wheel.every(seconds(1)).run(ticking(&log, Duration::ZERO)).unwrap();
    settle().await;
    ticker.cancel();
    gate.open();
    blocker.await.unwrap();
    tokio::time::sleep(seconds(5)).await;
    assert_eq!(times(&log), [0]);
    assert_eq!(wheel.stats().total.failed, 0);
    wheel.check();
}

/// TP-09.
#[tokio::test(start_paused = true)]
async fn a_custom_trigger_says_when_and_when_it_ends() {
    let (wheel, log) = (builder().start(), Log::default());
    let first: Timestamp = "2026-03-01T00:00:01Z".parse().unwrap();
    let end = first.after(seconds(3));
    let custom = wheel
        .trigger(move |last| match last {
            None => Some(first),
            Some(last) if last < end => Some(last.after(seconds(1))),
            Some(_) => None,
        })
        .run(ticking(&log, Duration::ZERO))
        .unwrap();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(times(&log), [1000, 2000, 3000, 4000]);
    assert!(custom.is_ended());

    let panics = wheel.trigger(|_| panic!("no idea")).run(|| async {});
    settle().await;
    assert!(panics.is_err() || panics.unwrap().is_ended());
    let never = wheel.trigger(|_| None).run(|| async {});
    settle().await;
    assert!(never.is_err() || never.unwrap().is_ended());
    assert_eq!(wheel.stats().schedules, 0);
}

fn wheel_at(start: &str) -> (Tidewheel, VirtualClock) {
    let clock = VirtualClock::at(start.parse().unwrap());
    (Tidewheel::builder().clock(clock.clone()).start(), clock)
}

/// TP-10.
#[tokio::test(start_paused = true)]
async fn a_jump_of_the_wall_clock_moves_calendars_and_not_intervals() {
    let (wheel, clock) = wheel_at("2026-06-01T11:00:00Z");
    let (intervals, noons) = (Log::default(), Log::default());
    wheel.every(seconds(600)).run(ticking(&intervals, Duration::ZERO)).unwrap();
    let noon =
        wheel.cron("0 12 * * *", "UTC").unwrap().run(ticking(&noons, Duration::ZERO)).unwrap();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(noons.len(), 0);
    clock.set_forward(seconds(3600));
    settle().await;
    assert_eq!(noons.len(), 1, "noon has come at once");
    clock.set_back(seconds(3600));
    tokio::time::sleep(seconds(3600)).await;
    assert_eq!(noons.len(), 1, "the same noon does not come twice");
    assert_eq!(noon.counters().unwrap().fired, 1);
    assert_eq!(times(&intervals), (0..=6).map(|k| k * 600_000).collect::<Vec<_>>());
}

/// Set as far as it goes, and further, a clock stays where time ends; intervals do not notice.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_beyond_the_ends_of_time_stays_there() {
    let start = "2026-06-01T11:00:00Z";
    let (wheel, clock) = wheel_at(start);
    let intervals = Log::default();
    wheel.every(seconds(600)).run(ticking(&intervals, Duration::ZERO)).unwrap();
    wheel.cron("0 12 * * *", "UTC").unwrap().run(|| async {}).unwrap();
    let start: Timestamp = start.parse().unwrap();
    for _ in 0..2 {
        clock.set_back(Duration::MAX);
        assert!(clock.wall() < Timestamp::from_seconds(0), "{:?}", clock.wall());
        settle().await;
    }
    tokio::time::sleep(seconds(700)).await;
    assert_eq!(times(&intervals), [0, 600_000]);
    for _ in 0..3 {
        clock.set_forward(Duration::MAX);
        settle().await;
    }
    assert!(clock.wall() > start.after(seconds(1 << 32)), "{:?}", clock.wall());
    wheel.check();
}

/// TP-11.
#[tokio::test(start_paused = true)]
async fn a_daily_time_fires_once_a_day_when_the_clocks_change() {
    for start in ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"] {
        let (wheel, _) = wheel_at(start);
        let log = Log::default();
        let daily = wheel.cron("30 2 * * *", "Europe/Zurich").unwrap();
        daily.run(ticking(&log, Duration::ZERO)).unwrap();
        tokio::time::sleep(seconds(2 * 86_400)).await;
        assert_eq!(log.len(), 2, "{start}");
    }
}

/// TP-13.
#[tokio::test(start_paused = true)]
async fn jitter_spreads_what_is_due_at_one_instant() {
    let (wheel, log) = (builder().start(), Log::default());
    for _ in 0..1000 {
        wheel.once_after(seconds(1)).jitter(seconds(1)).run(ticking(&log, Duration::ZERO)).unwrap();
    }
    tokio::time::sleep(seconds(3)).await;
    let starts = times(&log);
    assert_eq!(starts.len(), 1000);
    assert!(starts.iter().all(|start| (1000..=2001).contains(start)));
    for tenth in 0..10 {
        let (from, until) = (1000 + tenth * 100, 1100 + tenth * 100);
        let count = starts.iter().filter(|start| (from..until).contains(*start)).count();
        assert!((50..=160).contains(&count), "{count} from {from} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn schedules_pause_are_bounded_and_leave_out_what_they_should() {
    let (wheel, log) = (builder().start(), Log::default());
    let ticker =
        wheel.every(seconds(1)).misfire(Misfire::Skip).run(ticking(&log, Duration::ZERO)).unwrap();
    tokio::time::sleep(millis(1500)).await;
    assert!(ticker.pause());
    tokio::time::sleep(seconds(3)).await;
    assert!(ticker.resume());
    tokio::time::sleep(seconds(1)).await;
    ticker.cancel();
    assert_eq!(times(&log), [0, 1000, 5000]);

    let bounded = wheel.every(seconds(1)).times(3).run(ticking(&log, Duration::ZERO)).unwrap();
    tokio::time::sleep(seconds(10)).await;
    assert_eq!(times(&log), [0, 1000, 2000]);
    assert!(bounded.is_ended());

    let start: Timestamp = "2026-03-01T00:00:20Z".parse().unwrap();
    let excluded = Span::new(start.after(seconds(2)), start.after(seconds(4)));
    let except = wheel.every(seconds(1)).starting_at(start).except(excluded);
    let begun = Instant::now();
    let inner = log.clone();
    except
        .run(move || {
            inner.add(begun.elapsed().as_millis().to_string());
            async {}
        })
        .unwrap();
    tokio::time::sleep(seconds(10)).await;
    let starts = times(&log);
    assert_eq!(starts.windows(2).filter(|pair| pair[1] - pair[0] == 3000).count(), 1, "{starts:?}");
    assert!(wheel.every(Duration::ZERO).run(|| async {}).is_err());
    assert!(wheel.cron("99 * * * *", "UTC").is_err());
    assert!(wheel.cron("0 0 * * *", "Mars/Olympus").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_schedule_can_be_changed() {
    let (wheel, log) = (builder().start(), Log::default());
    let ticker = wheel.every(seconds(60)).run(ticking(&log, Duration::ZERO)).unwrap();
    tokio::time::sleep(seconds(90)).await;
    let spec = ticker.spec().unwrap();
    assert_eq!(spec.trigger, Trigger::every(seconds(60)));
    ticker.update(ScheduleSpec { trigger: Trigger::every(seconds(20)), ..spec.clone() }).unwrap();
    tokio::time::sleep(seconds(30)).await;
    assert_eq!(times(&log), [0, 60_000, 90_000, 110_000]);
    let nonsense = ScheduleSpec { max_firings: Some(1), ..spec.clone() };
    assert!(matches!(ticker.update(nonsense), Err(Rejection::Invalid(_))));
    let unruly = ScheduleSpec { trigger: Trigger::Custom, ..spec.clone() };
    assert!(matches!(ticker.update(unruly), Err(Rejection::Invalid(_))));
    ticker.cancel();
    assert_eq!(ticker.update(spec), Err(Rejection::Gone("schedule")));
    assert_eq!(ticker.spec(), None);
}

#[tokio::test(start_paused = true)]
async fn schedules_end_with_the_wheel() {
    let log = Log::default();
    let wheel = builder().start();
    let ticker = wheel.every(seconds(1)).run(ticking(&log, Duration::ZERO)).unwrap();
    settle().await;
    wheel.shutdown(Shutdown::drain()).await;
    tokio::time::sleep(seconds(10)).await;
    assert_eq!(log.take().len(), 1);
    assert!(ticker.is_ended());
    ticker.cancel();

    let wheel = builder().start();
    let ticker = wheel.every(seconds(1)).run(ticking(&log, Duration::ZERO)).unwrap();
    settle().await;
    drop(wheel);
    tokio::time::sleep(seconds(10)).await;
    assert_eq!(log.take().len(), 1);
    assert!(ticker.is_ended());
}

/// A year of nights, for whoever tests schedules of their own.
#[tokio::test(start_paused = true)]
async fn a_year_passes_quickly_on_virtual_time() {
    let (wheel, _) = wheel_at("2026-01-01T00:00:00Z");
    let log = Log::default();
    wheel.cron("30 2 * * *", "Europe/Zurich").unwrap().run(ticking(&log, Duration::ZERO)).unwrap();
    let real = std::time::Instant::now();
    tokio::time::sleep(seconds(365 * 86_400)).await;
    assert_eq!(log.len(), 365);
    // elapsed: compared with the time that passed on the virtual clock
    assert!(real.elapsed() < seconds(365 * 86_400) / 1_000, "{:?}", real.elapsed());
}
