//! What becomes of a request that is not answered by its service.
//!
//! How people are told, such as by a status, is for whoever speaks their protocol.

use std::sync::Arc;
use std::time::Duration;

use tidewheel::task::Reason;
use tidewheel::{Rejection, TaskError};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E> {
    /// The request was not admitted, or given up; the service may not have seen it.
    #[error("{0}")]
    Refused(#[source] Refusal),
    /// The service failed.
    #[error("{0}")]
    Service(E),
}

/// Why a request was not admitted, or given up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// So many wait already that another one is not taken.
    #[error("too many requests wait: {current} of {max} in `{queue}`")]
    QueueFull {
        /// The queue.
        queue: Arc<str>,
        /// Requests and other tasks that wait.
        current: u64,
        /// As many as may.
        max: u64,
    },
    /// What the request needs has failed too often.
    #[error("`{limit}` has failed too often and is left alone for now")]
    BreakerOpen {
        /// The breaker.
        limit: Arc<str>,
        /// For so long; `None`: until the request that tries it has succeeded.
        left: Option<Duration>,
    },
    /// Its time was over before there was an answer.
    #[error("there was no answer in time")]
    Late,
    /// The wheel shuts down.
    #[error("the service is shutting down")]
    ShuttingDown,
    /// What the wheel keeps cannot be stored now. Whether the request was admitted is not known.
    #[error("the service is unavailable: {0}")]
    Unavailable(Arc<str>),
    /// The service panicked with this text.
    #[error("panicked: {0}")]
    Panicked(Arc<str>),
    /// Something else; in words.
    #[error("{0}")]
    Other(Arc<str>),
}

/// What is asked for when nobody knows better.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(1);

impl Refusal {
    /// When it is worth to come back, in whole seconds and never zero, as `Retry-After` of HTTP has it;
    /// `None` if coming back will not help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let wait = match self {
            Self::BreakerOpen { left: Some(left), .. } => *left,
            Self::Panicked(_) | Self::Other(_) => return None,
            _ => RETRY_AFTER_DEFAULT,
        };
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Some(Duration::from_secs(seconds.max(1)))
    }

    /// Whether it is the load or a state of affairs that passes, and not a mistake.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.retry_after().is_some()
    }

    /// What the wheel says, in words about requests.
    pub(crate) fn of(error: TaskError) -> Self {
        match error {
            TaskError::Rejected(Rejection::QueueFull { queue, current, max, .. }) => {
                Self::QueueFull { queue, current, max }
            }
            TaskError::Rejected(Rejection::BreakerOpen { limit, left }) => {
                Self::BreakerOpen { limit, left }
            }
            TaskError::Rejected(Rejection::ShuttingDown) | TaskError::ShutDown => {
                Self::ShuttingDown
            }
            TaskError::Rejected(Rejection::Unavailable(why)) => Self::Unavailable(why),
            TaskError::TimedOut(_) | TaskError::Cancelled(Reason::TaskTimeout) => Self::Late,
            TaskError::Panicked(text) => Self::Panicked(text),
            other => Self::Other(other.to_string().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_stored_now_may_be_asked_again() {
        let why: Arc<str> = Arc::from("the disk is full");
        let refused = TaskError::Rejected(Rejection::Unavailable(Arc::clone(&why)));
        let refusal = Refusal::of(refused);
        assert_eq!(refusal, Refusal::Unavailable(why));
        assert!(refusal.is_passing());
        assert_eq!(refusal.retry_after(), Some(RETRY_AFTER_DEFAULT));
        let wrong = TaskError::Rejected(Rejection::UnknownQueue(Arc::from("nobody's")));
        assert!(!Refusal::of(wrong).is_passing());
    }
}
