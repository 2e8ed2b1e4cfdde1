//! What a flow would do, and what is wrong with it.
//!
//! Pictures of it are drawn from the same plan, in [`crate::files`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;

/// Whether files make a flow that can be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Validated {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Whether they do.
    pub valid: bool,
    /// The name of the flow.
    pub flow: Option<String>,
    /// How many steps it has.
    pub steps: usize,
    /// What is wrong, each with its place.
    #[schema(value_type = Value)]
    pub problems: Json,
}

/// What a run of a flow would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The name of the flow.
    pub flow: String,
    /// What it says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Steps at once, at most.
    pub max_workers: u32,
    /// The steps, in an order in which they could be done one by one.
    pub steps: Vec<PlannedStep>,
    /// Whether these are all.
    pub complete: bool,
    /// Steps of which it is not known how many there will be.
    pub unknown: Vec<UnknownSteps>,
    /// The names of steps by level.
    pub levels: Vec<Vec<String>>,
    /// How many could run at once.
    pub parallelism: usize,
    /// The longest path, from its first step to its last.
    pub critical_path: Vec<String>,
    /// How long that path takes, if something is known of each of its steps.
    pub expected_seconds: Option<f64>,
    /// Limits and the steps that count against each.
    pub limits: BTreeMap<String, Vec<String>>,
    /// When it would be run by itself.
    pub schedule: Vec<NextFirings>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlannedStep {
    /// Its name.
    pub step: String,
    /// What it does, in one word.
    pub kind: String,
    /// How many steps stand one after another before it, at most.
    pub level: u32,
    /// What it waits for.
    pub after: Vec<String>,
    /// How long it took before, or is said to take.
    pub expected_seconds: Option<f64>,
    /// Whether it is on the longest path.
    pub critical: bool,
    /// Whether it stands for as many as there are elements, which are not known.
    pub many: bool,
    /// Whether its work would be passed over, if it has a cache and that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<PlannedCache>,
}

/// What would become of a step with a cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedCache {
    /// What is known.
    pub state: CacheState,
    /// Why its work would be done, or why that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What is known of the work of a step with a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// It would be passed over.
    Cached,
    /// It would be done.
    Done,
    /// That is known only when the run gets there.
    Unknown,
}

/// A step of which it is not known how many there will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnknownSteps {
    /// The step.
    pub step: String,
    /// The list that has one element for each.
    pub elements_of: String,
    /// The params that would tell.
    pub params: Vec<String>,
}

/// A rule by which a flow is run, and when that would be next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextFirings {
    /// The rule.
    pub rule: String,
    /// The next instants.
    #[serde(with = "instants")]
    #[schema(value_type = Vec<String>)]
    pub next: Vec<Timestamp>,
}

documents! {
    Validated: "validated" 1,
    Plan: "plan" 1,
}

mod instants {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use tidewheel::Timestamp;

    pub(super) fn serialize<S: Serializer>(all: &[Timestamp], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(all.iter().map(ToString::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Timestamp>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}
