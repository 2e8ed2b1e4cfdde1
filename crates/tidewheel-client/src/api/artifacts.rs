//! Files that steps left with their run.
//!
//! What is in them is asked for one at a time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::document::documents;

/// The artifacts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArtifactList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The files, by step and name.
    pub artifacts: Vec<ArtifactLine>,
}

/// A file that a step left with its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArtifactLine {
    /// Its path, from the folder of the step or of the run.
    pub name: String,
    /// The step.
    pub step: String,
    /// The attempt that left it.
    pub attempt: u32,
    /// How large it is.
    pub bytes: u64,
    /// The fingerprint of what is in it.
    pub sha256: String,
    /// Where it is kept.
    pub path: String,
}

documents! { ArtifactList: "artifacts" 1 }
