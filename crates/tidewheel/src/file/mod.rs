//! Files that processes share: locks, and files that are there whole or not at all.
//!
//! What is in them is the business of whoever uses them; databases are in `store`.

mod lock;
mod write;

pub use lock::{FileLock, Holder, LockError};
#[cfg(feature = "sqlite")]
pub(crate) use lock::{give_owner, only_owner};
pub use write::{check_writable, write_atomically};
