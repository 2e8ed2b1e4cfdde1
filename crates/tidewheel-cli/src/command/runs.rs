//! `tidewheel runs` and `tidewheel show`: which runs there are, and what one came to.
//!
//! What is known of runs is found at the desk; here it is put into columns.

use tidewheel::TaskState;
use tidewheel::store::RunSummary;
use tidewheel_client::api::RunList;
use tidewheel_client::desk::{ListWish, RunView, StateWish, StepView, step_state};
use tidewheel_client::text::{ago, harmless, short_id, span};

use crate::cli::Format;
use crate::data::DataArgs;
use crate::error::CommandError;
use crate::table::Table;
use crate::ui::Ui;

/// List runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel runs
  tidewheel runs --flow nightly --state failed
  tidewheel runs --limit 1000 --format json

With --format json it prints { \"runs\": [ { run_id, flow, state, accepted_at, started_at, ended_at,
steps, failed, error } ] }, newest first.")]
pub(crate) struct RunsArgs {
    /// Only runs of this flow
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,

    /// Only runs in this state
    #[arg(long, value_name = "STATE")]
    state: Option<StateWord>,

    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: u32,

    #[command(flatten)]
    data: DataArgs,
}

/// The states of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StateWord {
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl From<StateWord> for StateWish {
    fn from(word: StateWord) -> Self {
        match word {
            StateWord::Running => Self::Running,
            StateWord::Succeeded => Self::Succeeded,
            StateWord::Failed => Self::Failed,
            StateWord::Cancelled => Self::Cancelled,
        }
    }
}

pub(crate) fn list(ui: &Ui, args: &RunsArgs) -> Result<u8, CommandError> {
    if !args.data.is_there(ui)? {
        match ui.format(Format::Human) {
            Format::Json => ui.print_json(&RunList::default())?,
            Format::Human => ui.print("no runs yet")?,
        }
        return Ok(0);
    }
    let desk = args.data.desk(ui)?;
    let (name, state) = (args.flow.clone(), args.state.map(StateWish::from));
    let runs = desk.list(&ListWish { name, state, limit: args.limit })?;
    if ui.format(Format::Human) == Format::Json {
        ui.print_json(&desk.listed(&runs))?;
        return Ok(0);
    }
    if runs.is_empty() {
        ui.print("no runs")?;
        return Ok(0);
    }
    let mut table = Table::new(["RUN", "FLOW", "STATE", "STARTED", "TOOK", "STEPS"]);
    for run in &runs {
        let took = run.ended_at.map(|ended| span(ended.since(run.accepted_at)));
        table.row([
            short_id(run.id),
            harmless(run.name.as_deref().unwrap_or("-")),
            desk.line(run).state.word().to_owned(),
            ago(run.accepted_at),
            took.unwrap_or_else(|| "-".to_owned()),
            steps_text(run),
        ]);
    }
    ui.print(&table.to_string())?;
    Ok(0)
}

fn steps_text(run: &RunSummary) -> String {
    match run.failed {
        0 => run.tasks.to_string(),
        failed => format!("{}, {failed} failed", run.tasks),
    }
}

/// Show what a run came to, step by step
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel show last
  tidewheel show 3f9a
  tidewheel show 3f9a --format json

With --format json it prints the same as `tidewheel run --format json`.")]
pub(crate) struct ShowArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn show(ui: &Ui, args: &ShowArgs) -> Result<u8, CommandError> {
    let view = args.data.desk(ui)?.show(&args.run)?;
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(&view.document())?,
        _ => ui.print(&text(&view))?,
    }
    Ok(0)
}

pub(crate) fn text(view: &RunView) -> String {
    let summary = &view.detail.summary;
    let name = harmless(summary.name.as_deref().unwrap_or("-"));
    let mut lines = vec![format!("{} {name}: {}", summary.id, view.state())];
    let took = summary.ended_at.map(|at| format!(", took {}", span(at.since(summary.accepted_at))));
    lines.push(format!("started {}{}", ago(summary.accepted_at), took.unwrap_or_default()));
    lines.extend(view.waits_for());
    lines.push(String::new());
    let mut table = Table::new(["STEP", "STATE", "TOOK", "ATTEMPTS", "WHY"]);
    for StepView { task, attempts, is_tolerated, timeout } in view.listed() {
        let took = match (task.started_at, task.at) {
            (Some(from), Some(to)) if task.state.is_terminal() => span(to.since(from)),
            _ => "-".to_owned(),
        };
        let why = match (timeout.as_ref().or(task.error.as_ref()), view.reason(task)) {
            (Some(error), _) if task.state != TaskState::Succeeded => harmless(error),
            (_, Some(reason)) => harmless(&reason),
            _ => String::new(),
        };
        let note = if is_tolerated { ", tolerated" } else { "" };
        table.row([
            harmless(&task.name),
            format!("{}{note}", step_state(task.state)),
            took,
            attempts.to_string(),
            why,
        ]);
    }
    lines.push(table.to_string());
    if view.is_abandoned {
        let id = short_id(summary.id);
        lines.push(format!("\nnobody runs it: tidewheel resume {id} goes on with it"));
    }
    lines.join("\n")
}
