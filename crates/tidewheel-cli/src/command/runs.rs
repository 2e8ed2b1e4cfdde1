//! `tidewheel runs` and `tidewheel show`: which runs there are, and what one came to.
//!
//! What is known of runs is found at the desk; here it is put into columns.

use serde_json::Value as Json;
use tidewheel_client::api::{
    ListWish, OriginWord, RunLine, RunList, RunOrigin, RunResult, RunState, StateWish,
};
use tidewheel_client::desk::Desk;
use tidewheel_client::text::{ago, count, harmless, short_id, span, with_element};

use crate::cli::Format;
use crate::data::DeskArgs;
use crate::error::CommandError;
use crate::table::Table;
use crate::ui::Ui;

/// So much of the value of a param is shown.
const VALUE_MAX: usize = 80;

/// List runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel runs
  tidewheel runs --flow nightly --state failed
  tidewheel runs --tag backup
  tidewheel runs --limit 1000 --format json

With --format json it prints { \"runs\": [ { run_id, flow, state, accepted_at, started_at, ended_at,
steps, failed, error, tags } ] }, newest first.")]
pub(crate) struct RunsArgs {
    /// Only runs of this flow
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,

    /// Only runs whose flow has this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// Only runs in this state
    #[arg(long, value_name = "STATE")]
    state: Option<StateWord>,

    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: u32,

    #[command(flatten)]
    data: DeskArgs,
}

/// The states of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StateWord {
    Running,
    Succeeded,
    Failed,
    Cancelled,
    Paused,
    Waiting,
    Interrupted,
    Unknown,
}

impl From<StateWord> for StateWish {
    fn from(word: StateWord) -> Self {
        match word {
            StateWord::Running => Self::Running,
            StateWord::Succeeded => Self::Succeeded,
            StateWord::Failed => Self::Failed,
            StateWord::Cancelled => Self::Cancelled,
            StateWord::Paused => Self::Paused,
            StateWord::Waiting => Self::Waiting,
            StateWord::Interrupted => Self::Interrupted,
            StateWord::Unknown => Self::Unknown,
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
    let (name, state) = (args.flow.clone(), args.state.map(StateWish::from));
    let (tag, limit) = (args.tag.clone(), args.limit);
    let wish = ListWish { name, state, tag, limit, ..ListWish::default() };
    let list = args.data.at_desk(ui, async |desk| listed(&desk, wish).await)?;
    if ui.format(Format::Human) == Format::Json {
        ui.print_json(&list)?;
        return Ok(0);
    }
    if list.runs.is_empty() {
        ui.print("no runs")?;
        return Ok(0);
    }
    let mut table = Table::new(["RUN", "FLOW", "STATE", "STARTED", "TOOK", "STEPS"]);
    for run in &list.runs {
        let took = run.ended_at.map(|ended| span(ended.since(run.accepted_at)));
        table.row([
            short_id(&run.run_id),
            harmless(run.flow.as_deref().unwrap_or("-")),
            run.state.word().to_owned(),
            ago(run.accepted_at),
            took.unwrap_or_else(|| "-".to_owned()),
            steps_text(run),
        ]);
    }
    ui.print(&table.to_string())?;
    Ok(0)
}

/// As many as are wanted, however far back they are.
async fn listed(desk: &Desk, mut wish: ListWish) -> Result<RunList, CommandError> {
    let mut list = desk.list(wish.clone()).await?;
    while let Some(cursor) = list.next.clone().filter(|_| list.runs.len() < wish.limit as usize) {
        wish.limit -= list.runs.len() as u32;
        wish.cursor = Some(cursor);
        let more = desk.list(wish.clone()).await?;
        // What is left is counted from here on.
        wish.limit += list.runs.len() as u32;
        list.runs.extend(more.runs);
        list.next = more.next;
    }
    Ok(list)
}

fn steps_text(run: &RunLine) -> String {
    match run.failed {
        0 => run.steps.to_string(),
        // Otherwise it would not have succeeded.
        failed if run.state == RunState::Succeeded => {
            format!("{}, {failed} failed (tolerated)", run.steps)
        }
        failed => format!("{}, {failed} failed", run.steps),
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
    data: DeskArgs,
}

pub(crate) fn show(ui: &Ui, args: &ShowArgs) -> Result<u8, CommandError> {
    let result = args.data.at_desk(ui, async |desk| Ok(desk.show(&args.run).await?))?;
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(&result)?,
        _ => ui.print(&text(&result))?,
    }
    Ok(0)
}

/// What made a run.
fn origin_text(origin: &RunOrigin) -> String {
    let run = origin.run_id.as_ref().map(short_id).unwrap_or_default();
    match origin.by {
        OriginWord::ByHand => "origin: by hand".to_owned(),
        OriginWord::Retry => format!("origin: retry of {run}"),
        OriginWord::Schedule => {
            let name = harmless(origin.schedule.as_deref().unwrap_or("a schedule that is gone"));
            let instant = origin.nominal.map(|at| format!(" for {at}")).unwrap_or_default();
            let asked = origin.firing.as_ref().filter(|word| *word != "trigger");
            let asked = asked.map(|word| format!(" ({})", word.replace('-', " ")));
            format!("origin: {name}{instant}{}", asked.unwrap_or_default())
        }
    }
}

/// A value in a line, cut where it is long.
fn plainly(value: &Json) -> String {
    let text = match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(crate) fn text(run: &RunResult) -> String {
    let name = harmless(run.flow.as_deref().unwrap_or("-"));
    let mut lines = vec![format!("{} {name}: {}", run.run_id, run.state)];
    let took = run.ended_at.map(|at| format!(", took {}", span(at.since(run.accepted_at))));
    lines.push(format!("started {}{}", ago(run.accepted_at), took.unwrap_or_default()));
    lines.extend(run.origin.as_ref().map(origin_text));
    if !run.params.is_empty() {
        let param = |(name, value): (&String, &Json)| format!("{name}={}", plainly(value));
        let params: Vec<String> = run.params.iter().map(param).collect();
        lines.push(format!("params: {}", harmless(&params.join(", "))));
    }
    if !run.tags.is_empty() {
        lines.push(format!("tags: {}", harmless(&run.tags.join(", "))));
    }
    lines.extend(run.reason.as_deref().map(harmless));
    lines.push(String::new());
    let mut table = Table::new(["STEP", "STATE", "TOOK", "ATTEMPTS", "WHY"]);
    for (name, step) in &run.steps.0 {
        let took = match (step.started_at, step.ended_at) {
            (Some(from), Some(to)) => span(to.since(from)),
            _ => "-".to_owned(),
        };
        let why = step.timeout.as_ref().or(step.error.as_ref()).or(step.reason.as_ref());
        let note = if step.tolerated { ", tolerated" } else { "" };
        table.row([
            with_element(name, step.element.as_ref()),
            format!("{}{note}", step.state),
            took,
            step.attempts.to_string(),
            why.map(|why| harmless(why)).unwrap_or_default(),
        ]);
    }
    lines.push(table.to_string());
    if !run.artifacts.is_empty() {
        let (files, id) = (count(run.artifacts.len(), "artifact"), short_id(&run.run_id));
        lines.push(format!("{files}: tidewheel artifacts {id}"));
    }
    for (step, warning) in run.warnings() {
        lines.push(format!("warning: {}: {}", harmless(step), harmless(warning)));
    }
    if run.state == RunState::Interrupted {
        let id = short_id(&run.run_id);
        lines.push(format!("\nnobody runs it: tidewheel resume {id} goes on with it"));
    }
    lines.join("\n")
}
