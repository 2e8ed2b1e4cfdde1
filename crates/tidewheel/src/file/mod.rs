//! Files that processes share: locks, files that are there whole or not at all, and what is its owner's alone.
//!
//! What is in them is the business of whoever uses them; databases are in `store`.

mod lock;
mod network;
mod private;
mod write;

pub use lock::{FileLock, Holder, LockError};
#[cfg(feature = "sqlite")]
pub(crate) use lock::{give_owner, only_owner};
pub use network::network_file_system;
pub use private::{make_private_file, make_private_folder};
pub use write::{check_writable, write_atomically};
