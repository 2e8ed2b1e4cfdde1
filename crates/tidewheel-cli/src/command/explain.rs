//! `tidewheel explain`: why a step is where it is, and what must happen next.
//!
//! Reasons are not found out here, only put into words.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use tidewheel::store::TaskSummary;
use tidewheel::{Reason, TaskState};
use tidewheel_client::text::{ago, harmless, short_id, until};
use tidewheel_flow::{Scene, Why};

use crate::cli::Format;
use crate::data::{DataArgs, folder_error};
use crate::error::CommandError;
use crate::session::{RunResultView, StepView, find_run, result_of, task_of, task_state};
use crate::ui::Ui;

/// Say why steps of a run have not started, failed, or were skipped
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel explain last
  tidewheel explain 3f9a deploy

With --format json it prints { run_id, steps: [ { step, state, tolerated, why, waits_for } ] }.")]
pub(crate) struct Args {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Only this step; else all that have not succeeded
    step: Option<String>,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let folder = args.data.open_existing(ui)?;
    let reader = folder.reader().map_err(|error| folder_error(error, folder.path()))?;
    let detail = find_run(&folder, &reader, &args.run)?;
    let view = result_of(&folder, &reader, detail)?;
    let scene = Scene::new(&view.detail, view.order.as_ref(), view.is_abandoned);
    let tasks: Vec<&TaskSummary> = match &args.step {
        Some(step) => vec![task_of(&view.detail, step)?],
        None => {
            let tasks = view.detail.tasks.iter();
            tasks.filter(|task| task.state != TaskState::Succeeded).collect()
        }
    };
    let views = view.listed();
    let about: HashMap<u32, &StepView<'_>> =
        views.iter().map(|step| (step.task.index, step)).collect();
    let timeout = |task: &TaskSummary| about.get(&task.index)?.timeout.as_deref();
    let is_tolerated =
        |task: &TaskSummary| about.get(&task.index).is_some_and(|step| step.is_tolerated);
    if ui.format(Format::Human) == Format::Json {
        let steps: Vec<Json> = tasks
            .iter()
            .map(|task| {
                json!({
                    "step": task.name,
                    "state": task_state(task.state),
                    "tolerated": is_tolerated(task),
                    "why": words(&view, task, &scene.why(task), timeout(task)),
                    "waits_for": scene.needs(task),
                })
            })
            .collect();
        let id = view.detail.summary.id.to_string();
        ui.print(&json!({ "run_id": id, "state": view.state(), "steps": steps }).to_string())?;
        return Ok(0);
    }
    let mut lines = Vec::new();
    if view.is_abandoned {
        lines.push("nobody runs this run: its process died; `tidewheel resume` goes on".to_owned());
    } else if view.detail.summary.is_paused {
        lines.push("the run is paused; `tidewheel resume` goes on".to_owned());
    }
    if tasks.is_empty() {
        lines.push("all steps have succeeded".to_owned());
    }
    for task in tasks {
        let (name, state) = (harmless(&task.name), task_state(task.state));
        let note = if is_tolerated(task) { ", tolerated" } else { "" };
        let why = words(&view, task, &scene.why(task), timeout(task));
        lines.push(format!("{name} is {state}{note}: {why}"));
    }
    ui.print(&lines.join("\n"))?;
    Ok(0)
}

/// Why a task is where it is, for people.
fn words(view: &RunResultView, task: &TaskSummary, why: &Why, timeout: Option<&str>) -> String {
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
fn ended(view: &RunResultView, task: &TaskSummary, reason: Reason, error: Option<&str>) -> String {
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
        Reason::Condition if view.reason(task).as_deref() == Some("condition") => Some(
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
