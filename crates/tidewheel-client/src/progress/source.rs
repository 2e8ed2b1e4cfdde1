//! [`RunSource`]: what is asked about a run while it is told how it goes.
//!
//! Answers only; nothing is waited for.

use tidewheel::store::AttemptRecord;
use tidewheel::{Reason, Run, RunId, TaskId, TaskState};

use super::sayings::Said;
use crate::session::Session;

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

    /// What was said of its newest attempt, once.
    fn take_record(&self, index: u32) -> Option<AttemptRecord>;

    /// What tasks said of themselves since the last time, the oldest first; others' too.
    fn hear(&self) -> Vec<(TaskId, Said)>;
}

/// A run that goes on in a session.
#[derive(Debug, Clone, Copy)]
pub struct LiveRun<'a> {
    session: &'a Session,
    run: &'a Run,
}

impl<'a> LiveRun<'a> {
    /// A run of this session.
    #[must_use]
    pub fn new(session: &'a Session, run: &'a Run) -> Self {
        Self { session, run }
    }
}

impl RunSource for LiveRun<'_> {
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

    fn take_record(&self, index: u32) -> Option<AttemptRecord> {
        self.session.take_record(TaskId { run: self.run.id(), index })
    }

    fn hear(&self) -> Vec<(TaskId, Said)> {
        self.session.sayings.hear()
    }
}
