//! What happens in a house, of all runs, one thing at a time.
//!
//! How one run goes on in people's words is in [`crate::progress`].

use serde::{Deserialize, Serialize};
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;
use super::times::{instant, instant_if_any};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Happened {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Which life of the house the number counts in.
    pub epoch: String,
    /// Its number, from 1, without gaps.
    pub sequence: u64,
    /// When.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What.
    pub what: What,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The attempt at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How it stands then, or why, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The instant of the schedule.
    #[serde(default, with = "instant_if_any", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub nominal: Option<Timestamp>,
    /// How many, where it is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What can happen.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum What {
    /// A run was accepted.
    RunAccepted,
    /// A run was paused.
    RunPaused,
    /// A run was resumed, or has a place in its group.
    RunResumed,
    /// A run waits for a place in its group.
    RunWaits,
    /// The priority of a run, or of one of its steps, was changed; the state says to what.
    PriorityChanged,
    /// A run ended.
    RunEnded,
    /// An attempt at a step started.
    StepStarted,
    /// An attempt at a step failed, and another one follows.
    StepRetries,
    /// A step ended.
    StepEnded,
    /// A schedule fired.
    ScheduleFired,
    /// Instants of a schedule were skipped.
    ScheduleSkipped,
    /// The run of a firing could not be made.
    FiringFailed,
    /// A schedule ended.
    ScheduleEnded,
    /// A flow is new, or another version of it is in force.
    FlowChanged,
    /// A flow is gone.
    FlowRemoved,
    /// A file cannot be run.
    FlowBroken,
    /// So much happened at once that some of it is not told here: look at the runs.
    Missed,
}

documents! { Happened: "happened" 1 }
