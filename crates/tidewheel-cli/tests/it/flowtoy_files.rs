//! Files of flowtoy 0.4, run as they are: the conformance scenarios FT-01 to FT-28.
//!
//! Where flowtoy does something that nobody wants, the test says what is done instead. FT-10 and
//! FT-19 are about callbacks of its library; there is only one server, so FT-23 is FT-22 here.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(clippy::print_stdout, reason = "`./test` counts what was skipped by what is said")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{Scratch, read_until, states, stderr, stdout, wait_until};
use serde_json::{Value, json};

/// Sources for steps whose input is a program for the shell, or is given back.
const SOURCES: &str = "
sources:
  sh: { type: process, configuration: { command: [sh, -c] } }
  cat: { type: process, configuration: { command: [cat], pass_to: stdin } }
  words: { type: process, configuration: { command: [printf, '<%s>'] } }
";

/// A shell loop until a file is there.
fn until(file: &str) -> String {
    format!("while [ ! -e {file} ]; do sleep 0.02; done")
}

fn write(scratch: &Scratch, flow: &str) -> String {
    scratch.file("flow.yaml", &format!("{SOURCES}{flow}"))
}

/// Runs a flow to its end, whatever that is.
fn result(scratch: &Scratch, file: &str) -> (Value, Option<i32>) {
    let output = scratch.run(&["run", file, "--format", "json"]);
    (parsed(&output), output.status.code())
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

fn state(result: &Value, step: &str) -> String {
    result["steps"][step]["state"].as_str().unwrap().to_owned()
}

/// When a step started or ended, in a form that can be compared.
#[track_caller]
fn instant(result: &Value, step: &str, which: &str) -> String {
    let text = result["steps"][step][which].as_str().unwrap().strip_suffix('Z').unwrap();
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{seconds}.{fraction:0<9}")
}

/// The problems of a flow that cannot be run, and that nothing of it was.
fn refusals(scratch: &Scratch, flow: &str) -> Vec<(String, String)> {
    let file = write(scratch, flow);
    let output = scratch.run(&["run", &file, "--format", "json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
    assert_eq!(stdout(&output), "");
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let problems = error["error"]["problems"].as_array().unwrap().iter();
    problems.map(|problem| (text(&problem["code"]), text(&problem["message"]))).collect()
}

// Order

#[test]
fn ft01_steps_without_dependencies_run_at_once() {
    let scratch = Scratch::new("ft01");
    let meet = |own: &str, other: &str| format!("touch {own}; {}", until(other));
    let (a, b) = (meet("a", "b"), meet("b", "a"));
    let flow = format!(
        "flow:\n  - {{ name: a, source: sh, input: '{a}' }}\n  - {{ name: b, source: sh, input: '{b}' }}\n"
    );
    // Each waits for the other: one after the other they would never end.
    let result = scratch.json(&["run", &write(&scratch, &flow), "--max-workers", "4"]);
    assert!(instant(&result, "a", "started_at") < instant(&result, "b", "ended_at"));
    assert!(instant(&result, "b", "started_at") < instant(&result, "a", "ended_at"));
}

#[test]
fn ft02_a_step_starts_after_what_it_depends_on_has_ended() {
    let scratch = Scratch::new("ft02");
    let file = write(
        &scratch,
        "
flow:
  - { name: b, source: sh, input: 'test -e done', depends_on: [a] }
  - { name: a, source: sh, input: 'sleep 0.08; touch done' }
",
    );
    let result = scratch.json(&["run", &file]);
    assert!(instant(&result, "b", "started_at") >= instant(&result, "a", "ended_at"));
}

#[test]
fn ft03_children_of_one_parent_run_at_once_after_it() {
    let scratch = Scratch::new("ft03");
    let child = |own: &str, other: &str| format!("test -e parent; touch {own}; {}", until(other));
    let flow = format!(
        "
flow:
  - {{ name: parent, source: sh, input: 'touch parent' }}
  - {{ name: left, source: sh, depends_on: [parent], input: '{}' }}
  - {{ name: right, source: sh, depends_on: [parent], input: '{}' }}
",
        child("left", "right"),
        child("right", "left")
    );
    let result = scratch.json(&["run", &write(&scratch, &flow)]);
    let parent = instant(&result, "parent", "ended_at");
    assert!(instant(&result, "left", "started_at") >= parent);
    assert!(instant(&result, "right", "started_at") >= parent);
    assert!(instant(&result, "left", "started_at") < instant(&result, "right", "ended_at"));
    assert!(instant(&result, "right", "started_at") < instant(&result, "left", "ended_at"));
}

// Failure

#[test]
fn ft04_a_dependent_that_says_skip_is_skipped_and_others_go_on() {
    let scratch = Scratch::new("ft04");
    let file = write(
        &scratch,
        "
runner: { on_error: fail }
flow:
  - { name: will_fail, source: sh, input: 'exit 2' }
  - { name: dependent, source: sh, input: 'touch never', depends_on: [will_fail], on_error: skip }
  - { name: unrelated, source: sh, input: 'true', on_error: continue }
",
    );
    let (result, code) = result(&scratch, &file);
    let expected = [("dependent", "skipped"), ("unrelated", "succeeded"), ("will_fail", "failed")];
    assert_eq!(states(&result), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(result["steps"]["dependent"]["reason"], "`will_fail` failed");
    assert_eq!((code, &result["steps"]["will_fail"]["code"]), (Some(1), &json!(2)));
    assert!(!scratch.path("never").exists());
}

#[test]
fn what_is_skipped_stays_skipped_whatever_comes_after_it_says() {
    let scratch = Scratch::new("ft-skip");
    let file = write(
        &scratch,
        "
flow:
  - { name: a, source: sh, input: 'exit 1', on_error: skip }
  - { name: b, source: sh, input: 'true', depends_on: [a] }
  - { name: c, source: sh, input: 'true', depends_on: [b], on_error: continue }
  - { name: other, source: sh, input: 'true' }
  - { name: join, source: sh, input: 'true', depends_on: [a, other], on_error: continue }
",
    );
    let (result, code) = result(&scratch, &file);
    assert_eq!((state(&result, "b"), state(&result, "c")), ("skipped".into(), "skipped".into()));
    assert_eq!(state(&result, "join"), "succeeded");
    assert_eq!(code, Some(0));
}

#[test]
fn words_are_taken_in_any_case() {
    let scratch = Scratch::new("ft-case");
    let file = write(
        &scratch,
        "
runner: { on_error: SKIP }
flow:
  - { name: a, source: sh, input: 'exit 1' }
  - { name: b, source: sh, input: 'true', depends_on: [a], on_error: Continue }
  - { name: c, source: sh, input: 'true', depends_on: [a] }
",
    );
    let (result, _) = result(&scratch, &file);
    assert_eq!((state(&result, "b"), state(&result, "c")), ("succeeded".into(), "skipped".into()));
}

#[test]
fn ft20_nothing_that_waits_for_a_slot_starts_after_the_run_was_stopped() {
    let scratch = Scratch::new("ft20");
    let mut flow = format!(
        "
runner: {{ max_workers: 2 }}
flow:
  - {{ name: hold, source: sh, input: 'touch hold; {}' }}
  - {{ name: fail, source: sh, input: '{}; exit 1' }}
",
        until("go"),
        until("hold")
    );
    for number in 1..=6 {
        flow += &format!("  - {{ name: q{number}, source: sh, input: 'touch q{number}' }}\n");
    }
    let running = scratch.start(&["run", &write(&scratch, &flow), "--format", "json"]);
    scratch.wait_for("hold");
    let failed = || scratch.json(&["show", "last"])["steps"]["fail"]["state"] == "failed";
    wait_until("the failure is known", failed);
    scratch.file("go", "");
    let output = running.output();
    let result = parsed(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(state(&result, "hold"), "succeeded");
    for number in 1..=6 {
        let step = &result["steps"][format!("q{number}")];
        assert_eq!(
            (&step["state"], &step["reason"]),
            (&json!("skipped"), &json!("the run was stopped by `fail`"))
        );
        assert!(!scratch.path(&format!("q{number}")).exists());
    }
}

#[test]
fn ft21_steps_that_end_in_the_instant_of_a_stop_end_the_run_once() {
    for round in 0..4 {
        let scratch = Scratch::new(&format!("ft21-{round}"));
        let mut flow = "flow:\n".to_owned();
        for number in 0..4 {
            let (wait, code) = (until("go"), number % 2);
            flow += &format!(
                "  - {{ name: s{number}, source: sh, input: 'touch s{number}; {wait}; exit {code}' }}\n"
            );
        }
        flow += "  - { name: after, source: sh, input: 'touch never', depends_on: [s1] }\n";
        let running = scratch.start(&["run", &write(&scratch, &flow), "--format", "json"]);
        for number in 0..4 {
            scratch.wait_for(&format!("s{number}"));
        }
        scratch.file("go", "");
        let output = running.output();
        let result = parsed(&output);
        assert_eq!((output.status.code(), &result["state"]), (Some(1), &json!("failed")));
        assert!(result["ended_at"].is_string(), "{result}");
        let expected = ["after skipped", "s0 succeeded", "s1 failed", "s2 succeeded", "s3 failed"];
        let found = states(&result).into_iter().map(|(step, state)| format!("{step} {state}"));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert!(!scratch.path("never").exists());
    }
}

#[test]
fn ft24_a_failed_step_is_seen_in_the_exit_code() {
    let scratch = Scratch::new("ft24");
    let file = write(&scratch, "flow: [{ name: a, source: sh, input: 'exit 9' }]\n");
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(1));
    let file = write(&scratch, "flow: [{ name: a, source: sh, input: 'exit 0' }]\n");
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(0));
}

// Files that cannot be run

#[test]
fn ft05_all_missing_steps_are_named_and_nothing_starts() {
    let scratch = Scratch::new("ft05");
    let problems = refusals(
        &scratch,
        "
flow:
  - { name: good, source: sh, input: 'touch never' }
  - { name: one, source: sh, input: 'touch never', depends_on: [missing1, good] }
  - { name: two, source: sh, input: 'touch never', depends_on: [missing2, missing3] }
",
    );
    let messages: Vec<&str> = problems.iter().map(|(_, message)| message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "step `one` waits for `missing1`, which does not exist",
            "step `two` waits for `missing2`, which does not exist",
            "step `two` waits for `missing3`, which does not exist",
        ]
    );
    assert!(problems.iter().all(|(code, _)| code == "missing-step"));
    assert!(!scratch.path("never").exists());
    assert!(!scratch.data().exists());
}

#[test]
fn ft06_ft07_templates_and_names_of_another_case_are_checked_too() {
    let scratch = Scratch::new("ft06");
    let flow = "
flow:
  - { name: Step1, source: sh, input: 'touch never', output: [{ name: o }] }
  - { name: b, source: cat, input: 'x {{ flows.step1.o }} {{ flows[\"other\"][\"o\"] }}' }
  - { name: c, source: sh, input: 'touch never', depends_on: [step1] }
";
    let problems = refusals(&scratch, flow);
    let messages: Vec<&str> = problems.iter().map(|(_, message)| message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "there is no step `step1`",
            "there is no step `other`",
            "step `c` waits for `step1`, which does not exist",
        ]
    );
    let human = stderr(&scratch.run(&["run", &scratch.path("flow.yaml").display().to_string()]));
    assert!(human.contains("did you mean `Step1`?"), "{human}");
    assert!(!scratch.path("never").exists());
}

#[test]
fn ft08_circles_are_refused_before_anything_starts() {
    let scratch = Scratch::new("ft08");
    let own = "flow: [{ name: a, source: sh, input: 'touch never', depends_on: [a] }]\n";
    let expected = ("cycle".to_owned(), "step `a` waits for itself".to_owned());
    assert_eq!(refusals(&scratch, own), [expected]);
    let both = "
flow:
  - { name: a, source: cat, input: '{{ flows.b.o }}', output: [{ name: o }] }
  - { name: b, source: cat, input: '{{ flows.a.o }}', output: [{ name: o }] }
  - { name: c, source: sh, input: 'touch never' }
";
    let expected = ("cycle".to_owned(), "steps wait for each other: `b` → `a` → `b`".to_owned());
    assert_eq!(refusals(&scratch, both), [expected]);
    assert!(!scratch.path("never").exists());
}

#[test]
fn unknown_sources_are_refused_with_the_nearest_name() {
    let scratch = Scratch::new("ft-unknown");
    let file = write(&scratch, "flow: [{ name: a, source: wrods, input: x }]\n");
    let output = scratch.run(&["run", &file]);
    assert_eq!(output.status.code(), Some(3));
    let error = stderr(&output);
    assert!(error.contains("there is no source `wrods`"), "{error}");
    assert!(error.contains("did you mean `words`?"), "{error}");
}

// Status

/// A run that serves its state.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(scratch: &Scratch, arguments: &[&str]) -> Self {
        let mut command = scratch.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let text = read_until(child.stderr.as_mut().unwrap(), "/status\n");
        let address = text.split("http://").nth(1).unwrap().split("/status").next().unwrap();
        Self { address: address.to_owned(), child }
    }

    fn get(&self, path: &str) -> Value {
        get(&self.address, path)
    }

    fn output(self) -> Output {
        self.child.wait_with_output().unwrap()
    }
}

#[track_caller]
fn get(address: &str, path: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn ft22_status_has_the_fields_of_both_servers_and_skipped_steps_count() {
    let scratch = Scratch::new("ft22");
    let flow = format!(
        "
flow:
  - {{ name: first, source: words, input: hi, output: [{{ name: text, type: jmespath, value: stdout }}] }}
  - {{ name: bad, source: sh, input: 'echo why >&2; exit 4', on_error: skip }}
  - {{ name: left, source: sh, input: 'true', depends_on: [bad] }}
  - {{ name: hold, source: sh, input: 'touch hold; {}', depends_on: [first] }}
  - {{ name: last, source: sh, input: 'true', depends_on: [hold, first] }}
",
        until("go")
    );
    let file = write(&scratch, &flow);
    let served = Served::start(&scratch, &["run", &file, "--status-port", "0"]);
    scratch.wait_for("hold");
    wait_until("the skipped step is known", || {
        served.get("/status")["steps"]["left"]["state"] == "skipped"
    });
    let status = served.get("/status");
    assert_eq!(status["run_id"], scratch.json(&["show", "last"])["run_id"]);
    assert!(status["started_at"].as_f64().unwrap() > 1.7e9);
    assert_eq!(status["ended_at"], Value::Null);
    let counts = ["total_steps", "completed_steps", "running_count"].map(|name| &status[name]);
    assert_eq!(counts, [&json!(5), &json!(3), &json!(1)]);
    assert_eq!(status["running_steps"], json!(["hold"]));
    assert_eq!(status["current_step"], "hold");
    let names: Vec<&String> = status.as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 9, "{names:?}");
    let steps = status["steps"].as_object().unwrap();
    let shown =
        |name: &str| (&steps[name]["state"], &steps[name]["notes"], &steps[name]["outputs"]);
    assert_eq!(shown("first"), (&json!("succeeded"), &json!([]), &json!(["text"])));
    assert_eq!(shown("bad"), (&json!("failed"), &json!(["exit code 4: why"]), &json!([])));
    assert_eq!(shown("left"), (&json!("skipped"), &json!(["`bad` failed"]), &json!([])));
    assert_eq!(shown("hold"), (&json!("running"), &json!([]), &json!([])));
    assert_eq!(shown("last"), (&json!("pending"), &json!([]), &json!([])));
    let is_time = |name: &str, which: &str| steps[name][which].as_f64().is_some();
    assert!(is_time("first", "started_at") && is_time("first", "ended_at"));
    assert!(is_time("hold", "started_at") && !is_time("hold", "ended_at"));
    assert!(!is_time("left", "started_at") && is_time("left", "ended_at"));
    assert_eq!(served.get("/outputs"), json!({ "first": { "text": "<hi>" } }));
    scratch.file("go", "");
    let output = served.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn ft09_many_readers_of_the_status_disturb_nobody() {
    let scratch = Scratch::new("ft09");
    let mut flow = "flow:\n".to_owned();
    for number in 0..4 {
        let wait = until(&format!("go{number}"));
        flow +=
            &format!("  - {{ name: s{number}, source: sh, input: 'touch s{number}; {wait}' }}\n");
    }
    let file = write(&scratch, &flow);
    let served = Served::start(&scratch, &["run", &file, "--status-port", "0", "--format", "json"]);
    for number in 0..4 {
        scratch.wait_for(&format!("s{number}"));
    }
    let is_over = AtomicBool::new(false);
    let read = std::thread::scope(|scope| {
        let reader = || {
            let mut read = 0;
            let mut completed = 0;
            while !is_over.load(Ordering::Relaxed) || read < 20 {
                let status = served.get("/status");
                assert_eq!(status["total_steps"], 4);
                let now = status["completed_steps"].as_u64().unwrap();
                assert!(now >= completed, "steps do not come back");
                completed = now;
                read += 1;
            }
            read
        };
        let readers: Vec<_> = (0..5).map(|_| scope.spawn(reader)).collect();
        for number in 0..3 {
            scratch.file(&format!("go{number}"), "");
            wait_until("it is seen to end", || {
                served.get("/status")["steps"][format!("s{number}")]["state"] == "succeeded"
            });
        }
        is_over.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum::<usize>()
    });
    assert!(read >= 100);
    scratch.file("go3", "");
    let output = served.output();
    assert_eq!(output.status.code(), Some(0));
    assert!(states(&parsed(&output)).iter().all(|(_, state)| state == "succeeded"));
}

/// Installing flowtoy takes the network, so this is only done where a folder for it is named.
#[test]
#[ignore = "installs flowtoy: `./test` makes it by itself, with a folder for that"]
fn flowtoys_own_screen_shows_the_run() {
    let scratch = Scratch::new("ft-screen");
    let file = write(&scratch, &held_flow());
    let served = Served::start(&scratch, &["run", &file, "--status-port", "0"]);
    scratch.wait_for("hold");
    check_screen(&format!("http://{}", served.address));
    scratch.file("go", "");
    assert_eq!(served.output().status.code(), Some(0));
}

#[test]
#[ignore = "installs flowtoy: `./test` makes it by itself, with a folder for that"]
fn flowtoys_own_screen_shows_the_newest_run_of_a_server() {
    let scratch = Scratch::new("ft-server");
    let file = write(&scratch, &held_flow());
    let arguments = ["serve", &file, "--listen", "127.0.0.1:0", "--flowtoy-open"];
    let server = scratch.start_heard(&arguments);
    server.wait_for("to log in");
    scratch.wait_for("hold");
    let said = server.said();
    let url = said.lines().find_map(|line| line.split("listening on ").nth(1)).unwrap();
    check_screen(&format!("{url}/flowtoy/latest"));
    scratch.file("go", "");
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
}

/// A flow that has got halfway, until the file `go` is there.
fn held_flow() -> String {
    format!(
        "
flow:
  - {{ name: first, source: words, input: hi, output: [{{ name: text, type: jmespath, value: stdout }}] }}
  - {{ name: bad, source: sh, input: 'exit 4', on_error: skip }}
  - {{ name: left, source: sh, input: 'true', depends_on: [bad] }}
  - {{ name: hold, source: sh, input: 'touch hold; {}', depends_on: [first] }}
  - {{ name: last, source: sh, input: 'true', depends_on: [hold] }}
",
        until("go")
    )
}

/// Has flowtoy's own screen show the flow that is held.
#[track_caller]
fn check_screen(url: &str) {
    let folder = std::env::var_os("TIDEWHEEL_FLOWTOY").expect("a folder to install flowtoy into");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flowtoy/check.py");
    let mut check = std::process::Command::new("python3");
    check.arg(script).arg(url).arg("--venv").arg(folder);
    let steps = ["first=succeeded", "bad=failed", "left=skipped", "hold=running", "last=pending"];
    check.args(steps.iter().flat_map(|step| ["--step", step]));
    let output = check.args(["--output", r#"first.text="<hi>""#]).output().unwrap();
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    assert!(said.starts_with("flowtoy 0.4.0 shows 5 steps") || said.starts_with("skipped: "));
    print!("{said}");
}

// Outputs

#[test]
fn ft11_outputs_are_raw_unless_they_say_otherwise() {
    let scratch = Scratch::new("ft11");
    let file = write(
        &scratch,
        "
flow:
  - name: a
    source: words
    input: x
    output:
      - { name: raw, type: raw, value: ignored }
      - { name: plain }
      - { name: old, type: json }
      - { name: query, type: jmespath, value: 'stdout' }
      - { name: nothing, type: jmespath, value: 'not.there' }
",
    );
    let output = scratch.run(&["run", &file, "--outputs", "--format", "human"]);
    assert_eq!(output.status.code(), Some(0));
    let outputs = &parsed(&output)["a"];
    let whole = json!({ "stdout": "<x>", "stderr": "", "returncode": 0 });
    assert_eq!((&outputs["raw"], &outputs["plain"], &outputs["old"]), (&whole, &whole, &whole));
    assert_eq!((&outputs["query"], &outputs["nothing"]), (&json!("<x>"), &Value::Null));
    let warning = stderr(&output);
    assert!(warning.contains("warning[deprecated]: `type: json`"), "{warning}");
    assert_eq!(warning.matches("warning[").count(), 1, "{warning}");
    let bad = "flow: [{ name: a, source: words, output: [{ name: o, type: jsonpath }] }]\n";
    let expected = "`type` must be one of `raw`, `json`, `jmespath`";
    assert_eq!(refusals(&scratch, bad), [("unknown-word".to_owned(), expected.to_owned())]);
}

#[test]
fn warnings_are_shown_beside_json_too() {
    let scratch = Scratch::new("ft-warning");
    let file =
        write(&scratch, "flow: [{ name: a, source: words, output: [{ name: o, type: json }] }]\n");
    let output = scratch.run(&["run", &file, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("deprecated"), "{}", stderr(&output));
}

#[test]
fn ft12_what_is_json_is_json_and_text_too() {
    let scratch = Scratch::new("ft12");
    let file = write(
        &scratch,
        r#"
flow:
  - name: object
    source: sh
    input: echo '{"a":1}'
    output: [{ name: all }, { name: a, type: jmespath, value: json.a }]
  - { name: number, source: sh, input: echo 42, output: [{ name: all }] }
  - { name: text, source: sh, input: echo 4 2, output: [{ name: all }] }
"#,
    );
    let outputs = &scratch.json(&["run", &file])["outputs"];
    assert_eq!(outputs["object"]["all"]["json"], json!({ "a": 1 }));
    assert_eq!(outputs["object"]["all"]["stdout"], "{\"a\":1}\n");
    assert_eq!(outputs["object"]["a"], 1);
    assert_eq!(outputs["number"]["all"]["json"], 42);
    assert_eq!(outputs["text"]["all"].get("json"), None);
}

#[test]
fn ft13_a_process_that_fails_leaves_its_code_and_what_it_wrote() {
    let scratch = Scratch::new("ft13");
    let file = write(
        &scratch,
        "flow: [{ name: a, source: sh, input: 'echo hello; echo err >&2; exit 2', output: [{ name: o }] }]\n",
    );
    let (result, code) = result(&scratch, &file);
    let step = &result["steps"]["a"];
    assert_eq!((code, &step["code"]), (Some(1), &json!(2)));
    assert_eq!(step["error"], "exit code 2: err");
    assert_eq!(result["outputs"], json!({}));
    let logs = scratch.run(&["logs", "last", "a"]);
    assert_eq!((stdout(&logs), stderr(&logs)), ("hello\n".to_owned(), "err\n".to_owned()));
}

// How a process gets its input

#[test]
fn ft14_standard_input_is_exactly_the_input() {
    let scratch = Scratch::new("ft14");
    let file = write(
        &scratch,
        r#"
flow:
  - { name: text, source: cat, input: "payload-data ü\t$HOME", output: [{ name: o }] }
  - { name: empty, source: cat, input: "", output: [{ name: o }] }
  - { name: none, source: cat, output: [{ name: o }] }
  - { name: map, source: cat, input: { a: [1, 2.5, null, true] }, output: [{ name: o }] }
"#,
    );
    let outputs = &scratch.json(&["run", &file])["outputs"];
    assert_eq!(outputs["text"]["o"]["stdout"], "payload-data ü\t$HOME");
    assert_eq!(outputs["empty"]["o"]["stdout"], "");
    assert_eq!(outputs["none"]["o"]["stdout"], "");
    assert_eq!(outputs["map"]["o"]["json"], json!({ "a": [1, 2.5, null, true] }));
}

#[test]
fn arguments_are_the_input_and_never_shell_text() {
    let scratch = Scratch::new("ft-arg");
    let file = write(
        &scratch,
        r#"
flow:
  - { name: text, source: words, input: "a b; touch never $(touch never)", output: [{ name: o }] }
  - { name: empty, source: words, input: "", output: [{ name: o }] }
  - { name: none, source: words, output: [{ name: o }] }
  - { name: zero, source: words, input: 0, output: [{ name: o }] }
  - { name: number, source: words, input: 3.5, output: [{ name: o }] }
  - { name: list, source: words, input: [1, "x"], output: [{ name: o }] }
  - name: split
    source: { type: process, configuration: { command: "printf '<%s>' 'a b' c\\ d | $HOME *" } }
    output: [{ name: o }]
"#,
    );
    let outputs = &scratch.json(&["run", &file])["outputs"];
    let said = |step: &str| outputs[step]["o"]["stdout"].as_str().unwrap().to_owned();
    assert_eq!(said("text"), "<a b; touch never $(touch never)>");
    assert_eq!((said("empty"), said("none")), ("<>".into(), "<>".into()));
    assert_eq!((said("zero"), said("number")), ("<0>".into(), "<3.5>".into()));
    assert_eq!(said("list"), r#"<[1,"x"]>"#);
    assert_eq!(said("split"), "<a b><c d><|><$HOME><*>");
    assert!(!scratch.path("never").exists());
}

#[test]
fn ft15_templates_of_a_command_know_the_input() {
    let scratch = Scratch::new("ft15");
    let file = write(
        &scratch,
        r#"
flow:
  - name: map
    source:
      type: process
      configuration:
        command: [printf, '<%s>', "--foo={{ jmespath('user.name') }}", "{{ json.user.name }}", "{{ input.n + 1 }}"]
        pass_to: template
    input: { user: { name: alice }, n: 1 }
    output: [{ name: o }]
  - name: text
    source:
      type: process
      configuration:
        command: [printf, '<%s>', "{{ input }}", "{{ json.a[0] }}", "{{ flows.map.o.returncode }}"]
        pass_to: template
    input: '{"a": ["b c"]}'
    output: [{ name: o }]
"#,
    );
    let outputs = &scratch.json(&["run", &file])["outputs"];
    assert_eq!(outputs["map"]["o"]["stdout"], "<--foo=alice><alice><2>");
    assert_eq!(outputs["text"]["o"]["stdout"], r#"<{"a": ["b c"]}><b c><0>"#);
    let bad = |argument: &str| {
        format!(
            "flow: [{{ name: a, source: {{ type: process, configuration: {{ command: [touch, never, '{argument}'], pass_to: template }} }}, input: {{ a: 1 }} }}]\n"
        )
    };
    let problems = refusals(&scratch, &bad("{{ inptu }}"));
    let expected = ("unknown-name".to_owned(), "there is no `inptu` here".to_owned());
    assert_eq!(problems, [expected]);
    let (result, code) = result(&scratch, &write(&scratch, &bad("{{ json.b }}")));
    assert_eq!(code, Some(1));
    let error = result["steps"]["a"]["error"].as_str().unwrap();
    assert!(error.contains("json.b"), "{error}");
    assert!(!scratch.path("never").exists());
}

#[test]
fn names_that_are_not_there_are_empty_where_the_source_says_so() {
    let scratch = Scratch::new("ft-lenient");
    let file = write(
        &scratch,
        "
flow:
  - name: a
    source:
      type: process
      configuration:
        command: [printf, '<%s>', 'a{{ json.no }}b', 'c{{ nope }}d']
        pass_to: template
        template_strict: false
    input: { x: 1 }
    output: [{ name: o }]
",
    );
    let (result, _) = result(&scratch, &file);
    assert_eq!(result["outputs"]["a"]["o"]["stdout"], "<ab><cd>");
}

#[test]
fn a_value_in_shell_text_works_as_there_with_a_warning() {
    let scratch = Scratch::new("ft-shell");
    let file = write(
        &scratch,
        "
flow:
  - name: a
    source: { type: process, configuration: { command: [sh, -c, 'echo {{ input }}'], pass_to: template } }
    input: hi
    output: [{ name: o }]
",
    );
    let output = scratch.run(&["run", &file, "--outputs"]);
    assert_eq!(parsed(&output)["a"]["o"]["stdout"], "hi\n");
    assert!(stderr(&output).contains("warning[template-in-shell]"), "{}", stderr(&output));
}

#[test]
fn other_ways_for_a_value_to_become_shell_text_are_warned_of() {
    let scratch = Scratch::new("ft-shell-ways");
    for source in [
        "{ type: process, configuration: { command: [sh, -c] } }",
        "{ type: process, configuration: { command: [sh], pass_to: stdin } }",
        "{ type: process, configuration: { command: [env, sh, -c, 'echo {{ params.x }}'] } }",
    ] {
        let flow = format!(
            "params: {{ x: 1 }}\nflow: [{{ name: a, source: {source}, input: 'echo {{{{ params.x }}}}' }}]\n"
        );
        let output = scratch.run(&["validate", &scratch.file("flow.yaml", &flow)]);
        assert!(stderr(&output).contains("template-in-shell"), "{source}: {}", stderr(&output));
    }
}

#[test]
fn ft18_of_a_command_no_more_is_shown_than_is_allowed() {
    let scratch = Scratch::new("ft18");
    let file = scratch.file(
        "flow.yaml",
        "
sources:
  p: { type: process, configuration: { command: ['true', --token, s3cr3t, url] } }
flow:
  - { name: default, source: p }
  - { name: place, source: { base: p, override: { configuration: { redact_args: [2] } } } }
  - { name: pattern, source: { base: p, override: { configuration: { redact_patterns: [s3] } } } }
  - { name: both, source: { base: p, override: { configuration: { redact_args: [2], redact_patterns: [ur] } } } }
",
    );
    let output = scratch.run(&["run", &file, "--log-level", "debug"]);
    assert_eq!(output.status.code(), Some(0));
    let error = stderr(&output);
    for line in [
        "default: $ true <3 args>\n",
        "place: $ true --token [REDACTED] url\n",
        "pattern: $ true --token [REDACTED] url\n",
        "both: $ true --token [REDACTED] [REDACTED]\n",
    ] {
        assert!(error.contains(line), "{line}{error}");
    }
    assert!(!error.contains("s3cr3t"), "{error}");
    let more = "
flow:
  - { name: full, source: { base: p, override: { configuration: { redact_args: [2], log_full_command: true } } } }
  - { name: casing, source: { base: p, override: { configuration: { redact_patterns: [S3] } } } }
  - { name: single, source: { base: p, override: { configuration: { command: ['true'] } } } }
";
    let more = scratch.file("more.yaml", more);
    let error = stderr(&scratch.run(&["run", &file, &more, "--log-level", "debug"]));
    for line in [
        "full: $ true --token s3cr3t url\n",
        "casing: $ true --token s3cr3t url\n",
        "single: $ true\n",
    ] {
        assert!(error.contains(line), "{line}{error}");
    }
}

#[test]
fn a_process_that_takes_too_long_is_ended() {
    let scratch = Scratch::new("ft-timeout");
    let file = write(
        &scratch,
        "
flow:
  - name: a
    source: { type: process, configuration: { command: [sleep, '100'], timeout: 0.2 } }
",
    );
    let (result, code) = result(&scratch, &file);
    let step = &result["steps"]["a"];
    assert_eq!((code, &step["state"]), (Some(1), &json!("failed")));
    assert_eq!(step["reason"], "timed out");
}

#[test]
fn a_timeout_holds_wherever_a_source_has_it_from() {
    for source in [
        "{ base: slow }",
        "{ base: free, override: { configuration: { timeout: 0.2 } } }",
        "derived",
    ] {
        let scratch = Scratch::new("ft-timeout-base");
        let flow = format!(
            "
sources:
  slow: {{ type: process, configuration: {{ command: [sleep, '5'], timeout: 0.2 }} }}
  free: {{ type: process, configuration: {{ command: [sleep, '5'] }} }}
  derived: {{ base: slow }}
flow: [{{ name: a, source: {source} }}]
"
        );
        let (result, code) = result(&scratch, &scratch.file("flow.yaml", &flow));
        assert_eq!((code, state(&result, "a")), (Some(1), "failed".to_owned()), "{source}");
        assert_eq!(result["steps"]["a"]["reason"], "timed out", "{source}");
    }
}

// Requests

/// A server that knows a few paths, and what it was asked.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || answer(stream.unwrap(), &kept));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

/// Answers one request, and notes its first line with its body.
fn answer(stream: TcpStream, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut length = 0;
    let mut authorization = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "authorization" => authorization = format!(" [{value}]"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let line = first.trim_end().trim_end_matches(" HTTP/1.1");
    let path = line.split(' ').nth(1).unwrap().split('?').next().unwrap();
    let body = String::from_utf8(body).unwrap();
    asked.lock().unwrap().push(format!("{line} {body}{authorization}").trim_end().to_owned());
    let (status, kind, text) = match path {
        "/user" => ("200 OK", "application/json", r#"{"id": 7, "name": "ann"}"#),
        "/text" => ("200 OK", "text/plain", "just text"),
        "/empty" => ("204 No Content", "text/plain", ""),
        "/broken" => ("500 Internal Server Error", "text/plain", "oh"),
        _ => ("404 Not Found", "application/json", "{}"),
    };
    let stream = reader.get_mut();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
}

#[test]
fn ft16_answers_are_json_or_text_and_other_statuses_failures() {
    let scratch = Scratch::new("ft16");
    let server = Server::start();
    let mut flow = "runner: { on_error: skip }\nflow:\n".to_owned();
    for path in ["user", "text", "empty", "nowhere", "broken"] {
        flow += &format!(
            "  - {{ name: {path}, source: {{ type: rest, configuration: {{ url: 'http://{}/{path}' }} }}, output: [{{ name: o }}, {{ name: n, type: jmespath, value: name }}] }}\n",
            server.address
        );
    }
    let (result, code) = result(&scratch, &write(&scratch, &flow));
    assert_eq!(code, Some(1));
    let outputs = &result["outputs"];
    assert_eq!(outputs["user"], json!({ "o": { "id": 7, "name": "ann" }, "n": "ann" }));
    assert_eq!((&outputs["text"]["o"], &outputs["empty"]["o"]), (&json!("just text"), &json!("")));
    for (step, status) in [("nowhere", 404), ("broken", 500)] {
        let step = &result["steps"][step];
        assert_eq!((&step["state"], &step["code"]), (&json!("failed"), &json!(status)));
        let error = step["error"].as_str().unwrap();
        assert!(error.contains(&format!(" {status} ")), "{error}");
    }
}

#[test]
fn requests_carry_the_input_as_parameter_or_body() {
    let scratch = Scratch::new("ft-rest");
    let server = Server::start();
    let flow = format!(
        "
sources:
  token: {{ type: env, configuration: {{ vars: [TOKEN] }} }}
  query: {{ type: rest, configuration: {{ url: 'http://{0}/text', input_mode: parameter, param_name: q }} }}
  plain: {{ type: rest, configuration: {{ url: 'http://{0}/text', input_mode: parameter }} }}
  body: {{ type: rest, configuration: {{ url: 'http://{0}/text', method: post, input_mode: body, headers: {{ Authorization: 'Bearer {{{{ sources.token.TOKEN }}}}' }} }} }}
  user: {{ type: rest, configuration: {{ url: 'http://{0}/user' }} }}
  path: {{ type: rest, configuration: {{ url: 'http://{0}/text/{{{{ flows.user.id }}}}?a=b' }} }}
flow:
  - {{ name: text, source: query, input: 'x y&z' }}
  - {{ name: list, source: query, input: [1, 2] }}
  - {{ name: number, source: plain, input: 5 }}
  - {{ name: ignored, source: user, input: 5, output: [{{ name: id, type: jmespath, value: id }}] }}
  - {{ name: user, source: user, output: [{{ name: id, type: jmespath, value: id }}] }}
  - {{ name: posted, source: body, input: {{ k: [1, '{{{{ flows.user.id }}}}'] }} }}
  - {{ name: string, source: body, input: 'text' }}
  - {{ name: away, source: path, on_error: continue }}
",
        server.address
    );
    let file = scratch.file("flow.yaml", &flow);
    let mut command = scratch.command(&["run", &file, "--format", "json"]);
    let output = command.env("TOKEN", "t0ken").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert_eq!(
        server.asked(),
        [
            "GET /text/7?a=b",
            "GET /text?id=5",
            "GET /text?q=1&q=2",
            "GET /text?q=x+y%26z",
            "GET /user",
            "GET /user",
            r#"POST /text "text" [Bearer t0ken]"#,
            r#"POST /text {"k":[1,7]} [Bearer t0ken]"#,
        ]
    );
}

#[test]
fn a_server_that_is_not_there_fails_the_step() {
    let scratch = Scratch::new("ft-refused");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let flow = format!(
        "flow: [{{ name: a, source: {{ type: rest, configuration: {{ url: 'http://{free}/' }} }} }}]\n"
    );
    let (result, code) = result(&scratch, &write(&scratch, &flow));
    assert_eq!((code, state(&result, "a")), (Some(1), "failed".to_owned()));
    let error = result["steps"]["a"]["error"].as_str().unwrap();
    assert!(error.contains("onnection refused"), "{error}");
}

// Values from elsewhere

#[test]
fn ft17_ft27_variables_are_values_or_null_wherever_they_are_used() {
    let scratch = Scratch::new("ft17");
    let file = write(
        &scratch,
        "
  vars: { type: env, configuration: { vars: [A, B, MISSING] } }
  print: { type: process, configuration: { command: [printf, '<%s>', '{{ sources.vars.A }}', '{{ sources.vars.MISSING }}'] } }
flow:
  - { name: all, source: vars, output: [{ name: o }, { name: has, type: jmespath, value: 'MISSING != null' }] }
  - { name: inline, source: { type: env, configuration: { vars: [B] } }, output: [{ name: o }] }
  - { name: configured, source: print, output: [{ name: o }] }
  - { name: given, source: cat, input: 'a={{ sources.vars.A }}', output: [{ name: o }] }
",
    );
    let mut command = scratch.command(&["run", &file, "--format", "json"]);
    let output = command.env("A", "1").env("B", "two words").output().unwrap();
    let outputs = &parsed(&output)["outputs"];
    let all = json!({ "A": "1", "B": "two words", "MISSING": null });
    assert_eq!(outputs["all"], json!({ "o": all, "has": false }));
    assert_eq!(outputs["inline"]["o"], json!({ "B": "two words" }));
    assert_eq!(outputs["configured"]["o"]["stdout"], "<1><>");
    assert_eq!(outputs["given"]["o"]["stdout"], "a=1");
}

#[test]
fn ft25_a_step_named_in_a_source_is_waited_for() {
    let scratch = Scratch::new("ft25");
    let file = write(
        &scratch,
        "
  greet: { type: process, configuration: { command: [printf, 'hi %s', '{{ flows[\"who-1\"].name }}'] } }
flow:
  - { name: greet, source: greet, output: [{ name: o, type: jmespath, value: stdout }] }
  - { name: who-1, source: sh, input: 'sleep 0.1; printf ann', output: [{ name: name, type: jmespath, value: stdout }] }
",
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(result["outputs"]["greet"]["o"], "hi ann");
    assert!(instant(&result, "greet", "started_at") >= instant(&result, "who-1", "ended_at"));
}

#[test]
fn ft26_templates_are_rendered_at_any_depth_and_keep_their_types() {
    let scratch = Scratch::new("ft26");
    let file = write(
        &scratch,
        r#"
flow:
  - name: data
    source: sh
    input: echo '{"n":2,"list":[1,"x"],"no":null}'
    output: [{ name: d, type: jmespath, value: json }]
  - name: use
    source: cat
    input:
      number: "{{ flows.data.d.n + 1 }}"
      deep: [{ list: "{{ flows.data.d.list }}", text: "n={{ flows.data.d.n }}" }]
      plain: 5
      nothing: "{{ flows.data.d.no }}"
      "{{ key }}": kept
    output: [{ name: o, type: jmespath, value: json }]
"#,
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(
        result["outputs"]["use"]["o"],
        json!({
            "number": 3,
            "deep": [{ "list": [1, "x"], "text": "n=2" }],
            "plain": 5,
            "nothing": null,
            "{{ key }}": "kept",
        })
    );
}

#[test]
fn what_a_template_gives_is_never_a_template_again() {
    let scratch = Scratch::new("ft-second");
    let file = write(
        &scratch,
        r#"
flow:
  - { name: evil, source: sh, input: "printf '%s%s 1 + 1 }}' '{' '{'", output: [{ name: o, type: jmespath, value: stdout }] }
  - { name: use, source: cat, input: "{{ flows.evil.o }}|{{ flows.evil.o }}", output: [{ name: o, type: jmespath, value: stdout }] }
  - { name: again, source: words, input: ["{{ flows.use.o }}"], output: [{ name: o, type: jmespath, value: stdout }] }
"#,
    );
    let outputs = &scratch.json(&["run", &file])["outputs"];
    assert_eq!(outputs["evil"]["o"], "{{ 1 + 1 }}");
    assert_eq!(outputs["use"]["o"], "{{ 1 + 1 }}|{{ 1 + 1 }}");
    assert_eq!(outputs["again"]["o"], r#"<["{{ 1 + 1 }}|{{ 1 + 1 }}"]>"#);
}

#[test]
fn ft28_an_override_changes_only_what_it_names() {
    let scratch = Scratch::new("ft28");
    let file = write(
        &scratch,
        "
  count: { base: cat, override: { configuration: { command: [wc, -c] } } }
flow:
  - { name: inline, source: { base: cat, override: { configuration: { command: [wc, -c] } } }, input: hello, output: [{ name: o, type: jmespath, value: json }] }
  - { name: named, source: count, input: hello, output: [{ name: o, type: jmespath, value: json }] }
  - { name: base, source: cat, input: hello, output: [{ name: o, type: jmespath, value: stdout }] }
",
    );
    let outputs = &scratch.json(&["run", &file])["outputs"];
    assert_eq!((&outputs["inline"]["o"], &outputs["named"]["o"]), (&json!(5), &json!(5)));
    assert_eq!(outputs["base"]["o"], "hello");
}

#[test]
fn defaults_stand_for_what_a_failed_step_did_not_leave() {
    let scratch = Scratch::new("ft-default");
    let file = write(
        &scratch,
        "
flow:
  - { name: fails, source: sh, input: 'exit 1', on_error: continue, output: [{ name: o }] }
  - { name: default, source: cat, input: \"{{ flows.fails.o | default('none') }}\", output: [{ name: o }] }
  - { name: defined, source: cat, input: \"{{ 'yes' if flows.fails is defined else 'no' }}\", output: [{ name: o }] }
  - { name: strict, source: cat, input: '{{ flows.fails.o }}', on_error: continue }
",
    );
    let (result, code) = result(&scratch, &file);
    assert_eq!(code, Some(0));
    assert_eq!(result["outputs"]["default"]["o"]["stdout"], "none");
    assert_eq!(result["outputs"]["defined"]["o"]["stdout"], "no");
    let strict = &result["steps"]["strict"];
    assert_eq!(strict["state"], "failed");
    assert!(strict["error"].as_str().unwrap().contains("flows.fails"), "{strict}");
}

// Files

#[test]
fn files_are_merged_from_left_to_right() {
    let scratch = Scratch::new("ft-merge");
    let base = scratch.file(
        "base.yaml",
        "
name: merged
sources:
  say: { type: process, configuration: { command: [printf, '<%s>', one], pass_to: arg } }
runner: { max_workers: 1, on_error: skip }
flow:
  - { name: a, source: say, output: [{ name: o, type: jmespath, value: stdout }] }
  - { name: bad, source: { type: process, configuration: { command: ['false'] } } }
",
    );
    let change = scratch.file(
        "change.yaml",
        "sources: { say: { configuration: { command: [printf, '<%s>', two] } } }\n",
    );
    let steps = scratch.file(
        "steps.yaml",
        "flow: [{ name: b, source: say, input: x, output: [{ name: o, type: jmespath, value: stdout }] }]\n",
    );
    let outputs = |files: &[&str]| {
        let mut arguments = vec!["run"];
        arguments.extend(files);
        arguments.extend(["--outputs", "--format", "json"]);
        parsed(&scratch.run(&arguments))
    };
    assert_eq!(outputs(&[&base]), json!({ "a": { "o": "<one>" } }));
    assert_eq!(outputs(&[&base, &change]), json!({ "a": { "o": "<two>" } }));
    // Lists are replaced whole.
    assert_eq!(outputs(&[&base, &change, &steps]), json!({ "b": { "o": "<two><x>" } }));
    assert_eq!(outputs(&[&steps, &base]), json!({ "a": { "o": "<one>" } }));
    assert_eq!(scratch.json(&["runs"])["runs"][1]["flow"], "merged");
}

#[test]
fn an_empty_file_runs_nothing_and_succeeds() {
    let scratch = Scratch::new("ft-empty");
    for text in ["", "# nothing\n", "flow: []\n", "sources: {}\n"] {
        let result = scratch.json(&["run", &scratch.file("flow.yaml", text)]);
        assert_eq!((&result["state"], &result["outputs"]), (&json!("succeeded"), &json!({})));
    }
}

#[test]
fn a_key_without_a_value_is_as_good_as_absent() {
    let scratch = Scratch::new("ft-null");
    let file = scratch.file("flow.yaml", "sources:\n  # none yet\nflow:\nrunner:\n");
    assert_eq!(scratch.json(&["run", &file])["state"], "succeeded");
    let file = scratch.file(
        "flow.yaml",
        "flow: [{ name: a, source: { type: process, configuration: { command: ['true'] } }, output: null, depends_on: null, on_error: null, input: null }]\n",
    );
    assert_eq!(scratch.json(&["run", &file])["state"], "succeeded");
}

#[test]
fn the_flow_of_its_monitoring_guide_runs() {
    let scratch = Scratch::new("ft-guide");
    let file = scratch.file(
        "flow.yaml",
        "
sources:
  shell_cmd:
    type: process
    configuration:
      command: date
      shell: true
flow:
  - name: get_date
    source: shell_cmd
    output:
      - name: current_time
        value: \"{{ result.stdout }}\"
",
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(result["outputs"]["get_date"]["current_time"]["returncode"], 0);
}

#[test]
fn names_may_be_of_many_letters() {
    let scratch = Scratch::new("ft-names");
    let file = write(
        &scratch,
        "
flow:
  - { name: a-b, source: words, input: 1, output: [{ name: o-1, type: jmespath, value: stdout }] }
  - { name: a.b, source: words, input: 2, output: [{ name: o, type: jmespath, value: stdout }] }
  - { name: ünï, source: words, input: 3, output: [{ name: ö, type: jmespath, value: stdout }] }
  - { name: two words, source: words, input: 4, output: [{ name: o, type: jmespath, value: stdout }] }
  - { name: 1, source: words, input: 5, output: [{ name: 2, type: jmespath, value: stdout }] }
  - { name: true, source: words, input: 6, depends_on: [1] }
  - { name: items, source: words, input: 7, output: [{ name: keys, type: jmespath, value: stdout }] }
  - name: all
    source: cat
    depends_on: [true]
    input: \"{{ flows['a-b']['o-1'] }}{{ flows['a.b'].o }}{{ flows.ünï.ö }}{{ flows['two words'].o }}{{ flows['1']['2'] }}{{ flows.items.keys }}\"
    output: [{ name: o, type: jmespath, value: stdout }]
",
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(result["outputs"]["all"]["o"], "<1><2><3><4><5><7>");
    let last = instant(&result, "all", "started_at");
    for step in ["a-b", "a.b", "ünï", "two words", "1", "true", "items"] {
        assert!(instant(&result, step, "ended_at") <= last, "{step}");
    }
    let problems =
        refusals(&scratch, "flow: [{ name: a, source: words }, { name: a, source: cat }]\n");
    let expected = ("duplicate-step".to_owned(), "there are two steps called `a`".to_owned());
    assert_eq!(problems, [expected]);
}
