//! Files of flowtoy 0.4, run as they are: the conformance scenarios FT-01 to FT-28, where they need real processes.
//!
//! What needs none is in `tidewheel-flow`: `tests/it/flowtoy.rs` and `scenarios/flowtoy`.
//!
//! Where flowtoy does something that nobody wants, the test says what is done instead. FT-10 and
//! FT-19 are about callbacks of its library; there is only one server, so FT-23 is FT-22 here.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{Scratch, read_until, skipped, states, stderr, stdout, wait_until};
use serde_json::{Value, json};
use tidewheel_testing::{ClosedPort, patience};

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

// Order

#[test]
fn ft01_ft02_ft03_children_of_one_parent_run_at_once_after_it() {
    let scratch = Scratch::new("ft01");
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

#[test]
fn a_file_that_is_wrong_starts_nothing() {
    let scratch = Scratch::new("ft05");
    let file = write(
        &scratch,
        "
flow:
  - { name: good, source: sh, input: 'touch never' }
  - { name: one, source: sh, input: 'touch never', depends_on: [missing1, good] }
",
    );
    let output = scratch.run(&["run", &file, "--format", "json"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(3), String::new()));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["error"]["problems"][0]["code"], "missing-step", "{error}");
    assert!(!scratch.path("never").exists());
    assert!(!scratch.data().exists());
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

/// Returns the folder that flowtoy is installed into. That takes the network, so it is done only where one is named.
fn flowtoy_folder() -> Option<OsString> {
    let folder = std::env::var_os("TIDEWHEEL_FLOWTOY");
    if folder.is_none() {
        skipped("flowtoy's own screen", "TIDEWHEEL_FLOWTOY does not name a folder for flowtoy");
    }
    folder
}

#[test]
fn flowtoys_own_screen_shows_the_run() {
    let Some(folder) = flowtoy_folder() else { return };
    let scratch = Scratch::new("ft-screen");
    let file = write(&scratch, &held_flow());
    let served = Served::start(&scratch, &["run", &file, "--status-port", "0"]);
    scratch.wait_for("hold");
    check_screen(&folder, &format!("http://{}", served.address));
    scratch.file("go", "");
    assert_eq!(served.output().status.code(), Some(0));
}

#[test]
fn flowtoys_own_screen_shows_the_newest_run_of_a_server() {
    let Some(folder) = flowtoy_folder() else { return };
    let scratch = Scratch::new("ft-server");
    let file = write(&scratch, &held_flow());
    let arguments = ["serve", &file, "--listen", "127.0.0.1:0", "--flowtoy-open"];
    let server = scratch.start_heard(&arguments);
    server.wait_for("to log in");
    scratch.wait_for("hold");
    let said = server.said();
    let url = said.lines().find_map(|line| line.split("listening on ").nth(1)).unwrap();
    check_screen(&folder, &format!("{url}/flowtoy/latest"));
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
fn check_screen(folder: &OsStr, url: &str) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flowtoy/check.py");
    let mut check = std::process::Command::new("python3");
    check.arg(script).arg(url).arg("--venv").arg(folder);
    check.args(["--wait", &patience().as_secs().to_string()]);
    let steps = ["first=succeeded", "bad=failed", "left=skipped", "hold=running", "last=pending"];
    check.args(steps.iter().flat_map(|step| ["--step", step]));
    let output = check.args(["--output", r#"first.text="<hi>""#]).output().unwrap();
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    match said.strip_prefix("skipped: ") {
        Some(why) => skipped("flowtoy's own screen", why.trim_end()),
        None => assert!(said.starts_with("flowtoy 0.4.0 shows 5 steps"), "{said}"),
    }
}

// Outputs

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
    source: { type: process, configuration: { command: [sleep, '600'], timeout: 0.2 } }
",
    );
    let (result, code) = result(&scratch, &file);
    let step = &result["steps"]["a"];
    assert_eq!((code, &step["state"]), (Some(1), &json!("failed")));
    assert_eq!(step["reason"], "timed out");
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
    let closed = ClosedPort::new();
    let flow = format!(
        "flow: [{{ name: a, source: {{ type: rest, configuration: {{ url: 'http://{}/' }} }} }}]\n",
        closed.address()
    );
    let (result, code) = result(&scratch, &write(&scratch, &flow));
    assert_eq!((code, state(&result, "a")), (Some(1), "failed".to_owned()));
    let error = result["steps"]["a"]["error"].as_str().unwrap();
    assert!(error.contains("onnection refused"), "{error}");
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
    let result = scratch.json(&["run", &scratch.file("flow.yaml", "# nothing\n")]);
    assert_eq!((&result["state"], &result["outputs"]), (&json!("succeeded"), &json!({})));
}
