//! `tidewheel serve` over HTTP: who is let in, and commands that ask it from elsewhere.
//!
//! What is answered is tried in `tidewheel-server`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::common::{Heard, Scratch, stderr, stdout, wait_until};
use serde_json::Value;

/// Starts a server on any free port; its address.
fn serve(scratch: &Scratch) -> (Heard, String) {
    serve_with(scratch, &[])
}

fn serve_with(scratch: &Scratch, more: &[&str]) -> (Heard, String) {
    std::fs::create_dir_all(scratch.path("flows")).unwrap();
    scratch.file("flows/hello.yaml", "flow: [{ name: say, run: echo hello }]\n");
    let arguments = [&["serve", "--flows", "flows", "--listen", "127.0.0.1:0"], more].concat();
    let server = scratch.start_heard(&arguments);
    server.wait_for("to log in");
    let said = server.said();
    let url = said.lines().find_map(|line| line.split("listening on ").nth(1)).unwrap();
    (server, url.to_owned())
}

/// What a server answers.
fn ask(url: &str, head: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_server_is_asked_from_elsewhere_as_its_data_folder_is_here() {
    let scratch = Scratch::new("listen");
    let (server, url) = serve(&scratch);
    let made = scratch.json(&["token", "create", "laptop", "--role", "operator"]);
    let token = made["secret"].as_str().unwrap();
    let there = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--server", &url]);
        scratch.command(&all).env("TIDEWHEEL_TOKEN", token).output().unwrap()
    };
    let body = r#"{"flow":"hello"}"#;
    let start = format!(
        "POST /api/v1/runs HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}",
        body.len()
    );
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let request = format!("{start}\r\nHost: localhost\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    wait_until("the run has ended", || scratch.json(&["runs"])["runs"][0]["state"] == "succeeded");
    for arguments in [
        &["runs", "--format", "json"][..],
        &["show", "last", "--format", "json"],
        &["show", "nothing"],
        &["logs", "last"],
        &["logs", "last", "say"],
        &["explain", "last"],
        &["cancel", "last"],
        &["schedule", "list"],
    ] {
        let (here, there) = (scratch.run(arguments), there(arguments));
        assert_eq!(stdout(&here), stdout(&there), "{arguments:?}: {}", stderr(&there));
        assert_eq!(here.status.code(), there.status.code(), "{arguments:?}: {}", stderr(&there));
        assert_eq!(stderr(&here), stderr(&there), "{arguments:?}");
    }
    let stranger = scratch.run(&["runs", "--server", &url]);
    assert_eq!(stranger.status.code(), Some(6), "{}", stderr(&stranger));
    let metrics = ask(&url, "GET /metrics HTTP/1.1");
    let metrics: Value = serde_json::from_str(metrics.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(metrics["scheduler"]["totalCompleted"], 1);
    assert_eq!(scratch.run(&["token", "revoke", "laptop"]).status.code(), Some(0));
    wait_until("it is revoked", || there(&["runs"]).status.code() == Some(6));
    let rows = scratch.json(&["audit", "verify"])["rows"].as_u64().unwrap();
    // The token was made, the run started and not cancelled, neither from elsewhere nor from here, the token revoked.
    assert_eq!(rows, 5, "{}", stdout(&scratch.run(&["audit", "list"])));
    server.signal("TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains(token), "{said}");
}

#[test]
fn addresses_that_others_can_reach_are_refused() {
    let scratch = Scratch::new("listen-far");
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let output = scratch.run(&["serve", "--listen", address]);
        assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
        assert!(stderr(&output).contains("--behind-proxy"), "{}", stderr(&output));
    }
    let output = scratch.run(&["serve", "--listen", "here"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let output = scratch.command(&["runs", "--server", "http://a.example"]);
    let output = { output }.env("TIDEWHEEL_TOKEN", "tidewheel_x").output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
}

#[test]
fn a_changed_audit_log_is_found() {
    let scratch = Scratch::new("listen-audit");
    for name in ["a", "b", "c"] {
        scratch.json(&["token", "create", name, "--role", "viewer"]);
    }
    assert!(stdout(&scratch.run(&["token", "list"])).contains("viewer"));
    let path = scratch.data().join("server/audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let without: Vec<&str> = text.lines().filter(|line| !line.contains(" b viewer")).collect();
    std::fs::write(&path, without.join("\n") + "\n").unwrap();
    let output = scratch.run(&["audit", "verify"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("rows were removed or moved"), "{}", stderr(&output));
}

#[test]
fn a_port_that_somebody_has_is_told_before_anything_is_begun() {
    let scratch = Scratch::new("listen-taken");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap().to_string();
    std::fs::create_dir(scratch.path("flows")).unwrap();
    scratch.file("flows/a.yaml", "schedule: { every: 1s }\nflow: [{ name: a, run: 'true' }]\n");
    let flows = scratch.path("flows");
    let output = scratch.run(&["serve", "--flows", flows.to_str().unwrap(), "--listen", &address]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot listen"), "{}", stderr(&output));
    assert_eq!(scratch.json(&["schedule", "list"])["schedules"], serde_json::json!([]));
}

#[test]
fn what_flowtoy_reads_is_open_to_this_machine_if_so_configured() {
    let scratch = Scratch::new("listen-flowtoy");
    let path = "GET /flowtoy/latest/status HTTP/1.1";
    let (closed, url) = serve(&scratch);
    assert!(ask(&url, path).starts_with("HTTP/1.1 401"));
    closed.signal("TERM");
    assert_eq!(closed.ended().0, Some(0));
    let (open, url) = serve_with(&scratch, &["--flowtoy-open"]);
    // There is no run yet, and whoever asks is told so.
    assert!(ask(&url, path).starts_with("HTTP/1.1 404"), "{}", ask(&url, path));
    open.signal("TERM");
    assert_eq!(open.ended().0, Some(0));
}

#[test]
fn figures_want_a_token_on_this_machine_too_if_so_configured() {
    let scratch = Scratch::new("listen-metrics");
    let path = "GET /metrics HTTP/1.1";
    let (closed, url) = serve_with(&scratch, &["--metrics-token"]);
    assert!(ask(&url, path).starts_with("HTTP/1.1 401"), "{}", ask(&url, path));
    let made = scratch.json(&["token", "create", "prometheus", "--role", "viewer"]);
    let token = made["secret"].as_str().unwrap();
    let known = ask(&url, &format!("{path}\r\nAuthorization: Bearer {token}"));
    assert!(known.starts_with("HTTP/1.1 200"), "{known}");
    closed.signal("TERM");
    assert_eq!(closed.ended().0, Some(0));
}
