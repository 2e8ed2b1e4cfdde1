//! Requests to an axum service, admitted by a wheel: the example of the guide, under load.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use tidewheel::clock::VirtualClock;
use tidewheel::policy::BreakerSpec;
use tidewheel::{Shutdown, Tidewheel, Timestamp};
use tokio::sync::Notify;
use tower::ServiceExt;

#[path = "../../examples/axum.rs"]
#[allow(dead_code, reason = "its main is not called")]
mod example;

fn request(path: &str) -> Request {
    Request::builder().uri(path).body(Body::empty()).unwrap()
}

fn retry_after(response: &Response) -> Option<&str> {
    response.headers().get(header::RETRY_AFTER).map(|value| value.to_str().unwrap())
}

/// A route that waits until it is told to go on, and one that fails.
fn routes(gate: &Arc<Notify>) -> Router {
    let gate = Arc::clone(gate);
    let wait = move || {
        let gate = Arc::clone(&gate);
        async move { gate.notified().await }
    };
    Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/wait", get(wait))
        .route("/fails", get(|| async { StatusCode::INTERNAL_SERVER_ERROR }))
        .route("/panics", get(panics))
}

async fn panics() -> StatusCode {
    panic!("broken")
}

fn builder() -> tidewheel::Builder {
    let breaker = BreakerSpec::new(1, Duration::from_secs(30)).fail_fast();
    let clock = VirtualClock::at(Timestamp::UNIX_EPOCH);
    Tidewheel::builder().clock(clock).slots(1).queue_capacity(1).breaker("database", breaker)
}

#[tokio::test(start_paused = true)]
async fn what_is_too_much_is_refused_with_503_and_when_to_come_back() {
    let gate = Arc::new(Notify::new());
    let app = example::app(Some(builder().start()), routes(&gate));
    let first = tokio::spawn(app.clone().oneshot(request("/wait")));
    tokio::task::yield_now().await;
    let second = tokio::spawn(app.clone().oneshot(request("/")));
    tokio::task::yield_now().await;
    let third = app.clone().oneshot(request("/")).await.unwrap();
    assert_eq!(third.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(retry_after(&third), Some("1"));
    gate.notify_one();
    assert_eq!(first.await.unwrap().unwrap().status(), StatusCode::OK);
    assert_eq!(second.await.unwrap().unwrap().status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn who_matters_more_is_answered_first() {
    let gate = Arc::new(Notify::new());
    let (tell, answered) = std::sync::mpsc::channel();
    let say = move |who: &'static str| {
        let tell = tell.clone();
        get(move || async move { tell.send(who).unwrap() })
    };
    let routes = routes(&gate).route("/crawler", say("crawler")).route("/person", say("person"));
    let app = example::app(Some(builder().queue_capacity(2).start()), routes);
    let first = tokio::spawn(app.clone().oneshot(request("/wait")));
    tokio::task::yield_now().await;
    let mut crawl = request("/crawler");
    crawl.headers_mut().insert("x-crawler", header::HeaderValue::from_static("yes"));
    let crawler = tokio::spawn(app.clone().oneshot(crawl));
    tokio::task::yield_now().await;
    let person = tokio::spawn(app.clone().oneshot(request("/person")));
    tokio::task::yield_now().await;
    gate.notify_one();
    for asked in [first, crawler, person] {
        assert_eq!(asked.await.unwrap().unwrap().status(), StatusCode::OK);
    }
    assert_eq!(answered.try_iter().collect::<Vec<_>>(), ["person", "crawler"]);
}

#[tokio::test(start_paused = true)]
async fn what_waits_beyond_its_time_is_refused() {
    let gate = Arc::new(Notify::new());
    let app = example::app(Some(builder().start()), routes(&gate));
    let first = tokio::spawn(app.clone().oneshot(request("/wait")));
    tokio::task::yield_now().await;
    // Both have two seconds: the one that is answered as well as the one that waits for it.
    let second = app.clone().oneshot(request("/")).await.unwrap();
    assert_eq!(second.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(first.await.unwrap().unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_refuses_until_it_may_be_tried_again() {
    let app = example::app(Some(builder().start()), routes(&Arc::default()));
    let failed = app.clone().oneshot(request("/fails")).await.unwrap();
    // An answer that counts as a failure is an answer all the same.
    assert_eq!(failed.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(retry_after(&failed), None);
    let refused = app.clone().oneshot(request("/")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(retry_after(&refused), Some("30"));
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(app.clone().oneshot(request("/")).await.unwrap().status(), StatusCode::OK);
    assert_eq!(app.oneshot(request("/")).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_frees_its_place_and_panics_are_told() {
    let gate = Arc::new(Notify::new());
    let wheel = builder().start();
    let app = example::app(Some(wheel.clone()), routes(&gate));
    let first = tokio::spawn(app.clone().oneshot(request("/wait")));
    tokio::task::yield_now().await;
    assert_eq!(wheel.stats().total.active, 1);
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(app.clone().oneshot(request("/")).await.unwrap().status(), StatusCode::OK);
    let broken = app.clone().oneshot(request("/panics")).await.unwrap();
    assert_eq!(broken.status(), StatusCode::INTERNAL_SERVER_ERROR);
    wheel.shutdown(Shutdown::drain()).await;
    let late = app.oneshot(request("/")).await.unwrap();
    assert_eq!(late.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn the_wheel_of_the_guide_answers() {
    let app = example::app(None, routes(&Arc::default()));
    assert_eq!(app.oneshot(request("/")).await.unwrap().status(), StatusCode::OK);
}
