//! Identities that outlive a process: of tasks, attempts and schedules.
//!
//! That of a run is at the root: [`RunId`](crate::RunId). None is ever used twice. A task is a run and
//! an index in it, an attempt adds its number, so it can serve as the key under which others
//! recognise work that is tried again.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::Tidewheel;
//! use tidewheel::id::AttemptId;
//!
//! let wheel = Tidewheel::builder().start();
//! let charge = wheel.task_with(|attempt| async move {
//!     let id = AttemptId { task: attempt.id(), number: attempt.number() };
//!     Ok::<_, std::io::Error>(format!("charge {}", id.number))
//! });
//! assert_eq!(charge.submit().await?, "charge 1");
//! # Ok(())
//! # }
//! ```

pub use tidewheel_core::id::{AttemptId, ParseIdError, ScheduleId, TaskId};
