//! [`Trouble`]: what became of a request that did not bring what it was for.
//!
//! Whether anything is out all the same is found out by looking, never from here.

use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::clock::wall_clock;
use tidewheel::executor::http::{HttpFailure, HttpFailureKind, MayRetry, RETRY_AFTER_MAX};

use crate::registry::Unreadable;

/// What became of a request that did not bring what it was for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// There were too many; none before so long has passed, if the registry says so.
    #[error("{what}")]
    Limited {
        /// How long to wait, if that is said.
        wait: Option<Duration>,
        /// What the registry said.
        what: String,
    },
    /// It may go better next time.
    #[error("{what}")]
    Passing {
        /// What went wrong.
        what: String,
        /// How long to wait, if that is said.
        wait: Option<Duration>,
    },
    /// The registry does not know us, or we may not do that.
    #[error("{what}")]
    NotAllowed {
        /// What the registry said.
        what: String,
    },
    /// The registry wants a one-time code, another one than it was given.
    #[error("{what}")]
    CodeWanted {
        /// What the registry said.
        what: String,
    },
    /// The registry does not want it.
    #[error("{what}")]
    Refused {
        /// What the registry said.
        what: String,
    },
}

impl From<HttpFailure> for Trouble {
    fn from(failure: HttpFailure) -> Self {
        let told = failure.excerpt.as_deref().map(told);
        let wait = match (failure.retry, failure.kind) {
            (MayRetry::After(wait), _) => Some(wait),
            // As long as anybody is waited for.
            (_, HttpFailureKind::RetryAfterTooLong) => Some(RETRY_AFTER_MAX),
            _ => told.as_deref().and_then(wait_in_words),
        };
        let what = match (&told, failure.status) {
            (Some(told), Some(status)) => format!("the registry answers {status}: {told}"),
            _ => failure.message.clone(),
        };
        match failure.status {
            Some(429) => Self::Limited { wait, what },
            // Two changes of one package at once; or a log of signatures that was busy.
            Some(409) => Self::Passing { what, wait: None },
            Some(401 | 403) => Self::NotAllowed { what },
            _ if failure.kind == HttpFailureKind::RetryAfterTooLong => Self::Limited { wait, what },
            _ if failure.retry == MayRetry::No => Self::Refused { what },
            _ => Self::Passing { what, wait: wait.filter(|_| failure.status.is_some()) },
        }
    }
}

/// Nonsense may be that of something between us and the registry, which is gone next time.
impl From<Unreadable> for Trouble {
    fn from(error: Unreadable) -> Self {
        Self::Passing { what: error.to_string(), wait: None }
    }
}

/// What an answer says for people. Each registry has a form of its own for it.
pub(super) fn told(body: &str) -> String {
    let said = serde_json::from_str::<Json>(body).ok().and_then(|json| detail(&json));
    let said = said.unwrap_or_else(|| body.to_owned());
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(400).collect()
}

/// The words in an answer that is an error.
pub(super) fn detail(json: &Json) -> Option<String> {
    let errors = json.get("errors").and_then(Json::as_array);
    let details = errors.into_iter().flatten().filter_map(|error| error.get("detail")?.as_str());
    let details: Vec<&str> = details.collect();
    if !details.is_empty() {
        return Some(details.join("; "));
    }
    let said = ["error", "message", "reason"].iter().find_map(|key| json.get(key)?.as_str());
    said.map(str::to_owned)
}

/// How long to wait, where only a sentence says it: `… try again after Thu, 01 Jan 2026 00:00:00 GMT and …`.
fn wait_in_words(text: &str) -> Option<Duration> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let until = words.windows(6).find_map(|six| {
        let date = six.join(" ");
        let date = date.trim_end_matches(['.', ',', ';', ')']);
        jiff::fmt::rfc2822::parse(date).ok().map(|zoned| zoned.timestamp())
    });
    let until = until.or_else(|| {
        let dates = words.iter().map(|word| word.trim_matches(['.', ',', ';', '(', ')', '"']));
        dates.filter_map(|word| word.parse::<jiff::Timestamp>().ok()).next()
    })?;
    let until = u64::try_from(until.as_microsecond()).ok()?;
    let now = u64::try_from(wall_clock().as_micros()).unwrap_or(0);
    Some(Duration::from_micros(until.saturating_sub(now)).min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(wait: Duration) -> jiff::Timestamp {
        let at = wall_clock().as_micros() + i64::try_from(wait.as_micros()).unwrap();
        jiff::Timestamp::from_microsecond(at).unwrap()
    }

    fn about(wait: Option<Duration>, seconds: u64) -> bool {
        wait.is_some_and(|wait| wait.as_secs().abs_diff(seconds) <= 2)
    }

    #[test]
    fn a_date_in_a_sentence_is_waited_for() {
        let until = after(Duration::from_secs(600));
        let date = until.strftime("%a, %d %b %Y %H:%M:%S GMT");
        let sentence = format!(
            "You have published too many crates. Please try again after {date} or email us."
        );
        assert!(about(wait_in_words(&sentence), 600), "{sentence}");
        assert!(about(wait_in_words(&format!("again at {until}.")), 600));
        assert_eq!(wait_in_words("slow down, 5 in 600 s are enough"), None);
        assert_eq!(wait_in_words("since Thu, 01 Jan 1970 00:00:00 GMT"), Some(Duration::ZERO));
        let far = wait_in_words("not before 2999-01-01T00:00:00Z");
        assert_eq!(far, Some(RETRY_AFTER_MAX));
    }

    #[test]
    fn a_status_says_whether_to_wait_to_try_again_or_to_give_up() {
        let trouble = |status| Trouble::from(HttpFailure::answered(status, "no"));
        assert!(matches!(trouble(429), Trouble::Limited { wait: None, .. }));
        for status in [409, 500, 502, 503, 504] {
            assert!(matches!(trouble(status), Trouble::Passing { .. }), "{status}");
        }
        for status in [401, 403] {
            assert!(matches!(trouble(status), Trouble::NotAllowed { .. }), "{status}");
        }
        for status in [400, 404, 422] {
            assert!(matches!(trouble(status), Trouble::Refused { .. }), "{status}");
        }
    }

    #[test]
    fn what_registries_say_is_passed_on_in_their_words() {
        assert_eq!(told(r#"{"errors":[{"detail":"crate a is reserved"}]}"#), "crate a is reserved");
        assert_eq!(told(r#"{"error":"you must be logged in"}"#), "you must be logged in");
        assert_eq!(
            told("400 File already exists.\n See  help"),
            "400 File already exists. See help"
        );
    }
}
