//! A server on real sockets: who gets through, who is hung up on, and how it stops.
//!
//! What is answered is tried in the files beside, in the same process.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::scene;
use crate::scene::Scene;
use tidewheel_server::identity::Role;
use tidewheel_server::{Listener, Server, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that listens, until it is stopped.
struct Listening {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

async fn listen(server: &Arc<Server>) -> Listening {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let stopped = async move { stopped.await.unwrap_or_default() };
    let serving = tokio::spawn(serve(Listener::Tcp(listener), Arc::clone(server), stopped));
    Listening { address, stop, serving }
}

impl Listening {
    /// Sends these bytes and reads until the other side is done.
    async fn say(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // Whoever is hung up on may hear of it before they have read all.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
    }
}

fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n")
}

#[tokio::test]
async fn what_is_asked_over_the_network_passes_the_same_door() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Viewer);
    let listening = listen(&scene.server).await;
    let answer = listening.say(&get("/health/live", "")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok\n"), "{answer}");
    let status = |answer: String| answer.lines().next().unwrap_or_default().to_owned();
    let cases = [
        (get("/api/v1/runs", ""), "401"),
        (get("/api/v1/runs", &format!("Authorization: Bearer {token}\r\n")), "200"),
        (get("/api/v1/../../etc/passwd", ""), "401"),
        ("GET /api/v1/runs HTTP/1.0\r\nHost: localhost\r\n\r\n".to_owned(), "401"),
        ("GET /api/v1/runs HTTP/1.0\r\n\r\n".to_owned(), "421"),
        (
            "GET /health/live HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
                .to_owned(),
            "421",
        ),
        ("OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(), "401"),
        (
            "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                .to_owned(),
            "421",
        ),
        (
            "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                .to_owned(),
            "421",
        ),
        ("\0\0\0\r\n\r\n".to_owned(), "400"),
    ];
    for (request, expected) in cases {
        let answer = status(listening.say(&request).await);
        assert_eq!(answer.split(' ').nth(1), Some(expected), "{request}");
    }
    listening.stop().await;
}

#[tokio::test]
async fn whoever_dawdles_is_hung_up_on_and_holds_up_nobody() {
    // Each server has one short time, and its clients are slow in that part only.
    let (long, short) = (Duration::from_secs(3600), Duration::from_millis(200));
    let limited = async |head_time, body_time| {
        let mut settings = scene::patient();
        (settings.limits.head_time, settings.limits.body_time) = (head_time, body_time);
        Scene::with(settings).await
    };
    let dawdle = async |listening: &Listening| {
        let mut stream = TcpStream::connect(listening.address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").await.unwrap();
        stream
    };

    let scene = limited(long, long).await;
    let listening = listen(&scene.server).await;
    let mut slow = Vec::new();
    // Both ends are of this process, which may open 1,024 files.
    for _ in 0..300 {
        slow.push(dawdle(&listening).await);
    }
    assert!(listening.say(&get("/health/live", "")).await.ends_with("ok\n"));
    drop(slow);
    listening.stop().await;

    let scene = limited(short, long).await;
    let listening = listen(&scene.server).await;
    let mut rest = Vec::new();
    let _ = dawdle(&listening).await.read_to_end(&mut rest).await;
    listening.stop().await;

    let scene = limited(long, short).await;
    let token = scene.token(Role::Operator);
    let listening = listen(&scene.server).await;
    let begun = format!(
        "POST /api/v1/runs/last/cancel HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{{"
    );
    let answer = listening.say(&begun).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    listening.stop().await;
}

/// Sends a request over a connection that stays open, and reads the answer.
async fn ask_again(stream: &mut TcpStream) {
    stream.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nok\n") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn more_connections_than_there_is_room_for_wait() {
    let mut settings = scene::patient();
    settings.limits.connections_max = 2;
    let scene = Scene::with(settings).await;
    let listening = listen(&scene.server).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(listening.address).await.unwrap();
        ask_again(&mut stream).await;
        kept.push(stream);
    }
    let request = get("/health/live", "");
    let mut third = TcpStream::connect(listening.address).await.unwrap();
    third.write_all(request.as_bytes()).await.unwrap();
    // The server runs in this thread: whenever it answers one of these, it would have answered the third one as well.
    for _ in 0..100 {
        ask_again(&mut kept[0]).await;
    }
    let mut answer = Vec::new();
    let error = third.try_read_buf(&mut answer).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "there was room for a third");
    kept.pop();
    third.read_to_end(&mut answer).await.unwrap();
    assert!(answer.ends_with(b"ok\n"));
    listening.stop().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_owner_needs_no_token_on_the_socket_of_the_folder() {
    let scene = Scene::patient().await;
    let path = scene.path.join("data/server/socket");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async move { stopped.await.unwrap_or_default() };
    let serving = tokio::spawn(serve(Listener::Unix(listener), Arc::clone(&scene.server), stopped));
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    stream.write_all(get("/api/v1/me", "").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains(r#""name":"owner","role":"admin""#), "{answer}");
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
}
