//! The order of what waits, as it is and as another priority would make it.
//!
//! How it stands now, with why each step waits, is in [`super::WaitingLine`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::document::documents;

/// The order of what waits before and after a priority is changed. Nothing is changed yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OrderPreview {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run whose priority would be changed.
    pub run_id: String,
    /// Its step, if it is only for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The priority that it would have.
    pub priority: u8,
    /// The steps that wait, in the order in which they are expected to start as things are.
    pub before: Vec<OrderLine>,
    /// The same as it would be.
    pub after: Vec<OrderLine>,
    /// How many more wait, as far as was counted.
    pub more: u64,
}

/// A step that waits, in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OrderLine {
    /// Its run.
    pub run_id: String,
    /// The flow of the run, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Its name.
    pub step: String,
    /// The queue it waits in.
    pub queue: String,
    /// Its priority.
    pub priority: u8,
    /// What waiting has made of it.
    pub effective: u8,
    /// Whether it is one of those whose priority is changed.
    pub changed: bool,
    /// In how many seconds it is expected to start, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_start_seconds: Option<f64>,
}

/// A priority was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PriorityChanged {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// Its step, if it was only for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The priority from now on.
    pub priority: u8,
    /// Whether whoever runs the run has followed it. Else it will when it can.
    pub heard: bool,
}

documents! {
    OrderPreview: "order" 1,
    PriorityChanged: "priority-changed" 1,
}
