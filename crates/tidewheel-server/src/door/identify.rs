//! Who asks: by the socket they came through, the token they send, or the cookie of their browser.
//!
//! Whoever is not known is nobody. What somebody may do is decided in [`super::pass`].

use std::time::Instant;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE as COOKIES};
use tidewheel::Timestamp;
use tidewheel_client::desk::Reach;

use super::Peer;
use crate::identity::{COOKIE, Identity, Role, Tokens, Way};
use crate::server::Server;

/// The name of the cookie: browsers hold one with this prefix to the host that set it, over TLS.
pub(crate) fn cookie_name(is_tls: bool) -> String {
    match is_tls {
        true => format!("__Host-{COOKIE}"),
        false => COOKIE.to_owned(),
    }
}

/// Who asks; `None`: nobody who is known.
pub(super) fn identify(
    server: &Server,
    headers: &HeaderMap,
    peer: Peer,
    (now, instant): (Timestamp, Instant),
) -> Option<Identity> {
    let mut said = headers.get_all(AUTHORIZATION).iter();
    match (said.next(), said.next()) {
        (Some(only), None) => {
            let (scheme, secret) = only.to_str().ok()?.split_once(' ')?;
            let is_bearer = scheme.eq_ignore_ascii_case("bearer");
            return is_bearer.then(|| by_token(&server.tokens, secret, now)).flatten();
        }
        (Some(_), Some(_)) => return None,
        (None, _) => {}
    }
    if peer == Peer::Owner {
        let (name, way) = ("owner".to_owned(), Way::Socket);
        return Some(Identity { name, role: Role::Admin, reach: Reach::all(), token: None, way });
    }
    let cookie = cookie(headers, &cookie_name(server.settings.is_secure()))?;
    let who = server.sessions.find(cookie, instant)?;
    server.is_still(&who, now, instant).then_some(who)
}

fn by_token(tokens: &Tokens, secret: &str, now: Timestamp) -> Option<Identity> {
    let token = tokens.find(secret, now)?;
    let reach = token.reach()?;
    let (name, role, way) = (token.name, token.role, Way::Token);
    Some(Identity { name, role, reach, token: Some(token.id), way })
}

/// The value of a cookie that is there once.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIES).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|it| it.trim().split_once('='));
    let mut found = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    match (found.next(), found.next()) {
        (Some(value), None) => Some(value),
        _ => None,
    }
}
