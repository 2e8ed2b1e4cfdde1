//! Contexts that share what they hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::super::{Context, Data, Lookup};
use super::template;

#[derive(Default)]
struct Outputs {
    steps: BTreeMap<String, Data>,
    asked: AtomicUsize,
    listed: AtomicUsize,
}

impl Lookup for Outputs {
    fn value(&self, name: &str) -> Option<Data> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.steps.get(name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.listed.fetch_add(1, Ordering::Relaxed);
        self.steps.keys().cloned().collect()
    }
}

fn outputs(count: usize) -> Arc<Outputs> {
    let steps =
        (0..count).map(|index| (format!("step{index}"), json!({"n": index}).into())).collect();
    Arc::new(Outputs { steps, ..Outputs::default() })
}

#[test]
fn only_what_a_template_asks_for_is_looked_up() {
    let outputs = outputs(10_000);
    let context = Context::new().with_lookup("flows", outputs.clone());
    let rendered = template("{{ flows.step77.n + flows['step3'].n }}").render(&context);
    assert_eq!(rendered, Ok(json!(80)));
    assert_eq!(outputs.asked.load(Ordering::Relaxed), 2);
    assert_eq!(outputs.listed.load(Ordering::Relaxed), 0);
}

#[test]
fn a_lookup_is_like_a_map() {
    let context = Context::new().with_lookup("flows", outputs(3));
    for (source, expected) in [
        ("{{ flows }}", json!({"step0": {"n": 0}, "step1": {"n": 1}, "step2": {"n": 2}})),
        ("{{ flows | length }}", json!(3)),
        ("{{ flows | list }}", json!(["step0", "step1", "step2"])),
        ("{{ 'step1' in flows }}", json!(true)),
        ("{{ 'step9' in flows }}", json!(false)),
        ("{{ flows.step9.n | default(-1) }}", json!(-1)),
        ("{{ flows.step9 is defined }}", json!(false)),
        ("{{ flows.get('step2').n }}", json!(2)),
        (
            "{% for k, v in flows.items() %}{{ k }}={{ v.n }} {% endfor %}",
            json!("step0=0 step1=1 step2=2 "),
        ),
        ("{{ flows.values() | map(attribute='n') | sum }}", json!(3)),
        ("{% if flows %}some{% endif %}", json!("some")),
        ("{{ flows is mapping }}", json!(true)),
        ("{{ (flows | dictsort | last)[0] }}", json!("step2")),
    ] {
        assert_eq!(template(source).render(&context), Ok(expected), "{source}");
    }
    let error = template("{{ flows.step1.m }}").render(&context).expect_err("no m");
    assert_eq!(error.undefined.as_deref(), Some("flows.step1.m"));
    let error = template("{{ flows.stp1.n }}").render(&context).expect_err("no such step");
    assert_eq!(error.hint.as_deref(), Some("perhaps `step1` is meant"));
}

#[test]
fn a_name_that_is_added_again_is_replaced() {
    let context = Context::new().with("a", json!(1)).with("a", json!(2));
    assert_eq!(template("{{ a }}").render(&context), Ok(json!(2)));
}

#[test]
fn templates_and_contexts_can_be_used_by_several_threads() {
    fn check<T: Send + Sync + Clone + 'static>(_: &T) {}
    check(&template("{{ 1 }}"));
    check(&Context::new());
    check(&super::engine());
}

#[test]
fn large_maps_are_found_through_quickly_and_in_order() {
    let keys: Vec<String> = (0..2_000).rev().map(|index| format!("k{index}")).collect();
    let mut source = String::from("{% set m = {");
    keys.iter().take(1_500).for_each(|key| source.push_str(&format!("'{key}': '{key}',")));
    source.push_str("'k700': 'again'} %}{{ m.k700 }} {{ m.k1999 }} {{ (m | list)[:2] }}");
    let rendered = template(&source).render_text(&Context::new());
    assert_eq!(rendered.as_deref(), Ok("again k1999 [\"k1999\", \"k1998\"]"));
}

#[test]
fn listing_a_lookup_again_and_again_is_refused() {
    let context = Context::new().with_lookup("flows", outputs(5_000));
    for body in ["flows == {}", "flows | length > 9", "not flows", "flows | first == 'a'"] {
        let source =
            format!("{{% for i in range(9000) %}}{{% if {body} %}}{{% endif %}}{{% endfor %}}");
        let error = template(&source).render(&context).expect_err(body);
        assert!(error.is_limit, "{body}: {error}");
    }
}

#[test]
fn contexts_do_not_show_their_values_to_logs() {
    let context = Context::new().with("token", json!("hunter2"));
    assert_eq!(format!("{context:?}"), "[\"token\"]");
    assert_eq!(format!("{:?}", Data::from(json!("hunter2"))), "Data(\"a text\")");
}
