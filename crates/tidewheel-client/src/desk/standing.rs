//! How a run stands, for whoever watches it from elsewhere.
//!
//! What a run came to, with what its steps left, is in [`super::view`].

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel::TaskState;
use tidewheel::store::{AttemptRecord, TaskSummary};
use tidewheel::task::Reason;

use super::error::DeskError;
use super::local::LocalDesk;
use super::states::step_state;
use super::view::{RunView, StepView};
use crate::api::{Standing, StepStanding, StepState};

/// More lines of what a step wrote are not sent along.
const TAIL_MAX: usize = 20;

impl LocalDesk {
    /// How a run stands, step by step.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub fn standing(&self, word: &str) -> Result<Standing, DeskError> {
        let view = self.glimpse(self.find(word)?)?;
        let summary = &view.detail.summary;
        let expected = match &summary.name {
            Some(name) if summary.is_live => self.expectations(name)?,
            _ => BTreeMap::new(),
        };
        Ok(view.standing(&expected))
    }
}

impl RunView {
    /// How it stands, step by step, with how long steps will take as far as that is known.
    #[must_use]
    pub fn standing(&self, expected: &BTreeMap<String, Duration>) -> Standing {
        let summary = &self.detail.summary;
        Standing {
            version: None,
            run_id: summary.id.to_string(),
            flow: summary.name.clone(),
            state: self.state(),
            why: self.waits_for(),
            accepted_at: summary.accepted_at,
            ended_at: summary.ended_at,
            steps: self.standings(expected),
        }
    }

    fn standings(&self, expected: &BTreeMap<String, Duration>) -> Vec<StepStanding> {
        let (mut elements, critical) = (self.elements(), self.critical());
        let steps: Vec<StepView<'_>> = self.all();
        let standing = |step: &StepView<'_>| StepStanding {
            element: elements.remove(&step.task.name),
            critical: critical.has(step.task.index),
            ..self.step_standing(step, expected.get(&step.task.name).copied())
        };
        steps.iter().map(standing).collect()
    }

    fn step_standing(&self, step: &StepView<'_>, expected: Option<Duration>) -> StepStanding {
        let StepView { task, attempts, is_tolerated, timeout } = step;
        let definition = &*self.definition;
        let state = step_state(task.state);
        let (started_at, ended_at) = self.times_of(task);
        let newest = self.results.get(&task.index).and_then(|result| result.newest.as_ref());
        // Whoever asks does so also while it looks whether somebody has answered.
        let asks = self.has_asked(task);
        // A look that found that it is not time yet is no failure.
        let is_waiting = asks || task.reason == Reason::Postponed && !state.has_ended();
        let retry_at = task.until.filter(|_| task.state == TaskState::Delayed && !is_waiting);
        let waits = is_waiting.then(|| definition.waits_for(&task.name)).flatten();
        let has_gone_wrong = state.has_ended() && state != StepState::Succeeded;
        let error = newest.and_then(|record| record.error.clone()).or_else(|| task.error.clone());
        StepStanding {
            name: task.name.clone(),
            state,
            after: task.after.clone(),
            // How long something lets others wait is not known from before.
            expected: expected.filter(|_| !definition.is_wait(&task.name)),
            attempts_max: definition.attempts_max(&task.name),
            element: None,
            attempt: *attempts,
            started_at,
            retry_at: retry_at.filter(|_| *attempts > 0),
            ended_at,
            reason: timeout.clone().or_else(|| self.ended_because(task)),
            error: error.filter(|_| has_gone_wrong || retry_at.is_some()),
            tail: newest.filter(|_| has_gone_wrong).map(tail_of).unwrap_or_default(),
            tolerated: *is_tolerated || definition.tolerates(&task.name),
            critical: false,
            asks,
            wants_code: asks && definition.wants_code(&task.name),
            waits: waits.or_else(|| is_waiting.then(|| "waits".to_owned())),
        }
    }

    /// Why a step that has ended did, if its error does not say it.
    fn ended_because(&self, task: &TaskSummary) -> Option<String> {
        match (task.state, task.reason) {
            (state, _) if !state.is_terminal() => None,
            (_, Reason::Error) | (TaskState::Cancelled, Reason::Requested) => None,
            _ => self.reason(task),
        }
    }
}

/// The last lines that an attempt wrote.
fn tail_of(record: &AttemptRecord) -> Vec<String> {
    let lines: Vec<&str> = record.tail.as_deref().unwrap_or_default().lines().collect();
    // One line is not said twice.
    let is_said = |line: &str| record.error.as_deref().is_some_and(|it| it.contains(line.trim()));
    match lines[..] {
        [line] if is_said(line) => Vec::new(),
        _ => {
            let first = lines.len().saturating_sub(TAIL_MAX);
            lines[first..].iter().map(|line| (*line).to_owned()).collect()
        }
    }
}
