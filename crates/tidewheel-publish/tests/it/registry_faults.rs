//! The registry for tests, asked by hand: each fault looks on the wire as it says, and a seed says which.
//!
//! That it is truthful without faults is shown by the official clients, in `registry_clients`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::registry::{Fault, Faults, Protocol, Registry, RetryAfter, What};
use serde_json::{Value as Json, json};
use tidewheel_testing::{patience, wait_until};

/// An answer as it arrived: its status and everything, or nothing.
struct Arrived {
    status: u16,
    text: String,
}

impl Arrived {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.text.lines().take_while(|line| !line.is_empty());
        lines.filter_map(|line| line.split_once(": ")).find(|(own, _)| *own == name).map(|it| it.1)
    }

    fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").map_or("", |it| it.1)
    }
}

/// One request on a connection of its own; `None` if there was no whole answer.
fn ask(registry: &Registry, head: &str, body: &[u8]) -> Option<Arrived> {
    let mut stream = TcpStream::connect(("127.0.0.1", registry.port())).unwrap();
    stream.set_read_timeout(Some(patience())).unwrap();
    let length = body.len();
    let head = format!("{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    // Whoever is cut off may not be able to send all of it.
    let _ = stream.write_all(body);
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(answer) = whole(&bytes) {
            return Some(answer);
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

fn whole(bytes: &[u8]) -> Option<Arrived> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |it| it.parse().unwrap());
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (body.len() >= length).then_some(Arrived { status, text })
}

/// What cargo sends for a crate with this content.
fn body(name: &str, content: &str) -> Vec<u8> {
    let told = json!({ "name": name, "vers": "1.0.0", "deps": [], "features": {} }).to_string();
    let file = [b"\x1f\x8b", content.as_bytes()].concat();
    let mut body = Vec::new();
    for part in [told.as_bytes(), &file] {
        body.extend((part.len() as u32).to_le_bytes());
        body.extend(part);
    }
    body
}

fn upload(registry: &Registry, name: &str) -> Option<Arrived> {
    let head = format!("PUT /api/v1/crates/new HTTP/1.1\r\nauthorization: {}", registry.token());
    ask(registry, &head, &body(name, &"x".repeat(100_000)))
}

fn look(registry: &Registry, path: &str) -> Option<Arrived> {
    ask(registry, &format!("GET /index/{path} HTTP/1.1"), b"")
}

fn script(faults: Faults) -> Registry {
    let registry = Registry::start(Protocol::Cargo);
    registry.script(faults);
    registry
}

fn one(fault: Fault) -> Registry {
    script(Faults::none().on(What::Upload, "abcd", fault))
}

#[test]
fn without_faults_what_is_uploaded_is_seen_at_once_and_only_once() {
    let registry = script(Faults::none());
    assert_eq!(look(&registry, "ab/cd/abcd").unwrap().status, 404);
    assert_eq!(upload(&registry, "abcd").unwrap().status, 200);
    let line: Json = serde_json::from_str(look(&registry, "ab/cd/abcd").unwrap().body()).unwrap();
    assert_eq!(line["vers"], "1.0.0");
    assert_eq!(line["cksum"], registry.uploads()[0].sha256);
    registry.assert_nothing_twice();
    assert_eq!(look(&registry, "abcd").unwrap().status, 404, "it is in no other folder");
    let again = upload(&registry, "abcd").unwrap();
    assert_eq!(again.status, 400);
    assert!(again.body().contains("already uploaded"), "{}", again.body());
    assert!(registry.uploads()[1].was_there);
    assert_eq!(registry.census().len(), 1);
}

#[test]
fn whoever_has_no_token_is_refused_and_nothing_is_kept() {
    let registry = script(Faults::none());
    let head = "PUT /api/v1/crates/new HTTP/1.1\r\nauthorization: other";
    assert_eq!(ask(&registry, head, &body("abcd", "x")).unwrap().status, 403);
    assert!(registry.packages().is_empty());
    registry.be_private();
    let config = "GET /index/config.json HTTP/1.1";
    assert_eq!(ask(&registry, config, b"").unwrap().status, 401);
    let shown = format!("{config}\r\nauthorization: {}", registry.token());
    let told = ask(&registry, &shown, b"").unwrap();
    assert!(told.body().contains("\"auth-required\":true"), "{}", told.body());
}

#[test]
fn what_is_refused_before_it_is_done_is_not_there_and_goes_well_the_next_time() {
    let faults = [
        Fault::TooMany(RetryAfter::Missing),
        Fault::Refused(503, "try again"),
        Fault::Unauthorised,
        Fault::CutWhileReading(0),
        Fault::CutWhileReading(500),
        Fault::CutWhileReading(1000),
        Fault::CutBeforeDoing,
    ];
    for fault in faults {
        let registry = one(fault.clone());
        let first = upload(&registry, "abcd").map(|it| it.status);
        let expected = match fault {
            Fault::TooMany(_) => Some(429),
            Fault::Refused(status, _) => Some(status),
            Fault::Unauthorised => Some(403),
            _ => None,
        };
        assert_eq!(first, expected, "{fault:?}");
        assert!(registry.packages().is_empty(), "{fault:?}");
        assert!(registry.is_script_over());
        assert_eq!(registry.requests()[0].status, expected, "{fault:?}");
        assert_eq!(upload(&registry, "abcd").unwrap().status, 200, "{fault:?}");
        registry.assert_nothing_twice();
    }
}

#[test]
fn what_is_done_before_the_answer_is_lost_is_there() {
    let faults = [
        (Fault::DoneThenRefused(500), Some(500)),
        (Fault::CutAfterDoing, None),
        (Fault::CutWhileAnswering, None),
    ];
    for (fault, status) in faults {
        let registry = one(fault.clone());
        assert_eq!(upload(&registry, "abcd").map(|it| it.status), status, "{fault:?}");
        assert_eq!(look(&registry, "ab/cd/abcd").unwrap().status, 200, "{fault:?}");
        assert_eq!(registry.census().len(), 1, "{fault:?}");
    }
}

#[test]
fn a_silent_registry_holds_the_connection_until_the_client_leaves() {
    for is_done in [false, true] {
        let registry = one(Fault::Silent { is_done });
        let mut stream = TcpStream::connect(("127.0.0.1", registry.port())).unwrap();
        let body = body("abcd", "x");
        let token = registry.token();
        let head = format!("PUT /api/v1/crates/new HTTP/1.1\r\nauthorization: {token}");
        let head = format!("{head}\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        assert!(registry.wait_until(patience(), |requests, uploads| {
            requests.len() == 1 && uploads.len() == usize::from(is_done)
        }));
        // Others are served meanwhile, and see what was done.
        let expected = if is_done { 200 } else { 404 };
        assert_eq!(look(&registry, "ab/cd/abcd").unwrap().status, expected);
        wait_until("the silent request alone is open", || registry.open_requests() == 1);
        stream.set_read_timeout(Some(patience())).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"", "it was answered");
    }
}

#[test]
fn an_index_that_lags_is_counted_in_looks() {
    let registry = one(Fault::Hidden(3));
    assert_eq!(upload(&registry, "abcd").unwrap().status, 200);
    let seen = || look(&registry, "ab/cd/abcd").unwrap().status;
    assert_eq!([seen(), seen(), seen(), seen(), seen()], [404, 404, 404, 200, 200]);
    let registry = one(Fault::Flickering(4));
    assert_eq!(upload(&registry, "abcd").unwrap().status, 200);
    let seen = || look(&registry, "ab/cd/abcd").unwrap().status;
    assert_eq!([seen(), seen(), seen(), seen(), seen()], [200, 404, 200, 404, 200]);
}

#[test]
fn what_is_there_may_be_another_content_than_ours() {
    for fault in [Fault::OtherContent, Fault::Taken] {
        let registry = one(fault.clone());
        let status = upload(&registry, "abcd").unwrap().status;
        assert_eq!(status, if fault == Fault::Taken { 400 } else { 200 });
        let sent = registry.uploads()[0].sha256.clone();
        assert_ne!(registry.census()[0].3, sent, "{fault:?}");
    }
}

#[test]
fn the_time_to_come_again_is_told_in_every_form() {
    let told = |when: RetryAfter| upload(&one(Fault::TooMany(when)), "abcd").unwrap();
    assert_eq!(told(RetryAfter::Seconds(7)).header("retry-after"), Some("7"));
    let date = told(RetryAfter::Date(90));
    let date = date.header("retry-after").unwrap();
    assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
    let sentence = told(RetryAfter::Sentence(90));
    assert_eq!(sentence.header("retry-after"), None);
    assert!(sentence.body().contains(" GMT or write to us"), "{}", sentence.body());
    assert_eq!(told(RetryAfter::Missing).header("retry-after"), None);
    assert_eq!(told(RetryAfter::Text("soon")).header("retry-after"), Some("soon"));
}

#[test]
fn faults_are_for_the_requests_that_they_name_and_are_used_up() {
    let faults = Faults::none()
        .on(What::Look, "abcd", Fault::Refused(502, "try again"))
        .times(2)
        .after(1)
        .on_any(What::Upload, Fault::Refused(500, "try again"));
    let registry = script(faults);
    assert_eq!(upload(&registry, "other").unwrap().status, 500);
    assert_eq!(upload(&registry, "abcd").unwrap().status, 200);
    assert_eq!(look(&registry, "ot/he/other").unwrap().status, 404);
    let seen: Vec<u16> = (0..4).map(|_| look(&registry, "ab/cd/abcd").unwrap().status).collect();
    assert_eq!(seen, [200, 502, 502, 200]);
    assert!(registry.is_script_over());
}

#[test]
fn a_seed_says_which_faults_there_are_and_they_pass() {
    let packages = ["a", "b", "c", "d", "e"];
    let text = |seed| format!("{:?}", Faults::random(seed, &packages));
    assert_eq!(text(1), text(1));
    let different: std::collections::BTreeSet<String> = (0..100).map(text).collect();
    assert!(different.len() > 90, "only {} scripts", different.len());
    for seed in 0..50 {
        let registry = Registry::start(Protocol::Cargo);
        registry.script(Faults::random(seed, &["abcd"]));
        let is_out = |_| {
            let _ = upload(&registry, "abcd");
            registry.census().len() == 1
        };
        assert!((0..50).any(is_out), "seed {seed} lets nobody through");
    }
}

#[test]
fn what_is_forgotten_was_never_there_and_connections_of_then_are_served_no_more() {
    let registry = one(Fault::Silent { is_done: true });
    let mut idle = TcpStream::connect(("127.0.0.1", registry.port())).unwrap();
    idle.write_all(b"GET /index/config.json HTTP/1.1\r\n\r\n").unwrap();
    let mut first = [0; 15];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    assert_eq!(upload(&registry, "other").unwrap().status, 200);
    registry.forget();
    assert!(registry.packages().is_empty() && registry.requests().is_empty());
    assert!(registry.is_script_over());
    idle.write_all(b"GET /index/config.json HTTP/1.1\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).unwrap();
    assert_eq!(String::from_utf8_lossy(&rest).matches("HTTP/1.1").count(), 0, "it was answered");
    assert_eq!(upload(&registry, "abcd").unwrap().status, 200);
    assert_eq!(registry.requests_count(), 1);
}
