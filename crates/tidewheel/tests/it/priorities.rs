//! Priorities that are changed while work waits: on handles, from elsewhere, and what they would come to before.

use crate::common::{Gate, Log, builder, seconds, settle, until};
use tidewheel::observe::{Fact, Prospect};
use tidewheel::store::{Memory, Outbox as _, RunCommand, Sent};
use tidewheel::{Graph, Priority, Rejection, Run, Shutdown, TaskState, Tidewheel};

/// A run of tasks that wait for nothing, each of which says its name.
fn run(wheel: &Tidewheel, log: &Log, names: &[&str]) -> Run {
    let mut graph = Graph::builder();
    for name in names {
        graph.task(*name);
    }
    let log = log.clone();
    let run = wheel.run(graph.build().unwrap(), move |task| {
        let log = log.clone();
        async move { log.add(task.name()) }
    });
    run.start().unwrap()
}

fn names(order: &[Prospect]) -> Vec<&str> {
    order.iter().map(|it| &*it.name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_raised_run_goes_before_others_and_a_raised_task_before_its_run() {
    let wheel = builder().slots(1).starvation_timeout(None).start();
    let (gate, log) = (Gate::closed(), Log::default());
    let blocker = wheel.submit_normal(gate.pass());
    let first = run(&wheel, &log, &["a", "b"]);
    let second = run(&wheel, &log, &["c", "d"]);
    let last = {
        let log = log.clone();
        wheel.submit(20, async move { log.add("single") })
    };
    second.set_priority(Priority::HIGH).unwrap();
    second.set_task_priority("d", 90).unwrap();
    assert!(last.handle().set_priority(60));
    gate.open();
    blocker.await.unwrap();
    first.report().await.unwrap();
    assert_eq!(log.take(), ["d", "c", "single", "a", "b"]);
    wheel.check();
    assert_eq!(second.set_priority(50), Err(Rejection::Gone("run")));
    assert_eq!(first.set_task_priority("nobody", 50), Err(Rejection::Gone("task")));
    assert!(!last.handle().set_priority(50), "it has ended");
}

#[tokio::test(start_paused = true)]
async fn a_preview_changes_nothing_and_says_what_then_happens() {
    let wheel = builder().slots(1).starvation_timeout(None).start();
    let mut notices = wheel.notices();
    let (gate, log) = (Gate::closed(), Log::default());
    let blocker = wheel.submit_normal(gate.pass());
    let first = run(&wheel, &log, &["a", "b"]);
    let second = run(&wheel, &log, &["c", "d"]);
    let preview = second.preview_priority(None, 70, 10).unwrap();
    assert_eq!(names(&preview.before), ["a", "b", "c", "d"]);
    assert_eq!(names(&preview.after), ["c", "d", "a", "b"]);
    let changed: Vec<bool> = preview.after.iter().map(|it| it.is_changed).collect();
    assert_eq!(changed, [true, true, false, false]);
    assert_eq!((preview.after[0].priority, preview.before[2].priority), (70, 50));
    let one = second.preview_priority(Some("d"), Priority::CRITICAL, 10).unwrap();
    assert_eq!(names(&one.after), ["d", "a", "b", "c"]);
    assert_eq!(second.preview_priority(None, 70, 10), Ok(preview.clone()), "nothing has changed");
    second.set_priority(70).unwrap();
    gate.open();
    blocker.await.unwrap();
    first.report().await.unwrap();
    assert_eq!(log.take(), names(&preview.after));
    let gone = first.preview_priority(None, 1, 10);
    assert_eq!(gone, Err(Rejection::Gone("run")));
    let told = loop {
        if let Fact::PriorityChanged { task, priority, .. } =
            notices.recv().await.unwrap().unwrap().fact
        {
            break (task, priority);
        }
    };
    assert_eq!(told, (None, Priority::new(70)), "and nothing was told of previews");
}

#[tokio::test]
async fn whoever_has_the_run_follows_and_answers_what_comes_from_elsewhere() {
    let memory = Memory::new();
    let outbox = memory.outbox();
    let wheel = Tidewheel::builder().slots(1).store(memory.clone()).try_start().unwrap();
    let (gate, log) = (Gate::closed(), Log::default());
    let blocker = wheel.submit_normal(gate.pass());
    let first = run(&wheel, &log, &["a"]);
    let second = run(&wheel, &log, &["b", "c"]);
    let (asking, id) = (outbox.clone(), second.id());
    let ask = move || asking.preview(id, Some(1), Priority::HIGH, seconds(60)).unwrap();
    let preview = tokio::task::spawn_blocking(ask).await.unwrap().unwrap().unwrap();
    assert_eq!(names(&preview.after), ["c", "a", "b"]);
    let raise = RunCommand::SetPriority { task: Some(1), priority: Priority::HIGH };
    assert_eq!(outbox.send(id, raise).unwrap(), Sent::Left);
    let rises = || second.preview_priority(None, 50, 10).unwrap().before[0].priority == 80;
    until(rises).await;
    gate.open();
    blocker.await.unwrap();
    first.report().await.unwrap();
    second.report().await.unwrap();
    assert_eq!(log.take(), names(&preview.after));
    wheel.shutdown(Shutdown::drain()).await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_priority_holds_for_whoever_takes_the_run_over() {
    let memory = Memory::new();
    let graph = Graph::from_edges([("a", "c"), ("b", "c")]).unwrap();
    let wheel = builder().store(memory.clone()).try_start().unwrap();
    wheel.pause();
    let run = wheel.run(graph, |_| async {}).start().unwrap();
    run.set_priority(70).unwrap();
    run.set_task_priority("b", 90).unwrap();
    let id = run.id();
    wheel.shutdown(Shutdown::persist()).await;
    settle().await;
    let next = builder().store(memory).adopt(|_| async {}).try_start().unwrap();
    let run = next.find_run(id).unwrap();
    let preview = run.preview_priority(None, 71, 10).unwrap();
    let before: Vec<(&str, u8)> =
        preview.before.iter().map(|it| (&*it.name, it.priority)).collect();
    assert_eq!(before[..2], [("b", 90), ("a", 70)]);
    assert_eq!(run.facts("a").unwrap().state, TaskState::Ready);
}
