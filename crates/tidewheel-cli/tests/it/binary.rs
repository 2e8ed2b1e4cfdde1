//! The binary as users meet it: what it prints where, and its exit codes.
//!
//! What the commands compute is tested beside the code; here it is the surface.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use tidewheel_testing::temp_folder;

fn tidewheel(arguments: &[&str]) -> Output {
    with_input(arguments, "")
}

fn with_input(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidewheel"))
        .args(arguments)
        .env_clear()
        .env("COLUMNS", "80")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // A command that reads nothing may have ended before all is written.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    child.wait_with_output().expect("the binary ends")
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

#[track_caller]
fn json_of(output: &Output) -> Value {
    assert_eq!((err(output), output.status.code()), ("", Some(0)));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

/// Refused as bad input: nothing on standard output, this on standard error.
#[track_caller]
fn assert_refused(output: &Output, message: &str) {
    assert_eq!((err(output), out(output), output.status.code()), (message, "", Some(3)));
}

#[test]
fn the_version_is_one_line() {
    let output = tidewheel(&["--version"]);
    assert_eq!((out(&output), output.status.code()), ("tidewheel 0.1.0\n", Some(0)));
}

#[test]
fn without_a_command_there_is_help() {
    let output = tidewheel(&[]);
    assert_eq!(output.status.code(), Some(0));
    for word in ["simulate", "schedule", "bench", "Examples:", "Exit codes:"] {
        assert!(out(&output).contains(word), "{word}");
    }
}

#[test]
fn every_command_has_help_with_examples_and_fits() {
    let commands: &[&[&str]] = &[
        &["simulate"],
        &["schedule"],
        &["schedule", "next"],
        &["bench"],
        &["bench", "dag"],
        &["bench", "priority"],
        &["bench", "timers"],
        &["bench", "micro"],
        &["bench", "sqlite"],
        &["bench", "process"],
        &["bench", "serve"],
        &["bench", "stress"],
        &["backup"],
        &["restore"],
        &["prune"],
    ];
    for command in commands {
        let output = tidewheel(&[command, &["--help"][..]].concat());
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        for line in out(&output).lines() {
            assert!(line.chars().count() <= 100, "{command:?}: {line}");
        }
    }
    for command in [
        &["simulate", "--help"][..],
        &["schedule", "next", "--help"],
        &["backup", "--help"],
        &["restore", "--help"],
        &["prune", "--help"],
        &["bench", "sqlite", "--help"],
        &["bench", "process", "--help"],
        &["bench", "serve", "--help"],
        &["bench", "stress", "--help"],
    ] {
        assert!(out(&tidewheel(command)).contains("Examples:"), "{command:?}");
    }
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    for arguments in [&["simulat"][..], &["simulate"], &["schedule", "next"], &["bench", "dag"]] {
        let output = tidewheel(arguments);
        assert_eq!((out(&output), output.status.code()), ("", Some(2)), "{arguments:?}");
        assert!(err(&output).starts_with("error: "), "{arguments:?}");
    }
}

#[test]
fn a_reader_who_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidewheel"))
        .args(["schedule", "next", "--cron", "* * * * * *", "--count", "100000"])
        .env_clear()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!((err(&output), output.status.code()), ("", Some(0)));
}

const SPRING: &[&str] = &[
    "schedule",
    "next",
    "--cron",
    "30 2 * * *",
    "--tz",
    "Europe/Zurich",
    "--from",
    "2026-03-27T12:00:00Z",
    "--count",
    "3",
];

#[test]
fn next_instants_for_programs() {
    let output = tidewheel(&[SPRING, &["--format", "json"]].concat());
    let expected = ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"];
    assert_eq!(json_of(&output), json!({ "next": expected }));
}

#[test]
fn next_instants_for_people() {
    let output = tidewheel(SPRING);
    assert_eq!(
        out(&output),
        "30 2 * * *  (Europe/Zurich)\n\
         \x20 Sat 2026-03-28 02:30:00 +01:00   in 13 h 30 min\n\
         \x20 Sun 2026-03-29 03:00:00 +02:00   in 1 d 13 h\n\
         \x20 Mon 2026-03-30 02:30:00 +02:00   in 2 d 12 h\n"
    );
}

#[test]
fn no_instant_is_an_empty_list() {
    let never = ["schedule", "next", "--cron", "0 0 30 2 *"];
    assert_eq!(
        json_of(&tidewheel(&[&never[..], &["--format", "json"]].concat())),
        json!({ "next": [] })
    );
    assert_eq!(out(&tidewheel(&never)), "0 0 30 2 *  (UTC)\n  never: no date matches\n");
}

#[test]
fn now_and_five_are_the_defaults() {
    let output = tidewheel(&["schedule", "next", "--cron", "* * * * *", "--format", "json"]);
    assert_eq!(json_of(&output)["next"].as_array().map(Vec::len), Some(5));
}

#[test]
fn a_fault_in_an_expression_is_shown_in_its_place() {
    let output = tidewheel(&["schedule", "next", "--cron", "0 25 * * *"]);
    let lines: Vec<&str> = err(&output).lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[0].ends_with("(position 3)"), "{lines:?}");
    assert_eq!(lines[1..3], ["  0 25 * * *", "    ^^"]);
    assert_eq!((out(&output), output.status.code()), ("", Some(3)));

    let output = tidewheel(&["schedule", "next", "--cron", "0 25 * * *", "--format", "json"]);
    let error: Value = serde_json::from_slice(&output.stderr).expect("one JSON value");
    assert_eq!(error["error"]["position"], json!(2));
    assert_eq!(error["error"]["kind"], json!("input"));
    assert_eq!(error["error"]["exit_code"], json!(3));
    assert_eq!((out(&output), output.status.code()), ("", Some(3)));
}

#[test]
fn an_unknown_zone_proposes_another() {
    let output = tidewheel(&["schedule", "next", "--cron", "@daily", "--tz", "Europe/Zurch"]);
    assert_refused(
        &output,
        "error: unknown time zone `Europe/Zurch`; did you mean Europe/Zurich?\n\
         hint: name a zone as in Europe/Zurich, an offset as in +05:30, or UTC\n",
    );
}

#[test]
fn the_zone_database_is_in_the_binary() {
    // Where there is no system database, the one carried along must answer.
    let output = Command::new(env!("CARGO_BIN_EXE_tidewheel"))
        .args([SPRING, &["--format", "json"]].concat())
        .env_clear()
        .env("TZDIR", "/nonexistent")
        .output()
        .expect("the binary starts");
    assert_eq!(json_of(&output)["next"][0], json!("2026-03-28T01:30:00Z"));
}

/// One instant, list and refusal of each kind; `cron_vectors` of `tidewheel-core` has many.
#[test]
fn next_instants_follow_the_zone_and_the_fields() {
    let next = |cron: &str, zone: &str, from: &str, count: &str| {
        let start = ["schedule", "next", "--format", "json", "--cron", cron, "--tz", zone];
        let output = tidewheel(&[&start[..], &["--from", from, "--count", count]].concat());
        json_of(&output)["next"].clone()
    };
    // Six fields: with seconds. The hour that comes twice in autumn fires once.
    assert_eq!(
        next("*/20 0 0 * * *", "UTC", "2026-01-01T00:00:00Z", "3"),
        json!(["2026-01-01T00:00:20Z", "2026-01-01T00:00:40Z", "2026-01-02T00:00:00Z"])
    );
    assert_eq!(
        next("30 2 * * *", "Europe/Zurich", "2026-10-24T12:00:00Z", "2"),
        json!(["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"])
    );
    assert_eq!(
        next("0 12 L * *", "+05:30", "2028-02-01T00:00:00Z", "1"),
        json!(["2028-02-29T06:30:00Z"])
    );
    for wrong in ["-1 * * * *", "60 * * * *", "* * * *", "@sometimes"] {
        let output = tidewheel(&["schedule", "next", &format!("--cron={wrong}")]);
        assert_eq!(output.status.code(), Some(3), "{wrong}");
    }
}

const DIAMOND: &str = r#"{ "tasks": [
  { "name": "a", "duration": 1 },
  { "name": "b", "duration": 2.5, "after": ["a"] },
  { "name": "c", "duration": 4, "after": ["a"] },
  { "name": "d", "duration": 1, "after": ["b", "c"] } ] }"#;

#[test]
fn a_schedule_is_json_unless_something_else_is_said() {
    let output = with_input(&["simulate", "-", "--slots", "2"], DIAMOND);
    assert_eq!(
        json_of(&output),
        json!({
            "makespan": 6, "slots": 2, "order": "critical-path",
            "tasks": [
                { "name": "a", "start": 0, "end": 1, "slot": 1 },
                { "name": "b", "start": 1, "end": 3.5, "slot": 2 },
                { "name": "c", "start": 1, "end": 5, "slot": 1 },
                { "name": "d", "start": 5, "end": 6, "slot": 1 },
            ]
        })
    );
}

#[test]
fn a_schedule_for_people_is_a_gantt() {
    let output = with_input(&["simulate", "-", "--slots", "1", "--format", "human"], DIAMOND);
    assert_eq!((err(&output), output.status.code()), ("", Some(0)));
    assert_eq!(
        out(&output),
        "\
4 tasks on 1 slot, order critical-path

task  slot  start    end  ╷0s         ╷2s          ╷4s         ╷6s          ╷8s
a        1     0s     1s  ██████
c        1     1s     5s        █████████████████████████
b        1     5s   7.5s        ·························████████████████
d        1   7.5s   8.5s                                                 ██████

█ decides the end   ▒ has room   · waits for room

makespan     8.5s
lower bound  8.5s (critical path 6s, work / 1 slot 8.5s)
gap          none: no order could be faster
busy         slots 100 %
"
    );
}

#[test]
fn each_order_takes_another_task_first() {
    let problem = r#"{ "tasks": [
      { "name": "first", "duration": 1 },
      { "name": "urgent", "duration": 1, "deadline": 2 },
      { "name": "important", "duration": 1, "priority": "high" },
      { "name": "long", "duration": 3, "priority": 10, "deadline": 90 } ] }"#;
    for (order, expected) in [
        ("fifo", ["first", "urgent", "important", "long"]),
        ("edf", ["urgent", "long", "first", "important"]),
        ("priority", ["important", "first", "urgent", "long"]),
    ] {
        let output = with_input(&["simulate", "-", "--slots", "1", "--order", order], problem);
        let plan = json_of(&output);
        let names: Vec<&Value> =
            plan["tasks"].as_array().expect("a list").iter().map(|task| &task["name"]).collect();
        assert_eq!(names, expected, "{order}");
        assert_eq!(plan["order"], json!(order));
    }
}

#[test]
fn resources_are_never_exceeded() {
    let problem = r#"{ "capacity": { "cpu": 4 }, "tasks": [
      { "name": "wide", "duration": 2, "resources": { "cpu": 4 } },
      { "name": "x", "duration": 3, "resources": { "cpu": 2 } },
      { "name": "y", "duration": 3, "resources": { "cpu": 2 } } ] }"#;
    let plan = json_of(&with_input(&["simulate", "-"], problem));
    assert_eq!((&plan["makespan"], &plan["slots"]), (&json!(5), &Value::Null));
}

#[test]
fn nothing_to_do_takes_no_time() {
    let output = with_input(&["simulate", "-", "--slots", "2"], r#"{ "tasks": [] }"#);
    assert_eq!(
        json_of(&output),
        json!({ "makespan": 0, "slots": 2, "order": "critical-path", "tasks": [] })
    );
    let human = with_input(&["simulate", "-", "--format", "human"], r#"{ "tasks": [] }"#);
    assert_eq!(human.status.code(), Some(0));
}

#[track_caller]
fn refused(problem: &str, message: &str) {
    assert_refused(&with_input(&["simulate", "-", "--slots", "2"], problem), message);
}

#[test]
fn an_unknown_field_is_shown_with_what_was_meant() {
    refused(
        r#"{ "tasks": [ { "name": "a", "duraton": 1 } ] }"#,
        "error: <stdin>:1:37: unknown field `duraton`, expected one of `name`, `duration`, `after`, \
         `priority`, `resources`, `deadline`\n\
         \x20 { \"tasks\": [ { \"name\": \"a\", \"duraton\": 1 } ] }\n\
         \x20                                     ^\n\
         hint: did you mean `duration`?\n",
    );
}

#[test]
fn a_cycle_is_named() {
    refused(
        r#"{ "tasks": [ { "name": "a", "duration": 1, "after": ["c"] },
                         { "name": "b", "duration": 1, "after": ["a"] },
                         { "name": "c", "duration": 1, "after": ["b"] } ] }"#,
        "error: dependency cycle: a -> b -> c -> a\nhint: take one of these dependencies out\n",
    );
}

#[test]
fn an_unknown_dependency_proposes_another() {
    refused(
        r#"{ "tasks": [ { "name": "build", "duration": 1 },
                         { "name": "test", "duration": 1, "after": ["biuld"] } ] }"#,
        "error: task `test` depends on unknown `biuld` (did you mean `build`?)\n\
         hint: `after` names tasks of the same file\n",
    );
}

#[test]
fn all_that_makes_no_sense_is_told_at_once() {
    refused(
        r#"{ "tasks": [ { "name": "a", "duration": -1 }, { "name": "b", "duration": 1, "deadline": -2 } ] }"#,
        "error: task `a` has a negative duration (-1)\n       task `b` has a negative deadline (-2)\n\
         hint: a duration is a number of seconds, 0 or more\n\
         hint: a deadline is a number of seconds, 0 or more\n",
    );
    refused(
        r#"{ "capacity": { "cpu": 2 }, "tasks": [
            { "name": "a", "duration": 1, "resources": { "cpu": 3 } },
            { "name": "b", "duration": 1, "resources": { "cpuu": 1 } } ] }"#,
        "error: task `a` needs 3 of `cpu`, but there are only 2\n       \
         task `b` needs `cpuu`, which has no capacity\n\
         hint: raise `capacity.cpu` or lower what the task needs\n\
         hint: did you mean `cpu`?\n",
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = tidewheel(&["simulate", "no-such-file.json", "--slots", "2"]);
    assert_refused(
        &output,
        "error: failed to read no-such-file.json: No such file or directory (os error 2)\n\
         hint: name a JSON file, or - for standard input\n",
    );
}

#[test]
fn measurements_are_one_object_each() {
    for (arguments, variant, n) in [
        (&["bench", "dag", "--shape", "layered", "--tasks", "2000"][..], "layered", 2_000),
        (&["bench", "dag", "--shape", "wide", "--tasks", "100", "--threads", "1"], "wide", 100),
        (&["bench", "priority", "--tasks", "500", "--mode", "backlog"], "backlog", 500),
        (&["bench", "priority", "--tasks", "500", "--mode", "stream"], "stream", 500),
        (&["bench", "timers", "--count", "1000"], "n=1000", 1_000),
    ] {
        let line = json_of(&tidewheel(&[arguments, &["--format", "json"]].concat()));
        let mut fields: Vec<&String> = line.as_object().expect("an object").keys().collect();
        fields.sort();
        let expected = [
            "build_seconds",
            "n",
            "peak_rss_mb",
            "peer",
            "per_task_us",
            "seconds",
            "tasks_per_s",
            "variant",
            "version",
            "workload",
        ];
        assert_eq!(fields, expected, "{arguments:?}");
        assert_eq!(line["peer"], json!("tidewheel"));
        assert_eq!((&line["variant"], &line["n"]), (&json!(variant), &json!(n)), "{arguments:?}");
        assert!(line["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    }
}

#[test]
fn under_stress_what_must_hold_does() {
    let arguments = ["bench", "stress", "--seconds", "1", "--threads", "4", "--seed", "7"];
    let told = json_of(&tidewheel(&[&arguments[..], &["--format", "json"]].concat()));
    assert_eq!((&told["breaches"], &told["seed"]), (&json!([]), &json!(7)), "{told}");
    // How much is asked for depends on the machine; that each kind is does not.
    for field in ["n", "submissions", "attempts", "cancels", "runs", "checks", "slots_most"] {
        assert!(told[field].as_u64().is_some_and(|number| number > 0), "{field}: {told}");
    }
    assert!(told["slots_most"].as_u64() <= Some(16) && told["limit_most"].as_u64() <= Some(3));
    let parts = ["submissions", "firings"].map(|field| told[field].as_u64());
    let [Some(submissions), Some(firings)] = parts else { panic!("{told}") };
    assert!(told["n"].as_u64() > Some(submissions + firings), "tasks of runs count too: {told}");
}

#[test]
fn an_edge_list_is_read_or_refused_with_its_line() {
    let folder = temp_folder("edges");
    let file = folder.path().join("edges.txt");
    let path = file.to_str().expect("a path of text");
    std::fs::write(&file, "3 2\n0 1\n1 2\n").expect("a writable folder");
    let line = json_of(&tidewheel(&["bench", "dag", "--graph", path, "--format", "json"]));
    assert_eq!(line["n"], json!(3));
    std::fs::write(&file, "3 2\n0 1\n1 x\n").expect("a writable folder");
    let output = tidewheel(&["bench", "dag", "--graph", path]);
    assert!(err(&output).contains(":3: expected two whole numbers, found `1 x`"), "{output:?}");
    assert_eq!(output.status.code(), Some(3));
}
