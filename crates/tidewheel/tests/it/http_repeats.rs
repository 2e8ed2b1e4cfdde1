//! Which requests may be sent again after which ends.
//!
//! What answers become is in `http_answers.rs`, what the flow makes of it in the scenarios of flows.

use std::time::Duration;

use crate::http_fixture::{Answer, Fixture, Names, answer, bounded, client, first_attempt, run};
use tidewheel::executor::http::{HttpClient, HttpFailureKind, HttpRequest, MayRetry};
use tidewheel_testing::ClosedPort;
use tokio::net::TcpListener;

/// A time-out that only paused time reaches.
const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn what_may_have_been_done_and_is_not_safe_to_repeat_is_not_tried_again() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/cut" => Answer::Cut(Vec::new()),
        "/half" => Answer::Cut(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_vec()),
        "/never" => Answer::Silence(Vec::new()),
        "/500" => answer("500 Oh", &[], b""),
        "/502" => answer("502 Oh", &["retry-after: 1"], b""),
        "/503" => answer("503 Oh", &[], b""),
        "/504" => answer("504 Oh", &[], b""),
        "/busy" => answer("503 Oh", &["retry-after: 1"], b""),
        "/many" => answer("429 Oh", &[], b""),
        "/early" => answer("425 Oh", &[], b""),
        "/slow" => answer("408 Oh", &[], b""),
        "/see" => answer("303 See", &["location: /many"], b""),
        "/moved" => answer("307 Moved", &["location: /many"], b""),
        other => panic!("{other}"),
    })
    .await;
    let client = HttpClient::builder().read_timeout(HOUR).build().unwrap();
    let of = async |path: &str, request: HttpRequest| match path {
        "/never" => server.time_out(&client, &request).await,
        _ => run(&client, &request).await.unwrap_err(),
    };
    let done = ["/cut", "/half", "/never", "/500", "/502", "/503", "/504", "/see"];
    for path in done {
        let url = server.url(path);
        for method in ["POST", "PATCH", "PROPFIND"] {
            let failure = of(path, HttpRequest::new(method, &url)).await;
            assert_eq!((failure.retry, failure.may_be_done), (MayRetry::No, true), "{failure}");
            let why =
                format!("not tried again: it may have been done already, and {method} is not");
            assert!(failure.message.contains(&why), "{failure}");
        }
        let keyed = HttpRequest::post(&url).header("idempotency-KEY", "order-7");
        let said = HttpRequest::post(&url).repeatable(true);
        for request in [HttpRequest::get(&url), HttpRequest::put(&url), keyed, said] {
            let failure = of(path, request).await;
            assert_ne!(failure.retry, MayRetry::No, "{path}: {failure}");
            assert!(!failure.message.contains("not tried"), "{failure}");
        }
        let refused = of(path, HttpRequest::put(&url).repeatable(false)).await;
        assert_eq!(refused.retry, MayRetry::No, "{refused}");
    }
    for path in ["/busy", "/many", "/early", "/slow", "/moved"] {
        let failure = of(path, HttpRequest::post(server.url(path))).await;
        assert_ne!(failure.retry, MayRetry::No, "{path}: {failure}");
        assert!(!failure.may_be_done, "{path}");
    }
}

#[tokio::test]
async fn what_surely_was_not_sent_is_tried_again_whatever_it_is() {
    let nobody = ClosedPort::new();
    let refused = format!("http://{}/", nobody.address());
    let failure = run(&client(), &HttpRequest::post(refused)).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Connect, MayRetry::Yes));
    assert!(!failure.may_be_done);
    let nowhere = HttpClient::builder().lookup(Names(Vec::new)).build().unwrap();
    let failure = run(&nowhere, &HttpRequest::post("http://name.test/")).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Name, MayRetry::Yes));
    // A side that never shakes hands has been told nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    let hasty = HttpClient::builder().connect_timeout(Duration::from_millis(50)).build().unwrap();
    let failure = run(&hasty, &HttpRequest::post(url)).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Timeout, MayRetry::Yes));
    // One that waits for a connection of its own has not begun; one that is under way may have.
    let server = Fixture::start(|_| Answer::Silence(Vec::new())).await;
    let one = HttpClient::builder().connections_max(1).build().unwrap();
    let post = HttpRequest::post(server.url("/")).total_timeout(Duration::from_millis(50));
    let (first, second) = (HttpRequest::post(server.url("/")), post.clone());
    let under_way = tokio::spawn({
        let one = one.clone();
        async move { one.run(first_attempt(), &first).await }
    });
    bounded(server.arrived()).await;
    let failure = run(&one, &second).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Timeout, MayRetry::Yes));
    under_way.abort();
    let post = HttpRequest::post(server.url("/")).read_timeout(2 * HOUR).total_timeout(HOUR);
    let failure = server.time_out(&client(), &post).await;
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Timeout, MayRetry::No));
}
