//! `tidewheel retry` and `tidewheel resume`: going on with runs that failed, were paused, or whose
//! process died.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use serde_json::{Value as Json, json};
use tidewheel::flow::{Disk, Flow, FlowOrder, load};
use tidewheel::store::sqlite::DataFolder;
use tidewheel::store::{RunCommand, RunDetail};
use tidewheel::{RunId, TaskState};

use crate::cli::Format;
use crate::command::run::{RunArgs, attempts_max, expectations, finish, level, start, watch};
use crate::data::{DataArgs, folder_error};
use crate::error::{CommandError, ErrorKind};
use crate::session::{
    Beginning, RunResultView, Session, SessionOptions, Takeover, find_run, flow_of, result_of,
};
use crate::text::{difference, harmless};
use crate::ui::Ui;

/// Run again what did not succeed in a run
///
/// Makes a new run of the same flow, as its files were then and with the same params, in which steps
/// that succeeded are not run again: what they left is used.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel retry last
  tidewheel retry 3f9a --from build
  tidewheel retry 3f9a --dry-run

Exit codes and the result are those of `tidewheel run`. With --dry-run --format json it prints
{ run_id, run_again, reused }.")]
pub(crate) struct RetryArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Run this step and all that comes after it again, even if they succeeded
    #[arg(long, value_name = "STEP")]
    from: Option<String>,

    /// Use the files as they are now instead of as they were then
    #[arg(long)]
    new_files: bool,

    /// Show what would be run again and what would be reused, and run nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    how: RunArgs,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn retry(ui: &Ui, args: &RetryArgs) -> Result<u8, CommandError> {
    let how = args.how.settled(ui);
    let folder = args.data.open_with(ui, how.durability())?;
    let reader = folder.reader().map_err(|error| folder_error(error, folder.path()))?;
    let detail = find_run(&folder, &reader, &args.run)?;
    let view = result_of(&folder, &reader, detail)?;
    if view.detail.summary.is_live && !view.is_abandoned {
        let error = anyhow!("run {} has not ended", view.detail.summary.id);
        return Err(CommandError::new(ErrorKind::Conflict, error)
            .hint("cancel it first, or wait until it has ended"));
    }
    let mut order = flow_of(&view.detail)?;
    if args.new_files {
        order.texts = load(&order.paths, &Disk).texts;
    }
    let flow = order.flow().map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
    let plan = Again::new(&view, &order, &flow, args.from.as_deref())?;
    if ui.format(Format::Human) == Format::Human && !how.quiet || args.dry_run {
        plan.show(ui, &view)?;
    }
    if args.dry_run {
        return Ok(0);
    }
    order.again = Some(view.detail.summary.id.to_string());
    order.reused = plan.reused;
    order.only = None;
    if let Some(workers) = how.max_workers {
        order.max_workers = workers;
    }
    start(ui, &folder, &flow, &order, &how)
}

/// What is run again, and what is used as it was left.
struct Again {
    run_again: Vec<String>,
    reused: BTreeMap<String, serde_json::Map<String, Json>>,
}

impl Again {
    fn new(
        view: &RunResultView,
        order: &FlowOrder,
        flow: &Flow,
        from: Option<&str>,
    ) -> Result<Self, CommandError> {
        let renewed: BTreeSet<String> = match from {
            Some(step) if flow.step(step).is_none() => {
                return Err(CommandError::usage(anyhow!("the flow has no step `{step}`")));
            }
            Some(step) => flow.descendants(step),
            None => BTreeSet::new(),
        };
        let mut again = Self { run_again: Vec::new(), reused: BTreeMap::new() };
        let succeeded: BTreeSet<&str> = view
            .detail
            .tasks
            .iter()
            .filter(|task| task.state == TaskState::Succeeded)
            .map(|task| task.name.as_str())
            .collect();
        for task in &view.detail.tasks {
            // Elements are found out again unless all of them are done.
            let whole = task.name.strip_suffix("[]").unwrap_or(&task.name);
            // What follows the run follows the new one as well.
            let step = task.name.split(['[', '/']).next().unwrap_or_default();
            let follows = flow.step(step).is_some_and(|step| step.follows_run());
            let is_done = succeeded.contains(task.name.as_str()) && succeeded.contains(whole);
            if is_done && !renewed.contains(step) && !follows {
                let before = order.reused.get(&task.name).cloned();
                let outputs = before.unwrap_or_else(|| view.outputs_of(task.index));
                again.reused.insert(task.name.clone(), outputs);
            } else {
                again.run_again.push(task.name.clone());
            }
        }
        Ok(again)
    }

    fn show(&self, ui: &Ui, view: &RunResultView) -> Result<(), CommandError> {
        if ui.format(Format::Human) == Format::Json {
            let reused: Vec<&String> = self.reused.keys().collect();
            let id = view.detail.summary.id.to_string();
            let value = json!({ "run_id": id, "run_again": self.run_again, "reused": reused });
            return ui.print(&value.to_string());
        }
        let names = |names: &mut dyn Iterator<Item = &String>| {
            names.map(|name| harmless(name)).collect::<Vec<_>>().join(", ")
        };
        ui.note(&format!("run again: {}", names(&mut self.run_again.iter())));
        ui.note(&format!("reused:    {}", names(&mut self.reused.keys())));
        Ok(())
    }
}

/// Go on with a run
///
/// A paused run goes on where it runs. A run whose process died is taken over here, in the
/// foreground: steps that succeeded are not run again. Of a run that has ended it is said how.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel resume last
  tidewheel resume 3f9a --max-workers 2

The flow goes on as its files were when it was started. If they have changed since, nothing is done
and the difference is shown: --as-started goes on all the same, `tidewheel retry --new-files` makes a
new run of the new files. Exit codes and the result are those of `tidewheel run`.")]
pub(crate) struct ResumeArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Go on with the files as they were, even if they have changed
    #[arg(long)]
    as_started: bool,

    #[command(flatten)]
    how: RunArgs,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn resume(ui: &Ui, args: &ResumeArgs) -> Result<u8, CommandError> {
    let how = args.how.settled(ui);
    let folder = args.data.open_with(ui, how.durability())?;
    let reader = folder.reader().map_err(|error| folder_error(error, folder.path()))?;
    let detail = find_run(&folder, &reader, &args.run)?;
    let view = result_of(&folder, &reader, detail)?;
    let id = view.detail.summary.id;
    if !view.detail.summary.is_live {
        return ended(ui, &view);
    }
    if !view.is_abandoned {
        folder.send(id, RunCommand::Resume).map_err(|error| folder_error(error, folder.path()))?;
        say(ui, id, "resumed")?;
        return Ok(0);
    }
    let order = flow_of(&view.detail)?;
    if !args.as_started {
        check_unchanged(&order)?;
    }
    let flow = order.flow().map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
    take_over(ui, &folder, &view.detail, &flow, &order, &how)
}

fn ended(ui: &Ui, view: &RunResultView) -> Result<u8, CommandError> {
    let id = view.detail.summary.id;
    if view.detail.summary.state == TaskState::Succeeded {
        say(ui, id, "succeeded")?;
        return Ok(0);
    }
    let text = id.to_string();
    let error = anyhow!("run {id} has ended: {}", view.state());
    Err(CommandError::new(ErrorKind::Conflict, error)
        .hint(format!("tidewheel retry {}  runs what is left in a new run", &text[..8])))
}

/// Goes on with the runs of a dead process, and watches the one that was asked for.
fn take_over(
    ui: &Ui,
    folder: &DataFolder,
    detail: &RunDetail,
    flow: &Flow,
    order: &FlowOrder,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let id = detail.summary.id;
    let shard = detail.summary.shard.clone().unwrap_or_default();
    let workers = how.max_workers.unwrap_or(order.max_workers);
    let options = SessionOptions::new(ui, workers);
    let session = Session::open(folder.clone(), &Takeover::Shard(shard), options)?;
    session.prepare(flow);
    let expected = expectations(folder, &flow.name)?;
    let notices = session.wheel.notices();
    let ending = match session.wheel.find_run(id) {
        Some(run) => {
            // Whoever paused it wants it to go on now.
            run.resume();
            let beginning = Beginning {
                level: level(how, ui),
                workers,
                flow: flow.name.clone(),
                expected,
                attempts_max: attempts_max(flow),
            };
            watch(&session, &run, notices, beginning, how)?
        }
        // It ended between reading and taking over.
        None => crate::session::Ending::Own,
    };
    session.close();
    finish(ui, folder, &id.to_string(), ending, how)
}

/// Refuses to go on when the files are not what they were.
fn check_unchanged(order: &FlowOrder) -> Result<(), CommandError> {
    let mut changes = String::new();
    for (path, before) in &order.texts {
        let now = std::fs::read_to_string(order.base.join(path)).ok();
        if now.as_deref() == Some(before) {
            continue;
        }
        let name = path.display();
        match now {
            Some(now) => {
                changes.push_str(&format!("{name}:\n{}", difference(before, &now)));
            }
            None => changes.push_str(&format!("{name}: it cannot be read any more\n")),
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    let error = anyhow!("the flow has changed since the run was started");
    Err(CommandError::new(ErrorKind::Refused, error)
        .excerpt(changes)
        .hint("--as-started goes on with the files as they were")
        .hint("`tidewheel retry --new-files` makes a new run of the files as they are"))
}

fn say(ui: &Ui, id: RunId, what: &str) -> Result<(), CommandError> {
    match ui.format(Format::Human) {
        Format::Json => ui.print(&json!({ "run_id": id.to_string(), "state": what }).to_string()),
        _ => ui.print(&format!("{id}: {what}")),
    }
}
