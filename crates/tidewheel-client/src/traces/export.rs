//! [`Traces`]: where traces are sent, and the sending.
//!
//! What cannot be sent waits, within bounds, and is tried again; a collector that is gone costs nothing but its traces.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use tokio::time::{Instant, sleep_until};

use super::form::request;
use super::spans::{Span, Spans};
use crate::api::What;
use crate::house::{Happenings, Seen};
use crate::remote::tls;

/// Spans of one request.
const BATCH: usize = 512;

/// Spans that wait; the oldest go first.
const WAITING_MAX: usize = 8192;

/// How long a span waits for others.
const PERIOD: Duration = Duration::from_secs(2);

/// The longest pause after something went wrong.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How long a collector may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// How long is waited for it at the end.
const LAST: Duration = Duration::from_secs(3);

/// Where traces are sent.
#[derive(Debug, Clone)]
pub struct Traces {
    url: Url,
    client: Client,
    period: Duration,
}

/// Why no traces can be sent there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// It is no address.
    #[error("`{0}` is no address of a collector: it begins with http:// or https://")]
    Address(String),
    /// A header is none.
    #[error("`{0}` is no header: write name=value, with commas between")]
    Header(String),
    /// There is no way to send requests.
    #[error("no requests can be sent: {0}")]
    Client(String),
}

/// What came of a request.
enum Sent {
    Taken,
    /// It is tried again.
    NotNow(String),
    /// It never will be taken.
    Refused(String),
}

impl Traces {
    /// To the collector at this address, such as `http://127.0.0.1:4318`; `/v1/traces` is put behind it. `headers` are what
    /// `OTEL_EXPORTER_OTLP_HEADERS` has: `name=value`, with commas between.
    ///
    /// # Errors
    ///
    /// When the address is none, or the headers are not.
    pub fn to(endpoint: &str, headers: &str) -> Result<Self, TraceError> {
        let wrong = || TraceError::Address(endpoint.to_owned());
        let mut url = Url::parse(endpoint).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong());
        }
        if !url.path().ends_with("/v1/traces") {
            let mut segments = url.path_segments_mut().map_err(|()| wrong())?;
            segments.pop_if_empty().extend(["v1", "traces"]);
        }
        let client = Client::builder()
            .tls_backend_preconfigured(
                tls().map_err(|error| TraceError::Client(error.to_string()))?,
            )
            .default_headers(headers_of(headers)?)
            .timeout(ANSWER)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build();
        let client = client.map_err(|error| TraceError::Client(error.to_string()))?;
        Ok(Self { url, client, period: PERIOD })
    }

    /// How long a span waits for others, if not two seconds.
    #[must_use]
    pub fn period(mut self, period: Duration) -> Self {
        self.period = period;
        self
    }

    /// Sends what happens until it ends; `tell` hears when that cannot be done, and when it can again.
    pub async fn export(self, mut happenings: Happenings, mut tell: impl FnMut(String)) {
        let mut spans = Spans::default();
        let mut waiting: VecDeque<Span> = VecDeque::new();
        let (mut pause, mut is_well) = (self.period, true);
        let mut next = Instant::now() + pause;
        loop {
            tokio::select! {
                seen = happenings.next() => match seen {
                    None => break,
                    Some(Seen::Gap) => spans.lose(),
                    Some(Seen::Happened(happened)) if happened.what == What::Missed => spans.lose(),
                    Some(Seen::Happened(happened)) => waiting.extend(spans.take(&happened)),
                },
                () = sleep_until(next), if !waiting.is_empty() => {
                    pause = match self.send(&mut waiting).await {
                        Ok(()) => {
                            if !std::mem::replace(&mut is_well, true) {
                                tell(format!("traces are sent to {} again", self.url));
                            }
                            self.period
                        }
                        Err(why) => {
                            if std::mem::replace(&mut is_well, false) {
                                tell(format!("traces cannot be sent to {}: {why}", self.url));
                            }
                            (pause * 2).min(PAUSE_MAX)
                        }
                    };
                    next = Instant::now() + pause;
                }
            }
            waiting.drain(..waiting.len().saturating_sub(WAITING_MAX));
        }
        // Whoever ends does not wait for a collector that is gone.
        let _ = tokio::time::timeout(LAST, self.send(&mut waiting)).await;
    }

    /// Sends what waits; what was taken or refused waits no longer.
    async fn send(&self, waiting: &mut VecDeque<Span>) -> Result<(), String> {
        let mut refused = None;
        while !waiting.is_empty() {
            let count = waiting.len().min(BATCH);
            match self.post(&waiting.make_contiguous()[..count]).await {
                Sent::Taken => {}
                Sent::NotNow(why) => return Err(why),
                Sent::Refused(why) => refused = Some(why),
            }
            waiting.drain(..count);
        }
        refused.map_or(Ok(()), Err)
    }

    async fn post(&self, spans: &[Span]) -> Sent {
        let body = request(spans).to_string();
        let sent = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        match sent.body(body).send().await.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => Sent::Taken,
            Ok(status) if is_passing(status) => Sent::NotNow(format!("it answers {status}")),
            Ok(status) => Sent::Refused(format!("it answers {status}")),
            Err(error) => Sent::NotNow(error.without_url().to_string()),
        }
    }
}

/// Whether an answer may be another one later.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

fn headers_of(text: &str) -> Result<HeaderMap, TraceError> {
    let mut headers = HeaderMap::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let wrong = || TraceError::Header(pair.split('=').next().unwrap_or_default().to_owned());
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn the_address_is_that_of_a_collector() {
        let url = |endpoint: &str| Traces::to(endpoint, "").map(|traces| traces.url.to_string());
        assert_eq!(url("http://127.0.0.1:4318").unwrap(), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(url("https://a.example/otlp/").unwrap(), "https://a.example/otlp/v1/traces");
        assert_eq!(url("http://a.example/v1/traces").unwrap(), "http://a.example/v1/traces");
        for wrong in ["", "127.0.0.1:4318", "grpc://a.example", "unix:/x"] {
            assert!(matches!(url(wrong), Err(TraceError::Address(_))), "{wrong}");
        }
    }

    #[test]
    fn headers_are_pairs_and_what_they_hide_is_not_told() {
        let headers = headers_of("authorization=Bearer a=b, x-tenant = one,").unwrap();
        assert_eq!(headers["authorization"], "Bearer a=b");
        assert_eq!(headers["x-tenant"], "one");
        let error = headers_of("odd name=secret").unwrap_err().to_string();
        assert!(error.contains("odd name") && !error.contains("secret"), "{error}");
    }
}
