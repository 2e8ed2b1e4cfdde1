//! Runs that have been: what is run again of them, and why their tasks are where they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};
use tidewheel::TaskState;
use tidewheel::store::RunDetail;
use tidewheel::task::Reason;

use super::listing::run;
use super::load_texts;
use crate::{Again, AgainError, AgainWith, FLOW_KIND, FlowOrder, OrderError, PastRun, Scene, Why};

const FILE: &str = "flow.yaml";

fn order(text: &str) -> FlowOrder {
    let loaded = load_texts(&[(FILE, text)]);
    FlowOrder::new(&loaded, vec![PathBuf::from(FILE)], BTreeMap::new(), 2)
}

fn outputs(index: u32) -> Map<String, Json> {
    Map::from_iter([("index".to_owned(), json!(index))])
}

/// What is run again, and what is reused.
fn again(
    past: &RunDetail,
    order: &FlowOrder,
    with: &AgainWith,
) -> Result<(Vec<String>, Vec<String>), AgainError> {
    let flow = order.flow().unwrap();
    let past = PastRun { run: past, order, outputs: &outputs };
    let Again { run_again, reused, .. } = past.again(&flow, with)?;
    Ok((run_again, reused.into_keys().collect()))
}

fn from(step: &str) -> AgainWith {
    AgainWith { from: Some(step.to_owned()), ..AgainWith::default() }
}

fn without(step: &str) -> AgainWith {
    AgainWith { skip: BTreeSet::from([step.to_owned()]), ..AgainWith::default() }
}

fn ended(tasks: &[(&str, TaskState)]) -> RunDetail {
    let tasks: Vec<_> = tasks.iter().map(|(name, state)| (*name, *state, Reason::Error)).collect();
    run(TaskState::Failed, &tasks)
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const CHAIN: &str = "
flow:
  - { name: build, run: make }
  - { name: each, foreach: [1, 2], depends_on: [build], run: 'true' }
  - { name: ship, depends_on: [each], run: 'true' }
finally:
  - { name: tidy, run: 'true' }
";

#[test]
fn what_succeeded_is_reused_and_clean_up_runs_again() {
    use TaskState::{Failed, Skipped, Succeeded};

    let past = ended(&[
        ("build", Succeeded),
        ("each[0]", Succeeded),
        ("each[1]", Failed),
        ("each", Skipped),
        ("ship", Skipped),
        ("tidy", Succeeded),
    ]);
    let order = order(CHAIN);
    let nothing = AgainWith::default();
    let (run_again, reused) = again(&past, &order, &nothing).unwrap();
    assert_eq!(run_again, words(&["each[1]", "each", "ship", "tidy"]));
    assert_eq!(reused, words(&["build", "each[0]"]));

    let (run_again, reused) = again(&past, &order, &from("each")).unwrap();
    assert_eq!(run_again, words(&["each[0]", "each[1]", "each", "ship", "tidy"]));
    assert_eq!(reused, words(&["build"]));

    let changed = BTreeSet::from(["build".to_owned()]);
    let changed = AgainWith { changed, ..AgainWith::default() };
    let (_, reused) = again(&past, &order, &changed).unwrap();
    assert_eq!(reused, words(&[]));
}

#[test]
fn only_steps_whose_definition_changed_count_as_changed() {
    let (before, now) = (order(CHAIN), order(&CHAIN.replace("run: make", "run: make all")));
    assert_eq!(now.changed_since(&before), BTreeSet::from(["build".to_owned()]));
    assert_eq!(before.changed_since(&before), BTreeSet::new());
}

#[test]
fn what_a_part_was_given_is_given_again() {
    let past = ended(&[("ship", TaskState::Failed)]);
    let mut order = order(CHAIN);
    order.only = Some(words(&["ship"]));
    order.reused = BTreeMap::from([("each".to_owned(), outputs(7))]);
    let flow = order.flow().unwrap();
    let part = PastRun { run: &past, order: &order, outputs: &outputs };
    let all = part.again(&flow, &from("ship")).unwrap();
    assert_eq!(all.reused.get("each"), Some(&outputs(7)));
    let error = part.again(&flow, &from("build")).unwrap_err();
    assert_eq!(error, AgainError::NotInPart { step: "build".to_owned() });
    let error = part.again(&flow, &from("bild")).unwrap_err();
    assert_eq!(error, AgainError::NoStep { step: "bild".to_owned() });
}

#[test]
fn what_may_have_taken_effect_is_run_again_only_by_name() {
    let past = ended(&[("build", TaskState::Unknown), ("ship", TaskState::Skipped)]);
    let order = order(CHAIN);
    let nothing = AgainWith::default();
    let error = again(&past, &order, &nothing).unwrap_err();
    assert_eq!(error, AgainError::Unknown { step: "build".to_owned() });
    let error = again(&past, &order, &from("ship")).unwrap_err();
    assert_eq!(error, AgainError::Unknown { step: "build".to_owned() });
    assert!(again(&past, &order, &from("build")).is_ok());
    assert!(again(&past, &order, &without("build")).is_ok());
}

#[test]
fn a_step_that_is_skipped_counts_as_done_and_leaves_nothing() {
    use TaskState::{Failed, Skipped, Succeeded};

    let past =
        ended(&[("build", Succeeded), ("each[0]", Failed), ("each", Skipped), ("ship", Skipped)]);
    let order = order(CHAIN);
    let flow = order.flow().unwrap();
    let part = PastRun { run: &past, order: &order, outputs: &outputs };
    let again = part.again(&flow, &without("each")).unwrap();
    assert_eq!(again.run_again, words(&["ship"]));
    assert_eq!(again.reused.get("each"), Some(&Map::new()));
    assert_eq!(again.reused.get("build"), Some(&outputs(0)));
    let error = part.again(&flow, &without("eash")).unwrap_err();
    assert_eq!(error, AgainError::NoStep { step: "eash".to_owned() });
}

const BOUND: &str = "
limits: { database: 2 }
queues: { narrow: { slots: 1 } }
flow:
  - { name: a, run: x, limits: { database: 2 } }
  - { name: b, run: x, limits: [database] }
  - { name: c, run: x, key: one }
  - { name: d, run: x, key: one }
  - { name: f, run: x, queue: narrow }
  - { name: g, run: x, queue: narrow }
  - { name: each, foreach: { in: [1, 2, 3], parallel: 1 }, run: x }
  - { name: e, run: x, depends_on: [a, b] }
";

/// Why the last of these tasks is where it is.
fn why(tasks: &[(&str, TaskState)], change: impl Fn(&mut RunDetail)) -> Why {
    let tasks: Vec<_> =
        tasks.iter().map(|(name, state)| (*name, *state, Reason::Ordinary)).collect();
    let mut run = run(TaskState::Running, &tasks);
    change(&mut run);
    let order = order(BOUND);
    let scene = Scene::new(&run, Some(&order), run.summary.shard.is_some());
    scene.why(run.tasks.last().unwrap())
}

#[test]
fn a_task_that_could_start_says_what_keeps_it() {
    use TaskState::{Ready, Running};

    let as_is = |_: &mut RunDetail| {};
    let held = |tasks| why(tasks, as_is);
    let holders = |name: &str| vec![name.to_owned()];
    assert_eq!(
        held(&[("a", Running), ("b", Ready)]),
        Why::Limit { name: "database".to_owned(), holders: holders("a") }
    );
    assert_eq!(held(&[("c", Running), ("b", Ready)]), Why::AboutToStart);
    assert_eq!(
        held(&[("c", Running), ("d", Ready)]),
        Why::Key { name: "one".to_owned(), holders: holders("c") }
    );
    assert_eq!(
        held(&[("each[0]", Running), ("each[1]", Ready)]),
        Why::Elements { step: "each".to_owned(), most: 1, holders: holders("each[0]") }
    );
    assert_eq!(
        held(&[("f", Running), ("g", Ready)]),
        Why::Queue { name: "narrow".to_owned(), most: 1, holders: holders("f") }
    );
    let both = words(&["a", "c"]);
    assert_eq!(
        held(&[("a", Running), ("c", Running), ("each[0]", Ready)]),
        Why::Slots { most: 2, holders: both }
    );
    let paused = |run: &mut RunDetail| run.summary.is_paused = true;
    assert_eq!(why(&[("a", Ready)], paused), Why::Paused);
    let interrupted = |run: &mut RunDetail| run.summary.shard = Some("left".to_owned());
    assert_eq!(why(&[("a", Ready)], interrupted), Why::Interrupted);
}

#[test]
fn a_task_that_waits_for_others_names_those_that_have_not_ended() {
    use TaskState::{Blocked, Running, Succeeded};

    let needs = |run: &mut RunDetail| run.tasks[2].after = vec![0, 1];
    let tasks = [("a", Succeeded), ("b", Running), ("e", Blocked)];
    assert_eq!(why(&tasks, needs), Why::Needs(words(&["b"])));
}

#[test]
fn a_failed_attempt_is_named_while_its_task_waits_for_the_next() {
    let failed = |run: &mut RunDetail| run.tasks[0].error = Some("oh no".to_owned());
    let retry = Why::Retry { at: None, error: "oh no".to_owned() };
    assert_eq!(why(&[("a", TaskState::Delayed)], failed), retry);
    assert_eq!(why(&[("a", TaskState::Delayed)], |_| {}), Why::StartsAt(None));
    let ended = Why::Ended { reason: Reason::Ordinary, error: Some("oh no".to_owned()) };
    assert_eq!(why(&[("a", TaskState::Failed)], failed), ended);
}

#[test]
fn tasks_know_how_often_they_are_tried() {
    let text = "
flow:
  - { name: once, run: x }
  - { name: each, foreach: [1], run: x, retry: 2 }
  - { name: ask, http: { url: 'http://localhost/' } }
  - { name: insist, http: { url: 'http://localhost/' }, retry: 0 }
";
    let flow = order(text).flow().unwrap();
    let attempts = |task: &str| flow.attempts_of_task(task);
    assert_eq!((attempts("once"), attempts("each"), attempts("each[0]")), (None, None, Some(3)));
    assert_eq!((attempts("ask"), attempts("insist")), (Some(4), None));
}

#[test]
fn only_payloads_of_flows_are_flows() {
    let order = order("name: x\nflow:\n- name: a\n  run: 'true'\n");
    let payload = order.to_payload();
    let read = |kind: Option<&str>, payload: &[u8]| FlowOrder::from_payload(kind, Some(payload));
    assert_eq!(read(Some(FLOW_KIND), &payload).unwrap(), order);
    // From before there were kinds.
    assert_eq!(read(None, &payload).unwrap(), order);
    let other = read(Some("publish"), &payload).unwrap_err();
    assert!(other.to_string().contains("it is of the kind `publish`"), "{other}");
    let newer = read(Some(FLOW_KIND), br#"{"version":99}"#);
    assert!(matches!(newer, Err(OrderError::Newer)), "{newer:?}");
}
