//! `tidewheel pause`, `cancel` and `approve`: wishes about runs that another process runs.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;
use tidewheel::store::{RunCommand, RunDetail, TaskSummary};
use tidewheel::{RunId, TaskId};
use tidewheel_client::text::short_id;
use tidewheel_flow::{Answer, Step};

use crate::cli::Format;
use crate::data::{DataArgs, folder_error};
use crate::error::{CommandError, ErrorKind};
use crate::session::{end_left, find_run, flow_of, task_of};
use crate::ui::Ui;
use crate::value;

/// Longer lists of steps help nobody.
const HINTS_MAX: usize = 5;

/// Start nothing more of a run until it is resumed; what runs goes on
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel pause last
  tidewheel resume last")]
pub(crate) struct PauseArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn pause(ui: &Ui, args: &PauseArgs) -> Result<u8, CommandError> {
    send(ui, &args.run, &args.data, RunCommand::Pause, "paused")
}

/// End a run
///
/// Running steps are told to end, nothing new starts, and then clean-up is run: `finally`,
/// `on_failure`, and steps with `always`. It is what a second Ctrl-C does where the run is watched. A
/// run whose process died is ended as it is, without clean-up.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel cancel last
  tidewheel cancel 3f9a --grace 30s
  tidewheel cancel 3f9a --everything")]
pub(crate) struct CancelArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Time for running steps to end by themselves
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::span)]
    grace: Duration,

    /// End its clean-up too, also while it runs: what a third Ctrl-C does where the run is watched
    #[arg(long)]
    everything: bool,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn cancel(ui: &Ui, args: &CancelArgs) -> Result<u8, CommandError> {
    let folder = args.data.open_existing(ui)?;
    let failed = |error| folder_error(error, folder.path());
    let reader = folder.reader().map_err(failed)?;
    let detail = find_run(&folder, &reader, &args.run)?;
    let id = detail.summary.id;
    if let Some(shard) = &detail.summary.shard
        && folder.is_left(shard).map_err(failed)?
    {
        end_left(folder.clone(), shard, id)?;
        if has_clean_up(&detail) && ui.format(Format::Human) == Format::Human {
            ui.note("nobody ran it, so its clean-up was not run");
        }
        return said(ui, id, "cancelled");
    }
    let command = match args.everything {
        true => RunCommand::End { grace: args.grace },
        false => RunCommand::Cancel { grace: args.grace },
    };
    send(ui, &args.run, &args.data, command, "cancelled")
}

fn has_clean_up(detail: &RunDetail) -> bool {
    let flow = flow_of(detail).ok().and_then(|order| order.flow().ok());
    let is_clean_up = |step: &Arc<Step>| step.follows_run() || step.treatment.always;
    flow.is_some_and(|flow| flow.steps.iter().any(is_clean_up))
}

fn said(ui: &Ui, id: RunId, what: &str) -> Result<u8, CommandError> {
    match ui.format(Format::Human) {
        Format::Json => {
            ui.print(&json!({ "run_id": id.to_string(), "asked": what }).to_string())?
        }
        Format::Human => ui.print(&format!("{id}: {what}"))?,
    }
    Ok(0)
}

fn send(
    ui: &Ui,
    run: &str,
    data: &DataArgs,
    command: RunCommand,
    what: &str,
) -> Result<u8, CommandError> {
    let folder = data.open_existing(ui)?;
    let failed = |error| folder_error(error, folder.path());
    let reader = folder.reader().map_err(failed)?;
    let detail = find_run(&folder, &reader, run)?;
    let id = detail.summary.id;
    let shard = detail.summary.shard.unwrap_or_default();
    if detail.summary.is_live && folder.is_left(&shard).map_err(failed)? {
        let error = anyhow!("run {id} does not run: its process died");
        let short = short_id(id);
        return Err(CommandError::new(ErrorKind::Conflict, error)
            .hint(format!("tidewheel resume {short}  goes on with it"))
            .hint(format!("tidewheel cancel {short}  ends it")));
    }
    folder.send(id, command).map_err(failed)?;
    said(ui, id, what)
}

/// Answer a step that waits for approval
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel approve last deploy
  tidewheel approve 3f9a deploy --reject --note 'not on a Friday'

The first answer counts.")]
pub(crate) struct ApproveArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// The step
    step: String,

    /// Say no instead: the step fails
    #[arg(long)]
    reject: bool,

    /// What else is to be said
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// Who answers [default: the user's name]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn approve(ui: &Ui, args: &ApproveArgs) -> Result<u8, CommandError> {
    let folder = args.data.open_existing(ui)?;
    let failed = |error| folder_error(error, folder.path());
    let reader = folder.reader().map_err(failed)?;
    let detail = find_run(&folder, &reader, &args.run)?;
    let task = task_of(&detail, &args.step)?;
    let flow = flow_of(&detail)?.flow();
    let flow = flow.map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
    if !flow.asks(&task.name) {
        let error = anyhow!("step `{}` does not wait for approval", task.name);
        let error = CommandError::usage(error);
        let asks = |task: &&TaskSummary| !task.state.is_terminal() && flow.asks(&task.name);
        let asking: Vec<&str> =
            detail.tasks.iter().filter(asks).map(|task| &*task.name).take(HINTS_MAX).collect();
        return Err(match asking.is_empty() {
            true => error,
            false => error.hint(format!("these do: {}", asking.join(", "))),
        });
    }
    if task.state.is_terminal() {
        let error = anyhow!("step `{}` has ended: {}", task.name, task.state);
        return Err(CommandError::new(ErrorKind::Conflict, error));
    }
    let by = args.by.clone().or_else(|| std::env::var("USER").ok());
    let answer = Answer {
        is_approved: !args.reject,
        by: by.unwrap_or_else(|| "somebody".to_owned()),
        note: args.note.clone(),
    };
    let id = TaskId { run: detail.summary.id, index: task.index };
    if !folder.answer(id, &answer).map_err(failed)? {
        let error = anyhow!("step `{}` was answered before", task.name);
        return Err(CommandError::new(ErrorKind::Conflict, error));
    }
    let what = if args.reject { "rejected" } else { "approved" };
    match ui.format(Format::Human) {
        Format::Json => ui.print(
            &json!({ "run_id": id.run.to_string(), "step": task.name, "answer": what }).to_string(),
        )?,
        _ => ui.print(&format!("{}: {what}", task.name))?,
    }
    Ok(0)
}
