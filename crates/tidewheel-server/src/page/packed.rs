//! [`packed`]: what is sent to a browser, made small for those who can unpack it.
//!
//! Nothing that is secret stands in a page, so its length gives nothing away. What never changes is compressed once, in
//! [`super::assets`].

use std::io::Write as _;

use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

/// A page that is compressed, if whoever asked takes it so; all else as it is.
pub(crate) async fn packed(asked: &HeaderMap, response: Response) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if !takes_gzip(asked) {
        return Response::from_parts(parts, body);
    }
    // A page is in memory already.
    let page = to_bytes(body, usize::MAX).await.unwrap_or_default();
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(parts, Body::from(compressed(&page, Compression::fast())))
}

pub(super) fn compressed(text: &[u8], level: Compression) -> Vec<u8> {
    let mut small = GzEncoder::new(Vec::new(), level);
    // Memory can always be written to.
    _ = small.write_all(text);
    small.finish().unwrap_or_default()
}

/// Whether whoever asks can unpack what is compressed.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let said = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut ways = said.flat_map(|line| line.split(','));
    ways.any(|way| {
        let mut parts = way.split(';').map(str::trim);
        parts.next() == Some("gzip") && parts.all(|part| part != "q=0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_what_is_compressed_says_so() {
        let takes = |said: &'static str| {
            takes_gzip(&[(ACCEPT_ENCODING, HeaderValue::from_static(said))].into_iter().collect())
        };
        assert!(takes("gzip") && takes("br;q=1.0, gzip;q=0.8, *;q=0.1"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes_gzip(&HeaderMap::new()));
    }
}
