//! The states of runs and steps in the words that surfaces use: the same while a run goes on and
//! afterwards.
//!
//! The scheduler knows finer ones; what becomes of those is in [`crate::desk`].

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a step stands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It has not started, or waits to be tried again.
    Pending,
    /// It runs.
    Running,
    /// It ended as wished.
    Succeeded,
    /// It did not.
    Failed,
    /// It was not done, by rule.
    Skipped,
    /// Somebody ended it.
    Cancelled,
    /// Nobody can say whether it took effect.
    Unknown,
}

impl StepState {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl StepState {
    /// Whether nothing more comes.
    #[must_use]
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

impl fmt::Display for StepState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How a run stands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It goes on.
    Running,
    /// Nothing of it is started before it has a place in its concurrency group.
    Waiting,
    /// Nothing more of it is started until it is resumed.
    Paused,
    /// It has not ended, and nobody runs it: its process died.
    Interrupted,
    /// It ended as wished.
    Succeeded,
    /// It did not.
    Failed,
    /// It was not done, by rule.
    Skipped,
    /// Somebody ended it.
    Cancelled,
    /// Nobody can say how it ended.
    Unknown,
}

impl RunState {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Interrupted => "interrupted",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
