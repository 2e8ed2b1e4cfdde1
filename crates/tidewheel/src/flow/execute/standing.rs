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
        let Position { scope, step, .. } = position;
        if !self.is_called(scope, attempt)? || !self.is_followed(scope, step.place, attempt) {
            return Ok(false);
        }
        Ok(scope.calls.is_empty() || self.has_what_it_needs(scope, step, attempt))
    }

    /// Whether the steps of a flow at this place stand so that a step which follows them, or is one
    /// of them, has its turn.
    pub(super) fn is_followed(&self, scope: &Scope, place: Place, attempt: &Attempt) -> bool {
        if place == Place::Flow {
            return true;
        }
        let standing = self.standing(scope, attempt);
        // A flow that was not called because something before it failed is not followed either.
        if !standing.has_run && !scope.calls.is_empty() {
            return false;
        }
        match place {
            Place::OnSuccess => !standing.has_failed,
            Place::OnFailure => standing.has_failed,
            Place::Finally | Place::Flow => true,
        }
    }

    /// Whether a step of a called flow has what it needs there. The scheduler starts it either way.
    fn has_what_it_needs(&self, scope: &Scope, step: &Step, attempt: &Attempt) -> bool {
        let name = format!("{}{}", scope.prefix(), step.name);
        if let Some(known) = self.known_needs(&name) {
            return known;
        }
        let said = &step.treatment;
        let goes_on = said.on_dependency_error.or(said.on_error) == Some(OnError::Continue);
        let mut needed = step.after.iter().filter_map(|it| scope.flow.step(&it.step));
        let has_all = goes_on || needed.all(|needed| self.is_met(scope, needed, attempt));
        self.remember_needs(name, has_all);
        has_all
    }

    /// Whether a step of a called flow has succeeded, or had nothing to do although it could.
    fn is_met(&self, scope: &Scope, needed: &Step, attempt: &Attempt) -> bool {
        let Some(run) = attempt.run() else { return true };
        let task = run.task(&format!("{}{}", scope.prefix(), needed.name));
        let Ok(explained) = attempt.wheel().explain(task) else { return true };
        match (explained.facts.state, explained.facts.reason) {
            (TaskState::Succeeded, _) => true,
            (TaskState::Skipped, Reason::Condition) => {
                self.has_what_it_needs(scope, needed, attempt)
            }
            _ => false,
        }
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
    match state {
        TaskState::Failed | TaskState::Unknown => !step.is_tolerated(),
        TaskState::Cancelled => true,
        TaskState::Skipped => matches!(reason, Reason::RunStopped(_)),
        _ => false,
    }
}
