//! Wheels on stores: nothing is told before it is stored, and what a store loses, waiters learn.

use std::sync::Arc;

use crate::common::disturbed::{Disturbed, Wrong};
use crate::common::{Gate, Log, builder, seconds, settle};
use tidewheel::engine::{Engine, EngineError};
use tidewheel::store::{Memory, Pace, Reader, Store, conformance};
use tidewheel::{
    Cancel, Graph, LimitSpec, Outcome, Rejection, RunError, Shutdown, TaskError, TaskState,
    Timestamp,
};
use tidewheel_core::input::{Command, Input};
use tidewheel_core::spec::{Config, Profile};
use tidewheel_core::time::{Moment, Now};

#[test]
fn memory_conforms() {
    conformance::exercise(|| {
        let store = Memory::new();
        Box::new(move || Box::new(store.clone()))
    });
}

#[test]
fn memory_shows_and_passes_on_what_every_store_does() {
    conformance::exercise_sides(|| {
        let memory = Memory::new();
        let (store, reader) = (memory.clone(), memory.clone());
        conformance::Sides {
            store: move || Box::new(store.clone()) as Box<dyn Store>,
            reader: move || reader.clone(),
            outbox: move || memory.outbox(),
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_wheel_on_a_store_does_all_that_one_without_does() {
    let store = Memory::new();
    let wheel = builder().slots(2).store(store.clone()).start();
    let graph = Graph::numbered(50, (1..50).map(|index| (index / 2, index))).unwrap();
    let report = wheel
        .run(graph, |task| async move {
            if task.index() % 7 == 6 && task.attempt() == 1 { Err("once") } else { Ok(()) }
        })
        .retries(1)
        .start()
        .unwrap();
    wheel.every(seconds(1)).times(3).run(|| async {}).unwrap();
    assert!(report.await.unwrap().is_success());
    wheel.submit_normal(async {}).await.unwrap();
    tokio::time::sleep(seconds(5)).await;
    assert_eq!(store.unfinished(), 0);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn persisted_work_is_adopted_by_the_next_wheel() {
    let (store, log) = (Memory::new(), Log::default());
    let wheel = builder().slots(1).store(store.clone()).start();
    let gate = Gate::closed();
    let running = wheel.submit_normal(gate.pass());
    let waiting = wheel.submit_normal(async {});
    let run = wheel.run(Graph::numbered(2, [(0, 1)]).unwrap(), |_| async {}).start().unwrap();
    settle().await;
    gate.open();
    wheel.shutdown(Shutdown::persist()).await;
    running.await.unwrap();
    assert!(matches!(waiting.await, Err(TaskError::ShutDown)));
    assert_eq!(run.await.unwrap_err(), RunError::ShutDown);
    assert_eq!(store.unfinished(), 2);

    let inner = log.clone();
    let adopting = builder().store(store.clone()).adopt(move |attempt| {
        inner.add(format!("{}", attempt.id().index));
        async {}
    });
    let wheel = adopting.start();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(log.len(), 3);
    assert_eq!(store.unfinished(), 0);
    wheel.check();
}

/// A wheel whose work is of two kinds, dead as far as the store can see.
fn leave_two_kinds(store: &Memory) {
    let wheel = builder().store(store.clone()).paused().start();
    for kind in ["mail", "report"] {
        let graph = Graph::numbered(2, [(0, 1)]).unwrap();
        let run = wheel.run(graph, |_| async {}).kind(kind).run_timeout(seconds(1));
        std::mem::forget(run.start().unwrap());
        std::mem::forget(
            wheel.task(|| async { Ok::<(), TaskError>(()) }).kind(kind).payload(*b"x").submit(),
        );
        wheel
            .every(seconds(1))
            .starting_after(seconds(5))
            .times(1)
            .kind(kind)
            .run(|| async {})
            .unwrap();
    }
    std::mem::forget(wheel.submit_normal(async {}));
    std::mem::forget(wheel);
}

#[tokio::test(start_paused = true)]
async fn work_of_an_unknown_kind_is_held_until_a_wheel_knows_it() {
    let (store, log) = (Memory::new(), Log::default());
    leave_two_kinds(&store);
    let all = store.unfinished();
    let adopting = |kind: Option<&'static str>| {
        let inner = log.clone();
        builder().store(store.clone()).adopt_kind(kind, move |attempt| {
            inner.add(attempt.kind().as_deref().unwrap_or("none"));
            async {}
        })
    };
    let wheel = adopting(Some("mail")).start();
    tokio::time::sleep(seconds(60)).await;
    let held: Vec<String> = wheel.held_work().iter().map(ToString::to_string).collect();
    assert_eq!(held.len(), 4, "{held:?}");
    assert!(held[0].contains("is of the kind `report`, for which there is no code"), "{held:?}");
    assert!(held.iter().any(|line| line.contains("says no kind")), "{held:?}");
    assert!(held[3].starts_with("schedule "), "{held:?}");
    let done = log.take();
    assert!(!done.is_empty() && done.iter().all(|kind| kind == "mail"), "{done:?}");
    // Not even the end of its time has come to what is held.
    assert!(store.unfinished() < all && store.unfinished() > 0);
    wheel.shutdown(Shutdown::drain()).await;
    drop(wheel);

    let wheel = adopting(None).start();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(log.take(), ["none"]);
    assert_eq!(wheel.held_work().len(), 3);
    wheel.shutdown(Shutdown::persist()).await;
    drop(wheel);

    let wheel = adopting(Some("report")).start();
    assert_eq!(wheel.held_work(), []);
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(
        (log.take(), store.unfinished()),
        (done.iter().map(|_| "report".to_owned()).collect(), 0)
    );
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn code_for_a_kind_goes_before_code_for_all_others() {
    let (store, log) = (Memory::new(), Log::default());
    leave_two_kinds(&store);
    let (mail, rest) = (log.clone(), log.clone());
    let wheel = builder()
        .store(store.clone())
        .adopt_kind("mail", move |attempt| {
            mail.add(format!("mail {}", attempt.kind().as_deref().unwrap_or("none")));
            async {}
        })
        .adopt(move |attempt| {
            rest.add(format!("rest {}", attempt.kind().as_deref().unwrap_or("none")));
            async {}
        })
        .start();
    assert_eq!(wheel.held_work(), []);
    tokio::time::sleep(seconds(60)).await;
    let said: std::collections::BTreeSet<String> = log.take().into_iter().collect();
    assert_eq!(said.iter().collect::<Vec<_>>(), ["mail mail", "rest none", "rest report"]);
    assert_eq!(store.unfinished(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_wheel_that_begins_paused_starts_nothing_and_leaves_no_trace_of_it() {
    let (store, log) = (Memory::new(), Log::default());
    let wheel = builder().store(store.clone()).start();
    let runs = [(); 2].map(|()| {
        let graph = Graph::numbered(1, []).unwrap();
        wheel.run(graph, |_| std::future::pending::<()>()).paused().start().unwrap()
    });
    runs.iter().for_each(|run| assert!(run.resume()));
    settle().await;
    let ids = runs.map(|run| run.id());
    // Dead, as far as the store can see.
    std::mem::forget(wheel);

    let adopting = || {
        let inner = log.clone();
        builder().store(store.clone()).adopt(move |attempt| {
            inner.add(format!("{}", attempt.number()));
            async {}
        })
    };
    let wheel = adopting().paused().start();
    settle().await;
    let run = wheel.find_run(ids[0]).unwrap();
    run.cancel(Cancel::everything(seconds(0)));
    assert_eq!(run.report().await.unwrap().tasks().next().unwrap().attempts(), 1);
    wheel.shutdown(Shutdown::persist()).await;
    assert_eq!((log.len(), store.unfinished()), (0, 1));

    let wheel = adopting().start();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!((log.len(), store.unfinished()), (1, 0));
    wheel.check();
}

#[tokio::test]
async fn a_commit_that_is_uncertain_is_repeated_and_counts_once() {
    for wrong in [Wrong::StoredSilent, Wrong::Full] {
        let store = Disturbed::new(Pace::Instant);
        let wheel = builder().store(store.clone()).start();
        for _ in 0..10 {
            store.go_for(3, wrong);
            assert_eq!(wheel.submit_normal(async { 1 }).await.unwrap(), 1);
        }
        assert_eq!(wheel.stats().total.completed, 10);
        assert_eq!(store.memory.unfinished(), 0);
    }
}

#[tokio::test]
async fn when_the_store_is_lost_everybody_is_told_and_nothing_more_is_accepted() {
    {
        let (store, log) = (Disturbed::new(Pace::Instant), Log::default());
        let wheel = builder().slots(2).store(store.clone()).start();
        let gate = Gate::closed();
        let running = wheel.submit_normal(std::future::pending::<()>());
        let finishing = wheel.submit_normal(gate.pass());
        let inner = log.clone();
        let waiting = wheel.submit_normal(async move { inner.add("ran") });
        let run = wheel.run(Graph::numbered(1, []).unwrap(), |_| async {}).start().unwrap();
        settle().await;
        store.go(Wrong::Corrupt);
        gate.open();
        assert!(matches!(finishing.await, Err(TaskError::Lost(_))));
        assert!(matches!(running.await, Err(TaskError::Lost(_))));
        assert!(matches!(waiting.await, Err(TaskError::Lost(_))));
        assert!(matches!(run.await, Err(RunError::Lost(_))));
        assert!(wheel.submit_normal(async {}).rejection().is_some());
        wheel.shutdown(Shutdown::drain()).await;
        assert_eq!(log.len(), 0);
    }
}

/// Whoever asks just then is told why, not that somebody shut it down.
#[tokio::test]
async fn what_cannot_be_accepted_because_the_store_is_lost_is_refused_with_the_reason() {
    let store = Disturbed::new(Pace::Instant);
    let wheel = builder().store(store.clone()).start();
    store.go(Wrong::Corrupt);
    let refused = wheel.run(Graph::numbered(1, []).unwrap(), |_| async {}).start();
    let Err(Rejection::Unavailable(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("cannot be read"), "{why}");
}

/// "Accepted" means stored: what could not be stored was not accepted and does not start.
#[tokio::test]
async fn what_is_not_stored_does_not_start() {
    let (store, log) = (Disturbed::new(Pace::Instant), Log::default());
    let wheel = builder().store(store.clone()).start();
    store.go(Wrong::Full);
    let inner = log.clone();
    let refused = wheel.submit_normal(async move { inner.add("ran") });
    assert!(refused.rejection().is_some());
    settle().await;
    assert_eq!(log.len(), 0);
}

#[tokio::test]
async fn a_second_wheel_on_the_same_store_fences_off_the_first() {
    let store = Memory::new();
    let first = builder().store(store.clone()).start();
    let second = builder().store(store.clone()).start();
    assert!(first.submit_normal(async {}).rejection().is_some());
    assert_eq!(second.submit_normal(async { 2 }).await.unwrap(), 2);
}

/// What a simulator relies on: an engine that lost a decision goes on from the store.
#[test]
fn a_lost_engine_recovers_from_its_store() {
    let store = Disturbed::new(Pace::Instant);
    let now = Now { monotonic: Moment::from_millis(1), wall: Timestamp::from_seconds(1) };
    let mut engine = Engine::open(Config::default(), Box::new(store.clone()), now).unwrap();
    let limit = |name: &str| {
        let command = Command::DefineLimit { name: Arc::from(name), spec: LimitSpec::Units(1) };
        [Input::Command(command)]
    };
    engine.turn(now, limit("kept")).unwrap();
    let before = engine.tenure();
    store.go_for(5, Wrong::Full);
    assert!(matches!(engine.turn(now, limit("lost")), Err(EngineError::Lost(_))));
    assert!(engine.is_lost() && engine.outputs().is_empty());
    assert!(matches!(engine.turn(now, limit("more")), Err(EngineError::NotRestored)));
    let (tenure, snapshot) = store.memory.clone().take_tenure().unwrap();
    engine.restore(tenure, snapshot, &Default::default(), now).unwrap();
    assert!(!engine.is_lost() && engine.tenure() > before);
    let profile = |name: &str| Profile { limits: vec![(Arc::from(name), 1)], ..Profile::default() };
    assert!(engine.scheduler_mut().profile(&profile("kept")).is_ok());
    assert!(engine.scheduler_mut().profile(&profile("lost")).is_err());
}

#[tokio::test(start_paused = true)]
async fn work_that_nobody_here_understands_is_left_for_somebody_who_does() {
    let store = Memory::new();
    let wheel = builder().slots(1).store(store.clone()).start();
    let gate = Gate::closed();
    let running = wheel.submit_normal(gate.pass());
    wheel.submit_normal(async {}).detach();
    settle().await;
    gate.open();
    wheel.shutdown(Shutdown::persist()).await;
    running.await.unwrap();
    let refused = builder().store(store.clone()).try_start().unwrap_err();
    let text = std::error::Error::source(&refused).unwrap().to_string();
    assert!(text.contains("1 unfinished runs") && text.contains("no code"), "{text}");
    assert_eq!(store.unfinished(), 1, "it is still there");
    let wheel = builder().store(store.clone()).adopt(|_| async {}).start();
    wheel.shutdown(Shutdown::drain()).await;
    assert_eq!(store.unfinished(), 0);
}

#[tokio::test]
async fn a_future_without_a_payload_comes_back_to_adopt_which_says_what_becomes_of_it() {
    let store = Memory::new();
    let wheel = builder().paused().store(store.clone()).start();
    let waiting = wheel.submit_normal(async { 7 });
    let run = waiting.accepted().await.unwrap();
    wheel.shutdown(Shutdown::persist()).await;
    assert!(matches!(waiting.await, Err(TaskError::ShutDown)), "its code is gone with the process");
    let adopt = |attempt: tidewheel::Attempt| async move {
        match attempt.payload() {
            Some(_) => Outcome::Succeeded,
            None => Outcome::Skipped,
        }
    };
    let wheel = builder().store(store.clone()).adopt(adopt).start();
    wheel.shutdown(Shutdown::drain()).await;
    assert_eq!(store.unfinished(), 0);
    let ended = Reader::run(&store, run).unwrap().unwrap().summary;
    assert_eq!(ended.state, TaskState::Skipped);
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_stored_also_by_a_wheel_that_began_paused() {
    let store = Memory::new();
    let wheel = builder().store(store.clone()).paused().start();
    wheel.pause();
    wheel.shutdown(Shutdown::persist()).await;
    let wheel = builder().store(store.clone()).start();
    let task = wheel.submit_normal(async {});
    assert!(tokio::time::timeout(seconds(60), task).await.is_err(), "nobody resumed it");
    wheel.resume();
    wheel.submit_normal(async {}).await.unwrap();
}
