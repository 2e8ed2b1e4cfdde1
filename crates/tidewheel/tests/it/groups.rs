//! Groups and conditions through the public interface: by names, at the start and in live runs.
//!
//! What they mean in every case is shown by the scenarios of the simulator.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use tidewheel::graph::GroupKind;
use tidewheel::policy::OnSkip;
use tidewheel::run::{Ends, RunResult, Standing, When};
use tidewheel::task::Reason;
use tidewheel::{Graph, NewTask, OnError, TaskOptions, TaskState, Tidewheel};

const CALL: GroupKind = GroupKind::Call { on_error: OnError::Fail, on_skip: OnSkip::Continue };

#[tokio::test]
async fn a_group_fails_its_end_and_its_own_hooks_run() {
    let wheel = Tidewheel::builder().start();
    let mut graph = Graph::builder();
    graph.task("prepare");
    graph.task("deploy").after(["prepare"]);
    graph.task("copy");
    graph.task("check").after(["copy"]);
    graph.task("undo");
    graph.task("celebrate");
    graph.task("tell").after(["deploy"]);
    let report = wheel
        .run(graph.build().unwrap(), |task| async move {
            if task.name() == "copy" { Err("disk full") } else { Ok(()) }
        })
        .configure(|name| match name {
            "deploy" => TaskOptions::new().ends(CALL),
            "copy" | "check" => TaskOptions::new().inside("deploy"),
            "undo" => TaskOptions::new().inside("deploy").when(When::whole(Standing::Failed)),
            "celebrate" => TaskOptions::new().when(When::whole(Standing::Succeeded)),
            "tell" => TaskOptions::new().when(When::all(["deploy"], Ends::FAILED)),
            _ => TaskOptions::new(),
        })
        .await
        .unwrap();
    let of = |name: &str| {
        let task = report.task(name).unwrap();
        (task.state(), task.attempts())
    };
    assert_eq!(of("check"), (TaskState::Skipped, 0));
    assert_eq!(of("undo"), (TaskState::Succeeded, 1));
    assert_eq!(of("deploy"), (TaskState::Failed, 0));
    assert!(matches!(report.task("deploy").unwrap().reason(), Reason::PartFailed(_)));
    assert_eq!(of("tell"), (TaskState::Succeeded, 1));
    assert_eq!(of("celebrate"), (TaskState::Skipped, 0));
    assert_eq!(report.result(), RunResult::Failed);
}

#[tokio::test]
async fn parts_can_join_while_their_opener_runs() {
    let wheel = Tidewheel::builder().start();
    let mut graph = Graph::builder();
    graph.task("all");
    graph.task("find");
    let (sender, receiver) = tokio::sync::watch::channel(false);
    let run = wheel
        .run(graph.build().unwrap(), move |task| {
            let mut receiver = receiver.clone();
            async move {
                if task.name() == "find" {
                    let _ = receiver.wait_for(|done| *done).await;
                }
            }
        })
        .configure(|name| match name {
            "all" => TaskOptions::new().ends(GroupKind::Parts),
            _ => TaskOptions::new().inside("all").opens(),
        })
        .start()
        .unwrap();
    for name in ["one", "two"] {
        run.add_task(NewTask::new(name).inside("all").before(["all"])).unwrap();
    }
    let stranger = run.add_task(NewTask::new("three").inside("find"));
    assert!(stranger.unwrap_err().to_string().contains("by its end"));
    assert!(run.add_task(NewTask::new("four").inside("nobody")).is_err());
    sender.send(true).unwrap();
    let report = run.report().await.unwrap();
    assert!(report.is_success());
    assert_eq!(report.tasks().count(), 4);
}

#[tokio::test]
async fn what_is_left_out_of_a_run_is_passed_over_by_conditions_and_groups() {
    let wheel = Tidewheel::builder().start();
    let graph = Graph::from_edges([("a", "c"), ("b", "c")]).unwrap();
    let run = wheel
        .run(graph, |_| async {})
        .only(["b", "c"])
        .configure(|name| match name {
            "a" => TaskOptions::new().ends(CALL),
            "b" => TaskOptions::new().inside("a"),
            _ => TaskOptions::new().when(When::any(["a"], Ends::FAILED)),
        })
        .await
        .unwrap();
    assert!(run.is_success());
    assert_eq!(run.succeeded().count(), 2);
}

#[tokio::test]
async fn only_so_many_tasks_of_a_group_are_under_way_at_once() {
    let wheel = Tidewheel::builder().start();
    let mut graph = Graph::builder();
    graph.task("all");
    for name in ["one", "two", "three", "four"] {
        graph.task(name);
    }
    let (under_way, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let counts = (Arc::clone(&under_way), Arc::clone(&most));
    let run = wheel
        .run(graph.build().unwrap(), move |_| {
            let (under_way, most) = counts.clone();
            async move {
                most.fetch_max(under_way.fetch_add(1, SeqCst) + 1, SeqCst);
                tokio::task::yield_now().await;
                under_way.fetch_sub(1, SeqCst);
            }
        })
        .configure(|name| match name {
            "all" => TaskOptions::new().ends(GroupKind::Parts).at_once(2),
            _ => TaskOptions::new().inside("all"),
        })
        .paused()
        .start()
        .unwrap();
    let why = wheel.explain(run.task("three")).unwrap().to_string();
    assert!(why.contains("waits for one of 2 places in `all`, held by `one`, `two`"), "{why}");
    assert!(run.resume());
    assert_eq!(run.report().await.unwrap().result(), RunResult::Succeeded);
    assert_eq!(most.load(SeqCst), 2);

    let mut graph = Graph::builder();
    graph.task("alone");
    let refused = wheel
        .run(graph.build().unwrap(), |_| async {})
        .configure(|_| TaskOptions::new().at_once(2))
        .start();
    assert!(refused.unwrap_err().to_string().contains("`alone` is not the end of a group"));
}
