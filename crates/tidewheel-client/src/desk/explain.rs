//! Why steps are where they are, in words.
//!
//! What holds a step that could start, and when it will, is known to whoever runs the run, who is asked: in this
//! process, or through the folder. Of a run that nobody runs, or whose process does not answer, only what is stored is told.

use std::collections::HashSet;
use std::time::Duration;

use tidewheel::TaskState;
use tidewheel::store::{TaskAnswer, TaskSummary};
use tidewheel::task::Reason;

use super::error::DeskError;
use super::find::task_of;
use super::local::LocalDesk;
use super::states::step_state;
use super::unforeseen::held_outside;
use super::view::{RunView, StepView};
use crate::api::{Explained, RunState, StepExplained};
use crate::text::{ago, harmless, short_id, until};

/// How long whoever runs a run is waited for. It looks for questions every 50 ms; a process that is frozen
/// or on its last legs does not answer at all.
const PATIENCE: Duration = Duration::from_secs(2);

/// What came of asking whoever runs a run.
#[derive(Debug)]
enum Heard {
    /// There was nobody, or nothing, to ask.
    Nothing,
    /// It did not answer.
    Silence,
    /// What it says of tasks that wait.
    Answers(Vec<TaskAnswer>),
}

impl Heard {
    fn about(&self, task: u32) -> Option<&TaskAnswer> {
        match self {
            Self::Answers(answers) => answers.iter().find(|answer| answer.task == task),
            _ => None,
        }
    }
}

impl LocalDesk {
    /// Why a step of a run is where it is; else all that have not succeeded.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub fn explain(&self, word: &str, step: Option<&str>) -> Result<Explained, DeskError> {
        let view = self.glimpse(self.find(word)?)?;
        let only = step.map(|step| task_of(&view.detail, step)).transpose()?;
        let heard = self.ask(&view, only)?;
        Ok(view.explain(only, &heard))
    }

    /// Why a step of a run that was read before is where it is.
    pub(super) fn explain_step(
        &self,
        view: &RunView,
        step: &StepView<'_>,
    ) -> Result<StepExplained, DeskError> {
        let heard = self.ask(view, Some(step.task))?;
        Ok(view.explain_step(step, &heard, &held_outside(&view.detail, &*view.definition)))
    }

    /// Asks whoever runs a run about its tasks that wait, or about one of them only.
    fn ask(&self, view: &RunView, only: Option<&TaskSummary>) -> Result<Heard, DeskError> {
        let summary = &view.detail.summary;
        if !summary.is_live || view.is_abandoned {
            return Ok(Heard::Nothing);
        }
        let waits = |task: &&TaskSummary| !task.state.is_terminal() && !task.state.holds_slot();
        let all: Vec<&TaskSummary> = only.map_or(view.detail.tasks.iter().collect(), |it| vec![it]);
        let tasks: Vec<u32> = all.into_iter().filter(waits).map(|it| it.index).collect();
        if tasks.is_empty() {
            return Ok(Heard::Nothing);
        }
        let own = self.own.as_ref().and_then(|own| own.why(summary.id, &tasks));
        let answer = match own {
            Some(answers) => Some(answers),
            None => {
                let answer = self.folder.ask_owner(summary.id, &tasks, PATIENCE);
                answer.map_err(|error| self.failed(error))?
            }
        };
        Ok(match answer {
            Some(answers) => Heard::Answers(self.answers_within(answers)),
            None => Heard::Silence,
        })
    }
}

impl RunView {
    /// Why a step of the run is where it is; else all that have not succeeded.
    fn explain(&self, only: Option<&TaskSummary>, heard: &Heard) -> Explained {
        let mut views = match only {
            Some(task) => vec![self.one(task)],
            None => self.listed(),
        };
        if only.is_none() {
            views.retain(|step| step.task.state != TaskState::Succeeded);
            views.sort_by_key(|step| step.task.index);
        }
        let held = held_outside(&self.detail, &*self.definition);
        let mut elements = self.elements();
        let steps = views.iter().map(|step| StepExplained {
            element: elements.remove(&step.task.name),
            ..self.explain_step(step, heard, &held)
        });
        Explained {
            version: None,
            run_id: self.detail.summary.id.to_string(),
            state: self.state(),
            why: self.why_of_run(heard),
            steps: steps.collect(),
        }
    }

    fn explain_step(
        &self,
        StepView { task, is_tolerated, timeout, .. }: &StepView<'_>,
        heard: &Heard,
        held: &HashSet<u32>,
    ) -> StepExplained {
        let answer = heard.about(task.index);
        let expected = answer.and_then(|answer| answer.expected_start);
        let expected = expected.filter(|_| !held.contains(&task.index));
        let place = answer.and_then(|answer| answer.place.as_ref());
        let unpassed = place.and_then(|place| place.unpassed_in);
        StepExplained {
            step: task.name.clone(),
            element: None,
            state: step_state(task.state),
            tolerated: *is_tolerated,
            why: self.why(task, heard, timeout.as_deref()),
            asks: self.is_asking(task),
            waits_for: self.needs(task),
            priority: place.map(|place| place.priority),
            expected_start_seconds: expected.map(|it| it.as_secs_f64()),
            unpassed_in_seconds: unpassed.map(|it| it.as_secs_f64()),
        }
    }

    /// What keeps the run as a whole.
    fn why_of_run(&self, heard: &Heard) -> Option<String> {
        match (self.state(), heard) {
            (RunState::Interrupted, _) => Some(
                "nobody runs this run: its process died; `tidewheel resume` goes on".to_owned(),
            ),
            (RunState::Paused, _) => {
                Some("the run is paused; `tidewheel resume` goes on".to_owned())
            }
            (_, Heard::Silence) => Some(
                "the process that runs this run does not answer: it may be stopped or out of time"
                    .to_owned(),
            ),
            _ => self.waits_for().map(|waits| format!("the run is {waits}")),
        }
    }

    /// The tasks that a task waits for and that have not ended.
    fn needs(&self, task: &TaskSummary) -> Vec<String> {
        let needed = task.after.iter().filter_map(|index| self.detail.tasks.get(*index as usize));
        let open = needed.filter(|needed| !needed.state.is_terminal());
        open.map(|needed| needed.name.clone()).collect()
    }

    /// Why a task is where it is.
    fn why(&self, task: &TaskSummary, heard: &Heard, timeout: Option<&str>) -> String {
        let later = |at: Option<_>| at.map_or_else(|| "later".to_owned(), until);
        match task.state {
            TaskState::Blocked | TaskState::Ready => match self.needs(task) {
                needs if needs.is_empty() => self.turn(task, heard),
                needs => format!("it waits for {}", names(&needs)),
            },
            TaskState::Delayed if task.reason == Reason::Postponed => self.looks(task),
            TaskState::Delayed => match &task.error {
                Some(error) => {
                    format!("it is tried again {}, after: {}", later(task.until), harmless(error))
                }
                None => format!("it starts {}", later(task.until)),
            },
            TaskState::Running if self.is_abandoned => {
                format!("attempt {} was cut off when the process died", task.attempts)
            }
            TaskState::Running => {
                let since = task.started_at.map_or_else(String::new, ago);
                format!("attempt {} started {since}", task.attempts)
            }
            TaskState::Cancelling => "it was told to stop".to_owned(),
            TaskState::Succeeded => "it is done".to_owned(),
            _ => ended(self, task, task.reason, timeout.or(task.error.as_deref())),
        }
    }

    /// Whether a task waits for somebody to say yes or no.
    fn is_asking(&self, task: &TaskSummary) -> bool {
        task.state == TaskState::Delayed
            && task.reason == Reason::Postponed
            && self.definition.asks(&task.name)
    }

    /// What a task waits for outside, and when it looks for it again.
    fn looks(&self, task: &TaskSummary) -> String {
        let what = self.definition.waits_for(&task.name);
        let what = harmless(what.as_deref().unwrap_or("waits"));
        if self.is_asking(task) {
            let (run, name) = (short_id(self.detail.summary.id), harmless(&task.name));
            let code = if self.definition.wants_code(&task.name) { " --code" } else { "" };
            return format!("it {what}; say `tidewheel approve {run} '{name}'{code}`");
        }
        let next = task.until.map_or_else(|| "later".to_owned(), until);
        match self.definition.is_wait(&task.name) {
            true => match self
                .results
                .get(&task.index)
                .and_then(|it| it.newest.as_ref()?.error.as_deref())
            {
                Some(last) => format!(
                    "it {what}; the next look is {next}, the last brought: {}",
                    harmless(last)
                ),
                None => format!("it {what}; the next look is {next}"),
            },
            false => format!("it {what}, {next}"),
        }
    }

    /// What keeps a task that has all it needs, as the scheduler says that has it.
    fn turn(&self, task: &TaskSummary, heard: &Heard) -> String {
        if self.is_abandoned {
            return "nobody runs the run".to_owned();
        }
        if self.detail.summary.is_paused {
            return "the run is paused".to_owned();
        }
        if let Some(waits) = self.waits_for() {
            return format!("the run is {waits}");
        }
        let holds = heard.about(task.index).map(|answer| &answer.holds[..]).unwrap_or_default();
        match (holds, heard) {
            ([], Heard::Answers(_)) => "nothing holds it: it is about to start".to_owned(),
            ([], _) => {
                "it has all it needs; what else holds it, only the process that runs the run \
                        can say"
                    .to_owned()
            }
            (holds, _) => {
                let holds: Vec<String> = holds.iter().map(|hold| harmless(hold)).collect();
                holds.join("; ")
            }
        }
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
        Reason::TaskTimeout if view.definition.stands_for_others(&task.name) => {
            Some("the time for all that is in it was over".to_owned())
        }
        Reason::TaskTimeout => Some(format!("the time for all its attempts was over {tries}")),
        Reason::RunTimeout => Some(format!("the time of the run was over {tries}")),
        Reason::Requested => Some(format!("somebody cancelled it or the run {tries}")),
        Reason::Quarantined => Some(format!(
            "quarantined: the process that ran it died too often while it ran, {} times in all, so it is \
             not started again by itself; `tidewheel retry` does",
            task.attempts
        )),
        Reason::ShutDown => Some(format!("the process that ran it was stopped {tries}")),
        Reason::Condition if view.skip_code(task).is_some() => view
            .reason(task)
            .map(|code| format!("it said by its {code} that there is nothing to do")),
        Reason::Condition => Some(
            view.definition
                .condition(&task.name)
                .unwrap_or_else(|| "its condition did not hold".to_owned()),
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
