//! Runs that have been: what is run again of them, and why their tasks are where they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};
use tidewheel::TaskState;
use tidewheel::store::RunDetail;
use tidewheel::task::Reason;

use super::listing::run;
use super::load_texts;
use crate::{Again, AgainError, AgainWith, FLOW_KIND, FlowOrder, OrderError, PastRun};

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
    assert_eq!(again.passed_over, BTreeSet::from(["each".to_owned(), "each[0]".to_owned()]));
    // A retry of the retry knows it too, unless the step is run after all.
    let second = FlowOrder {
        reused: again.reused.clone(),
        passed_over: again.passed_over.clone(),
        ..order.clone()
    };
    let run = ended(&[("build", Succeeded), ("each", Succeeded), ("ship", Failed)]);
    let part = PastRun { run: &run, order: &second, outputs: &outputs };
    assert!(part.again(&flow, &AgainWith::default()).unwrap().passed_over.contains("each"));
    let from = AgainWith { from: Some("each".to_owned()), ..AgainWith::default() };
    assert!(!part.again(&flow, &from).unwrap().passed_over.contains("each"));
    let part = PastRun { run: &past, order: &order, outputs: &outputs };
    let error = part.again(&flow, &without("eash")).unwrap_err();
    assert_eq!(error, AgainError::NoStep { step: "eash".to_owned() });
}

#[test]
fn nothing_is_mended_where_a_group_succeeded_in_another_try() {
    use TaskState::{Cancelled, Failed, Skipped, Succeeded};

    let text = "
flow:
  - { name: g, retry: 1, steps: [{ name: a, run: x }, { name: b, run: x }] }
  - { name: side, on_error: continue, run: x }
finally: [{ name: mail, run: x }]
";
    let order = order(text);
    let flow = order.flow().unwrap();
    let mends = |side: TaskState, mail: TaskState, with: &AgainWith| {
        let past = ended(&[
            ("g/a", Failed),
            ("g/b", Cancelled),
            ("g{1}", Failed),
            ("g{2}[]", Succeeded),
            ("g{2}/a", Succeeded),
            ("g{2}/b", Succeeded),
            ("g{2}", Succeeded),
            ("g", Succeeded),
            ("side", side),
            ("mail", mail),
        ]);
        let part = PastRun { run: &past, order: &order, outputs: &outputs };
        part.again(&flow, with).unwrap().mends(&past)
    };
    let nothing = AgainWith::default();
    assert!(!mends(Succeeded, Succeeded, &nothing));
    assert!(!mends(Skipped, Succeeded, &nothing), "a condition that did not hold is no failure");
    assert!(mends(Failed, Succeeded, &nothing), "what was tolerated can be mended");
    assert!(mends(Succeeded, Failed, &nothing), "so can a hook");
    assert!(mends(Failed, Succeeded, &without("side")), "and what is passed over instead");
    assert!(!mends(Succeeded, Succeeded, &without("side")));
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
