//! Schedules whose firings are runs, and firings that people ask for.
//!
//! When instants fire, and what they skip, is in `schedule`.

use std::time::Duration;

use crate::common::{Gate, Log, builder, seconds, settle};
use tidewheel::observe::Fact;
use tidewheel::schedule::{
    Backfill, Firing, MadeRun, Misfire, Origin, Overlap, ScheduleHandle, Span,
};
use tidewheel::store::rows::Fate;
use tidewheel::store::{HeldId, Memory};
use tidewheel::{Attempt, Builder, Graph, GraphError, Rejection, Shutdown, Tidewheel, Timestamp};

/// Seconds since the tests begin.
fn seconds_in(instant: Timestamp) -> u64 {
    instant.since("2026-03-01T00:00:00Z".parse().unwrap()).as_secs()
}

/// Makes a run of two tasks that tell which instant they are of, and wait for the gate.
fn noting(log: &Log, gate: &Gate) -> impl Fn(Firing) -> Making + Send + Sync + use<> {
    let (log, gate) = (log.clone(), gate.clone());
    move |firing| {
        let (log, gate) = (log.clone(), gate.clone());
        Box::pin(async move {
            let graph = Graph::from_edges([("a", "b")])?;
            let nominal = seconds_in(firing.nominal());
            let run = firing.run(graph, move |task| {
                log.add(format!("{}@{nominal}", task.name()));
                gate.pass()
            });
            Ok(run.kind("noting").into())
        })
    }
}

type Making = std::pin::Pin<Box<dyn Future<Output = Result<MadeRun, GraphError>> + Send>>;

fn fired(schedule: &ScheduleHandle) -> u64 {
    schedule.counters().unwrap().fired
}

fn fates(store: &Memory, schedule: &ScheduleHandle) -> Vec<Fate> {
    store.firings(schedule.id()).into_iter().map(|row| row.fate).collect()
}

#[tokio::test(start_paused = true)]
async fn a_firing_may_be_a_run_which_the_next_instant_does_not_overlap() {
    let (wheel, log, gate) = (builder().slots(1).start(), Log::default(), Gate::closed());
    let ticker = wheel.every(seconds(10)).name("ticker").make_run(noting(&log, &gate)).unwrap();
    assert_eq!(ticker.name().as_deref(), Some("ticker"));
    tokio::time::sleep(seconds(25)).await;
    assert_eq!(log.take(), ["a@0"]);
    let counters = ticker.counters().unwrap();
    assert_eq!((counters.fired, counters.skipped.overlap, counters.outstanding), (1, 2, 1));
    gate.open();
    tokio::time::sleep(seconds(10)).await;
    assert_eq!(log.take(), ["b@0", "a@30", "b@30"]);
    assert_eq!(fired(&ticker), 2);
    assert_eq!(wheel.stats().total.due_lag.count(), 2, "each firing is counted, whatever it is");
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_made_is_a_failure_that_is_told() {
    let store = Memory::new();
    let wheel = builder().store(store.clone()).start();
    let mut notices = wheel.notices();
    let errors = wheel
        .every(seconds(10))
        .times(3)
        .make_run(|firing: Firing| async move {
            let number = seconds_in(firing.nominal()) / 10;
            assert!(number != 1, "the second is too much");
            let graph = Graph::from_edges([("a", "b")]).map_err(|error| error.to_string())?;
            let run = firing.run(graph, |_| async {}).only(["c"]);
            if number == 0 { Err("no such flow".to_owned()) } else { Ok(run) }
        })
        .unwrap();
    let id = errors.id();
    let mut told = Vec::new();
    while told.len() < 3 {
        if let Fact::RunNotMade { schedule, error, .. } =
            notices.recv().await.unwrap().unwrap().fact
        {
            assert_eq!(schedule, id);
            told.push(error.to_string());
        }
    }
    assert_eq!(told[0], "no such flow");
    assert!(told[1].contains("panicked") && told[1].contains("too much"), "{}", told[1]);
    assert!(told[2].contains("no task `c`"), "{}", told[2]);
    settle().await;
    assert!(errors.is_ended());
    wheel.check();
}

/// Starts a wheel on what is stored, with code that makes runs for schedules of a kind.
fn again(store: &Memory, log: &Log, gate: &Gate) -> Builder {
    let told = log.clone();
    builder().store(store.clone()).make_runs("noting", noting(log, gate)).adopt_kind(
        "noting",
        move |attempt| {
            told.add(format!("restored {}", attempt.task_name().unwrap()));
            async {}
        },
    )
}

#[tokio::test(start_paused = true)]
async fn the_next_wheel_makes_what_was_asked_for_and_goes_on_with_what_was_made() {
    let (store, log, gate) = (Memory::new(), Log::default(), Gate::opened());
    let wheel = builder().store(store.clone()).start();
    let never = |_| std::future::pending::<Result<MadeRun, GraphError>>();
    let hourly = wheel.every(seconds(3600)).name("hourly").kind("noting").payload(*b"hour");
    let hourly = hourly.make_run(never).unwrap();
    settle().await;
    let id = hourly.id();
    wheel.shutdown(Shutdown::drain()).await;
    drop((wheel, hourly));

    // Nobody makes runs here: it is left alone.
    let wheel = builder().store(store.clone()).adopt(|_| async {}).start();
    assert_eq!(wheel.held_work()[0].work, HeldId::Schedule(id));
    assert!(wheel.schedules().is_empty());
    wheel.shutdown(Shutdown::drain()).await;

    let wheel = again(&store, &log, &gate).start();
    let hourly = wheel.find_schedule("hourly").unwrap();
    assert_eq!((hourly.id(), wheel.schedules().len()), (id, 1));
    // Set again, it is the same one, and the runs are made by what is given now.
    let again_set = wheel.every(seconds(3600)).name("hourly").kind("noting").payload(*b"hour");
    let again_set = again_set.make_run(noting(&log, &gate)).unwrap();
    assert_eq!((again_set.id(), wheel.schedules().len()), (id, 1));
    tokio::time::sleep(seconds(5)).await;
    assert_eq!(log.take(), ["a@0", "b@0"]);
    gate.close();
    tokio::time::sleep(seconds(3600)).await;
    assert_eq!(log.take(), ["a@3600"]);
    wheel.shutdown(Shutdown::persist().after(Duration::ZERO)).await;
    drop((wheel, hourly));

    let wheel = again(&store, &log, &gate).start();
    let hourly = wheel.find_schedule("hourly").unwrap();
    settle().await;
    assert_eq!(log.take(), ["restored a", "restored b"]);
    assert_eq!((fired(&hourly), hourly.counters().unwrap().outstanding), (2, 0));
    assert!(fates(&store, &hourly).iter().all(|fate| matches!(fate, Fate::Fired(_))));
    hourly.cancel();
    assert!(wheel.find_schedule("hourly").is_none());
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn people_may_ask_for_firings() {
    let (store, log, gate) = (Memory::new(), Log::default(), Gate::opened());
    let wheel = builder().store(store.clone()).start();
    let at = |text: &str| -> Timestamp { text.parse().unwrap() };
    let daily = wheel.cron("@daily", "UTC").unwrap().misfire(Misfire::Skip);
    let daily = daily.make_run(noting(&log, &gate)).unwrap();
    let week = Span::new(at("2026-02-20T00:00:00Z"), at("2026-02-27T00:00:00Z"));
    let few = daily.backfill(Backfill::between(week).max(3)).unwrap_err();
    assert!(few.to_string().contains("more than 3"), "{few}");
    let all = Backfill::between(week).overlap(Overlap::QueueAll { max: 10 }).if_asked_for(0);
    assert_eq!(daily.backfill(all.clone()).unwrap(), 7);
    assert_eq!(daily.backfill(all), Err(Rejection::Outdated("schedule")));
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(log.take().len(), 14);
    daily.fire_now().unwrap();
    daily.fire_now_with(Overlap::Allow).unwrap();
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(log.take().len(), 4);
    let early = daily.backfill(Backfill::at([at("2027-01-01T00:00:00Z")])).unwrap_err();
    assert!(early.to_string().contains("not decided yet"), "{early}");
    assert_eq!(daily.backfill(Backfill::at([])).unwrap(), 0);
    let rows = store.firings(daily.id());
    let by_hand = rows.iter().filter(|row| matches!(row.origin, Origin::ByHand(_))).count();
    assert_eq!((rows.len(), by_hand, fired(&daily)), (9, 2, 0));
    assert_eq!(daily.counters().unwrap().asked_for, 9);
    wheel.check();
}

/// Code that tells which instant its attempt is of.
fn dated(log: &Log, gate: &Gate, when: &'static str) -> impl Fn(Attempt) -> Passing + use<> {
    let (log, gate) = (log.clone(), gate.clone());
    move |attempt| {
        let (name, nominal) = (attempt.schedule_name(), attempt.nominal().unwrap());
        log.add(format!("{when}: {} of {nominal}", name.unwrap()));
        Box::pin(gate.pass())
    }
}

type Passing = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

#[tokio::test(start_paused = true)]
async fn a_firing_that_is_a_task_knows_its_instant() {
    let (store, log, gate) = (Memory::new(), Log::default(), Gate::opened());
    let wheel = builder().store(store.clone()).start();
    let daily = wheel.cron("@daily", "UTC").unwrap().name("daily").misfire(Misfire::Skip);
    let daily = daily.run_with(dated(&log, &gate, "fired")).unwrap();
    tokio::time::sleep(seconds(86_460)).await;
    assert_eq!(log.take(), ["fired: daily of 2026-03-02T00:00:00Z"]);
    let then: [Timestamp; 2] =
        ["2026-02-20", "2026-02-21"].map(|day| format!("{day}T00:00:00Z").parse().unwrap());
    daily.backfill(Backfill::at(then).overlap(Overlap::QueueAll { max: 2 })).unwrap();
    settle().await;
    let told = then.map(|instant| format!("fired: daily of {instant}"));
    assert_eq!(log.take(), told);
    // One that is no firing has no instant.
    let plain = wheel.task_with(|attempt| async move {
        (attempt.nominal().is_none() && attempt.schedule_name().is_none()).then_some(()).ok_or("")
    });
    plain.submit().await.unwrap();

    gate.close();
    daily.backfill(Backfill::at([then[0]])).unwrap();
    settle().await;
    log.take();
    wheel.shutdown(Shutdown::persist().after(Duration::ZERO)).await;
    drop((wheel, daily));
    let wheel = builder().store(store).adopt(dated(&log, &Gate::opened(), "restored")).start();
    settle().await;
    assert_eq!(log.take(), [format!("restored: daily of {}", then[0])]);
    wheel.check();
}

/// A maker that holds a handle of its wheel while it makes does not keep the wheel alive for ever.
#[tokio::test(start_paused = true)]
async fn a_wheel_whose_last_handle_is_dropped_ends_although_its_schedules_make_runs() {
    let log = Log::default();
    let wheel = builder().start();
    let told = log.clone();
    wheel
        .every(seconds(10))
        .make_run(move |firing: Firing| {
            told.add("made");
            async move {
                let wheel: Tidewheel = firing.wheel();
                let graph = Graph::from_edges([("a", "b")])?;
                Ok::<_, GraphError>(wheel.run(graph, |_| async {}))
            }
        })
        .unwrap();
    settle().await;
    drop(wheel);
    tokio::time::sleep(seconds(100)).await;
    assert_eq!(log.take(), ["made"]);
}
