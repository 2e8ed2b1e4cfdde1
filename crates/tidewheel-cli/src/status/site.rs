//! [`Site`]: what a request gets.
//!
//! Browsers are the danger: a page from elsewhere may send requests to the loopback interface, and
//! a name that suddenly resolves to it lets such a page read the answers too. Hence only the names
//! of this interface are answered to, no other origin is ever invited (there are no CORS headers),
//! and every answer asks not to be framed, guessed at or kept. Connections and their limits are in
//! [`super::server`].

use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use serde_json::json;
use tidewheel_client::api::FlowtoyStatus;
use tokio::sync::{Semaphore, watch};

use super::source::StatusSource;

/// The headers of every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_TYPE, "application/json"),
    (CACHE_CONTROL, "no-store"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// The paths and who knows what is there.
pub(super) struct Site {
    port: u16,
    source: Arc<dyn StatusSource>,
    /// One reading at a time, so that no number of readers takes the threads that steps need.
    turn: Arc<Semaphore>,
    /// What readers have seen.
    seen: watch::Sender<Seen>,
}

/// What readers have seen of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    /// Nobody has asked how it stands.
    Nothing,
    /// Somebody has, and it went on.
    UnderWay,
    /// Somebody has, and it was over.
    End,
}

impl Site {
    /// A site that answers requests to this port.
    pub fn new(port: u16, source: Arc<dyn StatusSource>) -> Self {
        let seen = watch::Sender::new(Seen::Nothing);
        Self { port, source, turn: Arc::new(Semaphore::new(1)), seen }
    }

    /// Waits until somebody who asked how the run stands has seen its end.
    pub async fn end_seen(&self) {
        let mut seen = self.seen.subscribe();
        // The sender is this very site.
        let _ = seen.wait_for(|seen| *seen != Seen::UnderWay).await;
    }

    /// Answers a request; of its body nobody wants to know.
    pub async fn answer(&self, request: &Parts) -> Response<Full<Bytes>> {
        if !self.is_addressed(request) {
            let hint = format!("only http://127.0.0.1:{} is served here", self.port);
            return refusal(StatusCode::MISDIRECTED_REQUEST, &hint);
        }
        if !matches!(request.method, Method::GET | Method::HEAD) {
            let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match request.uri.path() {
            "/" => respond(StatusCode::OK, to_bytes(&json!({ "paths": ["/status", "/outputs"] }))),
            "/status" => self.status().await,
            "/outputs" => self.read(|source| serde_json::to_vec(&source.outputs())).await,
            _ => refusal(StatusCode::NOT_FOUND, "there are /status and /outputs"),
        }
    }

    /// Whether the request means us, by every way in which it names a host.
    fn is_addressed(&self, request: &Parts) -> bool {
        let mut hosts = request.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let is_ours = |host: &str| is_loopback_host(host, self.port);
        let authority = request.uri.authority();
        host.to_str().is_ok_and(is_ours) && authority.is_none_or(|it| is_ours(it.as_str()))
    }

    async fn status(&self) -> Response<Full<Bytes>> {
        let seen = self.seen.clone();
        self.read(move |source| {
            let status = source.status();
            let body = serde_json::to_vec(&status)?;
            note(&seen, &status);
            Ok(body)
        })
        .await
    }

    /// Reads from the source on a thread that may wait.
    async fn read<R>(&self, reading: R) -> Response<Full<Bytes>>
    where
        R: FnOnce(&dyn StatusSource) -> serde_json::Result<Vec<u8>> + Send + 'static,
    {
        let turn = Arc::clone(&self.turn).acquire_owned().await;
        let source = Arc::clone(&self.source);
        // The turn goes along: a reader who goes away does not end the reading.
        let read = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            reading(source.as_ref())
        });
        match read.await {
            Ok(Ok(body)) => respond(StatusCode::OK, body),
            _ => refusal(StatusCode::INTERNAL_SERVER_ERROR, "the state cannot be read"),
        }
    }
}

/// Notes what is told. That one reader has seen the end is enough: the others are told that nobody answers any more.
fn note(seen: &watch::Sender<Seen>, status: &FlowtoyStatus) {
    let now = if status.ended_at.is_some() { Seen::End } else { Seen::UnderWay };
    seen.send_if_modified(|seen| {
        let is_more = *seen < now;
        *seen = (*seen).max(now);
        is_more
    });
}

/// Whether a host with its port is this port of the loopback interface.
///
/// The port has to be ours; browsers leave it out where it is that of HTTP.
pub(super) fn is_loopback_host(host: &str, port: u16) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, digits)) if digits == port.to_string() => name,
        _ if port == 80 => host,
        _ => return false,
    };
    matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost")
}

fn refusal(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    respond(status, to_bytes(&json!({ "error": why })))
}

fn to_bytes(value: &serde_json::Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn respond(status: StatusCode, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
