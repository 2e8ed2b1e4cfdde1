//! [`RunSource`]: what is asked about a run while it is told how it goes.
//!
//! Answers only; nothing is waited for.

use std::sync::Arc;

use tidewheel::id::TaskId;
use tidewheel::task::Reason;
use tidewheel::{Run, RunId, TaskState, Tidewheel};

use super::sayings::{Listener, Said};

/// What is known of a run that goes on. Tasks are named by their index.
pub trait RunSource {
    /// The run.
    fn id(&self) -> RunId;

    /// The name of a task; `None` if there is none.
    fn name(&self, index: u32) -> Option<String>;

    /// The state of a task, while the run knows it.
    fn state(&self, index: u32) -> Option<TaskState>;

    /// Why it is in that state.
    fn reason(&self, index: u32) -> Option<Reason>;

    /// What tasks said of themselves since the last time, the oldest first.
    fn hear(&self) -> Vec<(TaskId, Said)>;

    /// Why nothing can be stored for now, if nothing can.
    fn trouble(&self) -> Option<Arc<str>>;
}

/// A run that goes on in a session, and whoever hears its tasks.
#[derive(Debug)]
pub(super) struct LiveRun {
    pub run: Run,
    pub wheel: Tidewheel,
    pub listener: Listener,
}

impl RunSource for LiveRun {
    fn id(&self) -> RunId {
        self.run.id()
    }

    fn name(&self, index: u32) -> Option<String> {
        self.run.task_name(index)
    }

    fn state(&self, index: u32) -> Option<TaskState> {
        self.run.task_state(index)
    }

    fn reason(&self, index: u32) -> Option<Reason> {
        self.run.task_reason(index)
    }

    fn hear(&self) -> Vec<(TaskId, Said)> {
        self.listener.hear()
    }

    fn trouble(&self) -> Option<Arc<str>> {
        self.wheel.trouble()
    }
}
