//! The attempts at one step.
//!
//! What the step came to in the end is in [`super::RunResult`].

use serde::{Deserialize, Serialize};
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;
use super::times::instant_if_any;

/// The attempts at a step of which executors left a record, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The step.
    pub step: String,
    /// The attempts.
    pub attempts: Vec<AttemptLine>,
}

/// An attempt in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptLine {
    /// Its number, from 1.
    pub attempt: u32,
    /// How it ended, in one word.
    pub outcome: Option<String>,
    /// When it began to run.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// The exit code of its process, or the status of its answer.
    pub code: Option<i32>,
    /// The signal that ended its process.
    pub signal: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
}

documents! { AttemptList: "attempts" 1 }
