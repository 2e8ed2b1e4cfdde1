//! A small HTTP/1.1 server on loopback that answers as a test says and notes what it saw.
//!
//! The certificates beside it are for `localhost` and 127.0.0.1, made once with `openssl`, valid
//! for 100 years and trusted by nobody.

use std::future::Future;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::settle;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tidewheel::executor::http::{
    AttemptId, HttpClient, HttpEnd, HttpFailure, HttpRequest, Lookup, LookupFuture,
};
use tidewheel::id::TaskId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, Notify};

pub const AUTHORITY: &[u8] = include_bytes!("authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("server.pem");
const KEY: &[u8] = include_bytes!("server-key.pem");

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
pub enum Answer {
    /// These bytes; the connection stays.
    Bytes(Vec<u8>),
    /// These bytes, then the connection is closed.
    Cut(Vec<u8>),
    /// These bytes, once as many requests are open as the barrier needs.
    Together(Arc<Barrier>, Vec<u8>),
    /// These bytes (there may be none), and then nothing more.
    Silence(Vec<u8>),
}

/// A whole answer.
pub fn answer(status: &str, headers: &[&str], body: &[u8]) -> Answer {
    Answer::Bytes(text(status, headers, body))
}

pub fn text(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

type Script = dyn Fn(&Received) -> Answer + Send + Sync;

pub struct Fixture {
    pub address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    open: AtomicUsize,
    open_max: AtomicUsize,
    closed: Notify,
    arrived: Notify,
    answered: AtomicUsize,
    requests: Mutex<Vec<Received>>,
}

impl Fixture {
    pub async fn start(script: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let script: Arc<Script> = Arc::new(script);
        let shared = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&shared), Arc::clone(&script)));
            }
        });
        Self { address, seen }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Connections that were made.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// The most requests that were open at once.
    pub fn open_max(&self) -> usize {
        self.seen.open_max.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> Vec<Received> {
        self.seen.requests.lock().unwrap().clone()
    }

    pub fn last(&self) -> Received {
        self.requests().pop().unwrap()
    }

    /// Waits until a client has closed a connection.
    pub async fn closed(&self) {
        self.seen.closed.notified().await;
    }

    /// Waits until a request has arrived.
    pub async fn arrived(&self) {
        self.seen.arrived.notified().await;
    }

    /// Sends a request that is answered in part or not at all, and returns the failure of its time-out.
    ///
    /// The time-out must be so long that only paused time reaches it. Time passes once the client has read all that the
    /// server has written, so the failure is the same on every machine.
    #[cfg(target_os = "linux")]
    pub async fn time_out(&self, client: &HttpClient, request: &HttpRequest) -> HttpFailure {
        let answered = || self.seen.answered.load(Ordering::SeqCst);
        let before = answered();
        let is_read = || answered() > before && is_all_read(self.port());
        let is_read = async {
            tidewheel_testing::until("the client has read what was written", is_read).await;
            settle().await;
        };
        let mut end = pin!(client.run(first_attempt(), request));
        tokio::select! {
            end = &mut end => panic!("it ended before its time: {end:?}"),
            () = is_read => {}
        }
        tokio::time::pause();
        let failure = end.await.unwrap_err();
        tokio::time::resume();
        failure
    }
}

/// Whether the queues of all connections with this port on this machine are empty.
#[cfg(target_os = "linux")]
fn is_all_read(port: u16) -> bool {
    let port = format!(":{port:04X}");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let is_empty = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, remote, state, queues, ..] = fields[..] else { return true };
        // An established connection; the queue of a listener counts connections.
        let is_ours = state == "01" && (local.ends_with(&port) || remote.ends_with(&port));
        !is_ours || queues == "00000000:00000000"
    };
    table.lines().skip(1).all(is_empty)
}

async fn serve(mut stream: TcpStream, seen: Arc<Seen>, script: Arc<Script>) {
    let mut buffer = Vec::new();
    while let Some(received) = receive(&mut stream, &mut buffer).await {
        let open = seen.open.fetch_add(1, Ordering::SeqCst) + 1;
        seen.open_max.fetch_max(open, Ordering::SeqCst);
        let answer = script(&received);
        seen.requests.lock().unwrap().push(received);
        seen.arrived.notify_one();
        let (bytes, cut, silent) = match answer {
            Answer::Bytes(bytes) => (bytes, false, false),
            Answer::Cut(bytes) => (bytes, true, false),
            Answer::Silence(bytes) => (bytes, false, true),
            Answer::Together(barrier, bytes) => {
                barrier.wait().await;
                (bytes, false, false)
            }
        };
        // It is over for the server before the client can know.
        seen.open.fetch_sub(1, Ordering::SeqCst);
        let sent = stream.write_all(&bytes).await;
        seen.answered.fetch_add(1, Ordering::SeqCst);
        if cut {
            return;
        }
        if sent.is_err() || silent {
            let _ = stream.read(&mut [0; 16]).await;
            break;
        }
    }
    seen.closed.notify_one();
}

async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    loop {
        if let Some((received, used)) = parse(buffer) {
            buffer.drain(..used);
            return Some(received);
        }
        let mut more = [0; 16 * 1024];
        match stream.read(&mut more).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => buffer.extend_from_slice(&more[..count]),
        }
    }
}

/// A request and its size, once it is there as a whole.
fn parse(buffer: &[u8]) -> Option<(Received, usize)> {
    let head_end = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&buffer[..head_end]).unwrap();
    let mut lines = head.lines();
    let mut start = lines.next().unwrap().split(' ');
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    let body = buffer.get(head_end..head_end + length)?.to_vec();
    let method = start.next().unwrap().to_owned();
    let target = start.next().unwrap().to_owned();
    Some((Received { method, target, headers, body }, head_end + length))
}

/// A server that speaks TLS and answers every connection once with `answer`.
pub fn start_tls(answer: Vec<u8>) -> SocketAddr {
    let certificates = CertificateDer::pem_slice_iter(CERTIFICATE).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream);
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read(&mut byte) {
                    Ok(1) => head.push(byte[0]),
                    _ => break,
                }
            }
            let _ = stream.write_all(&answer);
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    address
}

/// All names have the addresses that the test says.
pub struct Names<F>(pub F);

impl<F: Fn() -> Vec<IpAddr> + Send + Sync + 'static> Lookup for Names<F> {
    fn lookup(&self, _name: &str) -> LookupFuture {
        let addresses = (self.0)();
        Box::pin(async move { Ok(addresses) })
    }
}

pub fn client() -> HttpClient {
    HttpClient::builder().build().unwrap()
}

pub async fn run(client: &HttpClient, request: &HttpRequest) -> Result<HttpEnd, HttpFailure> {
    bounded(client.run(first_attempt(), request)).await
}

/// Fails a test instead of hanging it.
pub async fn bounded<T>(future: impl Future<Output = T>) -> T {
    tidewheel_testing::bounded("the future ends", future).await
}

/// An attempt of nobody's.
pub fn first_attempt() -> AttemptId {
    AttemptId { task: TaskId::default(), number: 1 }
}
