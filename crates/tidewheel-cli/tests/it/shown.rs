//! What is shown of runs, while they run and afterwards: `show`, `logs`, lines without a terminal.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use crate::common::{Scratch, read_until, stderr, stdout, wait_until};
use serde_json::json;

#[test]
fn a_tolerated_failure_is_told_from_others() {
    let scratch = Scratch::new("shown-tolerated");
    scratch.file("child.yaml", "flow: [{ name: push, run: exit 1 }]\n");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: optional, run: exit 1, on_error: continue }
  - { name: call, flow: child.yaml, on_error: continue }
  - { name: needed, depends_on: [optional, call], run: exit 1 }
",
    );
    let output = scratch.run(&["run", &file, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let result = scratch.json(&["show", "last"]);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap(), result);
    let tolerated = |step: &str| result["steps"][step]["tolerated"].clone();
    for (step, expected) in
        [("optional", true), ("call", true), ("call/push", true), ("needed", false)]
    {
        assert_eq!(tolerated(step), json!(expected), "{step}");
    }
    let text = stdout(&scratch.run(&["show", "last"]));
    let line = |step: &str| text.lines().find(|line| line.starts_with(step)).unwrap();
    assert!(line("optional ").contains("failed, tolerated"), "{text}");
    assert!(line("needed ").contains("failed  "), "{text}");
}

#[test]
fn a_run_says_what_it_was_started_with_and_what_made_it() {
    let scratch = Scratch::new("shown-origin");
    let params = "params: { level: { type: int, default: 3 }, who: { default: me } }";
    let file =
        scratch.file("flow.yaml", &format!("{params}\nflow: [{{ name: one, run: exit 1 }}]\n"));
    scratch.run(&["run", &file, "--param", "level=5"]);
    let first = scratch.json(&["show", "last"]);
    assert_eq!(first["params"], json!({ "level": 5, "who": "me" }));
    assert_eq!(first["origin"], json!({ "by": "by-hand" }));
    scratch.run(&["retry", "last"]);
    let again = scratch.json(&["show", "last"]);
    assert_eq!(again["params"], first["params"]);
    assert_eq!(again["origin"], json!({ "by": "retry", "run_id": first["run_id"] }));
    let text = stdout(&scratch.run(&["show", "last"]));
    let short = &first["run_id"].as_str().unwrap()[..13];
    assert!(text.contains(&format!("origin: retry of {short}\n")), "{text}");
    assert!(text.contains("params: level=5, who=me\n"), "{text}");
}

/// Answers every request so, until the test ends.
fn serve(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    format!("http://{address}/")
}

#[test]
fn logs_of_a_request_say_how_it_was_answered() {
    let scratch = Scratch::new("shown-request");
    let (good, bad) = (serve("200 OK", "fine"), serve("404 Not Found", "no such thing\n"));
    let file = scratch.file(
        "flow.yaml",
        &format!(
            "
flow:
  - {{ name: good, http: {{ url: '{good}' }} }}
  - {{ name: bad, http: {{ url: '{bad}' }}, retry: 0, on_error: continue }}
"
        ),
    );
    scratch.json(&["run", &file]);
    let bad_log = scratch.run(&["logs", "last", "bad"]);
    assert_eq!(stdout(&bad_log), "no such thing\n");
    assert!(stderr(&bad_log).starts_with("status 404\n"), "{}", stderr(&bad_log));
    assert!(stderr(&bad_log).contains("answered 404"), "{}", stderr(&bad_log));
    let good_log = scratch.run(&["logs", "last", "good"]);
    assert_eq!(stdout(&good_log), "");
    assert!(stderr(&good_log).starts_with("status 200\n"), "{}", stderr(&good_log));
    assert!(stderr(&good_log).contains("tidewheel show"), "{}", stderr(&good_log));
    let all = scratch.run(&["logs", "last"]);
    assert_eq!(stdout(&all), "bad | no such thing\n");
    assert!(stderr(&all).starts_with("good | status 200\nbad | status 404\n"), "{}", stderr(&all));
    let requests = scratch.json(&["logs", "last"])["requests"].clone();
    assert_eq!(requests[0]["status"], 200);
    assert_eq!((&requests[1]["step"], &requests[1]["attempt"]), (&json!("bad"), &json!(1)));
    assert_eq!(requests[1]["answer"], "no such thing\n");
}

#[test]
fn logs_of_what_is_not_there_say_so() {
    let scratch = Scratch::new("shown-no-log");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: again, run: 'echo $TIDEWHEEL_ATTEMPT; exit 1', retry: { attempts: 2, delay: 1ms }, on_error: continue }
  - { name: never, when: 'false', run: 'true' }
  - { name: quiet, run: 'true' }
",
    );
    scratch.json(&["run", &file]);
    let output = scratch.run(&["logs", "last", "again", "--attempt", "9"]);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(
        stderr(&output),
        "error: step `again` has no attempt 9\nhint: it has attempts 1 to 2\n"
    );
    let output = scratch.run(&["logs", "last", "again", "--attempt", "1"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), "1\n".to_owned()));
    let output = scratch.run(&["logs", "last", "never"]);
    assert!(stderr(&output).starts_with("the step was skipped"), "{}", stderr(&output));
    // What a process wrote is shown byte for byte, also when that is nothing.
    let output = scratch.run(&["logs", "last", "quiet"]);
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()));
}

#[test]
fn elements_found_late_stand_beside_their_step() {
    let scratch = Scratch::new("shown-late");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: list, run: "echo '[1, 2]'", outputs: { all: "{{ json }}" } }
  - { name: each, foreach: "{{ flows.list.all }}", run: 'echo "$N"', env: { N: "{{ item }}" } }
  - { name: last, run: echo last }
"#,
    );
    let result = scratch.json(&["run", &file]);
    let expected = ["list", "each[]", "each[0]", "each[1]", "each", "last"];
    assert_eq!(result["steps"].as_object().unwrap().keys().collect::<Vec<_>>(), expected);
    let text = stdout(&scratch.run(&["show", "last"]));
    let names = text.lines().skip(5).map(|line| line.split(' ').next().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), expected);
    let logs = stdout(&scratch.run(&["logs", "last"]));
    assert_eq!(logs, "list | [1, 2]\neach[0] | 1\neach[1] | 2\nlast | last\n");
}

#[test]
fn looks_of_a_wait_and_conditions_are_no_starts() {
    let scratch = Scratch::new("shown-started");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: patient, wait: { file: go, every: 1ms } }
  - { name: never, depends_on: [patient], when: 'false', run: 'true' }
  - { name: real, depends_on: [patient], run: 'true' }
",
    );
    let mut child = scratch
        .command(&["run", &file, "--log-level", "debug"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = child.stderr.take().unwrap();
    // It is said after the first look, so that there is another one.
    let mut text = read_until(&mut stream, "waits for a file");
    scratch.file("go", "");
    stream.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    let lines = |word: &str, step: &str| {
        let words = format!("{word:9} {step}");
        text.lines().filter(|line| line[9..].starts_with(&words)).count()
    };
    assert_eq!(lines("started", "patient"), 1, "{text}");
    assert_eq!(lines("waiting", "patient"), 1, "{text}");
    assert_eq!((lines("started", "never"), lines("skipped", "never")), (0, 1), "{text}");
    assert_eq!((lines("started", "real"), lines("succeeded", "real")), (1, 1), "{text}");
}

#[test]
fn a_view_that_falls_behind_tells_every_end() {
    const STEPS: usize = 5_000;
    let scratch = Scratch::new("shown-behind");
    let mut text = "flow:\n  - { name: first, run: exit 1 }\n".to_owned();
    for step in 0..STEPS {
        text.push_str(&format!("  - {{ name: s{step}, depends_on: [first], run: 'true' }}\n"));
    }
    let file = scratch.file("flow.yaml", &text);
    // All of them are skipped at once, which is more than is kept for a view.
    let output = scratch.run(&["run", &file]);
    let text = stderr(&output);
    let skipped: std::collections::BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.split_once("skipped   ")?.1.split(':').next())
        .collect();
    assert_eq!(skipped.len(), STEPS, "{}", &text[..text.len().min(2_000)]);
    assert_eq!(text.lines().filter(|line| line.contains(" skipped   s")).count(), STEPS);
    assert!(!text.contains("warning"), "{}", &text[..text.len().min(2_000)]);
}

#[test]
fn a_run_that_is_cancelled_from_elsewhere_cleans_up() {
    let scratch = Scratch::new("shown-cancel");
    let file = scratch.file(
        "flow.yaml",
        "
flow: [{ name: hang, run: 'touch started; sleep 1000' }]
finally: [{ name: tidy, run: touch tidied }]
",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    scratch.json(&["cancel", "last"]);
    assert_eq!(running.output().status.code(), Some(1));
    let result = scratch.json(&["show", "last"]);
    assert_eq!(result["state"], "cancelled");
    assert_eq!(result["steps"]["hang"]["state"], "cancelled");
    assert_eq!(result["steps"]["tidy"]["state"], "succeeded");
    assert!(scratch.path("tidied").exists());
}

#[test]
fn clean_up_that_hangs_is_ended_from_elsewhere() {
    let scratch = Scratch::new("shown-end");
    let file = scratch.file(
        "flow.yaml",
        "
flow: [{ name: work, run: 'true' }]
finally: [{ name: tidy, run: 'touch tidying; sleep 1000' }]
",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("tidying");
    scratch.json(&["cancel", "last", "--everything"]);
    assert_eq!(running.output().status.code(), Some(1));
    assert_eq!(scratch.json(&["show", "last"])["steps"]["tidy"]["state"], "cancelled");
}

#[test]
fn a_run_that_nobody_runs_is_cancelled_without_clean_up_and_says_so() {
    let scratch = Scratch::new("shown-cancel-left");
    let file = scratch.file(
        "flow.yaml",
        "
flow: [{ name: hang, run: 'touch started; sleep 1000' }]
finally: [{ name: tidy, run: touch tidied }]
",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("KILL");
    drop(running.output());
    let output = scratch.run(&["cancel", "last"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("its clean-up was not run"), "{}", stderr(&output));
    assert!(!scratch.path("tidied").exists());
}

#[test]
fn the_data_folder_is_shown_where_it_is() {
    let scratch = Scratch::new("shown-config");
    let data = |value: Option<&str>| {
        let mut command = scratch.command(&["config", "show", "--format", "json"]);
        command.env_remove("TIDEWHEEL_DATA").env("HOME", scratch.path("home"));
        if let Some(value) = value {
            command.env("TIDEWHEEL_DATA", value);
        }
        let output = command.output().unwrap();
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        shown["settings"]["data"].clone()
    };
    let default = scratch.path("home/.local/share/tidewheel");
    assert_eq!(data(None)["value"], json!(default.to_str()));
    assert_eq!(data(None)["origin"]["kind"], "default");
    assert_eq!(data(Some("state"))["value"], json!(scratch.path("state").to_str()));
    assert_eq!(data(Some("state"))["origin"]["where"], "TIDEWHEEL_DATA");
}

#[test]
fn steps_that_write_a_lot_hold_nothing_up() {
    let scratch = Scratch::new("shown-flood");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: a, run: 'yes hello | head -c 20000000' }
  - { name: b, depends_on: [a], run: 'true' }
",
    );
    for level in ["info", "debug"] {
        let output = scratch.run(&["run", &file, "--log-level", level]);
        let text = stderr(&output);
        let lines: Vec<&str> = text.lines().map(|line| &line[9..]).collect();
        // It wrote ten times as many.
        assert!(lines.len() < 300_000, "{}", lines.len());
        for start in ["started   a", "succeeded a", "started   b", "succeeded b"] {
            assert!(lines.iter().any(|line| line.starts_with(start)), "{start}");
        }
        // What is said of a step is what is kept of it, to the tenth of a second.
        let step = &scratch.json(&["show", "last"])["steps"]["a"];
        let at = |name: &str| step[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let took = (at("ended_at") - at("started_at")).total(jiff::Unit::Second).unwrap();
        let said = lines.iter().find_map(|line| line.strip_prefix("succeeded a (")).unwrap();
        let said: f64 = said.split(' ').next().unwrap().parse().unwrap();
        // elapsed: both are of the same attempt
        assert!((said - took).abs() < 0.11, "{said} for {took}");
    }
    let output = scratch.run(&["run", &file, "--log-level", "debug"]);
    assert!(stderr(&output).contains("MB left out, see tidewheel logs"));
}

#[test]
fn lines_without_an_end_stand_where_they_were_written() {
    let scratch = Scratch::new("shown-no-newline");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: a, run: printf 'a1' }
  - { name: b, depends_on: [a], run: 'echo b1; printf b2' }
  - { name: c, depends_on: [b], run: echo c }
",
    );
    scratch.json(&["run", &file]);
    let expected = "a | a1\nb | b1\nb | b2\nc | c\n";
    assert_eq!(stdout(&scratch.run(&["logs", "last"])), expected);
    assert_eq!(stdout(&scratch.run(&["logs", "last", "-f"])), expected);
}

#[test]
fn a_timeout_is_told_with_its_limit_and_what_was_waited_for() {
    let scratch = Scratch::new("shown-timeout");
    let down = serve("503 Service Unavailable", "not yet");
    // It takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let file = scratch.file(
        "flow.yaml",
        &format!(
            "
runner: {{ on_error: continue }}
flow:
  - {{ name: slow, run: sleep 600, timeout: 50ms }}
  - {{ name: file, wait: {{ file: missing, every: 10ms }}, timeout: 50ms }}
  - {{ name: answer, wait: {{ http: {{ url: '{down}' }}, every: 10ms }}, timeout: 2s }}
  - {{ name: request, http: {{ url: 'http://{address}/' }}, timeout: 50ms, retry: 0 }}
"
        ),
    );
    let live = stderr(&scratch.run(&["run", &file]));
    let shown = stdout(&scratch.run(&["show", "last"]));
    for (step, words) in [
        ("slow", "timed out after 50 ms"),
        ("file", "timed out after 50 ms, waited for a file"),
        ("answer", "timed out after 2.0 s, waited for an answer"),
        ("request", "timed out after 50 ms"),
    ] {
        let told = live.lines().find(|line| line.contains(&format!("failed    {step}"))).unwrap();
        assert!(told.ends_with(words), "{told}");
        let line = shown.lines().find(|line| line.starts_with(step)).unwrap();
        assert!(line.contains(words), "{line}");
        if step == "answer" {
            assert!(told.contains("answered 503") && line.contains("answered 503"), "{line}");
        }
    }
    let log = stderr(&scratch.run(&["logs", "last", "request"]));
    assert_eq!(log, "timed out after 50 ms\n");
    let requests = scratch.json(&["logs", "last"])["requests"].clone();
    assert_eq!(requests[0]["error"], "timed out after 50 ms");
}

#[test]
fn an_answer_that_is_not_as_expected_keeps_its_status() {
    let scratch = Scratch::new("shown-not-json");
    let url = serve("200 OK", "<html>sorry</html>");
    let file = scratch.file(
        "flow.yaml",
        &format!(
            "flow: [{{ name: a, http: {{ url: '{url}' }}, outputs: {{ n: '{{{{ json.n }}}}' }} }}]"
        ),
    );
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(1));
    let step = scratch.json(&["show", "last"])["steps"]["a"].clone();
    assert_eq!(step["code"], 200, "{step}");
    assert!(step["error"].as_str().unwrap().contains("`<html>sorry</html>`"), "{step}");
}

#[test]
fn who_waits_for_approval_says_how_to_give_it() {
    let scratch = Scratch::new("shown-approval");
    let file = scratch.file(
        "flow.yaml",
        "flow: [{ name: 'gate', wait: { approval: 'Deploy to prod?', every: 10ms } }]",
    );
    let mut child =
        scratch.command(&["run", &file]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut stream = child.stderr.take().unwrap();
    let text = read_until(&mut stream, "waiting   gate");
    let text = text + &read_until(&mut stream, "\n");
    assert!(text.contains("Deploy to prod?"), "{text}");
    let command = text.rsplit('`').nth(1).unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[0], "tidewheel", "{text}");
    assert!(scratch.run(&words[1..]).status.success(), "{command}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_resumed_run_knows_what_is_tolerated_before_it_starts_anything() {
    let scratch = Scratch::new("shown-resumed");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: t, run: exit 3, retry: 0, on_error: continue }
  - { name: w, depends_on: [t], wait: { file: go, every: 20ms } }
  - { name: u, depends_on: [w], run: exit 4, retry: 0, on_error: continue }
",
    );
    let running = scratch.start(&["run", &file]);
    let failed = || scratch.run(&["show", "last", "--format", "json"]);
    let failed = || String::from_utf8_lossy(&failed().stdout).contains("\"failed\"");
    wait_until("the first step has failed", failed);
    running.signal("KILL");
    drop(running.output());
    // Nothing can start until the file is there.
    let mut command = scratch.command(&["resume", "last"]);
    let mut resumed = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = resumed.stderr.take().unwrap();
    let before = read_until(&mut said, "run       ");
    scratch.file("go", "");
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(resumed.wait().unwrap().code(), Some(0), "{before}{rest}");
    let text = before + &rest;
    assert!(text.contains("2 failed (tolerated)"), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" failed ")).collect();
    assert!(lines.iter().all(|line| line.contains("tolerated")), "{text}");
}

#[test]
fn colours_are_left_out_and_nothing_is_said_twice() {
    let scratch = Scratch::new("shown-colours");
    let bad = serve("404 Not Found", "no such thing\n");
    let file = scratch.file(
        "flow.yaml",
        &format!(
            "
flow:
  - {{ name: red, run: \"printf '\\\\033[31moops\\\\033[0m' >&2; exit 3\", on_error: continue }}
  - {{ name: bad, http: {{ url: '{bad}' }}, retry: 0, on_error: continue }}
"
        ),
    );
    let live = stderr(&scratch.run(&["run", &file]));
    assert_eq!(live.matches("no such thing").count(), 1, "{live}");
    assert!(live.contains("2 failed (tolerated)"), "{live}");
    for command in ["show", "explain"] {
        let text = stdout(&scratch.run(&[command, "last"]));
        assert!(text.contains("exit code 3: oops"), "{text}");
        assert!(!text.contains("[31m"), "{text}");
        assert_eq!(text.matches("failed, tolerated").count(), 2, "{text}");
    }
    let log = scratch.run(&["logs", "last", "bad"]);
    assert!(!stderr(&log).contains("no such thing"), "{}", stderr(&log));
    assert_eq!(stdout(&log), "no such thing\n");
}

#[test]
fn several_files_are_told_to_be_one_flow() {
    let scratch = Scratch::new("shown-merged");
    scratch.file("a.yaml", "name: both\nflow: [{ name: a, run: 'true' }]\n");
    scratch.file("b.yaml", "runner: { max_workers: 2 }\n");
    let output = scratch.run(&["validate", "a.yaml", "b.yaml"]);
    assert_eq!(stdout(&output), "a.yaml, b.yaml as one flow, both: 1 step, no errors\n");
    assert_eq!(stdout(&scratch.run(&["validate", "a.yaml"])), "both: 1 step, no errors\n");
}

#[test]
fn lines_say_which_element_a_step_is_for() {
    let scratch = Scratch::new("element-lines");
    let flow = r#"
        flow:
          - { name: test, matrix: { os: [linux, macos] }, argv: [test, "{{ matrix.os }}", =, linux] }
          - { name: list, run: "echo '[\"x\", \"y\"]'", outputs: { all: "{{ json }}" } }
          - { name: each, foreach: "{{ flows.list.all }}", argv: [echo, "{{ item }}"] }
          - { name: named, foreach: [a], label: "{{ item }}-1", run: "true" }
          - name: up
            foreach: [h1, h2]
            steps: [{ name: drain, run: "true" }, { name: disk, foreach: [sda, sdb], run: "true" }]
          - { name: call, foreach: [k1], flow: called.yaml, with: { key: "{{ item }}" } }
        runner: { on_error: skip }
        "#;
    let called = r#"
        params: { key: none }
        flow:
          - { name: look, foreach: ["{{ params.key }}-x"], run: "true" }
          - { name: end, run: "true" }
        "#;
    scratch.file("called.yaml", called);
    let file = scratch.file("flow.yaml", flow);
    let output = scratch.run(&["run", &file]);
    let lines = stderr(&output);
    for line in [
        "started   test[0] (linux)",
        "failed    test[1] (macos) (",
        "started   each[0] (x)",
        "succeeded each[1] (y) (",
        "started   named[a-1]\n",
        "started   up[1]/drain (h2)",
        "succeeded up[0]/disk[1] (sdb) (",
        "started   call[0]/look[0] (k1-x)",
        "started   call[0]/end (k1)",
    ] {
        assert!(lines.contains(line), "{line}: {lines}");
    }
}

#[test]
fn a_command_is_shown_below_the_start_of_its_step() {
    let scratch = Scratch::new("command-lines");
    let step = |index: usize| match index {
        0 => "{ name: s0, run: 'true' }".to_owned(),
        _ => format!("{{ name: s{index}, run: 'true', depends_on: s{} }}", index - 1),
    };
    let steps: Vec<String> = (0..20).map(step).collect();
    let file = scratch.file("flow.yaml", &format!("flow: [{}]", steps.join(", ")));
    let output = scratch.run(&["run", &file, "--log-level", "DEBUG"]);
    let lines = stderr(&output);
    let place = |text: String| lines.find(&text).unwrap_or_else(|| panic!("{text}: {lines}"));
    for index in 0..20 {
        let told = [
            place(format!("started   s{index}\n")),
            place(format!("output    s{index}: $ true\n")),
            place(format!("succeeded s{index} (")),
        ];
        assert!(told.is_sorted(), "s{index}: {lines}");
        if index > 0 {
            assert!(place(format!("succeeded s{} (", index - 1)) < told[0], "{lines}");
        }
    }
}

#[test]
fn a_step_of_a_called_flow_that_is_skipped_says_what_stopped_it() {
    let scratch = Scratch::new("skipped-inside");
    scratch.file(
        "inner.yaml",
        "flow: [{ name: a, run: exit 3 }, { name: b, run: 'true', depends_on: a }]",
    );
    let file = scratch.file("flow.yaml", "flow: [{ name: s, flow: inner.yaml }]");
    let lines = stderr(&scratch.run(&["run", &file]));
    assert!(lines.contains("skipped   s/b: stopped by `s/a`\n"), "{lines}");
    assert!(!lines.contains("condition"), "{lines}");
    // A group may also stop because its time is over.
    // Long enough for the step to start: storing that takes a while on a busy disk.
    let group = "flow: [{ name: g, timeout: 1s, steps: [{ name: a, run: sleep 1000 }] }]";
    let lines = stderr(&scratch.run(&["run", &scratch.file("group.yaml", group)]));
    assert!(lines.contains("failed    g: out of time after 1.0 s\n"), "{lines}");
    assert!(lines.contains("cancelled g/a (") && lines.contains("): stopped by `g`\n"), "{lines}");
    let shown = scratch.json(&["show", "last"]);
    assert_eq!(shown["steps"]["g"]["timeout"], "out of time after 1.0 s", "{shown:#}");
    let why = stdout(&scratch.run(&["explain", "last", "g"]));
    let told = "the time for all that is in it was over: out of time after 1.0 s";
    assert!(why.contains(told) && !why.contains("before it started"), "{why}");
    // If it is tried again, each try has its time.
    let tries = group.replace("timeout: 1s", "timeout: 50ms, retry: { retries: 1, delay: 1ms }");
    let lines = stderr(&scratch.run(&["run", &scratch.file("tries.yaml", &tries)]));
    assert!(lines.contains("failed    g{2}: out of time after 50 ms\n"), "{lines}");
}

#[test]
fn tries_of_a_group_are_shown_if_they_were_needed() {
    let scratch = Scratch::new("shown-tries");
    let flow = r#"
flow:
  - name: flaky
    retry: { retries: 2, delay: 1ms }
    steps:
      - { name: one, run: 'test -e "$TIDEWHEEL_RUN_DIR/n" || { touch "$TIDEWHEEL_RUN_DIR/n"; exit 1; }' }
      - { name: two, depends_on: one, run: "true" }
  - { name: good, retry: { retries: 3, delay: 1ms }, foreach: [1, 2], steps: [{ name: it, run: "true" }] }
  - { name: end, depends_on: flaky, run: "true" }
"#;
    let output = scratch.run(&["run", &scratch.file("flow.yaml", flow)]);
    let lines = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{lines}");
    assert!(lines.contains("2 failed (tolerated)"), "{lines}");
    assert!(lines.contains("succeeded flaky{2}/one ("), "{lines}");
    for unneeded in ["flaky{3}", "good[0]{2}", "good[1]{4}[]"] {
        assert!(!lines.contains(unneeded), "{unneeded}: {lines}");
    }
    let listed = stdout(&scratch.run(&["runs"]));
    assert!(listed.contains("2 failed (tolerated)"), "{listed}");
    let shown = stdout(&scratch.run(&["show", "last"]));
    let place = |step: &str| {
        let is_row = |line: &&str| line.split_whitespace().any(|word| word == step);
        shown.lines().position(|line| is_row(&line)).unwrap_or_else(|| panic!("{step}: {shown}"))
    };
    let rows = ["flaky/one", "flaky/two", "flaky{2}/one", "flaky{2}/two", "flaky", "good", "end"];
    assert!(rows.map(place).is_sorted(), "{shown}");
    assert!(!shown.contains("flaky{3}") && !shown.contains("good[0]{2}"), "{shown}");
}

#[test]
fn a_step_that_skips_itself_says_by_which_code() {
    let scratch = Scratch::new("shown-skip-code");
    let file = scratch
        .file("flow.yaml", "flow: [{ name: a, skip_codes: [78], run: echo looked; exit 78 }]");
    let output = scratch.run(&["run", &file]);
    let lines = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{lines}");
    assert!(lines.contains("exit code 78") && !lines.contains("condition"), "{lines}");
    let shown = scratch.json(&["show", "last"]);
    assert_eq!(shown["steps"]["a"]["reason"], "exit code 78", "{shown:#}");
    assert_eq!(shown["steps"]["a"]["attempts"], 1, "{shown:#}");
    let logs = scratch.run(&["logs", "last", "a"]);
    assert_eq!((&*stdout(&logs), &*stderr(&logs)), ("looked\n", ""));
    let why = stdout(&scratch.run(&["explain", "last", "a"]));
    let told = "it said by its exit code 78 that there is nothing to do";
    assert!(why.contains(told), "{why}");
}

#[test]
fn runs_and_steps_are_found_by_their_tags() {
    let scratch = Scratch::new("tags");
    let tagged = scratch.file(
        "backup.yaml",
        r"
        tags: [backup, nightly]
        flow:
          - { name: dump, run: 'true', tags: [slow] }
          - { name: group, steps: [{ name: copy, run: 'true', tags: [net, slow] }] }
        ",
    );
    let plain = scratch.file("plain.yaml", "flow: [{ name: a, run: 'true' }]");
    for file in [&tagged, &plain, &plain] {
        assert_eq!(scratch.run(&["run", file]).status.code(), Some(0));
    }
    let listed = scratch.json(&["runs", "--tag", "nightly", "--limit", "1"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["runs"][0]["flow"], "backup");
    assert_eq!(listed["runs"][0]["tags"], json!(["backup", "nightly"]));
    let run = listed["runs"][0]["run_id"].as_str().unwrap();
    assert_eq!(scratch.json(&["runs", "--tag", "nightl"])["runs"], json!([]));
    assert_eq!(scratch.json(&["runs"])["runs"].as_array().unwrap().len(), 3);
    let shown = scratch.json(&["show", run]);
    assert_eq!(shown["tags"], json!(["backup", "nightly"]));
    assert_eq!(shown["steps"]["dump"]["tags"], json!(["slow"]));
    assert_eq!(shown["steps"]["group/copy"]["tags"], json!(["net", "slow"]));
    assert!(stdout(&scratch.run(&["show", run])).contains("\ntags: backup, nightly\n"));
    assert_eq!(scratch.json(&["show", "last"]).get("tags"), None);
}
