//! Nothing leaks, nothing hangs: cancelling at any moment, from any thread, and what is let go of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Gate, builder, millis, on_threads, seconds, settle};
use tidewheel::{Cancel, Graph, Shutdown, TaskError, Tidewheel};

/// Cancelling and dropping race with starting, running and ending, on real threads.
#[test]
fn submissions_can_be_cancelled_at_any_moment_from_any_thread() {
    on_threads(async {
        let wheel = Tidewheel::builder().slots(2).start();
        let ran = Arc::new(AtomicUsize::new(0));
        for round in 0..2000_usize {
            let count = ran.clone();
            let submission = wheel.submit((round % 100) as i32, async move {
                for _ in 0..round % 4 {
                    tokio::task::yield_now().await;
                }
                count.fetch_add(1, Ordering::SeqCst);
                round
            });
            let waiter = tokio::spawn(async move {
                for _ in 0..round % 7 {
                    tokio::task::yield_now().await;
                }
                match round % 3 {
                    0 => drop(submission),
                    1 => {
                        submission.cancel(Cancel::now());
                        match submission.await {
                            Ok(value) => assert_eq!(value, round),
                            Err(error) => {
                                assert!(matches!(error, TaskError::Cancelled(_)), "{error}")
                            }
                        }
                    }
                    _ => assert_eq!(submission.await.unwrap(), round),
                }
            });
            if round % 2 == 0 {
                waiter.await.unwrap();
            }
        }
        wheel.shutdown(Shutdown::drain()).await;
        let total = wheel.stats().total;
        assert_eq!((total.active, total.queued), (0, 0));
        assert_eq!(total.submitted, 2000);
        assert_eq!(total.completed + total.cancelled, 2000);
        wheel.check();
    });
}

#[test]
fn a_wheel_can_be_shut_down_at_any_moment_while_others_submit() {
    on_threads(async {
        for round in 0..50_u32 {
            let wheel = Tidewheel::builder().slots(2).start();
            let submitters: Vec<_> = (0..4)
                .map(|_| {
                    let wheel = wheel.clone();
                    tokio::spawn(async move {
                        for number in 0..50 {
                            match wheel.submit_normal(async move { number }).await {
                                Ok(value) => assert_eq!(value, number),
                                Err(TaskError::ShutDown | TaskError::Rejected(_)) => return,
                                Err(error) => panic!("{error}"),
                            }
                        }
                    })
                })
                .collect();
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            let mode = [Shutdown::drain(), Shutdown::reject(), Shutdown::persist()];
            wheel.shutdown(mode[round as usize % 3]).await;
            for submitter in submitters {
                submitter.await.unwrap();
            }
            assert_eq!(wheel.stats().total.active, 0);
        }
    });
}

/// What users give (futures, code, values) is let go of when nobody needs it any more.
#[tokio::test(start_paused = true)]
async fn everything_that_was_given_is_dropped_in_the_end() {
    let token = Arc::new(());
    let wheel = builder().start();
    let given = token.clone();
    wheel.submit_normal(async move { drop(given) }).await.unwrap();
    let given = token.clone();
    wheel
        .task(move || {
            let _given = &given;
            async { Err::<(), _>("no") }
        })
        .submit()
        .await
        .unwrap_err();
    let given = token.clone();
    let report = wheel
        .run(Graph::numbered(10, []).unwrap(), move |_| {
            let value = given.clone();
            async move { Ok::<_, String>(value) }
        })
        .await
        .unwrap();
    settle().await;
    assert_eq!(Arc::strong_count(&token), 11, "ten values in the report");
    drop(report);
    assert_eq!(Arc::strong_count(&token), 1);

    let given = token.clone();
    let ticker = wheel
        .every(seconds(1))
        .run(move || {
            let _given = &given;
            async {}
        })
        .unwrap();
    tokio::time::sleep(seconds(3)).await;
    ticker.cancel();
    settle().await;
    assert_eq!(Arc::strong_count(&token), 1);

    let (first, second) = (token.clone(), token.clone());
    wheel
        .every(seconds(1))
        .run(move || {
            let _given = &first;
            async {}
        })
        .unwrap();
    let run = wheel
        .run(Graph::numbered(1, []).unwrap(), move |_| {
            let _given = &second;
            async {}
        })
        .keep_open()
        .start()
        .unwrap();
    tokio::time::sleep(millis(2500)).await;
    drop(wheel);
    settle().await;
    assert!(run.is_ended(), "draining closes what was kept open");
    drop(run);
    settle().await;
    assert_eq!(Arc::strong_count(&token), 1);
}

/// A handle that goes out of scope does not turn a persisting shutdown into a draining one.
#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_does_not_undo_a_shutdown() {
    let wheel = builder().slots(1).start();
    let gate = Gate::closed();
    let running = wheel.submit_normal(gate.pass());
    let waiting = wheel.submit_normal(async { unreachable!("it was to be kept for later") });
    let shutdown = tokio::time::timeout(seconds(1), wheel.shutdown(Shutdown::persist())).await;
    assert!(shutdown.is_err());
    drop(wheel);
    gate.open();
    running.await.unwrap();
    let outcome: Result<(), TaskError> = waiting.await;
    assert!(matches!(outcome, Err(TaskError::ShutDown)), "{outcome:?}");
}

/// A context that outlives its attempt neither disturbs later attempts nor is told of their fate.
#[tokio::test(start_paused = true)]
async fn a_context_may_outlive_its_attempt() {
    let wheel = builder().slots(1).start();
    let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
    let contexts = kept.clone();
    let report = wheel
        .run(Graph::numbered(5, []).unwrap(), move |task| {
            contexts.lock().unwrap().push(task);
            async {}
        })
        .await
        .unwrap();
    assert!(report.is_success());
    let run = wheel
        .run(Graph::numbered(1, []).unwrap(), |_| std::future::pending::<()>())
        .start()
        .unwrap();
    settle().await;
    run.cancel(Cancel::now());
    run.await.unwrap();
    let kept = kept.lock().unwrap();
    let names: Vec<_> = kept.iter().map(|task| task.name().to_owned()).collect();
    assert_eq!(names, ["0", "1", "2", "3", "4"]);
    assert!(kept.iter().all(|task| !task.is_cancelled()));
    assert!(kept[0].run().is_ended());
}

#[tokio::test(start_paused = true)]
async fn a_wheel_that_keeps_nothing_tells_what_waits_that_it_will_not_run() {
    let wheel = builder().slots(1).start();
    let gate = Gate::closed();
    let running = wheel.submit_normal(gate.pass());
    let waiting = wheel.submit_normal(async {});
    let run = wheel.run(Graph::numbered(2, []).unwrap(), |_| async {}).start().unwrap();
    settle().await;
    let down = wheel.shutdown(Shutdown::persist());
    gate.open();
    down.await;
    running.await.unwrap();
    assert!(matches!(waiting.await, Err(TaskError::ShutDown)));
    // Where it is kept there is no report: it goes on elsewhere. Here it has ended, and says how.
    let report = run.await.unwrap();
    assert_eq!(report.cancelled().count(), 2);
}
