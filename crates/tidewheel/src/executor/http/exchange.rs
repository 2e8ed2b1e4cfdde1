//! One attempt: the request, the redirects it leads to, and the answer within its limits.
//!
//! What an error or a status means for another attempt is in [`super::failure`].

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant, SystemTime};

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE, DATE,
    HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Method, Request, Response, StatusCode, Url};
use tidewheel_core::id::AttemptId;

use super::body::{BodyError, Intake};
use super::client::{HEADERS_MAX, Shared};
use super::end::{Encoding, HttpEnd, HttpMeta, Warning, read_data};
use super::failure::{HttpFailure, HttpFailureKind};
use super::lookup::HOP_PORT;
use super::request::{HttpRequest, check_scheme, is_secret_name, shown};
use super::retry_after::{RETRY_AFTER_MAX, wait_of};
use crate::error::MayRetry;

/// How much of the body of a failed request is read, so that the connection can be used again.
const DRAIN_MAX: u64 = 64 * 1024;
/// How many characters of it are kept.
const EXCERPT_MAX: usize = 1024;
/// How many of them fit a message.
const MESSAGE_EXCERPT_MAX: usize = 200;

/// Makes one attempt.
pub(super) async fn run(
    shared: &Shared,
    attempt: AttemptId,
    request: &HttpRequest,
) -> Result<HttpEnd, HttpFailure> {
    let exchange = Exchange::new(shared, request);
    let result = match request.total_timeout.or(shared.settings.total_timeout) {
        None => exchange.run(attempt).await,
        Some(limit) => match tokio::time::timeout(limit, exchange.run(attempt)).await {
            Ok(result) => result,
            Err(_) => Err(exchange.out_of_time(limit)),
        },
    };
    result.map_err(|mut failure| {
        failure.warnings = exchange.warnings();
        failure.may_be_done |= exchange.progress() == Progress::FollowedOn;
        failure.of_request(request)
    })
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Progress {
    Waits,
    OnItsWay,
    /// Somebody answered it by asking for another one, as is done once a form was taken in.
    FollowedOn,
}

struct Exchange<'a> {
    shared: &'a Shared,
    request: &'a HttpRequest,
    started: Instant,
    read_timeout: Duration,
    redirects_max: u32,
    body_max: u64,
    progress: AtomicU8,
}

impl<'a> Exchange<'a> {
    fn new(shared: &'a Shared, request: &'a HttpRequest) -> Self {
        let settings = &shared.settings;
        Self {
            shared,
            request,
            started: Instant::now(),
            read_timeout: request.read_timeout.unwrap_or(settings.read_timeout),
            redirects_max: request.redirects_max.unwrap_or(settings.redirects_max),
            body_max: request.body_max.unwrap_or(settings.body_max),
            progress: AtomicU8::new(Progress::Waits as u8),
        }
    }

    /// What is known when somebody else ends the attempt.
    fn progress(&self) -> Progress {
        match self.progress.load(Ordering::Relaxed) {
            0 => Progress::Waits,
            1 => Progress::OnItsWay,
            _ => Progress::FollowedOn,
        }
    }

    fn has_come_to(&self, progress: Progress) {
        self.progress.fetch_max(progress as u8, Ordering::Relaxed);
    }

    fn out_of_time(&self, limit: Duration) -> HttpFailure {
        let message = format!("the request was not done within {limit:?}");
        let may_be_done = self.progress() != Progress::Waits;
        HttpFailure { may_be_done, ..HttpFailure::passing(HttpFailureKind::Timeout, message) }
    }

    fn warnings(&self) -> Vec<Warning> {
        self.request.accept_invalid_tls.then_some(Warning::TlsUnverified).into_iter().collect()
    }

    async fn run(&self, attempt: AttemptId) -> Result<HttpEnd, HttpFailure> {
        let client = match self.request.accept_invalid_tls {
            true => self.shared.unverified()?,
            false => self.shared.verified(),
        };
        let mut prepared = self.request.prepare(attempt)?;
        let secrets = std::mem::take(&mut prepared.secrets);
        let mut builder = client.request(prepared.method, prepared.url).headers(prepared.headers);
        if let Some(body) = prepared.body {
            builder = builder.body(body);
        }
        let mut next = builder.build().map_err(|error| {
            HttpFailure::of_client("the request cannot be sent", &error.without_url())
        })?;
        next.headers_mut().entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("gzip"));
        let _slot = self.shared.slots.acquire().await.expect("nobody closes the semaphore");
        let mut redirects = 0;
        loop {
            let (method, url) = (next.method().clone(), next.url().clone());
            let what = format!("{method} {}", shown(&url));
            // Bodies are bytes in memory, which are shared and not copied.
            let hop = next.try_clone().ok_or_else(|| {
                HttpFailure::permanent(HttpFailureKind::BadRequest, "the body cannot be sent")
            })?;
            let response = self.send(client, hop, &what).await?;
            let target = if self.redirects_max == 0 { None } else { target_of(&response, &url)? };
            let Some(target) = target else {
                return self.finish(response, &url, &what, redirects).await;
            };
            if redirects == self.redirects_max {
                let message = format!("{what}: more than {redirects} redirects");
                return Err(redirect_failure(&response, message));
            }
            redirects += 1;
            redirect(&mut next, &secrets, response.status(), target)
                .map_err(|reason| redirect_failure(&response, format!("{what}: {reason}")))?;
            if *next.method() != method {
                self.has_come_to(Progress::FollowedOn);
            }
        }
    }

    /// Sends one request and waits for the headers of its answer.
    async fn send(
        &self,
        client: &reqwest::Client,
        hop: Request,
        what: &str,
    ) -> Result<Response, HttpFailure> {
        check_scheme(hop.url())?;
        self.shared.settings.policy.check_url(hop.url()).map_err(|refused| {
            HttpFailure::permanent(HttpFailureKind::Refused, format!("{what}: {refused}"))
        })?;
        let port = hop.url().port_or_known_default().unwrap_or_default();
        self.has_come_to(Progress::OnItsWay);
        let sent = HOP_PORT.scope(port, client.execute(hop));
        let response = match tokio::time::timeout(self.read_timeout, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(HttpFailure::of_client(what, &error)),
            Err(_) => return Err(self.silence(what)),
        };
        let size: usize = response
            .headers()
            .iter()
            // A line has a colon, a space and an end.
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum();
        if size > HEADERS_MAX as usize {
            let message = format!("{what}: the headers are larger than {HEADERS_MAX} bytes");
            let mut failure = HttpFailure::permanent(HttpFailureKind::HeadersTooLarge, message);
            failure.status = Some(response.status().as_u16());
            return Err(failure);
        }
        Ok(response)
    }

    /// Reads the last answer.
    async fn finish(
        &self,
        response: Response,
        url: &Url,
        what: &str,
        redirects: u32,
    ) -> Result<HttpEnd, HttpFailure> {
        let status = response.status();
        if !self.request.accepts(status.as_u16()) {
            return Err(self.fail(response, what).await);
        }
        let headers = response.headers().clone();
        let encoding = Encoding::of(text_of(&headers, &CONTENT_ENCODING));
        let bytes = self.read(response, encoding, what).await.map_err(|mut failure| {
            failure.status = Some(status.as_u16());
            failure
        })?;
        let count = bytes.len() as u64;
        let (data, warning) = read_data(text_of(&headers, &CONTENT_TYPE), encoding, bytes);
        let mut warnings = self.warnings();
        warnings.extend(warning);
        let meta = HttpMeta {
            url: without_user(url),
            redirects,
            elapsed: self.started.elapsed(),
            bytes: count,
            warnings,
        };
        Ok(HttpEnd { status: status.as_u16(), headers: listed(&headers), data, meta })
    }

    async fn read(
        &self,
        mut response: Response,
        encoding: Encoding,
        what: &str,
    ) -> Result<Vec<u8>, HttpFailure> {
        let mut intake = Intake::new(encoding == Encoding::Gzip, self.body_max);
        let body_failure = |error: BodyError| {
            let message = format!("{what}: {error}");
            match error {
                BodyError::TooLarge(_) | BodyError::TooDense => {
                    HttpFailure::permanent(HttpFailureKind::BodyTooLarge, message)
                }
                BodyError::Corrupt => HttpFailure::passing(HttpFailureKind::Broken, message),
            }
        };
        loop {
            let chunk = match tokio::time::timeout(self.read_timeout, response.chunk()).await {
                Ok(chunk) => chunk.map_err(|error| HttpFailure::of_client(what, &error))?,
                Err(_) => return Err(self.silence(what)),
            };
            match chunk {
                Some(chunk) => intake.take(&chunk).map_err(body_failure)?,
                None => return intake.finish().map_err(body_failure),
            }
        }
    }

    /// The failure that an answer with a status that is not accepted is.
    async fn fail(&self, mut response: Response, what: &str) -> HttpFailure {
        let status = response.status();
        let headers = response.headers().clone();
        let gzip = Encoding::of(text_of(&headers, &CONTENT_ENCODING)) == Encoding::Gzip;
        let mut intake = Intake::new(gzip, DRAIN_MAX);
        // The status says enough: whatever goes wrong here only shortens the excerpt.
        let _ = tokio::time::timeout(self.read_timeout, async {
            while let Ok(Some(chunk)) = response.chunk().await {
                if intake.take(&chunk).is_err() {
                    break;
                }
            }
        })
        .await;
        let excerpt = excerpt(&intake.into_bytes());
        let mut message = format!("{what} answered {status}");
        if let Some(excerpt) = &excerpt {
            let line = excerpt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            message.push_str(": ");
            message.extend(line.trim().chars().take(MESSAGE_EXCERPT_MAX));
        }
        let mut failure = HttpFailure::answered(status.as_u16(), message);
        failure.excerpt = excerpt;
        if failure.retry == MayRetry::Yes {
            wait_as_asked(&mut failure, &headers);
        }
        failure
    }

    fn silence(&self, what: &str) -> HttpFailure {
        let message = format!("{what}: nothing more was received for {:?}", self.read_timeout);
        HttpFailure::passing(HttpFailureKind::Timeout, message)
    }
}

/// Keeps the wait that the other side asks for, or gives up if it is absurd.
fn wait_as_asked(failure: &mut HttpFailure, headers: &HeaderMap) {
    let Some(asked) = text_of(headers, &RETRY_AFTER) else { return };
    let Some(wait) = wait_of(asked, text_of(headers, &DATE), SystemTime::now()) else { return };
    if wait <= RETRY_AFTER_MAX {
        failure.retry = MayRetry::After(wait);
        // Whoever is busy and says until when has not begun.
        failure.may_be_done &= failure.status != Some(503);
        return;
    }
    failure.kind = HttpFailureKind::RetryAfterTooLong;
    failure.retry = MayRetry::No;
    let asked: String = asked.chars().take(40).collect();
    failure.message = format!(
        "{}; it asks to wait (Retry-After: {asked}) for longer than {} h, which is the most",
        failure.message,
        RETRY_AFTER_MAX.as_secs() / 3600,
    );
}

/// Where an answer sends us, if it does.
fn target_of(response: &Response, url: &Url) -> Result<Option<Url>, HttpFailure> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let joined = std::str::from_utf8(location.as_bytes()).ok().and_then(|text| url.join(text).ok());
    match joined {
        Some(target) => Ok(Some(target)),
        None => {
            let message = format!("{}: the target of the redirect is no URL", shown(url));
            Err(redirect_failure(response, message))
        }
    }
}

/// Turns a request into the one that follows it.
fn redirect(
    request: &mut Request,
    secrets: &[HeaderName],
    status: StatusCode,
    mut target: Url,
) -> Result<(), String> {
    if !matches!(target.scheme(), "http" | "https") {
        return Err(format!("the redirect leads to `{}`, not to http or https", target.scheme()));
    }
    if request.url().scheme() == "https" && target.scheme() == "http" {
        return Err(format!("the redirect leads from https to {}, which is http", shown(&target)));
    }
    // Whoever redirects has no say in who we are there. Neither call fails for http and https.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    if request.url().origin() != target.origin() {
        let headers = request.headers_mut();
        headers.remove(HOST);
        for name in secrets {
            headers.remove(name);
        }
        let always: Vec<HeaderName> =
            headers.keys().filter(|name| is_secret_name(name.as_str())).cloned().collect();
        for name in always {
            headers.remove(name);
        }
    }
    let becomes_get = match status {
        StatusCode::SEE_OTHER => *request.method() != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *request.method() == Method::POST,
        _ => false,
    };
    if becomes_get {
        *request.method_mut() = Method::GET;
        *request.body_mut() = None;
        for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION] {
            request.headers_mut().remove(name);
        }
    }
    *request.url_mut() = target;
    Ok(())
}

fn redirect_failure(response: &Response, message: String) -> HttpFailure {
    let mut failure = HttpFailure::permanent(HttpFailureKind::Redirect, message);
    failure.status = Some(response.status().as_u16());
    failure
}

fn text_of<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn listed(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn without_user(url: &Url) -> String {
    let mut url = url.clone();
    // Neither call fails for http and https.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// The start of a body as text that does no harm on a terminal.
fn excerpt(bytes: &[u8]) -> Option<String> {
    // A character has at most four bytes.
    let start = &bytes[..bytes.len().min(EXCERPT_MAX * 4)];
    let text: String = String::from_utf8_lossy(start)
        .chars()
        .take(EXCERPT_MAX)
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c })
        .collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, url: &str) -> Request {
        let mut request = Request::new(method, url.parse().unwrap());
        for name in ["authorization", "cookie", "proxy-authorization", "x-token", "x-plain"] {
            request.headers_mut().insert(name, HeaderValue::from_static("1"));
        }
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        *request.body_mut() = Some("body".into());
        request
    }

    fn follow(request: &mut Request, status: u16, target: &str) -> Result<(), String> {
        let secrets = [HeaderName::from_static("x-token")];
        let target = request.url().join(target).unwrap();
        redirect(request, &secrets, StatusCode::from_u16(status).unwrap(), target)
    }

    #[test]
    fn https_never_leads_to_http() {
        let mut from = request(Method::GET, "https://a.example/");
        let error = follow(&mut from, 302, "http://a.example/").unwrap_err();
        assert!(error.contains("which is http"), "{error}");
        assert!(follow(&mut from, 302, "ftp://a.example/").is_err());
        assert!(follow(&mut from, 302, "file:///etc/passwd").is_err());
        assert!(follow(&mut from, 302, "//b.example/").is_ok());
        assert_eq!(from.url().as_str(), "https://b.example/");
        let mut from = request(Method::GET, "http://a.example/");
        assert!(follow(&mut from, 302, "https://a.example/").is_ok());
    }

    #[test]
    fn secrets_stay_with_their_origin() {
        let mut same = request(Method::GET, "https://a.example/x");
        follow(&mut same, 302, "/y").unwrap();
        follow(&mut same, 302, "https://a.example:443/z").unwrap();
        assert!(same.headers().contains_key("authorization"));
        assert!(same.headers().contains_key("x-token"));
        for target in
            ["https://b.example/", "https://a.example:8443/", "https://u:p@a.example.evil/"]
        {
            let mut other = request(Method::GET, "https://a.example/x");
            follow(&mut other, 302, target).unwrap();
            let names: Vec<&str> = other.headers().keys().map(HeaderName::as_str).collect();
            assert_eq!(names.len(), 2, "{names:?}");
            assert!(other.headers().contains_key("x-plain"));
            assert_eq!(other.url().username(), "");
            assert_eq!(other.url().password(), None);
            // They do not come back either.
            follow(&mut other, 302, "https://a.example/x").unwrap();
            assert!(!other.headers().contains_key("authorization"));
        }
    }

    #[test]
    fn methods_change_as_browsers_change_them() {
        let cases = [
            (Method::POST, 301, Method::GET),
            (Method::POST, 302, Method::GET),
            (Method::POST, 303, Method::GET),
            (Method::POST, 307, Method::POST),
            (Method::POST, 308, Method::POST),
            (Method::PUT, 302, Method::PUT),
            (Method::PUT, 303, Method::GET),
            (Method::HEAD, 303, Method::HEAD),
            (Method::DELETE, 301, Method::DELETE),
        ];
        for (before, status, after) in cases {
            let mut request = request(before.clone(), "http://a.example/");
            follow(&mut request, status, "/next").unwrap();
            assert_eq!(*request.method(), after, "{before} {status}");
            assert_eq!(request.body().is_some(), before == after, "{before} {status}");
            let has_type = request.headers().contains_key(CONTENT_TYPE);
            assert_eq!(has_type, before == after, "{before} {status}");
        }
    }

    #[test]
    fn excerpts_are_short_and_harmless() {
        assert_eq!(excerpt(b""), None);
        assert_eq!(excerpt(b"a\x1b[31mb\n").unwrap(), "a\u{fffd}[31mb\n");
        assert_eq!(excerpt("ä".repeat(5000).as_bytes()).unwrap().chars().count(), EXCERPT_MAX);
    }
}
