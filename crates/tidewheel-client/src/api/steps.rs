//! The steps of a run, some at a time, with when each of them was tried.
//!
//! What they came to is in [`super::RunResult`].

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;
use super::times::{instant, instant_if_any};
use super::{RunState, StepState};

/// Which steps of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepsWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Only in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StepState>,
    /// Only those with this in their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// In which order.
    #[serde(default)]
    pub order: StepsOrder,
    /// From this place in that order on.
    #[serde(default)]
    pub from: u32,
    /// At most so many.
    #[serde(default = "usual_limit")]
    #[schema(minimum = 0, maximum = 500, default = 100)]
    pub limit: u32,
}

fn usual_limit() -> u32 {
    StepsWish::default().limit
}

impl Default for StepsWish {
    fn default() -> Self {
        let order = StepsOrder::Flow;
        Self { version: None, state: None, text: None, order, from: 0, limit: 100 }
    }
}

/// An order of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepsOrder {
    /// As the flow has them.
    #[default]
    Flow,
    /// As they started; those that have not come last.
    Start,
}

/// Steps of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// How it stands.
    pub state: RunState,
    /// When it was accepted.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub accepted_at: Timestamp,
    /// When it ended.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// How every step of the run stands, in the order of the flow, a letter each: `P` pending, `R` running, `S`
    /// succeeded, `F` failed, `K` skipped, `C` cancelled, `U` unknown.
    pub letters: String,
    /// How many steps are as they were asked for.
    pub total: u32,
    /// The place of the first of these among them.
    pub from: u32,
    /// The steps.
    pub steps: Vec<StepRow>,
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepRow {
    /// Its name.
    pub step: String,
    /// Its place in the order of the flow, from 0: that of its letter.
    pub place: u32,
    /// How it stands.
    pub state: StepState,
    /// Why, if that needs saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it failed, and the flow says that this does not matter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tolerated: bool,
    /// What it does, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// For one of the elements of a step, or what is inside it: which value it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<Json>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the run took as long as it did because of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
    /// When all that it waits for had ended.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ready_at: Option<Timestamp>,
    /// When it was tried, as far as that is known, the oldest first.
    pub attempts: Vec<AttemptSpan>,
}

/// When a step was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptSpan {
    /// The number of the attempt.
    pub attempt: u32,
    /// When it began to run.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// How it ended, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

impl StepState {
    /// The letter for it, where many are to be told at once.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Pending => 'P',
            Self::Running => 'R',
            Self::Succeeded => 'S',
            Self::Failed => 'F',
            Self::Skipped => 'K',
            Self::Cancelled => 'C',
            Self::Unknown => 'U',
        }
    }

    /// The state that a letter is for.
    #[must_use]
    pub fn of_letter(letter: char) -> Option<Self> {
        let all = [
            Self::Pending,
            Self::Running,
            Self::Succeeded,
            Self::Failed,
            Self::Skipped,
            Self::Cancelled,
            Self::Unknown,
        ];
        all.into_iter().find(|state| state.letter() == letter)
    }
}

documents! {
    StepsWish: "wish-steps" 1,
    StepList: "steps" 1,
}
