//! What comes beside a task: how one is asked for, what its code may return, how it can end.
//!
//! Tasks of graphs are in [`crate::run`]. A task on its own is a [`Submission`](crate::Submission); its
//! code may know of its [`Attempt`](crate::Attempt).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::task::Failure;
//! use tidewheel::{Outcome, Tidewheel};
//!
//! let wheel = Tidewheel::builder().start();
//! // Code that knows the outcome itself says it.
//! let graph = tidewheel::Graph::from_edges([("look", "act")])?;
//! let report = wheel
//!     .run(graph, |task| async move {
//!         match task.name() {
//!             "look" => Outcome::Succeeded,
//!             _ => Outcome::Failed(Box::new(Failure { message: "no".into(), ..Failure::default() })),
//!         }
//!     })
//!     .await?;
//! assert_eq!(report.to_string(), "failed: 1 succeeded, 1 failed");
//! # Ok(())
//! # }
//! ```

pub use tidewheel_core::input::Failure;
pub use tidewheel_core::task::Reason;

pub use crate::attempt::StopRequest;
pub use crate::error::{BoxError, MayRetry};
pub use crate::handle::TaskHandle;
pub use crate::output::TaskOutput;
#[cfg(feature = "serde")]
pub use crate::payload::PayloadError;
pub use crate::shared_submission::SharedSubmission;
pub use crate::submission::TaskRequest;
