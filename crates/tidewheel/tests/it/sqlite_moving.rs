//! Work of a shard whose owner is gone, moved to another one: whoever has that goes on with it among its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{Gate, Log};
use tidewheel::store::sqlite::{DataFolder, Durability, Options, SqliteStore};
use tidewheel::store::{RunCommand, StoreError};
use tidewheel::{
    Builder, Graph, LimitSpec, QueueSpec, Rejection, RunId, Shutdown, TaskError, Tidewheel,
};
use tidewheel_testing::{TempDir, patience, temp_folder, until};

/// A data folder that is removed with the returned value.
fn data_folder(name: &str) -> (TempDir, DataFolder) {
    let scratch = temp_folder(name);
    let options = Options::default().durability(Durability::Process);
    let folder = DataFolder::open(scratch.path().join("data"), options).unwrap();
    (scratch, folder)
}

/// The wheel that has the house, and what tasks say that it takes over.
fn house(folder: &DataFolder, set_up: impl FnOnce(Builder) -> Builder) -> (Tidewheel, Log) {
    let log = Log::default();
    let told = log.clone();
    let builder = Tidewheel::builder().store(folder.shard("house").unwrap()).adopt(move |it| {
        told.add(it.task_name().unwrap_or_default().to_string());
        async {}
    });
    (set_up(builder).start(), log)
}

/// A run of two tasks that nobody has begun when its owner is gone; what it brings along is said by `with`.
async fn leave(folder: &DataFolder, with: impl FnOnce(&Tidewheel)) -> (SqliteStore, RunId) {
    let store = folder.shard("left").unwrap();
    let wheel = Tidewheel::builder().paused().store(store).start();
    with(&wheel);
    let graph = Graph::from_edges([("one", "two")]).unwrap();
    let run = wheel.run(graph, |_| async {}).payload(*b"left").start().unwrap();
    let id = run.id();
    wheel.shutdown(Shutdown::persist()).await;
    drop((wheel, run));
    let (folder, shard) = (folder.clone(), "left");
    let left = tokio::task::spawn_blocking(move || folder.shard_when_left(shard, patience()));
    (left.await.unwrap().unwrap(), id)
}

fn shard_of(folder: &DataFolder, run: RunId) -> Option<String> {
    folder.reader().unwrap().run(run).unwrap().unwrap().summary.shard
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_was_left_goes_on_among_that_of_another() {
    let (_scratch, folder) = data_folder("among");
    let (wheel, log) = house(&folder, |builder| builder.slots(1));
    let gate = Gate::closed();
    let pass = gate.pass();
    let running = wheel.submit_normal(async move {
        pass.await;
        42
    });
    running.accepted().await.unwrap();
    let (mut left, run) = leave(&folder, |_| ()).await;
    left.move_to("house").unwrap();
    drop(left);
    assert_eq!(shard_of(&folder, run).as_deref(), Some("house"));
    wheel.take_in().await.unwrap();
    let run = wheel.find_run(run).expect("it knows the run");
    // The one slot is taken: what was taken in waits for it, as all others do.
    assert_eq!((wheel.stats().total.active, wheel.stats().total.queued), (1, 1));
    assert_eq!(log.len(), 0);
    gate.open();
    assert_eq!(running.await.unwrap(), 42, "what ran is not lost");
    assert!(run.report().await.unwrap().is_success());
    assert_eq!(log.take(), ["one", "two"]);
    wheel.shutdown(Shutdown::drain()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_dies_after_it_has_moved_work_leaves_it_to_the_next() {
    let (_scratch, folder) = data_folder("next");
    let (wheel, _) = house(&folder, |builder| builder);
    let (mut left, run) = leave(&folder, |_| ()).await;
    // A command that nobody has followed goes along.
    folder.send(run, RunCommand::Pause).unwrap();
    left.move_to("house").unwrap();
    wheel.shutdown(Shutdown::persist()).await;
    drop((wheel, left));
    let (wheel, log) = house(&folder, |builder| builder.paused());
    let run = wheel.find_run(run).expect("the next one finds it");
    let is_paused = || folder.reader().unwrap().run(run.id()).unwrap().unwrap().summary.is_paused;
    until("the pause is followed", is_paused).await;
    run.resume();
    wheel.resume();
    assert!(run.report().await.unwrap().is_success());
    assert_eq!(log.take(), ["one", "two"]);
    wheel.shutdown(Shutdown::drain()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_and_limits_go_along_unless_they_contradict() {
    let (_scratch, folder) = data_folder("contradict");
    let narrow = || QueueSpec { slots: Some(1), ..QueueSpec::default() };
    let (wheel, log) = house(&folder, |builder| builder.queue("same", narrow()));
    let (mut left, run) = leave(&folder, |wheel| {
        wheel.define_queue("same", QueueSpec { slots: Some(2), ..narrow() }).unwrap();
    })
    .await;
    let refused = left.move_to("house").unwrap_err();
    assert!(matches!(&refused, StoreError::Conflict { what } if what.contains("`same`")));
    assert_eq!(shard_of(&folder, run).as_deref(), Some("left"), "nothing was moved");
    drop(left);
    let nowhere = folder.shard("left").unwrap().move_to("nowhere").unwrap_err();
    assert!(matches!(nowhere, StoreError::Conflict { .. }));

    let (_scratch, folder) = data_folder("agree");
    let (other, _) = house(&folder, |builder| builder.paused().queue("same", narrow()));
    let (mut left, run) = leave(&folder, |wheel| {
        wheel.define_queue("same", narrow()).unwrap();
        wheel.define_limit("own", LimitSpec::Units(3)).unwrap();
        wheel.define_limit("shared", LimitSpec::SharedUnits(2)).unwrap();
    })
    .await;
    left.move_to("house").unwrap();
    drop(left);
    other.take_in().await.unwrap();
    let names = || {
        let limits = folder.reader().unwrap().limits().unwrap();
        let of_house = limits.into_iter().filter(|it| it.shard == "house");
        of_house.map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["own", "shared"]);
    // What was moved is there as if it had always been.
    assert!(other.define_limit("shared", LimitSpec::SharedUnits(2)).is_ok());
    let run = other.find_run(run).unwrap();
    other.resume();
    assert!(run.report().await.unwrap().is_success());
    assert_eq!(log.len(), 0);
    wheel.shutdown(Shutdown::drain()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_accepted_while_work_is_taken_in_runs_once() {
    for durability in [Durability::Process, Durability::Power] {
        let scratch = temp_folder("busy");
        let options = Options::default().durability(durability);
        let folder = DataFolder::open(scratch.path().join("data"), options).unwrap();
        let (wheel, _) = house(&folder, |builder| builder.slots(2));
        let done = Arc::new(AtomicU32::new(0));
        let users = (0..4).map(|_| {
            let (wheel, done) = (wheel.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut accepted = 0;
                for _ in 0..50 {
                    let done = Arc::clone(&done);
                    let work = wheel.without_waiting().submit_normal(async move {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                    match work.await {
                        Ok(()) => accepted += 1,
                        Err(TaskError::Rejected(Rejection::Unavailable(_))) => {}
                        Err(error) => panic!("it is refused, or done: {error}"),
                    }
                }
                accepted
            })
        });
        let users: Vec<_> = users.collect();
        for _ in 0..10 {
            wheel.take_in().await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut accepted = 0;
        for user in users {
            accepted += user.await.unwrap();
        }
        wheel.shutdown(Shutdown::drain()).await;
        assert_eq!(done.load(Ordering::Relaxed), accepted);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_asked_of_the_dead_is_followed_by_whoever_has_the_run_now() {
    let (_scratch, folder) = data_folder("asked");
    let (wheel, _) = house(&folder, |builder| builder.paused());
    let (mut left, run) = leave(&folder, |_| ()).await;
    folder.send(run, RunCommand::Pause).unwrap();
    // Somebody asks the house for something meanwhile, and is heard.
    let own = wheel.run(Graph::from_edges([("a", "b")]).unwrap(), |_| async {}).start().unwrap();
    own.stored().await.unwrap();
    let (asked, id) = (folder.clone(), own.id());
    let heard =
        tokio::task::spawn_blocking(move || asked.send_and_wait(id, RunCommand::Pause, patience()));
    assert!(heard.await.unwrap().unwrap());
    // Nobody tells the house: a command for what it has not heard of is word enough.
    left.move_to("house").unwrap();
    let is_paused = || folder.reader().unwrap().run(run).unwrap().unwrap().summary.is_paused;
    until("the pause is followed", is_paused).await;
    assert!(wheel.find_run(run).is_some());
    wheel.shutdown(Shutdown::persist()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_stands_for_what_was_accepted_under_it_last() {
    let (_scratch, folder) = data_folder("names");
    let (wheel, _) = house(&folder, |builder| builder.paused());
    let graph = || Graph::from_edges([("one", "two")]).unwrap();
    let named = |wheel: &Tidewheel, name: &str| {
        wheel.run(graph(), |_| async {}).payload(*b"x").once(name).start().map(|run| run.id())
    };
    named(&wheel, "both").unwrap();
    let mut of_left = Vec::new();
    let (mut left, _) = leave(&folder, |wheel| {
        of_left.extend(["left", "both"].map(|name| named(wheel, name).unwrap()));
    })
    .await;
    let newest = named(&wheel, "left").unwrap();
    left.move_to("house").unwrap();
    drop(left);
    wheel.take_in().await.unwrap();
    assert_eq!(named(&wheel, "both"), Err(Rejection::AlreadyAccepted(of_left[1])));
    assert_eq!(named(&wheel, "left"), Err(Rejection::AlreadyAccepted(newest)));
    wheel.shutdown(Shutdown::persist()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_that_everybody_has_stays_as_it_was() {
    let (_scratch, folder) = data_folder("common");
    let (wheel, log) = house(&folder, |builder| builder);
    let (mut left, run) = leave(&folder, |wheel| wheel.pause_queue("default").unwrap()).await;
    left.move_to("house").unwrap();
    drop(left);
    wheel.take_in().await.unwrap();
    // A pause of the whole queue was for whoever is gone.
    if let Some(run) = wheel.find_run(run) {
        assert!(run.report().await.unwrap().is_success());
    }
    assert_eq!(log.take(), ["one", "two"]);
    wheel.shutdown(Shutdown::drain()).await;
}
