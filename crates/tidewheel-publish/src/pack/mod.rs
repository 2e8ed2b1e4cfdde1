//! Packing: a copy of the workspace, each package's own tool in it, and what came of it, kept until it is out.
//!
//! The workspace itself is only read. Nothing is sent here.

mod archive;
mod cargo;
mod git;
mod npm;
#[expect(clippy::module_inception, reason = "the function has the name of the room")]
mod pack;
mod python;
mod set;
#[cfg(test)]
mod tests;
mod tool;
mod tree;

pub use git::{Checkout, checkout};
pub use pack::{PackOptions, pack};
pub(crate) use set::folder_of;
pub use set::{Changed, PackedFile, PackedPackage, PackedSet};
