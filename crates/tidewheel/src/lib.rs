//! One scheduler for work that waits: on other work, on time, on capacity, and on failure.
//!
//! Three types matter. A [`Tidewheel`] accepts work: single futures with priorities
//! ([`Tidewheel::submit`]), graphs of tasks ([`Tidewheel::run`]) and schedules
//! ([`Tidewheel::every`], [`Tidewheel::cron`]). A [`Graph`] says what waits for what. A
//! [`RunReport`] says what a run came to: every task, with its state and the reason for it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::{Graph, Priority, Tidewheel};
//!
//! let wheel = Tidewheel::builder().slots(16).start();
//!
//! // One task. It is submitted at once; awaiting it gives its value.
//! let answer = wheel.submit(Priority::HIGH, async { 42 }).await?;
//! assert_eq!(answer, 42);
//!
//! // A graph: `test` and `lint` wait for `build`, `publish` for both.
//! let graph = Graph::from_edges([
//!     ("build", "test"),
//!     ("build", "lint"),
//!     ("test", "publish"),
//!     ("lint", "publish"),
//! ])?;
//! let report = wheel
//!     .run(graph, |task| async move {
//!         if task.name() == "lint" { Err("unused import") } else { Ok(()) }
//!     })
//!     .retries(0)
//!     .await?;
//! assert_eq!(report.to_string(), "failed: 2 succeeded, 1 failed, 1 skipped");
//! println!("{}", wheel.explain(report.task("publish"))?);
//! # Ok(())
//! # }
//! ```
//!
//! Every start goes through one admission gate: slots, queues, limits, rates, breakers and keys
//! hold for all of them, and a waiting task can say why it waits ([`Tidewheel::explain`]).
//!
//! # Where things are
//!
//! The root has what the first hour needs. The rest is in modules, each with an example: [`schedule`] and
//! [`calendar`] for work by the clock, [`policy`] for rules in all their parts, [`run`], [`graph`] and
//! [`task`] for what comes beside these, [`observe`] and [`explain`] for watching, [`clock`] for tests,
//! [`store`] for what survives the process, `executor` (features `process` and `http`) for work that is
//! not a future.
//!
//! The library prints nothing, reads no configuration, installs no signal handlers and has no
//! global state. It needs a tokio runtime with time enabled.
#![forbid(unsafe_code)]

mod answers;
mod attempt;
mod builder;
pub mod calendar;
pub mod clock;
mod driver;
mod error;
#[cfg(any(feature = "http", feature = "process"))]
pub mod executor;
pub mod explain;
pub mod file;
pub mod graph;
mod handle;
pub mod id;
mod line;
#[cfg(feature = "metrics")]
mod metrics;
pub mod observe;
mod options;
mod output;
#[cfg(feature = "serde")]
mod payload;
pub mod policy;
mod preview;
pub mod run;
pub mod schedule;
mod shared_submission;
pub mod store;
mod submission;
pub mod task;
mod wheel;

/// Words that people may have meant: for the other crates of this project.
#[doc(hidden)]
pub mod words {
    pub use tidewheel_core::nearest::nearest;
}

/// The engine that a simulator drives in place of a wheel.
#[doc(hidden)]
pub mod engine {
    pub use crate::driver::Kinds;
    pub use crate::driver::books::{AttemptEnd, Books, Errand, Fate, Restored, Ticket, Verdict};
    pub use crate::driver::engine::{Batch, Engine, EngineError, RunRef, ScheduleRef};
    pub use crate::driver::places::Places;
    pub use crate::driver::shares::{Due, Shares};
    pub use crate::driver::wish::Wish;
}

pub use tidewheel_core::graph::{Graph, GraphBuilder, GraphError};
pub use tidewheel_core::id::RunId;
pub use tidewheel_core::input::{Outcome, Rejection};
pub use tidewheel_core::policy::{Backoff, OnError, Priority, Retry};
pub use tidewheel_core::spec::{LimitSpec, QueueSpec};
pub use tidewheel_core::task::TaskState;
pub use tidewheel_core::time::Timestamp;

pub use attempt::Attempt;
pub use builder::{BuildError, Builder};
pub use error::{Permanent, RetryAfter, RunError, TaskError};
pub use options::TaskOptions;
pub use run::addition::NewTask;
pub use run::builder::RunBuilder;
pub use run::context::Task;
pub use run::handle::{Cancel, Run};
pub use run::plan::Plan;
pub use run::report::RunReport;
pub use submission::Submission;
pub use wheel::{Shutdown, Tidewheel};
