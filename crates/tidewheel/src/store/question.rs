//! Questions about work that another process has, and the answers its scheduler gives.
//!
//! How they get there and back is the store's business. Nothing is decided by them: one that nobody
//! answers in time is taken back, and no harm is done.

use std::time::Duration;

use tidewheel_core::Preview;
use tidewheel_core::explain::{Explanation, Hold, Place};
use tidewheel_core::id::RunId;
use tidewheel_core::policy::Priority;
use tidewheel_core::task::TaskState;

/// Why are these tasks of a run not running?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its number, to be answered by.
    pub id: i64,
    /// The run or submission.
    pub run: RunId,
    /// The indices of the tasks.
    pub tasks: Vec<u32>,
}

/// What would the order be, if a run or one of its tasks had this priority?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WhatIf {
    /// Its number, to be answered by.
    pub id: i64,
    /// The run or submission.
    pub run: RunId,
    /// The index of a task; `None`: all that were given no other priority than the run.
    pub task: Option<u32>,
    /// The priority.
    pub priority: Priority,
}

/// What the owner of a run says to [`WhatIf`]: the order, or in words why the priority cannot be changed.
pub type Previewed = Result<Preview, String>;

/// What the owner of a run says of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskAnswer {
    /// The index of the task.
    pub task: u32,
    /// Its state.
    pub state: TaskState,
    /// Every rule that holds it, the most decisive first, in words.
    pub holds: Vec<String>,
    /// Its place in the order, while it is ready.
    pub place: Option<Place>,
    /// In how long it is expected to start, where that can be told.
    pub expected_start: Option<Duration>,
}

impl TaskAnswer {
    /// The answer that an explanation and a look ahead give.
    #[must_use]
    pub fn new(explanation: Explanation, expected_start: Option<Duration>) -> Self {
        let run_slots = explanation.holds.iter().find_map(|hold| match hold {
            Hold::RunSlotsTaken { active, slots } => Some((*active, *slots)),
            _ => None,
        });
        // Where a run has all slots there are, that they are taken is said once.
        let is_told = |hold: &&Hold| match hold {
            Hold::SchedulerFull { active, slots } => run_slots != Some((*active, *slots)),
            _ => true,
        };
        Self {
            task: explanation.task.index,
            state: explanation.state,
            holds: explanation.holds.iter().filter(is_told).map(ToString::to_string).collect(),
            place: explanation.place,
            expected_start,
        }
    }
}
