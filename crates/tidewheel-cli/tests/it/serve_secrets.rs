//! A secret that a step does everything wrong with, at a server: nobody is told it, by no route, page, event, notification or file.
//!
//! How secrets are masked in what a step writes is tried in the library, and of `tidewheel run` in `flow_trust`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::common::{Scratch, wait_until};
use serde_json::Value;
use tidewheel_server::table::{Verb, routes};
use tidewheel_testing::{ClosedPort, patience};

/// The secret, and the same in an alphabet that programs like.
const CANARY: &str = "canary-5e3f1c8a9b7d";
const CANARY_BASE64: &str = "Y2FuYXJ5LTVlM2YxYzhhOWI3Z";

/// Steps that write it, fail with it, ask for an address with it and leave it to others.
const LEAKY: &str = "
name: leaky
secrets: { key: { env: LEAKY_KEY } }
flow:
  - name: tell
    env: { KEY: '{{ secrets.key }}' }
    run: 'echo \"out $KEY\"; echo \"err $KEY\" >&2; printf %s \"$KEY\" | base64; exit 3'
  - { name: ask, http: 'http://REFUSES/{{ secrets.key }}' }
  - { name: leave, env: { KEY: '{{ secrets.key }}' }, run: 'echo \"$KEY\"', outputs: { left: '{{ stdout }}' } }
";

const ALERT: &str = "
name: alert
params: { text: { type: text }, body: { type: map } }
schedule: { events: { on: [failure], of: [leaky] }, params: { text: '{{ event.text }}', body: '{{ event.slack }}' } }
flow: [{ name: say, env: { TEXT: '{{ params.text }} {{ params.body | tojson }}' }, run: 'echo \"$TEXT\"' }]
";

/// Returns an answer to its end; of the stream of events, which has none, to the last event that the test caused.
fn ask(address: &str, token: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(patience())).unwrap();
    let head = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close");
    write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\nLast-Event-ID: 0:0\r\n\r\n").unwrap();
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut piece).unwrap();
        bytes.extend(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if count == 0 || text.lines().any(is_last_event) {
            return text.into_owned();
        }
    }
}

/// Whether a line of the stream of events is the end of the run that the failure has started.
fn is_last_event(line: &str) -> bool {
    let event = line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok());
    event.is_some_and(|event: Value| event["what"] == "run-ended" && event["flow"] == "alert")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.is_file() => files.push(path),
                // The socket has nothing in it.
                false => {}
            }
        }
    }
    files
}

#[test]
fn a_secret_is_told_by_no_route_and_no_file_of_a_server() {
    let scratch = Scratch::new("serve-secrets");
    std::fs::create_dir(scratch.path("flows")).unwrap();
    let closed = ClosedPort::new();
    scratch.file("flows/leaky.yaml", &LEAKY.replace("REFUSES", &closed.address().to_string()));
    scratch.file("flows/alert.yaml", ALERT);
    let made = scratch.json(&["token", "create", "test", "--role", "admin"]);
    let token = made["secret"].as_str().unwrap().to_owned();
    let variables = [("LEAKY_KEY".to_owned(), CANARY.to_owned())];
    let arguments = ["serve", "--flows", "flows", "--listen", "127.0.0.1:0"];
    let server = scratch.start_heard_with(&arguments, &variables);
    server.wait_for("to log in");
    let said = server.said();
    let address = said.lines().find_map(|line| line.split("listening on http://").nth(1)).unwrap();
    let run = scratch.json(&["run", "leaky", "--detach"])["run_id"].as_str().unwrap().to_owned();
    let has_ended = |flow: &str, state: &str| {
        let runs = scratch.json(&["runs", "--flow", flow, "--state", state]);
        !runs["runs"].as_array().unwrap().is_empty()
    };
    wait_until("it has failed", || has_ended("leaky", "failed"));
    wait_until("somebody has heard of it", || has_ended("alert", "succeeded"));
    let is_told = |text: &str| text.contains(CANARY) || text.contains(CANARY_BASE64);

    let mut paths: Vec<String> = Vec::new();
    for route in routes().filter(|route| route.verb == Verb::Get) {
        for step in ["tell", "ask", "leave"] {
            let path = route.path.replace("{run}", &run).replace("{step}", step);
            let path = path.replace("{flow}", "leaky").replace("{schedule}", "alert");
            if !path.contains('{') {
                paths.extend([path.clone(), format!("{path}?step={step}")]);
            }
        }
    }
    paths.sort();
    paths.dedup();
    for stream in ["stdout", "stderr"] {
        paths
            .push(format!("/api/v1/runs/{run}/log?task=tell&attempt=1&stream={stream}&whole=true"));
    }
    let (mut shown, mut streams, count) = (0, 0, paths.len());
    for path in paths {
        let answer = ask(address, &token, &path);
        assert!(answer.starts_with("HTTP/1.1 "), "{path}: {answer}");
        assert!(!is_told(&answer), "{path}: {answer}");
        shown += usize::from(answer.contains("out ***") || answer.contains("err ***"));
        streams += usize::from(answer.lines().any(is_last_event));
    }
    assert_eq!(streams, 1, "the stream of events is read to its last event");
    assert!(count > 60 && shown > 1, "{shown} of {count} show what the step wrote");
    for words in [&["show", &run][..], &["logs", &run], &["explain", &run], &["plan", "leaky"]] {
        let output = scratch.run(words);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!is_told(&text), "{words:?}: {text}");
    }
    server.signal("TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0));
    assert!(!is_told(&said), "{said}");
    for file in files(&scratch.path("")) {
        let text = std::fs::read(&file).unwrap();
        assert!(!is_told(&String::from_utf8_lossy(&text)), "{}", file.display());
    }
}
