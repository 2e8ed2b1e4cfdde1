//! Limits that wheels on one data folder share.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidewheel::run::{Busy, RunGroup};
use tidewheel::schedule::Firing;
use tidewheel::store::sqlite::{DataFolder, Durability, Options};
use tidewheel::{Graph, GraphError, LimitSpec, Rejection, Run, RunBuilder, Task, Tidewheel};
use tidewheel_testing::{TempDir, temp_folder, until};
use tokio::sync::Notify;

struct Scratch(TempDir);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(temp_folder(name))
    }

    fn folder(&self) -> DataFolder {
        let path = self.0.path().join("data");
        DataFolder::open(path, Options::default().durability(Durability::Process)).unwrap()
    }
}

fn wheel(folder: &DataFolder, shard: &str, units: u32) -> Tidewheel {
    let wheel = Tidewheel::builder().store(folder.shard(shard).unwrap()).start();
    wheel.define_limit("db", LimitSpec::SharedUnits(units)).unwrap();
    wheel
}

/// How many are inside at once, and the most there ever were.
#[derive(Default)]
struct Door {
    inside: AtomicU32,
    most: AtomicU32,
}

impl Door {
    async fn pass(self: Arc<Self>, units: u32) {
        let inside = self.inside.fetch_add(units, Ordering::SeqCst) + units;
        self.most.fetch_max(inside, Ordering::SeqCst);
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.inside.fetch_sub(units, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wheels_of_one_folder_together_use_no_more_units_than_there_are() {
    let scratch = Scratch::new("shared-wheels");
    let folder = scratch.folder();
    let wheels = [wheel(&folder, "a", 3), wheel(&folder, "b", 3), wheel(&folder, "c", 3)];
    let door = Arc::<Door>::default();
    let mut waiting = Vec::new();
    for number in 0..60_u32 {
        let (door, units) = (door.clone(), 1 + number % 3);
        let task = move || {
            let door = door.clone();
            async move {
                door.pass(units).await;
                Ok::<_, String>(())
            }
        };
        let wheel = &wheels[number as usize % wheels.len()];
        waiting.push(wheel.task(task).units("db", units).submit());
    }
    // Wide ones too: none is overtaken for ever.
    for task in waiting {
        task.await.unwrap();
    }
    assert!(door.most.load(Ordering::SeqCst) <= 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wheel_that_ends_leaves_its_units_to_the_others() {
    let scratch = Scratch::new("shared-ends");
    let folder = scratch.folder();
    let (first, second) = (wheel(&folder, "a", 1), wheel(&folder, "b", 1));
    let (started, mut has_started) = tokio::sync::mpsc::unbounded_channel();
    let forever = first.task(move || {
        let _ = started.send(());
        std::future::pending::<Result<(), String>>()
    });
    let forever = forever.limit("db").submit();
    has_started.recv().await.unwrap();
    let next = second.task(|| async { Ok::<_, String>(7) }).limit("db").submit();
    let explain = || second.explain(&next).unwrap().facts.to_string();
    until("the holder is found", || explain().contains("held by")).await;
    let explained = explain();
    assert!(explained.contains("it waits for a unit of the shared limit `db`"), "{explained}");
    assert!(explained.contains("process"), "{explained}");
    first.shutdown(tidewheel::Shutdown::reject().after(Duration::ZERO)).await;
    assert!(forever.await.is_err());
    drop(first);
    assert_eq!(next.await.unwrap(), 7);
}

#[tokio::test]
async fn definitions_of_the_living_must_agree() {
    let scratch = Scratch::new("shared-agree");
    let folder = scratch.folder();
    let first = wheel(&folder, "a", 2);
    let second = Tidewheel::builder().store(folder.shard("b").unwrap()).start();
    let refused = second.define_limit("db", LimitSpec::SharedUnits(3)).unwrap_err();
    assert!(refused.to_string().contains("has 2 in"), "{refused}");
    first.define_limit("db", LimitSpec::SharedUnits(3)).unwrap();
    second.define_limit("db", LimitSpec::SharedUnits(3)).unwrap();
    assert!(folder.unit_holders().unwrap().is_empty());
}

#[tokio::test]
async fn without_a_folder_nothing_can_be_shared() {
    let wheel = Tidewheel::builder().start();
    let refused = wheel.define_limit("db", LimitSpec::SharedUnits(2)).unwrap_err();
    assert!(matches!(refused, Rejection::Invalid(_)), "{refused:?}");
    assert!(refused.to_string().contains("cannot be shared"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_a_group_on_one_wheel_go_on_one_after_the_other() {
    let scratch = Scratch::new("group-wheel");
    let folder = scratch.folder();
    let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
    let door = Arc::<Door>::default();
    let mut runs = Vec::new();
    for _ in 0..4 {
        let door = door.clone();
        let code = move |_: tidewheel::Task| door.clone().pass(1);
        let group = RunGroup { name: "deploy".into(), max: 1, busy: Busy::QueueAll };
        let graph = Graph::from_edges([("a", "b")]).unwrap();
        runs.push(wheel.run(graph, code).group(group).start().unwrap());
    }
    for run in runs {
        assert!(run.report().await.unwrap().is_success());
    }
    assert_eq!(door.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn without_a_folder_there_are_no_groups() {
    let wheel = Tidewheel::builder().start();
    let group = RunGroup { name: "deploy".into(), max: 1, busy: Busy::Skip };
    let graph = Graph::from_edges([("a", "b")]).unwrap();
    let refused = wheel.run(graph, |_| async {}).group(group).start().unwrap_err();
    assert!(refused.to_string().contains("there can be no concurrency group"), "{refused}");
}

/// On one thread: if the disk were waited for on it, nobody could give it free.
#[tokio::test]
async fn a_run_that_is_awaited_tells_of_its_limits_without_keeping_the_runtime_waiting() {
    let scratch = Scratch::new("shared-awaited");
    let folder = scratch.folder();
    let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
    let writer = rusqlite::Connection::open(folder.database()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let run = wheel
        .run(Graph::numbered(1, []).unwrap(), |_| async {})
        .with_limit("db", LimitSpec::SharedUnits(1))
        .into_future();
    let free = async { writer.execute_batch("COMMIT").unwrap() };
    let (report, ()) = tokio::join!(run, free);
    assert!(report.unwrap().is_success());
}

/// On one thread, as before: what could not be told in time would be made again.
#[tokio::test]
async fn a_firing_tells_of_its_limits_without_keeping_the_runtime_waiting() {
    let scratch = Scratch::new("shared-firing");
    let folder = scratch.folder();
    let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
    let (gate, made) = (Arc::new(Notify::new()), Arc::<AtomicU32>::default());
    let (opened, count) = (gate.clone(), made.clone());
    let hour = Duration::from_secs(3600);
    let make = move |firing: Firing| {
        let (opened, count) = (opened.clone(), count.clone());
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            opened.notified().await;
            let run = firing.run(Graph::numbered(1, []).unwrap(), |_| async {});
            Ok::<_, GraphError>(run.with_limit("db", LimitSpec::SharedUnits(1)))
        }
    };
    let hourly = wheel.every(hour).starting_after(hour).make_run(make).unwrap();
    hourly.fire_now().unwrap();
    until("the run is being made", || made.load(Ordering::SeqCst) == 1).await;
    let writer = rusqlite::Connection::open(folder.database()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    gate.notify_one();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    writer.execute_batch("COMMIT").unwrap();
    let has_ended = || hourly.counters().unwrap().outstanding == 0;
    until("the run of the firing ends", has_ended).await;
    assert_eq!((made.load(Ordering::SeqCst), hourly.counters().unwrap().failed), (1, 0));
}

/// On one thread, as before.
#[tokio::test]
async fn a_limit_that_is_awaited_is_told_of_without_keeping_the_runtime_waiting() {
    let scratch = Scratch::new("shared-announced");
    let folder = scratch.folder();
    let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
    let writer = rusqlite::Connection::open(folder.database()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let free = async { writer.execute_batch("COMMIT").unwrap() };
    let told = wheel.announce_limit("db", LimitSpec::SharedUnits(2));
    let (told, ()) = tokio::join!(told, free);
    told.unwrap();
    let other = Tidewheel::builder().store(folder.shard("b").unwrap()).start();
    let refused = other.announce_limit("db", LimitSpec::SharedUnits(3)).await.unwrap_err();
    assert!(refused.to_string().contains("has 2 in"), "{refused}");
}

/// A folder, and a wheel on it that knows no limit.
fn ground(name: &str) -> (Scratch, DataFolder, Tidewheel) {
    let scratch = Scratch::new(name);
    let folder = scratch.folder();
    let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
    (scratch, folder, wheel)
}

/// A run of one task with a limit that it brings along.
fn bringing(
    wheel: &Tidewheel,
    units: u32,
    need: u32,
) -> RunBuilder<impl Fn(Task) -> Ready<()> + use<>> {
    let run = wheel.run(Graph::numbered(1, []).unwrap(), |_| ready(()));
    run.with_limit("db", LimitSpec::SharedUnits(units)).units("db", need)
}

/// A run that has two of two shared units until it is let go on, and then needs them again.
fn under_way(wheel: &Tidewheel) -> (Run, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let opened = gate.clone();
    let code = move |task: Task| {
        let opened = opened.clone();
        async move {
            if task.index() == 0 {
                opened.notified().await;
            }
        }
    };
    let run = wheel.run(Graph::numbered(2, [(0, 1)]).unwrap(), code).units("db", 2);
    (run.with_limit("db", LimitSpec::SharedUnits(2)).start().unwrap(), gate)
}

/// A wheel can define a limit once no other says something else.
async fn defined_by_another(folder: &DataFolder, units: u32) {
    let other = Tidewheel::builder().store(folder.shard("other").unwrap()).start();
    until("no other has another definition", || {
        match other.define_limit("db", LimitSpec::SharedUnits(units)) {
            Ok(()) => true,
            Err(refused) => {
                assert!(refused.to_string().contains("but has"), "{refused}");
                false
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_run_that_contradicts_what_another_uses_tells_nobody_of_its_limits() {
    let (_scratch, folder, wheel) = ground("shared-contradicted");
    let (run, gate) = under_way(&wheel);
    let other = Tidewheel::builder().store(folder.shard("b").unwrap()).start();
    for units in [6, 1] {
        let refused = bringing(&wheel, units, 1).start().unwrap_err();
        assert!(matches!(refused, Rejection::Contradiction { .. }), "{refused:?}");
        let refused = bringing(&wheel, units, 1).announce().await.unwrap_err();
        assert!(matches!(refused, Rejection::Contradiction { .. }), "{refused:?}");
        let named = bringing(&wheel, units, 1).once("nightly").announce().await.unwrap();
        let refused = named.start().unwrap_err();
        assert!(matches!(refused, Rejection::Contradiction { .. }), "{refused:?}");
        // There are as many as there were.
        other.define_limit("db", LimitSpec::SharedUnits(2)).unwrap();
    }
    let refused = wheel.define_limit("db", LimitSpec::SharedUnits(1)).unwrap_err();
    assert!(matches!(refused, Rejection::NeverFits { .. }), "{refused:?}");
    other.define_limit("db", LimitSpec::SharedUnits(2)).unwrap();
    gate.notify_one();
    assert!(run.report().await.unwrap().is_success());
}

#[tokio::test]
async fn a_run_that_is_refused_leaves_no_limit_that_others_have_to_agree_with() {
    let (_scratch, folder, wheel) = ground("shared-refused");
    let refused = bringing(&wheel, 6, 7).start().unwrap_err();
    assert!(matches!(refused, Rejection::NeverFits { .. }), "{refused:?}");
    defined_by_another(&folder, 3).await;
}

#[tokio::test]
async fn a_run_that_is_refused_leaves_a_limit_that_nothing_uses_as_others_know_it() {
    let (_scratch, folder, wheel) = ground("shared-unused");
    assert!(bringing(&wheel, 2, 1).await.unwrap().is_success());
    let refused = bringing(&wheel, 6, 7).start().unwrap_err();
    assert!(matches!(refused, Rejection::NeverFits { .. }), "{refused:?}");
    defined_by_another(&folder, 2).await;
}

#[tokio::test]
async fn limits_of_a_run_that_is_never_started_are_forgotten() {
    let (_scratch, folder, wheel) = ground("shared-never");
    drop(bringing(&wheel, 6, 1).announce().await.unwrap());
    defined_by_another(&folder, 3).await;
}

#[tokio::test]
async fn a_limit_that_is_shared_no_more_is_one_that_others_may_define() {
    let (_scratch, folder, wheel) = ground("shared-no-more");
    assert!(bringing(&wheel, 2, 1).await.unwrap().is_success());
    let plain = wheel.run(Graph::numbered(1, []).unwrap(), |_| async {}).limit("db");
    assert!(plain.with_limit("db", LimitSpec::Units(2)).await.unwrap().is_success());
    defined_by_another(&folder, 3).await;
}
