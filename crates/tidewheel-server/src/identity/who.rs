//! [`Identity`]: who asks, as what, and by which way it is known.
//!
//! How it is found out is in [`crate::door`].

use tidewheel_client::desk::Reach;

use super::Role;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name of the token, or of the one who owns the server.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// The flows that they know of.
    pub reach: Reach,
    /// The token behind it, if there is one.
    pub token: Option<String>,
    /// By which way it is known.
    pub way: Way,
}

/// How somebody is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// By the socket of the data folder, which only its owner can use.
    Socket,
    /// By a token that was sent along.
    Token,
    /// By the cookie of a browser: what it wants to change it must say with this word.
    Session {
        /// The word that no other page knows.
        csrf: String,
        /// What the session is called by.
        id: String,
    },
}
