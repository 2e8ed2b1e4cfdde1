//! Files of flowtoy 0.4 that are checked before anything runs: conformance scenarios FT-05 to FT-08 and others.
//!
//! What their steps do is in `scenarios/flowtoy`; real processes are in `tidewheel-cli`, `tests/it/flowtoy_files.rs`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tidewheel_flow::{Loaded, load};

const SOURCES: &str = "
sources:
  sh: { type: process, configuration: { command: [sh, -c] } }
  cat: { type: process, configuration: { command: [cat], pass_to: stdin } }
  words: { type: process, configuration: { command: [printf, '<%s>'] } }
";

fn load_text(text: &str) -> Loaded {
    let path = PathBuf::from("flow.yaml");
    load(std::slice::from_ref(&path), &BTreeMap::from([(path.clone(), Arc::from(text))]))
}

/// Returns the code, message and hint of each problem of a flow with [`SOURCES`].
fn problems(flow: &str) -> Vec<(&'static str, String, String)> {
    let loaded = load_text(&format!("{SOURCES}{flow}"));
    let parts = loaded.problems.iter().map(|problem| {
        let hint = problem.hint.as_deref().unwrap_or_default();
        (problem.code, problem.message.to_string(), hint.to_owned())
    });
    parts.collect()
}

fn refusals(flow: &str) -> Vec<(&'static str, String)> {
    assert!(load_text(&format!("{SOURCES}{flow}")).runnable().is_none(), "{flow}");
    problems(flow).into_iter().map(|(code, message, _)| (code, message)).collect()
}

#[test]
fn ft05_all_missing_steps_are_named() {
    let found = refusals(
        "
flow:
  - { name: good, source: sh, input: 'true' }
  - { name: one, source: sh, input: 'true', depends_on: [missing1, good] }
  - { name: two, source: sh, input: 'true', depends_on: [missing2, missing3] }
",
    );
    let expected =
        [("one", "missing1"), ("two", "missing2"), ("two", "missing3")].map(|(step, missing)| {
            ("missing-step", format!("step `{step}` waits for `{missing}`, which does not exist"))
        });
    assert_eq!(found, expected);
}

#[test]
fn ft06_ft07_templates_and_names_of_another_case_are_checked_too() {
    let flow = "
flow:
  - { name: Step1, source: sh, input: 'true', output: [{ name: o }] }
  - { name: b, source: cat, input: 'x {{ flows.step1.o }} {{ flows[\"other\"][\"o\"] }}' }
  - { name: c, source: sh, input: 'true', depends_on: [step1] }
";
    let messages: Vec<String> = refusals(flow).into_iter().map(|(_, message)| message).collect();
    assert_eq!(
        messages,
        [
            "there is no step `step1`",
            "there is no step `other`",
            "step `c` waits for `step1`, which does not exist",
        ]
    );
    assert!(problems(flow)[0].2.contains("did you mean `Step1`?"), "{:?}", problems(flow));
}

#[test]
fn ft08_circles_are_refused() {
    let own = "flow: [{ name: a, source: sh, input: 'true', depends_on: [a] }]\n";
    assert_eq!(refusals(own), [("cycle", "step `a` waits for itself".to_owned())]);
    let both = "
flow:
  - { name: a, source: cat, input: '{{ flows.b.o }}', output: [{ name: o }] }
  - { name: b, source: cat, input: '{{ flows.a.o }}', output: [{ name: o }] }
  - { name: c, source: sh, input: 'true' }
";
    assert_eq!(
        refusals(both),
        [("cycle", "steps wait for each other: `b` → `a` → `b`".to_owned())]
    );
}

#[test]
fn unknown_sources_are_refused_with_the_nearest_name() {
    let flow = "flow: [{ name: a, source: wrods, input: x }]\n";
    assert_eq!(refusals(flow), [("unknown-source", "there is no source `wrods`".to_owned())]);
    assert!(problems(flow)[0].2.contains("did you mean `words`?"), "{:?}", problems(flow));
}

#[test]
fn names_are_unique() {
    let flow = "flow: [{ name: a, source: words }, { name: a, source: cat }]\n";
    assert_eq!(refusals(flow), [("duplicate-step", "there are two steps called `a`".to_owned())]);
}

#[test]
fn types_of_outputs_are_known_words_and_the_old_one_is_warned_of() {
    let flow = "flow: [{ name: a, source: words, output: [{ name: o, type: jsonpath }] }]\n";
    let expected = "`type` must be one of `raw`, `json`, `jmespath`";
    assert_eq!(refusals(flow), [("unknown-word", expected.to_owned())]);
    let old =
        "flow: [{ name: a, source: words, output: [{ name: o, type: json }, { name: p }] }]\n";
    let found = problems(old);
    let [(code, message, _)] = &found[..] else { panic!("{found:?}") };
    assert!(*code == "deprecated" && message.contains("`type: json`"), "{found:?}");
}

#[test]
fn values_that_become_shell_text_are_warned_of() {
    for source in [
        "{ type: process, configuration: { command: [sh, -c] } }",
        "{ type: process, configuration: { command: [sh], pass_to: stdin } }",
        "{ type: process, configuration: { command: [env, sh, -c, 'echo {{ params.x }}'] } }",
        "{ type: process, configuration: { command: [sh, -c, 'echo {{ input }}'], pass_to: template } }",
    ] {
        let flow = format!(
            "params: {{ x: 1 }}\nflow: [{{ name: a, source: {source}, input: 'echo {{{{ params.x }}}}' }}]\n"
        );
        let loaded = load_text(&flow);
        assert!(loaded.problems.iter().any(|it| it.code == "template-in-shell"), "{source}");
    }
}

#[test]
fn keys_without_a_value_are_as_good_as_absent() {
    for text in [
        "",
        "# nothing\n",
        "flow: []\n",
        "sources: {}\n",
        "sources:\n  # none yet\nflow:\nrunner:\n",
        "flow: [{ name: a, source: { type: process, configuration: { command: ['true'] } }, output: null, depends_on: null, on_error: null, input: null }]\n",
    ] {
        let loaded = load_text(text);
        assert!(loaded.runnable().is_some(), "{text}: {:?}", loaded.problems);
    }
}
