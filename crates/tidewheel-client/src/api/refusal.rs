//! [`Refusal`]: why something was not done, and what to do about it.
//!
//! The typed form is [`crate::desk::DeskError`]. Exit codes and statuses are each surface's own.

use serde::{Deserialize, Serialize};

use super::document::documents;

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Which sort of refusal it is.
    pub kind: RefusalKind,
    /// What went wrong, in words.
    pub message: String,
    /// What can be done about it.
    pub hints: Vec<String>,
    /// Files that are not what they were, if that is why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
}

/// A file that is not what it was when a run was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file.
    pub file: String,
    /// The lines in which it differs.
    pub change: String,
}

/// The sorts of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

documents! { Refusal: "refusal" 1 }
