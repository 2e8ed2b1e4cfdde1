//! Who has the slots, and who waits for one.
//!
//! Why a step of a run is where it is, whatever that is, is in [`super::Explained`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::document::documents;

/// Who has the slots, and who waits for one, in the order in which they are expected to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WaitingLine {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Attempts that may run at once; none: no bound.
    pub slots: Option<u32>,
    /// What runs, the oldest first.
    pub holders: Vec<SlotHolder>,
    /// What waits, those that go first first.
    pub waiting: Vec<WaitingStep>,
    /// How many more wait, as far as was counted.
    pub more: u64,
}

/// A step that has a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SlotHolder {
    /// The run's identity.
    pub run_id: String,
    /// The name of what is run.
    pub flow: Option<String>,
    /// The step.
    pub step: String,
    /// The attempt at it.
    pub attempt: u32,
    /// For how long it has had it.
    pub seconds: f64,
}

/// A step that waits for a slot, or for room in a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WaitingStep {
    /// The run's identity.
    pub run_id: String,
    /// The name of what is run.
    pub flow: Option<String>,
    /// The step.
    pub step: String,
    /// Its queue.
    pub queue: String,
    /// Its priority as it was said, 0 to 100.
    pub priority: u8,
    /// The same with what waiting has added.
    pub effective: u8,
    /// For how long it has been ready.
    pub waited_seconds: f64,
    /// Everything that holds it, the most decisive first, in words.
    pub why: Vec<String>,
    /// In how many seconds it is expected to start, where that can be told.
    pub expected_start_seconds: Option<f64>,
    /// In how many seconds waiting has taken its priority to the top, where waiting adds anything: what becomes ready later, of
    /// another run, then no longer goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpassed_in_seconds: Option<f64>,
}

documents! { WaitingLine: "line" 1 }
