//! What can go wrong, as users see it, and the two words a task may add to its own error.
//!
//! Refusals are [`Rejection`]s of the core; errors of stores are in [`crate::store`].

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::input::{Failure, Rejection};
use tidewheel_core::task::Reason;

/// Any error a task may return.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a submission gave no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// It was not accepted; nothing was run.
    #[error("not accepted: {0}")]
    Rejected(#[from] Rejection),
    /// Its last attempt returned this error.
    #[error("{0}")]
    Failed(#[source] BoxError),
    /// Its last attempt panicked with this text.
    #[error("panicked: {0}")]
    Panicked(Arc<str>),
    /// An attempt, or all its attempts together, took too long.
    #[error("timed out ({0})")]
    TimedOut(Reason),
    /// It was ended by request.
    #[error("cancelled ({0})")]
    Cancelled(Reason),
    /// The wheel was shut down before it could run.
    #[error("the scheduler was shut down")]
    ShutDown,
    /// Nobody can say what became of it: the runtime ended, or the store failed.
    #[error("lost: {0}")]
    Lost(Arc<str>),
}

/// Why there is no report of a run.
///
/// A run whose tasks failed has a report; see [`crate::RunReport::is_success`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run was not accepted; nothing was run.
    #[error("not accepted: {0}")]
    Rejected(#[from] Rejection),
    /// The wheel was shut down and the rest of the run left to the store.
    #[error("the scheduler was shut down")]
    ShutDown,
    /// Nobody can say what became of it: the runtime ended, or the store failed.
    #[error("lost: {0}")]
    Lost(Arc<str>),
}

/// An error after which another attempt would be in vain.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Permanent, Tidewheel};
///
/// let wheel = Tidewheel::builder().start();
/// let request = wheel.task(|| async { Err::<(), _>(Permanent::new("no such package")) });
/// let error = request.retries(5).submit().await.unwrap_err();
/// assert_eq!(error.to_string(), "no such package"); // after one attempt, not six
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Permanent(BoxError);

impl Permanent {
    /// Marks an error as permanent.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for Permanent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Permanent {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// An error after which another attempt should wait at least so long.
///
/// ```
/// # use std::time::Duration;
/// use tidewheel::RetryAfter;
///
/// async fn fetch() -> Result<String, RetryAfter> {
///     Err(RetryAfter::new(Duration::from_secs(20), "too many requests"))
/// }
/// ```
#[derive(Debug)]
pub struct RetryAfter {
    wait: Duration,
    error: BoxError,
}

impl RetryAfter {
    /// Adds a wait to an error.
    pub fn new(wait: Duration, error: impl Into<BoxError>) -> Self {
        Self { wait, error: error.into() }
    }
}

impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for RetryAfter {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// What the scheduler should know about an error.
pub(crate) fn failure_of(error: &(dyn Error + 'static)) -> Failure {
    let mut failure = Failure { message: Arc::from(describe(error)), ..Failure::default() };
    let mut link = Some(error);
    while let Some(error) = link {
        failure.permanent |= error.is::<Permanent>();
        if let Some(marked) = error.downcast_ref::<RetryAfter>() {
            failure.retry_after = Some(marked.wait);
        }
        link = error.source();
    }
    failure
}

/// An error and its causes in one line, without repeating what an error says of its cause itself.
pub(crate) fn describe(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("upload failed")]
    struct Upload(#[source] Permanent);

    #[test]
    fn marks_are_found_below_other_errors_and_causes_are_told() {
        let failure = failure_of(&Upload(Permanent::new("forbidden")));
        assert!(failure.permanent);
        assert_eq!(&*failure.message, "upload failed: forbidden");
        let failure = failure_of(&RetryAfter::new(Duration::from_secs(3), "slow down"));
        assert_eq!(failure.retry_after, Some(Duration::from_secs(3)));
        assert!(!failure.permanent);
    }
}
