//! A host of many threads: one runner a run, whatever starts at once, and none when the run has ended.
//!
//! What runners do is in `scenarios/`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::bench::{Deed, Stage, StagedWorld, Start};
use serde_json::{Map, json};
use tidewheel::store::{Memory, Store};
use tidewheel::{Attempt, Tidewheel};
use tidewheel_flow::{FLOW_KIND, FlowHost, FlowOrder, Means, RecalledTask, Trace, load};
use tidewheel_testing::patience;
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
        let locked = self.0.lock().unwrap();
        let waited = self.1.wait_timeout_while(locked, patience(), |now| *now < count).unwrap();
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

/// Whoever fires a schedule says for which instant; a run that is brought back has not forgotten it.
#[test]
fn a_run_knows_the_instant_it_was_made_for() {
    let (world, store) = (Arc::new(StagedWorld::default()), Memory::new());
    world.staged().deeds.insert("a".into(), vec![Deed::default()]);
    world.staged().deeds.insert("b".into(), vec![Deed::hangs(), Deed::default()]);
    let means = Arc::new(Means::new(Arc::<StagedWorld>::clone(&world)));
    let path = PathBuf::from("flow.yaml");
    let flow = "
env: { AT: '{{ run.scheduled_at }}' }
flow: [{ name: a, run: a }, { name: b, run: b, depends_on: a, env: { MADE: '{{ run.started_at }}' } }]
";
    let texts = BTreeMap::from([(path.clone(), Arc::from(flow))]);
    let loaded = load(std::slice::from_ref(&path), &texts);
    let order = FlowOrder::new(&loaded, vec![path], BTreeMap::new(), 1);
    let instant = "2026-03-01T02:30:00Z";
    let order = order.scheduled_at(instant.parse().unwrap());
    let host = FlowHost::new(Arc::clone(&means), |_| Ok(Vec::new()));
    let before = threads();
    let first = wheel(&before, &host, &store, Arc::default());
    let (flow, estimates) = (loaded.runnable().unwrap(), BTreeMap::new());
    let id = before.block_on(host.start(&first, flow, &order, &estimates)).unwrap().id();
    world.wait_for_beginnings(2);
    store.clone().take_tenure().unwrap();
    before.shutdown_background();
    drop(first);
    let given = |task: &str, name: &str| world.staged().asked[task].variables[name].clone();
    assert_eq!((given("a", "AT"), given("b", "AT")), (instant.into(), instant.into()));
    world.staged().asked.clear();

    let after = threads();
    let second = wheel(&after, &FlowHost::new(means, |_| Ok(Vec::new())), &store, Arc::default());
    let report = after.block_on(second.find_run(id).unwrap().report()).unwrap();
    assert!(report.is_success(), "{report:?}");
    assert_eq!(given("b", "AT"), instant);
    assert_ne!(given("b", "MADE"), instant, "it was accepted later than it was due");
    after.shutdown_background();
}
