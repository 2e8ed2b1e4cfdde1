//! Starting runs: how many tasks at once, what steps may be meant, how long it may take.
//!
//! What is reused of earlier runs is in [`super::reuse`], which part of a flow is run in [`crate::files`].

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel_flow::{Flow, step_of};

use super::error::DeskError;
use super::local::LocalDesk;
use crate::text::{harmless, nearest};

/// Steps at once where nobody says otherwise.
pub const WORKERS_DEFAULT: u32 = 4;

/// How many times of a step say how long it takes.
pub const SAMPLES: usize = 3;

/// Steps at once: as somebody says, as the flow does, or as by default.
pub(crate) fn workers_of(said: Option<u32>, flow: &Flow) -> u32 {
    said.or(flow.runner.max_workers).unwrap_or(WORKERS_DEFAULT)
}

impl LocalDesk {
    /// How long the tasks of a flow took before, by name.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn expectations(&self, flow: &str) -> Result<BTreeMap<String, Duration>, DeskError> {
        self.read(|reader| reader.durations(flow, SAMPLES))
    }
}

/// What somebody may have meant who named a step that the flow does not have.
pub(crate) fn near_step(flow: &Flow, name: &str) -> Option<String> {
    let step = step_of(name);
    if step != name && flow.step(step).is_some() {
        return Some(format!("`{}` is a part of step `{step}`: name the step", harmless(name)));
    }
    let near = nearest(name, flow.steps.iter().map(|step| step.name.as_str()))?;
    Some(format!("did you mean `{near}`?"))
}
