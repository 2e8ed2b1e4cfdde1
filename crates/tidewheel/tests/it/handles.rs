//! Who owns work and who only looks at it: futures, handles, detaching, values for everybody; going on with
//! what failed.

use std::sync::Arc;

use crate::common::{Gate, Log, builder, seconds, settle};
use tidewheel::clock::VirtualClock;
use tidewheel::explain::Hold;
use tidewheel::store::Memory;
use tidewheel::task::Reason;
use tidewheel::{
    Cancel, Graph, Permanent, Rejection, Shutdown, Task, TaskError, TaskState, Tidewheel,
};

fn pair() -> Graph {
    Graph::from_edges([("a", "b")]).unwrap()
}

fn noting(log: &Log, gate: &Gate) -> impl Fn(Task) -> futures::Boxed + Send + Sync + use<> {
    let (log, gate) = (log.clone(), gate.clone());
    move |task| {
        log.add(task.name());
        Box::pin(gate.pass())
    }
}

mod futures {
    pub type Boxed = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
}

#[tokio::test(start_paused = true)]
async fn a_task_is_looked_at_and_cancelled_while_somebody_else_awaits_it() {
    let wheel = builder().slots(1).start();
    let running = wheel.submit_normal(std::future::pending::<()>());
    let waiting = wheel.submit_normal(async { 7 });
    let (first, second) = (running.handle(), waiting.handle());
    assert_eq!((first.id(), first.clone().is_finished()), (running.id(), false));
    let (running, waiting) = (tokio::spawn(running), tokio::spawn(waiting));
    settle().await;
    assert_eq!((first.state(), second.state()), (Some(TaskState::Running), Some(TaskState::Ready)));
    let why = wheel.explain(&second).unwrap();
    assert!(why.facts.holds.contains(&Hold::SchedulerFull { active: 1, slots: 1 }), "{why}");
    first.cancel(Cancel::now());
    let cancelled = running.await.unwrap().unwrap_err();
    assert!(matches!(cancelled, TaskError::Cancelled(Reason::Requested)), "{cancelled}");
    assert_eq!(waiting.await.unwrap().unwrap(), 7);
    assert!(first.is_finished() && second.is_finished());
    assert_eq!((second.state(), wheel.explain(&second).is_err()), (None, true));
    second.cancel(Cancel::now());
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_handle_of_what_was_refused_is_finished() {
    let wheel = builder().slots(1).queue_capacity(1).start();
    let all: Vec<_> = (0..3).map(|_| wheel.submit_normal(std::future::pending::<()>())).collect();
    assert_eq!(all.iter().map(|it| it.is_finished()).collect::<Vec<_>>(), [false, false, true]);
    let refused = all[2].handle();
    assert_eq!((refused.id(), refused.state(), refused.is_finished()), (None, None, true));
    refused.cancel(Cancel::now());
}

/// A timeout around the future of a run leaves nothing behind; a run that was started goes on.
#[tokio::test(start_paused = true)]
async fn a_run_belongs_to_whoever_awaits_it_unless_it_was_started() {
    let (wheel, log, gate) = (builder().start(), Log::default(), Gate::closed());
    let awaited = wheel.run(pair(), noting(&log, &gate));
    assert!(tokio::time::timeout(seconds(1), awaited.into_future()).await.is_err());
    settle().await;
    assert_eq!((wheel.stats().runs, log.take()), (0, vec![String::from("a")]));

    let started = wheel.run(pair(), noting(&log, &gate)).start().unwrap();
    let handle = started.clone();
    assert!(tokio::time::timeout(seconds(1), started.into_future()).await.is_err());
    let id = wheel.run(pair(), noting(&log, &gate)).detach().unwrap();
    settle().await;
    assert_eq!(wheel.stats().runs, 2);
    let detached = wheel.find_run(id).unwrap();
    gate.open();
    assert!(handle.await.unwrap().is_success() && detached.await.unwrap().is_success());
    wheel.check();
}

/// RK-54: what failed is tried again, and what it held up; what is done is not.
#[tokio::test(start_paused = true)]
async fn what_failed_in_a_run_is_tried_again_by_another() {
    let (wheel, log) = (builder().start(), Log::default());
    let graph = Arc::new(Graph::from_edges([("a", "b"), ("b", "c"), ("a", "d")]).unwrap());
    let run = |is_well: bool, wheel: &Tidewheel| {
        let log = log.clone();
        wheel.run(Arc::clone(&graph), move |task| {
            log.add(task.name());
            let from = task.input::<u32>("a").map_or(0, |value| *value);
            let fails = task.name() == "b" && !is_well;
            async move { if fails { Err("no") } else { Ok(from + 1) } }
        })
    };
    let first = run(false, &wheel).concurrency(1).await.unwrap();
    assert_eq!(first.to_string(), "failed: 2 succeeded, 1 failed, 1 skipped");
    assert_eq!(log.take(), ["a", "b", "d"]);
    let second = run(true, &wheel).retry_of(&first).await.unwrap();
    assert_eq!(log.take(), ["b", "c"]);
    assert_eq!(second.task("a").unwrap().reason(), Reason::AlreadyDone);
    assert_eq!(second.value::<u32>("b").as_deref(), Some(&2));
    assert_eq!((wheel.stats().total.already_done, second.is_success()), (2, true));
    // A part of it has no place for what is done beside that part.
    let part = run(true, &wheel).retry_of(&first).only(["b"]).await.unwrap();
    assert_eq!(log.take(), ["b"]);
    assert_eq!((part.tasks().count(), part.is_success()), (1, true));
}

#[tokio::test(start_paused = true)]
async fn an_observer_can_be_ended() {
    let (wheel, log) = (builder().start(), Log::default());
    let told = log.clone();
    let observer = wheel.observe(move |notice| told.add(format!("{:?}", notice.name)));
    let mut notices = wheel.notices();
    wheel.run(pair(), |_| async {}).name("pair").await.unwrap();
    let named = notices.recv().await.unwrap().unwrap();
    assert_eq!(named.name.as_deref(), Some("pair"));
    while log.len() == 0 {
        tokio::time::sleep(seconds(1)).await;
    }
    observer.end();
    settle().await;
    let before = log.len();
    wheel.submit_normal(async {}).await.unwrap();
    settle().await;
    assert_eq!(log.len(), before);
}

#[tokio::test(start_paused = true)]
async fn everybody_who_asks_under_a_name_gets_the_value() {
    let (wheel, log, gate) = (builder().start(), Log::default(), Gate::closed());
    let ask = || {
        let (log, gate) = (log.clone(), gate.clone());
        let work = move || {
            log.add("ran");
            let pass = gate.pass();
            async move {
                pass.await;
                Ok::<_, TaskError>(Arc::new(String::from("7 boxes")))
            }
        };
        wheel.task(work).once("order 7").submit_shared()
    };
    let first = ask();
    settle().await;
    let (second, third) = (ask(), ask());
    let id = first.accepted().await.unwrap();
    assert_eq!((second.accepted().await, third.id()), (Ok(id), Some(id)));
    assert!(!second.is_finished() && second.handle().state() == Some(TaskState::Running));
    // Nobody owns it, not even whoever asked first.
    drop(first);
    let waiting = tokio::spawn(second.clone().into_future());
    settle().await;
    gate.open();
    let value = waiting.await.unwrap().unwrap();
    assert_eq!(*value, "7 boxes");
    for again in [second, third, ask()] {
        assert!(again.is_finished() && again.rejection().is_none());
        assert!(Arc::ptr_eq(&again.await.unwrap(), &value), "the same value, not another like it");
    }
    assert_eq!(log.take(), ["ran"]);
}

#[tokio::test(start_paused = true)]
async fn a_shared_failure_is_told_to_all_and_a_cancel_ends_it_for_all() {
    let wheel = builder().start();
    let ask = || {
        let work = || async { Err::<u32, _>(Permanent::new("no such box")) };
        wheel.task(work).once("order 7").submit_shared()
    };
    let (first, second) = (ask(), ask());
    let (first, second) = (first.await.unwrap_err(), second.await.unwrap_err());
    assert!(Arc::ptr_eq(&first, &second) && matches!(&*first, TaskError::Failed(_)), "{first}");
    assert_eq!(ask().value().await.unwrap_err().to_string(), "no such box");

    let ask = || {
        let work = || std::future::pending::<Result<u32, TaskError>>();
        wheel.task(work).once("order 8").submit_shared()
    };
    let (first, second) = (ask(), ask());
    settle().await;
    second.cancel(Cancel::now());
    assert!(matches!(&*first.await.unwrap_err(), TaskError::Cancelled(_)));
    // Without a name it is nobody's but that of its clones.
    let work = || std::future::ready(Ok::<_, TaskError>(7));
    let alone = wheel.task(work).submit_shared();
    assert_eq!((alone.clone().await.unwrap(), alone.await.unwrap()), (7, 7));
}

#[tokio::test(start_paused = true)]
async fn a_name_whose_value_cannot_be_had_says_why() {
    let memory = Memory::new();
    let wheel = builder().store(memory.clone()).start();
    let seven = || std::future::ready(Ok::<_, TaskError>(7_u32));
    let first = wheel.task(seven).once("shared").submit_shared();
    let id = first.accepted().await.unwrap();
    assert_eq!(first.await.unwrap(), 7);
    let text = || std::future::ready(Ok::<_, TaskError>("7"));
    let other = wheel.task(text).once("shared").submit_shared();
    assert_eq!(other.id(), Some(id));
    let error = other.await.unwrap_err();
    assert!(matches!(&*error, TaskError::OtherType { run, .. } if *run == id));
    assert!(error.to_string().ends_with("whose value is a `u32`, not a `&str`"), "{error}");
    let other = wheel.task(seven).once("shared").payload(*b"else").submit_shared();
    assert!(matches!(other.rejection(), Some(Rejection::KeyTaken { .. })), "{other:?}");
    assert!(matches!(&*other.await.unwrap_err(), TaskError::Rejected(_)));
    // Whoever asked in the plain way has the value alone.
    let plain = wheel.task(seven).once("plain").submit();
    let shared = wheel.task(seven).once("plain").submit_shared();
    assert_eq!((shared.accepted().await.ok(), plain.await.unwrap()), (shared.id(), 7));
    assert!(matches!(&*shared.await.unwrap_err(), TaskError::ValueNotKept(_)));
    wheel.shutdown(Shutdown::drain()).await;

    // Names are stored, values are not.
    let wheel = builder().store(memory).start();
    let again = wheel.task(seven).once("shared").submit_shared();
    let error = again.await.unwrap_err();
    assert!(matches!(&*error, TaskError::ValueNotKept(run) if *run == id), "{error}");
}

/// A value that tells when it is dropped.
#[derive(Clone)]
struct Weighty(#[expect(dead_code, reason = "only counted")] Arc<()>);

#[tokio::test(start_paused = true)]
async fn a_value_is_kept_as_long_as_its_name_and_no_longer() {
    let wheel = builder().once_kept(seconds(60)).start();
    let kept = Arc::new(());
    let ask = |name: &str| {
        let kept = Arc::clone(&kept);
        let work = move || std::future::ready(Ok::<_, TaskError>(Weighty(Arc::clone(&kept))));
        wheel.task(work).once(name).submit_shared()
    };
    let first = ask("a").accepted().await.unwrap();
    tokio::time::sleep(seconds(59)).await;
    assert_eq!(ask("a").id(), Some(first));
    tokio::time::sleep(seconds(1)).await;
    let second = ask("a");
    assert_ne!(second.id(), Some(first));
    second.await.unwrap();
    for number in 0..100 {
        tokio::time::sleep(seconds(30)).await;
        ask(&number.to_string()).await.unwrap();
    }
    // Two names are known, each with a value and none with its code.
    assert_eq!(Arc::strong_count(&kept), 1 + 2);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_once_far_ahead_lets_no_value_be_kept_for_longer() {
    let clock = VirtualClock::at("2026-11-16T12:00:00Z".parse().unwrap());
    let builder = Tidewheel::builder().clock(clock.clone());
    let wheel = builder.once_kept(seconds(60)).start();
    let kept = Arc::new(());
    let ask = |name: &str| {
        let kept = Arc::clone(&kept);
        let work = move || std::future::ready(Ok::<_, TaskError>(Weighty(Arc::clone(&kept))));
        wheel.task(work).once(name).submit_shared()
    };
    let years = seconds(70 * 365 * 86_400);
    clock.set_forward(years);
    ask("ahead").await.unwrap();
    clock.set_back(years);
    for number in 0..100 {
        tokio::time::sleep(seconds(30)).await;
        ask(&number.to_string()).await.unwrap();
    }
    // Two names that are known, and the one from ahead.
    assert_eq!(Arc::strong_count(&kept), 1 + 2 + 1);
}
