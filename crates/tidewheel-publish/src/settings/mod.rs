//! Where packages go, and by whose leave: read from the files and variables that their own tools read.
//!
//! No address is built in: nothing is ever sent to a registry that nobody has named.

mod cargo;
mod files;
mod npm;
mod python;
mod secret;
mod surroundings;
mod target;
#[cfg(test)]
mod tests;

pub use secret::Secret;
pub use surroundings::Surroundings;
pub(crate) use target::is_safe;
pub use target::{Address, Credentials, Target, target_of};
