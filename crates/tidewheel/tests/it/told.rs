//! Schedules whose instants are told as they come: each is decided once, in order, also after a restart.

use crate::common::{Log, builder, seconds, settle, until};
use tidewheel::clock::Clock;
use tidewheel::schedule::{Misfire, Overlap, ScheduleHandle, ScheduleSpec, Trigger};
use tidewheel::store::Memory;
use tidewheel::{Builder, Shutdown, Tidewheel, Timestamp};

/// A data store and the time, which outlive wheels.
#[derive(Clone)]
struct Ground(Memory, Clock);

fn ground() -> Ground {
    Ground(Memory::new(), Clock::virtual_at("2026-03-01T00:00:00Z".parse().unwrap()))
}

fn on(Ground(store, clock): &Ground) -> Builder {
    builder().store(store.clone()).clock(clock.clone()).adopt(|_| async {})
}

/// So many microseconds after the beginning.
fn at(micros: i64) -> Timestamp {
    let start: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
    Timestamp::from_micros(start.as_micros() + micros)
}

fn set(wheel: &Tidewheel, log: &Log, overlap: Overlap) -> ScheduleHandle {
    let log = log.clone();
    let told = wheel.schedule(ScheduleSpec::new(Trigger::Custom)).told().name("mail");
    let code = move || {
        log.add("fired");
        // sleeps: in paused time
        async { tokio::time::sleep(seconds(10)).await }
    };
    told.overlap(overlap).run(code).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_instant_that_is_told_fires_once() {
    let (wheel, log) = (on(&ground()).start(), Log::default());
    let mail = set(&wheel, &log, Overlap::Allow);
    settle().await;
    assert!(!mail.is_ended() && log.len() == 0, "it waits for what it is told");
    assert!(mail.tell(at(5_000_001)) && mail.tell(at(5_000_002)) && mail.tell(at(5_000_002)));
    assert!(!mail.tell(at(5_000_000)), "a newer one is named");
    tokio::time::sleep(seconds(6)).await;
    assert_eq!((log.len(), mail.decided()), (2, Some(at(5_000_002))));
    assert!(!mail.tell(at(5_000_002)), "it is decided");
    assert!(!mail.tell(at(4)), "newer ones are");
    assert!(mail.tell(at(5_000_003)));
    tokio::time::sleep(seconds(1)).await;
    assert_eq!((log.len(), mail.counters().unwrap().fired), (3, 3));
    let other = wheel.every(seconds(60)).run(|| async {}).unwrap();
    assert!(!other.tell(at(9_000_000)), "its instants are those of its trigger");
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn what_is_told_meets_the_policies_of_the_schedule() {
    let (wheel, log) = (on(&ground()).start(), Log::default());
    let mail = set(&wheel, &log, Overlap::Skip);
    for micros in 1..=3 {
        assert!(mail.tell(at(micros)));
    }
    tokio::time::sleep(seconds(1)).await;
    let counters = mail.counters().unwrap();
    assert_eq!((log.len(), counters.fired, counters.skipped.overlap), (1, 1, 2));
    tokio::time::sleep(seconds(20)).await;
    mail.pause();
    assert!(mail.tell(at(20_000_000)) && mail.tell(at(20_000_001)));
    tokio::time::sleep(seconds(600)).await;
    assert_eq!(log.len(), 1, "it is paused");
    let spec = ScheduleSpec { misfire: Misfire::Skip, ..mail.spec().unwrap() };
    mail.update(spec).unwrap();
    mail.resume();
    settle().await;
    assert_eq!((log.len(), mail.counters().unwrap().skipped.total()), (1, 4), "both were late");
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn what_was_not_decided_is_told_again_after_a_restart() {
    let (store, log) = (ground(), Log::default());
    let wheel = on(&store).start();
    let mail = set(&wheel, &log, Overlap::Allow);
    assert!(mail.tell(at(1)) && mail.tell(at(3_600_000_000)) && mail.tell(at(3_600_000_001)));
    tokio::time::sleep(seconds(1)).await;
    wheel.shutdown(Shutdown::persist()).await;
    assert_eq!(log.len(), 1);

    let wheel = on(&store).start();
    let mail = set(&wheel, &log, Overlap::Allow);
    assert!(!mail.tell(at(1)), "that is stored");
    assert!(mail.tell(at(3_600_000_000)) && mail.tell(at(3_600_000_001)));
    let again = set(&wheel, &log, Overlap::Allow);
    assert_eq!(again.id(), mail.id());
    tokio::time::sleep(seconds(3700)).await;
    let fired = (log.len(), mail.counters().unwrap().fired);
    assert_eq!(fired, (3, 3), "also what was told before it was set again");
    wheel.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_tell_at_once_lose_and_double_nothing() {
    let wheel = Tidewheel::builder().store(Memory::new()).adopt(|_| async {}).start();
    let told = wheel.schedule(ScheduleSpec::new(Trigger::Custom)).told().overlap(Overlap::Allow);
    let told = told.run(|| async {}).unwrap();
    let newest = std::sync::Arc::new(std::sync::Mutex::new(0));
    let tell = |_| {
        let (told, newest) = (told.clone(), std::sync::Arc::clone(&newest));
        tokio::task::spawn_blocking(move || {
            for _ in 0..100 {
                // Instants rise, as they do where they are kept.
                let mut newest = newest.lock().unwrap();
                *newest += 1;
                assert!(told.tell(Timestamp::from_micros(*newest)));
            }
        })
    };
    let telling: Vec<_> = (0..4).map(tell).collect();
    for telling in telling {
        telling.await.unwrap();
    }
    until(|| told.counters().unwrap().fired == 400).await;
    assert_eq!(told.decided(), Some(Timestamp::from_micros(400)));
    wheel.shutdown(Shutdown::drain()).await;
}
