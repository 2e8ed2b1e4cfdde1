//! The server as a client sees it, over real sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use tidewheel_client::api::{FlowtoyOutputs, FlowtoyStatus, FlowtoyStep, Named, Values};
use tidewheel_testing::patience;
use tokio::runtime::Runtime;

use super::server::{CONNECTIONS_MAX, Timeouts};
use super::site::is_loopback_host;
use super::{StatusPort, StatusServer, StatusSource};

/// A duration that never ends within a test: a server that waits for it hangs, and the test with it.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Says the same every time.
struct Fixed {
    status: FlowtoyStatus,
    outputs: FlowtoyOutputs,
}

impl StatusSource for Fixed {
    fn status(&self) -> FlowtoyStatus {
        self.status.clone()
    }

    fn outputs(&self) -> FlowtoyOutputs {
        self.outputs.clone()
    }
}

/// Tells that it was asked for the outputs, and answers when it is told to. It has no status.
struct Held {
    asked: Sender<()>,
    released: Mutex<Receiver<()>>,
}

impl StatusSource for Held {
    fn status(&self) -> FlowtoyStatus {
        panic!("there is no status")
    }

    fn outputs(&self) -> FlowtoyOutputs {
        self.asked.send(()).unwrap();
        let _ = self.released.lock().unwrap().recv();
        outputs(json!({ "late": {} }))
    }
}

fn held() -> (Arc<Held>, Receiver<()>, Sender<()>) {
    let ((asked, was_asked), (release, released)) = (channel(), channel());
    (Arc::new(Held { asked, released: Mutex::new(released) }), was_asked, release)
}

fn step(name: &str) -> (String, FlowtoyStep) {
    (name.to_owned(), FlowtoyStep { state: "pending".to_owned(), ..FlowtoyStep::default() })
}

fn outputs(of: Json) -> FlowtoyOutputs {
    let steps: Map<String, Json> = serde_json::from_value(of).unwrap();
    let values = |values: Json| serde_json::from_value::<Values>(values).unwrap();
    FlowtoyOutputs(Named(steps.into_iter().map(|(name, left)| (name, values(left))).collect()))
}

fn fixed(steps: Vec<(String, FlowtoyStep)>, left: Json) -> Arc<Fixed> {
    let status = FlowtoyStatus::of_steps("r1".to_owned(), Named(steps));
    Arc::new(Fixed { status, outputs: outputs(left) })
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A server that runs for as long as the test.
struct Stage {
    runtime: Runtime,
    server: StatusServer,
}

impl Stage {
    fn new(source: Arc<dyn StatusSource>) -> Self {
        let runtime = runtime();
        let port = StatusPort::take(0).unwrap();
        let server = runtime.block_on(StatusServer::start(port, source)).unwrap();
        Self { runtime, server }
    }

    /// With a server that ends no connection because of its age.
    fn without_timeouts(source: Arc<dyn StatusSource>) -> Self {
        let runtime = runtime();
        let port = StatusPort::take(0).unwrap();
        let timeouts = Timeouts { connection: FOREVER, head: FOREVER };
        let server = runtime.block_on(StatusServer::start_with(port, source, timeouts)).unwrap();
        Self { runtime, server }
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &self.server.address().to_string())
    }

    fn send(&self, method: &str, path: &str, host: &str) -> Answer {
        exchange(
            self.server.address(),
            &format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        )
    }

    fn with_host(&self, host: &str) -> u16 {
        self.send("GET", "/status", host).status
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Sends a request and reads until the server closes the connection.
fn exchange(address: SocketAddr, request: &str) -> Answer {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(patience())).unwrap();
    stream
}

#[test]
fn steps_come_in_the_order_of_the_flow() {
    let steps = ["zebra", "ant", "mole"].map(step).to_vec();
    let body = Stage::new(fixed(steps, json!({}))).get("/status").body;
    let place = |name: &str| body.find(&format!("\"{name}\":{{")).unwrap();
    assert!(place("zebra") < place("ant") && place("ant") < place("mole"), "{body}");
}

#[test]
fn outputs_are_served_as_they_are_however_large() {
    let outputs = json!({ "fetch": { "body": "x".repeat(5_000_000), "code": 200 } });
    assert_eq!(Stage::new(fixed(Vec::new(), outputs.clone())).get("/outputs").json(), outputs);
}

#[test]
fn the_root_names_the_paths_and_other_paths_do_not_exist() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    assert_eq!(stage.get("/").json(), json!({ "paths": ["/status", "/outputs"] }));
    assert_eq!(stage.get("/status?x=1").status, 200);
    for path in ["/status/", "/status/status", "//status", "/../status", "/%73tatus", "/docs"] {
        let answer = stage.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.json()["error"].is_string(), "{path}");
    }
}

#[test]
fn only_names_of_the_loopback_interface_with_our_port_are_answered_to() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    let port = stage.server.address().port();
    for name in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        assert_eq!(stage.with_host(&format!("{name}:{port}")), 200, "{name}");
        assert_eq!(stage.with_host(name), 421, "{name} without a port");
        assert_eq!(stage.with_host(&format!("{name}:{}", port ^ 1)), 421, "{name}, other port");
        assert_eq!(stage.with_host(&format!("{name}:0{port}")), 421, "{name}, odd port");
    }
    for name in [
        "rebound.example",
        "127.0.0.1.rebound.example",
        "localhost.rebound.example",
        "rebound.example:80@127.0.0.1",
        "localhost.",
        "127.0.0.2",
        "127.1",
        "0.0.0.0",
        "",
    ] {
        assert_eq!(stage.with_host(&format!("{name}:{port}")), 421, "{name}");
    }
}

#[test]
fn only_the_port_of_http_may_be_left_out() {
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        assert!(is_loopback_host(name, 80) && is_loopback_host(&format!("{name}:80"), 80));
        assert!(!is_loopback_host(&format!("{name}:"), 80));
        assert!(!is_loopback_host(&format!("{name}:8080"), 80));
        assert!(!is_loopback_host(name, 8080));
    }
    assert!(!is_loopback_host("rebound.example", 80));
}

#[test]
fn a_request_must_name_its_host_once_and_by_no_other_way_differently() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    let address = stage.server.address();
    let ours = format!("Host: {address}\r\n");
    let status = |target: &str, headers: &str| {
        exchange(address, &format!("GET {target} HTTP/1.1\r\n{headers}\r\n")).status
    };
    assert_eq!(status("/status", ""), 421);
    assert_eq!(status("/status", &format!("{ours}{ours}")), 421);
    assert_eq!(status("/status", &format!("{ours}Host: rebound.example\r\n")), 421);
    assert_eq!(status("http://rebound.example/status", &ours), 421);
    assert_eq!(status(&format!("http://{address}/status"), &ours), 200);
}

#[test]
fn the_host_is_checked_before_anything_else() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    assert_eq!(stage.send("DELETE", "/nowhere", "rebound.example").status, 421);
}

#[test]
fn only_get_and_head_are_methods() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    let host = stage.server.address().to_string();
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        let answer = stage.send(method, "/status", &host);
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.contains("\r\nallow: get, head"), "{method}");
    }
}

#[test]
fn head_gives_the_headers_of_get() {
    let stage = Stage::new(fixed(vec![step("fetch")], json!({})));
    let (get, head) =
        (stage.get("/status"), stage.send("HEAD", "/status", &stage.server.address().to_string()));
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(head.head.contains(&format!("\r\ncontent-length: {}", get.body.len())));
}

#[test]
fn every_answer_is_json_that_pages_of_others_cannot_read() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    let address = stage.server.address();
    for path in ["/", "/status", "/outputs", "/nowhere"] {
        let origin = "Origin: http://rebound.example\r\n";
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{origin}\r\n");
        let answer = exchange(address, &request);
        assert!(answer.head.contains("\r\ncontent-type: application/json"), "{path}");
        assert!(answer.head.contains("\r\nx-content-type-options: nosniff"), "{path}");
        assert!(answer.head.contains("\r\ncross-origin-resource-policy: same-origin"), "{path}");
        assert!(!answer.head.contains("access-control"), "{path}");
    }
}

#[test]
fn requests_that_are_too_large_are_refused() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    let address = stage.server.address();
    let status = |headers: &str| {
        let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
        exchange(address, &request).status
    };
    assert_eq!(status(&format!("Cookie: {}\r\n", "x".repeat(20_000))), 200);
    assert_eq!(status(&format!("Cookie: {}\r\n", "x".repeat(40_000))), 431);
    assert_eq!(status(&"A: b\r\n".repeat(80)), 431);
}

#[test]
fn a_source_that_panics_is_an_error_of_that_answer_only() {
    let (source, _asked, release) = held();
    let stage = Stage::new(source);
    drop(release);
    let answer = stage.get("/status");
    assert_eq!(answer.status, 500);
    assert!(answer.json()["error"].is_string());
    assert_eq!(stage.get("/outputs").status, 200);
}

#[test]
fn more_readers_than_connections_wait_for_their_turn() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    let address = stage.server.address();
    let silent: Vec<_> = (0..CONNECTIONS_MAX).map(|_| connect(address)).collect();
    let reader = thread::spawn(move || {
        exchange(address, &format!("GET /status HTTP/1.1\r\nHost: {address}\r\n\r\n")).status
    });
    drop(silent);
    assert_eq!(reader.join().unwrap(), 200);
}

#[test]
fn connections_that_ask_nothing_keep_nobody_waiting() {
    let stage = Stage::without_timeouts(fixed(Vec::new(), json!({})));
    let address = stage.server.address();
    let half = |_| {
        let mut stream = connect(address);
        write!(stream, "GET /status HTTP/1.1\r\nHost: ").unwrap();
        stream
    };
    let silent: Vec<_> = (0..2 * CONNECTIONS_MAX).map(half).collect();
    let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(exchange(address, &request).status, 200);
    drop(silent);
}

#[test]
fn a_port_in_use_is_said_to_be() {
    let stage = Stage::new(fixed(Vec::new(), json!({})));
    let port = stage.server.address().port();
    let error = StatusPort::take(port).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    let start = format!("cannot listen on 127.0.0.1:{port}: the port is in use;");
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[test]
fn a_stopped_server_frees_its_port() {
    let Stage { runtime, server } = Stage::new(fixed(Vec::new(), json!({})));
    let address = server.address();
    runtime.block_on(server.stop());
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_dropped_server_stops_too() {
    let Stage { runtime: _runtime, server } = Stage::new(fixed(Vec::new(), json!({})));
    let address = server.address();
    drop(server);
    while TcpStream::connect(address).is_ok() {
        thread::yield_now();
    }
}

#[test]
fn stopping_lets_an_answer_under_way_out() {
    let (source, asked, release) = held();
    let Stage { runtime, server } = Stage::new(source);
    let address = server.address();
    let reader = thread::spawn(move || {
        exchange(address, &format!("GET /outputs HTTP/1.1\r\nHost: {address}\r\n\r\n")).json()
    });
    asked.recv().unwrap();
    let stopping = runtime.spawn(server.stop_within(FOREVER));
    while TcpStream::connect(address).is_ok() {
        thread::yield_now();
    }
    release.send(()).unwrap();
    assert_eq!(reader.join().unwrap(), json!({ "late": {} }));
    runtime.block_on(stopping).unwrap();
}

#[test]
fn stopping_does_not_wait_for_connections_without_a_request() {
    let Stage { runtime, server } = Stage::without_timeouts(fixed(Vec::new(), json!({})));
    let mut silent = connect(server.address());
    runtime.block_on(server.stop_within(FOREVER));
    // Whether it was accepted before or not, it is over.
    assert!(!matches!(silent.read(&mut [0]), Ok(1..)));
}

#[test]
fn stopping_waits_no_longer_than_its_grace() {
    let (source, asked, release) = held();
    let Stage { runtime, server } = Stage::without_timeouts(source);
    let address = server.address();
    let mut stream = connect(address);
    write!(stream, "GET /outputs HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    asked.recv().unwrap();
    runtime.block_on(server.stop());
    assert!(!matches!(stream.read(&mut [0]), Ok(1..)), "the connection has ended");
    drop(release);
}

/// A run that goes on until it is told to end.
struct Ending(std::sync::atomic::AtomicBool);

impl StatusSource for Ending {
    fn status(&self) -> FlowtoyStatus {
        let is_over = self.0.load(std::sync::atomic::Ordering::SeqCst);
        FlowtoyStatus { ended_at: is_over.then_some(1.0), ..FlowtoyStatus::default() }
    }

    fn outputs(&self) -> FlowtoyOutputs {
        FlowtoyOutputs::default()
    }
}

#[test]
fn a_reader_who_polled_sees_the_end() {
    let run = Arc::new(Ending(false.into()));
    let Stage { runtime, server } = Stage::new(Arc::clone(&run) as Arc<dyn StatusSource>);
    let address = server.address();
    let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(exchange(address, &request).json()["ended_at"], Json::Null);
    run.0.store(true, std::sync::atomic::Ordering::SeqCst);
    let ending = runtime.spawn(async move {
        server.linger(FOREVER).await;
        server.stop().await;
    });
    assert!(!ending.is_finished());
    assert_eq!(exchange(address, &request).json()["ended_at"], 1.0);
    runtime.block_on(ending).unwrap();
}

#[test]
fn nobody_is_waited_for_who_never_polled_or_does_not_come_again() {
    let run = Arc::new(Ending(true.into()));
    let Stage { runtime, server } = Stage::new(Arc::clone(&run) as Arc<dyn StatusSource>);
    // Nobody polled.
    runtime.block_on(server.linger(FOREVER));
    run.0.store(false, std::sync::atomic::Ordering::SeqCst);
    let address = server.address();
    exchange(address, &format!("GET /status HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    runtime.block_on(server.linger(Duration::from_millis(10)));
    runtime.block_on(server.stop());
}
