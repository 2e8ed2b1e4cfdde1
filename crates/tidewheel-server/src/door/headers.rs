//! What every answer tells a browser: to run nothing, to frame nothing, to keep nothing.
//!
//! An answer that says something else itself, such as a page, is left as it is.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;

/// The headers of every answer.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (CACHE_CONTROL, "no-store"),
];

/// Adds them where they are not said.
pub(crate) fn harden(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        let entry = response.headers_mut().entry(name);
        entry.or_insert_with(|| HeaderValue::from_static(value));
    }
    response
}
