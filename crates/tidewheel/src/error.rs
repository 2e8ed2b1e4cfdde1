//! What can go wrong, as users see it, and what a task's own error may say about another attempt.
//!
//! Refusals are [`Rejection`]s of the core; errors of stores are in [`crate::store`].

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::id::RunId;
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
    /// It was accepted before under the same name, in another way or before a restart, and its value is
    /// not known here: [`TaskRequest::submit_shared`](crate::task::TaskRequest::submit_shared).
    #[error("accepted before as run {0}, whose value is not kept")]
    ValueNotKept(RunId),
    /// It was accepted before under the same name, and gives a value of another type.
    #[error("accepted before as run {run}, whose value is a `{kept}`, not a `{wanted}`")]
    OtherType {
        /// What was accepted.
        run: RunId,
        /// The type of its value.
        kept: &'static str,
        /// The type that was asked for.
        wanted: &'static str,
    },
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

/// What an error says about another attempt.
///
/// It is an error itself, so that it can stand among the causes of one. There the scheduler finds it,
/// however many errors are wrapped around it and whatever wraps them (`anyhow` hides the type of an
/// error, never its causes): an error of your own says it by giving one as its `source`.
///
/// ```
/// use tidewheel::task::MayRetry;
///
/// #[derive(Debug, thiserror::Error)]
/// enum Upload {
///     #[error("the bucket {0} is not there")]
///     NoBucket(String, #[source] MayRetry),
/// }
///
/// let error = Upload::NoBucket("images".to_owned(), MayRetry::No);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MayRetry {
    /// It could help.
    #[error("another attempt could help")]
    Yes,
    /// It could help, but not before so long has passed.
    #[error("no attempt before {0:?} have passed")]
    After(Duration),
    /// It would end in the same way.
    #[error("another attempt would be in vain")]
    No,
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
pub struct Permanent(Marked);

impl Permanent {
    /// Marks an error as permanent.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(Marked { retry: MayRetry::No, error: error.into() })
    }
}

impl fmt::Display for Permanent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.error.fmt(f)
    }
}

impl Error for Permanent {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
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
pub struct RetryAfter(Marked);

impl RetryAfter {
    /// Adds a wait to an error.
    pub fn new(wait: Duration, error: impl Into<BoxError>) -> Self {
        Self(Marked { retry: MayRetry::After(wait), error: error.into() })
    }
}

impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.error.fmt(f)
    }
}

impl Error for RetryAfter {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// The mark of an error that was marked from outside: a link between it and its causes.
#[derive(Debug)]
struct Marked {
    retry: MayRetry,
    error: BoxError,
}

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.retry.fmt(f)
    }
}

impl Error for Marked {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // A marked error may be marked itself.
        self.error.source()
    }
}

/// What a link in a chain of causes says about another attempt.
fn mark_of(error: &(dyn Error + 'static)) -> Option<MayRetry> {
    let own = error.downcast_ref::<MayRetry>();
    own.or_else(|| error.downcast_ref().map(|marked: &Marked| &marked.retry)).copied()
}

/// What the scheduler should know about an error.
pub(crate) fn failure_of(error: &(dyn Error + 'static)) -> Failure {
    let mut failure = Failure { message: Arc::from(describe(error)), ..Failure::default() };
    let mut link = Some(error);
    while let Some(error) = link {
        match mark_of(error) {
            Some(MayRetry::No) => failure.permanent = true,
            Some(MayRetry::After(wait)) => failure.retry_after = Some(wait),
            Some(MayRetry::Yes) | None => {}
        }
        link = error.source();
    }
    failure
}

/// An error and its causes in one line, without repeating what an error says of its cause itself, and
/// without what is only for the scheduler.
pub(crate) fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        source = cause.source();
        if mark_of(cause).is_some() {
            continue;
        }
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
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

    #[test]
    fn marks_are_found_behind_what_hides_types() {
        let hidden = |error: anyhow::Error| failure_of(&*BoxError::from(error));
        let lasting = || anyhow::Error::from(Permanent::new("forbidden"));
        for error in [lasting(), lasting().context("upload failed")] {
            let failure = hidden(error);
            assert!(failure.permanent, "{failure:?}");
            assert!(failure.message.ends_with("forbidden"), "{failure:?}");
        }
        let later = RetryAfter::new(Duration::from_secs(3), "slow down");
        let failure = hidden(anyhow::Error::from(later).context("upload failed"));
        assert_eq!(failure.retry_after, Some(Duration::from_secs(3)));
        assert_eq!(&*failure.message, "upload failed: slow down");
        let wrapped = std::io::Error::other(Permanent::new("forbidden"));
        assert!(failure_of(&wrapped).permanent);
    }
}
