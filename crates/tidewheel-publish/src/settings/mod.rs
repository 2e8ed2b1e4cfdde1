//! Where packages go, and by whose leave: read from the files and variables that their own tools read.
//!
//! No address is built in. Where nobody names a registry, it is the one that the tool itself says it uses.

mod cargo;
mod files;
mod identity;
mod leave;
mod npm;
mod python;
mod scope;
mod secret;
mod surroundings;
mod target;
#[cfg(test)]
mod tests;
mod usual;

pub(crate) use identity::{Identities, Identity};
pub use scope::Scope;
pub use secret::Secret;
pub use surroundings::Surroundings;
pub use target::{Address, Credentials, Stage, Target, target_of};
pub(crate) use target::{elsewhere, is_of_this_machine, is_safe};
