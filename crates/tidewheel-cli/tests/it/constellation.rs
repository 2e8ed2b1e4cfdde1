//! The scheduler of the Constellation document over HTTP: slots, priorities, bounds of queues, ageing and shutting down, each case by
//! its number, at a server that runs.
//!
//! The same cases without a server are tried in the library and in the simulator.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;

use crate::common::{Heard, Scratch, stderr, wait_until};
use serde_json::{Value as Json, json};

/// A server with a few flows, asked by an operator.
struct Server {
    scratch: Scratch,
    heard: Option<Heard>,
    address: String,
    token: String,
    variables: Vec<(String, String)>,
}

/// What is answered.
struct Answer {
    status: u16,
    head: String,
    body: Json,
}

impl Server {
    /// With these settings of the scheduler.
    fn new(name: &str, settings: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new(name);
        std::fs::create_dir(scratch.path("flows")).unwrap();
        let path = |name: &str| scratch.path(name).display().to_string();
        let (go, held, order, both) = (path("go"), path("held"), path("order"), path("both"));
        let flows = [
            (
                "hold",
                format!("flow: [{{ name: hold, run: 'touch {held}; while [ ! -e {go} ]; do sleep 0.02; done' }}]"),
            ),
            (
                "note",
                format!(
                    "params: {{ word: x }}\nflow: [{{ name: note, env: {{ WORD: '{{{{ params.word }}}}' }}, run: 'echo $WORD >> {order}' }}]"
                ),
            ),
            ("fail", "flow: [{ name: fail, run: 'exit 1' }]".to_owned()),
            (
                "busy",
                // sleeps: the longer a step runs, the surer an overlap shows; nothing waits for it.
                format!("flow: [{{ name: busy, run: 'echo + >> {both}; sleep 0.05; echo - >> {both}' }}]"),
            ),
            (
                "up",
                "flow: [{ name: a, priority: 0, run: 'true' }, { name: b, priority: 100, depends_on: [a], run: 'true' }]"
                    .to_owned(),
            ),
            (
                "mail",
                "queues: { mail: { waiting_max: 1 } }\nflow: [{ name: send, queue: mail, run: 'true' }]".to_owned(),
            ),
        ];
        for (name, text) in flows {
            scratch.file(&format!("flows/{name}.yaml"), &format!("{text}\n"));
        }
        let variables = settings
            .iter()
            .map(|(key, value)| (format!("TIDEWHEEL_SCHEDULER_{key}"), (*value).to_owned()));
        let made = scratch.json(&["token", "create", "test", "--role", "operator"]);
        let token = made["secret"].as_str().unwrap().to_owned();
        let variables = variables.collect();
        let mut server = Self { scratch, heard: None, address: String::new(), token, variables };
        server.start();
        server
    }

    fn start(&mut self) {
        let arguments = ["serve", "--flows", "flows", "--listen", "127.0.0.1:0", "--grace", "60s"];
        let heard = self.scratch.start_heard_with(&arguments, &self.variables);
        heard.wait_for("to log in");
        let said = heard.said();
        let address = said.lines().find_map(|line| line.split("listening on http://").nth(1));
        self.address = address.unwrap().to_owned();
        self.heard = Some(heard);
    }

    fn ask(&self, verb: &str, path: &str, body: &str) -> Answer {
        let (token, length) = (&self.token, body.len());
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        write!(
            stream,
            "{verb} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{kind}\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = serde_json::from_str(body).unwrap_or_default();
        Answer { status, head: head.to_ascii_lowercase(), body }
    }

    fn submit(&self, wish: &Json) -> Answer {
        self.ask("POST", "/api/v1/runs", &wish.to_string())
    }

    /// Starts a run, which must be accepted; its id.
    #[track_caller]
    fn run(&self, wish: &Json) -> String {
        let answer = self.submit(wish);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["run_id"].as_str().unwrap().to_owned()
    }

    /// Takes the only slot until there is a file `go`.
    fn hold(&self) {
        self.run(&json!({ "flow": "hold", "priority": 50 }));
        self.scratch.wait_for("held");
    }

    fn release(&self) {
        self.scratch.file("go", "");
    }

    /// `curl …/metrics | jq .scheduler`.
    fn figures(&self) -> Json {
        self.ask("GET", "/metrics", "").body["scheduler"].clone()
    }

    fn count(&self, key: &str) -> u64 {
        self.figures()[key].as_u64().unwrap()
    }

    #[track_caller]
    fn until_completed(&self, count: u64) {
        wait_until(&format!("{count} have ended"), || self.count("totalCompleted") >= count);
    }

    fn lines(&self, name: &str) -> Vec<String> {
        self.scratch.read(name).lines().map(str::to_owned).collect()
    }

    fn end(mut self) {
        self.release();
        let heard = self.heard.take().unwrap();
        heard.signal("TERM");
        let (code, said) = heard.ended();
        assert_eq!(code, Some(0), "{said}");
    }
}

fn note(word: &str, priority: i64) -> Json {
    json!({ "flow": "note", "params": { "word": word }, "priority": priority })
}

#[test]
fn ce01_never_more_run_than_there_are_slots() {
    let server = Server::new("ce01", &[("MAX_CONCURRENCY", "2")]);
    for _ in 0..10 {
        server.run(&json!({ "flow": "busy" }));
        assert!(server.count("activeCount") <= 2);
    }
    server.until_completed(10);
    let mut active = 0;
    for line in server.lines("both") {
        active += if line == "+" { 1 } else { -1 };
        assert!((0..=2).contains(&active), "{:?}", server.lines("both"));
    }
    assert_eq!(server.lines("both").len(), 20);
    server.end();
}

#[test]
fn ce02_ce06_ce07_ce13_ce14_ends_are_counted_by_priority_and_priorities_are_clamped() {
    let server = Server::new("ce02", &[]);
    let count = |wanted: [u64; 4]| {
        server.until_completed(wanted[1]);
        let figures = server.figures();
        let keys =
            ["totalSubmitted", "totalCompleted", "highPriorityCompleted", "lowPriorityCompleted"];
        assert_eq!(keys.map(|key| figures[key].as_u64().unwrap()), wanted, "{figures}");
    };
    for priority in [50, 80, 20] {
        server.run(&note("x", priority));
    }
    count([3, 3, 1, 1]);
    for priority in [74, 75, 80, 100, 0, 10, 24, 25] {
        server.run(&note("x", priority));
    }
    count([11, 11, 4, 4]);
    for priority in [-10, 150, -50, 200] {
        server.run(&note("x", priority));
    }
    count([15, 15, 6, 6]);
    // Two users of one server, five runs each.
    for _ in 0..5 {
        server.run(&note("x", 20));
        server.run(&note("x", 80));
    }
    count([25, 25, 11, 11]);
    let keys: BTreeSet<String> = server.figures().as_object().unwrap().keys().cloned().collect();
    let eight = [
        "enabled",
        "activeCount",
        "queuedCount",
        "totalSubmitted",
        "totalCompleted",
        "highPriorityCompleted",
        "lowPriorityCompleted",
        "starvationPromotions",
    ];
    assert_eq!(keys, eight.map(str::to_owned).into());
    server.end();
}

#[test]
fn ce03_no_slots_at_all_is_refused() {
    let scratch = Scratch::new("ce03");
    for slots in ["0", "-1"] {
        let mut command = scratch.command(&["serve", "--listen", "off"]);
        let output = command.env("TIDEWHEEL_SCHEDULER_MAX_CONCURRENCY", slots).output().unwrap();
        assert_ne!(output.status.code(), Some(0));
        assert!(stderr(&output).contains("a whole number from 1 to"), "{}", stderr(&output));
    }
}

#[test]
fn ce04_ce05_higher_priority_first_and_equal_ones_in_order() {
    let server = Server::new("ce04", &[("MAX_CONCURRENCY", "1")]);
    server.hold();
    server.run(&note("low", 20));
    for word in ["1", "2", "3", "4", "5"] {
        server.run(&note(word, 50));
    }
    server.run(&note("high", 80));
    assert_eq!((server.count("activeCount"), server.count("queuedCount")), (1, 7));
    server.release();
    server.until_completed(8);
    assert_eq!(server.lines("order"), ["high", "1", "2", "3", "4", "5", "low"]);
    server.end();
}

#[test]
fn ce08_ce09_ce18_ce20_a_full_queue_refuses_says_how_full_it_is_and_a_cancelled_run_frees_its_place()
 {
    let server = Server::new("ce08", &[("MAX_CONCURRENCY", "1"), ("MAX_QUEUE_SIZE", "3")]);
    server.hold();
    let accepted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let answer = server.submit(&note("x", 50));
                if answer.status == 200 {
                    accepted
                        .lock()
                        .unwrap()
                        .push(answer.body["run_id"].as_str().unwrap().to_owned());
                } else {
                    assert_eq!(answer.status, 429, "{}", answer.body);
                    assert!(
                        answer.body["detail"].as_str().unwrap().contains("(3/3)"),
                        "{}",
                        answer.body
                    );
                    assert!(answer.head.contains("\r\nretry-after: "), "{}", answer.head);
                }
            });
        }
    });
    let accepted = accepted.into_inner().unwrap();
    assert_eq!((accepted.len(), server.count("queuedCount")), (3, 3));
    let cancelled = server.ask("POST", &format!("/api/v1/runs/{}/cancel", accepted[0]), "");
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    wait_until("its place is free", || server.submit(&note("later", 50)).status == 200);
    server.release();
    // The one that held the slot, and three that waited.
    server.until_completed(4);
    assert_eq!(server.submit(&note("drained", 50)).status, 200);
    server.end();
}

#[test]
fn ce10_without_a_bound_everything_waits() {
    let server = Server::new("ce10", &[("MAX_CONCURRENCY", "1"), ("MAX_QUEUE_SIZE", "0")]);
    server.hold();
    for _ in 0..20 {
        server.run(&note("x", 50));
    }
    assert_eq!(server.count("queuedCount"), 20);
    server.release();
    server.until_completed(21);
    server.end();
}

#[test]
fn a_queue_of_a_flow_has_a_bound_of_its_own() {
    let server = Server::new("ce-mail", &[("MAX_CONCURRENCY", "1")]);
    server.hold();
    server.run(&json!({ "flow": "mail" }));
    let full = server.submit(&json!({ "flow": "mail" }));
    assert_eq!(full.status, 429, "{}", full.body);
    let detail = full.body["detail"].as_str().unwrap();
    assert!(detail.contains("queue `mail`") && detail.contains("(1/1)"), "{detail}");
    // Others are not held up by it.
    server.run(&note("x", 50));
    server.release();
    server.until_completed(3);
    server.end();
}

#[test]
fn ce11_failing_runs_leak_no_slots() {
    let server = Server::new("ce11", &[("MAX_CONCURRENCY", "2")]);
    for _ in 0..10 {
        server.run(&json!({ "flow": "fail" }));
    }
    for _ in 0..5 {
        server.run(&note("x", 50));
    }
    server.until_completed(15);
    assert_eq!(server.lines("order").len(), 5);
    assert_eq!((server.count("activeCount"), server.count("queuedCount")), (0, 0));
    server.end();
}

#[test]
fn ce12_many_submitters_at_once_get_each_run_once() {
    let server = Server::new("ce12", &[("MAX_CONCURRENCY", "4")]);
    let runs = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for number in 0..100 {
            let (server, runs) = (&server, &runs);
            scope.spawn(move || {
                let run = server.run(&note(&number.to_string(), number));
                assert!(runs.lock().unwrap().insert(run));
            });
        }
    });
    server.until_completed(100);
    let mut words: Vec<u32> =
        server.lines("order").iter().map(|word| word.parse().unwrap()).collect();
    words.sort_unstable();
    assert_eq!(words, (0..100).collect::<Vec<u32>>());
    assert_eq!((runs.into_inner().unwrap().len(), server.count("totalSubmitted")), (100, 100));
    server.end();
}

#[test]
fn ce15_ce16_ce21_waiting_raises_a_priority_at_the_rate_that_was_set() {
    let quick = Server::new("ce15", &[("MAX_CONCURRENCY", "1"), ("STARVATION_TIMEOUT", "600ms")]);
    let slow = Server::new("ce21", &[("MAX_CONCURRENCY", "1"), ("STARVATION_TIMEOUT", "1h")]);
    for server in [&quick, &slow] {
        server.hold();
        server.run(&note("x", 0));
    }
    wait_until("it was raised", || quick.count("starvationPromotions") >= 1);
    assert_eq!(slow.count("starvationPromotions"), 0);
    quick.end();
    slow.end();
}

#[test]
fn ce19_an_important_step_that_needs_an_unimportant_one_does_not_block_it() {
    let server = Server::new("ce19", &[("MAX_CONCURRENCY", "1")]);
    server.run(&json!({ "flow": "up" }));
    server.run(&json!({ "flow": "up" }));
    server.until_completed(4);
    server.end();
}

#[test]
fn ce17_ce22_shutting_down_twice_is_harmless_and_every_run_gets_a_definite_outcome() {
    let mut server = Server::new("ce17", &[("MAX_CONCURRENCY", "1")]);
    server.hold();
    let waiting: Vec<String> = ["a", "b", "c"].map(|word| server.run(&note(word, 50))).to_vec();
    let heard = server.heard.take().unwrap();
    heard.signal("TERM");
    wait_until("it is not ready", || server.ask("GET", "/health/ready", "").status == 503);
    let refused = server.submit(&note("late", 50));
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.head.contains("\r\nretry-after: "), "{}", refused.head);
    heard.signal("TERM");
    let (code, said) = heard.ended();
    assert_eq!(code, Some(0), "{said}");
    // What waited goes on with the next one, and what was refused never was.
    server.release();
    server.start();
    for run in waiting {
        let state = || server.ask("GET", &format!("/api/v1/runs/{run}"), "").body["state"].clone();
        wait_until("it has ended", || state() == "succeeded");
    }
    assert_eq!(server.lines("order"), ["a", "b", "c"]);
    wait_until("nothing runs", || server.count("activeCount") == 0);
    assert_eq!(server.count("queuedCount"), 0);
    server.end();
}
