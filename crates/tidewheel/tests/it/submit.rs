//! Single submissions: order, bounds, counters, ageing, errors, and what dropping one does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Gate, Log, builder, millis, on_threads, seconds, settle};
use tidewheel::policy::Rate;
use tidewheel::task::Reason;
use tidewheel::{
    BuildError, Cancel, Permanent, Priority, Rejection, Shutdown, Submission, TaskError, Tidewheel,
};

/// CE-01.
#[tokio::test(start_paused = true)]
async fn never_more_run_than_there_are_slots() {
    let wheel = builder().slots(2).start();
    let (active, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let submissions: Vec<_> = (0..10)
        .map(|number| {
            let (active, most) = (active.clone(), most.clone());
            wheel.submit_normal(async move {
                most.fetch_max(active.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(millis(50)).await;
                active.fetch_sub(1, Ordering::SeqCst);
                number
            })
        })
        .collect();
    for (number, submission) in submissions.into_iter().enumerate() {
        assert_eq!(submission.await.unwrap(), number);
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
    wheel.check();
}

/// Tokio's timers go by whole milliseconds, so of these starts all but every third are woken up late.
#[tokio::test(start_paused = true)]
async fn a_rate_finer_than_the_timer_holds() {
    let rate = Rate::new(3_000, seconds(1)).unwrap().with_burst(1).unwrap();
    let wheel = builder().rate("api", rate).start();
    let begin = tokio::time::Instant::now();
    let starts: Vec<Submission<_>> = (0..6_001)
        .map(|_| {
            let start = move || async move { Ok::<_, TaskError>(begin.elapsed()) };
            wheel.task(start).limit("api").submit()
        })
        .collect();
    let mut before = [Duration::ZERO; 4];
    for start in starts {
        before.rotate_left(1);
        before[3] = start.await.unwrap();
        let apart = before[3] - before[0];
        assert!(before[0].is_zero() || !apart.is_zero(), "never more than three at a time");
    }
    assert_eq!(before[3], seconds(2), "two seconds for six thousand");
}

/// CE-02, CE-06 and CE-07: counters go by the submitted, clamped priority.
#[tokio::test]
async fn completed_tasks_are_counted_by_submitted_priority() {
    for (priorities, high, low) in [
        (&[50, 80, 20][..], 1, 1),
        (&[-10, 150, -50, 200], 2, 2),
        (&[74, 75, 80, 100], 3, 0),
        (&[0, 10, 24, 25], 0, 3),
    ] {
        let wheel = builder().slots(2).start();
        for &priority in priorities {
            wheel.submit(priority, async {}).await.unwrap();
        }
        let total = wheel.stats().total;
        assert_eq!(total.submitted, priorities.len() as u64);
        assert_eq!(total.completed, priorities.len() as u64);
        assert_eq!(total.high_priority_completed, high, "{priorities:?}");
        assert_eq!(total.low_priority_completed, low, "{priorities:?}");
    }
}

/// CE-03.
#[tokio::test]
async fn no_slots_at_all_is_an_argument_error() {
    let error = Tidewheel::builder().slots(0).try_start().unwrap_err();
    assert!(matches!(error, BuildError::Setting(_)), "{error}");
    let wheel = builder().start();
    assert!(wheel.set_slots(0).is_err());
    let panic = std::panic::catch_unwind(|| Tidewheel::builder().slots(0).start()).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("at least one slot"), "{text}");
}

#[test]
fn without_a_runtime_there_is_an_error() {
    assert!(matches!(Tidewheel::builder().try_start(), Err(BuildError::NoRuntime)));
}

fn queue_up(wheel: &Tidewheel, log: &Log, priorities: &[i32]) -> Vec<Submission<()>> {
    let submit = |(number, &priority): (usize, &i32)| {
        let log = log.clone();
        wheel.submit(priority, async move { log.add(format!("{priority}#{number}")) })
    };
    priorities.iter().enumerate().map(submit).collect()
}

/// CE-04 and CE-05.
#[tokio::test(start_paused = true)]
async fn higher_priority_first_and_equal_ones_in_order() {
    let wheel = builder().slots(1).start();
    let log = Log::default();
    let blocker = wheel.submit_normal(tokio::time::sleep(millis(200)));
    let waiting = queue_up(&wheel, &log, &[20, 50, 80, 50, 50]);
    blocker.await.unwrap();
    for submission in waiting {
        submission.await.unwrap();
    }
    assert_eq!(log.take(), ["80#2", "50#1", "50#3", "50#4", "20#0"]);
}

/// CE-08, CE-09 and CE-10.
#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_with_its_size_and_accepts_again_when_drained() {
    let wheel = builder().slots(1).queue_capacity(2).start();
    let blocker = wheel.submit_normal(tokio::time::sleep(millis(200)));
    let first = wheel.submit_normal(async {});
    let second = wheel.submit_normal(async {});
    let refused = wheel.submit_normal(async {});
    assert!(matches!(refused.rejection(), Some(Rejection::QueueFull { current: 2, max: 2, .. })));
    let error = refused.await.unwrap_err();
    assert!(error.to_string().contains("(2/2)"), "{error}");
    assert_eq!(wheel.stats().total.rejected, 1);
    blocker.await.unwrap();
    first.await.unwrap();
    second.await.unwrap();
    wheel.submit_normal(async {}).await.unwrap();

    let wheel = builder().slots(1).queue_capacity(0).start();
    let gate = Gate::closed();
    let blocker = wheel.submit_normal(gate.pass());
    let waiting: Vec<_> = (0..20).map(|_| wheel.submit_normal(async {})).collect();
    assert!(waiting.iter().all(|submission| submission.rejection().is_none()));
    gate.open();
    for submission in waiting {
        submission.await.unwrap();
    }
    blocker.await.unwrap();
}

/// CE-11.
#[tokio::test]
async fn failing_tasks_leak_no_slots_and_errors_pass_through() {
    let wheel = builder().slots(2).start();
    for number in 0..10 {
        let result: Result<(), std::io::Error> = wheel
            .submit_normal(async move { Err(std::io::Error::other(number.to_string())) })
            .await
            .unwrap();
        assert_eq!(result.unwrap_err().to_string(), number.to_string());
        let failed = wheel.submit_fallible(50, async move { Err::<(), _>(format!("no {number}")) });
        assert_eq!(failed.await.unwrap_err().to_string(), format!("no {number}"));
    }
    for number in 0..5 {
        assert_eq!(wheel.submit_normal(async move { number }).await.unwrap(), number);
    }
    let total = wheel.stats().total;
    assert_eq!((total.active, total.queued, total.completed, total.failed), (0, 0, 25, 10));
    wheel.check();
}

/// CE-12 and CE-13, on real threads.
#[test]
fn concurrent_submitters_get_each_result_once() {
    on_threads(async {
        let wheel = builder().slots(4).start();
        let submitters: Vec<_> = (0..100)
            .map(|number| {
                let wheel = wheel.clone();
                tokio::spawn(async move { wheel.submit(number % 100, async move { number }).await })
            })
            .collect();
        for (number, submitter) in submitters.into_iter().enumerate() {
            assert_eq!(submitter.await.unwrap().unwrap() as usize, number);
        }
        let total = wheel.stats().total;
        assert_eq!((total.submitted, total.completed), (100, 100));

        let wheel = builder().slots(4).start();
        let submissions: Vec<_> = (0..200)
            .map(|number| wheel.submit([90, 50, 20, 0][number % 4], tokio::task::yield_now()))
            .collect();
        for submission in submissions {
            submission.await.unwrap();
        }
        let total = wheel.stats().total;
        assert_eq!((total.high_priority_completed, total.low_priority_completed), (50, 100));
        assert_eq!(total.completed, 200);
        wheel.check();
    });
}

/// CE-14.
#[tokio::test]
async fn two_users_of_one_wheel_share_its_counters() {
    let wheel = builder().slots(2).start();
    let other = wheel.clone();
    for each in 1..=5 {
        wheel.submit(Priority::LOW, async {}).await.unwrap();
        other.submit(Priority::HIGH, async {}).await.unwrap();
        for user in [&wheel, &other] {
            let total = user.stats().total;
            assert_eq!((total.submitted, total.completed), (2 * each, 2 * each));
            let by_priority = (total.high_priority_completed, total.low_priority_completed);
            assert_eq!(by_priority, (each, each));
        }
    }
    // What one of them does the other sees, and not only when it is over.
    let gate = Gate::closed();
    let running = other.submit_normal(gate.pass());
    settle().await;
    assert_eq!((wheel.stats().total.active, other.stats().total.active), (1, 1));
    gate.open();
    running.await.unwrap();
    assert_eq!((wheel.stats().total.active, other.stats().total.active), (0, 0));
}

/// CE-15 and CE-21: waiting counts, and the setting has an effect.
#[tokio::test(start_paused = true)]
async fn waiting_raises_priority_at_the_rate_that_was_set() {
    let mut promotions = Vec::new();
    for timeout in [10, 30, 60] {
        let wheel = builder().slots(1).starvation_timeout(seconds(timeout)).start();
        let gate = Gate::closed();
        let blocker = wheel.submit(100, gate.pass());
        let low = wheel.submit(0, async {});
        tokio::time::sleep(seconds(12)).await;
        promotions.push(wheel.stats().total.promotions);
        gate.open();
        blocker.await.unwrap();
        low.await.unwrap();
    }
    assert_eq!(promotions, [7, 2, 1]);
}

/// CE-16: the table at 30 s, as explained.
#[tokio::test(start_paused = true)]
async fn the_ageing_table_of_the_seed_holds() {
    let wheel = builder().slots(1).start();
    let gate = Gate::closed();
    let _blocker = wheel.submit(100, gate.pass());
    let log = Log::default();
    let (first, second, third) = (log.clone(), log.clone(), log.clone());
    let zero = wheel.submit(0, async move { first.add("zero") });
    let low = wheel.submit(20, async move { second.add("low") });
    let effective = |submission: &Submission<()>| {
        wheel.explain(submission).unwrap().facts.place.unwrap().effective
    };
    let mut passed = 0;
    for (after, from_zero, from_low) in [
        (5, 10, 30),
        (7, 10, 30),
        (10, 20, 40),
        (25, 50, 70),
        (30, 60, 80),
        (50, 100, 100),
        (60, 100, 100),
    ] {
        tokio::time::sleep(seconds(after - passed)).await;
        passed = after;
        assert_eq!((effective(&zero), effective(&low)), (from_zero, from_low), "after {after} s");
    }
    // Aged to the top it has overtaken what comes now.
    let fresh = wheel.submit(99, async move { third.add("fresh") });
    gate.open();
    zero.await.unwrap();
    low.await.unwrap();
    fresh.await.unwrap();
    assert_eq!(log.take(), ["zero", "low", "fresh"]);
}

/// CE-17.
#[tokio::test]
async fn shutting_down_twice_is_harmless_and_nothing_is_accepted_after() {
    let wheel = builder().slots(1).start();
    wheel.shutdown(Shutdown::drain()).await;
    wheel.shutdown(Shutdown::drain()).await;
    wheel.shutdown(Shutdown::reject()).await;
    let error = wheel.submit_normal(async {}).await.unwrap_err();
    assert!(matches!(error, TaskError::Rejected(Rejection::ShuttingDown)));
    assert!(error.to_string().contains("shutting down"));
}

/// CE-18.
#[tokio::test(start_paused = true)]
async fn a_waiting_task_whose_caller_is_gone_frees_its_place() {
    let wheel = builder().slots(1).queue_capacity(1).start();
    let gate = Gate::closed();
    let log = Log::default();
    let blocker = wheel.submit_normal(gate.pass());
    let dropped = {
        let log = log.clone();
        wheel.submit_normal(async move { log.add("dropped ran") })
    };
    assert!(wheel.submit_normal(async {}).rejection().is_some());
    drop(dropped);
    let timed_out = {
        let log = log.clone();
        let waiting = wheel.submit_normal(async move { log.add("timed out ran") });
        tokio::time::timeout(seconds(1), waiting).await
    };
    assert!(timed_out.is_err());
    let next = wheel.submit_normal(async { 7 });
    assert!(next.rejection().is_none());
    gate.open();
    blocker.await.unwrap();
    assert_eq!(next.await.unwrap(), 7);
    assert_eq!(log.take(), Vec::<String>::new());
    let total = wheel.stats().total;
    assert_eq!((total.active, total.queued, total.cancelled), (0, 0, 2));
    wheel.check();
}

/// CE-20.
#[test]
fn many_submitters_at_once_never_exceed_the_capacity() {
    on_threads(async {
        let wheel = builder().slots(1).queue_capacity(5).start();
        let gate = Gate::closed();
        let blocker = wheel.submit_normal(gate.pass());
        let threads: Vec<_> = (0..50)
            .map(|_| {
                let wheel = wheel.clone();
                std::thread::spawn(move || wheel.submit_normal(async {}))
            })
            .collect();
        let submissions: Vec<_> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(wheel.stats().total.queued, 5);
        let accepted = submissions.iter().filter(|submission| submission.rejection().is_none());
        assert_eq!(accepted.count(), 5);
        gate.open();
        blocker.await.unwrap();
        wheel.check();
    });
}

/// CE-22, for each way to shut down.
#[tokio::test(start_paused = true)]
async fn every_waiter_gets_a_definite_outcome_at_shutdown() {
    for (shutdown, all_run) in [
        (Shutdown::drain(), true),
        (Shutdown::reject(), false),
        (Shutdown::persist(), false),
        (Shutdown::reject().after(millis(10)), false),
    ] {
        let wheel = builder().slots(1).start();
        let running = wheel.submit_normal(tokio::time::sleep(seconds(1)));
        let waiting: Vec<_> =
            (0..3).map(|number| wheel.submit_normal(async move { number })).collect();
        wheel.shutdown(shutdown).await;
        for (number, submission) in waiting.into_iter().enumerate() {
            match submission.await {
                Ok(value) => assert!(all_run && value == number),
                Err(TaskError::ShutDown) => assert!(!all_run),
                Err(error) => panic!("{error}"),
            }
        }
        let forced = shutdown == Shutdown::reject().after(millis(10));
        assert_eq!(running.await.is_ok(), !forced);
        assert_eq!(wheel.stats().total.active, 0);
    }
}

#[tokio::test]
async fn a_submission_is_sent_before_it_is_awaited() {
    let wheel = builder().start();
    let log = Log::default();
    let inner = log.clone();
    let submission = wheel.submit_normal(async move { inner.add("ran") });
    settle().await;
    assert_eq!(log.take(), ["ran"]);
    submission.await.unwrap();
}

#[tokio::test]
async fn detached_tasks_go_on_and_dropped_running_ones_are_stopped() {
    struct OnDrop(Log);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.add("future dropped");
        }
    }
    let wheel = builder().start();
    let (gate, log) = (Gate::closed(), Log::default());
    let (inner, pass) = (log.clone(), gate.pass());
    wheel
        .submit_normal(async move {
            pass.await;
            inner.add("detached ran")
        })
        .detach();
    let (guard, pass) = (OnDrop(log.clone()), gate.pass());
    let running = wheel.submit_normal(async move {
        let _guard = guard;
        pass.await
    });
    settle().await;
    drop(running);
    settle().await;
    assert_eq!(log.take(), ["future dropped"]);
    gate.open();
    settle().await;
    assert_eq!(log.take(), ["detached ran"]);
    assert_eq!(wheel.stats().total.active, 0);
    wheel.check();
}

#[tokio::test]
async fn panics_are_caught_and_told() {
    let wheel = builder().slots(1).start();
    let error =
        wheel.submit_normal(async { panic!("oh no {}", 1) }).await.map(|(): ()| ()).unwrap_err();
    assert!(matches!(&error, TaskError::Panicked(text) if &**text == "oh no 1"), "{error}");
    let factory = wheel.task(|| -> std::future::Ready<Result<(), String>> { panic!("no future") });
    let error = factory.submit().await.unwrap_err();
    assert!(matches!(&error, TaskError::Panicked(text) if &**text == "no future"), "{error}");
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("drop");
        }
    }
    let bomb = Bomb;
    wheel
        .submit_normal(async move {
            let _bomb = &bomb;
        })
        .await
        .ok();
    let error = wheel
        .submit_normal(async { std::panic::panic_any(Bomb) })
        .await
        .map(|(): ()| ())
        .unwrap_err();
    assert!(matches!(error, TaskError::Panicked(_)));
    assert_eq!(wheel.submit_normal(async { 1 }).await.unwrap(), 1);
    assert_eq!(wheel.stats().total.active, 0);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn retries_timeouts_and_permanent_errors() {
    let wheel = builder().start();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let value = wheel
        .task(move || {
            let call = count.fetch_add(1, Ordering::SeqCst);
            async move { if call < 2 { Err("not yet") } else { Ok(call) } }
        })
        .retries(2)
        .base_delay(millis(100))
        .submit()
        .await
        .unwrap();
    assert_eq!((value, calls.load(Ordering::SeqCst)), (2, 3));

    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let error = wheel
        .task(move || {
            count.fetch_add(1, Ordering::SeqCst);
            async { Err::<(), _>(Permanent::new("gone")) }
        })
        .retries(5)
        .submit()
        .await
        .unwrap_err();
    assert_eq!((error.to_string(), calls.load(Ordering::SeqCst)), ("gone".into(), 1));

    let started = tokio::time::Instant::now();
    let error = wheel
        .task(|| async { std::future::pending::<Result<(), String>>().await })
        .retries(2)
        .base_delay(millis(0))
        .attempt_timeout(seconds(3))
        .submit()
        .await
        .unwrap_err();
    assert!(matches!(error, TaskError::TimedOut(Reason::AttemptTimeout)), "{error}");
    assert_eq!(started.elapsed().as_secs(), 9);

    let started = tokio::time::Instant::now();
    let error = wheel
        .task(|| async { std::future::pending::<Result<(), String>>().await })
        .retries(100)
        .attempt_timeout(seconds(3))
        .task_timeout(seconds(5))
        .submit()
        .await
        .unwrap_err();
    assert!(matches!(error, TaskError::TimedOut(Reason::TaskTimeout)), "{error}");
    assert_eq!(started.elapsed().as_secs(), 5);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_submission_tells_its_waiter_and_honours_the_grace() {
    let wheel = builder().start();
    let stubborn = wheel.submit_normal(std::future::pending::<()>());
    settle().await;
    stubborn.cancel(Cancel::after(seconds(2)));
    let started = tokio::time::Instant::now();
    assert!(matches!(stubborn.await, Err(TaskError::Cancelled(Reason::Requested))));
    assert_eq!(started.elapsed(), seconds(2));

    let polite = wheel.task_with(|attempt| async move {
        attempt.cancelled().await;
        assert_eq!(attempt.stop_reason(), Some(Reason::Requested));
        Err::<(), _>("stopped")
    });
    let polite = polite.submit();
    settle().await;
    polite.cancel(Cancel::after(seconds(1000)));
    let started = tokio::time::Instant::now();
    assert!(matches!(polite.await, Err(TaskError::Cancelled(Reason::Requested))));
    assert_eq!(started.elapsed(), seconds(0));
    wheel.check();
}

/// A request to stop that comes before the future was ever polled is not lost.
#[tokio::test(start_paused = true)]
async fn an_early_stop_is_remembered() {
    let wheel = builder().start();
    for _ in 0..3 {
        let submission = wheel.submit_normal(std::future::pending::<()>());
        submission.cancel(Cancel::now());
        assert!(matches!(submission.await, Err(TaskError::Cancelled(_))));
    }
    assert_eq!(wheel.stats().total.active, 0);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn tasks_of_one_key_run_one_at_a_time_in_order() {
    let wheel = builder().start();
    let log = Log::default();
    let submissions: Vec<_> = (0..4)
        .map(|number| {
            let log = log.clone();
            let request = wheel.task(move || {
                let log = log.clone();
                async move {
                    log.add(format!("start {number}"));
                    tokio::time::sleep(millis(10)).await;
                    log.add(format!("end {number}"));
                    Ok::<_, String>(())
                }
            });
            request.key("user-7").submit()
        })
        .collect();
    for submission in submissions {
        submission.await.unwrap();
    }
    let expected: Vec<_> =
        (0..4).flat_map(|n| [format!("start {n}"), format!("end {n}")]).collect();
    assert_eq!(log.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn tasks_that_end_after_their_deadline_are_counted() {
    let wheel = builder().start();
    for deadline in [1, 3] {
        let request = wheel.task(|| async {
            tokio::time::sleep(seconds(2)).await;
            Ok::<_, String>(())
        });
        request.deadline(seconds(deadline)).submit().await.unwrap();
    }
    assert_eq!(wheel.stats().total.late, 1);
}

#[test]
fn a_wheel_can_be_used_from_plain_threads_and_other_runtimes() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let wheel = Tidewheel::builder().runtime(runtime.handle().clone()).start();
    let submissions: Vec<_> = (0..4)
        .map(|number| {
            let wheel = wheel.clone();
            std::thread::spawn(move || wheel.submit_normal(async move { number })).join().unwrap()
        })
        .collect();
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (number, submission) in submissions.into_iter().enumerate() {
        assert_eq!(other.block_on(submission).unwrap(), number);
    }
}

/// Nobody hangs when the runtime that runs the tasks goes away.
#[test]
fn when_the_runtime_ends_waiters_are_told() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let wheel = Tidewheel::builder().slots(1).runtime(runtime.handle().clone()).start();
    let running = wheel.submit_normal(std::future::pending::<()>());
    let waiting: Vec<_> = (0..1000).map(|_| wheel.submit_normal(async {})).collect();
    runtime.shutdown_background();
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(matches!(other.block_on(running), Err(TaskError::Lost(_))));
    for submission in waiting {
        assert!(matches!(other.block_on(submission), Err(TaskError::Lost(_))));
    }
    assert!(wheel.submit_normal(async {}).rejection().is_some());
}

/// Even if nothing of the wheel had its first turn yet.
#[test]
fn when_the_runtime_ends_before_anything_ran_waiters_are_told() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let wheel = Tidewheel::builder().slots(1).runtime(runtime.handle().clone()).start();
    let submissions: Vec<_> = (0..3).map(|_| wheel.submit_normal(async {})).collect();
    drop(runtime);
    let late = Tidewheel::builder().slots(1);
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for submission in submissions {
        assert!(matches!(other.block_on(submission), Err(TaskError::Lost(_))));
    }
    let gone = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let wheel = late.runtime(gone.handle().clone());
    drop(gone);
    let wheel = wheel.start();
    let refused = other.block_on(wheel.submit_normal(async {}));
    assert!(refused.is_err());
    other.block_on(wheel.shutdown(Shutdown::drain()));
}

/// Code of users may call the wheel from anywhere, also from where futures and values are dropped.
#[tokio::test]
async fn the_wheel_can_be_called_from_drops_and_wakers() {
    struct Nested(Tidewheel, Log);
    impl Drop for Nested {
        fn drop(&mut self) {
            let log = self.1.clone();
            self.0.submit_normal(async move { log.add("from drop") }).detach();
            let _ = self.0.stats();
        }
    }
    let wheel = builder().slots(1).start();
    let (gate, log) = (Gate::closed(), Log::default());
    let blocker = wheel.submit_normal(gate.pass());
    let nested = Nested(wheel.clone(), log.clone());
    let abandoned = wheel.submit_normal(async move { drop(nested) });
    drop(abandoned);
    let nested = Nested(wheel.clone(), log.clone());
    let value = wheel.submit_normal(async move { nested });
    gate.open();
    blocker.await.unwrap();
    drop(value.await.unwrap());
    settle().await;
    assert_eq!(log.take(), ["from drop", "from drop"]);
    wheel.check();
}

#[tokio::test]
async fn dropping_the_last_handle_drains() {
    let (gate, log) = (Gate::closed(), Log::default());
    let wheel = builder().slots(1).start();
    let pass = gate.pass();
    wheel.submit_normal(pass).detach();
    let inner = log.clone();
    let second = wheel.submit_normal(async move { inner.add("second ran") });
    wheel.pause();
    let handle_from_task = wheel.clone();
    drop(wheel);
    drop(handle_from_task);
    gate.open();
    second.await.unwrap();
    assert_eq!(log.take(), ["second ran"]);
}

#[tokio::test(start_paused = true)]
async fn pausing_starts_nothing_and_resuming_everything() {
    let wheel = builder().start();
    wheel.pause();
    assert!(wheel.stats().paused);
    let submission = wheel.submit_normal(async { 3 });
    tokio::time::sleep(millis(50)).await;
    assert_eq!(wheel.stats().total.queued, 1);
    let why = wheel.explain(&submission).unwrap().to_string();
    assert!(why.contains("the scheduler is paused"), "{why}");
    wheel.resume();
    assert_eq!(submission.await.unwrap(), 3);
}

/// Thousands of tasks that are ready at once do not starve the other tasks of the runtime.
#[tokio::test]
async fn inline_work_gives_others_a_turn() {
    const TASKS: usize = 10_000;
    /// What a worker does at the most, on a runtime of one thread, before it lets others have a turn.
    const INLINE_MAX: usize = 1_024;
    let wheel = builder().slots(1).start();
    let done = Arc::new(AtomicUsize::new(0));
    let gate = Gate::closed();
    wheel.submit_normal(gate.pass()).detach();
    for _ in 0..TASKS {
        let done = done.clone();
        wheel
            .submit_normal(async move {
                done.fetch_add(1, Ordering::Relaxed);
            })
            .detach();
    }
    gate.open();
    // Another task, which is this one: what it finds done at each of its turns.
    let mut seen = vec![0];
    while done.load(Ordering::Relaxed) < TASKS {
        tokio::task::yield_now().await;
        seen.push(done.load(Ordering::Relaxed));
    }
    let longest = seen.windows(2).map(|turn| turn[1] - turn[0]).max();
    assert!(longest.is_some_and(|tasks| tasks <= INLINE_MAX), "{longest:?} tasks without a turn");
}
