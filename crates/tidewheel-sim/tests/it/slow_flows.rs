//! Flows on a store that makes its callers wait: nobody waits for it on a thread of the runtime, and much is
//! stored at once.
//!
//! What a host does otherwise is tried beside it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};

use crate::bench::{Deed, StagedWorld};
use serde_json::json;
use tidewheel::store::{AttemptRecord, Memory, Pace, Store, StoreError};
use tidewheel::{Cancel, Run, Tidewheel};
use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::row::Snapshot;
use tidewheel_flow::{FlowHost, FlowOrder, Means, StartError, load};
use tidewheel_testing::{patience, temp_folder, until};

/// A memory store on a slow disk that can be held up, and that counts what it is given. Clones share
/// everything.
#[derive(Clone, Default)]
pub struct Held {
    memory: Memory,
    control: Arc<Control>,
}

#[derive(Default)]
struct Control {
    is_held: Mutex<bool>,
    moved: Condvar,
    commits: AtomicU32,
}

impl Held {
    /// Commits wait until they are let go on.
    pub fn hold(&self, is_held: bool) {
        *self.control.is_held.lock().unwrap_or_else(PoisonError::into_inner) = is_held;
        self.control.moved.notify_all();
    }

    /// How many commits were stored.
    pub fn commits(&self) -> u32 {
        self.control.commits.load(Ordering::SeqCst)
    }
}

impl Store for Held {
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.memory.take_tenure()
    }

    fn retake_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.memory.retake_tenure()
    }

    fn commit<'c>(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'c>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError> {
        let held = self.control.is_held.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody who has the lock panics.
        drop(self.control.moved.wait_while(held, |is_held| *is_held));
        self.control.commits.fetch_add(1, Ordering::SeqCst);
        self.memory.commit(tenure, changes, records)
    }

    fn pace(&self) -> Pace {
        Pace::Slow
    }
}

/// A wheel on a slow store, and a world for its flows.
struct Slow {
    world: Arc<StagedWorld>,
    store: Held,
    host: FlowHost,
    wheel: Tidewheel,
}

impl Slow {
    /// On the runtime that it is made on.
    fn new() -> Self {
        let (world, store) = (Arc::new(StagedWorld::default()), Held::default());
        let means = Arc::new(Means::new(Arc::<StagedWorld>::clone(&world)));
        let host = FlowHost::new(means, |_| Ok(Vec::new()));
        let wheel = Tidewheel::builder().store(store.clone()).slots(1).start();
        Self { world, store, host, wheel }
    }

    async fn start(&self, path: &Path, yaml: &str) -> Result<Run, StartError> {
        let path = path.to_owned();
        let texts = BTreeMap::from([(path.clone(), Arc::from(yaml))]);
        let loaded = load(std::slice::from_ref(&path), &texts);
        let flow = loaded.runnable().unwrap();
        let order = FlowOrder::new(&loaded, vec![path], BTreeMap::new(), 1);
        self.host.start(&self.wheel, flow, &order, &BTreeMap::new()).await
    }
}

/// Lets others have the only thread.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// Everything here is on one thread, which would wait for itself.
#[tokio::test]
async fn whoever_starts_and_steers_a_flow_waits_for_no_disk() {
    let slow = Slow::new();
    slow.world.staged().deeds.insert("a".into(), vec![Deed::hangs()]);
    slow.wheel.stored().await.unwrap();
    slow.store.hold(true);
    let mut starting = Box::pin(slow.start(Path::new("flow.yaml"), "flow: [{ name: a, run: a }]"));
    tokio::select! {
        _ = &mut starting => panic!("it is not stored"),
        () = settle() => {}
    }
    slow.store.hold(false);
    let run = starting.await.unwrap();
    slow.store.hold(true);
    assert!(run.pause() && run.set_concurrency(1) && run.resume());
    assert!(run.cancel(Cancel::now()));
    settle().await;
    assert!(!run.is_ended());
    slow.store.hold(false);
    assert!(!run.report().await.unwrap().is_success());
}

/// The file is a pipe that nobody writes to before the only thread has gone on.
#[tokio::test]
async fn files_with_variables_are_read_beside_the_runtime() {
    let folder = temp_folder("pipe");
    let pipe = folder.path().join("variables.env");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let (goes_on, told) = mpsc::channel();
    let writer = std::thread::spawn(move || {
        let went_on = told.recv_timeout(patience()).is_ok();
        std::fs::write(pipe, "N=42\n").unwrap();
        went_on
    });
    let slow = Slow::new();
    let yaml = "env_file: [variables.env]\nflow: [{ name: a, run: a }]";
    let path = folder.path().join("flow.yaml");
    let (run, ()) = tokio::join!(slow.start(&path, yaml), async move {
        settle().await;
        goes_on.send(()).unwrap();
    });
    assert!(run.unwrap().report().await.unwrap().is_success());
    assert!(writer.join().unwrap(), "the runtime waited for the file");
    assert_eq!(slow.world.staged().asked["a"].variables["N"], "42");
}

#[tokio::test]
async fn elements_that_are_found_out_late_are_stored_at_once() {
    let mut needed = Vec::new();
    for elements in [1, 1000] {
        let slow = Slow::new();
        let list = json!((0..elements).collect::<Vec<u32>>());
        let deeds = [("list", Deed::prints(&list.to_string())), ("each[*]", Deed::hangs())];
        for (task, deed) in deeds {
            slow.world.staged().deeds.insert(task.into(), vec![deed]);
        }
        let yaml = "
flow:
  - { name: list, run: list, outputs: { n: '{{ json }}' } }
  - { name: each, foreach: '{{ flows.list.n }}', run: each }
";
        let before = slow.store.commits();
        let run = slow.start(Path::new("flow.yaml"), yaml).await.unwrap();
        // The first element runs, for ever.
        let runs = || slow.world.staged().began.iter().any(|task| task.starts_with("each"));
        until("an element runs", runs).await;
        run.stored().await.unwrap();
        assert!(run.task_name(elements).is_some(), "all are there");
        needed.push(slow.store.commits() - before);
    }
    assert!(needed[1] <= needed[0] + 3, "commits for 1 and for 1,000 elements: {needed:?}");
}
