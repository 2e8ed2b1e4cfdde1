//! Runs of graphs: starting them, steering them, what their tasks see, and their reports.
//!
//! What a run decides (order, failures, limits) is the core's; single tasks are in
//! [`crate::submission`].

mod addition;
mod builder;
mod cell;
mod context;
mod handle;
mod plan;
mod report;
mod when;

pub use addition::NewTask;
pub use builder::RunBuilder;
pub(crate) use builder::RunCode;
pub(crate) use cell::{ExtraCode, RunCell};
pub use context::Task;
pub use handle::{Cancel, Run, RunTask};
pub use plan::{Plan, PlanTask};
pub use report::{RunReport, TaskLine};
pub use when::When;
