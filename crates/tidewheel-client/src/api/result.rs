//! What a run came to, or has come to so far.
//!
//! It is the result of `run --format json` and of `show --format json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;
use super::times::{instant, instant_if_any};
use super::{ArtifactLine, Named, RunState, StepState, Values};

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunResult {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The name of what was run.
    pub flow: Option<String>,
    /// How it stands.
    pub state: RunState,
    /// When it was accepted.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub accepted_at: Timestamp,
    /// When its first attempt started.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// Why the run as a whole is in its state, if that needs saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether another run of its concurrency group went before it, or took its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_room: bool,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The values of its params, as it was started with them. Secrets are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, Value>)]
    pub params: BTreeMap<String, Json>,
    /// What made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
    /// What can be done about it, if it did not go well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Its steps, in the order of the flow.
    #[schema(value_type = BTreeMap<String, StepResult>)]
    pub steps: Named<StepResult>,
    /// What steps that succeeded left.
    #[schema(value_type = BTreeMap<String, Values>)]
    pub outputs: Named<Values>,
    /// Files that steps left with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactLine>,
}

/// What made a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunOrigin {
    /// In one word.
    pub by: OriginWord,
    /// The schedule, if it is a firing of one that is still known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The instant that the schedule fired for.
    #[serde(default, with = "instant_if_any", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub nominal: Option<Timestamp>,
    /// Why that instant fired, as its ledger has it: `trigger`, `by-hand` or `backfill`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firing: Option<String>,
    /// The run that this one makes again, if it is a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// What made a run, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OriginWord {
    /// Somebody started it, or a program.
    ByHand,
    /// A schedule fired.
    Schedule,
    /// Somebody had another run made again.
    Retry,
}

impl RunOrigin {
    /// This, and nothing more is known.
    #[must_use]
    pub fn by(by: OriginWord) -> Self {
        Self { by, schedule: None, nominal: None, firing: None, run_id: None }
    }
}

impl RunResult {
    /// It did not come to its end where it was watched, for this reason: whoever goes on with it has to see to that
    /// first.
    pub fn lose(&mut self, why: &str) {
        self.reason = Some(format!("the run did not come to its end here: {why}"));
        for hint in &mut self.hints {
            hint.push_str(", once that is mended");
        }
    }

    /// What people should know of its steps, with the names of those.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.steps.0.iter().flat_map(|(name, step)| {
            step.warnings.iter().map(move |warning| (name.as_str(), warning.as_str()))
        })
    }
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepResult {
    /// How it stands.
    pub state: StepState,
    /// Why, if that needs saying.
    pub reason: Option<String>,
    /// Whether it failed, and the flow says that this does not matter.
    pub tolerated: bool,
    /// How often it was tried. The looks of one that waits are one attempt.
    pub attempts: u32,
    /// For one of the elements of a step, or what is inside it: which value it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub element: Option<Json>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// When its newest attempt started.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// The exit code of its process, or the status of its answer.
    pub code: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
    /// Which limit of time it ran into, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// What people should know although it counts: a log that could not be written, a certificate that nobody
    /// looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What it left.
    pub outputs: Values,
}

documents! { RunResult: "result" 1 }
