//! Flows in flows as the command shows them.
//!
//! What they do is told by the stories of `tidewheel-flow/scenarios`.

use crate::common::{Scratch, stderr, wait_until};
use serde_json::Value;

/// The result of a run, whatever its exit code.
#[track_caller]
fn result(scratch: &Scratch, arguments: &[&str], code: i32) -> Value {
    let output = scratch.run(&[arguments, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
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
        r#"[fish, "--command=echo {{ params.p }}"]"#,
        r#"[fish, --command, "echo {{ params.p }}"]"#,
        r#"[node, "--eval={{ params.p }}"]"#,
        r#"[ssh, host, "echo {{ params.p }}"]"#,
        r#"[sudo, /usr/bin/ssh, -p, "22", "{{ params.p }}", echo, "{{ params.p }}"]"#,
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
  - { name: c, argv: [ssh, -l, me, "{{ params.p }}", uptime, -p], allow_options: true }
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
    assert_eq!(step("call/next").1, "stopped by `call/push`");
    assert_eq!(step("call/check").1, "stopped by `call/push`");
    assert_eq!(result["steps"]["call/next"]["attempts"], 0);
    assert_eq!(step("call/tidy").0, "succeeded");
    assert_eq!(step("call").0, "failed");
    assert!(!scratch.path("next").exists() && !scratch.path("check").exists());
}
