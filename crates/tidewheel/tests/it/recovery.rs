//! Wheels that lose the right to decide, or cannot learn what is stored: they restore in place, and
//! whoever waits goes on waiting or is told.
//!
//! Stores that are only slow or full are in `books`.

use std::time::Duration;

use crate::common::disturbed::{Disturbed, Wrong};
use crate::common::{Gate, Log, seconds, until};
use tidewheel::observe::{Fact, Notice, NoticeStream};
use tidewheel::store::Pace;
use tidewheel::{Graph, LimitSpec, QueueSpec, Rejection, RunError, Shutdown, TaskError};
use tidewheel_testing::bounded;

/// Waits for a fact.
async fn fact(notices: &mut NoticeStream, is_it: impl Fn(&Fact) -> bool) -> Notice {
    let wait = async {
        loop {
            let notice = notices.recv().await.expect("the wheel has ended").unwrap();
            if is_it(&notice.fact) {
                return notice;
            }
        }
    };
    bounded("the fact is reported", wait).await
}

const PACES: [Pace; 3] = [Pace::Instant, Pace::Brief, Pace::Slow];

#[tokio::test]
async fn a_wheel_whose_tenure_is_over_restores_in_place_and_what_runs_goes_on() {
    for pace in PACES {
        let (store, gate, log) = (Disturbed::new(pace), Gate::closed(), Log::default());
        let wheel = store.builder().slots(8).limit("one", 1).start();
        let mut notices = wheel.notices();
        let inner = gate.clone();
        let running = wheel.submit_normal(async move {
            inner.pass().await;
            7
        });
        let (inner, told) = (gate.clone(), log.clone());
        let code = move |task: tidewheel::Task| {
            let (pass, told) = (inner.pass(), told.clone());
            async move {
                pass.await;
                told.add(task.name());
            }
        };
        let graph = Graph::from_edges([("a", "b"), ("b", "c")]).unwrap();
        let run = wheel.run(graph, code).start().unwrap();
        let schedule = wheel.every(seconds(3_600)).run(|| async {}).unwrap();
        running.accepted().await.unwrap();
        until(|| wheel.stats().total.active == 2).await;
        store.depose();
        assert!(matches!(wheel.pause_queue("default"), Err(Rejection::Unavailable(_))));
        fact(&mut notices, |fact| matches!(fact, Fact::SteppedDown(_))).await;
        fact(&mut notices, |fact| matches!(fact, Fact::Restored)).await;
        until(|| wheel.trouble().is_none()).await;
        // Handles of before steer what was restored.
        assert!(run.pause() && run.resume());
        assert!(schedule.pause() && schedule.next().is_some());
        run.add("d", ["c"]).unwrap();
        gate.open();
        assert_eq!(running.await.unwrap(), 7);
        let report = run.await.unwrap();
        assert!(report.is_success());
        assert!(report.tasks().all(|task| task.attempts() == 1), "nothing ran twice");
        assert_eq!(log.take(), ["a", "b", "c", "d"]);
        assert_eq!(wheel.submit_normal(async { 1 }).await.unwrap(), 1);
        wheel.check();
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn what_runs_knows_what_it_was_given_after_a_restoration_too() {
    let (store, gate, log) = (Disturbed::new(Pace::Brief), Gate::closed(), Log::default());
    let wheel = store.builder().start();
    let mut notices = wheel.notices();
    // Another run has the place in memory that this one is restored to.
    let before = gate.clone();
    let before = wheel.submit_normal(async move { before.pass().await });
    before.accepted().await.unwrap();
    let (pass, told) = (Gate::closed(), log.clone());
    let inner = pass.clone();
    let running = wheel.task_with(move |attempt: tidewheel::Attempt| {
        let (pass, told) = (inner.pass(), told.clone());
        async move {
            pass.await;
            let payload = attempt.payload().unwrap();
            told.add(format!("{:?} {}", attempt.kind(), String::from_utf8_lossy(&payload)));
            Ok::<_, &str>(())
        }
    });
    let running = running.kind("letter").payload(*b"dear").submit();
    running.accepted().await.unwrap();
    until(|| wheel.stats().total.active == 2).await;
    gate.open();
    before.await.unwrap();
    store.depose();
    assert!(matches!(wheel.pause_queue("default"), Err(Rejection::Unavailable(_))));
    fact(&mut notices, |fact| matches!(fact, Fact::Restored)).await;
    pass.open();
    running.await.unwrap();
    assert_eq!(log.take(), ["Some(\"letter\") dear"]);
    wheel.shutdown(Shutdown::drain()).await;
}

#[tokio::test]
async fn attempts_that_end_while_nothing_can_be_decided_are_reported_afterwards() {
    for pace in PACES {
        let (store, gate) = (Disturbed::new(pace), Gate::closed());
        let wheel = store.builder().start();
        let passing = gate.pass();
        let running = wheel.submit_normal(async move {
            passing.await;
            7
        });
        let failing = wheel.submit_fallible(tidewheel::Priority::NORMAL, {
            let pass = gate.pass();
            async move {
                pass.await;
                Err::<(), _>("no")
            }
        });
        running.accepted().await.unwrap();
        failing.accepted().await.unwrap();
        until(|| wheel.stats().total.active == 2).await;
        store.go(Wrong::NoTenure);
        store.depose();
        gate.open();
        until(|| wheel.trouble().is_some_and(|why| why.contains("not available"))).await;
        let refused = wheel.submit_normal(async {}).await.unwrap_err();
        assert!(matches!(refused, TaskError::Rejected(Rejection::Unavailable(_))), "{refused:?}");
        store.go(Wrong::Nothing);
        assert_eq!(running.await.unwrap(), 7);
        assert!(matches!(failing.await, Err(TaskError::Failed(_))));
        wheel.shutdown(Shutdown::drain()).await;
        assert_eq!(store.memory.unfinished(), 0);
    }
}

#[tokio::test]
async fn what_is_accepted_without_being_stored_is_told_to_be_unavailable() {
    for (pace, wrong) in [(Pace::Brief, Wrong::LostSilent), (Pace::Slow, Wrong::LostSilent)] {
        let (store, log) = (Disturbed::new(pace), Log::default());
        let wheel = store.builder().start();
        store.go(wrong);
        let inner = log.clone();
        let lost = wheel.submit_normal(async move { inner.add("ran") });
        until(|| wheel.trouble().is_some()).await;
        assert!(matches!(lost.accepted().await, Err(Rejection::Unavailable(_))));
        // After some tries without an answer memory is dropped.
        let error = bounded("memory is dropped", lost).await.unwrap_err();
        assert!(matches!(error, TaskError::Rejected(Rejection::Unavailable(_))), "{error:?}");
        store.go(Wrong::Nothing);
        until(|| wheel.trouble().is_none()).await;
        wheel.submit_normal(async {}).await.unwrap();
        assert_eq!(log.len(), 0, "what was refused does not run");
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn what_was_stored_without_an_answer_is_found_and_runs_once() {
    for pace in PACES {
        let (store, log) = (Disturbed::new(pace), Log::default());
        let wheel = store.builder().start();
        store.go(Wrong::StoredSilent);
        let inner = log.clone();
        let graph = Graph::numbered(1, []).unwrap();
        let code = move |_| {
            inner.add("ran");
            async {}
        };
        let start = wheel.run(graph, code).once("order 7").start();
        assert!(matches!(start, Err(Rejection::Unavailable(_))), "nobody knows");
        until(|| store.memory.unfinished() == 1).await;
        store.go(Wrong::Nothing);
        until(|| log.len() == 1 && store.memory.unfinished() == 0).await;
        let graph = Graph::numbered(1, []).unwrap();
        let again = wheel.run(graph, |_| async {}).once("order 7").start();
        assert!(matches!(again, Err(Rejection::AlreadyAccepted(_))));
        wheel.shutdown(Shutdown::drain()).await;
        assert_eq!(log.len(), 1);
    }
}

#[tokio::test]
async fn a_run_whose_end_was_stored_without_an_answer_is_not_waited_for() {
    let (store, gate) = (Disturbed::new(Pace::Brief), Gate::closed());
    let wheel = store.builder().start();
    let inner = gate.clone();
    let graph = Graph::numbered(1, []).unwrap();
    let run = wheel.run(graph, move |_| inner.pass()).start().unwrap();
    until(|| wheel.stats().total.active == 1).await;
    store.go(Wrong::StoredSilent);
    gate.open();
    let ended = bounded("the run ends", run).await;
    assert!(matches!(ended, Err(RunError::Lost(_))), "{ended:?}");
    store.go(Wrong::Nothing);
    wheel.shutdown(Shutdown::drain()).await;
    assert_eq!(store.memory.unfinished(), 0);
}

/// Says when it is dropped.
struct Ended(Log);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.add("stopped");
    }
}

#[tokio::test]
async fn a_wheel_waits_while_another_one_decides_and_takes_over_when_that_has_ended() {
    for pace in PACES {
        let (store, log) = (Disturbed::new(pace), Log::default());
        let inner = log.clone();
        let adopt = move |attempt: tidewheel::Attempt| {
            let (log, number) = (inner.clone(), attempt.number());
            async move { log.add(format!("adopted, attempt {number}")) }
        };
        let first = store.builder().adopt(adopt.clone()).start();
        let told = log.clone();
        let code = move |task: tidewheel::Task| {
            let told = told.clone();
            async move {
                if task.attempt() == 1 {
                    told.add("begun");
                    let _ended = Ended(told);
                    std::future::pending::<()>().await;
                }
            }
        };
        let run = first.run(Graph::numbered(1, []).unwrap(), code).start().unwrap();
        until(|| log.len() == 1).await;
        assert_eq!(log.take(), ["begun"]);
        let second = store.builder().adopt(adopt).paused().start();
        // The first finds out as soon as it wants something stored.
        assert!(matches!(first.pause_queue("default"), Err(Rejection::Unavailable(_))));
        until(|| first.trouble().is_some_and(|why| why.contains("is held by"))).await;
        until(|| log.len() == 1).await;
        assert_eq!(log.take(), ["stopped"], "what runs there is the other's now");
        assert!(!run.is_ended());
        assert!(second.find_run(run.id()).is_some());
        second.shutdown(Shutdown::persist()).await;
        drop(second);
        // It goes on with the run, with the code it was started with.
        let report = bounded("the first wheel takes over", run).await;
        assert_eq!(report.unwrap().tasks().next().unwrap().attempts(), 2);
        first.submit_normal(async {}).await.unwrap();
        first.shutdown(Shutdown::drain()).await;
        assert_eq!((log.len(), store.memory.unfinished()), (0, 0));
    }
}

#[tokio::test]
async fn a_wheel_that_is_to_end_does_not_wait_for_another_one_that_decides() {
    for pace in PACES {
        let store = Disturbed::new(pace);
        let first = store.builder().start();
        let waiting = first.submit_normal(std::future::pending::<()>());
        waiting.accepted().await.unwrap();
        let second = store.builder().adopt(|_| std::future::pending::<()>()).start();
        assert!(matches!(first.pause_queue("default"), Err(Rejection::Unavailable(_))));
        let down = first.shutdown(Shutdown::drain());
        bounded("the shutdown ends", down).await;
        assert!(matches!(waiting.await, Err(TaskError::ShutDown)));
        assert_eq!(store.memory.unfinished(), 1);
        second.shutdown(Shutdown::reject().after(Duration::ZERO)).await;
    }
}

#[tokio::test]
async fn words_that_are_in_no_row_hold_after_a_recovery_as_well() {
    let store = Disturbed::new(Pace::Brief);
    let wheel = store.builder().slots(8).paused().start();
    let graph = || Graph::numbered(4, []).unwrap();
    let run = wheel.run(graph(), |_| std::future::pending::<()>()).start().unwrap();
    assert!(run.set_concurrency(2));
    wheel.set_slots(3).unwrap();
    let waiting = wheel.submit_normal(std::future::pending::<()>());
    let abandoned = wheel.submit_normal(std::future::pending::<()>());
    abandoned.accepted().await.unwrap();
    store.go(Wrong::NoTenure);
    store.depose();
    assert!(wheel.pause_queue("default").is_err());
    until(|| wheel.trouble().is_some()).await;
    // Said while nothing can be decided.
    drop(abandoned);
    store.go(Wrong::Nothing);
    until(|| wheel.trouble().is_none() && store.memory.unfinished() == 2).await;
    assert_eq!(wheel.stats().total.active, 0, "it is still paused");
    wheel.resume();
    until(|| wheel.stats().total.active == 3).await;
    let overview = wheel.stats();
    assert_eq!((overview.slots, overview.total.queued), (Some(3), 2), "{overview:?}");
    wheel.shutdown(Shutdown::reject().after(Duration::ZERO)).await;
    assert!(waiting.await.is_err() && run.await.is_ok());
}

#[tokio::test]
async fn what_a_wheel_was_given_is_not_changed_by_a_run_after_a_recovery_either() {
    let store = Disturbed::new(Pace::Brief);
    let narrow = || QueueSpec { slots: Some(1), ..QueueSpec::default() };
    let wheel = store.builder().limit("db", 4).queue("slow", narrow()).start();
    let mut notices = wheel.notices();
    let one = || Graph::from_edges([("a", "b")]).unwrap();
    let free = wheel.run(one(), |_| async {}).with_limit("free", LimitSpec::Units(1));
    free.start().unwrap().await.unwrap();
    store.depose();
    assert!(matches!(wheel.pause_queue("default"), Err(Rejection::Unavailable(_))));
    fact(&mut notices, |fact| matches!(fact, Fact::Restored)).await;
    until(|| wheel.trouble().is_none()).await;
    let run = || wheel.run(one(), |_| async {});
    let refused = run().with_limit("db", LimitSpec::Units(1)).start().unwrap_err();
    assert!(matches!(refused, Rejection::Contradiction { what: "limit", .. }), "{refused:?}");
    let refused = run().with_queue("slow", QueueSpec::default()).start().unwrap_err();
    assert!(matches!(refused, Rejection::Contradiction { what: "queue", .. }), "{refused:?}");
    // What only runs had brought is theirs as before.
    run().with_limit("free", LimitSpec::Units(2)).start().unwrap().await.unwrap();
    wheel.shutdown(Shutdown::drain()).await;
}

#[tokio::test]
async fn the_queue_of_all_is_what_this_start_says_whatever_an_earlier_one_said() {
    let store = Disturbed::new(Pace::Instant);
    let narrow = QueueSpec { slots: Some(1), ..QueueSpec::default() };
    for (builder, at_once) in
        [(store.builder().queue("default", narrow).queue_capacity(2), 1), (store.builder(), 4)]
    {
        let (wheel, gate) = (builder.slots(8).start(), Gate::closed());
        let pass = gate.clone();
        let run = wheel.run(Graph::numbered(at_once, []).unwrap(), move |_| pass.pass());
        let run = run.start().unwrap();
        until(|| wheel.stats().total.active == u64::from(at_once)).await;
        gate.open();
        assert!(run.await.unwrap().is_success());
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn notices_are_numbered_without_a_gap_across_a_recovery() {
    let store = Disturbed::new(Pace::Brief);
    let wheel = store.builder().start();
    let mut notices = wheel.notices();
    for n in 0..20 {
        if n % 4 == 3 {
            store.depose();
        }
        let _ = wheel.submit_normal(async {}).await;
    }
    wheel.shutdown(Shutdown::drain()).await;
    let (mut next, mut restored) = (1, 0);
    while let Some(notice) = notices.recv().await {
        let notice = notice.unwrap();
        assert_eq!(notice.sequence, next);
        next += 1;
        restored += u32::from(matches!(notice.fact, Fact::Restored));
    }
    assert!(restored >= 5, "{restored} recoveries");
}

#[tokio::test]
async fn a_task_whose_addition_was_lost_can_be_added_again() {
    let (store, log) = (Disturbed::new(Pace::Brief), Log::default());
    let wheel = store.builder().start();
    let graph = Graph::numbered(1, []).unwrap();
    let run = wheel.run(graph, |_| async {}).paused().start().unwrap();
    store.depose();
    let told = log.clone();
    let stale = move |_| {
        told.add("stale");
        async {}
    };
    let lost = run.add_with(tidewheel::NewTask::new("late"), stale);
    assert!(matches!(lost, Err(Rejection::Unavailable(_))));
    until(|| wheel.trouble().is_none()).await;
    run.add("late", ["0"]).unwrap();
    run.add("later", ["late"]).unwrap();
    assert!(run.resume());
    assert_eq!(run.await.unwrap().succeeded().count(), 3);
    assert_eq!(log.len(), 0, "what was lost has no code any more");
}
