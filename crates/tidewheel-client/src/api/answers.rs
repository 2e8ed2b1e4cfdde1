//! What is said to whoever wants something of a run.
//!
//! What was refused is in [`super::Refusal`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::document::documents;

/// A wish about a run was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Asked {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The step, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What was asked for: `paused`, `cancelled`.
    pub asked: String,
    /// Whether whoever runs the run has followed it: from then on nothing of the run starts. Else it will when
    /// it can.
    pub heard: bool,
    /// Whether its clean-up was not run, because nobody ran the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clean_up_left: bool,
}

/// How a run stands that was to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoneOn {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// `resumed` where it runs, `asked` if whoever runs it has not answered yet, or `succeeded` before.
    pub state: String,
    /// Whether nobody ran it, and whoever was asked goes on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken_over: bool,
}

/// A run was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartedRun {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The name of what is run.
    pub flow: String,
    /// Which version of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// False if it had been accepted before, under the same key.
    pub created: bool,
}

/// A step that waited for somebody was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Answered {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The step.
    pub step: String,
    /// `approved` or `rejected`.
    pub answer: String,
}

/// What a retry would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preview {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The identity of the run that is made again.
    pub run_id: String,
    /// Tasks that would be run again.
    pub run_again: Vec<String>,
    /// Tasks whose results would be used as they are.
    pub reused: Vec<String>,
    /// Tasks that would count as done and leave nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<String>,
    /// Files that say something else now than when the run was started. Unless `new_files` is wished for, they count as
    /// they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// What all of this is known by: a wish that names it is followed only if it still holds.
    #[serde(default)]
    pub digest: String,
}

documents! {
    Asked: "asked" 1,
    GoneOn: "gone-on" 1,
    StartedRun: "started-run" 1,
    Answered: "answered" 1,
    Preview: "preview" 1,
}
