//! How a run stands, as whoever watches it needs it: every step with what it waits for, and what it came to.
//!
//! What steps left is in [`super::RunResult`]. From one look to the next it is told by [`crate::progress`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;
use super::times::{instant, instant_if_any, millis_if_any};
use super::{RunState, StepState};

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Standing {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The name of what is run.
    pub flow: Option<String>,
    /// How it stands.
    pub state: RunState,
    /// For which other runs it waits, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it was accepted.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub accepted_at: Timestamp,
    /// When it ended.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// Its steps, by their number in the run.
    pub steps: Vec<StepStanding>,
}

/// How a step stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepStanding {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub state: StepState,
    /// The numbers of the steps it waits for.
    pub after: Vec<u32>,
    /// How long it will take, from past runs.
    #[serde(
        default,
        with = "millis_if_any",
        rename = "expected_ms",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<u64>)]
    pub expected: Option<Duration>,
    /// How many attempts it has at most, if that may be more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<u32>,
    /// For one of the elements of a step, or what is inside it: which value it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub element: Option<Json>,
    /// The newest attempt, from 1; 0 if there is none. The looks of one that waits are one attempt.
    pub attempt: u32,
    /// When that started.
    #[serde(default, with = "instant_if_any", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When the next one starts, if it failed and there will be one.
    #[serde(default, with = "instant_if_any", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub retry_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, with = "instant_if_any", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// Why it is in its state, if that needs saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The last lines of its output, if it went wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<String>,
    /// Whether the run is not failed by a failure of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tolerated: bool,
    /// Whether the run took as long as it did because of it, or has taken so long by now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
    /// What it waits for outside, as a phrase that follows its name: "waits for a file".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// Whether it waits for somebody's approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// Whether a yes to it has to come with a one-time code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_code: bool,
}

impl StepStanding {
    /// A step in a state of which nothing else is known.
    #[must_use]
    pub fn new(name: impl Into<String>, state: StepState) -> Self {
        Self {
            name: name.into(),
            state,
            after: Vec::new(),
            expected: None,
            attempts_max: None,
            element: None,
            attempt: 0,
            started_at: None,
            retry_at: None,
            ended_at: None,
            reason: None,
            error: None,
            tail: Vec::new(),
            tolerated: false,
            critical: false,
            waits: None,
            asks: false,
            wants_code: false,
        }
    }
}

documents! { Standing: "standing" 1 }
