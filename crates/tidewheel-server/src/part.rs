//! [`Part`]: which part of something a request asks for, by `Range` and `If-Range`.
//!
//! Where the bytes come from is known to whoever answers.

use axum::body::Body;
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_RANGE, RANGE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

/// A part of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// From this byte to before that one.
    Some(u64, u64),
    /// One that there is not.
    None,
}

impl Part {
    /// The part that is asked for of something so long, which is known by this tag. Several parts at once, and what is no
    /// part, are the whole, as is one of something that is not what it was.
    pub fn of(headers: &HeaderMap, size: u64, tag: &str) -> Self {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if text(IF_RANGE).is_some_and(|was| was != tag) {
            return Self::Whole;
        }
        let Some((from, to)) = text(RANGE).and_then(range) else { return Self::Whole };
        let (from, to) = match (from, to) {
            (Some(from), to) => (from, to.map_or(size, |to| to.saturating_add(1).min(size))),
            (None, Some(last)) => (size.saturating_sub(last), size),
            (None, None) => return Self::Whole,
        };
        if from < to { Self::Some(from, to) } else { Self::None }
    }

    /// From which byte to before which, of something so long.
    pub fn bytes(self, size: u64) -> (u64, u64) {
        match self {
            Self::Whole => (0, size),
            Self::Some(from, to) => (from, to),
            Self::None => (0, 0),
        }
    }

    /// Says in an answer which part it is.
    pub fn told(self, mut response: Response, size: u64, tag: &str) -> Response {
        let (from, to) = self.bytes(size);
        let headers = response.headers_mut();
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(to - from));
        if let Ok(tag) = HeaderValue::from_str(tag) {
            headers.insert(ETAG, tag);
        }
        let (status, range) = match self {
            Self::Whole => return response,
            Self::Some(from, to) => {
                (StatusCode::PARTIAL_CONTENT, format!("bytes {from}-{}/{size}", to - 1))
            }
            Self::None => (StatusCode::RANGE_NOT_SATISFIABLE, format!("bytes */{size}")),
        };
        if let Ok(range) = HeaderValue::from_str(&range) {
            headers.insert(CONTENT_RANGE, range);
        }
        *response.status_mut() = status;
        match self {
            Self::None => response.map(|_| Body::empty()),
            _ => response,
        }
    }
}

/// The first and the last byte of one range, as far as they are said.
fn range(text: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (from, to) = text.strip_prefix("bytes=")?.trim().split_once('-')?;
    let number = |text: &str| match text {
        "" => Some(None),
        // Not what else could be parsed, such as a sign.
        text if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok().map(Some),
        _ => None,
    };
    let (from, to) = (number(from)?, number(to)?);
    let is_backwards = matches!((from, to), (Some(from), Some(to)) if to < from);
    (!is_backwards).then_some((from, to))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn a_part_is_what_was_asked_for_and_nothing_else() {
        let cases = [
            ("bytes=0-0", Part::Some(0, 1)),
            ("bytes=5-", Part::Some(5, 10)),
            ("bytes=5-99", Part::Some(5, 10)),
            ("bytes=-3", Part::Some(7, 10)),
            ("bytes=-99", Part::Some(0, 10)),
            ("bytes=10-", Part::None),
            ("bytes=-0", Part::None),
            ("bytes=7-5", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("bytes=18446744073709551615-", Part::None),
            ("bytes=0-18446744073709551615", Part::Some(0, 10)),
            ("bytes=99999999999999999999-", Part::Whole),
            ("lines=0-1", Part::Whole),
        ];
        for (text, part) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(RANGE, text.parse().unwrap());
            assert_eq!(Part::of(&headers, 10, "\"a\""), part, "{text}");
            headers.insert(IF_RANGE, "\"b\"".parse().unwrap());
            assert_eq!(Part::of(&headers, 10, "\"a\""), Part::Whole, "{text}");
        }
        assert_eq!(Part::of(&HeaderMap::new(), 10, "\"a\""), Part::Whole);
    }
}
