//! What a run came to, or has come to so far.
//!
//! It is the result of `run --format json` and of `show --format json`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::document::documents;
use super::{Named, RunState, StepState};

/// Outputs by step: only of steps that succeeded.
pub type OutputsByStep = Named<Map<String, Json>>;

/// What a run came to.
///
/// Steps and outputs may be anything that is written as such a map: as one value, a run of many steps
/// would take more memory than to run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult<Steps = Named<StepResult>, Outputs = OutputsByStep> {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The name of what was run.
    pub flow: Option<String>,
    /// How it stands.
    pub state: RunState,
    /// When it was accepted.
    pub accepted_at: String,
    /// When its first attempt started.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Its steps, in the order of the flow.
    pub steps: Steps,
    /// What steps that succeeded left.
    pub outputs: Outputs,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// How it stands.
    pub state: StepState,
    /// Why, if that needs saying.
    pub reason: Option<String>,
    /// Whether it failed, and the flow says that this does not matter.
    pub tolerated: bool,
    /// How often it was tried. The looks of one that waits are one attempt.
    pub attempts: u32,
    /// When its newest attempt started.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// The exit code of its process, or the status of its answer.
    pub code: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
    /// What it left.
    pub outputs: Map<String, Json>,
}

documents! { RunResult: "result" 1 }
