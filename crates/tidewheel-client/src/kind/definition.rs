//! [`Definition`]: what was asked for, as questions about the tasks of one run.
//!
//! Answers only; when anything is started and what a failure means is decided by the scheduler.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json};
use tidewheel::TaskState;
use tidewheel::store::{RunDetail, TaskSummary};
use tidewheel_flow::Outputs;

/// What only the definition of a run can say of its tasks, which are given by name. A kind that knows
/// nothing of a question leaves it out.
pub trait Definition: fmt::Debug + Send + Sync {
    /// Whether a task waits for something outside: its looks are one attempt for people.
    fn is_wait(&self, _task: &str) -> bool {
        false
    }

    /// Whether a task looks again and again for something of which nobody knows when it comes.
    fn looks_outside(&self, _task: &str) -> bool {
        false
    }

    /// Whether all attempts at a task write one log, that of the first: what they do is one story for people.
    fn has_one_log(&self, _task: &str) -> bool {
        false
    }

    /// The time that passes before the attempt of a task that waits for it, which is part of what it does.
    fn waited_before(&self, _task: &str) -> Duration {
        Duration::ZERO
    }

    /// What a task waits for, as a phrase that follows its name: "waits for a file".
    fn waits_for(&self, _task: &str) -> Option<String> {
        None
    }

    /// Whether a task waits for somebody's approval.
    fn asks(&self, _task: &str) -> bool {
        false
    }

    /// Whether a yes to a task that asks has to come with a one-time code, which is [handed on](super::Kind::hand_code).
    fn wants_code(&self, _task: &str) -> bool {
        false
    }

    /// What a task does, in one word: `process`, `http`.
    fn work_of(&self, _task: &str) -> Option<&'static str> {
        None
    }

    /// How long a task may take.
    fn timeouts(&self, _task: &str) -> Timeouts {
        Timeouts::default()
    }

    /// How often a task is tried at most, if that may be more than once.
    fn attempts_max(&self, _task: &str) -> Option<u32> {
        None
    }

    /// Whether a failure of this task would be tolerated, as far as it is known while the run goes on.
    fn tolerates(&self, _task: &str) -> bool {
        false
    }

    /// The tasks of a run whose failure was tolerated, by index.
    fn tolerated(&self, run: &RunDetail) -> BTreeSet<u32> {
        tolerated_by_success(run)
    }

    /// What the run was given as left by this task, if it was.
    fn reused(&self, _task: &str) -> Option<Map<String, Json>> {
        None
    }

    /// Whether somebody wanted this task to be passed over: it counts as done, and left nothing.
    fn is_passed_over(&self, _task: &str) -> bool {
        false
    }

    /// Whether it takes what tasks left to know for which elements the tasks of a run are.
    fn needs_outputs(&self, _run: &RunDetail) -> bool {
        false
    }

    /// The values of the elements that tasks of a run are for, by name, as far as they are known. `outputs` says
    /// what a task left, by its index.
    fn elements(
        &self,
        _run: &RunDetail,
        _outputs: &dyn Fn(u32) -> Map<String, Json>,
    ) -> HashMap<String, Json> {
        HashMap::new()
    }

    /// The same while the run goes on here, and its tasks have left this for each other.
    fn elements_now(&self, _tasks: &[String], _left: &Arc<Outputs>) -> HashMap<String, Json> {
        HashMap::new()
    }

    /// The values of the params that the run was started with. Secrets are none.
    fn params(&self) -> BTreeMap<String, Json> {
        BTreeMap::new()
    }

    /// The run that this one makes again, if it does.
    fn makes_again(&self) -> Option<String> {
        None
    }

    /// Words to find the run by.
    fn tags(&self) -> Vec<String> {
        Vec::new()
    }

    /// Words to find a task by.
    fn tags_of(&self, _task: &str) -> Vec<String> {
        Vec::new()
    }

    /// When a task is done, as the condition that did not hold for one that was not: "it is done only if
    /// the flow fails".
    fn condition(&self, _task: &str) -> Option<String> {
        None
    }

    /// Whether a task does nothing but stand for others that are part of it.
    fn stands_for_others(&self, _task: &str) -> bool {
        false
    }

    /// Whether something is done after the run, whatever became of it.
    fn has_clean_up(&self) -> bool {
        false
    }
}

/// How long a task may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// Each attempt.
    pub attempt: Option<Duration>,
    /// All attempts together.
    pub task: Option<Duration>,
}

/// The failed tasks of a run that succeeded all the same.
pub(super) fn tolerated_by_success(run: &RunDetail) -> BTreeSet<u32> {
    let is_failed =
        |task: &&TaskSummary| matches!(task.state, TaskState::Failed | TaskState::Unknown);
    match run.summary.state {
        TaskState::Succeeded => run.tasks.iter().filter(is_failed).map(|task| task.index).collect(),
        _ => BTreeSet::new(),
    }
}

/// A run of a kind that nobody here knows.
#[derive(Debug)]
pub(super) struct Unknown;

impl Definition for Unknown {}
