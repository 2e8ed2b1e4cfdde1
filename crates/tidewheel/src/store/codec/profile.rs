//! Profiles, and the retry policies in them, as they are written.
//!
//! What is left out of the text has its default value, so texts stay short.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel_core::policy::{
    Backoff, Factor, Jitter, OnError, OnSkip, Priority, Retry, RetryOn, Shape,
};
use tidewheel_core::spec::Profile;

use super::CodecError;

/// A [`Profile`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProfileRecord {
    priority: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    queue: Option<Arc<str>>,
    retry: RetryRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt_timeout: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_timeout: Option<Duration>,
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    start_delay: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_dependency_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_skip: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    always: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    at_most_once: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    limits: Vec<(Arc<str>, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fair_by: Option<Arc<str>>,
}

impl ProfileRecord {
    pub(super) fn of(profile: &Profile) -> Self {
        Self {
            priority: profile.priority.value(),
            queue: profile.queue.clone(),
            retry: RetryRecord::of(&profile.retry),
            attempt_timeout: profile.attempt_timeout,
            task_timeout: profile.task_timeout,
            start_delay: profile.start_delay,
            on_error: profile.on_error.map(|word| word.to_string()),
            on_dependency_error: profile.on_dependency_error.map(|word| word.to_string()),
            on_skip: profile.on_skip.map(|word| word.to_string()),
            always: profile.always,
            at_most_once: profile.at_most_once,
            limits: profile.limits.clone(),
            fair_by: profile.fair_by.clone(),
        }
    }

    pub(super) fn into_value(self) -> Result<Profile, CodecError> {
        Ok(Profile {
            priority: Priority::new(i64::from(self.priority)),
            queue: self.queue,
            retry: self.retry.into_value(),
            attempt_timeout: self.attempt_timeout,
            task_timeout: self.task_timeout,
            start_delay: self.start_delay,
            on_error: self.on_error.as_deref().map(on_error_of).transpose()?,
            on_dependency_error: self
                .on_dependency_error
                .as_deref()
                .map(on_error_of)
                .transpose()?,
            on_skip: self.on_skip.as_deref().map(on_skip_of).transpose()?,
            always: self.always,
            at_most_once: self.at_most_once,
            stays: false,
            limits: self.limits,
            fair_by: self.fair_by,
        })
    }
}

/// A [`Retry`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RetryRecord {
    retries: u32,
    shape: ShapeRecord,
    base: Duration,
    cap: Duration,
    jitter: JitterRecord,
    /// Failed, failed for good, timed out.
    on: (bool, bool, bool),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ShapeRecord {
    Fixed,
    Linear,
    Exponential { thousandths: u32 },
    Decorrelated,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JitterRecord {
    None,
    Full,
    Equal,
    Additive { max: Duration },
    Proportional { percent: u32 },
}

impl RetryRecord {
    pub(super) fn of(retry: &Retry) -> Self {
        let shape = match retry.backoff.shape {
            Shape::Fixed => ShapeRecord::Fixed,
            Shape::Linear => ShapeRecord::Linear,
            Shape::Exponential { factor } => {
                ShapeRecord::Exponential { thousandths: factor.thousandths() }
            }
            Shape::Decorrelated => ShapeRecord::Decorrelated,
        };
        let jitter = match retry.jitter {
            Jitter::None => JitterRecord::None,
            Jitter::Full => JitterRecord::Full,
            Jitter::Equal => JitterRecord::Equal,
            Jitter::Additive { max } => JitterRecord::Additive { max },
            Jitter::Proportional { percent } => JitterRecord::Proportional { percent },
        };
        Self {
            retries: retry.retries,
            shape,
            base: retry.backoff.base,
            cap: retry.backoff.cap,
            jitter,
            on: (retry.on.failed, retry.on.failed_for_good, retry.on.timed_out),
        }
    }

    pub(super) fn into_value(self) -> Retry {
        let shape = match self.shape {
            ShapeRecord::Fixed => Shape::Fixed,
            ShapeRecord::Linear => Shape::Linear,
            ShapeRecord::Exponential { thousandths } => {
                Shape::Exponential { factor: Factor::from_thousandths(thousandths) }
            }
            ShapeRecord::Decorrelated => Shape::Decorrelated,
        };
        let jitter = match self.jitter {
            JitterRecord::None => Jitter::None,
            JitterRecord::Full => Jitter::Full,
            JitterRecord::Equal => Jitter::Equal,
            JitterRecord::Additive { max } => Jitter::Additive { max },
            JitterRecord::Proportional { percent } => Jitter::Proportional { percent },
        };
        let (failed, failed_for_good, timed_out) = self.on;
        Retry {
            retries: self.retries,
            backoff: Backoff { shape, base: self.base, cap: self.cap },
            jitter,
            on: RetryOn { failed, failed_for_good, timed_out },
        }
    }
}

/// The word for a skip.
pub(super) fn on_skip_of(word: &str) -> Result<OnSkip, CodecError> {
    word.parse().map_err(|_| CodecError::value("a word for skips", word))
}

/// The word for a failure.
pub(super) fn on_error_of(word: &str) -> Result<OnError, CodecError> {
    word.parse().map_err(|_| CodecError::value("the word for a failure", word))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}
