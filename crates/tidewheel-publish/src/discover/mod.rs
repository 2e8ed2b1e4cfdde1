//! Where packages come from: what the manifests and tools of each ecosystem say, never lists kept by hand.
//!
//! What is found is not judged here: circles, private needs and missing versions are the
//! [workspace's](crate::Workspace) business.

mod cargo;
mod folder;
mod manifest;
mod npm;
mod python;
#[cfg(test)]
mod tests;

pub use folder::{Discovered, discover, root_of};
