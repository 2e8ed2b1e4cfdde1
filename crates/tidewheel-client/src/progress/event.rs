//! What views are told: the run and its steps, in the words of people.
//!
//! Notices of the scheduler are translated into these in [`super::translation`]. Names, errors and output
//! are given as they are; making them harmless is the view's task.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tidewheel::TaskState;

use crate::api::Document;
use crate::api::times::{millis, millis_if_any};

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// When, in milliseconds since the start of the run.
    #[serde(with = "millis", rename = "at_ms")]
    pub at: Duration,
    /// What.
    pub event: Event,
}

impl Document for Told {
    const NAME: &'static str = "told";
    const VERSION: u32 = 1;

    fn version(&mut self) -> &mut Option<u32> {
        &mut self.version
    }
}

/// Something happened. Steps are named by their index: those of [`Event::RunStarted`] first, then
/// each [`Event::StepAdded`] in turn. What is said of unknown steps is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// The run begins, with the steps known so far.
    RunStarted {
        /// The run's id.
        run_id: String,
        /// The flow's name.
        flow: String,
        /// The steps.
        steps: Vec<StepInfo>,
    },
    /// A step was added while the run goes on.
    StepAdded(StepInfo),
    /// A step cannot start yet for another reason than the steps before it.
    StepWaiting {
        /// Which step.
        step: usize,
        /// A phrase that follows the step's name: "waits for limit `gpu`".
        why: String,
        /// What somebody can say so that it goes on, if it waits for that.
        answer: Option<String>,
    },
    /// An attempt began.
    StepStarted {
        /// Which step.
        step: usize,
        /// The attempt, from 1.
        attempt: u32,
    },
    /// An attempt failed and there will be another.
    StepRetrying {
        /// Which step.
        step: usize,
        /// The attempt that failed.
        attempt: u32,
        /// When the next one starts, since the start of the run.
        #[serde(with = "millis", rename = "at_ms")]
        at: Duration,
        /// What went wrong.
        error: String,
    },
    /// A step is over.
    StepEnded {
        /// Which step.
        step: usize,
        /// How it ended.
        state: EndState,
        /// Why it is in this state, if that needs saying.
        reason: Option<String>,
        /// What went wrong.
        error: Option<String>,
        /// The last lines of its output.
        tail: Vec<String>,
        /// The run is not failed by this.
        is_tolerated: bool,
        /// When it ended is not known: it is told later than it happened.
        is_late: bool,
    },
    /// A step wrote a line.
    StepOutput {
        /// Which step.
        step: usize,
        /// The line, without its end.
        line: String,
    },
    /// The run waits for others before anything of it starts.
    RunWaiting {
        /// For which.
        why: String,
    },
    /// It waits no more.
    RunGoesOn,
    /// Nothing new starts for now.
    Paused,
    /// Steps start again.
    Resumed,
    /// Nothing new starts any more; what runs may finish.
    Draining,
    /// What runs is being ended.
    Killing,
    /// The run is over.
    RunEnded {
        /// How it ended.
        state: EndState,
    },
}

impl Event {
    /// The step that it happened to, if it is one of those that are known.
    #[must_use]
    pub fn step(&self) -> Option<usize> {
        match self {
            Self::StepWaiting { step, .. }
            | Self::StepStarted { step, .. }
            | Self::StepRetrying { step, .. }
            | Self::StepEnded { step, .. }
            | Self::StepOutput { step, .. } => Some(*step),
            _ => None,
        }
    }
}

/// A step before anything happened to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepInfo {
    /// Its name.
    pub name: String,
    /// How long it will take, from past runs.
    #[serde(with = "millis_if_any", rename = "expected_ms")]
    pub expected: Option<Duration>,
    /// The steps it waits for.
    pub after: Vec<usize>,
    /// How many attempts it has at most, if that is known.
    pub attempts_max: Option<u32>,
    /// For one of the elements of a step, or what is inside it: which value it is for, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<Json>,
}

/// How a step or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndState {
    /// As wished.
    Succeeded,
    /// Not as wished.
    Failed,
    /// It never ran, because of another step.
    Skipped,
    /// Somebody ended it.
    Cancelled,
    /// Nobody can say.
    Unknown,
}

impl EndState {
    /// All of them, in the order of summaries.
    pub const ALL: [Self; 5] =
        [Self::Succeeded, Self::Failed, Self::Skipped, Self::Cancelled, Self::Unknown];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl EndState {
    /// How a task ended that is in this state.
    pub(super) fn of(state: TaskState) -> Self {
        match state {
            TaskState::Succeeded => Self::Succeeded,
            TaskState::Failed => Self::Failed,
            TaskState::Skipped => Self::Skipped,
            TaskState::Cancelled => Self::Cancelled,
            _ => Self::Unknown,
        }
    }
}
