//! What is wanted: the questions and wishes of people and programs, as they travel to a desk.
//!
//! What they get is in the files beside.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tidewheel::Timestamp;
use tidewheel::schedule::Span;
use utoipa::ToSchema;

use super::document::documents;
use super::times::{instant_if_any, millis_if_any};
use crate::desk::DeskError;

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ListWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Only of this name.
    #[serde(default)]
    pub name: Option<String>,
    /// Only in this state.
    #[serde(default)]
    pub state: Option<StateWish>,
    /// Only with this tag. A thousand runs are looked at for one answer, which may so have few or none and say where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only those whose identities begin so. At most 50 are found, and the list does not say where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// At most so many.
    #[serde(default = "usual_limit")]
    #[schema(minimum = 1, maximum = 500, default = 20)]
    pub limit: u32,
    /// Those after this place in the list: what the list before said as `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

fn usual_limit() -> u32 {
    ListWish::default().limit
}

impl Default for ListWish {
    fn default() -> Self {
        let (name, state, tag, id, cursor) = Default::default();
        Self { version: None, name, state, tag, id, limit: 20, cursor }
    }
}

/// The states of runs that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateWish {
    /// Those that have not ended, whoever runs them.
    Running,
    /// Those that went well.
    Succeeded,
    /// Those that did not, and those of which nobody can say.
    Failed,
    /// Those that were ended, or were not to be done.
    Cancelled,
    /// Of those that have not ended, those that are paused.
    Paused,
    /// Of those that have not ended, those that wait for a place in their concurrency group.
    Waiting,
    /// Of those that have not ended, those that nobody runs.
    Interrupted,
    /// Of those that did not go well, those of which nobody can say what became of them.
    Unknown,
}

impl StateWish {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Running,
        Self::Waiting,
        Self::Paused,
        Self::Interrupted,
        Self::Failed,
        Self::Unknown,
        Self::Succeeded,
        Self::Cancelled,
    ];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
        }
    }
}

/// Whose logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Only of this step.
    #[serde(default)]
    pub step: Option<String>,
    /// Of this attempt instead of the newest.
    #[serde(default)]
    pub attempt: Option<u32>,
    /// Whether it is waited for more: also for an attempt that is still to come.
    #[serde(default)]
    pub follow: bool,
}

/// How a run, or one of its steps, is to be ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Time for running steps to end by themselves, if it is to be other than each of them says.
    #[serde(default, with = "millis_if_any", rename = "grace_ms")]
    #[schema(value_type = Option<u64>)]
    pub grace: Option<Duration>,
    /// Whether its clean-up is ended too.
    #[serde(default)]
    pub everything: bool,
    /// Whether running steps finish, however long that takes: only nothing new is started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drain: bool,
    /// The step that is to be ended, if it is one: what needs it is skipped, everything else goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// Which priority a run, or one of its steps, is to have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Only of this step, which has it for itself from then on; else of all that were given no other than the run.
    #[serde(default)]
    pub step: Option<String>,
    /// 0 to 100; what is beyond is the nearest of them.
    pub priority: i64,
}

/// How a run is to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Whether it goes on as it was started, even if its files have changed since.
    #[serde(default)]
    pub as_started: bool,
    /// Steps at once, if it is to be other than it was.
    #[serde(default)]
    pub max_workers: Option<u32>,
}

/// How a run is to be made again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Run this step and all that comes after it again, even if they succeeded.
    #[serde(default)]
    pub from: Option<String>,
    /// Steps that count as done, and leave nothing.
    #[serde(default)]
    pub skip: BTreeSet<String>,
    /// Use what it was made from as it is now.
    #[serde(default)]
    pub new_files: bool,
    /// Tasks at once, if it is to be other than it was.
    #[serde(default)]
    pub max_workers: Option<u32>,
    /// Only if it still does what this preview has shown, by its digest.
    #[serde(default)]
    pub preview: Option<String>,
}

/// What is said to a step that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Yes or no.
    pub approved: bool,
    /// Who says so.
    pub by: String,
    /// What else is to be said.
    #[serde(default)]
    pub note: Option<String>,
    /// The one-time code, for a step that wants one. It is handed on, and kept and written down nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Password)]
    pub code: Option<OneTimeCode>,
}

/// A code that is good for a moment. Nobody is shown it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OneTimeCode(String);

impl OneTimeCode {
    /// The code, without what stands around it; `None` if there is nothing in it.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// What is in it, for whoever it is handed on to.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for OneTimeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What is to be run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The name of the flow.
    pub flow: String,
    /// Values of its params. A text for a param of another kind is read as that kind.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, Value>)]
    pub params: BTreeMap<String, Json>,
    /// The priority of steps that say none, 0 to 100; what is beyond is the nearest of them.
    #[serde(default)]
    pub priority: Option<i64>,
    /// Words to find the run by, beside those of the flow.
    #[serde(default)]
    pub tags: Vec<String>,
    /// A name under which it is accepted once, however often it is asked for.
    #[serde(default)]
    pub key: Option<String>,
    /// Steps at once, if it is to be other than the flow says.
    #[serde(default)]
    pub max_workers: Option<u32>,
    /// Only if this version of the flow is in force.
    #[serde(default)]
    pub fingerprint: Option<String>,
}

/// Which part of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LedgerWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Only instants before this one.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub before: Option<Timestamp>,
    /// At most so many lines.
    #[serde(default = "usual_limit")]
    #[schema(minimum = 1, maximum = 500, default = 20)]
    pub limit: u32,
}

impl Default for LedgerWish {
    fn default() -> Self {
        Self { version: None, before: None, limit: 20 }
    }
}

/// Which instants of the past are to fire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackfillWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// From this instant on.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub from: Option<Timestamp>,
    /// Before this instant; now, if nothing is said.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// Only those that did not run.
    #[serde(default)]
    pub missed: bool,
    /// Refuses to fire more than so many; 100, if nothing is said.
    #[serde(default)]
    pub max: Option<u32>,
    /// Whether they run beside each other, instead of one after the other.
    #[serde(default)]
    pub at_once: bool,
}

impl BackfillWish {
    /// The time it is about, if it is now this late.
    pub(crate) fn span(&self, now: Timestamp) -> Result<Span, DeskError> {
        let from = match self.from {
            None if !self.missed => return Err(DeskError::BackfillFromWhen),
            from => from.unwrap_or(Timestamp::UNIX_EPOCH),
        };
        Ok(Span::new(from, self.until.unwrap_or(now)))
    }
}

documents! {
    StartWish: "wish-start" 1,
    LedgerWish: "wish-ledger" 1,
    BackfillWish: "wish-backfill" 1,
    ListWish: "wish-list" 1,
    LogWish: "wish-logs" 1,
    CancelWish: "wish-cancel" 1,
    PriorityWish: "wish-priority" 1,
    ResumeWish: "wish-resume" 1,
    RetryWish: "wish-retry" 1,
    AnswerWish: "wish-answer" 1,
}
