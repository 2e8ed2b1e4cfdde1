//! `tidewheel retry` and `tidewheel resume`: going on with runs that failed, were paused, or whose
//! process died.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use serde_json::json;
use tidewheel::store::sqlite::{DataFolder, FolderError};
use tidewheel::store::{RunCommand, RunDetail};
use tidewheel::{RunId, TaskState, wall_clock};
use tidewheel_client::text::{difference, harmless, short_id, task_list};
use tidewheel_flow::{
    Again, AgainError, AgainWith, Disk, Flow, FlowOrder, PastRun, ReadText, Secrets, load,
    says_the_same,
};

use crate::cli::Format;
use crate::command::run::{
    RunArgs, check_output, expectations, finish, level, near_step, start, status_port, watch,
};
use crate::command::runs;
use crate::data::{DataArgs, folder_error};
use crate::error::{CommandError, ErrorKind};
use crate::live::Level;
use crate::session::{
    Beginning, RunResultView, Session, SessionOptions, Takeover, find_run, flow_of, params_again,
    report_problems, result_of,
};
use crate::ui::Ui;

/// Run again what did not succeed in a run
///
/// Makes a new run of the same flow, as its files were then and with the same params, in which steps
/// that succeeded are not run again: what they left is used. Of a run of a part of a flow it is the
/// same part. With --new-files, steps whose definition has changed are run again, and so is what comes
/// after them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel retry last
  tidewheel retry 3f9a --from build
  tidewheel retry 3f9a --skip flaky
  tidewheel retry 3f9a --dry-run

Exit codes and the result are those of `tidewheel run`. With --dry-run --format json it prints
{ run_id, run_again, reused }.")]
pub(crate) struct RetryArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Run this step and all that comes after it again, even if they succeeded
    #[arg(long, value_name = "STEP")]
    from: Option<String>,

    /// Do not run this step: it counts as done, and leaves nothing (may be repeated)
    #[arg(long, value_name = "STEP")]
    skip: Vec<String>,

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
    check_ended(&view)?;
    let then = flow_of(&view.detail)?;
    let mut order = then.clone();
    if args.new_files {
        let loaded = load(&order.paths, &DiskAt(order.base.clone()));
        report_problems(ui, &loaded)?;
        order.texts = loaded.texts;
    }
    let flow = order.flow().map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
    if args.new_files {
        order.params = params_again(&flow, &order.params)?;
    }
    let id = view.detail.summary.id;
    let outputs = |index| view.outputs_of(index);
    let past = PastRun { run: &view.detail, order: &order, outputs: &outputs };
    let with = AgainWith {
        changed: order.changed_since(&then),
        from: args.from.clone(),
        skip: args.skip.iter().cloned().collect(),
    };
    let again = past.again(&flow, &with).map_err(|error| refused(&error, &flow, id))?;
    if args.dry_run {
        return preview(ui, id, &again).map(|()| 0);
    }
    if ui.format(Format::Human) == Format::Human && !how.quiet {
        ui.note(&preview_text(&again));
    }
    order.again = Some(id.to_string());
    order.reused = again.reused;
    if let Some(workers) = how.max_workers {
        order.max_workers = workers;
    }
    start(ui, &folder, &flow, &order, &how)
}

/// Files, by paths from a folder.
struct DiskAt(PathBuf);

impl ReadText for DiskAt {
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        Disk.read(&self.0.join(path), bytes_max)
    }
}

/// Refuses runs that may still do something.
fn check_ended(view: &RunResultView) -> Result<(), CommandError> {
    let summary = &view.detail.summary;
    if !summary.is_live {
        return Ok(());
    }
    let (id, short) = (summary.id, short_id(summary.id));
    let error = CommandError::new(ErrorKind::Conflict, anyhow!("run {id} has not ended"));
    Err(match view.is_abandoned {
        true => error
            .hint(format!("its process died: tidewheel resume {short}  goes on with it"))
            .hint(format!("or tidewheel cancel {short}  ends it on the spot; then retry works")),
        false => {
            error.hint(format!("wait until it has ended, or end it: tidewheel cancel {short}"))
        }
    })
}

fn refused(error: &AgainError, flow: &Flow, run: RunId) -> CommandError {
    let said = anyhow!("{}", harmless(&error.to_string()));
    match error {
        AgainError::NotInPart { step } => {
            let hint = format!("tidewheel run --from '{}' makes a new run", harmless(step));
            CommandError::usage(said).hint(hint)
        }
        AgainError::Unknown { step } => {
            let (run, step) = (short_id(run), harmless(step));
            CommandError::new(ErrorKind::Refused, said)
                .hint(format!(
                    "see for yourself; if it did not: tidewheel retry {run} --from {step}"
                ))
                .hint(format!("if it did: tidewheel retry {run} --skip {step}"))
        }
        AgainError::NoStep { step } => {
            let error = CommandError::new(ErrorKind::NotFound, said);
            match near_step(flow, step) {
                Some(hint) => error.hint(hint),
                None => error,
            }
        }
        _ => CommandError::usage(said),
    }
}

fn preview(ui: &Ui, run: RunId, again: &Again) -> Result<(), CommandError> {
    if ui.format(Format::Human) == Format::Json {
        let reused: Vec<&String> = again.reused.keys().collect();
        let id = run.to_string();
        let value = json!({ "run_id": id, "run_again": again.run_again, "reused": reused });
        return ui.print(&value.to_string());
    }
    ui.print(&preview_text(again))
}

fn preview_text(again: &Again) -> String {
    let run_again = task_list(again.run_again.iter().map(String::as_str));
    let reused = task_list(again.reused.keys().map(String::as_str));
    format!("run again: {run_again}\nreused:    {reused}")
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
and the difference is shown: --as-started goes on all the same; `tidewheel cancel`, then
`tidewheel retry --new-files`, makes a new run of the new files. Unless --max-workers says
otherwise, as many steps run at once as when it was started. Exit codes and the result are those of
`tidewheel run`.")]
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
        check_unchanged(&order, id)?;
    }
    let flow = order.flow().map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
    // What settings say is for new runs.
    let workers = args.how.max_workers.unwrap_or(order.max_workers);
    take_over(ui, &folder, &view.detail, &flow, workers, &how)
}

fn ended(ui: &Ui, view: &RunResultView) -> Result<u8, CommandError> {
    let id = view.detail.summary.id;
    if view.detail.summary.state == TaskState::Succeeded {
        say(ui, id, "succeeded")?;
        return Ok(0);
    }
    let short = short_id(id);
    let error = anyhow!("run {id} has ended: {}", view.state());
    Err(CommandError::new(ErrorKind::Conflict, error)
        .hint(format!("tidewheel retry {short}  runs what is left in a new run")))
}

/// Goes on with the runs of a dead process, and watches the one that was asked for.
fn take_over(
    ui: &Ui,
    folder: &DataFolder,
    detail: &RunDetail,
    flow: &Arc<Flow>,
    workers: u32,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let id = detail.summary.id;
    let shard = detail.summary.shard.clone().unwrap_or_default();
    let options = SessionOptions::new(ui, workers);
    let port = status_port(how)?;
    check_output(how)?;
    // Without its secrets a run that is taken over would only fail.
    Secrets::fetch(flow).map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
    // Whoever paused it wants it to go on now. Commands are followed in their order, so that one to
    // pause it that nobody has followed yet does not win.
    match folder.send(id, RunCommand::Resume) {
        Ok(()) | Err(FolderError::AlreadyEnded { .. }) => {}
        Err(error) => return Err(folder_error(error, folder.path())),
    }
    let since = wall_clock();
    let session = Session::open(folder.clone(), &Takeover::Shard(shard), options)?;
    // What was started before is said by the attempts themselves.
    let notices = session.wheel.notices();
    session.prepare(flow);
    let expected = expectations(folder, &flow.name)?;
    let mut is_watched = true;
    let ending = match session.wheel.find_run(id) {
        Some(run) => {
            run.set_concurrency(workers);
            run.resume();
            let ended = detail.tasks.iter().filter(|task| task.state.is_terminal());
            let beginning = Beginning {
                since,
                level: level(how, ui),
                workers,
                flow: flow.name.clone(),
                expected,
                definition: Arc::clone(flow),
                ended: ended.map(|task| task.index).collect(),
            };
            watch(ui, &session, &run, notices, beginning, port)?
        }
        // There was nothing left to do, so there is nothing to watch.
        None => {
            is_watched = false;
            crate::session::Ending::Own
        }
    };
    session.close();
    if !is_watched && level(how, ui) != Level::Quiet {
        let reader = folder.reader().map_err(|error| folder_error(error, folder.path()))?;
        let view = result_of(folder, &reader, find_run(folder, &reader, &id.to_string())?)?;
        ui.note(&runs::text(&view));
    }
    finish(ui, folder, &id.to_string(), ending, how)
}

/// Refuses to go on when the files are not what they were.
fn check_unchanged(order: &FlowOrder, run: RunId) -> Result<(), CommandError> {
    let mut changes = Vec::new();
    for (path, before) in &order.texts {
        let now = std::fs::read_to_string(order.base.join(path)).ok();
        if now.as_deref().is_some_and(|now| says_the_same(before, now)) {
            continue;
        }
        let change = match now {
            Some(now) => difference(before, &now),
            None => "it cannot be read any more\n".to_owned(),
        };
        changes.push((path.display().to_string(), change));
    }
    if changes.is_empty() {
        return Ok(());
    }
    let shown: String = changes.iter().map(|(file, change)| format!("{file}:\n{change}")).collect();
    let listed = changes.iter().map(|(file, change)| json!({ "file": file, "change": change }));
    let short = short_id(run);
    let error = anyhow!("the flow has changed since the run was started");
    Err(CommandError::new(ErrorKind::Refused, error)
        .excerpt(shown)
        .details("changes", listed.collect())
        .hint(format!("tidewheel resume {short} --as-started  goes on with the files as they were"))
        .hint(format!(
            "tidewheel cancel {short}, then tidewheel retry {short} --new-files  makes a new run of \
             the files as they are"
        )))
}

fn say(ui: &Ui, id: RunId, what: &str) -> Result<(), CommandError> {
    match ui.format(Format::Human) {
        Format::Json => ui.print(&json!({ "run_id": id.to_string(), "state": what }).to_string()),
        _ => ui.print(&format!("{id}: {what}")),
    }
}
