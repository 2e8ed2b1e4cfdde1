//! What comes beside a [`Graph`](crate::Graph): its builder's parts, and how tasks stand for groups.
//!
//! The graph itself is at the root. Running one is in [`crate::run`].
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::{Graph, GraphError};
//!
//! let mut graph = Graph::builder();
//! graph.task("build");
//! graph.task("test").after(["build"]);
//! assert_eq!(graph.build()?.len(), 2);
//!
//! let mut graph = Graph::builder();
//! graph.task("test").after(["biuld"]);
//! let Err(GraphError::UnknownDependencies { missing }) = graph.build() else { panic!() };
//! assert_eq!(missing[0].dependency, "biuld");
//! # Ok(())
//! # }
//! ```

pub use tidewheel_core::graph::{MissingDependency, TaskBuilder};
pub use tidewheel_core::group::GroupKind;
