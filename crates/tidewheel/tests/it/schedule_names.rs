//! Schedules that are set again at each start, and what firings tell about themselves.

use std::sync::Arc;

use crate::common::{Log, builder, seconds, settle};
use tidewheel::calendar::{Cron, Zone};
use tidewheel::clock::Clock;
use tidewheel::observe::{Fact, NoticeStream};
use tidewheel::schedule::{Overlap, ScheduleHandle, ScheduleHold, ScheduleSpec, Trigger};
use tidewheel::store::Memory;
use tidewheel::{Builder, Rejection, Shutdown, Tidewheel, Timestamp};

/// A data store and the time, which outlive wheels.
#[derive(Clone)]
struct Ground(Memory, Clock);

fn ground() -> Ground {
    Ground(Memory::new(), Clock::virtual_at("2026-03-01T00:00:00Z".parse().unwrap()))
}

fn on(Ground(store, clock): &Ground) -> Builder {
    builder().store(store.clone()).clock(clock.clone()).adopt(|_| async {})
}

fn hourly(wheel: &Tidewheel, log: &Log, start: u32) -> ScheduleHandle {
    let log = log.clone();
    let code = move || {
        log.add(format!("start {start}"));
        async {}
    };
    wheel.every(seconds(3600)).name("hourly").run(code).unwrap()
}

/// TP-14: a program that sets its schedules at each start has each of them once.
#[tokio::test(start_paused = true)]
async fn a_schedule_that_is_set_at_each_start_is_one() {
    let (store, log) = (ground(), Log::default());
    let mut ids = Vec::new();
    for start in 0..3 {
        let wheel = on(&store).start();
        let schedule = hourly(&wheel, &log, start);
        ids.push(schedule.id());
        assert_eq!(wheel.schedules().len(), 1);
        tokio::time::sleep(seconds(3000)).await;
        if start == 1 {
            schedule.pause();
        }
        wheel.shutdown(Shutdown::drain()).await;
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    // At 0 and 3,600 s; the next came when it was paused, which the next start left so.
    assert_eq!(log.take(), ["start 0", "start 1"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_set_again_and_says_something_else_is_changed() {
    let (wheel, log) = (builder().start(), Log::default());
    let first = hourly(&wheel, &log, 1);
    settle().await;
    let second = hourly(&wheel, &log, 2);
    tokio::time::sleep(seconds(3601)).await;
    assert_eq!(log.take(), ["start 1", "start 2"]);
    let told = log.clone();
    let daily = wheel.cron("0 6 * * *", "UTC").unwrap().name("hourly").overlap(Overlap::Allow);
    let daily = daily.run(move || {
        told.add("daily");
        async {}
    });
    assert_eq!((first.id(), daily.unwrap().id()), (second.id(), first.id()));
    assert_eq!(first.next(), Some("2026-03-01T06:00:00Z".parse().unwrap()));
    assert_eq!(first.spec().unwrap().overlap, Overlap::Allow);
    tokio::time::sleep(seconds(6 * 3600)).await;
    assert_eq!(log.take(), ["daily"]);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_ones_own_is_waited_for_after_a_restart() {
    let (store, log) = (ground(), Log::default());
    let set = |wheel: &Tidewheel| {
        let told = log.clone();
        let start: Timestamp = "2026-03-01T00:10:00Z".parse().unwrap();
        let rule = move |last: Option<Timestamp>| {
            Some(last.map_or(start, |last| last.after(seconds(600))))
        };
        let code = move || {
            told.add("fired");
            async {}
        };
        wheel.trigger(rule).name("tide").run(code).unwrap()
    };
    let wheel = on(&store).start();
    assert_eq!(set(&wheel).hold(), None);
    tokio::time::sleep(seconds(700)).await;
    assert_eq!(log.take(), ["fired"]);
    wheel.shutdown(Shutdown::drain()).await;
    drop(wheel);

    let wheel = on(&store).start();
    let tide = wheel.find_schedule("tide").unwrap();
    assert_eq!(tide.hold(), Some(ScheduleHold::NoRule));
    assert!(tide.hold().unwrap().to_string().contains("until a schedule of its name is set"));
    // The instant that was named before fires, by what was given for restored work.
    tokio::time::sleep(seconds(3600)).await;
    assert_eq!((tide.counters().unwrap().fired, log.len()), (2, 0));
    assert!(!tide.is_ended());
    let again = set(&wheel);
    assert_eq!((again.id(), again.hold()), (tide.id(), None));
    tokio::time::sleep(seconds(600)).await;
    assert!(log.len() >= 1, "it fires again");
    wheel.check();
}

/// The schedule of [`hourly`], as the next wheel finds it by its name.
fn found(wheel: &Tidewheel) -> ScheduleHandle {
    wheel.find_schedule("hourly").expect("it is stored under its name")
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_named_schedule_after_a_restart_is_kept() {
    let (store, log) = (ground(), Log::default());
    let wheel = on(&store).start();
    let id = hourly(&wheel, &log, 0).id();
    settle().await;
    wheel.shutdown(Shutdown::persist()).await;

    let wheel = on(&store).start();
    let schedule = found(&wheel);
    assert_eq!(schedule.id(), id);
    let daily: Cron = "0 6 * * *".parse().unwrap();
    let trigger = Trigger::Calendar { cron: daily, zone: Zone::utc() };
    let spec = schedule.spec().unwrap();
    schedule.update(ScheduleSpec { trigger, overlap: Overlap::Allow, ..spec }).unwrap();
    let six: Option<Timestamp> = Some("2026-03-01T06:00:00Z".parse().unwrap());
    assert_eq!(schedule.next(), six);
    wheel.shutdown(Shutdown::persist()).await;

    let wheel = on(&store).start();
    let schedule = found(&wheel);
    let overlap = schedule.spec().unwrap().overlap;
    assert_eq!((schedule.id(), schedule.next(), overlap), (id, six, Overlap::Allow));
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_named_schedule_fires_when_it_is_told_to_after_a_restart() {
    let (store, log) = (ground(), Log::default());
    let wheel = on(&store).start();
    hourly(&wheel, &log, 0);
    settle().await;
    wheel.shutdown(Shutdown::persist()).await;
    assert_eq!(log.take(), ["start 0"]);

    // Before it is set again it is done by what was given for restored work, after that by its own.
    let restored = log.clone();
    let adopting = on(&store).adopt(move |_| {
        restored.add("restored");
        async {}
    });
    let wheel = adopting.start();
    let schedule = found(&wheel);
    let next = schedule.next();
    schedule.fire_now().unwrap();
    settle().await;
    assert_eq!(log.take(), ["restored"]);
    hourly(&wheel, &log, 1);
    schedule.fire_now().unwrap();
    settle().await;
    assert_eq!(log.take(), ["start 1"]);
    let counters = schedule.counters().unwrap();
    assert_eq!((counters.fired, counters.asked_for, schedule.next()), (1, 2, next));
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_named_schedule_that_is_ended_after_a_restart_stays_so() {
    let (store, log) = (ground(), Log::default());
    let wheel = on(&store).start();
    let id = hourly(&wheel, &log, 0).id();
    settle().await;
    wheel.shutdown(Shutdown::persist()).await;

    let wheel = on(&store).start();
    let schedule = found(&wheel);
    schedule.cancel();
    settle().await;
    assert!(schedule.is_ended() && wheel.find_schedule("hourly").is_none());
    assert_eq!(schedule.fire_now(), Err(Rejection::Gone("schedule")));
    wheel.shutdown(Shutdown::persist()).await;

    // Wheels of one seed would make the same identities at the same time.
    tokio::time::sleep(seconds(60)).await;
    let wheel = on(&store).start();
    assert!(wheel.find_schedule("hourly").is_none() && wheel.schedules().is_empty());
    // The name is free again.
    assert_ne!(hourly(&wheel, &log, 2).id(), id);
    settle().await;
    assert_eq!(log.take(), ["start 0", "start 2"]);
    wheel.check();
}

/// A handle that outlives its wheel says that nothing fires there any more; the next wheel has it.
#[tokio::test(start_paused = true)]
async fn a_schedule_has_ended_here_when_its_wheel_was_left() {
    let (store, log) = (ground(), Log::default());
    for shutdown in [Shutdown::persist(), Shutdown::drain(), Shutdown::reject()] {
        let wheel = on(&store).start();
        let schedule = hourly(&wheel, &log, 0);
        assert!(!schedule.is_ended());
        wheel.shutdown(shutdown).await;
        assert!(schedule.is_ended());
        assert_eq!((schedule.next(), schedule.hold()), (None, Some(ScheduleHold::Ended)));
        assert!(schedule.spec().is_none() && schedule.fire_now().is_err() && !schedule.pause());
    }
    assert!(!found(&on(&store).start()).is_ended());
}

#[test]
fn a_schedule_has_ended_here_when_the_runtime_has() {
    let on_runtime = |builder: Builder| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let wheel = builder.runtime(runtime.handle().clone()).start();
        let schedule = wheel.every(seconds(3600)).name("hourly").run(|| async {}).unwrap();
        assert!(!schedule.is_ended());
        drop(runtime);
        assert!(schedule.is_ended());
        assert_eq!((schedule.next(), schedule.hold()), (None, Some(ScheduleHold::Ended)));
    };
    on_runtime(Tidewheel::builder());
    let store = Memory::new();
    on_runtime(Tidewheel::builder().store(store.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let builder = Tidewheel::builder().store(store).adopt(|_| async {});
    let wheel = builder.runtime(runtime.handle().clone()).start();
    assert!(!found(&wheel).is_ended());
}

async fn next(
    notices: &mut NoticeStream,
    is_it: impl Fn(&Fact) -> bool,
) -> (Option<Arc<str>>, Fact) {
    loop {
        let notice = notices.recv().await.unwrap().unwrap();
        if is_it(&notice.fact) {
            return (notice.name, notice.fact);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_firing_that_fails_tells_why_and_is_counted() {
    let store = Memory::new();
    let wheel = builder().store(store.clone()).start();
    let mut notices = wheel.notices();
    let once = wheel.every(seconds(1)).name("report");
    let once = once.run(|| async { Err::<(), _>("disk full") }).unwrap();
    let (name, fired) = next(&mut notices, |it| matches!(it, Fact::ScheduleFired { .. })).await;
    let Fact::ScheduleFired { schedule, run, .. } = fired else { unreachable!() };
    assert_eq!((name.as_deref(), schedule), (Some("report"), once.id()));
    let ended = next(&mut notices, |it| matches!(it, Fact::FiringEnded { .. })).await.1;
    let error = Some(Arc::from("disk full"));
    assert_eq!(ended, Fact::FiringEnded { schedule, run, success: false, error });
    let ledger = store.firings(once.id());
    assert_eq!(ledger[0].fate, tidewheel::store::rows::Fate::Fired(run));
    once.cancel();
    next(&mut notices, |it| matches!(it, Fact::ScheduleEnded(_))).await;
    assert!(once.is_ended());
    let counters = once.counters().expect("they are there after the end");
    assert_eq!((counters.fired, counters.failed, counters.outstanding), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn calendars_begin_when_they_are_told_to() {
    let wheel = builder().start();
    let at = |text: &str| -> Option<Timestamp> { Some(text.parse().unwrap()) };
    let hourly = || wheel.cron("0 * * * *", "UTC").unwrap();
    let later = hourly().starting_after(seconds(5 * 3600 + 1)).run(|| async {}).unwrap();
    assert_eq!(later.next(), at("2026-03-01T06:00:00Z"));
    let march = "2026-03-03T00:00:00Z".parse().unwrap();
    let from = hourly().starting_at(march).run(|| async {}).unwrap();
    assert_eq!(from.next(), at("2026-03-03T00:00:00Z"));
}

/// The clock has not moved between the two, and chance is the same.
#[tokio::test(start_paused = true)]
async fn wheels_of_one_seed_on_one_store_make_different_identities() {
    let ground = ground();
    let mut ids = Vec::new();
    for name in ["first", "second"] {
        let wheel = on(&ground).seed(7).start();
        let schedule = wheel.every(seconds(60)).name(name).run(|| async {}).unwrap();
        let task = wheel.task(|| async { Ok::<_, &str>(()) }).submit();
        ids.extend([schedule.id().to_string(), task.accepted().await.unwrap().to_string()]);
        task.await.unwrap();
        wheel.shutdown(Shutdown::reject()).await;
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
}
