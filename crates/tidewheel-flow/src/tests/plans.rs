//! What a plan shows of what nobody knows yet.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::load_texts;
use crate::{FlowOrder, FlowPlan, UnknownElements, known_params};

const FLOW: &str = "\
params:
  day: { type: text }
  hosts: { type: list }
flow:
  - { name: list, run: ls, outputs: { files: '{{ stdout | lines }}' } }
  - { name: scan, foreach: '{{ flows.list.files }}', argv: [scan, '{{ item }}'], limits: [disk] }
  - { name: ping, foreach: '{{ params.hosts }}', argv: [ping, '{{ item }}'] }
  - { name: fixed, foreach: [1, 2], argv: [x, '{{ params.day }}'] }
  - { name: call, foreach: '{{ flows.list.files }}', flow: child.yaml }
limits: { disk: 1 }
";
/// Lists without templates are known wherever they stand.
#[test]
fn elements_of_called_flows_and_groups_are_known_where_they_are_written() {
    let whole = "flow:\n  - { name: c, flow: in.yaml }\n  - { name: g, steps: [{ name: x, foreach: [1], run: x }] }\n";
    let called = "flow: [{ name: leaf, foreach: [1, 2], label: 'n{{ item }}', run: x }]";
    let loaded = load_texts(&[("f.yaml", whole), ("in.yaml", called)]);
    let flow = loaded.runnable().unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let order = FlowOrder::new(&loaded, vec!["f.yaml".into()], BTreeMap::new(), 4);
    let plan = FlowPlan::new(flow, &order, &BTreeMap::new()).unwrap();
    assert_eq!(plan.unknown, []);
    let expected = ["c", "c/leaf", "c/leaf[n1]", "c/leaf[n2]", "g", "g/x", "g/x[0]"];
    assert_eq!(names(&plan), expected);
}

const CHILD: &str = "flow: [{ name: inner, run: x }]";

fn plan(params: serde_json::Value) -> FlowPlan {
    let loaded = load_texts(&[("f.yaml", FLOW), ("child.yaml", CHILD)]);
    let flow = loaded.runnable().unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let said = params.as_object().cloned().unwrap_or_default().into_iter().collect();
    let params = known_params(flow, said).unwrap();
    let order = FlowOrder::new(&loaded, vec!["f.yaml".into()], params, 4);
    FlowPlan::new(flow, &order, &BTreeMap::new()).unwrap()
}

fn names(plan: &FlowPlan) -> Vec<&str> {
    let mut names: Vec<&str> = plan.tasks.iter().map(|task| task.name.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn elements_that_nobody_knows_are_shown_as_one_for_each() {
    let plan = plan(json!({}));
    let expected = [
        "call",
        "call[*]",
        "call[*]/inner",
        "call[]",
        "fixed",
        "fixed[0]",
        "fixed[1]",
        "list",
        "ping",
        "ping[*]",
        "scan",
        "scan[*]",
        "scan[]",
    ];
    assert_eq!(names(&plan), expected);
    let unknown = |step: &str, list: &str, params: &[&str]| UnknownElements {
        step: step.to_owned(),
        list: list.to_owned(),
        params: params.iter().map(|name| (*name).to_owned()).collect(),
    };
    assert_eq!(
        plan.unknown,
        [
            unknown("scan", "{{ flows.list.files }}", &[]),
            unknown("ping", "{{ params.hosts }}", &["hosts"]),
            unknown("call", "{{ flows.list.files }}", &[]),
        ]
    );
    // Of those for each there may be none.
    assert_eq!((plan.tasks.len(), plan.count_min()), (13, 9));
    let after = |name: &str| &plan.tasks.iter().find(|task| task.name == name).unwrap().after;
    assert_eq!(after("scan[*]"), &["scan[]"]);
    assert_eq!(after("scan"), &["scan[*]"]);
    assert_eq!(after("ping"), &["ping[*]"]);
    assert_eq!(plan.limits["disk"], ["scan[*]"]);
    let drawn = plan.picture().text(100, false);
    assert!(drawn.contains("process · one for each of {{ params.hosts }}"), "{drawn}");
}

#[test]
fn params_that_are_given_make_elements_known() {
    let plan = plan(json!({ "hosts": ["a", "b"] }));
    assert!(names(&plan).contains(&"ping[1]") && !names(&plan).contains(&"ping[*]"));
    let steps: Vec<&str> = plan.unknown.iter().map(|elements| elements.step.as_str()).collect();
    assert_eq!(steps, ["scan", "call"]);
}

#[test]
fn a_wait_is_expected_to_take_the_time_it_says_and_nothing_else_is_learnt_of_waits() {
    let text = "
flow:
  - { name: pause, wait: 2s }
  - { name: gate, wait: { file: x }, estimate: 1m }
  - { name: work, run: x, estimate: 1m }
";
    let loaded = load_texts(&[("f.yaml", text)]);
    let order = FlowOrder::new(&loaded, vec!["f.yaml".into()], BTreeMap::new(), 4);
    let learnt = ["pause", "gate", "work"].map(|name| (name.to_owned(), Duration::from_millis(1)));
    let plan =
        FlowPlan::new(loaded.flow.as_ref().unwrap(), &order, &BTreeMap::from(learnt)).unwrap();
    let expected: Vec<_> = plan.tasks.iter().map(|task| task.expected).collect();
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(expected, [seconds(2), seconds(60), Some(Duration::from_millis(1))]);
}
