//! Who asks: roles, tokens, one-time links and the sessions of browsers.
//!
//! What a role may do is said by each entry of the [table](crate::table).

mod link;
mod random;
mod session;
mod token;
mod tokens;
mod who;

pub use tidewheel_client::api::Role;
pub use token::{NewToken, TOKEN_PREFIX, Token, TokenPlan};
pub use tokens::{TokenError, Tokens};
pub(crate) use tokens::{make_private, private_file};
pub use who::{Identity, Way};

pub(crate) use link::Links;
pub(crate) use random::{fingerprint, is_same};
pub(crate) use session::{COOKIE, Sessions};
