//! [`Problem`]: a refusal on its way over HTTP, as RFC 9457 has it.
//!
//! What was refused and why is the [`Refusal`] in it, if the desk was the one who refused.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Refusal;

/// Something was not done: a document of `application/problem+json`. It has no version: what others may rely on is
/// in the standard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Which problem it is, for programs: `urn:tidewheel:problem:` and a word.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same, for people.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What went wrong this time.
    pub detail: String,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What the desk said, if it was the one who refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}
