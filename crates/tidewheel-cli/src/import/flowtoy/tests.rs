//! Flows of flowtoy, and what becomes of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;
use crate::import::Warning;

fn imported(text: &str) -> (Json, String, Vec<String>) {
    let value = tidewheel_client::files::parse_yaml(text).unwrap();
    let imported = import(vec![("flow.yaml".to_owned(), value)]).unwrap();
    let value = match tidewheel_client::files::parse_yaml(&imported.text) {
        Ok(value) => value,
        Err(error) => panic!("{error}\n{}", imported.text),
    };
    let warnings = imported.warnings.iter().map(Warning::to_string).collect();
    (value, imported.text, warnings)
}

fn assert_loads(text: &str) {
    let path = PathBuf::from("flow.yaml");
    let texts = BTreeMap::from([(path.clone(), Arc::from(text))]);
    let loaded = tidewheel_client::files::FlowFiles::of_texts(&[path], &texts);
    assert!(loaded.runnable().is_ok(), "{text}\n{}", loaded.problems(false, 100));
}

#[test]
fn a_flow_of_0_4_0_stays_what_it_is() {
    let text = "\
sources:
  greeter:
    type: process
    configuration:
      command: [echo]
      pass_to: arg
runner:
  max_workers: 2
flow:
  - name: greet
    source: greeter
    input: hello
    output:
      - name: text
        type: jmespath
        value: stdout
  - name: shout
    source: greeter
    input: \"{{ flows.greet.text }}!\"
    depends_on: [greet]
";
    let (value, written, warnings) = imported(text);
    assert_eq!(value, {
        let mut value = tidewheel_client::files::parse_yaml(text).unwrap();
        let runner = value.as_object_mut().unwrap().remove("runner").unwrap();
        value["runner"] = runner;
        value
    });
    assert_eq!(warnings, [""; 0]);
    assert!(written.starts_with("# Imported from flowtoy."), "{written}");
    assert_loads(&written);
}

#[test]
fn inputs_of_0_1_0_become_plain_values() {
    for (input, expected) in [
        ("{ type: parameter, value: 42 }", json!(42)),
        ("{ type: parameter, value: [a, b] }", json!(["a", "b"])),
        ("{ type: filter, template: '{{ flows.b.x }}' }", json!("{{ flows.b.x }}")),
        ("{ type: body, template: 'a' }", json!("a")),
    ] {
        let text = format!(
            "flow:\n  - name: a\n    \
             source: {{ type: process, configuration: {{ command: cat }} }}\n    \
             input: {input}\n    output: [{{ name: x, type: json }}]\n\
             \x20 - name: b\n    source: env\n"
        );
        let (value, written, warnings) = imported(&text);
        assert_eq!(value["flow"][0]["input"], expected);
        assert!(written.contains("# Written as in flowtoy 0.1.0"), "{written}");
        assert!(written.contains("# Since flowtoy 0.4.0"), "{written}");
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }
    for input in
        ["{ type: parameter }", "{ type: other, value: 1 }", "{ type: body, template: a, b: 1 }"]
    {
        let text = format!("flow: [{{ name: a, source: env, input: {input} }}]");
        let (value, _, warnings) = imported(&text);
        assert!(value["flow"][0]["input"].is_object());
        assert_eq!(warnings, [""; 0]);
    }
}

#[test]
fn what_differs_is_said_at_its_place() {
    for (step, comment) in [
        ("source: env\n    on_error: Skip", "    # flowtoy went by this only when"),
        ("source: env\n    depends_on: b", "    # flowtoy passed over this"),
        (
            "source: env\n    input: { x: '{{ flows.b.y }}' }",
            "    # Templates in here are filled in",
        ),
        ("source: env\n    input: '{{ flows.b.y }}'", "    # A lone expression keeps its type"),
        (
            "source: { base: web, override: { configuration: { url: x } } }",
            "      # Only the keys below change here",
        ),
        ("source: web", "    # Tidewheel would try a request again"),
    ] {
        let text = format!(
            "sources:\n  web:\n    type: rest\n    \
             configuration: {{ url: 'http://localhost', method: post }}\n\
             flow:\n  - name: a\n    {step}\n  - name: b\n    source: env\n"
        );
        let (_, written, _) = imported(&text);
        assert!(written.contains(comment), "{written}");
    }
}

#[test]
fn what_had_no_effect_is_left_out_with_a_warning() {
    for (text, warning) in [
        ("version: 1", "the flow: `version`"),
        ("runner: { retries: 2 }", "runner: `retries`"),
        ("runner: { max_workers: '3' }", "runner: `max_workers: \"3\"`"),
        ("runner: 3", "`runner` is no mapping"),
        ("flow: [{ name: a, source: env, timeout: 3 }]", "step `a`: `timeout`"),
        (
            "flow: [{ name: a, source: { type: process, \
             configuration: { command: a, shell: true } } }]",
            "step `a`: `shell`",
        ),
        (
            "sources: { s: { type: rest, configuration: { url: x, timeout: 3 } } }",
            "source `s`: `timeout`",
        ),
        (
            "flow: [{ name: a, source: env, output: [{ name: x, value: y }] }]",
            "step `a`, output `x`: `value`",
        ),
        (
            "flow: [{ name: a, source: env, output: [{ type: raw }] }]",
            "step `a`: an output without a name",
        ),
        ("flow: [{ name: 7, source: env }]", "step 1: it has no text as `name`"),
        ("flow: [text]", "step 1: it is no mapping"),
        (
            "flow: [{ name: a, source: env }, { name: a, source: env }]",
            "step 1: another `a` follows",
        ),
        (
            "flow: [{ name: a, source: env, depends_on: [3] }]",
            "step `a`: `depends_on` names something",
        ),
        ("flow: [{ name: a, source: env, on_error: [x] }]", "step `a`: `on_error: [\"x\"]`"),
    ] {
        let (_, written, warnings) = imported(text);
        assert_eq!(warnings.len(), 1, "{text}: {warnings:?}");
        assert!(warnings[0].starts_with(warning), "{text}: {warnings:?}");
        if text.starts_with("flow") && !text.contains("text") {
            assert_loads(&written.replace("source: env", "run: 'true'"));
        }
    }
}

#[test]
fn words_are_brought_up_to_date() {
    let (value, ..) = imported("runner: { max_workers: true, on_error: CONTINUE }");
    assert_eq!(value["runner"], json!({ "max_workers": 1, "on_error": "continue" }));
    let (value, _, warnings) = imported("runner: { on_error: explode, max_workers: 0 }");
    assert_eq!(value["runner"], json!({ "on_error": "fail" }));
    assert_eq!(warnings.len(), 2);
    let (value, ..) =
        imported("flow: [{ name: a, source: env, output: [{ name: x, type: json }] }]");
    assert_eq!(value["flow"][0]["output"], json!([{ "name": "x", "type": "raw" }]));
    let (value, ..) = imported("flow: [{ name: a, source: env, depends_on: b, on_error: '' }]");
    assert_eq!(value["flow"][0]["depends_on"], json!(["b"]));
    assert_eq!(value["flow"][0]["on_error"], Json::Null);
    let text = "sources: { e: { type: env, configuration: { vars: HOME } } }";
    assert_eq!(imported(text).0["sources"]["e"]["configuration"]["vars"], json!(["HOME"]));
    let text = "sources: { p: { type: process, configuration: { command: a, pass_to: x } } }";
    assert_eq!(imported(text).0["sources"]["p"]["configuration"]["pass_to"], "arg");
}

#[test]
fn a_step_that_always_failed_still_does() {
    let (value, written, warnings) = imported("flow: [{ name: a }]");
    assert!(value["flow"][0]["run"].as_str().unwrap().ends_with("exit 1"));
    assert_eq!(warnings.len(), 1);
    assert_loads(&written);
}

#[test]
fn files_are_merged_as_flowtoy_does_it() {
    let parse =
        |text: &str| ("x.yaml".to_owned(), tidewheel_client::files::parse_yaml(text).unwrap());
    let files = vec![
        parse(
            "sources: { a: { type: env, configuration: { vars: [A] } } }\n\
             flow: [{ name: a, source: a }]",
        ),
        parse(""),
        parse("sources: { a: { configuration: { vars: [B] } } }\nflow: [{ name: b, source: a }]"),
    ];
    let merged = import(files).unwrap();
    let value = tidewheel_client::files::parse_yaml(&merged.text).unwrap();
    assert_eq!(value["sources"]["a"], json!({ "type": "env", "configuration": { "vars": ["B"] } }));
    assert_eq!((merged.steps, &value["flow"][0]["name"]), (1, &json!("b")));
}

#[test]
fn what_is_no_flow_is_an_error() {
    for text in ["[]", "text", "flow: {}", "sources: []"] {
        let value = tidewheel_client::files::parse_yaml(text).unwrap();
        assert!(import(vec![("x.yaml".to_owned(), value)]).is_err(), "{text}");
    }
}

#[test]
fn a_plugin_whose_name_is_a_type_of_ours_is_not_called_unknown() {
    for (kind, expected) in [
        ("file", "Tidewheel has a type of that name"),
        ("http", "Tidewheel has a type of that name"),
        ("ftp", "which Tidewheel does not have"),
    ] {
        let text = format!(
            "sources:\n  s: {{ type: {kind}, configuration: {{ path: a.txt }} }}\n\
             flow: [{{ name: a, source: s }}]\n"
        );
        let (flow, _, warnings) = imported(&text);
        assert!(warnings.iter().any(|text| text.contains(expected)), "{kind}: {warnings:?}");
        assert_eq!(flow["sources"]["s"]["configuration"]["path"], "a.txt");
    }
}
