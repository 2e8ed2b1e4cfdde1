//! Who may ask: roles, tokens, sessions, and what is written down of their wishes.
//!
//! How anybody is known, and where this is kept, is the server's business.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;
use super::times::{instant, instant_if_any};

/// What somebody may do. Each may do what those before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks at runs and logs.
    Viewer,
    /// Starts, ends and answers runs of flows that are there.
    Operator,
    /// Changes flows, which is to run code as the user of the server.
    Author,
    /// Makes tokens and reads the audit log.
    Admin,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Operator, Self::Author, Self::Admin];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Author => "author",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A word that is no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role: it is one of viewer, operator, author, admin")]
pub struct NoRole(pub String);

impl FromStr for Role {
    type Err = NoRole;

    fn from_str(word: &str) -> Result<Self, NoRole> {
        let found = Self::ALL.into_iter().find(|role| role.word() == word);
        found.ok_or_else(|| NoRole(word.to_owned()))
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Asker {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The name of the token, or of the owner.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// The flows that they know of, by name or pattern, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// What a browser sends in the header `X-Tidewheel-CSRF` with whatever changes something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
}

/// A link that logs a browser in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginLink {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// What follows the address of the server.
    pub path: String,
    /// How long it can be used.
    pub seconds: u32,
    /// The whole of it, if the server knows where people reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A token is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Whose it is, or what for.
    #[schema(min_length = 1, max_length = 64)]
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// How many days it is good for; 90 if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 3650)]
    pub days: Option<u32>,
    /// The flows that it knows of, by name or by a pattern such as `backup-*`; all if nobody says. Only for viewers and operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 100)]
    pub flows: Option<Vec<String>>,
}

/// A token that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenMade {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The token in full. It is not shown again.
    pub secret: String,
    /// What is known of it from now on.
    pub token: TokenLine,
}

/// The tokens that are good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The tokens, oldest first.
    pub tokens: Vec<TokenLine>,
}

/// What is known of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenLine {
    /// What it is called by: it begins with `tidewheel_` and this.
    pub id: String,
    /// Whose it is, or what for.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The flows that it knows of, by name or pattern, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// When it was made.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub made_at: Timestamp,
    /// When it ends.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// When it was last used, to the hour.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub used_at: Option<Timestamp>,
}

/// What was written down of wishes, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The rows.
    pub rows: Vec<AuditRow>,
}

/// What was written down of one wish. No body, no secret, no token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditRow {
    /// Its number, from 1.
    pub number: u64,
    /// When.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who: the name of a token, or `-` for nobody who is known.
    pub actor: String,
    /// The id of the token.
    pub token: Option<String>,
    /// Where from.
    pub address: String,
    /// What was to be done: the name of a route, or of a command.
    pub action: String,
    /// To what.
    pub object: String,
    /// The status of the answer.
    pub result: u16,
    /// The fingerprint of the row before.
    pub before: String,
    /// The fingerprint of this row.
    pub hash: String,
}

impl AuditRow {
    /// A row of which only the place in the log is missing: the log gives it its number and its fingerprints.
    #[must_use]
    pub fn unwritten(at: Timestamp, actor: &str, action: &str, result: u16) -> Self {
        Self {
            number: 0,
            at,
            actor: actor.to_owned(),
            token: None,
            address: "-".to_owned(),
            action: action.to_owned(),
            object: String::new(),
            result,
            before: String::new(),
            hash: String::new(),
        }
    }
}

/// The audit log is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditVerified {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// How many rows it has.
    pub rows: u64,
}

documents! {
    Asker: "asker" 1,
    LoginLink: "login-link" 1,
    TokenWish: "wish-token" 1,
    TokenMade: "token-made" 1,
    TokenList: "tokens" 1,
    AuditList: "audit" 1,
    AuditVerified: "audit-verified" 1,
}
