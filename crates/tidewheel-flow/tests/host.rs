//! A host of many threads: one runner a run, whatever starts at once, and none when the run has ended.
//!
//! What runners do is in `scenarios/`.
#![allow(clippy::unwrap_used, reason = "a test")]

mod bench;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use bench::{Deed, Held, Stage, StagedWorld, Start};
use serde_json::{Map, json};
use tidewheel::store::{Memory, Store};
use tidewheel::{Attempt, Cancel, Run, Tidewheel};
use tidewheel_flow::{
    FLOW_KIND, FlowHost, FlowOrder, Means, RecalledTask, StartError, Trace, load,
};
use tokio::runtime::Runtime;

const ELEMENTS: usize = 8;
const FLOW: &str = "
flow:
  - { name: a, run: a, outputs: { n: '{{ json }}' } }
  - { name: each, foreach: [0, 1, 2, 3, 4, 5, 6, 7], run: each, env: { N: '{{ flows.a.n }}' } }
";

/// Counts, and lets others wait for a count.
#[derive(Default)]
struct Counter(Mutex<usize>, Condvar);

impl Counter {
    fn add(&self) {
        *self.0.lock().unwrap() += 1;
        self.1.notify_all();
    }

    fn wait_for(&self, count: usize) {
        let (locked, patience) = (self.0.lock().unwrap(), Duration::from_secs(60));
        let waited = self.1.wait_timeout_while(locked, patience, |now| *now < count).unwrap();
        assert!(!waited.1.timed_out(), "{} of {count}", *waited.0);
    }
}

fn threads() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

fn wheel(runtime: &Runtime, host: &FlowHost, store: &Memory, entered: Arc<Counter>) -> Tidewheel {
    let host = host.clone();
    let code = move |attempt: Attempt| {
        entered.add();
        let host = host.clone();
        async move { host.attempt(attempt).await }
    };
    let builder = Tidewheel::builder().store(store.clone()).runtime(runtime.handle().clone());
    builder.adopt_kind(FLOW_KIND, code).start()
}

#[test]
fn attempts_that_start_at_once_after_a_crash_share_one_runner() {
    let (world, store) = (Arc::new(StagedWorld::default()), Memory::new());
    world.staged().deeds.insert("each[*]".into(), vec![Deed::hangs()]);
    let means = Arc::new(Means::new(Arc::<StagedWorld>::clone(&world)));

    let path = PathBuf::from("flow.yaml");
    let texts = BTreeMap::from([(path.clone(), Arc::from(FLOW))]);
    let loaded = load(std::slice::from_ref(&path), &texts);
    let order = FlowOrder::new(&loaded, vec![path], BTreeMap::new(), ELEMENTS as u32);
    let host = FlowHost::new(Arc::clone(&means), |_| Ok(Vec::new()));
    let before = threads();
    let first = wheel(&before, &host, &store, Arc::default());
    let flow = loaded.runnable().unwrap();
    world.staged().deeds.insert("a".into(), vec![Deed::prints("41")]);
    let run = before.block_on(host.start(&first, flow, &order, &BTreeMap::new())).unwrap();
    let id = run.id();
    // `a`, and all elements.
    world.wait_for_beginnings(1 + ELEMENTS);
    store.clone().take_tenure().unwrap();
    before.shutdown_background();
    drop((run, first));
    world.staged().began.clear();
    world.staged().deeds.insert("each[*]".into(), vec![Deed::default()]);

    // What was left is read only when all attempts have asked for it.
    let (entered, asked) = (Arc::<Counter>::default(), Arc::<AtomicUsize>::default());
    let (all, count) = (Arc::clone(&entered), Arc::clone(&asked));
    let host = FlowHost::new(means, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        all.wait_for(ELEMENTS);
        let outputs = Some(Map::from_iter([("n".to_owned(), json!(42))]));
        Ok(vec![RecalledTask { name: "a".to_owned(), outputs, trace: Trace::default() }])
    });
    let after = threads();
    let second = wheel(&after, &host, &store, entered);
    let run = second.find_run(id).unwrap();
    let report = after.block_on(run.report()).unwrap();
    assert!(report.is_success(), "{report:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "how often a runner was made");
    for element in 0..ELEMENTS {
        let given = world.staged().asked[&format!("each[{element}]")].variables["N"].clone();
        assert_eq!(given, "42");
    }
    after.shutdown_background();
}

#[test]
fn a_run_that_has_ended_is_not_kept() {
    let mut stage = Stage::new();
    stage.flow("flow.yaml", "flow: [{ name: a, run: a }]");
    stage.does("a", vec![Deed::hangs(), Deed::takes(Duration::from_secs(5))]);
    stage.start(&Start::default()).unwrap();
    assert!(stage.is_kept());
    stage.restart().unwrap();
    assert!(stage.is_kept(), "its first attempt has asked for it");
    stage.finish().unwrap();
    stage.pass(Duration::from_millis(1));
    assert!(!stage.is_kept());
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
    let folder = std::env::temp_dir().join(format!("tidewheel-pipe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("variables.env");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let (goes_on, told) = mpsc::channel();
    let writer = std::thread::spawn(move || {
        let went_on = told.recv_timeout(Duration::from_secs(20)).is_ok();
        std::fs::write(pipe, "N=42\n").unwrap();
        went_on
    });
    let slow = Slow::new();
    let yaml = "env_file: [variables.env]\nflow: [{ name: a, run: a }]";
    let path = folder.join("flow.yaml");
    let (run, ()) = tokio::join!(slow.start(&path, yaml), async move {
        settle().await;
        goes_on.send(()).unwrap();
    });
    assert!(run.unwrap().report().await.unwrap().is_success());
    assert!(writer.join().unwrap(), "the runtime waited for the file");
    assert_eq!(slow.world.staged().asked["a"].variables["N"], "42");
    std::fs::remove_dir_all(folder).unwrap();
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
        while !slow.world.staged().began.iter().any(|task| task.starts_with("each")) {
            tokio::task::yield_now().await;
        }
        run.stored().await.unwrap();
        assert!(run.task_name(elements).is_some(), "all are there");
        needed.push(slow.store.commits() - before);
    }
    assert!(needed[1] <= needed[0] + 3, "commits for 1 and for 1,000 elements: {needed:?}");
}
