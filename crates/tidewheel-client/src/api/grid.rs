//! The steps of a flow beside its newest runs: since when one of them fails.
//!
//! All of a run is in [`super::StepList`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PastRun;
use super::document::documents;

/// How each step of a flow did in its newest runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowGrid {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The flow.
    pub flow: String,
    /// Its steps, in the order of its file.
    pub steps: Vec<String>,
    /// Its newest runs, the newest last; fewer if they are very large.
    pub runs: Vec<GridRun>,
}

/// A run, and how each step did in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GridRun {
    /// The run.
    #[serde(flatten)]
    pub run: PastRun,
    /// A letter for each step, the worst of what it consists of: those of the list of steps, or `-` where the run has no such
    /// step.
    pub letters: String,
}

documents! { FlowGrid: "grid" 1 }
