//! Flows in flows, steps for many elements, and steps that follow a run, put together in every way.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Scratch, stderr, wait_until};
use serde_json::{Value, json};

/// The result of a run, whatever its exit code.
#[track_caller]
fn result(scratch: &Scratch, arguments: &[&str], code: i32) -> Value {
    let output = scratch.run(&[arguments, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn state(result: &Value, step: &str) -> String {
    result["steps"][step]["state"].as_str().unwrap_or("missing").to_owned()
}

#[test]
fn a_flow_that_follows_a_run_is_called_only_when_it_is_its_turn() {
    let scratch = Scratch::new("calls-hooks");
    scratch.file(
        "undo.yaml",
        "flow: [{ name: a, run: echo a >> undone }, { name: b, depends_on: [a], run: echo b >> undone }]",
    );
    let file = scratch.file(
        "flow.yaml",
        "
params: { fail: false }
flow: [{ name: work, run: 'test \"$FAIL\" = false', env: { FAIL: '{{ params.fail }}' } }]
on_failure: [{ name: undo, flow: undo.yaml }]
finally: [{ name: tidy, flow: undo.yaml, when: 'params.fail' }]
",
    );
    let well = result(&scratch, &["run", &file], 0);
    assert!(!scratch.path("undone").exists());
    assert_eq!(state(&well, "undo/a"), "skipped");
    let failed = result(&scratch, &["run", &file, "-p", "fail=true"], 1);
    assert_eq!(
        (state(&failed, "undo/b"), state(&failed, "tidy/b")),
        ("succeeded".into(), "succeeded".into())
    );
    assert_eq!(scratch.read("undone").lines().count(), 4);
}

#[test]
fn a_clean_up_flow_stops_where_it_fails() {
    let scratch = Scratch::new("calls-hook-fails");
    scratch.file(
        "tidy.yaml",
        "flow: [{ name: a, run: exit 1 }, { name: b, depends_on: [a], run: touch never }]",
    );
    let file = scratch.file(
        "flow.yaml",
        "flow: [{ name: work, run: 'true' }]\nfinally: [{ name: tidy, flow: tidy.yaml }]",
    );
    let failed = result(&scratch, &["run", &file], 1);
    assert_eq!(
        (state(&failed, "tidy/b"), state(&failed, "tidy")),
        ("skipped".into(), "failed".into())
    );
    assert!(!scratch.path("never").exists());
}

#[test]
fn a_failure_inside_a_call_is_the_failure_of_the_call() {
    let scratch = Scratch::new("calls-error");
    scratch.file(
        "inner.yaml",
        "flow: [{ name: bad, run: exit 1 }, { name: next, depends_on: [bad], run: 'true' }, { name: other, run: 'true' }]",
    );
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: call, flow: inner.yaml, on_error: continue }
  - { name: after, depends_on: [call], run: 'true' }
",
    );
    let tolerated = result(&scratch, &["run", &file], 0);
    assert_eq!(state(&tolerated, "call/next"), "skipped");
    assert_eq!(state(&tolerated, "call/other"), "succeeded");
    assert_eq!(
        (state(&tolerated, "call"), state(&tolerated, "after")),
        ("failed".into(), "succeeded".into())
    );
    let file = scratch.file(
        "strict.yaml",
        "flow: [{ name: call, flow: inner.yaml }, { name: after, depends_on: [call], run: 'true' }]",
    );
    let strict = result(&scratch, &["run", &file], 1);
    assert_eq!(
        (state(&strict, "call"), state(&strict, "after")),
        ("failed".into(), "skipped".into())
    );
}

#[test]
fn a_call_goes_on_after_a_tolerated_failure_and_not_after_another() {
    let scratch = Scratch::new("calls-entry");
    scratch.file("inner.yaml", "flow: [{ name: a, run: 'true' }]");
    let file = scratch.file(
        "flow.yaml",
        "
runner: { on_error: skip }
flow:
  - { name: tolerated, run: exit 1, on_error: continue }
  - { name: strict, run: exit 1 }
  - { name: one, depends_on: [tolerated], flow: inner.yaml }
  - { name: two, depends_on: [strict], flow: inner.yaml }
",
    );
    let ended = result(&scratch, &["run", &file], 1);
    assert_eq!(
        (state(&ended, "one/a"), state(&ended, "one")),
        ("succeeded".into(), "succeeded".into())
    );
    assert_eq!(
        (state(&ended, "two/a"), state(&ended, "two")),
        ("skipped".into(), "skipped".into())
    );
}

#[test]
fn elements_that_cannot_be_found_out_fail_their_step() {
    let scratch = Scratch::new("calls-expander");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: list, run: echo 3, outputs: { n: "{{ json }}" } }
  - name: each
    foreach: "{{ flows.list.n }}"
    on_error: skip
    run: echo "$N"
    env: { N: "{{ item }}" }
    outputs: { n: "{{ stdout }}" }
  - { name: after, run: echo "$N" > after, env: { N: "{{ flows.each.n }}" } }
"#,
    );
    let ended = result(&scratch, &["run", &file], 0);
    assert_eq!(state(&ended, "each[]"), "failed");
    assert_eq!(
        (state(&ended, "each"), state(&ended, "after")),
        ("failed".into(), "skipped".into())
    );
    assert!(!scratch.path("after").exists());
}

#[test]
fn a_condition_on_the_element_is_looked_at_for_each() {
    let scratch = Scratch::new("calls-when");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: list, run: "echo '[1, 2, 3]'", outputs: { n: "{{ json }}" } }
  - name: each
    foreach: "{{ flows.list.n }}"
    when: item != 2
    run: echo "$N"
    env: { N: "{{ item }}" }
    outputs: { n: "{{ json }}" }
  - name: none
    foreach: "{{ flows.list.n }}"
    when: flows.list.n | length > 5
    run: 'true'
"#,
    );
    let ended = result(&scratch, &["run", &file], 0);
    assert_eq!(ended["outputs"]["each"]["n"], json!([1, null, 3]));
    assert_eq!(
        (state(&ended, "none[]"), state(&ended, "none")),
        ("skipped".into(), "skipped".into())
    );
}

#[test]
fn elements_found_out_late_come_before_everything_that_follows() {
    let scratch = Scratch::new("calls-late");
    scratch.file("tidy.yaml", "flow: [{ name: t, run: echo tidy >> ledger }]");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: list, run: "echo '[1, 2]'", outputs: { n: "{{ json }}" } }
  - name: each
    foreach: "{{ flows.list.n }}"
    run: echo each >> ledger
finally:
  - { name: many, foreach: [1, 2], run: echo many >> ledger }
  - { name: flow, flow: tidy.yaml }
"#,
    );
    result(&scratch, &["run", &file], 0);
    let ledger = scratch.read("ledger");
    let lines: Vec<&str> = ledger.lines().collect();
    assert_eq!((&lines[..2], lines.len()), (&["each", "each"][..], 5));
}

#[test]
fn a_called_flow_has_its_own_folder_secrets_and_limits() {
    let scratch = Scratch::new("calls-own");
    std::fs::create_dir(scratch.path("sub")).unwrap();
    scratch.file("token", "outer-token");
    std::fs::write(scratch.path("sub/token"), "inner-token").unwrap();
    std::fs::write(scratch.path("sub/data.txt"), "from sub").unwrap();
    std::fs::write(
        scratch.path("sub/inner.yaml"),
        r#"
limits: { db: 1 }
secrets: { token: { file: token } }
flow:
  - name: read
    limits: db
    run: cat data.txt; test "${TOKEN%-token}" = inner
    env: { TOKEN: "{{ secrets.token }}" }
    outputs: { text: "{{ stdout }}" }
"#,
    )
    .unwrap();
    let file = scratch.file(
        "flow.yaml",
        r#"
secrets: { token: { file: token } }
flow:
  - { name: call, flow: sub/inner.yaml }
  - name: own
    run: test "${TOKEN%-token}" = outer
    env: { TOKEN: "{{ secrets.token }}" }
"#,
    );
    let ended = result(&scratch, &["run", &file], 0);
    assert_eq!(ended["outputs"]["call"]["read"]["text"], "from sub");
}

#[test]
fn shells_are_seen_wherever_they_stand_in_a_command() {
    let scratch = Scratch::new("calls-shells");
    for argv in [
        r#"[sh, -c, "echo {{ params.p }}"]"#,
        r#"[env, sh, -c, "echo {{ params.p }}"]"#,
        r#"[timeout, "5", /bin/bash, -ec, "echo {{ params.p }}"]"#,
        r#"[bash, -c, -e, "echo {{ params.p }}"]"#,
    ] {
        let text = format!("params: {{ p: x }}\nflow: [{{ name: a, argv: {argv} }}]");
        let output = scratch.run(&["validate", &scratch.file("flow.yaml", &text)]);
        assert_eq!(output.status.code(), Some(3), "{argv}");
        assert!(stderr(&output).contains("template-in-shell"), "{argv}: {}", stderr(&output));
    }
    let fine = r#"
params: { p: x }
flow:
  - { name: a, argv: [sh, -c, 'echo "$1"', sh, "{{ params.p }}"] }
  - { name: b, run: 'true', env: { ENVIRONMENT: "{{ params.p }}" } }
"#;
    let output = scratch.run(&["validate", &scratch.file("flow.yaml", fine)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let odd = "flow: [{ name: a, run: 'echo {{ x }é' }]";
    let output = scratch.run(&["validate", &scratch.file("odd.yaml", odd)]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}

#[test]
fn a_failure_stops_a_called_flow_as_it_would_stop_the_flow_alone() {
    let scratch = Scratch::new("calls-stop");
    scratch.file(
        "child.yaml",
        "
flow:
  - { name: push, run: 'while [ ! -e runs ]; do sleep 0.02; done; exit 1' }
  - { name: long, run: 'touch runs; while [ ! -e stop ]; do sleep 0.02; done' }
  - { name: next, depends_on: [long], run: touch next }
  - { name: check, depends_on: [push], run: touch check }
  - { name: tidy, depends_on: [long], always: true, run: touch tidy }
",
    );
    let file = scratch.file("flow.yaml", "flow: [{ name: call, flow: child.yaml }]\n");
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("runs");
    wait_until("the failure is stored", || {
        scratch.json(&["show", "last"])["steps"]["call/push"]["state"] == "failed"
    });
    scratch.file("stop", "");
    assert_eq!(running.output().status.code(), Some(1));
    let result = scratch.json(&["show", "last"]);
    let step = |name: &str| (&result["steps"][name]["state"], &result["steps"][name]["reason"]);
    assert_eq!(step("call/next").0, "skipped");
    assert_eq!(step("call/next").1, "`call/push` stopped the called flow");
    assert_eq!(step("call/check").1, "`call/push` failed");
    assert_eq!(step("call/tidy").0, "succeeded");
    assert_eq!(step("call").0, "failed");
    assert!(!scratch.path("next").exists() && !scratch.path("check").exists());
}

#[test]
fn words_about_failure_count_inside_a_called_flow() {
    let scratch = Scratch::new("calls-words");
    scratch.file(
        "child.yaml",
        "
runner: { on_error: continue }
flow:
  - { name: a, run: exit 1 }
  - { name: b, depends_on: [a], run: touch b }
  - { name: c, depends_on: [a], on_dependency_error: skip, run: touch c }
",
    );
    let file = scratch.file("flow.yaml", "flow: [{ name: call, flow: child.yaml }]\n");
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(1));
    assert!(scratch.path("b").exists(), "the flow's own word is to go on");
    assert!(!scratch.path("c").exists());
}

#[test]
fn what_follows_the_run_obeys_its_words_about_failure_within_its_list() {
    let scratch = Scratch::new("calls-hooks");
    let file = scratch.file(
        "flow.yaml",
        "
flow: [{ name: a, run: exit 1 }]
finally:
  - { name: dump, run: exit 1 }
  - { name: drop, depends_on: [dump], run: touch drop }
  - { name: close, depends_on: [dump], on_dependency_error: continue, run: touch close }
",
    );
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(1));
    let result = scratch.json(&["show", "last"]);
    assert_eq!(result["steps"]["drop"]["reason"], "`dump` failed");
    assert!(scratch.path("close").exists() && !scratch.path("drop").exists());
}

#[test]
fn an_element_that_fails_stops_the_run_at_once_unless_words_say_otherwise() {
    let scratch = Scratch::new("calls-elements");
    let flow = |words: &str| {
        format!(
            "
runner: {{ max_workers: 1 }}
flow:
  - {{ name: each, foreach: [0, 1, 2], run: echo x >> ledger; exit 1{words} }}
  - {{ name: other, run: 'true' }}
"
        )
    };
    for (words, count) in [("", 1), (", on_error: fail", 1), (", on_error: skip", 3)] {
        let file = scratch.file("flow.yaml", &flow(words));
        scratch.file("ledger", "");
        scratch.run(&["run", &file]);
        assert_eq!(scratch.read("ledger").lines().count(), count, "{words}");
    }
}
