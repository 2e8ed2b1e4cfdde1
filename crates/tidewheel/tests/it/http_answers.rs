//! What arrives at the other side, and what its answers become.
//!
//! Connections and limits are in `http_connections.rs`, redirects and policies in
//! `http_targets.rs`.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::http_fixture::{AUTHORITY, Fixture, Names};
use crate::http_fixture::{answer, bounded, client, run, start_tls, text};
use anyhow::Context;
use serde_json::json;
use tidewheel::executor::http::{
    AttemptId, Data, HttpClient, HttpFailureKind, HttpRequest, IdempotencyScope, MayRetry, Warning,
};
use tidewheel::id::TaskId;
use tidewheel::task::BoxError;
use tidewheel::{Attempt, Outcome, RunId, Tidewheel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[tokio::test]
async fn method_headers_query_and_body_arrive() {
    let server = Fixture::start(|_| answer("204 No Content", &[], b"")).await;
    let client = client();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"] {
        let request = HttpRequest::new(method, server.url("/a%20b?x=1"))
            .query("y", "a&b=ä")
            .header("X-One", "1")
            .header("X-One", "2")
            .secret_header("Authorization", "Bearer t");
        let end = run(&client, &request).await.unwrap();
        assert_eq!((end.status, end.data), (204, Data::Empty));
        let received = server.last();
        assert_eq!(received.method, method);
        assert_eq!(received.target, "/a%20b?x=1&y=a%26b%3D%C3%A4");
        let ones: Vec<&str> = received
            .headers
            .iter()
            .filter(|(name, _)| name == "x-one")
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(ones, ["1", "2"]);
        assert_eq!(received.header("authorization"), Some("Bearer t"));
        assert_eq!(received.header("accept-encoding"), Some("gzip"));
        assert!(received.header("user-agent").unwrap().starts_with("tidewheel/"));
        assert_eq!(received.body, b"");
    }
    run(&client, &HttpRequest::post(server.url("/")).json(json!({ "a": [1, null] })))
        .await
        .unwrap();
    assert_eq!(server.last().body, b"{\"a\":[1,null]}");
    assert_eq!(server.last().header("content-type"), Some("application/json"));
    let raw = HttpRequest::put(server.url("/")).body("application/x-thing", vec![0, 255, 10]);
    run(&client, &raw).await.unwrap();
    assert_eq!(server.last().body, [0, 255, 10]);
    assert_eq!(server.last().header("content-type"), Some("application/x-thing"));
    let typed = HttpRequest::post(server.url("/")).json(json!(1)).header("content-type", "text/x");
    run(&client, &typed).await.unwrap();
    assert_eq!(server.last().header("content-type"), Some("text/x"));
    let large = vec![7; 3_000_000];
    let request = HttpRequest::post(server.url("/")).body("x/y", large.clone());
    run(&client, &request).await.unwrap();
    assert_eq!(server.last().body, large);
    let authority = server.url("/").replace("http://", "http://me:p%40ss@");
    let end = run(&client, &HttpRequest::get(authority)).await.unwrap();
    assert_eq!(server.last().header("authorization"), Some("Basic bWU6cEBzcw=="));
    assert_eq!(end.meta.url, server.url("/"));
}

#[tokio::test]
async fn answers_are_read_by_their_type() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/json" => answer("200 OK", &["content-type: application/json", "X-A: 1"], b"{\"a\":1}"),
        "/bad" => answer("200 OK", &["content-type: application/json"], b"{"),
        "/text" => answer("200 OK", &["content-type: text/plain"], "grüße".as_bytes()),
        "/bytes" => answer("200 OK", &["content-type: image/png"], b"\x89PNG"),
        "/brotli" => answer("200 OK", &["content-encoding: br"], b"abc"),
        _ => answer("201 Created", &[], b""),
    })
    .await;
    let client = client();
    let get = async |path: &str| run(&client, &HttpRequest::get(server.url(path))).await.unwrap();
    let end = get("/json").await;
    assert_eq!(end.data, Data::Json(json!({ "a": 1 })));
    assert_eq!(end.header("x-a"), Some("1"));
    assert_eq!(end.meta.bytes, 7);
    assert_eq!(end.meta.redirects, 0);
    assert_eq!(end.meta.url, server.url("/json"));
    assert!(end.meta.warnings.is_empty() && !end.meta.elapsed.is_zero());
    let end = get("/bad").await;
    assert_eq!(end.data, Data::Text("{".to_owned()));
    assert_eq!(end.meta.warnings, [Warning::InvalidJson]);
    assert_eq!(get("/text").await.data, Data::Text("grüße".to_owned()));
    assert_eq!(get("/bytes").await.data, Data::Bytes(b"\x89PNG".to_vec()));
    assert_eq!(get("/brotli").await.meta.warnings, [Warning::UnknownEncoding]);
    let end = get("/empty").await;
    assert_eq!((end.status, end.data), (201, Data::Empty));
    let head = HttpRequest::new("HEAD", server.url("/none"));
    assert_eq!(run(&client, &head).await.unwrap().data, Data::Empty);
}

#[tokio::test]
async fn statuses_become_failures_that_say_whether_to_retry() {
    let server = Fixture::start(|received| {
        let status = format!("{} Whatever", &received.target[1..]);
        answer(&status, &[], b"\x1b[31mline one\nline two")
    })
    .await;
    let client = client();
    for status in (300..600_u16).filter(|status| *status != 304) {
        let request = HttpRequest::get(server.url(&format!("/{status}")));
        let failure = run(&client, &request).await.unwrap_err();
        assert_eq!(failure.kind, HttpFailureKind::Status);
        assert_eq!(failure.status, Some(status));
        let retried = [408, 425, 429, 500, 502, 503, 504].contains(&status);
        assert_eq!(failure.retry == MayRetry::Yes, retried, "{status}");
        let Outcome::Failed(told) = failure.outcome() else { panic!("{status}") };
        assert_eq!(told.permanent, !retried);
        assert_eq!(*told.message, *failure.message);
        assert!(failure.message.contains(&status.to_string()), "{failure}");
        assert!(failure.message.ends_with(": \u{fffd}[31mline one"), "{failure}");
        assert_eq!(failure.excerpt.as_deref(), Some("\u{fffd}[31mline one\nline two"));
    }
    let request = HttpRequest::get(server.url("/404")).accept_status(200..=200);
    let request = request.accept_status(404..=404);
    assert_eq!(run(&client, &request).await.unwrap().status, 404);
    let request = HttpRequest::get(server.url("/201")).accept_status(200..=200);
    assert_eq!(run(&client, &request).await.unwrap_err().retry, MayRetry::No);
}

#[tokio::test]
async fn retry_after_is_passed_on_in_both_forms() {
    let server = Fixture::start(|received| {
        let date = "date: Sun, 06 Nov 1994 08:49:37 GMT";
        match received.target.as_str() {
            "/seconds" => answer("429 Too Many Requests", &["retry-after: 17"], b""),
            "/date" => {
                let after = "retry-after: Sun, 06 Nov 1994 08:50:37 GMT";
                answer("503 Service Unavailable", &[after, date], b"")
            }
            "/past" => {
                answer("503 Service Unavailable", &["retry-after: Sun Nov  6 08:49:37 1994"], b"")
            }
            "/day" => answer("503 Service Unavailable", &["retry-after: 86400"], b""),
            "/long" => answer("503 Service Unavailable", &["retry-after: 86401"], b"busy"),
            "/odd" => answer("503 Service Unavailable", &["retry-after: soon"], b""),
            _ => answer("404 Not Found", &["retry-after: 5"], b""),
        }
    })
    .await;
    let client = client();
    let get = async |path: &str| {
        let failure = run(&client, &HttpRequest::get(server.url(path))).await.unwrap_err();
        (failure.kind, failure.retry, failure)
    };
    let (status, yes, no) = (HttpFailureKind::Status, MayRetry::Yes, MayRetry::No);
    let after = |seconds| MayRetry::After(Duration::from_secs(seconds));
    for (path, kind, retry) in [
        ("/seconds", status, after(17)),
        ("/date", status, after(60)),
        ("/past", status, after(0)),
        ("/day", status, after(86_400)),
        ("/long", HttpFailureKind::RetryAfterTooLong, no),
        ("/odd", status, yes),
        ("/gone", status, no),
    ] {
        let (found_kind, found_retry, failure) = get(path).await;
        assert_eq!((found_kind, found_retry), (kind, retry), "{path}");
        if path == "/seconds" {
            let Outcome::Failed(told) = failure.outcome() else { panic!("{failure}") };
            assert_eq!(told.retry_after, Some(Duration::from_secs(17)));
        }
        if path == "/long" {
            assert!(failure.message.contains("Retry-After: 86401"), "{failure}");
            assert!(failure.message.contains("24 h"), "{failure}");
        }
    }
}

#[tokio::test]
async fn the_identity_of_the_attempt_arrives() {
    let server = Fixture::start(|_| answer("200 OK", &[], b"")).await;
    let client = client();
    let attempt = AttemptId { task: TaskId { run: RunId(255), index: 3 }, number: 2 };
    let sent = async |request: HttpRequest| {
        bounded(client.run(attempt, &request)).await.unwrap();
        let last = server.last();
        ["idempotency-key", "tidewheel-attempt"].map(|name| last.header(name).map(str::to_owned))
    };
    let run = "00000000-0000-0000-0000-0000000000ff";
    let [task, whole] = [format!("{run}/3"), format!("{run}/3/2")].map(Some);
    let request = || HttpRequest::post(server.url("/"));
    assert_eq!(sent(request()).await, [task, whole.clone()]);
    let each = request().idempotency(IdempotencyScope::Attempt);
    assert_eq!(sent(each).await, [whole.clone(), whole.clone()]);
    assert_eq!(sent(request().idempotency(IdempotencyScope::None)).await, [None, None]);
    let mine = Some("mine".to_owned());
    assert_eq!(sent(request().header("Idempotency-Key", "mine")).await, [mine, whole]);
}

#[tokio::test]
async fn a_failure_that_a_task_passes_on_is_tried_again_as_it_says() {
    let server = Fixture::start(|received| {
        let status = if received.target == "/gone" { "404 Gone" } else { "503 Busy" };
        answer(status, &["retry-after: 0"], b"")
    })
    .await;
    let wheel = Tidewheel::builder().start();
    let get = |path: &str| {
        let (client, request) = (client(), HttpRequest::get(server.url(path)));
        move |attempt: Attempt| {
            let (client, request) = (client.clone(), request.clone());
            async move { client.run_attempt(&attempt, &request).await }
        }
    };
    // As it is, in a box, and where nobody sees its type any more.
    let (plain, boxed, hidden) = (get("/gone"), get("/gone"), get("/gone"));
    let plain = wheel.task_with(plain).retries(3).submit();
    let boxed = wheel.task_with(move |attempt| {
        let get = boxed(attempt);
        async move { Ok::<u16, BoxError>(get.await?.status) }
    });
    let hidden = wheel.task_with(move |attempt| {
        let get = hidden(attempt);
        async move { Ok::<u16, anyhow::Error>(get.await.context("cannot fetch")?.status) }
    });
    bounded(plain).await.unwrap_err();
    bounded(boxed.retries(3).submit()).await.unwrap_err();
    bounded(hidden.retries(3).submit()).await.unwrap_err();
    assert_eq!(server.requests().len(), 3);
    let busy = wheel.task_with(get("/busy")).retries(2).base_delay(Duration::ZERO);
    bounded(busy.submit()).await.unwrap_err();
    assert_eq!(server.requests().len(), 6);
    // The attempts of one task have the same key, and no two tasks have. Each attempt has its name.
    let named = |name: &'static str| {
        let requests = server.requests();
        let all = requests.iter().map(|it| it.header(name).unwrap().to_owned());
        all.collect::<BTreeSet<String>>()
    };
    assert_eq!((named("idempotency-key").len(), named("tidewheel-attempt").len()), (4, 6));
}

#[tokio::test]
async fn certificates_are_verified_unless_a_request_says_otherwise() {
    let address = start_tls(text("200 OK", &["connection: close"], b"hello"));
    let url = format!("https://localhost:{}/", address.port());
    let plain = client();
    let failure = run(&plain, &HttpRequest::get(&url)).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Tls, MayRetry::No), "{failure}");
    // One request goes unverified, with a word about it; the next is verified again.
    let end = run(&plain, &HttpRequest::get(&url).accept_invalid_tls(true)).await.unwrap();
    assert_eq!(end.data, Data::Text("hello".to_owned()));
    assert_eq!(end.meta.warnings, [Warning::TlsUnverified]);
    assert_eq!(end.meta.warnings[0].as_str(), "tls-unverified");
    assert!(run(&plain, &HttpRequest::get(&url)).await.is_err());
    let local = Names(|| vec![[127, 0, 0, 1].into()]);
    let trusting = HttpClient::builder().root_certificate(AUTHORITY).lookup(local);
    let trusting = trusting.build().unwrap();
    let end = run(&trusting, &HttpRequest::get(&url)).await.unwrap();
    assert!(end.meta.warnings.is_empty());
    // A trusted certificate for another name is none.
    let other = format!("https://other.test:{}/", address.port());
    let failure = run(&trusting, &HttpRequest::get(other)).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Tls, MayRetry::No), "{failure}");
    // TLS where none is spoken will not do next time either.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let wrong = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // Closing with bytes unread would reset the connection before they are seen.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let failure = run(&trusting, &HttpRequest::get(wrong)).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Tls, MayRetry::No), "{failure}");
    // The process has no provider on our account.
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
}
