//! Flows in flows, steps for many elements, and steps that follow a run, put together in every way.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Scratch, stderr};
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
