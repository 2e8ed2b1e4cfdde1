//! Under which names a server may be asked: a page elsewhere cannot make its own name lead here.
//!
//! It comes before routes. Who asks is found out later.

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};

use crate::problem::Problem;

/// The names of this machine's own interface.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Whether a request names this server. `allowed` are its names besides those of the loopback interface.
pub(crate) fn check_host(
    uri: &Uri,
    headers: &HeaderMap,
    allowed: &[String],
) -> Result<(), Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    let is_ours = |text: &str| {
        let name = name_of(text);
        let is = |known: &str| name.as_deref().is_some_and(|name| known.eq_ignore_ascii_case(name));
        LOOPBACK.into_iter().any(is) || allowed.iter().any(|known| is(known))
    };
    // What stands in the request line counts as well.
    let named_in_line = uri.authority().is_none_or(|authority| is_ours(authority.as_str()));
    match host.is_some_and(is_ours) && named_in_line {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "the server is not known by this name",
        )
        .hint("ask for localhost, or name the host in the settings of the server")),
    }
}

/// The name in `name:port`, if it is one.
fn name_of(text: &str) -> Option<String> {
    let authority: Authority = text.parse().ok()?;
    let has_user = text.contains('@');
    let port = authority.port();
    let is_whole = match &port {
        Some(port) => text.len() == authority.host().len() + 1 + port.as_str().len(),
        None => text == authority.host(),
    };
    (!has_user && is_whole).then(|| authority.host().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use axum::http::HeaderValue;

    use super::*;

    fn check(hosts: &[&str], uri: &str) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        let allowed = ["tide.example".to_owned()];
        check_host(&uri.parse().unwrap(), &headers, &allowed).is_ok()
    }

    #[test]
    fn only_names_of_the_server_are_let_in() {
        let good = [
            "localhost",
            "localhost:8080",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:8080",
            "tide.example",
            "Tide.Example:443",
        ];
        for host in good {
            assert!(check(&[host], "/"), "{host}");
        }
        let bad = [
            "",
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "evil-localhost",
            "localhost.",
            "127.0.0.2",
            "127.0.0.1.evil.example",
            "2130706433",
            "0x7f.1",
            "::1",
            "[::2]",
            "[::ffff:127.0.0.1]",
            "me@localhost",
            "localhost@evil.example",
            "localhost:x",
            "localhost:",
            "localhost/",
            "sub.tide.example",
            "tide.example.",
            "localhost ,evil",
            "0.0.0.0",
        ];
        for host in bad {
            assert!(!check(&[host], "/"), "{host}");
        }
        assert!(!check(&[], "/"), "no host");
        assert!(!check(&["localhost", "localhost"], "/"), "two hosts");
        assert!(!check(&["localhost", "evil.example"], "/"), "two hosts");
        assert!(!check(&["localhost"], "http://evil.example/"), "two names");
        assert!(check(&["localhost"], "http://localhost/"));
    }
}
