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
//! The library prints nothing, reads no configuration, installs no signal handlers and has no
//! global state. It needs a tokio runtime with time enabled.
#![forbid(unsafe_code)]

mod attempt;
mod builder;
mod clock;
mod driver;
mod error;
#[cfg(any(feature = "http", feature = "process"))]
pub mod executor;
mod explain;
pub mod file;
mod firing;
mod notices;
mod options;
mod output;
mod run;
mod schedule;
pub mod store;
mod submission;
mod wheel;

/// The rules themselves, for those who want to say beforehand what will follow.
pub mod policy {
    pub use tidewheel_core::policy::{OnError, OnSkip, failure, skip};
}

/// Words that people may have meant.
pub mod words {
    pub use tidewheel_core::nearest::nearest;
}

/// The engine that a simulator drives in place of a wheel.
#[doc(hidden)]
pub mod engine {
    pub use crate::driver::Kinds;
    pub use crate::driver::books::{Books, Errand, Fate, Restored, Ticket, Verdict, Wish};
    pub use crate::driver::engine::{Batch, Engine, EngineError, RunRef, ScheduleRef};
    pub use crate::driver::places::Places;
    pub use crate::driver::shares::{Due, Shares};
}

pub use attempt::{Attempt, StopRequest};
pub use builder::{BuildError, Builder};
pub use clock::{Clock, VirtualClock, wall_clock};
pub use driver::{HeldId, HeldWork};
pub use error::{BoxError, Permanent, RetryAfter, RunError, TaskError};
pub use explain::{Explain, Explanation, UnknownTask};
pub use firing::{Backfill, Firing, MadeRun};
pub use notices::{Lagged, NoticeStream};
pub use options::TaskOptions;
pub use output::TaskOutput;
pub use run::{
    Cancel, NewTask, Plan, PlanTask, Run, RunBuilder, RunReport, RunTask, Task, TaskLine, When,
};
pub use schedule::{ScheduleBuilder, ScheduleHandle};
pub use submission::{Submission, TaskRequest};
pub use wheel::{CalendarError, Shutdown, Tidewheel};

pub use tidewheel_core::calendar::{ClockChanges, Cron, CronError, Fold, Gap, Zone, ZoneError};
pub use tidewheel_core::condition::{Ends, Standing};
pub use tidewheel_core::decision::{Fact, Notice};
pub use tidewheel_core::explain::{Hold, Place};
pub use tidewheel_core::graph::{Graph, GraphBuilder, GraphError, MissingDependency, TaskBuilder};
pub use tidewheel_core::group::GroupKind;
pub use tidewheel_core::histogram::Histogram;
pub use tidewheel_core::id::{AttemptId, RunId, ScheduleId, TaskId};
pub use tidewheel_core::input::{Dependents, Failure, Outcome, Rejection};
pub use tidewheel_core::policy::{
    Backoff, BreakerSpec, Factor, Jitter, OnError, OnSkip, Priority, Rate, RateError, Retry,
    RetryOn, Shape,
};
pub use tidewheel_core::report::Counts;
pub use tidewheel_core::row::RunResult;
pub use tidewheel_core::schedule::{
    Anchor, Counters, Misfire, Origin, Overlap, ScheduleSpec, SkipCounts, Span, Trigger,
};
pub use tidewheel_core::spec::{Busy, LimitSpec, OnStop, QueueSpec, RunGroup, RunOrder};
pub use tidewheel_core::statistics::{Overview, Statistics};
pub use tidewheel_core::task::{Reason, TaskState};
pub use tidewheel_core::time::Timestamp;
