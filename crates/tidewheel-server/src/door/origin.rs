//! Whether a page of somebody else's is behind a wish to change something.
//!
//! It holds for everything but GET and HEAD. Programs that are no browsers say nothing of where they come from.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};

use crate::identity::{Identity, Way, is_same};
use crate::problem::Problem;

/// What a browser says with each request.
const SITE: &str = "sec-fetch-site";

/// The header with the word that only our own page knows.
pub(crate) const CSRF: &str = "x-tidewheel-csrf";

/// Whether a wish to change something comes from our own page, or from no page at all.
pub(crate) fn check_origin(headers: &HeaderMap, who: Option<&Identity>) -> Result<(), Problem> {
    let session = who.and_then(|who| match &who.way {
        Way::Session { csrf, .. } => Some(csrf),
        Way::Socket | Way::Token => None,
    });
    let is_ours = match (one(headers, SITE), one(headers, ORIGIN.as_str())) {
        (Said::Once(site), _) => site == "same-origin",
        (Said::Never, Said::Once(origin)) => is_own(origin, headers),
        // Browsers say at least one of them.
        (Said::Never, Said::Never) => session.is_none(),
        _ => false,
    };
    if !is_ours {
        return Err(Problem::new(StatusCode::FORBIDDEN, "the wish comes from another page"));
    }
    let Some(csrf) = session else { return Ok(()) };
    match one(headers, CSRF) {
        Said::Once(said) if is_same(said, csrf) => Ok(()),
        _ => Err(Problem::new(StatusCode::FORBIDDEN, "the wish does not come from our page")
            .hint("send X-Tidewheel-CSRF: what /api/v1/me says as `csrf`")),
    }
}

/// Whether an origin is that of the name under which we were asked, which was checked before.
fn is_own(origin: &str, headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

/// How often a header is there.
enum Said<'a> {
    Never,
    Once(&'a str),
    /// More than once, or in letters that nobody understands.
    Confused,
}

fn one<'a>(headers: &'a HeaderMap, name: &str) -> Said<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Said::Never,
        (Some(value), None) => value.to_str().map_or(Said::Confused, Said::Once),
        (Some(_), Some(_)) => Said::Confused,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use axum::http::{HeaderName, HeaderValue};

    use super::*;
    use crate::identity::Role;

    fn who(way: Way) -> Identity {
        let (name, reach) = ("me".to_owned(), tidewheel_client::desk::Reach::all());
        Identity { name, role: Role::Admin, reach, token: None, way }
    }

    fn headers(said: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost:8080"));
        for (name, value) in said {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    const SITE_OURS: (&str, &str) = (SITE, "same-origin");
    const ORIGIN_OURS: (&str, &str) = ("origin", "http://localhost:8080");

    #[test]
    fn other_pages_change_nothing_whoever_asks() {
        let session = Way::Session { csrf: "word".to_owned(), id: String::new() };
        for way in [Way::Socket, Way::Token, session] {
            let who = who(way);
            let check = |said: &[(&str, &str)]| {
                let mut said = said.to_vec();
                said.push((CSRF, "word"));
                check_origin(&headers(&said), Some(&who)).is_ok()
            };
            assert!(
                check(&[SITE_OURS]) && check(&[ORIGIN_OURS]) && check(&[SITE_OURS, ORIGIN_OURS])
            );
            for site in ["cross-site", "same-site", "none", "", "SAME-ORIGIN", "same-origin, x"] {
                assert!(!check(&[(SITE, site)]), "{site:?}");
                assert!(!check(&[(SITE, site), ORIGIN_OURS]), "{site:?}");
            }
            let foreign = [
                "null",
                "http://evil.example",
                "http://localhost",
                "http://localhost:8081",
                "http://sub.localhost:8080",
                "http://localhost:8080.evil.example",
                "localhost:8080",
                "http://localhost:8080/",
                "file://",
                "",
                "ftp://localhost:8080",
                "http://me@localhost:8080",
            ];
            for origin in foreign {
                assert!(!check(&[("origin", origin)]), "{origin:?}");
            }
            assert!(!check(&[ORIGIN_OURS, ("origin", "null")]), "two origins");
            assert!(!check(&[SITE_OURS, (SITE, "cross-site")]), "two sites");
        }
    }

    #[test]
    fn a_browser_with_a_session_says_the_word_and_where_it_is() {
        let who = who(Way::Session { csrf: "word".to_owned(), id: String::new() });
        let check = |said: &[(&str, &str)]| check_origin(&headers(said), Some(&who)).is_ok();
        assert!(check(&[SITE_OURS, (CSRF, "word")]));
        assert!(!check(&[(CSRF, "word")]), "it does not say where it is");
        assert!(!check(&[SITE_OURS]), "it does not say the word");
        assert!(!check(&[SITE_OURS, (CSRF, "")]) && !check(&[SITE_OURS, (CSRF, "words")]));
        assert!(!check(&[SITE_OURS, (CSRF, "word"), (CSRF, "word")]), "twice");
    }

    #[test]
    fn programs_say_nothing_of_pages() {
        assert!(check_origin(&headers(&[]), Some(&who(Way::Token))).is_ok());
        assert!(check_origin(&headers(&[]), Some(&who(Way::Socket))).is_ok());
        assert!(check_origin(&headers(&[]), None).is_ok(), "a login");
        assert!(check_origin(&headers(&[(SITE, "cross-site")]), None).is_err(), "a login");
    }
}
