//! [`Links`]: links that log a browser in, once and soon.
//!
//! They are in memory only: a server that starts again has none. What they make is in [`super::session`].

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::random::{fingerprint, secret};
use super::{Identity, Way};

/// How long a link can be used.
const LASTS: Duration = Duration::from_secs(60);

/// More at once are nobody's.
const LINKS_MAX: usize = 100;

/// Random bytes of a link.
const SECRET_BYTES: usize = 32;

/// The links that nobody has used yet, by fingerprint.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<HashMap<String, (Identity, Instant)>>);

impl Links {
    /// Makes a link for somebody; the code of it.
    pub fn make(&self, who: &Identity, now: Instant) -> io::Result<Option<String>> {
        let code = secret(SECRET_BYTES)?;
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, (_, made)| now.duration_since(*made) < LASTS);
        if links.len() >= LINKS_MAX {
            return Ok(None);
        }
        // What comes of it is a session, whatever way it was asked for.
        let who = Identity { way: Way::Token, ..who.clone() };
        links.insert(fingerprint(&code), (who, now));
        Ok(Some(code))
    }

    /// Uses a link up.
    pub fn take(&self, code: &str, now: Instant) -> Option<Identity> {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (who, made) = links.remove(&fingerprint(code))?;
        (now.duration_since(made) < LASTS).then_some(who)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_client::desk::Reach;

    use super::*;
    use crate::identity::Role;

    #[test]
    fn a_link_works_once_and_for_a_minute() {
        let who = Identity {
            name: "me".to_owned(),
            role: Role::Viewer,
            reach: Reach::all(),
            token: Some("0123".to_owned()),
            way: Way::Token,
        };
        let (links, now) = (Links::default(), Instant::now());
        let code = links.make(&who, now).unwrap().unwrap();
        assert_eq!(links.take("other", now), None);
        assert_eq!(links.take(&code, now), Some(who.clone()));
        assert_eq!(links.take(&code, now), None, "only once");
        let code = links.make(&who, now).unwrap().unwrap();
        assert_eq!(links.take(&code, now + LASTS), None, "too late");
        assert_eq!(links.take(&code, now), None, "it is used up all the same");
    }
}
