//! [`Memory`]: a store that really keeps rows, for as long as the process lives, with all that belongs to
//! one: readers, records, and commands of others.
//!
//! It is what the other stores are compared with; nothing here survives the process.

mod post;
mod read;
mod store;

pub use store::Memory;
