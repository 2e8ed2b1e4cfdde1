//! Where packages go, and by whose leave: read from the files and variables that their own tools read.
//!
//! No address is built in. Where nobody names a registry, it is the one that the tool itself says it uses.

mod cargo;
mod files;
mod helper;
mod npm;
mod python;
mod secret;
mod surroundings;
mod target;
#[cfg(test)]
mod tests;
mod usual;

pub use secret::Secret;
pub use surroundings::Surroundings;
pub(crate) use target::is_safe;
pub use target::{Address, Credentials, Target, target_of};
