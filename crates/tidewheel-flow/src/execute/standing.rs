//! Whether a task has its turn: how the steps before it, and those of its flow, stand.
//!
//! What a failure means for the run is decided by the scheduler. Here it is only looked at, by tasks
//! that the scheduler starts in any case: those that follow the run, and those of called flows.

use tidewheel::policy::{OnError, failure};
use tidewheel::{Attempt, Reason, Run, TaskState};

use super::context::Position;
use super::end::Trouble;
use super::runner::FlowRunner;
use crate::compile::Scope;
use crate::definition::{Flow, Place, Step};

/// How the steps of a flow stand when all of them have ended.
struct Standing {
    has_failed: bool,
    has_run: bool,
}

impl FlowRunner {
    /// Fails with [`Outcome::Skipped`](tidewheel::Outcome::Skipped) if the task is not to
    /// be done at all.
    pub(super) fn check_turn(&self, position: &Position, attempt: &Attempt) -> Result<(), Trouble> {
        let Position { scope, step, .. } = position;
        if !self.is_called(scope, attempt)? || !self.is_followed(scope, step.place, attempt) {
            return Err(Trouble::skipped());
        }
        let is_called = !scope.calls.is_empty();
        if (is_called || step.place != Place::Flow)
            && let Some(missing) = self.missing(scope, step, attempt)
        {
            return Err(Trouble::skipped_because(format!("`{missing}` failed")));
        }
        let may_be_stopped = step.place == Place::Flow && !step.treatment.always;
        if may_be_stopped && let Some(stopper) = self.stopper(scope, attempt) {
            return Err(Trouble::skipped_because(format!("`{stopper}` stopped the called flow")));
        }
        Ok(())
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

    /// A task that a step needs and cannot do without, and that did not succeed. The scheduler starts
    /// the step either way.
    fn missing(&self, scope: &Scope, step: &Step, attempt: &Attempt) -> Option<String> {
        let name = format!("{}{}", scope.prefix(), step.name);
        if let Some(known) = self.known_missing(&name) {
            return known;
        }
        let said = &step.treatment;
        let own = said.on_dependency_error.or(said.on_error);
        let needed = step.after.iter().filter_map(|it| scope.flow.step(&it.step));
        // What follows the run does so whatever became of the steps of the run.
        let mut needed = needed.filter(|needed| needed.place == step.place);
        let missing = needed.find_map(|needed| {
            let word = failure::word(own, needed.treatment.on_error, scope.flow.runner.on_error);
            self.unmet(scope, needed, word, attempt)
        });
        self.remember_missing(name, missing.clone());
        missing
    }

    /// The task to name if a step has neither succeeded nor had nothing to do although it could. The
    /// word is about its failure; that it was skipped after one passes on whatever the word.
    fn unmet(
        &self,
        scope: &Scope,
        needed: &Step,
        word: OnError,
        attempt: &Attempt,
    ) -> Option<String> {
        let run = attempt.run()?;
        let name = format!("{}{}", scope.prefix(), needed.name);
        match state_of(&run, &name, attempt)? {
            (TaskState::Succeeded, _) => None,
            (TaskState::Skipped, Reason::Condition) => self.missing(scope, needed, attempt),
            (TaskState::Skipped, _) => Some(name),
            _ => (word != OnError::Continue).then_some(name),
        }
    }

    /// The task whose failure has stopped a called flow, or one around it.
    fn stopper(&self, scope: &Scope, attempt: &Attempt) -> Option<String> {
        if scope.calls.is_empty() {
            return None;
        }
        let run = attempt.run()?;
        let counts = run.counts();
        let failures = counts.of(TaskState::Failed) + counts.of(TaskState::Unknown);
        if failures == 0 {
            return None;
        }
        let own = match self.known_stopper(&scope.path(), failures) {
            Some(known) => known,
            None => {
                let stopper = self.find_stopper(scope, &run, attempt);
                self.remember_stopper(scope.path(), failures, stopper.clone());
                stopper
            }
        };
        own.or_else(|| self.stopper(&scope.around(self.flow())?, attempt))
    }

    fn find_stopper(&self, scope: &Scope, run: &Run, attempt: &Attempt) -> Option<String> {
        let prefix = scope.prefix();
        let mut steps = scope.flow.steps.iter().filter(|step| step.place == Place::Flow);
        steps.find_map(|step| {
            let name = format!("{prefix}{}", step.name);
            let (state, _) = state_of(run, &name, attempt)?;
            let has_failed = matches!(state, TaskState::Failed | TaskState::Unknown);
            (has_failed && scope.flow.is_stopped_by(step)).then_some(name)
        })
    }

    fn standing(&self, scope: &Scope, attempt: &Attempt) -> Standing {
        let mut standing = Standing { has_failed: false, has_run: false };
        let Some(run) = attempt.run() else { return standing };
        let prefix = scope.prefix();
        for step in scope.flow.steps.iter().filter(|step| step.place == Place::Flow) {
            let name = format!("{prefix}{}", step.name);
            let Some((state, reason)) = state_of(&run, &name, attempt) else { continue };
            standing.has_run |= state != TaskState::Skipped || reason == Reason::Condition;
            standing.has_failed |= is_failure(&scope.flow, step, state, reason);
        }
        standing
    }
}

fn state_of(run: &Run, task: &str, attempt: &Attempt) -> Option<(TaskState, Reason)> {
    let explained = attempt.wheel().explain(run.task(task)).ok()?;
    Some((explained.facts.state, explained.facts.reason))
}

fn is_failure(flow: &Flow, step: &Step, state: TaskState, reason: Reason) -> bool {
    match state {
        TaskState::Failed | TaskState::Unknown => !step.is_tolerated() || flow.is_stopped_by(step),
        TaskState::Cancelled => true,
        TaskState::Skipped => matches!(reason, Reason::RunStopped(_)),
        _ => false,
    }
}
