//! Wheels on stores that make their callers wait: many decisions are stored at once, nothing is done
//! before it is stored, and a store in trouble loses nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::disturbed::{Disturbed, Steps, Wrong};
use crate::common::{Gate, Log, builder, millis, seconds, settle, until};
use tidewheel::engine::{Books, Engine, Errand};
use tidewheel::store::{Memory, Pace, Reader, RunCommand, SentCommand};
use tidewheel::{
    Cancel, Graph, LimitSpec, NewTask, QueueSpec, Rejection, RunError, Shutdown, TaskError,
    TaskState, Tidewheel, Timestamp,
};
use tidewheel_core::spec::Config;
use tidewheel_core::time::{Moment, Now};
use tidewheel_testing::bounded;

const PACES: [Pace; 2] = [Pace::Brief, Pace::Slow];

#[tokio::test]
async fn a_wheel_whose_store_takes_its_time_does_all_that_others_do() {
    for pace in PACES {
        let store = Disturbed::new(pace);
        let wheel = store.builder().slots(3).limit("two", 2).start();
        let graph = Graph::numbered(200, (1..200).map(|index| (index / 3, index))).unwrap();
        let run = wheel
            .run(graph, |task| async move {
                if task.index() % 5 == 4 {
                    tokio::task::yield_now().await;
                }
                if task.index() % 7 == 6 && task.attempt() == 1 { Err("once") } else { Ok(()) }
            })
            .retries(1)
            .base_delay(Duration::from_micros(10))
            .limit("two")
            .start()
            .unwrap();
        let singles: Vec<_> = (0..100).map(|n| wheel.submit_normal(async move { n })).collect();
        wheel.every(Duration::from_millis(2)).times(3).run(|| async {}).unwrap();
        assert!(run.await.unwrap().is_success());
        for (n, single) in singles.into_iter().enumerate() {
            assert_eq!(single.await.unwrap(), n);
        }
        wheel.check();
        wheel.shutdown(Shutdown::drain()).await;
        assert_eq!(store.memory.unfinished(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_from_many_threads_reaches_a_store_that_takes_its_time() {
    for pace in PACES {
        let store = Disturbed::new(pace);
        let wheel = store.builder().slots(8).start();
        let mut submitters = Vec::new();
        for _ in 0..4 {
            let wheel = wheel.clone();
            submitters.push(tokio::spawn(async move {
                for n in 0..500_u32 {
                    assert_eq!(wheel.submit_normal(async move { n }).await.unwrap(), n);
                }
            }));
        }
        for submitter in submitters {
            submitter.await.unwrap();
        }
        wheel.check();
        wheel.shutdown(Shutdown::drain()).await;
        assert_eq!(store.memory.unfinished(), 0);
    }
}

#[tokio::test]
async fn nothing_is_done_before_it_is_stored_and_much_is_stored_at_once() {
    let (store, log, gate) = (Disturbed::new(Pace::Slow), Log::default(), Gate::closed());
    let wheel = store.builder().start();
    let commits = store.steps().commits;
    store.hold(true);
    let singles: Vec<_> = (0..64)
        .map(|_| {
            let (log, gate) = (log.clone(), gate.pass());
            wheel.submit_normal(async move {
                log.add("ran");
                gate.await;
            })
        })
        .collect();
    store.until("a commit waits", |steps| steps.is_held).await;
    settle().await;
    assert!(log.take().is_empty(), "nothing started before its acceptance was stored");
    assert_eq!(store.memory.unfinished(), 0);
    store.hold(false);
    singles[63].accepted().await.unwrap();
    // The first went alone, perhaps, and all others while it was on its way.
    assert!(store.steps().commits - commits <= 2);
    gate.open();
    for single in singles {
        single.await.unwrap();
    }
    assert_eq!(log.take().len(), 64);
}

#[tokio::test]
async fn a_full_store_refuses_new_work_and_what_runs_is_recorded_once_there_is_room() {
    for pace in PACES {
        let store = Disturbed::new(pace);
        let wheel = store.builder().start();
        let gate = Gate::closed();
        let running = wheel.submit_normal(gate.pass());
        running.accepted().await.unwrap();
        store.go(Wrong::Full);
        let refused = wheel.pause_queue("default").unwrap_err();
        assert!(matches!(&refused, Rejection::Unavailable(why) if why.contains("disk is full")));
        let refused = wheel.submit_normal(async {}).await.unwrap_err();
        assert!(matches!(refused, TaskError::Rejected(Rejection::Unavailable(_))));
        let run = wheel.run(Graph::numbered(1, []).unwrap(), |_| async {}).await.unwrap_err();
        assert!(matches!(run, RunError::Rejected(Rejection::Unavailable(_))));
        gate.open();
        settle().await;
        assert_eq!(store.memory.unfinished(), 1, "its end cannot be stored yet");
        store.go(Wrong::Nothing);
        running.await.unwrap();
        wheel.resume_queue("default").unwrap();
        wheel.submit_normal(async {}).await.unwrap();
        wheel.shutdown(Shutdown::drain()).await;
        assert_eq!(store.memory.unfinished(), 0);
    }
}

#[tokio::test]
async fn a_command_from_within_a_trigger_does_not_wait_for_itself() {
    for pace in PACES {
        let store = Disturbed::new(pace);
        let wheel = store.builder().start();
        let inner = wheel.clone();
        let schedule = wheel.trigger(move |last| {
            inner.pause_queue("default").unwrap();
            inner.resume_queue("default").unwrap();
            last.is_none().then(|| Timestamp::from_micros(1_000_000))
        });
        let log = Log::default();
        let told = log.clone();
        let schedule = schedule
            .run(move || {
                let told = told.clone();
                async move { told.add("fired") }
            })
            .unwrap();
        until(|| log.len() == 1).await;
        // Both commands were followed, in their order.
        wheel.submit_normal(async {}).await.unwrap();
        let counters = schedule.counters().unwrap();
        assert_eq!((counters.fired, counters.failed), (1, 0));
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn a_stop_that_is_stored_after_the_attempts_own_end_is_forgotten() {
    let store = Disturbed::new(Pace::Slow);
    let wheel = store.builder().start();
    let (gate, log) = (Gate::closed(), Log::default());
    let (pass, told) = (gate.clone(), log.clone());
    let first = wheel.task_with(move |attempt| {
        let (pass, told) = (pass.pass(), told.clone());
        async move {
            told.add("begun");
            tokio::select! {
                stop = attempt.stop() => told.add(format!("stopped: {}", stop.reason)),
                () = pass => told.add("ended"),
            }
            Ok::<_, TaskError>(7)
        }
    });
    let first = first.submit();
    let run = first.accepted().await.unwrap();
    until(|| log.len() == 1).await;
    store.hold(true);
    first.cancel(Cancel::after(seconds(60)));
    store.until("the stop waits for the store", |steps| steps.is_held).await;
    gate.open();
    until(|| log.len() == 2).await;
    store.hold(false);
    // It ended well although it was to be stopped: its result counts.
    assert_eq!(bounded("the attempt has ended", first).await.unwrap(), 7);
    assert_eq!(log.take(), ["begun", "ended"]);
    let ended = Reader::run(&store.memory, run).unwrap().unwrap().summary;
    assert_eq!(ended.state, TaskState::Succeeded);
    wheel.submit_normal(async {}).await.unwrap();
    wheel.check();
    wheel.shutdown(Shutdown::drain()).await;
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_ends_itself_is_waited_for_when_its_time_is_over() {
    let wheel = builder().start();
    let log = Log::default();
    let told = log.clone();
    let error = wheel
        .task_with(move |attempt| {
            let told = told.clone();
            async move {
                attempt.end_by_itself();
                let stop = attempt.stop().await;
                told.add(format!("{:?} {}", stop.grace, stop.reason));
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                told.add("ended");
                Err::<(), _>("stopped")
            }
        })
        .attempt_timeout(Duration::from_millis(1))
        .submit()
        .await
        .unwrap_err();
    assert!(matches!(error, TaskError::TimedOut(_)), "{error:?}");
    assert_eq!(log.take(), ["None attempt-timeout", "ended"]);
}

#[tokio::test]
async fn restored_work_starts_even_if_the_builder_defines_limits() {
    let store = Memory::new();
    let wheel = Tidewheel::builder().store(store.clone()).slots(1).start();
    let gate = Gate::closed();
    let running = wheel.submit_normal(gate.pass());
    let payload = &b"what to do"[..];
    wheel.task_with(|_| async { Ok::<_, &str>(()) }).payload(payload).submit().detach();
    settle().await;
    gate.open();
    wheel.shutdown(Shutdown::persist()).await;
    running.await.unwrap();
    assert_eq!(store.unfinished(), 1);
    let log = Log::default();
    let told = log.clone();
    let wheel = Tidewheel::builder()
        .store(store.clone())
        .limit("new", 1)
        .adopt(move |attempt| {
            let told = told.clone();
            async move { told.add(String::from_utf8_lossy(&attempt.payload().unwrap())) }
        })
        .start();
    wheel.shutdown(Shutdown::drain()).await;
    assert_eq!(log.take(), ["what to do"]);
    assert_eq!(store.unfinished(), 0);
}

#[tokio::test]
async fn the_same_name_is_accepted_once_and_other_work_under_it_refused() {
    let wheel = Tidewheel::builder().store(Memory::new()).start();
    let ask = |payload: &'static str| {
        let task = wheel.task_with(|_| async { Ok::<_, &str>(()) });
        task.once("order 7").payload(payload.as_bytes()).submit()
    };
    let first = ask("a");
    let id = first.accepted().await.unwrap();
    first.await.unwrap();
    assert_eq!(ask("a").accepted().await, Ok(id), "both answers carry the same id");
    assert_eq!(ask("a").id(), Some(id));
    assert!(matches!(ask("b").accepted().await, Err(Rejection::KeyTaken { run, .. }) if run == id));
}

#[tokio::test]
async fn a_command_of_another_process_outlasts_a_store_in_trouble() {
    for pace in PACES {
        let store = Disturbed::new(pace);
        let wheel = store.builder().start();
        let task = wheel.submit_normal(std::future::pending::<()>());
        let run = task.accepted().await.unwrap();
        store.go(Wrong::Full);
        // The store is seen to be in trouble.
        let refused = wheel.pause_queue("default").unwrap_err();
        assert!(matches!(refused, Rejection::Unavailable(_)));
        let command = RunCommand::Cancel { grace: Duration::ZERO };
        store.send(SentCommand { id: 5, run, command });
        let looks = store.steps().looks;
        store.until("commands are read twice", |steps| steps.looks >= looks + 2).await;
        assert!(store.steps().acknowledged.is_empty(), "it was not followed");
        store.go(Wrong::Nothing);
        let ended = bounded("the command is followed", task).await;
        assert!(matches!(ended, Err(TaskError::Cancelled(_))), "{ended:?}");
        store.until("the command is acknowledged", |steps| steps.acknowledged == [5]).await;
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_while_the_store_is_in_trouble_is_cancelled_once_there_is_room() {
    for pace in PACES {
        for waits in [true, false] {
            let store = Disturbed::new(pace);
            let wheel = store.builder().start();
            let graph = Graph::from_edges([("first", "second")]).unwrap();
            let (gate, log) = (Gate::closed(), Log::default());
            let (passes, seen) = (gate.clone(), log.clone());
            let code = move |task: tidewheel::Task| {
                seen.add(task.name());
                passes.pass()
            };
            let run = wheel.run(graph, code).start().unwrap();
            let run = if waits { run } else { run.without_waiting() };
            until(|| log.len() == 1).await;
            store.go(Wrong::Full);
            // The store is seen to be in trouble.
            assert!(matches!(wheel.pause_queue("default"), Err(Rejection::Unavailable(_))));
            assert!(run.cancel(Cancel::Drain));
            gate.open();
            settle().await;
            assert!(!run.is_ended(), "nothing can be stored");
            store.go(Wrong::Nothing);
            let report = bounded("the run ends", run.report()).await.unwrap();
            assert_eq!(report.succeeded().count(), 1);
            assert_eq!(
                log.take(),
                ["first"],
                "what was running may finish, and nothing more starts"
            );
            assert!(!run.cancel(Cancel::Drain), "it has ended");
        }
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_without_waiting_is_cancelled_even_if_that_is_lost() {
    for wrong in [Wrong::LostSilent, Wrong::StoredSilent] {
        let store = Disturbed::new(Pace::Slow);
        let wheel = store.builder().start();
        let graph = Graph::numbered(1, []).unwrap();
        let run = wheel.run(graph, |_| std::future::pending::<()>()).start().unwrap();
        let run = run.without_waiting();
        run.stored().await.unwrap();
        store.go_for(1, wrong);
        assert!(run.cancel(Cancel::now()));
        let report = bounded("the run ends", run.report()).await.unwrap();
        assert_eq!(report.result(), tidewheel::run::RunResult::Cancelled);
    }
}

/// What steers while the store is in trouble, and is stored once there is room.
#[tokio::test]
async fn whatever_is_told_while_the_store_is_in_trouble_holds_once_there_is_room() {
    for pace in PACES {
        for waits in [true, false] {
            let store = Disturbed::new(pace);
            let wheel = store.builder().start();
            let wheel = if waits { wheel } else { wheel.without_waiting() };
            let (gate, log) = (Gate::closed(), Log::default());
            let (passes, seen) = (gate.clone(), log.clone());
            let code = move |task: tidewheel::Task| {
                seen.add(task.name());
                passes.pass()
            };
            let start = |first: &str, second: &str| {
                let graph = Graph::from_edges([(first, second)]).unwrap();
                wheel.run(graph, code.clone()).keep_open().start().unwrap()
            };
            let (paused, removed, cancelled) = (start("a", "b"), start("c", "d"), start("e", "f"));
            let daily = wheel.cron("0 3 * * *", "UTC").unwrap().run(|| async {}).unwrap();
            until(|| log.len() == 3).await;
            store.go(Wrong::Full);
            // The store is seen to be in trouble.
            assert!(matches!(
                wheel.submit_normal(async {}).accepted().await,
                Err(Rejection::Unavailable(_))
            ));
            assert!(paused.pause());
            assert!(removed.remove("d") && !removed.remove("d"));
            assert!(removed.set_concurrency(1) && removed.close());
            assert!(cancelled.cancel_task("f", Cancel::now()) && cancelled.close());
            assert!(daily.pause());
            gate.open();
            store.go(Wrong::Nothing);
            let report = |run: tidewheel::Run| async move {
                bounded("the run ends", run.report()).await.unwrap()
            };
            assert_eq!(report(removed).await.cancelled().count(), 1);
            assert_eq!(report(cancelled).await.cancelled().count(), 1);
            until(|| paused.counts().of(TaskState::Succeeded) == 1).await;
            assert!(daily.hold().is_some(), "it is paused");
            assert_eq!(log.len(), 3, "nothing more has started");
            store.go(Wrong::Full);
            assert!(matches!(
                wheel.submit_normal(async {}).accepted().await,
                Err(Rejection::Unavailable(_))
            ));
            assert!(paused.resume() && paused.close() && daily.resume());
            store.go(Wrong::Nothing);
            assert!(report(paused).await.is_success());
            assert!(daily.hold().is_none());
        }
    }
}

#[tokio::test]
async fn a_wheel_that_is_paused_while_the_store_is_in_trouble_is_paused() {
    for wrong in [Wrong::Full, Wrong::NoTenure] {
        let store = Disturbed::new(Pace::Slow);
        let wheel = store.builder().start();
        let log = Log::default();
        let (gate, seen) = (Gate::closed(), log.clone());
        let running = wheel.submit_normal(gate.pass());
        running.accepted().await.unwrap();
        if wrong == Wrong::NoTenure {
            // Memory is dropped, and cannot be restored before the trouble is over.
            store.depose();
        }
        store.go(wrong);
        let refused = wheel.submit_normal(async {}).accepted().await;
        assert!(matches!(refused, Err(Rejection::Unavailable(_))));
        wheel.pause();
        gate.open();
        store.go(Wrong::Nothing);
        bounded("the attempt's end is stored", running).await.unwrap();
        let waiting = wheel.submit_normal(async move { seen.add("ran") });
        waiting.accepted().await.unwrap();
        settle().await;
        assert_eq!(log.len(), 0, "{wrong:?}: it is paused");
        wheel.resume();
        waiting.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_takes_long_to_answer_is_told_of() {
    let clock = tidewheel::clock::Clock::virtual_at("2026-11-16T12:00:00Z".parse().unwrap());
    let store = Disturbed::new(Pace::Slow);
    let wheel = store.builder().clock(clock).start();
    let wheel = wheel.without_waiting();
    store.hold(true);
    let task = wheel.submit_normal(async {});
    while !store.steps().is_held {
        // No time passes meanwhile.
        tokio::task::yield_now().await;
    }
    tokio::time::advance(millis(2_999)).await;
    assert_eq!(wheel.trouble(), None, "it may take a moment");
    tokio::time::advance(millis(1)).await;
    assert_eq!(wheel.trouble().as_deref(), Some("it takes long to answer"));
    store.hold(false);
    task.await.unwrap();
    wheel.stored().await.unwrap();
    assert_eq!(wheel.trouble(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_command_for_work_whose_end_is_not_stored_yet_waits_for_that() {
    for pace in PACES {
        let store = Disturbed::new(pace);
        let wheel = store.builder().start();
        let gate = Gate::closed();
        let task = wheel.submit_normal(gate.pass());
        let run = task.accepted().await.unwrap();
        store.hold(true);
        gate.open();
        let command = RunCommand::Cancel { grace: Duration::ZERO };
        store.send(SentCommand { id: 5, run, command });
        let looks = store.steps().looks;
        store.until("commands are read three times", |steps| steps.looks >= looks + 3).await;
        assert!(store.steps().acknowledged.is_empty(), "its end is not stored");
        store.hold(false);
        store.until("the command is acknowledged", |steps| steps.acknowledged == [5]).await;
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn a_run_that_met_trouble_on_its_way_may_run_later_and_its_name_says_so() {
    for pace in PACES {
        let store = Disturbed::new(pace);
        let wheel = store.builder().start();
        let log = Log::default();
        let start = || {
            let (graph, log) = (Graph::numbered(1, []).unwrap(), log.clone());
            let code = move |_| {
                log.add("ran");
                async {}
            };
            wheel.run(graph, code).once("order 7").start().map(|run| run.id())
        };
        store.go(Wrong::Full);
        assert!(matches!(start(), Err(Rejection::Unavailable(_))));
        store.go(Wrong::Nothing);
        until(|| log.len() == 1).await;
        assert!(matches!(start(), Err(Rejection::AlreadyAccepted(_))));
        wheel.shutdown(Shutdown::drain()).await;
        assert_eq!(log.len(), 1);
    }
}

#[tokio::test]
async fn asking_without_waiting_never_blocks_the_runtime() {
    for pace in PACES {
        asking_without_waiting(pace).await;
    }
}

async fn asking_without_waiting(pace: Pace) {
    let store = Disturbed::new(pace);
    let wheel = store.builder().start();
    let asking = wheel.without_waiting();
    store.hold(true);
    // The only thread of the runtime would wait for the store in each of these.
    asking.define_queue("reports", QueueSpec::default()).unwrap();
    asking.define_limit("db", LimitSpec::Units(2)).unwrap();
    let log = Log::default();
    let seen = log.clone();
    let graph = Graph::from_edges([("a", "b")]).unwrap();
    let run = asking.run(graph, move |task| {
        seen.add(task.name());
        async {}
    });
    let run = run.queue("reports").start().unwrap();
    let schedule = asking.once_after(seconds(3600)).run(|| async {}).unwrap();
    assert!(run.pause() && run.set_concurrency(1) && run.resume());
    run.add_tasks(["c", "d"].map(|name| NewTask::new(name).after(["b"]))).unwrap();
    assert!(schedule.pause() && schedule.resume());
    let unknown = run.add("e", ["nobody"]).unwrap_err();
    assert!(matches!(unknown, Rejection::Invalid(_)), "a refusal is told at once");

    let stored = tokio::spawn({
        let wheel = wheel.clone();
        async move { wheel.stored().await }
    });
    let awaited = wheel.run(Graph::from_edges([("x", "y")]).unwrap(), |_| async {});
    let awaited = tokio::spawn(async move { awaited.await });
    // Others go on meanwhile, and nothing that is not stored is done.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!stored.is_finished() && !awaited.is_finished());
    assert_eq!(log.len(), 0);
    let before = store.steps().commits;
    store.hold(false);
    stored.await.unwrap().unwrap();
    assert!(awaited.await.unwrap().unwrap().is_success());
    let report = run.await.unwrap();
    assert_eq!(report.succeeded().count(), 4);
    assert!(store.steps().commits - before < 12, "what was asked in a row is stored together");
    wheel.stored().await.unwrap();
}

#[tokio::test]
async fn what_was_asked_without_waiting_is_told_when_it_cannot_be_stored() {
    let store = Disturbed::new(Pace::Slow);
    let wheel = store.builder().start().without_waiting();
    wheel.stored().await.unwrap();
    store.go(Wrong::Full);
    wheel.define_limit("db", LimitSpec::Units(2)).unwrap();
    assert!(matches!(wheel.stored().await, Err(Rejection::Unavailable(_))));
    assert!(matches!(
        wheel.define_limit("io", LimitSpec::Units(2)),
        Err(Rejection::Unavailable(_))
    ));
    store.go(Wrong::Nothing);
    until(|| wheel.define_limit("io", LimitSpec::Units(2)).is_ok()).await;
    wheel.stored().await.unwrap();
}

/// A command of another process waits for the disk, and nothing else does: everything here is on one thread.
#[tokio::test]
async fn commands_of_others_wait_for_the_store_without_the_runtime() {
    let store = Disturbed::new(Pace::Slow);
    let wheel = store.builder().slots(1).start();
    let run = wheel.run(Graph::numbered(1, []).unwrap(), |_| std::future::pending::<()>());
    let run = run.start().unwrap();
    store.hold(true);
    let command = RunCommand::Pause;
    let looks = store.steps().looks;
    store.send(SentCommand { id: 7, run: run.id(), command });
    // The only thread of the runtime is free meanwhile, or this would wait for ever.
    let is_taken = |steps: &Steps| steps.is_held && steps.looks > looks;
    store.until("the pause waits for the store", is_taken).await;
    settle().await;
    assert!(store.steps().acknowledged.is_empty());
    store.hold(false);
    store.until("the command is acknowledged", |steps| steps.acknowledged == [7]).await;
}

/// The thread of a store in trouble ends with the runtime, without a word.
#[test]
fn a_runtime_that_ends_while_the_store_is_in_trouble_causes_no_panic() {
    let panics = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&panics);
    std::panic::set_hook(Box::new(move |panic| {
        let is_ours = std::thread::current().name() == Some("tidewheel-books");
        seen.fetch_add(u32::from(is_ours), Ordering::SeqCst);
        eprintln!("{panic}");
    }));
    for _ in 0..20 {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = Disturbed::new(Pace::Slow);
        let guard = runtime.enter();
        let wheel = store.builder().start();
        store.go(Wrong::Full);
        let submission = wheel.submit_normal(async {});
        drop(guard);
        runtime.block_on(until(|| wheel.trouble().is_some()));
        drop(runtime);
        // Everybody is told by the last one that ends.
        let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(other.block_on(submission).is_err());
    }
    let _ = std::panic::take_hook();
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}

/// Between reading what is stored and going on with it, somebody may put more there.
#[test]
fn what_is_moved_while_memory_is_restored_is_taken_in_too() {
    let now = Now { monotonic: Moment::from_millis(1), wall: Timestamp::from_seconds(1) };
    let mut engine = Engine::open(Config::default(), Box::new(Memory::new()), now).unwrap();
    let mut books = Books::new(&engine, &[]);
    let mut store = engine.take_store();
    books.take_in(&engine);
    assert!(matches!(books.next(&mut engine), Errand::Restore));
    let (tenure, before) = store.retake_tenure().unwrap();
    books.take_in(&engine);
    books.restore(&mut engine, tenure, before, now).unwrap();
    assert!(books.is_taking_in(), "what was read is from before");
    let mut restored = 0;
    loop {
        match books.next(&mut engine) {
            Errand::Store(mut batch) => {
                let number = batch.number();
                let outputs = std::mem::take(batch.commit(&mut *store).unwrap());
                books.stored(number, &outputs);
            }
            Errand::Restore => {
                let (tenure, after) = store.retake_tenure().unwrap();
                books.restore(&mut engine, tenure, after, now).unwrap();
                restored += 1;
            }
            Errand::Nothing => break,
        }
    }
    assert!(!books.is_taking_in() && restored == 1, "{restored}");
}
