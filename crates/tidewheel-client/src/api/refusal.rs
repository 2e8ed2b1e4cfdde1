//! [`Refusal`]: why something was not done, and what to do about it.
//!
//! The typed form is [`crate::desk::DeskError`]. Which exit code or status a kind has is each surface's own.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::document::documents;

/// Something was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Refused {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Why.
    pub error: Refusal,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Refusal {
    /// Which sort of refusal it is.
    pub kind: RefusalKind,
    /// The exit code of the process, if it ends by this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// What went wrong, in words.
    pub message: String,
    /// What can be done about it.
    pub hints: Vec<String>,
    /// Where the culprit begins in the text that was given, in bytes from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// What is wrong with flow files, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub problems: Option<Json>,
    /// Files that are not what they were, if that is why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
}

/// A file that is not what it was when a run was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChange {
    /// The file.
    pub file: String,
    /// The lines in which it differs.
    pub change: String,
}

/// The sorts of refusals.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// It was tried, and failed.
    Failed,
    /// It was asked for in a wrong way.
    Usage,
    /// A definition is wrong.
    Input,
    /// What was asked for is not there.
    NotFound,
    /// Somebody else is using it, or it has changed meanwhile.
    Conflict,
    /// It is not safe, so it was not done.
    Refused,
    /// A bug.
    Internal,
}

impl RefusalKind {
    /// What another server meant by its status.
    pub(crate) fn of_status(status: u16) -> Self {
        match status {
            404 => Self::NotFound,
            409 => Self::Conflict,
            401 | 403 | 421 => Self::Refused,
            400 | 422 => Self::Usage,
            _ => Self::Failed,
        }
    }
}

documents! { Refused: "refused" 1 }
