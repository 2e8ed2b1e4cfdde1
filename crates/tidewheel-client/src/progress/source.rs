//! [`RunSource`]: what is asked about a run while it is told how it goes.
//!
//! Answers only; nothing is waited for.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;
use tidewheel::id::TaskId;
use tidewheel::task::Reason;
use tidewheel::{Run, RunId, TaskState, Tidewheel};
use tidewheel_flow::FlowHost;

use super::sayings::{Listener, Said};
use crate::kind::Definition;

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

    /// The values of the elements that tasks are for, by name, as far as they are known.
    fn elements(&self, _tasks: &[String]) -> HashMap<String, Json> {
        HashMap::new()
    }

    /// Why nothing can be stored for now, if nothing can.
    fn trouble(&self) -> Option<Arc<str>>;
}

/// A run that goes on in a session, and whoever hears its tasks.
pub(super) struct LiveRun {
    pub run: Run,
    pub wheel: Tidewheel,
    pub listener: Listener,
    pub definition: Arc<dyn Definition>,
    /// Who carries it out, if it is a flow.
    pub flows: FlowHost,
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

    fn elements(&self, tasks: &[String]) -> HashMap<String, Json> {
        let left = self.flows.outputs(self.run.id()).unwrap_or_default();
        self.definition.elements_now(tasks, &left)
    }

    fn trouble(&self) -> Option<Arc<str>> {
        self.wheel.trouble()
    }
}
