//! [`Token`]: what is stored of a token, and the [`NewToken`] that is shown once.
//!
//! Where they are kept is in [`super::tokens`].

use std::fmt;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel::Timestamp;
use tidewheel_client::api::TokenLine;
use tidewheel_client::desk::Reach;

use super::Role;
use super::random::{fingerprint, is_same, secret};

/// What every token begins with, so that a scanner finds one that has got lost.
pub const TOKEN_PREFIX: &str = "tidewheel_";

/// Random bytes of a token: 256 bits.
const SECRET_BYTES: usize = 32;

/// Random bytes of the part that names it.
const ID_BYTES: usize = 4;

/// What is stored of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// What it is called by, and the only part of it that is ever shown again.
    pub id: String,
    /// Whose it is, or what for.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The flows that it knows of, by name or pattern, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// The SHA-256 of the whole token.
    pub hash: String,
    /// When it was made, in microseconds since 1970.
    pub made_at: i64,
    /// When it ends, likewise.
    pub expires_at: i64,
    /// When it was last used, likewise, to the hour.
    #[serde(default)]
    pub used_at: Option<i64>,
}

/// What a token is to be.
#[derive(Debug, Clone)]
pub struct TokenPlan<'a> {
    /// Whose it is, or what for.
    pub name: &'a str,
    /// What it may do.
    pub role: Role,
    /// The flows that it knows of.
    pub reach: Reach,
    /// How long it is good for; 90 days if nobody says.
    pub lasts: Option<Duration>,
}

impl<'a> TokenPlan<'a> {
    /// A token of this name and role, for all flows and 90 days.
    #[must_use]
    pub fn new(name: &'a str, role: Role) -> Self {
        Self { name, role, reach: Reach::all(), lasts: None }
    }
}

/// A token in full, for whoever asked for it. It cannot be shown again.
pub struct NewToken {
    /// What is stored of it.
    pub token: Token,
    secret: String,
}

impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewToken").field("token", &self.token).finish_non_exhaustive()
    }
}

impl NewToken {
    /// Makes one.
    pub(super) fn make(wish: &TokenPlan<'_>, now: Timestamp, lasts: Duration) -> io::Result<Self> {
        let id = secret(ID_BYTES)?;
        let secret = format!("{TOKEN_PREFIX}{id}_{}", secret(SECRET_BYTES)?);
        let token = Token {
            id,
            name: wish.name.to_owned(),
            role: wish.role,
            flows: wish.reach.patterns(),
            hash: fingerprint(&secret),
            made_at: now.as_micros(),
            expires_at: now.after(lasts).as_micros(),
            used_at: None,
        };
        Ok(Self { token, secret })
    }

    /// The token as it is sent.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

impl Token {
    /// Whether this is the token in full.
    pub(super) fn is(&self, secret: &str) -> bool {
        is_same(&self.hash, &fingerprint(secret))
    }

    /// What is written down of it: its id, its name, and what it may do to which flows.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { id, name, role, .. } = self;
        match &self.flows {
            Some(flows) => format!("{id} {name} {role} of {}", flows.join(" ")),
            None => format!("{id} {name} {role}"),
        }
    }

    /// What may be told of it.
    #[must_use]
    pub fn line(&self) -> TokenLine {
        TokenLine {
            id: self.id.clone(),
            name: self.name.clone(),
            role: self.role,
            flows: self.flows.clone(),
            made_at: Timestamp::from_micros(self.made_at),
            expires_at: Timestamp::from_micros(self.expires_at),
            used_at: self.used_at.map(Timestamp::from_micros),
        }
    }

    /// The flows that it knows of; none if what is stored of them makes no sense.
    pub(crate) fn reach(&self) -> Option<Reach> {
        match &self.flows {
            None => Some(Reach::all()),
            Some(flows) => Reach::of(flows).ok(),
        }
    }

    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        now.as_micros() >= self.expires_at
    }
}

/// The id in a token that is sent; `None` if it cannot be one of ours.
pub(super) fn id_of(secret: &str) -> Option<&str> {
    let (id, rest) = secret.strip_prefix(TOKEN_PREFIX)?.split_once('_')?;
    let is_hex =
        |text: &str| text.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it));
    let fits = id.len() == ID_BYTES * 2 && rest.len() == SECRET_BYTES * 2;
    (fits && is_hex(id) && is_hex(rest)).then_some(id)
}
