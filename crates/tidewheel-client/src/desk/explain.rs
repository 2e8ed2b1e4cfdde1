//! Why steps are where they are, in words.
//!
//! Whoever runs the run is asked: its scheduler knows what holds a task, and when it will start. What can be
//! told of a run that nobody runs, or whose process does not answer, is found out by its kind:
//! [`crate::kind::Definition::why`].

use std::collections::HashMap;
use std::time::Duration;

use tidewheel::TaskState;
use tidewheel::store::{TaskAnswer, TaskSummary};
use tidewheel::task::Reason;
use tidewheel_flow::Why;

use super::desk::Desk;
use super::error::DeskError;
use super::find::task_of;
use super::states::step_state;
use super::view::{RunView, StepView};
use crate::api::{Explained, StepExplained};
use crate::text::{ago, harmless, short_id, until};

/// How long whoever runs a run is waited for. It looks for questions every 50 ms; a process that is frozen
/// or on its last legs does not answer at all.
const PATIENCE: Duration = Duration::from_secs(2);

impl Desk {
    /// Why a step of a run is where it is; else all that have not succeeded.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub fn explain(&self, word: &str, step: Option<&str>) -> Result<Explained, DeskError> {
        let view = self.show(word)?;
        let answers = self.ask(&view)?;
        view.explain(step, &answers)
    }

    /// What whoever runs a run says of its tasks that wait; nothing where nobody answers.
    ///
    /// # Errors
    ///
    /// When the data folder cannot be read or written.
    pub fn ask(&self, view: &RunView) -> Result<Vec<TaskAnswer>, DeskError> {
        let summary = &view.detail.summary;
        if !summary.is_live || view.is_abandoned {
            return Ok(Vec::new());
        }
        let waits = |task: &&TaskSummary| !task.state.is_terminal() && !task.state.holds_slot();
        let tasks: Vec<u32> = view.detail.tasks.iter().filter(waits).map(|it| it.index).collect();
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.folder.ask_owner(summary.id, &tasks, PATIENCE);
        Ok(answer.map_err(|error| self.failed(error))?.unwrap_or_default())
    }
}

impl RunView {
    /// Why a step of the run is where it is; else all that have not succeeded. `answers` is what whoever
    /// runs it says: [`Desk::ask`].
    ///
    /// # Errors
    ///
    /// When there is no such step.
    pub fn explain(
        &self,
        step: Option<&str>,
        answers: &[TaskAnswer],
    ) -> Result<Explained, DeskError> {
        let tasks: Vec<&TaskSummary> = match step {
            Some(step) => vec![task_of(&self.detail, step)?],
            None => {
                let tasks = self.detail.tasks.iter();
                tasks.filter(|task| task.state != TaskState::Succeeded).collect()
            }
        };
        let views = self.listed();
        let about: HashMap<u32, &StepView<'_>> =
            views.iter().map(|step| (step.task.index, step)).collect();
        let whys = self.definition.why(&self.detail, self.is_abandoned, &self.shared, &tasks);
        let steps = tasks.iter().zip(whys).map(|(task, (why, waits_for))| {
            let about = about.get(&task.index);
            let timeout = about.and_then(|step| step.timeout.as_deref());
            let answer = answers.iter().find(|answer| answer.task == task.index);
            let expected = answer.and_then(|answer| answer.expected_start);
            StepExplained {
                step: task.name.clone(),
                state: step_state(task.state),
                tolerated: about.is_some_and(|step| step.is_tolerated),
                why: answer
                    .and_then(|answer| told(answer, &why))
                    .unwrap_or_else(|| words(self, task, &why, timeout)),
                waits_for,
                expected_start_seconds: expected.map(|it| it.as_secs_f64()),
            }
        });
        Ok(Explained {
            version: None,
            run_id: self.detail.summary.id.to_string(),
            state: self.state(),
            steps: steps.collect(),
        })
    }
}

/// What the scheduler says of a task that could start but for its rules. Where the flow says more, such as what
/// is waited for outside, that is told instead.
fn told(answer: &TaskAnswer, why: &Why) -> Option<String> {
    let is_known_better = matches!(
        why,
        Why::Needs(_)
            | Why::Waits { .. }
            | Why::Retry { .. }
            | Why::StartsAt(_)
            | Why::Elements { .. }
            | Why::SharedLimit { .. }
            | Why::Paused
    );
    let holds: Vec<String> = answer.holds.iter().map(|hold| harmless(hold)).collect();
    (!is_known_better && !holds.is_empty()).then(|| holds.join("; "))
}

/// Why a task is where it is, for people.
fn words(view: &RunView, task: &TaskSummary, why: &Why, timeout: Option<&str>) -> String {
    let later = |at: &Option<_>| at.map_or_else(|| "later".to_owned(), until);
    match why {
        Why::Interrupted => "nobody runs the run".to_owned(),
        Why::Paused => "the run is paused".to_owned(),
        Why::Needs(needs) => format!("it waits for {}", names(needs)),
        Why::StartsAt(at) => format!("it starts {}", later(at)),
        Why::Retry { at, error } => {
            format!("it is tried again {}, after: {}", later(at), harmless(error))
        }
        Why::Waits { what, asks: true, .. } => {
            let (run, name) = (short_id(view.detail.summary.id), harmless(&task.name));
            format!("it {}; say `tidewheel approve {run} '{name}'`", harmless(what))
        }
        Why::Waits { what, next, .. } => {
            format!("it {}; the next look is {}", harmless(what), later(next))
        }
        Why::Limit { name, holders } => {
            format!("it waits for limit `{}`, held by {}", harmless(name), names(holders))
        }
        Why::SharedLimit { name, units, most, holders } => {
            let (name, holders) = (harmless(name), names(holders));
            format!("it waits for {units} of {most} units of limit `{name}`, held by {holders}")
        }
        Why::LimitOrTurn { name } => {
            format!("it waits for limit `{}`, or for its turn", harmless(name))
        }
        Why::Queue { name, most, holders } => {
            format!("of queue `{}` {most} run at once: {}", harmless(name), running(holders))
        }
        Why::Key { name, holders } => {
            format!("it waits for key `{}`, held by {}", harmless(name), names(holders))
        }
        Why::Elements { step, most, holders } => {
            format!("of `{}` {most} run at once: {}", harmless(step), running(holders))
        }
        Why::Slots { most: 1, holders } => {
            format!("it waits for the only slot: {}", running(holders))
        }
        Why::Slots { most, holders } => {
            format!("it waits for one of {most} slots: {}", running(holders))
        }
        Why::AboutToStart if view.waits_for().is_some() => {
            format!("the run is {}", view.waits_for().unwrap_or_default())
        }
        Why::AboutToStart => {
            "nothing of the flow holds it: it is about to start, or waits for room where it runs"
                .to_owned()
        }
        Why::Runs { attempt, since } => {
            format!("attempt {attempt} started {}", since.map_or_else(String::new, ago))
        }
        Why::Stopping => "it was told to stop".to_owned(),
        Why::Done => "it is done".to_owned(),
        Why::Ended { reason, error } => ended(view, task, *reason, timeout.or(error.as_deref())),
        _ => "no reason is known".to_owned(),
    }
}

/// How a task ended that did not succeed: what happened, and what its last attempt said.
fn ended(view: &RunView, task: &TaskSummary, reason: Reason, error: Option<&str>) -> String {
    let tries = match task.attempts {
        0 => "before it started".to_owned(),
        1 => "in its only attempt".to_owned(),
        count => format!("in attempt {count}, its last"),
    };
    let what = match reason {
        Reason::Ordinary | Reason::Error | Reason::Panic => None,
        Reason::AttemptTimeout => Some(format!("its time was over {tries}")),
        Reason::TaskTimeout => Some(format!("the time for all its attempts was over {tries}")),
        Reason::RunTimeout => Some(format!("the time of the run was over {tries}")),
        Reason::Requested => Some(format!("somebody cancelled it or the run {tries}")),
        Reason::ShutDown => Some(format!("the process that ran it was stopped {tries}")),
        Reason::Condition => Some(
            "its condition did not hold: that of its `when`, or of the list it is in".to_owned(),
        ),
        _ => view.reason(task),
    };
    match (what, error) {
        (None, None) => "no reason is known".to_owned(),
        (Some(what), None) => harmless(&what),
        (None, Some(error)) => harmless(error),
        (Some(what), Some(error)) if error.contains(&what) => harmless(error),
        (Some(what), Some(error)) => harmless(&format!("{what}: {error}")),
    }
}

/// How many tasks are named at most.
const NAMES_MAX: usize = 10;

fn names(tasks: &[String]) -> String {
    let mut names: Vec<String> = tasks.iter().take(NAMES_MAX).map(|task| harmless(task)).collect();
    if let Some(more) = tasks.len().checked_sub(NAMES_MAX).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

fn running(tasks: &[String]) -> String {
    format!("{} {}", names(tasks), if tasks.len() == 1 { "runs" } else { "run" })
}
