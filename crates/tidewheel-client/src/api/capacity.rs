//! Queues and limits: what work waits for.
//!
//! Why one step waits is in [`super::Explained`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::document::documents;

/// The queues of a house.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Tasks at once, of all queues together; none: no bound.
    pub slots: Option<u32>,
    /// The queues, in the order in which they were defined.
    pub queues: Vec<QueueLine>,
}

/// A queue in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueLine {
    /// Its name.
    pub name: String,
    /// Its share against other queues.
    pub weight: u32,
    /// Tasks of it at once, if they are bounded.
    pub slots: Option<u32>,
    /// Tasks that may wait in it, if they are bounded.
    pub waiting_max: Option<u32>,
    /// Whether it is paused.
    pub paused: bool,
    /// Attempts of it that run now.
    pub active: u64,
    /// Tasks of it that are ready and wait.
    pub queued: u64,
    /// Tasks accepted since the server began.
    pub submitted: u64,
    /// Tasks that ran and ended since then.
    pub completed: u64,
    /// Of those, the ones that failed.
    pub failed: u64,
    /// Tasks refused since then.
    pub rejected: u64,
}

/// The limits of a house.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The limits, in the order in which they were defined.
    pub limits: Vec<LimitLine>,
}

/// A limit in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitLine {
    /// Its name.
    pub name: String,
    /// What it bounds: `units`, `shared-units`, `rate`, `breaker`.
    pub kind: String,
    /// Units at once, where it bounds those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// Starts per second, where it bounds those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
}

documents! {
    QueueList: "queues" 1,
    LimitList: "limits" 1,
}
