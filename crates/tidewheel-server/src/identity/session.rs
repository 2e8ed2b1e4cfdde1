//! [`Sessions`]: browsers that have logged in.
//!
//! They are in memory only, and end with the server. What they may do is what the token or link behind them may.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::random::{fingerprint, secret};
use super::{Identity, Way};

/// The name of the cookie. Browsers take the prefix `__Host-` only over TLS, so there it is put before it.
pub(crate) const COOKIE: &str = "tidewheel-session";

/// A session that is not used for so long ends.
const IDLE: Duration = Duration::from_secs(12 * 3600);

/// A session ends after so long.
const LASTS: Duration = Duration::from_secs(7 * 24 * 3600);

/// More at once are nobody's; the one that was unused for longest makes room.
const SESSIONS_MAX: usize = 1000;

/// Random bytes of what a browser is known by.
const SECRET_BYTES: usize = 32;

/// The sessions, by the fingerprint of what the browser sends.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<String, Kept>>);

#[derive(Debug)]
struct Kept {
    who: Identity,
    made: Instant,
    used: Instant,
}

impl Sessions {
    /// Begins a session for somebody; what the browser sends from now on.
    pub fn begin(&self, who: &Identity, now: Instant) -> io::Result<String> {
        let (cookie, csrf) = (secret(SECRET_BYTES)?, secret(SECRET_BYTES)?);
        let id = fingerprint(&cookie);
        let who = Identity { way: Way::Session { csrf, id: id.clone() }, ..who.clone() };
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| session.is_good(now));
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                sessions.remove(&oldest);
            }
        }
        sessions.insert(id, Kept { who, made: now, used: now });
        Ok(cookie)
    }

    /// Whose session this is.
    pub fn find(&self, cookie: &str, now: Instant) -> Option<Identity> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&fingerprint(cookie)).filter(|it| it.is_good(now))?;
        session.used = now;
        Some(session.who.clone())
    }

    /// Whether a session goes on.
    pub fn is_good(&self, id: &str, now: Instant) -> bool {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(id).is_some_and(|session| session.is_good(now))
    }

    /// Ends a session.
    pub fn end(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

impl Kept {
    fn is_good(&self, now: Instant) -> bool {
        now.duration_since(self.used) < IDLE && now.duration_since(self.made) < LASTS
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_client::desk::Reach;

    use super::*;
    use crate::identity::Role;

    fn me() -> Identity {
        Identity {
            name: "me".to_owned(),
            role: Role::Viewer,
            reach: Reach::all(),
            token: None,
            way: Way::Token,
        }
    }

    #[test]
    fn a_session_ends_when_it_is_idle_old_or_ended() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let hour = Duration::from_secs(3600);
        let cookie = sessions.begin(&me(), now).unwrap();
        assert_eq!(sessions.find(&cookie, now + 11 * hour).unwrap().name, "me");
        assert!(sessions.find(&cookie, now + 22 * hour).is_some(), "it was used");
        assert!(sessions.find(&cookie, now + 35 * hour).is_none(), "idle");
        let cookie = sessions.begin(&me(), now).unwrap();
        for hours in 0..168 {
            assert!(sessions.find(&cookie, now + hours * hour).is_some(), "{hours}");
        }
        assert!(sessions.find(&cookie, now + 168 * hour).is_none(), "a week");
        let cookie = sessions.begin(&me(), now).unwrap();
        let who = sessions.find(&cookie, now).unwrap();
        let Way::Session { id, .. } = &who.way else { panic!("no session") };
        assert!(sessions.is_good(id, now));
        sessions.end(id);
        assert!(sessions.find(&cookie, now).is_none() && !sessions.is_good(id, now));
    }

    #[test]
    fn there_are_only_so_many_and_each_is_new() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let first = sessions.begin(&me(), now).unwrap();
        let later = now + Duration::from_secs(1);
        let mut others: Vec<String> =
            (0..SESSIONS_MAX).map(|_| sessions.begin(&me(), later).unwrap()).collect();
        assert!(sessions.find(&first, later).is_none(), "it made room");
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), SESSIONS_MAX);
    }
}
