//! The dependency graph of a run: immutable, compact, and known to be free of cycles.
//!
//! Which tasks are ready, running or done is not kept here; a graph never changes while a run lives.

mod builder;
mod error;
mod names;
mod paths;
mod structure;
#[cfg(test)]
mod tests;

pub use builder::{GraphBuilder, TaskBuilder};
pub use error::{GraphError, MissingDependency};
pub use structure::Graph;
