//! A publish as a run of its own kind: one task a package, which is done when those who resolve can have it.
//!
//! When a task begins, is tried again or waits is decided by the scheduler; what is said here is what one attempt does,
//! and how a run is understood, taken over and reported.

mod attempt;
mod code;
mod diary;
mod follow;
mod journal;
mod judge;
mod kind;
mod lock;
mod mishap;
mod order;
mod publisher;
mod recognise;
mod report;
mod sign;
mod stream;
#[cfg(test)]
mod tests;
mod undo;
mod unmet;

pub use follow::Tagged;
pub(crate) use follow::tags;
pub use journal::{End, Hook, Journal, Phase};
pub use kind::{PUBLISH_KIND, PublishRun, Publishes};
pub use lock::{Holder, LockError, WorkspaceLock};
pub use mishap::Mishap;
pub use order::{OrderedPackage, PublishOptions, PublishOrder, Stuck};
pub use publisher::Publisher;
pub(crate) use publisher::pace_of;
pub use report::{Report, Reported, Verdict};
pub use undo::{TakenBack, take_back};
pub use unmet::UnmetNeed;
