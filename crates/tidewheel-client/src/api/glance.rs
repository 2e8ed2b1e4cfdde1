//! What matters now, for whoever looks once: what fails, is late, asks and runs, and how each flow does.
//!
//! All of a run is in [`super::RunResult`], all runs in [`super::RunList`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;
use super::times::{instant, instant_if_any, millis_if_any};
use super::{RunLine, RunState, ScheduleLine};

/// What matters now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Glance {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// When.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Of each flow whose newest run that ended did not go well, that run; the newest first.
    pub failing: Vec<RunLine>,
    /// Schedules that should have fired and have not.
    pub late: Vec<ScheduleLine>,
    /// Steps that wait for somebody to say yes or no, the oldest first.
    pub approvals: Vec<ApprovalLine>,
    /// Whether so many runs have not ended that not all of them were looked into, and more may ask.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approvals_more: bool,
    /// Some of the runs that have not ended, the newest first.
    pub now: Vec<RunNow>,
    /// How many have not ended.
    pub running: u64,
    /// Steps that have all they need and wait for room.
    pub waiting: u64,
    /// The flows, by name.
    pub flows: Vec<FlowGlance>,
}

/// A run that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunNow {
    /// What its line in a list says.
    pub run: RunLine,
    /// How many of its steps have ended.
    pub ended: u32,
    /// Some of the steps that run.
    pub running: Vec<String>,
    /// When it ends, if it takes as long as those before.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expected_end: Option<Timestamp>,
}

/// How a flow does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FlowGlance {
    /// Its name.
    pub name: String,
    /// Whether its file cannot be run as it is now.
    pub outdated: bool,
    /// Its newest runs, the newest last.
    pub runs: Vec<PastRun>,
    /// The share of those that ended well, 0 to 1.
    pub ok: Option<f64>,
    /// How long those that went well took, half of them no longer.
    #[serde(default, with = "millis_if_any", rename = "median_ms")]
    #[schema(value_type = Option<u64>)]
    pub median: Option<Duration>,
    /// How much longer the newest five that went well took than those before them, half of each no longer, as a share.
    pub trend: Option<f64>,
    /// When it is run next by itself.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next: Option<Timestamp>,
    /// The names of its schedules.
    pub schedules: Vec<String>,
}

/// A run, as small as it can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PastRun {
    /// The run's identity.
    pub run_id: String,
    /// How it stands.
    pub state: RunState,
    /// When it was accepted.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub accepted_at: Timestamp,
    /// How long it took, or has taken.
    #[serde(default, with = "millis_if_any", rename = "took_ms")]
    #[schema(value_type = Option<u64>)]
    pub took: Option<Duration>,
}

/// Steps that wait for somebody to say yes or no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The steps, the oldest first.
    pub approvals: Vec<ApprovalLine>,
    /// Whether so many runs have not ended that not all of them were looked into, and more may ask.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// A step that waits for somebody to say yes or no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalLine {
    /// The run's identity.
    pub run_id: String,
    /// The name of what is run.
    pub flow: Option<String>,
    /// The step.
    pub step: String,
    /// What it asks, in words.
    pub asks: String,
    /// Since when it waits.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// Whether a yes has to come with a one-time code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_code: bool,
}

documents! {
    Glance: "glance" 1,
    ApprovalList: "approvals" 1,
}
