//! Runs of graphs: order, failures, retries, steering, live changes, values, reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Gate, Log, builder, millis, on_threads, seconds, settle};
use tidewheel::policy::{Jitter, OnStop};
use tidewheel::run::{NoInput, RunResult};
use tidewheel::task::Reason;
use tidewheel::{
    Cancel, Graph, GraphError, NewTask, OnError, Plan, Priority, Rejection, Retry, Run, RunError,
    RunReport, Shutdown, Task, TaskOptions, TaskState, Tidewheel,
};

fn chain() -> Graph {
    Graph::from_edges([("a", "b"), ("b", "c")]).unwrap()
}

fn diamond() -> Graph {
    Graph::from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]).unwrap()
}

fn names<'a>(lines: impl Iterator<Item = tidewheel::run::TaskLine<'a>>) -> Vec<String> {
    lines.map(|line| line.name()).collect()
}

async fn never(task: Task) {
    panic!("{task:?} should not run");
}

/// RK-22: whatever happened, every task is counted once, in a final state, with a reason.
fn check_report(wheel: &Tidewheel, report: &RunReport) {
    let counts = report.counts();
    assert_eq!(counts.total() as usize, report.len());
    assert_eq!(counts.ended(), counts.total());
    let lists = report.succeeded().count()
        + report.failed().count()
        + report.skipped().count()
        + report.cancelled().count()
        + report.unknown().count();
    assert_eq!(lists, report.len());
    for line in report.tasks() {
        assert!(
            line.state() == TaskState::Succeeded || line.reason() != Reason::Ordinary,
            "{line}"
        );
        if line.state() == TaskState::Failed {
            assert!(!line.error().unwrap().is_empty());
        }
    }
    wheel.check();
}

fn logging(log: &Log) -> impl Fn(Task) -> std::future::Ready<()> + Send + Sync + 'static {
    let log = log.clone();
    move |task| {
        log.add(task.name());
        std::future::ready(())
    }
}

/// RK-01.
#[tokio::test]
async fn a_chain_runs_in_order() {
    let (wheel, log) = (builder().start(), Log::default());
    let report = wheel.run(chain(), logging(&log)).concurrency(1).await.unwrap();
    assert!(report.is_success());
    assert_eq!(log.take(), ["a", "b", "c"]);
    assert_eq!(names(report.succeeded()), ["a", "b", "c"]);
    check_report(&wheel, &report);
}

/// RK-02 and CE-19: what waits for others holds no slot.
#[tokio::test(start_paused = true)]
async fn a_diamond_runs_its_middle_together() {
    let (wheel, log) = (builder().slots(2).start(), Log::default());
    let inner = log.clone();
    let report = wheel
        .run(diamond(), move |task| {
            let log = inner.clone();
            async move {
                log.add(task.name());
                tokio::time::sleep(millis(10)).await;
            }
        })
        .concurrency(2)
        .configure(|name| TaskOptions::new().priority(if name == "d" { 100 } else { 0 }))
        .await
        .unwrap();
    let order = log.take();
    assert_eq!((&*order[0], &*order[3]), ("a", "d"));
    assert_eq!(report.elapsed(), millis(30));
    let b = report.task("b").unwrap();
    assert_eq!(b.started_after(), Some(millis(10)));
    assert_eq!(b.elapsed(), Some(millis(10)));
    check_report(&wheel, &report);
}

/// RK-03 and RK-09.
#[tokio::test]
async fn parts_of_a_graph_and_what_was_done_before() {
    let (wheel, log) = (builder().start(), Log::default());
    let report = wheel.run(chain(), logging(&log)).only(["b", "c"]).await.unwrap();
    assert_eq!(log.take(), ["b", "c"]);
    assert_eq!(report.len(), 2);

    let report = wheel.run(chain(), logging(&log)).already_done(["a"]).await.unwrap();
    assert_eq!(log.take(), ["b", "c"]);
    assert_eq!(report.len(), 3);
    assert_eq!(report.task("a").unwrap().reason(), Reason::AlreadyDone);
    check_report(&wheel, &report);

    let report = wheel.run(chain(), logging(&log)).already_done(["a", "b", "c"]).await.unwrap();
    assert!(report.is_success());
    assert_eq!(log.len(), 0);

    for refused in [
        wheel.run(chain(), logging(&log)).only(["x"]).start(),
        wheel.run(chain(), logging(&log)).already_done(["x"]).start(),
    ] {
        assert!(refused.unwrap_err().to_string().contains("no task `x`"));
    }
}

/// RK-04.
#[tokio::test]
async fn after_a_failure_dependents_are_skipped_with_the_cause_and_others_go_on() {
    let wheel = builder().start();
    let graph = Graph::from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("a", "z")]).unwrap();
    let report = wheel
        .run(
            graph,
            |task| async move { if task.name() == "b" { Err("disk full") } else { Ok(()) } },
        )
        .await
        .unwrap();
    assert!(!report.is_success());
    assert_eq!(report.result(), RunResult::Failed);
    assert_eq!(names(report.succeeded()), ["a", "z"]);
    assert_eq!(names(report.failed()), ["b"]);
    assert_eq!(names(report.skipped()), ["c", "d"]);
    assert_eq!(report.task("b").unwrap().error().as_deref(), Some("disk full"));
    for skipped in ["c", "d"] {
        assert_eq!(report.task(skipped).unwrap().cause().as_deref(), Some("b"));
        assert_eq!(wheel.explain(report.task(skipped)).unwrap().cause.as_deref(), Some("b"));
    }
    assert_eq!(report.task("d").unwrap().to_string(), "`d` skipped: dependency-skipped `c`");
    let why = wheel.explain(report.task("c")).unwrap().to_string();
    assert!(why.contains("skipped") && why.contains("`b`"), "{why}");
    assert!(wheel.explain(report.task("nobody")).is_err());
    assert_eq!(report.task("b").unwrap().to_string(), "`b` failed: disk full");
    check_report(&wheel, &report);
}

/// RK-05.
#[tokio::test(start_paused = true)]
async fn independent_tasks_overlap() {
    let wheel = builder().start();
    let graph = Graph::numbered(5, []).unwrap();
    let report = wheel.run(graph, |_| tokio::time::sleep(millis(10))).concurrency(5).await.unwrap();
    assert_eq!((report.counts().of(TaskState::Succeeded), report.elapsed()), (5, millis(10)));
}

#[tokio::test(start_paused = true)]
async fn five_tasks_run_at_once_unless_something_else_is_said() {
    let wheel = builder().start();
    let graph = Arc::new(Graph::numbered(20, []).unwrap());
    let wait = |_| tokio::time::sleep(millis(10));
    assert_eq!(wheel.run(graph.clone(), wait).await.unwrap().elapsed(), millis(40));
    let all = wheel.run(graph.clone(), wait).concurrency(None).await.unwrap();
    assert_eq!(all.elapsed(), millis(10));
    let refused = wheel.run(graph, wait).concurrency(0).await.unwrap_err();
    assert!(matches!(refused, RunError::Rejected(Rejection::Invalid(_))), "{refused}");
}

/// RK-06.
#[tokio::test]
async fn an_empty_graph_is_an_empty_success() {
    let wheel = builder().start();
    let graph = Graph::numbered(0, []).unwrap();
    let report = wheel.run(graph, never).await.unwrap();
    assert!(report.is_success() && report.is_empty());
    assert_eq!(report.to_string(), "succeeded: no tasks");
}

/// RK-08 and RK-20: pausing is exact, whoever is idle.
#[tokio::test(start_paused = true)]
async fn a_paused_run_starts_nothing_until_it_is_resumed() {
    let (wheel, log) = (builder().start(), Log::default());
    let inner = log.clone();
    let graph = Graph::numbered(4, [(0, 1), (0, 2)]).unwrap();
    let run = wheel
        .run(graph, move |task| {
            let log = inner.clone();
            async move {
                log.add(task.name());
                tokio::time::sleep(millis(10)).await;
            }
        })
        .paused()
        .start()
        .unwrap();
    tokio::time::sleep(millis(50)).await;
    assert_eq!(log.len(), 0);
    let why = wheel.explain(run.task("0")).unwrap().to_string();
    assert!(why.contains("the run is paused"), "{why}");
    assert!(run.resume());
    settle().await;
    assert_eq!(log.len(), 2);
    assert!(run.pause());
    tokio::time::sleep(seconds(5)).await;
    assert_eq!(log.len(), 2);
    assert_eq!(run.counts().of(TaskState::Ready), 2);
    run.resume();
    let report = run.clone().await.unwrap();
    assert_eq!(log.len(), 4);
    assert!(!run.pause() && !run.resume() && !run.cancel(Cancel::now()) && run.is_ended());
    assert_eq!(run.counts(), report.counts());
    check_report(&wheel, &report);
}

fn fails_times(
    times: usize,
) -> (Arc<AtomicUsize>, impl Fn(Task) -> std::future::Ready<Result<(), String>> + Send + Sync) {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let code = move |task: Task| {
        if task.name() != "b" {
            return std::future::ready(Ok(()));
        }
        let call = count.fetch_add(1, Ordering::SeqCst);
        assert_eq!(task.attempt() as usize, call + 1);
        std::future::ready(if call < times { Err(format!("failure {call}")) } else { Ok(()) })
    };
    (calls, code)
}

/// RK-10 and RK-11.
#[tokio::test(start_paused = true)]
async fn retries_are_extra_attempts_and_dependents_follow_a_late_success() {
    let wheel = builder().start();
    for (times, retries, attempts, succeeds) in
        [(1, 2, 2, true), (9, 2, 3, false), (9, 0, 1, false)]
    {
        let (calls, code) = fails_times(times);
        let run = wheel.run(chain(), code).retries(retries).base_delay(millis(10));
        let report = run.await.unwrap();
        assert_eq!(report.is_success(), succeeds);
        assert_eq!(calls.load(Ordering::SeqCst), attempts);
        assert_eq!(report.task("b").unwrap().attempts() as usize, attempts);
        assert_eq!(report.task("c").unwrap().state() == TaskState::Succeeded, succeeds);
        if succeeds {
            let b = report.task("b").unwrap();
            assert_eq!(b.error().as_deref(), Some("failure 0"));
            assert_eq!(
                (b.to_string(), wheel.explain(b).unwrap().to_string()),
                ("`b` succeeded".into(), "`b` is succeeded".into())
            );
        }
        check_report(&wheel, &report);
    }
}

/// RK-18 at this level: the waits follow the policy, and no slot is held meanwhile.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_retry_holds_no_slot() {
    let (wheel, log) = (builder().slots(1).start(), Log::default());
    let inner = log.clone();
    let graph = Graph::numbered(2, []).unwrap();
    let retry = Retry { jitter: Jitter::None, ..Retry::times(1) };
    let report = wheel
        .run(graph, move |task| {
            inner.add(format!("{}.{}", task.name(), task.attempt()));
            let fails = task.name() == "0" && task.attempt() == 1;
            async move { if fails { Err("once") } else { Ok(()) } }
        })
        .retry(retry)
        .await
        .unwrap();
    assert_eq!(log.take(), ["0.1", "1.1", "0.2"]);
    assert_eq!(report.elapsed(), seconds(1));
    assert_eq!(wheel.stats().total.retried, 1);
}

/// RK-12.
#[tokio::test(start_paused = true)]
async fn tasks_are_added_whatever_the_state_of_what_they_need() {
    let (wheel, log) = (builder().start(), Log::default());
    let gate = Gate::closed();
    let (inner, held) = (log.clone(), gate.clone());
    let graph = Graph::from_edges([("done", "pending"), ("failed", "skipped")]).unwrap();
    let run = wheel
        .run(graph, move |task| {
            let (log, pass) = (inner.clone(), held.pass());
            async move {
                log.add(task.name());
                match task.name() {
                    "failed" => return Err("no"),
                    "pending" => pass.await,
                    _ => {}
                }
                Ok(())
            }
        })
        .start()
        .unwrap();
    settle().await;
    log.take();
    run.add("free", [""; 0]).unwrap();
    run.add("after done", ["done"]).unwrap();
    settle().await;
    assert_eq!(log.take(), ["free", "after done"]);
    run.add("after pending", ["pending"]).unwrap();
    run.add("after failed", ["failed"]).unwrap();
    run.add("after skipped", ["skipped"]).unwrap();
    let unknown = run.add("after unknown", ["nobody"]).unwrap_err();
    assert!(unknown.to_string().contains("`nobody`"), "{unknown}");
    run.add_task(NewTask::new("lenient").after(["nobody"]).ignore_unknown()).unwrap();
    assert!(matches!(run.add("free", [""; 0]), Err(Rejection::DuplicateTask(_))));
    settle().await;
    assert_eq!(log.take(), ["lenient"]);
    gate.open();
    let report = run.clone().await.unwrap();
    assert_eq!(log.take(), ["after pending"]);
    for name in ["after failed", "after skipped", "skipped"] {
        assert_eq!(report.task(name).unwrap().state(), TaskState::Skipped, "{name}");
    }
    assert_eq!(report.len(), 10);
    assert!(matches!(run.add("too late", [""; 0]), Err(Rejection::Gone(_))));
    check_report(&wheel, &report);
}

/// RK-13, and added work uses all the concurrency there is.
#[tokio::test(start_paused = true)]
async fn a_task_can_add_tasks_to_its_own_run() {
    let wheel = builder().start();
    let graph = Graph::numbered(1, []).unwrap();
    let report = wheel
        .run(graph, |task| async move {
            if task.name() == "0" {
                for number in 0..6 {
                    let code = move |task: Task| async move {
                        tokio::time::sleep(millis(10)).await;
                        Ok::<_, String>(format!("{} by own code", task.name()))
                    };
                    task.run().add_with(NewTask::new(format!("own {number}")), code).unwrap();
                    task.run().add(&format!("same {number}"), [format!("own {number}")]).unwrap();
                }
                assert!(task.run().add("0", [""; 0]).is_err());
            }
        })
        .concurrency(6)
        .await
        .unwrap();
    assert_eq!(report.len(), 13);
    assert!(report.is_success());
    assert_eq!(report.elapsed(), millis(10));
    assert_eq!(*report.value::<String>("own 3").unwrap(), "own 3 by own code");
    check_report(&wheel, &report);
}

/// RK-14 and RK-21.
#[tokio::test(start_paused = true)]
async fn the_value_of_a_removed_task_is_nobodys() {
    let (wheel, gate) = (builder().start(), Gate::closed());
    let held = gate.clone();
    let code = move |_: Task| {
        let pass = held.pass();
        async move {
            pass.await;
            Ok::<u32, String>(7)
        }
    };
    let run = wheel.run(Graph::numbered(2, []).unwrap(), code).start().unwrap();
    settle().await;
    assert!(run.remove("1"));
    gate.open();
    let report = run.await.unwrap();
    assert_eq!(report.value::<u32>("0").as_deref(), Some(&7));
    assert_eq!(report.value::<u32>("1"), None);
    assert_eq!(report.to_string(), "succeeded: 1 succeeded, 1 cancelled");
    assert!(report.into_result().is_ok());
}

/// Looking at each added task in turn for each name would be 10^10 looks.
#[tokio::test(start_paused = true)]
async fn added_tasks_are_found_in_the_report_by_name() {
    const MANY: u32 = 100_000;
    let wheel = builder().start();
    let run = wheel.run(Graph::numbered(0, []).unwrap(), |_| async {}).keep_open().start().unwrap();
    run.add_tasks((0..MANY).map(|number| NewTask::new(format!("added {number}")))).unwrap();
    run.close();
    let report = run.await.unwrap();
    for number in 0..MANY {
        assert_eq!(report.task(&format!("added {number}")).unwrap().index(), number);
    }
    assert!(report.task("another").is_none());
}

#[tokio::test(start_paused = true)]
async fn tasks_are_removed_whatever_their_state() {
    let (wheel, log) = (builder().start(), Log::default());
    let gate = Gate::closed();
    let start = |graph: Graph| -> Run {
        let (inner, held) = (log.clone(), gate.clone());
        wheel
            .run(graph, move |task| {
                let (log, pass) = (inner.clone(), held.pass());
                async move {
                    log.add(task.name());
                    pass.await;
                }
            })
            .concurrency(1)
            .start()
            .unwrap()
    };
    // While it runs: its attempt finishes, its dependents never start.
    let in_flight = start(chain());
    settle().await;
    assert!(in_flight.remove("a"));
    assert!(!in_flight.remove("nobody"));
    // While it waits for another: only what comes before it runs.
    let waiting = start(chain());
    assert!(waiting.remove("b"));
    // While it is ready.
    let ready = start(Graph::numbered(2, []).unwrap());
    assert!(ready.remove("1"));
    // Released: those after it go on.
    let released = start(chain());
    assert!(released.remove_and_release("b"));
    gate.open();
    let report = in_flight.await.unwrap();
    assert_eq!(names(report.skipped()), ["b", "c"]);
    assert_eq!(report.task("a").unwrap().reason(), Reason::Removed);
    check_report(&wheel, &report);
    let report = waiting.clone().await.unwrap();
    assert_eq!(names(report.succeeded()), ["a"]);
    assert_eq!(report.task("b").unwrap().reason(), Reason::Removed);
    assert!(!waiting.remove("a"));
    check_report(&wheel, &report);
    let report = ready.await.unwrap();
    assert_eq!(names(report.succeeded()), ["0"]);
    assert_eq!(report.task("1").unwrap().reason(), Reason::Removed);
    check_report(&wheel, &report);
    let report = released.await.unwrap();
    assert_eq!(names(report.succeeded()), ["a", "c"]);
    check_report(&wheel, &report);
}

/// RK-15.
#[tokio::test]
async fn a_cycle_is_an_error_before_anything_runs() {
    let error = Graph::from_edges([("a", "b"), ("b", "a")]).unwrap_err();
    assert!(matches!(error, GraphError::Cycle { .. }));
    let mut plan = Plan::new();
    plan.task("a", |_| async {}).after(["b"]);
    plan.task("b", |_| async {}).after(["a"]);
    plan.task("free", never);
    assert!(matches!(builder().start().run_plan(plan), Err(GraphError::Cycle { .. })));
}

/// RK-16 and RK-19.
#[tokio::test(start_paused = true)]
async fn cancelling_a_run_drains_or_stops_what_runs_and_reports_all() {
    for (cancel, took, b_succeeds) in [
        (Cancel::Drain, 10, true),
        (Cancel::after(seconds(3)), 6, false),
        (Cancel::now(), 3, false),
    ] {
        let wheel = builder().start();
        let run = wheel
            .run(chain(), |task| async move {
                if task.name() == "b" {
                    tokio::time::sleep(seconds(10)).await;
                }
            })
            .start()
            .unwrap();
        tokio::time::sleep(seconds(3)).await;
        assert!(run.cancel(cancel));
        let report = run.await.unwrap();
        assert_eq!(report.elapsed(), seconds(took), "{cancel:?}");
        assert_eq!(report.result(), RunResult::Cancelled);
        assert_eq!(report.task("a").unwrap().state(), TaskState::Succeeded);
        assert_eq!(report.task("b").unwrap().state() == TaskState::Succeeded, b_succeeds);
        assert_eq!(report.task("c").unwrap().state(), TaskState::Cancelled);
        check_report(&wheel, &report);
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_request_to_stop_does_not_make_the_grace_longer() {
    let wheel = builder().start();
    let graph = Graph::numbered(1, []).unwrap();
    let run = wheel.run(graph, |_| std::future::pending::<()>()).start().unwrap();
    settle().await;
    run.cancel(Cancel::after(seconds(10)));
    tokio::time::sleep(seconds(9)).await;
    run.cancel(Cancel::after(seconds(8)));
    let report = run.await.unwrap();
    assert_eq!(report.elapsed(), seconds(10));
}

#[tokio::test(start_paused = true)]
async fn a_task_can_stop_by_itself_within_its_grace() {
    let wheel = builder().start();
    let graph = Graph::numbered(3, []).unwrap();
    let run = wheel
        .run(graph, |task| async move {
            task.cancelled().await;
            assert!(task.is_cancelled());
            match task.index() {
                0 => Ok(1),
                1 => Err("stopped half way"),
                _ => panic!("clumsy"),
            }
        })
        .start()
        .unwrap();
    settle().await;
    run.cancel(Cancel::after(seconds(100)));
    let report = run.await.unwrap();
    assert_eq!(report.elapsed(), Duration::ZERO);
    assert_eq!(report.task("0").unwrap().state(), TaskState::Succeeded);
    assert_eq!(report.task("1").unwrap().state(), TaskState::Cancelled);
    check_report(&wheel, &report);
}

/// RK-17.
#[tokio::test(start_paused = true)]
async fn there_is_no_lockstep_of_levels() {
    let wheel = builder().start();
    let graph = Graph::from_edges([("slow", "end"), ("fast", "next"), ("next", "end")]).unwrap();
    let report = wheel
        .run(graph, |task| async move {
            let time = if task.name() == "slow" { 30 } else { 1 };
            tokio::time::sleep(seconds(time)).await;
        })
        .await
        .unwrap();
    assert_eq!(report.task("next").unwrap().started_after(), Some(seconds(1)));
    assert_eq!(report.task("end").unwrap().started_after(), Some(seconds(30)));
}

#[tokio::test(start_paused = true)]
async fn attempts_tasks_and_runs_have_their_own_time() {
    let wheel = builder().start();
    let forever = |_| std::future::pending::<()>();
    let report = wheel
        .run(chain(), forever)
        .attempt_timeout(seconds(2))
        .retries(1)
        .base_delay(Duration::ZERO)
        .await
        .unwrap();
    let a = report.task("a").unwrap();
    assert_eq!((a.attempts(), a.reason()), (2, Reason::AttemptTimeout));
    assert!(!a.error().unwrap().is_empty());
    assert_eq!(report.elapsed(), seconds(4));

    let report = wheel.run(chain(), forever).task_timeout(seconds(7)).retries(9).await.unwrap();
    assert_eq!(report.task("a").unwrap().reason(), Reason::TaskTimeout);
    assert_eq!(report.elapsed(), seconds(7));

    let report = wheel.run(chain(), forever).run_timeout(seconds(11)).await.unwrap();
    assert_eq!(report.elapsed(), seconds(11));
    assert!(!report.is_success());
    assert_eq!(report.task("a").unwrap().reason(), Reason::RunTimeout);
    check_report(&wheel, &report);

    let report = wheel.run(chain(), forever).await.unwrap();
    assert_eq!(report.elapsed(), seconds(600));
    check_report(&wheel, &report);
}

#[tokio::test(start_paused = true)]
async fn on_error_fail_stops_the_run_and_always_tasks_still_run() {
    let wheel = builder().start();
    let graph =
        Graph::from_edges([("bad", "after"), ("slow", "later"), ("later", "clean")]).unwrap();
    for (on_stop, slow) in [
        (OnStop::Finish, TaskState::Succeeded),
        (OnStop::Cancel { grace: Duration::ZERO }, TaskState::Cancelled),
    ] {
        let report = wheel
            .run(graph.clone(), |task| async move {
                match task.name() {
                    "bad" => return Err("bad"),
                    "slow" => tokio::time::sleep(seconds(1)).await,
                    _ => {}
                }
                Ok(())
            })
            .on_error(OnError::Fail)
            .on_stop(on_stop)
            .configure(|name| match name {
                "clean" => TaskOptions::new().always(),
                _ => TaskOptions::new(),
            })
            .await
            .unwrap();
        assert_eq!(report.task("slow").unwrap().state(), slow);
        assert_eq!(report.task("later").unwrap().state(), TaskState::Skipped);
        assert_eq!(report.task("clean").unwrap().state(), TaskState::Succeeded);
        assert!(!report.is_success());
        check_report(&wheel, &report);
    }
}

#[tokio::test]
async fn a_task_may_tolerate_its_own_failure() {
    let wheel = builder().start();
    let report = wheel
        .run(chain(), |task| async move { if task.name() == "b" { Err("meh") } else { Ok(()) } })
        .configure(|name| match name {
            "b" => TaskOptions::new().on_error(OnError::Continue),
            _ => TaskOptions::new(),
        })
        .await
        .unwrap();
    assert!(report.is_success());
    assert_eq!(names(report.succeeded()), ["a", "c"]);
    check_report(&wheel, &report);
}

#[tokio::test]
async fn panics_fail_a_task_and_nothing_else() {
    let wheel = builder().start();
    let report = wheel
        .run(diamond(), |task| {
            assert!(task.name() != "b", "sync panic in {}", task.name());
            async move {
                tokio::task::yield_now().await;
                assert!(task.name() != "c", "async panic in {}", task.name());
            }
        })
        .await
        .unwrap();
    for name in ["b", "c"] {
        let line = report.task(name).unwrap();
        assert_eq!((line.state(), line.reason()), (TaskState::Failed, Reason::Panic));
        assert!(line.error().unwrap().contains(&format!("panic in {name}")));
    }
    check_report(&wheel, &report);
}

#[tokio::test]
async fn values_flow_to_later_tasks_and_into_the_report() {
    let wheel = builder().start();
    let graph = Graph::numbered(100, (1..100).map(|index| (index - 1, index))).unwrap();
    let report = wheel
        .run(graph, |task| async move {
            let before = task.index().checked_sub(1).map(|index| index.to_string());
            let value = before.map_or(0, |name| *task.input::<u64>(&name).unwrap());
            let is = |why: &NoInput, text| why.to_string().contains(text);
            let no_text = task.input::<String>("0").err();
            let is_first = task.index() == 0;
            let why = if is_first { "gave no value" } else { "is no alloc::string::String" };
            assert!(no_text.is_some_and(|error| is(&error, why)));
            assert!(task.input::<u64>("99").is_err_and(|error| is(&error, "gave no value")));
            assert!(
                task.input::<u64>("100").is_err_and(|error| is(&error, "there is no task `100`"))
            );
            Ok::<_, String>(value + u64::from(task.index()))
        })
        .await
        .unwrap();
    assert_eq!(*report.value::<u64>("99").unwrap(), 4950);
    assert!(report.value::<u32>("99").is_none() && report.value::<u64>("x").is_none());
}

#[tokio::test]
async fn a_plan_gives_each_task_its_own_code_and_options() {
    let wheel = builder().limit("one", 1).start();
    let mut plan = Plan::new();
    plan.task(
        "last",
        |task| async move { Ok::<_, String>(*task.input::<i32>("first").unwrap() + 1) },
    )
    .after(["first"])
    .options(TaskOptions::new().limit("one").priority(Priority::HIGH));
    plan.task(
        "first",
        |task| async move { if task.attempt() < 2 { Err("again") } else { Ok(41) } },
    )
    .options(TaskOptions::new().retries(1).base_delay(Duration::ZERO));
    plan.task("other", never);
    let run = wheel.run_plan(plan).unwrap().only(["first", "last"]).start().unwrap();
    let no_code = run.add("orphan", [""; 0]);
    let report = run.await.unwrap();
    assert_eq!(*report.value::<i32>("last").unwrap(), 42);
    assert_eq!(report.task("first").unwrap().attempts(), 2);
    if no_code.is_ok() {
        assert!(report.task("orphan").unwrap().error().unwrap().contains("without code"));
    }
    check_report(&wheel, &report);
}

/// TP-16.
#[tokio::test(start_paused = true)]
async fn within_a_run_the_earliest_deadline_goes_first_and_late_tasks_are_counted() {
    let (wheel, log) = (builder().start(), Log::default());
    let inner = log.clone();
    let report = wheel
        .run(Graph::numbered(4, []).unwrap(), move |task| {
            inner.add(task.name());
            tokio::time::sleep(seconds(1))
        })
        .concurrency(1)
        .configure(|name| match name {
            "1" => TaskOptions::new().deadline(seconds(10)),
            "2" => TaskOptions::new().deadline(millis(500)),
            "3" => TaskOptions::new().deadline(seconds(5)),
            _ => TaskOptions::new(),
        })
        .await
        .unwrap();
    assert!(report.is_success());
    assert_eq!(log.take(), ["2", "3", "1", "0"]);
    assert_eq!(wheel.stats().total.late, 1);
}

#[tokio::test]
async fn a_kept_open_run_ends_when_it_is_closed() {
    let (wheel, log) = (builder().start(), Log::default());
    let run =
        wheel.run(Graph::numbered(0, []).unwrap(), logging(&log)).keep_open().start().unwrap();
    settle().await;
    assert!(!run.is_ended());
    run.add("x", [""; 0]).unwrap();
    settle().await;
    assert_eq!((log.take(), run.is_ended()), (vec!["x".to_owned()], false));
    run.add("y", ["x"]).unwrap();
    assert!(run.close());
    let report = run.await.unwrap();
    assert_eq!(names(report.succeeded()), ["x", "y"]);
}

#[tokio::test]
async fn dropping_the_handle_lets_the_run_go_on() {
    let (wheel, log) = (builder().start(), Log::default());
    drop(wheel.run(chain(), logging(&log)).start().unwrap());
    settle().await;
    assert_eq!(log.take(), ["a", "b", "c"]);
    assert_eq!(wheel.stats().runs, 0);
}

#[tokio::test(start_paused = true)]
async fn one_task_of_a_run_can_be_cancelled() {
    let wheel = builder().start();
    let run = wheel
        .run(diamond(), |task| async move {
            if task.name() == "b" {
                std::future::pending::<()>().await;
            }
        })
        .start()
        .unwrap();
    settle().await;
    assert!(run.cancel_task("b", Cancel::now()));
    assert!(!run.cancel_task("x", Cancel::now()));
    let report = run.await.unwrap();
    assert_eq!(report.task("b").unwrap().state(), TaskState::Cancelled);
    assert_eq!(report.task("c").unwrap().state(), TaskState::Succeeded);
    assert_eq!(report.task("d").unwrap().state(), TaskState::Skipped);
    check_report(&wheel, &report);
}

#[tokio::test(start_paused = true)]
async fn runs_get_a_definite_end_at_shutdown() {
    for (shutdown, has_report) in
        [(Shutdown::drain(), true), (Shutdown::reject(), true), (Shutdown::persist(), false)]
    {
        let wheel = builder().store(tidewheel::store::Memory::new()).start();
        let run = wheel.run(chain(), |_| tokio::time::sleep(seconds(1))).start().unwrap();
        settle().await;
        wheel.shutdown(shutdown).await;
        match run.await {
            Ok(report) => {
                assert!(has_report);
                assert_eq!(report.is_success(), shutdown == Shutdown::drain());
                check_report(&wheel, &report);
            }
            Err(error) => assert!(!has_report && error == RunError::ShutDown, "{error}"),
        }
    }
}

/// Runs of all shapes on real threads, with everything that can disturb them.
#[test]
fn nothing_is_lost_when_threads_disturb_a_run() {
    on_threads(async {
        let wheel = Tidewheel::builder().slots(3).start();
        for round in 0..30_u64 {
            let edges = (1..200_u32).flat_map(|index| {
                [(index / 2, index), ((index * 7 + round as u32) % index, index)]
            });
            let graph = Graph::numbered(200, edges).unwrap();
            let run = wheel
                .run(graph, move |task| async move {
                    if task.index() % 3 == 0 {
                        tokio::task::yield_now().await;
                    }
                    if (u64::from(task.index()) * 31 + round) % 97 == 0 {
                        Err("bad luck")
                    } else {
                        Ok(task.index())
                    }
                })
                .concurrency(3)
                .retries(u32::from(round % 3 == 0))
                .base_delay(Duration::ZERO)
                .start()
                .unwrap();
            let other = run.clone();
            let disturber = std::thread::spawn(move || {
                for step in 0..40_u64 {
                    match (step * 13 + round) % 8 {
                        0 => other.pause(),
                        1 | 2 => other.resume(),
                        3 => other.remove(&((step * 5 + round) % 200).to_string()),
                        4 => other.remove_and_release(&((step * 3) % 200).to_string()),
                        5 => other
                            .add(&format!("x{step}"), [((step * 11) % 200).to_string()])
                            .is_ok(),
                        6 => other.cancel_task(&(step % 200).to_string(), Cancel::now()),
                        _ => round % 5 == 0 && step > 30 && other.cancel(Cancel::now()),
                    };
                    std::thread::yield_now();
                }
                other.resume();
            });
            let report = run.await.unwrap();
            disturber.join().unwrap();
            check_report(&wheel, &report);
        }
        assert_eq!(wheel.stats().total.active, 0);
    });
}
