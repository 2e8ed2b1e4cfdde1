//! Steps that are done again and again, with real processes.

use std::time::{Duration, Instant};

use crate::common;
use crate::common::{Scratch, stderr, wait_until};
use serde_json::json;

#[test]
fn rounds_count_over_a_resume() {
    let scratch = Scratch::new("again-rounds");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: poll
    # The second round stays, so the run cannot end before it is killed.
    run: |
      echo x >> rounds
      test "$(wc -l < rounds)" -ne 2 || until [ -e go ]; do sleep 0.02; done
    repeat: { until: "round > 9", every: 10ms, max: 4 }
"#,
    );
    let rounds = || match scratch.path("rounds").exists() {
        true => scratch.read("rounds").lines().count(),
        false => 0,
    };
    let run = scratch.start(&["run", &file]);
    wait_until("it had a round", || rounds() > 0);
    run.signal("KILL");
    run.output();
    scratch.file("go", "");
    let output = scratch.run(&["resume", "last"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let shown = scratch.json(&["show", "last"]);
    let error = shown["steps"]["poll"]["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("after 4 rounds it does not hold that `round > 9`"), "{shown}");
    // One that the kill cut short is made again.
    assert!((4..=5).contains(&rounds()), "{} rounds", rounds());
}

#[test]
fn rounds_count_although_one_was_cut_short() {
    let scratch = Scratch::new("again-cut");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: poll
    run: |
      echo x >> rounds
      test "$(wc -l < rounds)" -ne 3 || { touch inside; sleep 1000; }
    repeat: { until: "round > 9", every: 10ms, max: 4 }
"#,
    );
    let run = scratch.start(&["run", &file]);
    wait_until("it is in its third round", || scratch.path("inside").exists());
    run.signal("KILL");
    run.output();
    let output = scratch.run(&["resume", "last"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("after 4 rounds")
            || common::stdout(&output).contains("after 4 rounds")
    );
    assert_eq!(scratch.read("rounds").lines().count(), 5, "two, one cut short, and two");
}

#[test]
fn a_wait_for_a_command_says_what_it_last_said() {
    let scratch = Scratch::new("again-wait");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: ready
    env: { WHAT: the database }
    wait: { run: "echo looked >> looks; test -f flag || { echo \"$WHAT sleeps\"; exit 1; }", every: 100ms }
    timeout: 1m
"#,
    );
    let run = scratch.start(&["run", &file]);
    wait_until("it was asked", || scratch.path("looks").exists());
    // Both in one answer: between two of them the next look may have begun, and then it does not wait.
    wait_until("it says for what it waits and why", || {
        let said = common::stdout(&scratch.run(&["explain", "last", "ready"]));
        said.contains("waits for a command to succeed")
            && said.contains("exit code 1: the database sleeps")
    });
    scratch.file("flag", "");
    let output = run.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = scratch.json(&["show", "last"]);
    assert_eq!(shown["steps"]["ready"]["state"], json!("succeeded"));
    assert_eq!(shown["steps"]["ready"]["attempts"], json!(1));
    // Looks may be very many: none leaves a file.
    let logs = walk(&scratch.data().join("logs"));
    assert_eq!(logs, 0, "files of looks are left");
}

fn walk(folder: &std::path::Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn a_wait_takes_as_long_as_it_waits() {
    let scratch = Scratch::new("again-took");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: time, wait: 300ms }
  - { name: file, wait: { file: flag, every: 20ms } }
  - { name: asks, depends_on: [time, file], run: echo "$T", env: { T: "{{ steps.time.took >= 0.3 }}" }, outputs: { t: "{{ stdout | trim }}" } }
"#,
    );
    let run = scratch.start(&["run", &file]);
    wait_until("it looks for the file", || {
        let shown = scratch.run(&["show", "last", "--format", "json"]);
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        shown["steps"]["file"]["attempts"] == 1
    });
    let looked = Instant::now();
    // elapsed: a lower bound of the time that the step waits.
    wait_until("it has waited for a while", || looked.elapsed() >= Duration::from_millis(200));
    scratch.file("flag", "");
    let output = run.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("succeeded time (0.0 s)"), "{}", stderr(&output));
    let shown = scratch.json(&["show", "last"]);
    let took = |step: &str| {
        let at = |key: &str| {
            let text = shown["steps"][step][key].as_str().unwrap().to_owned();
            text.trim_end_matches('Z').rsplit(':').next().unwrap().parse::<f64>().unwrap()
        };
        (at("ended_at") - at("started_at")).rem_euclid(60.0)
    };
    assert!(took("time") >= 0.3, "{shown}");
    assert!(took("file") >= 0.2, "{shown}");
    assert_eq!(shown["steps"]["asks"]["outputs"]["t"], json!("true"));
}

#[test]
fn a_number_that_is_rounded_is_told() {
    let scratch = Scratch::new("again-large");
    let file = scratch.file(
        "flow.yaml",
        r#"flow: [{ name: a, run: 'echo "[123456789012345678901234567890]"', outputs: { id: "{{ json[0] }}" } }]"#,
    );
    let output = scratch.run(&["run", &file]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("123456789012345678901234567890 has more digits"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn everything_that_is_wrong_with_params_is_told_at_once() {
    let scratch = Scratch::new("again-params");
    let file = scratch.file(
        "flow.yaml",
        "params: { x: { type: int }, y: { type: int }, z: { type: bool, default: true } }\nflow: [{ name: a, run: 'true' }]\n",
    );
    let output = scratch.run(&["run", &file, "--param", "x=a", "--param", "z=q", "--param", "n=1"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    for wrong in
        ["`a` is not a whole number", "`q` is neither", "no param `n`", "needs the param `y`"]
    {
        assert!(said.contains(wrong), "{wrong}: {said}");
    }
    assert!(!said.contains("needs the param `x`"), "{said}");
}

#[test]
fn elements_are_shown_with_their_values() {
    let scratch = Scratch::new("again-elements");
    let file = scratch.file(
        "flow.yaml",
        r#"
params: { hosts: [alpha, beta] }
runner: { on_error: skip }
flow:
  - { name: list, run: 'echo "[{\"n\": 1}, {\"n\": 2}]"', outputs: { all: "{{ json }}" } }
  - { name: said, foreach: "{{ params.hosts }}", run: 'test "$H" = alpha', env: { H: "{{ item }}" } }
  - { name: late, foreach: "{{ flows.list.all }}", run: 'true' }
  - { name: labelled, matrix: { os: [linux] }, label: "{{ matrix.os }}", run: 'false' }
"#,
    );
    scratch.run(&["run", &file]);
    let shown = scratch.json(&["show", "last"]);
    let element = |step: &str| shown["steps"][step]["element"].clone();
    assert_eq!(
        (element("said[1]"), element("late[0]")),
        (json!("beta"), json!({ "n": 1 })),
        "{shown}"
    );
    assert_eq!(
        (element("labelled[linux]"), element("said")),
        (json!({ "os": "linux" }), json!(null))
    );
    let text = common::stdout(&scratch.run(&["show", "last"]));
    for name in ["said[1] (beta)", "late[1] (2)", "labelled[linux] "] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let text = common::stdout(&scratch.run(&["explain", "last"]));
    assert!(text.contains("said[1] (beta) is failed"), "{text}");
    let explained = scratch.json(&["explain", "last", "said[1]"]);
    assert_eq!(explained["steps"][0]["element"], json!("beta"));
}
