//! Runs that change while they are under way: steps with nothing to do, steps that wait, tasks put
//! before others, and handles of runs that were restored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{Gate, Log, builder, millis, seconds, settle};
use tidewheel::observe::Fact;
use tidewheel::run::RunResult;
use tidewheel::store::Memory;
use tidewheel::task::Reason;
use tidewheel::{Cancel, Graph, NewTask, Outcome, Rejection, Shutdown, TaskState};

#[tokio::test(start_paused = true)]
async fn a_task_with_nothing_to_do_lets_others_go_on_and_makes_nothing_fail() {
    let wheel = builder().start();
    let mut notices = wheel.notices();
    let graph = Graph::from_edges([("check", "build"), ("build", "publish")]).unwrap();
    let report = wheel
        .run(graph, |task| async move {
            if task.name() == "check" { Outcome::Skipped } else { Outcome::Succeeded }
        })
        .retries(3)
        .await
        .unwrap();
    assert!(report.is_success());
    assert_eq!(report.to_string(), "succeeded: 2 succeeded, 1 skipped");
    let check = report.task("check").unwrap();
    assert_eq!((check.reason(), check.attempts()), (Reason::Condition, 1));
    assert_eq!(check.to_string(), "`check` skipped: condition");
    let told = loop {
        if let Fact::TaskEnded(task, state, reason) = notices.recv().await.unwrap().unwrap().fact {
            break (task.index, state, reason);
        }
    };
    assert_eq!(told, (0, TaskState::Skipped, Reason::Condition));
    let total = wheel.stats().total;
    assert_eq!((total.completed, total.skipped, total.failed), (2, 1, 0));
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_looks_again_and_holds_no_slot() {
    let wheel = builder().slots(1).start();
    let mut notices = wheel.notices();
    let looks = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&looks);
    let graph = Graph::numbered(3, [(0, 1)]).unwrap();
    let run = wheel
        .run(graph, move |task| {
            let looks = Arc::clone(&seen);
            async move {
                if task.index() == 0 && looks.fetch_add(1, Ordering::SeqCst) < 3 {
                    Outcome::Postponed(seconds(10))
                } else {
                    Outcome::Succeeded
                }
            }
        })
        .start()
        .unwrap();
    settle().await;
    assert_eq!(run.counts().of(TaskState::Succeeded), 1, "the other one had the slot");
    let explained = wheel.explain(run.task("0")).unwrap().to_string();
    assert!(explained.contains("it looks again in 10.0s"), "{explained}");
    let report = run.report().await.unwrap();
    assert!(report.is_success());
    assert_eq!(report.task("0").unwrap().attempts(), 4);
    assert!(report.elapsed() >= seconds(30) && report.elapsed() < seconds(31));
    let told = loop {
        if let Fact::AttemptPostponed { task, attempt, delay } =
            notices.recv().await.unwrap().unwrap().fact
        {
            break (task.index, attempt, delay);
        }
    };
    assert_eq!(told, (0, 1, seconds(10)));
    assert_eq!(wheel.stats().total.postponed, 3);
    assert_eq!(wheel.stats().timers, 0);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_task_put_before_others_holds_them_up() {
    let (wheel, log) = (builder().start(), Log::default());
    let inner = log.clone();
    let gate = Gate::closed();
    let held = gate.clone();
    let graph = Graph::from_edges([("list", "join"), ("join", "end")]).unwrap();
    let run = wheel
        .run(graph, move |task| {
            let (log, gate) = (inner.clone(), held.pass());
            async move {
                if task.name() == "list" {
                    gate.await;
                }
                log.add(task.name());
            }
        })
        .start()
        .unwrap();
    settle().await;
    for part in ["part-1", "part-2"] {
        run.add_task(NewTask::new(part).after(["list"]).before(["join"])).unwrap();
    }
    let late = run.add_task(NewTask::new("late").before(["list"])).unwrap_err();
    assert!(matches!(late, Rejection::TooLate { state: TaskState::Running, .. }), "{late}");
    let circular = run.add_task(NewTask::new("knot").after(["end"]).before(["part-1"]));
    assert!(matches!(circular, Err(Rejection::Circular { .. })), "{circular:?}");
    let unknown = run.add_task(NewTask::new("lost").before(["nowhere"])).unwrap_err();
    assert!(unknown.to_string().contains("`lost` goes before `nowhere`"), "{unknown}");
    let twice = run.add_task(NewTask::new("part-1").before(["join"]));
    assert!(matches!(twice, Err(Rejection::DuplicateTask(_))), "{twice:?}");
    let careless = NewTask::new("free").before(["nowhere", "end"]).ignore_unknown();
    run.add_task(careless).unwrap();
    gate.open();
    assert!(run.await.unwrap().is_success());
    let mut order = log.take();
    order[..4].sort();
    assert_eq!(order, ["free", "list", "part-1", "part-2", "join", "end"]);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_live_run_is_found_by_its_identity_until_it_ends() {
    let wheel = builder().start();
    let gate = Gate::closed();
    let held = gate.clone();
    let single = wheel.submit_normal(gate.pass());
    let run = wheel.run(Graph::numbered(1, []).unwrap(), move |_| held.pass()).start().unwrap();
    assert!(wheel.find_run(single.id().unwrap()).is_none(), "a single task is no run");
    let found = wheel.find_run(run.id()).unwrap();
    found.add("more", ["0"]).unwrap();
    assert!(found.pause() && found.resume());
    gate.open();
    assert_eq!(run.report().await.unwrap().len(), 2);
    assert!(wheel.find_run(run.id()).is_none());
    assert_eq!(found.report().await.unwrap().len(), 2, "the handle still has the report");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_knows_its_run_if_it_has_one() {
    let wheel = builder().start();
    let alone = wheel.task_with(|attempt| async move { Ok::<_, String>(attempt.run().is_some()) });
    assert!(!alone.submit().await.unwrap());
    let report = wheel
        .run(Graph::numbered(1, []).unwrap(), |task| async move {
            let attempt = task.as_attempt();
            let run = attempt.run().filter(|run| run.id() == attempt.id().run).ok_or("no run")?;
            if task.name() == "0" {
                run.add("1", [""; 0]).map_err(|_| "not added")?;
            }
            Ok::<(), &str>(())
        })
        .await
        .unwrap();
    assert_eq!(report.succeeded().count(), 2);
}

/// Leaves a run in the store: `a` succeeded, `b` had nothing to do, `c` ran, `d` waits for `c` and
/// for `x`, which was added, and `e` for `d`.
async fn leave_behind(store: &Memory) -> tidewheel::RunId {
    let gate = Gate::closed();
    let held = gate.clone();
    let graph = Graph::from_edges([("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")]).unwrap();
    let wheel = builder().store(store.clone()).start();
    let run = wheel
        .run(graph, move |task| {
            let gate = held.pass();
            async move {
                match task.name() {
                    "b" => return Outcome::Skipped,
                    "c" => gate.await,
                    "x" => return Outcome::Postponed(seconds(60)),
                    _ => {}
                }
                Outcome::Succeeded
            }
        })
        .name("night")
        .start()
        .unwrap();
    run.add_task(NewTask::new("x").before(["d"])).unwrap();
    settle().await;
    let id = run.id();
    wheel.shutdown(Shutdown::persist().after(millis(1))).await;
    id
}

#[tokio::test(start_paused = true)]
async fn a_restored_run_has_a_handle_that_does_all_that_others_do() {
    let (store, log) = (Memory::new(), Log::default());
    let id = leave_behind(&store).await;
    let inner = log.clone();
    let wheel = builder()
        .seed(2)
        .store(store.clone())
        .adopt(move |attempt| {
            let log = inner.clone();
            async move {
                let name = attempt.task_name().unwrap();
                log.add(&*name);
                let run = attempt.run().unwrap();
                if &*name == "d" {
                    run.add_task(NewTask::new("y").after(["d"]).before(["e"])).unwrap();
                }
                Ok::<String, String>(format!("{name} again"))
            }
        })
        .start();
    let run = wheel.find_run(id).unwrap();
    assert_eq!(run.counts().total(), 6);
    assert_eq!(run.counts().of(TaskState::Skipped), 1);
    let explained = wheel.explain(run.task("x")).unwrap().to_string();
    assert!(explained.contains("delayed (postponed)"), "{explained}");
    let explained = wheel.explain(run.task("d")).unwrap().to_string();
    assert!(explained.contains("`x` (delayed)"), "{explained}");
    assert!(run.pause());
    tokio::time::sleep(seconds(120)).await;
    assert_eq!(log.take(), ["c"], "what ran when it was paused finished");
    assert!(run.resume());
    let twice = run.add("x", ["a"]).unwrap_err();
    assert!(matches!(twice, Rejection::DuplicateTask(_)), "{twice}");
    let report = run.report().await.unwrap();
    assert_eq!((report.result(), report.name()), (RunResult::Succeeded, "night"));
    assert_eq!(log.take(), ["x", "d", "y", "e"]);
    let names: Vec<String> = report.tasks().map(|line| line.name()).collect();
    assert_eq!(names, ["a", "c", "b", "d", "e", "x", "y"]);
    assert_eq!(report.task("b").unwrap().reason(), Reason::Condition);
    assert_eq!(report.value::<String>("a"), None, "it succeeded before the restart");
    assert_eq!(*report.value::<String>("y").unwrap(), "y again");
    assert!(wheel.find_run(id).is_none());
    assert_eq!(store.unfinished(), 0);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn a_restored_run_is_cancelled_by_its_handle() {
    let store = Memory::new();
    let id = leave_behind(&store).await;
    let wheel = builder().store(store.clone()).adopt(|_| std::future::pending::<()>()).start();
    let run = wheel.find_run(id).unwrap();
    settle().await;
    assert!(run.cancel(Cancel::now()));
    let report = run.report().await.unwrap();
    assert_eq!(report.result(), RunResult::Cancelled);
    assert_eq!(report.task("a").unwrap().state(), TaskState::Succeeded);
    assert_eq!(report.cancelled().count(), 4);
    assert_eq!(store.unfinished(), 0);
}

/// What is defined when a wheel starts may let restored work start before anything else happens.
/// On threads that run beside the one that starts the wheel, whatever is restored begins at once.
#[test]
fn handles_that_restored_tasks_take_do_not_end_the_wheel() {
    for _ in 0..100 {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let store = Memory::new();
        let context = runtime.enter();
        let before = tidewheel::Tidewheel::builder().paused().store(store.clone()).start();
        let graph = Graph::from_edges([("a", "c"), ("b", "c")]).unwrap();
        before.run(graph, |_| async {}).start().unwrap();
        runtime.block_on(before.shutdown(tidewheel::Shutdown::persist()));
        let wheel = tidewheel::Tidewheel::builder()
            .store(store)
            .adopt(|attempt| async move { drop(attempt.wheel()) })
            .start();
        drop(context);
        let answer = runtime.block_on(wheel.submit_normal(async { 42 }));
        assert_eq!(answer.expect("the wheel turns"), 42);
    }
}

#[tokio::test(start_paused = true)]
async fn restored_runs_have_their_handles_before_anything_starts() {
    let store = Memory::new();
    let id = leave_behind(&store).await;
    let queue = tidewheel::QueueSpec { slots: Some(9), ..tidewheel::QueueSpec::default() };
    let wheel = builder()
        .store(store)
        .queue("default", queue)
        .limit("unused", 1)
        .adopt(|attempt| async move {
            if attempt.run().is_some() { Ok(()) } else { Err("an attempt without its run") }
        })
        .start();
    let report = wheel.find_run(id).unwrap().report().await.unwrap();
    assert!(report.is_success(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_finds_out_what_there_is_to_do_adds_it_with_its_success() {
    let wheel = builder().store(Memory::new()).start();
    let mut notices = wheel.notices();
    let log = Log::default();
    let graph = Graph::from_edges([("list", "sum")]).unwrap();
    let seen = log.clone();
    let run = wheel.run(graph, move |task| {
        seen.add(task.name());
        async move {
            let page = |n| NewTask::new(format!("page {n}")).after(["list"]).before(["sum"]);
            let index = NewTask::new("index").after(["page 2"]).before(["sum"]);
            match task.name() {
                "list" => {
                    task.run().expansion([index].into_iter().chain((1..=3).map(page))).unwrap()
                }
                _ => Outcome::Succeeded,
            }
        }
    });
    let report = run.concurrency(1).await.unwrap();
    assert!(report.is_success(), "{report}");
    assert_eq!(log.take(), ["list", "page 1", "page 2", "page 3", "index", "sum"]);
    // What was added is told before the end of what added it.
    let told = loop {
        match notices.recv().await.unwrap().unwrap().fact {
            Fact::TaskAdded(task) => assert!((2..=5).contains(&task.index)),
            Fact::TaskEnded(task, ..) => break task.index,
            _ => {}
        }
    };
    assert_eq!(told, 0);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn an_expansion_that_is_refused_fails_its_task_and_adds_nothing() {
    let wheel = builder().start();
    let graph = Graph::from_edges([("list", "sum")]).unwrap();
    let run = wheel.run(graph, |task| async move {
        let circular = [NewTask::new("a").after(["b"]), NewTask::new("b").after(["a"])];
        let unknown = NewTask::new("c").after(["nobody"]);
        let unknown = task.run().expansion([unknown]).unwrap_err().to_string();
        assert_eq!(unknown, "task `c` waits for `nobody`, which is not in the run");
        task.run().expansion(circular).unwrap()
    });
    let report = run.retries(2).await.unwrap();
    let list = report.task("list").unwrap();
    assert_eq!((list.state(), list.attempts()), (TaskState::Failed, 1));
    let error = list.error().unwrap();
    assert_eq!(&*error, "`a` cannot come after `b` and before `b`: that is a cycle");
    assert_eq!(report.to_string(), "failed: 1 failed, 1 skipped");
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn many_tasks_are_added_at_once_or_not_at_all() {
    let wheel = builder().start();
    let graph = Graph::from_edges([("first", "last")]).unwrap();
    let gate = Gate::closed();
    let code = gate.clone();
    let run = wheel.run(graph, move |_| {
        let gate = code.clone();
        async move { gate.pass().await }
    });
    let run = run.start().unwrap();
    let task = |n: u32| NewTask::new(format!("task {n}")).before(["last"]);
    run.add_tasks((0..100).map(task)).unwrap();
    let refused = run.add_tasks([task(100), task(7)]).unwrap_err();
    assert_eq!(refused, Rejection::DuplicateTask("task 7".into()));
    assert_eq!(run.counts().total(), 102);
    run.add_missing((50..150).map(task)).unwrap();
    assert_eq!(run.counts().total(), 152);
    assert_eq!(run.task_name(151).as_deref(), Some("task 149"));
    gate.open();
    assert_eq!(run.await.unwrap().succeeded().count(), 152);
    wheel.check();
}
