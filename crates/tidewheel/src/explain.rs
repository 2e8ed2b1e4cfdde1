//! Why a task is not running: asking, and the answer in words.
//!
//! The facts are gathered by the core. [`Tidewheel::explain`] asks.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::Tidewheel;
//! use tidewheel::explain::Hold;
//!
//! let wheel = Tidewheel::builder().start();
//! wheel.pause();
//! let task = wheel.submit_normal(async {});
//! let why = wheel.explain(&task)?;
//! assert!(why.facts.holds.contains(&Hold::SchedulerPaused));
//! println!("{why}");
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::explain;
pub use tidewheel_core::explain::{Hold, Place};

pub use crate::answers::Answers;
use crate::submission::Submission;
use crate::wheel::Tidewheel;

/// The answer to "why is this task not running?".
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Every rule that holds the task, and its place in the order.
    pub facts: explain::Explanation,
    /// The name of the task whose failure is the reason, where there is one.
    pub cause: Option<Arc<str>>,
    /// The text of its last error.
    pub error: Option<Arc<str>>,
    /// In how long it is expected to start, if it waits and that can be told: the scheduler played ahead
    /// with the durations that are expected.
    pub expected_start: Option<Duration>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.facts)?;
        if let Some(expected) = self.expected_start {
            write!(f, ", expected to start in {expected:.1?}")?;
        }
        if let Some(cause) = &self.cause {
            write!(f, " because of `{cause}`")?;
        }
        if let Some(error) = &self.error {
            write!(f, ": {error}")?;
        }
        Ok(())
    }
}

/// There is no such task, or it has ended and is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no task `{name}` to explain")]
pub struct UnknownTask {
    /// What was asked for.
    pub name: String,
}

/// What [`Tidewheel::explain`] can explain: a task of a report or of a live run, a submission.
pub trait Explain {
    /// Explains it.
    ///
    /// # Errors
    ///
    /// When there is no such task.
    fn explain(&self, wheel: &Tidewheel) -> Result<Explanation, UnknownTask>;
}

impl<E: Explain> Explain for Option<E> {
    fn explain(&self, wheel: &Tidewheel) -> Result<Explanation, UnknownTask> {
        match self {
            Some(task) => task.explain(wheel),
            None => Err(UnknownTask { name: String::from("?") }),
        }
    }
}

impl<E: Explain> Explain for &E {
    fn explain(&self, wheel: &Tidewheel) -> Result<Explanation, UnknownTask> {
        (*self).explain(wheel)
    }
}

impl<T> Explain for Submission<T> {
    fn explain(&self, wheel: &Tidewheel) -> Result<Explanation, UnknownTask> {
        let explained = self.task().and_then(|(shared, run)| wheel.explain_task(shared, run, 0));
        explained.ok_or_else(|| UnknownTask { name: String::from("submission") })
    }
}
