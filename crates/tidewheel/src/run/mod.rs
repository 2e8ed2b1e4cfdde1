//! Runs of graphs: starting them, steering them, what their tasks see, and their reports.
//!
//! [`Run`], [`RunBuilder`] and [`RunReport`] are at the root. What a run decides (order, failures, limits) is the core's; single tasks are in
//! [`crate::task`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::run::{RunOrder, RunResult};
//! use tidewheel::{Graph, TaskState, Tidewheel};
//!
//! let wheel = Tidewheel::builder().start();
//! let graph = Graph::from_edges([("build", "test"), ("build", "lint")])?;
//! let report = wheel.run(graph, |_| async {}).order(RunOrder::Fifo).await?;
//! assert_eq!(report.result(), RunResult::Succeeded);
//! assert_eq!(report.counts().of(TaskState::Succeeded), 3);
//! # Ok(())
//! # }
//! ```

pub(crate) mod addition;
pub(crate) mod builder;
mod cell;
pub(crate) mod context;
pub(crate) mod handle;
pub(crate) mod plan;
pub(crate) mod report;
#[cfg(feature = "serde")]
mod serialised;
mod when;

pub use tidewheel_core::condition::{Ends, Standing};
pub use tidewheel_core::input::Dependents;
pub use tidewheel_core::report::{Counts, TaskReport, Whole};
pub use tidewheel_core::row::RunResult;
pub use tidewheel_core::spec::{Busy, RunGroup, RunOrder};

pub(crate) use addition::NewTask;
pub(crate) use builder::{RunBuilder, RunCode};
pub(crate) use cell::{ExtraCode, RunCell};
pub use context::NoInput;
pub(crate) use context::Task;
pub(crate) use handle::Run;
pub use handle::RunTask;
pub(crate) use plan::Plan;
pub use plan::PlanTask;
pub(crate) use report::RunReport;
pub use report::{TaskLine, Unsuccessful};
pub use when::When;
