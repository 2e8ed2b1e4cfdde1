//! [`HttpRequest`]: what to ask of whom.
//!
//! A request is data and is checked when it runs, so that it can come from a file; how it is sent
//! is in [`super::exchange`].

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;
use tidewheel_core::id::AttemptId;

use super::failure::{HttpFailure, HttpFailureKind};

/// The header that carries an attempt's identity beside the idempotency key.
const ATTEMPT_HEADER: &str = "tidewheel-attempt";
const IDEMPOTENCY_HEADER: &str = "idempotency-key";

/// Headers about the connection, which the client sets itself.
const OWN_HEADERS: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request to be run by [`super::HttpClient::run`].
#[derive(Clone, PartialEq)]
pub struct HttpRequest {
    method: String,
    url: String,
    query: Vec<(String, String)>,
    headers: Vec<Header>,
    body: Body,
    accepted: Vec<RangeInclusive<u16>>,
    idempotency: IdempotencyScope,
    repeatable: Option<bool>,
    pub(super) read_timeout: Option<Duration>,
    pub(super) total_timeout: Option<Duration>,
    pub(super) redirects_max: Option<u32>,
    pub(super) body_max: Option<u64>,
    pub(super) accept_invalid_tls: bool,
}

#[derive(Clone, PartialEq)]
struct Header {
    name: String,
    value: String,
    secret: bool,
}

#[derive(Clone, PartialEq)]
enum Body {
    None,
    Json(Value),
    Raw { content_type: String, bytes: Vec<u8> },
}

/// What the `Idempotency-Key` of a request stands for.
///
/// Unless there is none, the header `Tidewheel-Attempt: <run>/<task>/<attempt>` goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdempotencyScope {
    /// The attempt, `<run>/<task>/<attempt>`: each is work of its own, as for a question that is asked
    /// until the answer is another.
    Attempt,
    /// The task, `<run>/<task>`: all attempts are the same work, also those after a crash.
    #[default]
    Task,
    /// No header is sent.
    None,
}

impl HttpRequest {
    /// A request with any method.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::None,
            accepted: Vec::new(),
            idempotency: IdempotencyScope::default(),
            repeatable: None,
            read_timeout: None,
            total_timeout: None,
            redirects_max: None,
            body_max: None,
            accept_invalid_tls: false,
        }
    }

    /// A `GET` request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A `POST` request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// A `PUT` request.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new("PUT", url)
    }

    /// A `DELETE` request.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new("DELETE", url)
    }

    /// Adds a header. `Authorization`, `Cookie` and `Proxy-Authorization` are always secret.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push(Header { name: name.into(), value: value.into(), secret: false });
        self
    }

    /// Adds a header that no redirect takes to another origin and no debug output shows.
    #[must_use]
    pub fn secret_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push(Header { name: name.into(), value: value.into(), secret: true });
        self
    }

    /// Adds a pair to the query of the URL.
    #[must_use]
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Sends JSON.
    #[must_use]
    pub fn json(mut self, value: Value) -> Self {
        self.body = Body::Json(value);
        self
    }

    /// Sends bytes of some type.
    #[must_use]
    pub fn body(mut self, content_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Raw { content_type: content_type.into(), bytes: bytes.into() };
        self
    }

    /// Counts these statuses as success, instead of 200 to 299; may be called again for more.
    ///
    /// Redirects are followed nevertheless, unless [`Self::redirects_max`] is zero.
    #[must_use]
    pub fn accept_status(mut self, statuses: RangeInclusive<u16>) -> Self {
        self.accepted.push(statuses);
        self
    }

    /// The longest silence of the other side, instead of the client's.
    #[must_use]
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = Some(timeout);
        self
    }

    /// The longest time for everything, instead of the client's.
    #[must_use]
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.total_timeout = Some(timeout);
        self
    }

    /// The redirects followed at most, instead of the client's. With zero, redirects are answers.
    #[must_use]
    pub fn redirects_max(mut self, redirects: u32) -> Self {
        self.redirects_max = Some(redirects);
        self
    }

    /// The largest body in bytes after inflating, instead of the client's.
    #[must_use]
    pub fn body_max(mut self, bytes: u64) -> Self {
        self.body_max = Some(bytes);
        self
    }

    /// Takes any certificate from the other side, with a warning in the result.
    #[must_use]
    pub fn accept_invalid_tls(mut self, accept: bool) -> Self {
        self.accept_invalid_tls = accept;
        self
    }

    /// What the `Idempotency-Key` stands for. A header set by hand wins.
    #[must_use]
    pub fn idempotency(mut self, scope: IdempotencyScope) -> Self {
        self.idempotency = scope;
        self
    }

    /// Whether it may be sent again although the other side may have done it already, instead of what its
    /// method says: `GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT` and `DELETE` may, and any other with an
    /// `Idempotency-Key` set by hand, whose receiver is known to look at it.
    #[must_use]
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = Some(repeatable);
        self
    }

    /// Whether it may be sent again although the other side may have done it already.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        let has_key =
            || self.headers.iter().any(|it| it.name.eq_ignore_ascii_case(IDEMPOTENCY_HEADER));
        self.repeatable.unwrap_or_else(|| is_idempotent(&self.method) || has_key())
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    /// Whether an answer with this status counts as success.
    #[must_use]
    pub fn accepts(&self, status: u16) -> bool {
        if self.accepted.is_empty() {
            return (200..=299).contains(&status);
        }
        self.accepted.iter().any(|range| range.contains(&status))
    }

    /// Checks everything about the request that needs no network.
    pub(super) fn prepare(&self, attempt: AttemptId) -> Result<Prepared, HttpFailure> {
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| bad(format!("`{}` is no method", self.method)))?;
        if method == Method::CONNECT {
            return Err(bad("`CONNECT` is for proxies, not for requests"));
        }
        let mut url = parse_url(&self.url)?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        let (mut headers, secrets) = self.prepare_headers()?;
        self.add_identity(attempt, &mut headers)?;
        let (content_type, body) = match &self.body {
            Body::None => (None, None),
            Body::Json(value) => (Some("application/json"), Some(value.to_string().into_bytes())),
            Body::Raw { content_type, bytes } => (Some(content_type.as_str()), Some(bytes.clone())),
        };
        if let Some(content_type) = content_type.filter(|_| !headers.contains_key(CONTENT_TYPE)) {
            let value = HeaderValue::from_str(content_type)
                .map_err(|_| bad(format!("`{content_type}` is no content type")))?;
            headers.insert(CONTENT_TYPE, value);
        }
        Ok(Prepared { method, url, headers, secrets, body })
    }

    fn prepare_headers(&self) -> Result<(HeaderMap, Vec<HeaderName>), HttpFailure> {
        let mut headers = HeaderMap::new();
        let mut secrets = Vec::new();
        for header in &self.headers {
            let name = HeaderName::from_bytes(header.name.as_bytes())
                .map_err(|_| bad(format!("`{}` is no name of a header", header.name)))?;
            if OWN_HEADERS.contains(&name.as_str()) {
                return Err(bad(format!("the client sets the header `{name}` itself")));
            }
            // The value may be a secret, so the message has the name only.
            let mut value = HeaderValue::from_str(&header.value)
                .map_err(|_| bad(format!("the value of `{name}` cannot be sent")))?;
            if header.secret {
                value.set_sensitive(true);
                secrets.push(name.clone());
            }
            headers.append(name, value);
        }
        Ok((headers, secrets))
    }

    fn add_identity(&self, attempt: AttemptId, headers: &mut HeaderMap) -> Result<(), HttpFailure> {
        let (task, attempt) = (attempt.task.to_string(), attempt.to_string());
        let key = match self.idempotency {
            IdempotencyScope::Attempt => &attempt,
            IdempotencyScope::Task => &task,
            IdempotencyScope::None => return Ok(()),
        };
        for (name, text) in [(IDEMPOTENCY_HEADER, key), (ATTEMPT_HEADER, &attempt)] {
            let value = HeaderValue::from_str(text).map_err(|error| bad(error.to_string()))?;
            headers.entry(HeaderName::from_static(name)).or_insert(value);
        }
        Ok(())
    }
}

/// Shows no values of secret headers, no body and no user of a URL.
impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|header| {
                let hidden = header.secret || is_secret_name(&header.name);
                (header.name.as_str(), if hidden { "***" } else { header.value.as_str() })
            })
            .collect();
        let url = Url::parse(&self.url).map_or_else(|_| "?".to_owned(), |url| shown(&url));
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &url)
            .field("headers", &headers)
            .field("accept_invalid_tls", &self.accept_invalid_tls)
            .field("idempotency", &self.idempotency)
            .finish_non_exhaustive()
    }
}

/// A request that can be sent.
pub(super) struct Prepared {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    /// Headers that belong to the first origin only, beside those that always do.
    pub(super) secrets: Vec<HeaderName>,
    pub(super) body: Option<Vec<u8>>,
}

/// Parses a URL that a request can go to.
pub(super) fn parse_url(text: &str) -> Result<Url, HttpFailure> {
    // The text is not told: it may have a password in it.
    let url = Url::parse(text).map_err(|error| bad(format!("the URL is wrong: {error}")))?;
    check_scheme(&url)?;
    Ok(url)
}

pub(super) fn check_scheme(url: &Url) -> Result<(), HttpFailure> {
    match url.scheme() {
        "http" | "https" => Ok(()),
        other => Err(bad(format!("only http and https are spoken here, not `{other}`"))),
    }
}

/// A URL as people may see it: without user and password, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

pub(super) fn is_secret_name(name: &str) -> bool {
    ["authorization", "cookie", "cookie2", "proxy-authorization"]
        .iter()
        .any(|secret| secret.eq_ignore_ascii_case(name))
}

/// Whether doing it twice is as good as doing it once, by its method.
pub(super) fn is_idempotent(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
}

fn bad(message: impl Into<String>) -> HttpFailure {
    HttpFailure::permanent(HttpFailureKind::BadRequest, message)
}
