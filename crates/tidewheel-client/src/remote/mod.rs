//! The desk over HTTP: the same questions and wishes, asked of a server.
//!
//! What they mean is in [`crate::desk`], what travels in [`crate::api`]. Who may ask is decided by the server.

mod artifacts;
mod bell;
mod flowtoy;
mod follow;
mod look;
#[expect(clippy::module_inception, reason = "the type has the name of the room")]
mod remote;
mod wire;

pub use bell::Bell;
pub use flowtoy::StatusPage;
pub use follow::RemoteFollow;
pub use remote::RemoteDesk;
pub(crate) use wire::tls;
pub use wire::{RemoteError, ServerAddress};
