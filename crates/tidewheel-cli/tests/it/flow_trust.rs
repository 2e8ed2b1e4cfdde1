//! What a run may be trusted with: results that are not stale, secrets that are not told, waits
//! that wait, and an end when somebody insists.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{Scratch, is_alive, stderr, stdout, wait_until};
use serde_json::Value;

const SECRET: &str = "s3cr3t-value-of-the-test";

/// A server that tells everything it was told, and says no until it is told otherwise.
struct Echo {
    address: String,
    says_yes: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Echo {
    fn start(says_yes: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let echo =
            Self { address, says_yes: Arc::new(AtomicBool::new(says_yes)), asked: Arc::default() };
        let (says_yes, asked) = (Arc::clone(&echo.says_yes), Arc::clone(&echo.asked));
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), says_yes.load(Ordering::SeqCst), &asked);
            }
        });
        echo
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// Answers one request with all that was sent, short lines first.
fn answer(stream: TcpStream, says_yes: bool, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut said = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.parse().unwrap();
        }
        said.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    said.push(String::from_utf8(body).unwrap());
    // Whatever differs from time to time is not told.
    said.retain(|line| !line.to_ascii_lowercase().starts_with("tidewheel-attempt"));
    said.retain(|line| !line.to_ascii_lowercase().starts_with("idempotency-key"));
    let said = said.join("\n");
    asked.lock().unwrap().push(said.clone());
    let status = if says_yes { "200 OK" } else { "404 Not Found" };
    write!(
        reader.get_mut(),
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{said}",
        said.len(),
    )
    .unwrap();
}

/// Files under a folder that hold a text.
fn files_with(text: &str, folder: &Path) -> String {
    stdout(&Command::new("grep").args(["-rla", text]).arg(folder).output().unwrap())
}

fn reason(result: &Value, step: &str) -> String {
    result["steps"][step]["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_answer_that_echoes_a_secret_does_not_tell_it() {
    let scratch = Scratch::new("trust-echo");
    let server = Echo::start(false);
    scratch.file("token", SECRET);
    // In the second one the message is cut in the middle of the secret.
    let padding = "x".repeat(200 - "GET /".len() - SECRET.len() / 2);
    let file = scratch.file(
        "flow.yaml",
        &format!(
            r#"
secrets: {{ token: {{ file: token }} }}
flow:
  - name: ask
    http:
      url: "http://{0}/"
      headers: {{ x-token: "{{{{ secrets.token }}}}" }}
    on_error: continue
  - name: cut
    http:
      url: "http://{0}/{padding}{{{{ secrets.token }}}}"
    on_error: continue
"#,
            server.address,
        ),
    );
    for level in ["info", "debug"] {
        let output = scratch.run(&["run", &file, "--log-level", level]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let told = stdout(&output) + &stderr(&output);
        assert!(told.contains("x-token: ***"), "{told}");
        assert!(!told.contains("s3cr3t"), "{told}");
    }
    assert_eq!(server.count(), 4);
    assert!(server.asked.lock().unwrap().iter().all(|said| said.contains(SECRET)));
    let shown = stdout(&scratch.run(&["show", "last", "--format", "json"]));
    assert!(shown.contains("404") && !shown.contains("s3cr3t"), "{shown}");
    assert_eq!(files_with("s3cr3t", &scratch.data()), "");
}

#[test]
fn a_command_is_shown_without_secrets() {
    let scratch = Scratch::new("trust-command");
    scratch.file("token", SECRET);
    let file = scratch.file(
        "flow.yaml",
        &format!(
            r#"
secrets: {{ token: {{ file: token }} }}
flow:
  - {{ name: words, argv: [echo, "a{{{{ secrets.token }}}}b"] }}
  - {{ name: text, run: "echo c{SECRET}d" }}
"#
        ),
    );
    let output = scratch.run(&["run", &file, "--log-level", "debug"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output) + &stderr(&output);
    assert!(told.contains("$ echo c***d"), "{told}");
    assert!(!told.contains("s3cr3t"), "{told}");
}

#[test]
fn no_command_line_holds_a_secret() {
    let scratch = Scratch::new("trust-cmdline");
    // Other tests run at the same time, with secrets of theirs.
    let secret = format!("c4n4ry-of-{}", std::process::id());
    scratch.file("token", &secret);
    let file = scratch.file(
        "flow.yaml",
        r#"
secrets:
  token: { file: token }
  same: { command: [cat, token] }
env: { EVERYWHERE: "{{ secrets.token }}" }
flow:
  - name: text
    run: cat > text; touch text.up; while [ ! -e go ]; do sleep 0.02; done; echo "$TOKEN" > text.env
    input: "{{ secrets.token }}"
    env: { TOKEN: "{{ secrets.same }}" }
  - name: words
    argv: [sh, -c, 'cat > words; touch words.up; while [ ! -e go ]; do sleep 0.02; done']
    stdin: "{{ secrets.token }}"
"#,
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("text.up");
    scratch.wait_for("words.up");
    let lines = command_lines();
    for ours in ["touch text.up", "touch words.up", &file] {
        assert!(lines.iter().any(|line| line.contains(ours)), "{ours} is in none of {lines:#?}");
    }
    let found: Vec<_> = lines.iter().filter(|line| line.contains(&secret)).collect();
    assert_eq!(found, [""; 0]);
    scratch.file("go", "");
    let output = running.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // They had it all the while.
    for name in ["text", "text.env", "words"] {
        assert_eq!(scratch.read(name).trim(), secret, "{name}");
    }
}

/// The command lines of all processes there are.
fn command_lines() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

#[test]
fn an_output_with_a_part_of_a_secret_is_not_stored() {
    let scratch = Scratch::new("trust-part");
    scratch.file("login", &format!(r#"{{"user": "admin", "password": "{SECRET}"}}"#));
    let file = scratch.file(
        "flow.yaml",
        r#"
secrets: { login: { file: login } }
flow:
  - name: tell
    run: printf '%s' "$LOGIN"
    env: { LOGIN: "{{ secrets.login }}" }
    outputs: { user: "{{ json.user }}" }
  - name: leak
    run: printf '%s' "$LOGIN"
    env: { LOGIN: "{{ secrets.login }}" }
    outputs: { password: "{{ json.password }}" }
    on_error: continue
  - name: after
    run: 'echo "by $USER_NAME"'
    env: { USER_NAME: "{{ flows.tell.user }}" }
"#,
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(result["outputs"]["tell"]["user"], "admin");
    let error = result["steps"]["leak"]["error"].as_str().unwrap();
    assert!(error.contains("output `password` holds a secret, `login`"), "{error}");
    let log = stdout(&scratch.run(&["logs", "last"]));
    assert!(log.contains("tell | ***") && log.contains("after | by admin"), "{log}");
    assert_eq!(files_with("s3cr3t", &scratch.data()), "");
}

#[test]
fn a_program_that_prints_a_secret_gets_what_it_was_given_and_leaves_nothing_behind() {
    let scratch = Scratch::new("trust-program");
    let file = scratch.file(
        "flow.yaml",
        r#"
secrets:
  token:
    command: [sh, -c, 'sleep 600 & echo $! > child; echo "<$GIVEN/$OTHER/long-enough>"']
    inherit: [GIVEN]
flow:
  - name: use
    run: test "$TOKEN" = "<1//long-enough>"
    env: { TOKEN: "{{ secrets.token }}" }
"#,
    );
    let mut command = scratch.command(&["run", &file]);
    let output = command.env("GIVEN", "1").env("OTHER", "2").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let child = scratch.read("child");
    assert!(!Path::new("/proc").join(child.trim()).exists(), "it has ended before the run");
    let mut grep = std::process::Command::new("grep");
    grep.args(["-rla", "long-enough>"]).arg(scratch.data().join("logs"));
    assert_eq!(String::from_utf8_lossy(&grep.output().unwrap().stdout), "");
}

#[test]
fn a_secret_that_is_too_short_is_named() {
    let scratch = Scratch::new("trust-short");
    scratch.file("long", "long enough");
    scratch.file("pin", "123");
    let file = scratch.file(
        "flow.yaml",
        "
secrets: { a: { file: long }, pin: { file: pin } }
flow: [{ name: a, run: 'true' }]
",
    );
    let output = scratch.run(&["run", &file]);
    assert_ne!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("`pin`"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("123"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_started_is_not_tried_again() {
    let scratch = Scratch::new("trust-missing");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: missing, argv: [no-such-program], retry: 3, on_error: continue }
  - { name: folder, run: 'true', cwd: nowhere, retry: 3, on_error: continue }
  - { name: bad, run: 'exit 9', retry: { attempts: 3, delay: 0s }, on_error: continue }
",
    );
    let result = scratch.json(&["run", &file]);
    let attempts = |step: &str| result["steps"][step]["attempts"].clone();
    assert_eq!(
        (attempts("missing"), attempts("folder"), attempts("bad")),
        (1.into(), 1.into(), 3.into())
    );
}

#[test]
fn a_wait_for_an_answer_outlasts_a_no() {
    let scratch = Scratch::new("trust-wait");
    let server = Echo::start(false);
    let file = scratch.file(
        "flow.yaml",
        &format!(
            "
params: {{ wrong: 'gopher://nowhere/' }}
flow:
  - name: up
    wait: {{ http: 'http://{}/ready', every: 20ms }}
  - name: wrong
    wait: {{ http: '{{{{ params.wrong }}}}', every: 20ms }}
    on_error: continue
",
            server.address
        ),
    );
    let running = scratch.start(&["run", &file, "--format", "json"]);
    wait_until("it was asked three times", || server.count() >= 3);
    server.says_yes.store(true, Ordering::SeqCst);
    let output = running.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["steps"]["up"]["state"], "succeeded");
    // What is wrong in itself is not waited for.
    assert_eq!(result["steps"]["wrong"]["state"], "failed");
}

#[test]
fn a_cached_step_is_done_again_if_what_it_made_has_changed() {
    let scratch = Scratch::new("trust-made");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - name: build
    cache: { inputs: [in.txt], outputs: [out.txt, folder] }
    run: cp in.txt out.txt; mkdir -p folder/deep; cp in.txt folder/deep/copy
",
    );
    let run = |text: &str| {
        scratch.file("in.txt", text);
        let result = scratch.json(&["run", &file]);
        assert_eq!(scratch.read("out.txt"), text);
        assert_eq!(scratch.read("folder/deep/copy"), text);
        reason(&result, "build")
    };
    assert_eq!(run("v1"), "");
    assert_eq!(run("v2"), "");
    assert_eq!(run("v1"), "");
    assert_eq!(run("v1"), "cached");
    scratch.file("folder/deep/copy", "by hand");
    assert_eq!(run("v1"), "");
    assert_eq!(run("v1"), "cached");
    scratch.file("folder/more", "by hand");
    assert_eq!(run("v1"), "");
}

#[test]
fn a_cache_knows_all_that_a_result_depends_on() {
    let scratch = Scratch::new("trust-fingerprint");
    let server = Echo::start(true);
    scratch.file("data.json", "[1]");
    let text = format!(
        r#"
params: {{ x: one }}
sources: {{ numbers: {{ type: file, configuration: {{ path: data.json }} }} }}
flow:
  - {{ name: out, cache: true, run: echo base, outputs: {{ v: "{{{{ stdout | trim }}}}-{{{{ params.x }}}}" }} }}
  - {{ name: method, cache: true, http: {{ url: "http://{0}/", method: "{{{{ 'PUT' if params.x == 'one' else 'POST' }}}}" }}, outputs: {{ v: "{{{{ data }}}}" }} }}
  - {{ name: body, cache: true, http: {{ url: "http://{0}/", method: POST, json: {{ q: "{{{{ params.x }}}}" }} }}, outputs: {{ v: "{{{{ data }}}}" }} }}
  - {{ name: header, cache: true, http: {{ url: "http://{0}/", headers: {{ x-q: "{{{{ params.x }}}}" }} }}, outputs: {{ v: "{{{{ data }}}}" }} }}
  - {{ name: query, cache: true, http: {{ url: "http://{0}/", query: {{ k: "{{{{ params.x }}}}" }} }}, outputs: {{ v: "{{{{ data }}}}" }} }}
  - {{ name: inherit, cache: true, inherit: [MY_*], run: "echo $MY_VARIABLE", outputs: {{ v: "{{{{ stdout }}}}" }} }}
  - {{ name: read, cache: true, source: numbers, outputs: {{ v: "{{{{ data }}}}" }} }}
  - name: each
    foreach: ["{{{{ params.x }}}}"]
    cache: true
    run: echo base
    outputs: {{ v: "{{{{ item }}}}" }}
  - {{ name: other, cache: true, run: echo base, outputs: {{ v: "{{{{ stdout | trim }}}}" }} }}
"#,
        server.address
    );
    let file = scratch.file("flow.yaml", &text);
    let run = |x: &str, variable: &str| -> Value {
        let mut command = scratch.command(&["run", &file, "--format", "json", "--param"]);
        let output = command.arg(format!("x={x}")).env("MY_VARIABLE", variable).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let steps = ["out", "method", "body", "header", "query", "inherit", "read", "each[0]", "other"];
    let cached = |result: &Value| -> Vec<&str> {
        steps.into_iter().filter(|step| reason(result, step) == "cached").collect()
    };
    let first = run("one", "a");
    assert_eq!(cached(&first), [""; 0]);
    let again = run("one", "a");
    assert_eq!(cached(&again), steps);
    assert_eq!(again["outputs"], first["outputs"]);

    // The same flow, its lines moved.
    scratch
        .file("flow.yaml", &format!("# more\n\n{}", text.replace("name: other", "name:  other")));
    assert_eq!(cached(&run("one", "a")), steps);

    scratch.file("data.json", "[2]");
    let other = run("two", "b");
    assert_eq!(cached(&other), ["other"]);
    let value = |step: &str| other["outputs"][step]["v"].to_string();
    assert_eq!(value("out"), "\"base-two\"");
    for step in ["body", "header", "query", "each"] {
        assert!(value(step).contains("two"), "{step}: {}", value(step));
    }
    assert!(value("method").contains("POST") && value("inherit").contains('b'));
    assert_eq!(value("read"), "[2]");
}

#[test]
fn an_insisted_end_ends_clean_up_that_hangs() {
    let scratch = Scratch::new("trust-end");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: work, run: 'echo $$ > work.part; mv work.part work; exec sleep 1000' }
  - { name: next, depends_on: [work], run: 'true' }
finally:
  - { name: tidy, run: 'echo $$ > tidy.part; mv tidy.part tidy; exec sleep 1000' }
",
    );
    // Which signals come before clean-up runs, which while it does, and how it ends.
    let cases: [(&[&str], &str, i32); 3] =
        [(&["TERM"], "TERM", 143), (&["INT", "TERM"], "INT", 130), (&["TERM"], "INT", 130)];
    for (before, last, code) in cases {
        let _ = std::fs::remove_file(scratch.path("work"));
        let _ = std::fs::remove_file(scratch.path("tidy"));
        let running = scratch.start(&["run", &file]);
        scratch.wait_for("work");
        for signal in before {
            running.signal(signal);
            let state = || scratch.json(&["show", "last"])["steps"]["next"]["state"].clone();
            wait_until("the wish is heard", || state() == "cancelled");
        }
        scratch.wait_for("tidy");
        running.signal(last);
        let state = || scratch.json(&["show", "last"])["state"].clone();
        wait_until("the run has ended", || state() == "cancelled");
        let output = running.output();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(!is_alive(&scratch.read("work")) && !is_alive(&scratch.read("tidy")));
        let shown = scratch.json(&["show", "last"]);
        assert_eq!(shown["state"], "cancelled");
        assert_eq!(shown["steps"]["tidy"]["state"], "cancelled");
    }
}

#[test]
fn clean_up_is_spared_by_a_single_wish() {
    let scratch = Scratch::new("trust-spare");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: work, run: 'touch work; exec sleep 1000' }
finally:
  - { name: tidy, run: 'touch tidy; while [ ! -e go ]; do sleep 0.02; done; touch tidied' }
",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("work");
    running.signal("TERM");
    scratch.wait_for("tidy");
    scratch.file("go", "");
    let output = running.output();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    assert!(scratch.path("tidied").exists());
    assert_eq!(scratch.json(&["show", "last"])["steps"]["tidy"]["state"], "succeeded");
}
