//! Which runs there are.
//!
//! What one of them came to is in [`super::RunResult`].

use serde::{Deserialize, Serialize};

use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::RunState;
use super::document::documents;
use super::times::{instant, instant_if_any};

/// Runs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The runs.
    pub runs: Vec<RunLine>,
    /// Where the list goes on, if there may be more: the `cursor` of the next wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A run in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunLine {
    /// Its identity.
    pub run_id: String,
    /// The name of what was run.
    pub flow: Option<String>,
    /// How it stands.
    pub state: RunState,
    /// When it was accepted.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub accepted_at: Timestamp,
    /// When its first attempt started.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// How many steps it has.
    pub steps: u32,
    /// How many of them failed, once it has ended.
    pub failed: u32,
    /// Its first error, once it has ended.
    pub error: Option<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

documents! { RunList: "runs" 1 }
