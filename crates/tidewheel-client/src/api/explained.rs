//! Why steps are where they are.
//!
//! How that is found out is in [`crate::desk`].

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::document::documents;
use super::{RunState, StepState};

/// Why steps of a run have not started, failed, or were skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explained {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// How it stands.
    pub state: RunState,
    /// What keeps the run as a whole, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The steps that were asked about.
    pub steps: Vec<StepExplained>,
}

/// Why a step is where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepExplained {
    /// Its name.
    pub step: String,
    /// For one of the elements of a step, or what is inside it: which value it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub element: Option<Json>,
    /// How it stands.
    pub state: StepState,
    /// Whether it failed, and the flow says that this does not matter.
    pub tolerated: bool,
    /// Why, in words.
    pub why: String,
    /// Whether it waits for somebody to say yes or no.
    #[serde(default)]
    pub asks: bool,
    /// The steps it waits for that have not ended.
    pub waits_for: Vec<String>,
    /// Its priority, while it waits for room and whoever runs the run tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// In how many seconds it is expected to start, where whoever runs the run can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_start_seconds: Option<f64>,
    /// In how many seconds waiting has taken its priority to the top, where waiting adds anything: what becomes ready later, of
    /// another run, then no longer goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpassed_in_seconds: Option<f64>,
}

documents! { Explained: "explained" 1 }
