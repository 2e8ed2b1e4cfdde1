//! Connections: how many there are, how they break and time out, and how much they may bring.
//!
//! What answers become is in `http_answers.rs`, redirects and policies in `http_targets.rs`.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use crate::common::settle;
use crate::http_fixture;
use crate::http_fixture::{
    Answer, Fixture, Names, Received, answer, bounded, client, first_attempt, run, text,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use tidewheel::executor::http::{Data, HttpClient, HttpFailureKind, HttpRequest, MayRetry};
use tidewheel_testing::ClosedPort;
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// A time-out that only paused time reaches.
const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/error" => answer("500 Oops", &[], &[b'x'; 20_000]),
        _ => answer("200 OK", &[], b"hello"),
    })
    .await;
    let client = client();
    for path in ["/", "/error", "/", "/error", "/"] {
        let _ = run(&client.clone(), &HttpRequest::get(server.url(path))).await;
        // The whole answer was read; the client's tasks on this thread put the connection back into the pool.
        settle().await;
    }
    assert_eq!(server.requests().len(), 5);
    assert_eq!(server.connections(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_requests_are_open_than_may_be() {
    for connections_max in [1, 4] {
        let together = Arc::new(Barrier::new(connections_max));
        let answer =
            move |_: &Received| Answer::Together(together.clone(), text("200 OK", &[], b"hello"));
        let server = Fixture::start(answer).await;
        let client = HttpClient::builder().connections_max(connections_max).build().unwrap();
        let mut requests = JoinSet::new();
        for _ in 0..32 {
            let (client, url) = (client.clone(), server.url("/"));
            requests.spawn(async move { run(&client, &HttpRequest::get(url)).await.is_ok() });
        }
        assert!(bounded(requests.join_all()).await.into_iter().all(|ok| ok));
        assert_eq!(server.requests().len(), 32);
        assert_eq!(server.open_max(), connections_max);
    }
}

#[tokio::test]
async fn a_dropped_request_frees_its_place_and_closes_its_connection() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/never" => Answer::Silence(Vec::new()),
        "/half" => Answer::Silence(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec()),
        _ => answer("200 OK", &[], b"hello"),
    })
    .await;
    let client = HttpClient::builder().connections_max(1).build().unwrap();
    for path in ["/never", "/half"] {
        let request = HttpRequest::get(server.url(path));
        tokio::select! {
            _ = client.run(first_attempt(), &request) => panic!("it was answered"),
            () = bounded(server.arrived()) => {}
        }
        bounded(server.closed()).await;
    }
    assert!(run(&client, &HttpRequest::get(server.url("/"))).await.is_ok());
}

#[tokio::test]
async fn no_connection_may_be_retried() {
    let nobody = ClosedPort::new();
    let request = HttpRequest::get(format!("http://{}/path?token=secret", nobody.address()));
    let failure = run(&client(), &request).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Connect, MayRetry::Yes));
    assert!(failure.message.contains("refused"), "{failure}");
    assert!(!failure.message.contains("secret"), "{failure}");
    let nowhere = HttpClient::builder().lookup(Names(Vec::new)).build().unwrap();
    let failure = run(&nowhere, &HttpRequest::get("http://name.test/")).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Name, MayRetry::Yes), "{failure}");
}

#[tokio::test]
async fn what_takes_too_long_may_be_retried() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/half" => Answer::Silence(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec()),
        "/error" => Answer::Silence(b"HTTP/1.1 400 Bad\r\ncontent-length: 10\r\n\r\nhalf".to_vec()),
        _ => Answer::Silence(Vec::new()),
    })
    .await;
    let client = HttpClient::builder().read_timeout(HOUR).build().unwrap();
    for path in ["/never", "/half"] {
        let failure = server.time_out(&client, &HttpRequest::get(server.url(path))).await;
        assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Timeout, MayRetry::Yes));
        assert!(failure.message.contains("3600s"), "{failure}");
    }
    // The status is known, so the body does not matter.
    let failure = server.time_out(&client, &HttpRequest::get(server.url("/error"))).await;
    assert_eq!((failure.status, failure.excerpt.as_deref()), (Some(400), Some("half")));
    for path in ["/never", "/half"] {
        let request = HttpRequest::get(server.url(path)).read_timeout(2 * HOUR).total_timeout(HOUR);
        let failure = server.time_out(&http_fixture::client(), &request).await;
        assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Timeout, MayRetry::Yes));
        assert!(failure.message.contains("3600s"), "{failure}");
        let request = HttpRequest::get(server.url(path)).read_timeout(HOUR);
        let failure = server.time_out(&http_fixture::client(), &request).await;
        assert_eq!(failure.kind, HttpFailureKind::Timeout);
    }
    // TLS is part of connecting: a side that never shakes hands is a connection that never was.
    let client = HttpClient::builder().connect_timeout(Duration::from_millis(50)).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let failure = run(&client, &HttpRequest::get(url)).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Timeout, MayRetry::Yes));
}

#[tokio::test]
async fn a_broken_connection_may_be_retried_and_is_not() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/nothing" => Answer::Cut(Vec::new()),
        "/head" => Answer::Cut(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()),
        "/body" => Answer::Cut(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec()),
        "/chunks" => Answer::Cut(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_vec(),
        ),
        _ => Answer::Cut(b"what is this?\r\n\r\n".to_vec()),
    })
    .await;
    let client = client();
    for path in ["/nothing", "/head", "/body", "/chunks", "/garbage"] {
        let before = server.requests().len();
        let failure = run(&client, &HttpRequest::get(server.url(path))).await.unwrap_err();
        assert_eq!(failure.kind, HttpFailureKind::Broken, "{path}: {failure}");
        assert_eq!(failure.retry, MayRetry::Yes, "{path}");
        assert_eq!(server.requests().len(), before + 1, "{path}");
    }
}

#[tokio::test]
async fn bodies_and_headers_have_limits() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/chunks" => {
            let chunk = format!("{:x}\r\n{}\r\n", 1000, "a".repeat(1000));
            let body = chunk.repeat(100);
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            Answer::Silence(format!("{head}{body}").into_bytes())
        }
        "/headers" => {
            let long = format!("x-long: {}", "a".repeat(70 * 1024));
            answer("200 OK", &[&long], b"")
        }
        "/huge-headers" => {
            let long = format!("x-long: {}", "a".repeat(2 * 1024 * 1024));
            answer("200 OK", &[&long], b"")
        }
        _ => answer("200 OK", &[], &[b'a'; 1000]),
    })
    .await;
    let client = HttpClient::builder().body_max(1000).build().unwrap();
    let end = run(&client, &HttpRequest::get(server.url("/"))).await.unwrap();
    assert_eq!(end.meta.bytes, 1000);
    let too_large = HttpRequest::get(server.url("/")).body_max(999);
    let endless = HttpRequest::get(server.url("/chunks")).body_max(50_000);
    for request in [too_large, endless] {
        let failure = run(&client, &request).await.unwrap_err();
        assert_eq!(failure.kind, HttpFailureKind::BodyTooLarge);
        assert_eq!((failure.retry, failure.status), (MayRetry::No, Some(200)));
    }
    for path in ["/headers", "/huge-headers"] {
        let failure = run(&client, &HttpRequest::get(server.url(path))).await.unwrap_err();
        assert_eq!(failure.kind, HttpFailureKind::HeadersTooLarge, "{failure}");
        assert_eq!(failure.retry, MayRetry::No);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn packed_bodies_count_as_what_they_inflate_to() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/bomb" => answer("200 OK", &["content-encoding: gzip"], &gzip(&[0; 20 * 1024 * 1024])),
        "/cut" => answer("200 OK", &["content-encoding: gzip"], &gzip(&[7; 5000])[..20]),
        "/error" => answer("400 Bad", &["content-encoding: gzip"], &gzip(b"bad field")),
        _ => answer("200 OK", &["content-encoding: gzip"], &gzip(b"hello")),
    })
    .await;
    let client = client();
    let get = async |path: &str| run(&client, &HttpRequest::get(server.url(path))).await;
    let end = get("/").await.unwrap();
    assert_eq!((end.data, end.meta.bytes), (Data::Text("hello".to_owned()), 5));
    let failure = get("/bomb").await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::BodyTooLarge, MayRetry::No));
    assert!(failure.message.contains("100 times"), "{failure}");
    let failure = get("/cut").await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Broken, MayRetry::Yes));
    assert_eq!(get("/error").await.unwrap_err().excerpt.as_deref(), Some("bad field"));
}
