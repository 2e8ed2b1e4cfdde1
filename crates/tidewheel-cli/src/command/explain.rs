//! `tidewheel explain`: why a step is where it is, and what must happen next.

use serde_json::{Value as Json, json};
use tidewheel::TaskState;
use tidewheel::store::{RunDetail, TaskSummary};

use crate::cli::Format;
use crate::data::{DataArgs, folder_error};
use crate::error::CommandError;
use crate::session::{RunResultView, find_run, reason_words, result_of, task_of, task_state};
use crate::text::{ago, harmless, until};
use crate::ui::Ui;

/// Say why steps of a run have not started, failed, or were skipped
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel explain last
  tidewheel explain 3f9a deploy

With --format json it prints { run_id, steps: [ { step, state, why, waits_for } ] }.")]
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
    let tasks: Vec<&TaskSummary> = match &args.step {
        Some(step) => vec![task_of(&view.detail, step)?],
        None => {
            let tasks = view.detail.tasks.iter();
            tasks.filter(|task| task.state != TaskState::Succeeded).collect()
        }
    };
    if ui.format(Format::Human) == Format::Json {
        let steps: Vec<Json> = tasks
            .iter()
            .map(|task| {
                json!({
                    "step": task.name,
                    "state": task_state(task.state),
                    "why": why(&view, task),
                    "waits_for": open_dependencies(&view.detail, task),
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
        lines.push(format!("{name} is {state}: {}", why(&view, task)));
    }
    ui.print(&lines.join("\n"))?;
    Ok(0)
}

fn why(view: &RunResultView, task: &TaskSummary) -> String {
    match task.state {
        TaskState::Blocked => {
            let open = open_dependencies(&view.detail, task);
            match open.is_empty() {
                true if view.detail.summary.is_paused => "the run is paused".to_owned(),
                true => "it waits to be looked at".to_owned(),
                false => format!("it waits for {}", open.join(", ")),
            }
        }
        TaskState::Delayed => {
            let next = task.until.map_or_else(|| "later".to_owned(), until);
            match &task.error {
                Some(error) => format!("it is tried again {next}, after: {}", harmless(error)),
                None => format!("it starts {next}"),
            }
        }
        TaskState::Ready => match view.detail.summary.is_paused {
            true => "the run is paused".to_owned(),
            false => format!("it waits for its turn: {}", busy(view)),
        },
        TaskState::Running => {
            let since = task.started_at.map_or_else(String::new, ago);
            format!("attempt {} started {since}", task.attempts)
        }
        TaskState::Cancelling => "it was told to stop".to_owned(),
        TaskState::Succeeded => "it is done".to_owned(),
        _ => {
            let reason = reason_words(task, &view.detail.tasks);
            match (reason, &task.error) {
                (_, Some(error)) => harmless(error),
                (Some(reason), None) => harmless(&reason),
                (None, None) => "no reason is known".to_owned(),
            }
        }
    }
}

/// Who has the slots.
fn busy(view: &RunResultView) -> String {
    let running: Vec<String> = view
        .detail
        .tasks
        .iter()
        .filter(|task| task.state.holds_slot())
        .map(|task| harmless(&task.name))
        .collect();
    match running.is_empty() {
        true => "a limit, or nothing has been started yet".to_owned(),
        false => format!("{} run", running.join(", ")),
    }
}

/// What it waits for that has not ended.
fn open_dependencies(detail: &RunDetail, task: &TaskSummary) -> Vec<String> {
    let open = task.after.iter().filter_map(|index| detail.tasks.get(*index as usize));
    open.filter(|needed| !needed.state.is_terminal()).map(|needed| harmless(&needed.name)).collect()
}
