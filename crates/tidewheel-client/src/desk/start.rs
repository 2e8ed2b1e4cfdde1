//! Starting runs: how many tasks at once, which part of a flow, how long it may take.
//!
//! What is reused of earlier runs is in [`super::reuse`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tidewheel_flow::{Flow, FlowOrder, step_of};

use super::desk::Desk;
use super::error::DeskError;
use crate::text::{harmless, nearest};

/// Steps at once where nobody says otherwise.
pub const WORKERS_DEFAULT: u32 = 4;

/// How many times of a step say how long it takes.
pub const SAMPLES: usize = 3;

/// Steps at once: as somebody says, as the flow does, or as by default.
#[must_use]
pub fn workers_of(said: Option<u32>, flow: &Flow) -> u32 {
    said.or(flow.runner.max_workers).unwrap_or(WORKERS_DEFAULT)
}

impl Desk {
    /// How long the tasks of a flow took before, by name.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn expectations(&self, flow: &str) -> Result<BTreeMap<String, Duration>, DeskError> {
        self.reader.durations(flow, SAMPLES).map_err(|error| self.failed(error))
    }
}

/// Leaves only what was asked for in an order, if not everything was: these steps, or one and all that
/// comes after it. Gives the steps that are left.
///
/// # Errors
///
/// When the flow has no such step.
pub fn select(
    order: &mut FlowOrder,
    flow: &Flow,
    only: &[String],
    from: Option<&str>,
) -> Result<Option<BTreeSet<String>>, DeskError> {
    let chosen: BTreeSet<String> = match from {
        Some(from) => {
            check_step(flow, from)?;
            flow.descendants(from)
        }
        None if only.is_empty() => return Ok(None),
        None => {
            for step in only {
                check_step(flow, step)?;
            }
            only.iter().cloned().collect()
        }
    };
    order.only = Some(chosen.iter().cloned().collect());
    Ok(Some(chosen))
}

fn check_step(flow: &Flow, name: &str) -> Result<(), DeskError> {
    match flow.step(name) {
        Some(_) => Ok(()),
        None => Err(DeskError::NotInFlow { step: name.to_owned(), near: near_step(flow, name) }),
    }
}

/// What somebody may have meant who named a step that the flow does not have.
#[must_use]
pub fn near_step(flow: &Flow, name: &str) -> Option<String> {
    let step = step_of(name);
    if step != name && flow.step(step).is_some() {
        return Some(format!("`{}` is a part of step `{step}`: name the step", harmless(name)));
    }
    let near = nearest(name, flow.steps.iter().map(|step| step.name.as_str()))?;
    Some(format!("did you mean `{near}`?"))
}
