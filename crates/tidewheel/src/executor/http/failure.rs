//! [`HttpFailure`]: why an attempt failed, and whether another could fare better.
//!
//! How long to wait before is asked in [`super::retry_after`]; whether there is another attempt is
//! decided in the core.

use std::error::Error;
use std::fmt;
use std::io;

use tidewheel_core::input::Outcome;

use super::end::Warning;
use super::policy::Refused;
use super::request::HttpRequest;
use crate::error::{MayRetry, describe, failure_of};

/// How often surfaces that offer HTTP requests retry them unless told otherwise.
///
/// The executor itself never retries.
pub const RETRIES_DEFAULT: u32 = 3;

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpFailure {
    /// What went wrong.
    pub kind: HttpFailureKind,
    /// What to tell people; one line.
    pub message: String,
    /// The status, if there was an answer.
    pub status: Option<u16>,
    /// Whether another try could help and harms nobody, and from when on.
    pub retry: MayRetry,
    /// Whether the other side may have done what was asked, or a part of it.
    pub may_be_done: bool,
    /// The start of the body of the answer, control characters replaced.
    pub excerpt: Option<String>,
    /// What people should know beside it.
    pub warnings: Vec<Warning>,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpFailureKind {
    /// The request itself makes no sense: its URL, its method or a header.
    BadRequest,
    /// The address policy forbids the host or its address.
    Refused,
    /// The name was not found.
    Name,
    /// There was no connection.
    Connect,
    /// There is no trust, or no common version, between the two sides.
    Tls,
    /// A connection, an answer or the whole took too long.
    Timeout,
    /// The connection broke while a request or an answer was on it.
    Broken,
    /// The answer has a status that does not count as success.
    Status,
    /// There were too many redirects, or one that must not be followed.
    Redirect,
    /// The headers are larger than 64 KiB.
    HeadersTooLarge,
    /// The body is larger than its limit, or inflates too much.
    BodyTooLarge,
    /// The wait asked for is longer than [`super::RETRY_AFTER_MAX`].
    RetryAfterTooLong,
}

impl HttpFailure {
    /// An answer with a status that does not count as success, for whoever sends requests in another
    /// way than [`HttpClient`](super::HttpClient).
    #[must_use]
    pub fn answered(status: u16, message: impl Into<String>) -> Self {
        let failure = Self::new(HttpFailureKind::Status, may_retry_status(status), message.into());
        Self { status: Some(status), may_be_done: may_be_done(status), ..failure }
    }

    /// A request that cannot be sent, now or ever.
    #[must_use]
    pub fn impossible(message: impl Into<String>) -> Self {
        Self::permanent(HttpFailureKind::BadRequest, message)
    }

    /// The failure as that of this request: one that is not safe to repeat, and may have been done, is
    /// not worth another try, and says so.
    ///
    /// [`HttpClient`](super::HttpClient) has done it already.
    #[must_use]
    pub fn of_request(mut self, request: &HttpRequest) -> Self {
        if self.retry == MayRetry::No {
            return self;
        }
        if let Some(why) = self.why_not_again(request) {
            self.retry = MayRetry::No;
            self.message.push_str(&why);
        }
        self
    }

    /// Why this request must not be sent again, whoever asks for it: it may have been done, and is not
    /// safe to repeat. To be put behind the message.
    #[must_use]
    pub fn why_not_again(&self, request: &HttpRequest) -> Option<String> {
        let method = request.method();
        (self.may_be_done && !request.is_repeatable()).then(|| {
            format!(
                " (not tried again: it may have been done already, and {method} is not safe to repeat; \
                 `repeatable` says that it is)"
            )
        })
    }

    /// The outcome to report to the core.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::Failed(Box::new(failure_of(self)))
    }

    pub(super) fn permanent(kind: HttpFailureKind, message: impl Into<String>) -> Self {
        Self::new(kind, MayRetry::No, message.into())
    }

    pub(super) fn passing(kind: HttpFailureKind, message: impl Into<String>) -> Self {
        Self::new(kind, MayRetry::Yes, message.into())
    }

    fn new(kind: HttpFailureKind, retry: MayRetry, message: String) -> Self {
        let message = one_line(message);
        let (status, excerpt, warnings) = (None, None, Vec::new());
        // Nothing was sent without a name and a connection; of all else nobody knows.
        let may_be_done = !matches!(
            kind,
            HttpFailureKind::BadRequest
                | HttpFailureKind::Refused
                | HttpFailureKind::Name
                | HttpFailureKind::Connect
        );
        Self { kind, message, status, retry, may_be_done, excerpt, warnings }
    }

    /// What the client could not do.
    pub(super) fn of_client(what: &str, error: &reqwest::Error) -> Self {
        // The error names the URL with everything in it; `what` names it without its secrets.
        let told = error.source().map_or_else(|| error.to_string(), describe);
        let message = format!("{what}: {told}");
        if find::<Refused>(error).is_some() {
            return Self::permanent(HttpFailureKind::Refused, message);
        }
        if let Some(tls) = find::<rustls::Error>(error) {
            let retry = if is_lasting(tls) { MayRetry::No } else { MayRetry::Yes };
            let may_be_done = !error.is_connect();
            return Self { may_be_done, ..Self::new(HttpFailureKind::Tls, retry, message) };
        }
        if error.is_builder() {
            return Self::permanent(HttpFailureKind::BadRequest, message);
        }
        // The protocol library has no public type for its own limit, which is above ours.
        if told.contains("message head is too large") {
            return Self::permanent(HttpFailureKind::HeadersTooLarge, message);
        }
        let kind = if error.is_timeout() {
            let may_be_done = !error.is_connect();
            return Self { may_be_done, ..Self::passing(HttpFailureKind::Timeout, message) };
        } else if error.is_dns() || told.contains("dns error") {
            HttpFailureKind::Name
        } else if error.is_connect() {
            HttpFailureKind::Connect
        } else {
            HttpFailureKind::Broken
        };
        Self::passing(kind, message)
    }
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// As its own cause it says whether to try again, which the scheduler finds there: a task returns it
/// with `?`, in whatever error.
impl Error for HttpFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (self.retry != MayRetry::Yes).then_some(&self.retry as _)
    }
}

/// Whether an answer with this status may be another one next time.
pub(super) fn may_retry_status(status: u16) -> MayRetry {
    match status {
        408 | 425 | 429 | 500 | 502 | 503 | 504 => MayRetry::Yes,
        _ => MayRetry::No,
    }
}

/// Whether what was asked may have been done by somebody who answers with this status. Three say that
/// it was not: it did not arrive whole, it came too early, there were too many.
fn may_be_done(status: u16) -> bool {
    !matches!(status, 408 | 425 | 429)
}

/// Whether the other side will have the same certificate and the same versions next time.
fn is_lasting(error: &rustls::Error) -> bool {
    use rustls::AlertDescription as Alert;
    !matches!(
        error,
        rustls::Error::DecryptError
            | rustls::Error::PeerSentOversizedRecord
            | rustls::Error::HandshakeNotComplete
            | rustls::Error::AlertReceived(
                Alert::InternalError
                    | Alert::UserCanceled
                    | Alert::CloseNotify
                    | Alert::BadRecordMac
                    | Alert::DecryptError
            )
    )
}

/// An error of this type among the causes, including those that I/O errors wrap.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        // An I/O error gives the cause of what it wraps as its own and hides the wrapped error.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        link = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

/// What others wrote into a message may have several lines.
fn one_line(message: String) -> String {
    if !message.contains(['\n', '\r']) {
        return message;
    }
    let lines = message.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}
