//! The rules a scheduler applies, each as pure data and arithmetic: order, retries, failures, skips, limits.
//!
//! Who applies them, and to which task, is not decided here; no rule knows of runs or stores.

pub mod breaker;
pub mod failure;
pub mod priority;
pub mod rate;
pub mod retry;
pub mod skip;

pub use breaker::{Admission, Breaker, BreakerSpec, BreakerState, Ending, Epoch};
pub use failure::{ErrorWords, OnError, ParseOnErrorError};
pub use priority::{Ageing, ParsePriorityError, Priority};
pub use rate::{Bucket, Rate, RateError};
pub use retry::{Backoff, Factor, Fault, Jitter, Retry, RetryOn, Shape};
pub use skip::{OnSkip, ParseOnSkipError};
