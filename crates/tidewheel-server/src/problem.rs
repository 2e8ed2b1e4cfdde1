//! [`Problem`]: what is said when something is not done, and the status of each refusal of the desk.
//!
//! What went wrong is known to the desk; here it gets its number.

use std::time::Duration;

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use tidewheel::Rejection;
use tidewheel_client::api::{self, Refusal, RefusalKind};
use tidewheel_client::desk::{DeskError, Surface};

/// Something was not done.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    pub detail: String,
    hint: Option<String>,
    said: Option<Box<Said>>,
    /// When it is worth trying again.
    retry_after: Option<Duration>,
    /// What may be asked there instead.
    allow: Option<String>,
}

/// What the desk said.
#[derive(Debug)]
struct Said {
    refusal: Refusal,
    /// The hints in the words of the command.
    of_command: Vec<String>,
}

/// How long somebody who was turned away should wait if nobody knows better.
const SOON: Duration = Duration::from_secs(1);

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { status, detail, hint: None, said: None, retry_after: None, allow: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same in the words of whoever reads it.
    pub(crate) fn at(mut self, surface: Surface) -> Self {
        if let (Surface::Command, Some(said)) = (surface, &mut self.said) {
            said.refusal.hints = std::mem::take(&mut said.of_command);
            self.hint = joined(&said.refusal.hints);
        } else if surface == Surface::Command && self.status == StatusCode::UNAUTHORIZED {
            self.hint = Some("tidewheel login URL --token < FILE  keeps a token for it".to_owned());
        }
        self
    }

    pub(crate) fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// What may be asked there instead.
    pub(crate) fn allow(mut self, allow: String) -> Self {
        self.allow = Some(allow);
        self
    }

    /// The status it is answered with.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// What can be done about it.
    pub(crate) fn hint_text(&self) -> Option<String> {
        self.hint.clone()
    }

    /// Nobody is known to ask.
    pub(crate) fn nobody() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "nobody is known to ask")
            .hint("send a token: Authorization: Bearer tidewheel_…")
    }

    /// There is nothing.
    pub(crate) fn nothing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing here")
            .hint("/api/v1/openapi.json says what there is")
    }

    /// What was sent is not as it must be.
    pub(crate) fn unfit(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// Our own fault, or that of the machine.
    pub(crate) fn failed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }
}

impl From<DeskError> for Problem {
    fn from(error: DeskError) -> Self {
        let (status, wait) = status_of(&error);
        let refusal = error.refusal_for(Surface::Http);
        let mut problem = Self::new(status, refusal.message.clone());
        problem.hint = joined(&refusal.hints);
        problem.retry_after = wait;
        problem.said = Some(Box::new(Said { refusal, of_command: error.hints() }));
        problem
    }
}

fn joined(hints: &[String]) -> Option<String> {
    (!hints.is_empty()).then(|| hints.join("; "))
}

/// The status of a refusal, and when it is worth trying again.
fn status_of(error: &DeskError) -> (StatusCode, Option<Duration>) {
    if let Some(rejection) = error.rejection() {
        return match rejection {
            Rejection::QueueFull { .. } => (StatusCode::TOO_MANY_REQUESTS, Some(SOON)),
            Rejection::BreakerOpen { left, .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, Some(left.unwrap_or(SOON)))
            }
            Rejection::ShuttingDown | Rejection::Unavailable(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, Some(SOON))
            }
            Rejection::AlreadyAccepted(_)
            | Rejection::KeyTaken { .. }
            | Rejection::DuplicateTask(_) => (StatusCode::CONFLICT, None),
            _ => (StatusCode::UNPROCESSABLE_ENTITY, None),
        };
    }
    match error {
        DeskError::NotSigned => return (StatusCode::UNAUTHORIZED, None),
        DeskError::HookFull { .. } => return (StatusCode::TOO_MANY_REQUESTS, Some(SOON)),
        _ => {}
    }
    let status = match error.kind() {
        RefusalKind::NotFound => StatusCode::NOT_FOUND,
        RefusalKind::Conflict => StatusCode::CONFLICT,
        RefusalKind::Usage | RefusalKind::Input | RefusalKind::Refused => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        RefusalKind::Failed => return (StatusCode::SERVICE_UNAVAILABLE, Some(SOON)),
        RefusalKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, None)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status;
        let title = status.canonical_reason().unwrap_or("Refused").to_owned();
        let word = title.to_ascii_lowercase().replace(' ', "-");
        let problem = api::Problem {
            kind: format!("urn:tidewheel:problem:{word}"),
            title,
            status: status.as_u16(),
            detail: self.detail,
            hint: self.hint,
            refusal: self.said.map(|said| said.refusal),
        };
        // It holds texts and numbers, which can always be written.
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if let Some(allow) = self.allow.and_then(|allow| HeaderValue::from_str(&allow).ok()) {
            headers.insert(ALLOW, allow);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use tidewheel::RunId;

    use super::*;

    #[test]
    fn whoever_is_not_known_is_told_in_their_words_how_to_be() {
        let hint = |surface| Problem::nobody().at(surface).hint_text().unwrap_or_default();
        assert!(hint(Surface::Http).contains("Authorization: Bearer"));
        assert!(hint(Surface::Command).starts_with("tidewheel login URL --token"));
    }

    #[test]
    fn every_sort_of_refusal_has_its_status() {
        let run = RunId(1);
        let full = Rejection::QueueFull { queue: "mail".into(), wanted: 1, current: 3, max: 3 };
        let cases = [
            (DeskError::RunGone { run }, 404, None),
            (DeskError::NotEnded { run, is_abandoned: false }, 409, None),
            (DeskError::Cursor { cursor: "x".to_owned() }, 422, None),
            (DeskError::NoFiles { run }, 422, None),
            (DeskError::Rejected(full), 429, Some(1)),
            (DeskError::Rejected(Rejection::ShuttingDown), 503, Some(1)),
            (DeskError::Rejected(Rejection::AlreadyAccepted(run)), 409, None),
            (DeskError::System(std::io::Error::other("x")), 503, Some(1)),
        ];
        for (error, status, wait) in cases {
            let text = error.to_string();
            let response = Problem::from(error).into_response();
            assert_eq!(response.status().as_u16(), status, "{text}");
            let header = response.headers().get(RETRY_AFTER).map(|it| it.to_str().ok());
            assert_eq!(header.flatten().map(str::parse), wait.map(Ok::<u64, _>), "{text}");
            assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        }
    }
}
