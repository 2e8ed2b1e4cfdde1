//! Whether a step that follows the run has its turn: how the steps before it stand.
//!
//! What a failure means for the run is decided by the scheduler; here it is only looked at.

use tidewheel_core::policy::OnError;
use tidewheel_core::task::{Reason, TaskState};

use super::context::Position;
use super::end::Trouble;
use super::runner::FlowRunner;
use crate::attempt::Attempt;
use crate::flow::compile::Scope;
use crate::flow::definition::{Place, Step};

/// How the steps of a flow stand when all of them have ended.
struct Standing {
    has_failed: bool,
    has_run: bool,
}

impl FlowRunner {
    /// Whether the step is to be done at all, as far as its place says.
    pub(super) fn has_its_turn(
        &self,
        position: &Position,
        attempt: &Attempt,
    ) -> Result<bool, Trouble> {
        if !self.is_called(&position.scope)? {
            return Ok(false);
        }
        if position.step.place == Place::Flow {
            return Ok(true);
        }
        let standing = self.standing(&position.scope, attempt);
        // A flow that was not called because something before it failed is not followed either.
        if !standing.has_run && !position.scope.calls.is_empty() {
            return Ok(false);
        }
        Ok(match position.step.place {
            Place::OnSuccess => !standing.has_failed,
            Place::OnFailure => standing.has_failed,
            Place::Finally | Place::Flow => true,
        })
    }

    fn standing(&self, scope: &Scope, attempt: &Attempt) -> Standing {
        let mut standing = Standing { has_failed: false, has_run: false };
        let Some(run) = attempt.run() else { return standing };
        let (wheel, prefix) = (attempt.wheel(), scope.prefix());
        for step in scope.flow.steps.iter().filter(|step| step.place == Place::Flow) {
            let task = run.task(&format!("{prefix}{}", step.name));
            let Ok(explained) = wheel.explain(&task) else { continue };
            let (state, reason) = (explained.facts.state, explained.facts.reason);
            standing.has_run |= state != TaskState::Skipped || reason == Reason::Condition;
            standing.has_failed |= is_failure(step, state, reason);
        }
        standing
    }
}

fn is_failure(step: &Step, state: TaskState, reason: Reason) -> bool {
    let word = step.treatment.on_error;
    let is_tolerated = matches!(word, Some(OnError::Skip | OnError::Continue));
    match state {
        TaskState::Failed | TaskState::Unknown => !is_tolerated,
        TaskState::Cancelled => true,
        TaskState::Skipped => matches!(reason, Reason::RunStopped(_)),
        _ => false,
    }
}
