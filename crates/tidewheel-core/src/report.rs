//! What a run came to: one line a task, every task in exactly one list.
//!
//! Values that tasks returned are not here; the core never sees them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::graph::Graph;
use crate::id::{RunId, TaskId};
use crate::row::RunResult;
use crate::task::{Reason, Task, TaskState};
use crate::time::{Moment, Timestamp};

/// The state of one task, ended or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// Its identity.
    pub id: TaskId,
    /// Its state.
    pub state: TaskState,
    /// Why.
    pub reason: Reason,
    /// Attempts made.
    pub attempts: u32,
    /// When it last became ready; meaningless while it waits for other tasks.
    pub ready_at: Moment,
    /// When its last attempt started.
    pub started_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// The text of its last error.
    pub error: Option<Arc<str>>,
}

/// How many tasks are in each state.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    counts: [u32; TaskState::ALL.len()],
}

impl Counts {
    /// Tasks in `state`.
    #[must_use]
    pub fn of(&self, state: TaskState) -> u32 {
        self.counts[state as usize]
    }

    /// All tasks.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Tasks in a terminal state.
    #[must_use]
    pub fn ended(&self) -> u32 {
        TaskState::ALL.into_iter().filter(|s| s.is_terminal()).map(|s| self.of(s)).sum()
    }

    pub(crate) fn enter(&mut self, state: TaskState) {
        self.counts[state as usize] += 1;
    }

    pub(crate) fn leave(&mut self, state: TaskState) {
        self.counts[state as usize] -= 1;
    }
}

/// Those that are not zero, in words: "2 succeeded, 1 failed".
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for state in TaskState::ALL.into_iter().filter(|state| self.of(*state) > 0) {
            write!(f, "{comma}{} {state}", self.of(state))?;
            comma = ", ";
        }
        if comma.is_empty() { f.write_str("no tasks") } else { Ok(()) }
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counts({self})")
    }
}

/// How a run, or a group of tasks in it, stands while it has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// How it would end if nothing more came of it.
    pub result: RunResult,
    /// The tasks in it whose failure nobody tolerated, by index: of a group that failed with some of its
    /// own, those. What follows the whole is not among them.
    pub failed: Vec<u32>,
}

/// A finished run.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// The run.
    pub id: RunId,
    /// How it ended.
    pub result: RunResult,
    /// The graph it ran; tasks added later are not in it.
    pub graph: Arc<Graph>,
    /// Names of tasks added while it ran; the first has the index after the graph's last.
    pub added: Vec<Arc<str>>,
    /// Every task as the scheduler left it, by index.
    pub(crate) tasks: Vec<Task>,
    /// Error texts, by index.
    pub(crate) errors: BTreeMap<u32, Arc<str>>,
    /// How many are in each state.
    pub counts: Counts,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// When it was accepted, on the monotonic clock.
    pub started_at: Moment,
    /// When it ended, on the monotonic clock.
    pub ended_at: Moment,
}

impl RunReport {
    /// How many tasks there were.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// Whether there were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// What became of the task with this index.
    #[must_use]
    pub fn task(&self, index: u32) -> Option<TaskReport> {
        let task = self.tasks.get(index as usize)?;
        let error = self.errors.get(&index).cloned();
        Some(TaskReport::new(TaskId { run: self.id, index }, task, error))
    }

    /// What became of every task, by index.
    pub fn tasks(&self) -> impl Iterator<Item = TaskReport> + '_ {
        (0..self.len()).filter_map(|index| self.task(index))
    }
}

impl TaskReport {
    pub(crate) fn new(id: TaskId, task: &Task, error: Option<Arc<str>>) -> Self {
        let known = |moment: Moment| (moment != Moment::MAX).then_some(moment);
        Self {
            id,
            state: task.state,
            reason: task.reason,
            attempts: task.attempts,
            ready_at: task.ready_at,
            started_at: known(task.started_at),
            ended_at: known(task.ended_at),
            error,
        }
    }
}
