//! `tidewheel run`: runs a flow, shows how it goes, and says what it came to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use serde_json::{Map, Value as Json};
use tidewheel::store::sqlite::{DataFolder, Durability};
use tidewheel::store::{RunFilter, RunKind, TaskSummary};
use tidewheel::{Run, TaskId, TaskState, wall_clock};
use tidewheel_client::text::{harmless, quoted, short_id};
use tidewheel_flow::{Flow, FlowOrder, nearest, step_of};

use crate::cli::Format;
use crate::command::plan;
use crate::data::{DataArgs, folder_error};
use crate::error::{CommandError, ErrorKind};
use crate::live::Level;
use crate::output::{check_writable, write_atomically};
use crate::session::{
    Beginning, Ending, RunResultView, STREAMS, Session, SessionOptions, StepView, StoredStatus,
    Takeover, Watch, find_run, load_files, log_path, params_of, result_of,
};
use crate::status::{StatusPort, StatusServer};
use crate::ui::Ui;

/// Steps at once where nobody says otherwise.
const WORKERS_DEFAULT: u32 = 4;
/// How many times of a step say how long it takes.
pub(crate) const SAMPLES: usize = 3;
/// How many runs it is looked through for outputs of steps that are not run.
const REUSED_RUNS: usize = 20;
/// How far back for runs of the same files.
const REUSED_RUNS_SEEN: u32 = 200;

/// Run a flow
///
/// Reads the files, which are merged from left to right, checks them, and runs the steps as soon as
/// what they need is done. Every run is kept in the data folder: see `tidewheel runs`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Flow files; later ones change what earlier ones say
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// A param of the flow; may be given again
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE")]
    params: Vec<String>,

    /// Only these steps; outputs of others come from the newest run of the same files that has them
    #[arg(long, value_name = "STEP", conflicts_with = "from")]
    only: Vec<String>,

    /// Only this step and what comes after it
    #[arg(long, value_name = "STEP")]
    from: Option<String>,

    /// Show what would be run, and run nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    how: RunArgs,

    #[command(flatten)]
    data: DataArgs,
}

/// What can be said about every run that is watched.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunArgs {
    /// Steps at once [default: `runner.max_workers` of the flow, or 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_workers: Option<u32>,

    /// Write the result to this file as JSON, instead of to standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write only the outputs, by step
    #[arg(long)]
    pub outputs: bool,

    /// Say nothing but the result
    #[arg(long, short = 'q')]
    pub quiet: bool,

    /// Serve the state of the run on this port of the loopback interface, at /status and /outputs
    #[arg(long, value_name = "PORT")]
    pub status_port: Option<u16>,

    /// How much is said while it runs
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,

    /// What a stored decision survives [default: process]
    #[arg(long, value_name = "WHAT")]
    pub durability: Option<DurabilityWord>,
}

impl RunArgs {
    /// With what the configuration says where the command line says nothing.
    pub fn settled(&self, ui: &Ui) -> Self {
        let config = ui.config();
        Self {
            max_workers: self.max_workers.or_else(|| config.run_max_workers()),
            quiet: self.quiet || config.run_quiet(),
            log_level: self.log_level.or_else(|| config.run_log_level()),
            durability: self.durability.or_else(|| config.run_durability()),
            ..self.clone()
        }
    }

    pub fn durability(&self) -> Durability {
        self.durability.unwrap_or(DurabilityWord::Process).into()
    }
}

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    /// Only what went wrong
    Error,
    /// What went wrong, or may have
    Warn,
    /// Steps that start and end
    Info,
    /// What steps write, too
    Debug,
}

/// What a stored decision survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DurabilityWord {
    /// The death of the process, not that of the machine
    Process,
    /// A power failure
    Power,
}

impl From<DurabilityWord> for Durability {
    fn from(word: DurabilityWord) -> Self {
        match word {
            DurabilityWord::Process => Self::Process,
            DurabilityWord::Power => Self::Power,
        }
    }
}

const AFTER_HELP: &str = "\
Examples:
  tidewheel run flow.yaml
  tidewheel run flow.yaml --param env=staging --max-workers 8
  tidewheel run base.yaml production.yaml --format json -o result.json
  tidewheel run flow.yaml --from test

Keys while it runs:
  p pause   r resume   q quit   a all steps   w window   f failed   l log

Signals: Ctrl-C lets running steps finish and starts no more; once more ends them. SIGUSR1 pauses,
SIGUSR2 resumes.

Exit codes: 0 all went well (failures that the flow tolerates included), 1 a step failed, 2 the
command line is wrong, 3 the flow is, 130 after Ctrl-C, 143 after SIGTERM.

With --format json it prints { run_id, flow, state, started_at, ended_at, steps, outputs }.";

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let how = args.how.settled(ui);
    let loaded = load_files(ui, &args.files)?;
    let flow = loaded.runnable().ok_or_else(|| CommandError::input(anyhow!("there is no flow")))?;
    let params = params_of(flow, &args.params)?;
    let workers = workers_of(how.max_workers, flow);
    let mut order = FlowOrder::new(&loaded, args.files.clone(), params, workers);
    let chosen = select(&mut order, flow, args)?;
    if args.dry_run {
        return plan::show(ui, flow, &order, &args.data).map(|()| 0);
    }
    let folder = args.data.open(ui, how.durability())?;
    if let Some(chosen) = chosen {
        let note = |text: &str| {
            if !how.quiet {
                ui.note(text)
            }
        };
        order.reused = newest_outputs(&note, &folder, flow, &order, &chosen)?;
    }
    start(ui, &folder, flow, &order, &how)
}

/// Starts a run and watches it to its end.
pub(crate) fn start(
    ui: &Ui,
    folder: &DataFolder,
    flow: &Arc<Flow>,
    order: &FlowOrder,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let port = status_port(how)?;
    check_output(how)?;
    let options = SessionOptions::new(ui, order.max_workers);
    let session = Session::open(folder.clone(), &Takeover::Fresh, options)?;
    session.prepare(flow);
    let expected = expectations(folder, &flow.name)?;
    // Asked for first, so that nothing is missed.
    let (notices, since) = (session.wheel.notices(), wall_clock());
    let started = session.host.start(&session.wheel, flow, order, &expected);
    let run = started.map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
    let beginning = Beginning {
        since,
        level: level(how, ui),
        workers: order.max_workers,
        flow: flow.name.clone(),
        expected,
        definition: Arc::clone(flow),
        ended: BTreeSet::new(),
    };
    let ending = watch(ui, &session, &run, notices, beginning, port)?;
    let id = run.id();
    drop(run);
    session.close();
    finish(ui, folder, &id.to_string(), ending, how)
}

/// Watches a run to its end, and shows its state to others if asked to.
pub(crate) fn watch(
    ui: &Ui,
    session: &Session,
    run: &Run,
    notices: tidewheel::NoticeStream,
    beginning: Beginning,
    port: Option<StatusPort>,
) -> Result<Ending, CommandError> {
    session.runtime.block_on(async {
        let status = match port {
            Some(port) => {
                let source = Arc::new(StoredStatus::new(session.folder.clone(), run.id()));
                let served = StatusServer::start(port, source).await;
                Some(served.map_err(|error| CommandError::internal(anyhow!(error)))?)
            }
            None => None,
        };
        if let Some(status) = &status {
            ui.note(&format!("status at http://{}/status", status.address()));
        }
        let watch = Watch::new(session, run.clone(), notices, beginning);
        let ending = watch.until_end().await;
        if let Some(status) = status {
            status.stop().await;
        }
        ending
    })
}

/// Takes the port that was asked for, before anything is started.
pub(crate) fn status_port(how: &RunArgs) -> Result<Option<StatusPort>, CommandError> {
    let Some(port) = how.status_port else { return Ok(None) };
    StatusPort::take(port).map(Some).map_err(|error| {
        let error = anyhow!(error).context(format!("port {port} cannot be used"));
        CommandError::new(ErrorKind::Conflict, error).hint("choose another, or 0 for any")
    })
}

/// Makes sure that the result can be written, before anything is started.
pub(crate) fn check_output(how: &RunArgs) -> Result<(), CommandError> {
    how.output.as_deref().map_or(Ok(()), check_writable)
}

/// Writes what the run came to, and gives the exit code.
pub(crate) fn finish(
    ui: &Ui,
    folder: &DataFolder,
    id: &str,
    ending: Ending,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let reader = folder.reader().map_err(|error| folder_error(error, folder.path()))?;
    let detail = find_run(folder, &reader, id)?;
    let view = result_of(folder, &reader, detail)?;
    if let Some(path) = &how.output {
        let written = write_atomically(path, &format!("{}\n", pretty(&view, how)?));
        written.map_err(|error| not_written(error, &view))?;
    } else if ui.format(Format::Human) == Format::Json {
        unless_left(match how.outputs {
            true => ui.print_json(&view.outputs()),
            false => ui.print_json(&view),
        })?;
    } else if how.outputs {
        unless_left(ui.print(&pretty(&view, how)?))?;
    }
    if view.state() != "succeeded" && ui.format(Format::Human) == Format::Human && !how.quiet {
        advise(ui, &view, &folder.logs_dir());
    }
    Ok(ending.exit_code(view.exit_code()))
}

/// The work is done, whatever became of the file.
fn not_written(error: CommandError, view: &RunResultView) -> CommandError {
    let kind = match view.exit_code() {
        0 => ErrorKind::Conflict,
        _ => ErrorKind::Failed,
    };
    let (id, state) = (view.detail.summary.id, view.state());
    let error = error.error.context(format!("run {id} has ended: {state}; its result is lost"));
    CommandError::new(kind, error)
        .hint(format!("tidewheel show {} --format json  prints it", short_id(id)))
}

/// What was asked for of the result, for programs and people.
fn pretty(view: &RunResultView, how: &RunArgs) -> Result<String, CommandError> {
    let text = match how.outputs {
        true => serde_json::to_string_pretty(&view.outputs()),
        false => serde_json::to_string_pretty(view),
    };
    text.map_err(CommandError::internal)
}

/// Whoever reads the result may have left; how the run ended counts all the same.
fn unless_left(printed: Result<(), CommandError>) -> Result<(), CommandError> {
    printed.or_else(|error| match error.kind {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// What people can do about a run that did not go well.
fn advise(ui: &Ui, view: &RunResultView, logs: &Path) {
    let short = short_id(view.detail.summary.id);
    // Rather one that the flow did not expect to fail, and rather the work than who gathers it.
    let steps = view.listed();
    let failed = steps.iter().filter(|step| step.task.state == TaskState::Failed);
    let worst = failed.min_by_key(|StepView { task, is_tolerated, .. }| {
        (*is_tolerated, task.attempts == 0, task.at)
    });
    let has_log = |task: &TaskSummary| {
        let id = TaskId { run: view.detail.summary.id, index: task.index };
        let mut paths = STREAMS.iter().map(|stream| log_path(logs, id, task.attempts, stream));
        let answer =
            view.results.get(&task.index).and_then(|result| result.newest.as_ref()?.tail.as_ref());
        answer.is_some() || paths.any(|path| path.exists())
    };
    if let Some(StepView { task, .. }) = worst.filter(|step| has_log(step.task)) {
        ui.note(&format!("hint: tidewheel logs {short} {}", quoted(&task.name)));
    }
    let unknown = view.detail.tasks.iter().find(|task| task.state == TaskState::Unknown);
    match unknown {
        Some(task) => {
            let name = quoted(&task.name);
            ui.note(&format!("hint: see whether {name} took effect; nobody else can say"));
        }
        None => ui.note(&format!("hint: tidewheel retry {short}  runs what is left")),
    }
}

pub(crate) fn workers_of(said: Option<u32>, flow: &Flow) -> u32 {
    said.or(flow.runner.max_workers).unwrap_or(WORKERS_DEFAULT)
}

pub(crate) fn level(how: &RunArgs, ui: &Ui) -> Level {
    match how.log_level {
        _ if how.quiet => Level::Quiet,
        Some(LogLevel::Error | LogLevel::Warn) => Level::Quiet,
        Some(LogLevel::Debug) => Level::Verbose,
        Some(LogLevel::Info) => Level::Normal,
        None if ui.format(Format::Human) == Format::Json => Level::Quiet,
        None => Level::Normal,
    }
}

pub(crate) fn expectations(
    folder: &DataFolder,
    flow: &str,
) -> Result<BTreeMap<String, std::time::Duration>, CommandError> {
    let failed = |error| folder_error(error, folder.path());
    folder.reader().map_err(failed)?.durations(flow, SAMPLES).map_err(failed)
}

/// Leaves only what was asked for, if not everything was.
fn select(
    order: &mut FlowOrder,
    flow: &Flow,
    args: &Args,
) -> Result<Option<BTreeSet<String>>, CommandError> {
    let chosen: BTreeSet<String> = match &args.from {
        Some(from) => {
            check_step(flow, from)?;
            flow.descendants(from)
        }
        None if args.only.is_empty() => return Ok(None),
        None => {
            for step in &args.only {
                check_step(flow, step)?;
            }
            args.only.iter().cloned().collect()
        }
    };
    order.only = Some(chosen.iter().cloned().collect());
    Ok(Some(chosen))
}

fn check_step(flow: &Flow, name: &str) -> Result<(), CommandError> {
    if flow.step(name).is_some() {
        return Ok(());
    }
    let error = CommandError::usage(anyhow!("the flow has no step `{name}`"));
    Err(match near_step(flow, name) {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

/// What somebody may have meant who named a step that the flow does not have.
pub(crate) fn near_step(flow: &Flow, name: &str) -> Option<String> {
    let step = step_of(name);
    if step != name && flow.step(step).is_some() {
        return Some(format!("`{}` is a part of step `{step}`: name the step", harmless(name)));
    }
    let near = nearest(name, flow.steps.iter().map(|step| step.name.as_str()))?;
    Some(format!("did you mean `{near}`?"))
}

/// What steps that are not chosen left in the newest run of the same files, with the same params, in
/// which they succeeded and were what they are now. Says from where each comes.
fn newest_outputs(
    note: &dyn Fn(&str),
    folder: &DataFolder,
    flow: &Flow,
    order: &FlowOrder,
    chosen: &BTreeSet<String>,
) -> Result<BTreeMap<String, Map<String, Json>>, CommandError> {
    let failed = |error| folder_error(error, folder.path());
    let reader = folder.reader().map_err(failed)?;
    let filter = RunFilter {
        name: Some(flow.name.clone()),
        kind: Some(RunKind::Run),
        limit: REUSED_RUNS_SEEN,
        ..RunFilter::default()
    };
    let mut left = BTreeMap::new();
    let mut runs_seen = 0;
    for summary in reader.runs(&filter).map_err(failed)? {
        if runs_seen == REUSED_RUNS {
            break;
        }
        let Some(detail) = reader.run(summary.id).map_err(failed)? else { continue };
        let Ok(known) = FlowOrder::of_run(&detail) else { continue };
        if !known.is_of_same_files(order) || known.params != order.params {
            continue;
        }
        runs_seen += 1;
        let changed = order.changed_since(&known);
        let view = result_of(folder, &reader, detail)?;
        let mut found = Vec::new();
        for task in &view.detail.tasks {
            let is_wanted = task.state == TaskState::Succeeded
                && !chosen.contains(&task.name)
                && flow.step(&task.name).is_some()
                && !changed.contains(&task.name)
                && !left.contains_key(&task.name);
            if is_wanted {
                left.insert(task.name.clone(), view.outputs_of(task.index));
                found.push(harmless(&task.name));
            }
        }
        if !found.is_empty() {
            note(&format!("reused of run {}: {}", short_id(summary.id), found.join(", ")));
        }
    }
    for missing in needed_of_others(flow, chosen).filter(|step| !left.contains_key(*step)) {
        let step = harmless(missing);
        note(&format!("nothing of `{step}` can be reused; --from '{step}' runs it too"));
    }
    Ok(left)
}

/// Steps that are not chosen, and whose outputs are named by chosen ones.
fn needed_of_others<'a>(
    flow: &'a Flow,
    chosen: &'a BTreeSet<String>,
) -> impl Iterator<Item = &'a str> {
    let steps = flow.steps.iter().filter(|step| chosen.contains(&step.name));
    let needed: BTreeSet<&str> = steps
        .flat_map(|step| step.after.iter().filter(|needed| needed.is_inferred))
        .map(|needed| needed.step.as_str())
        .filter(|step| !chosen.contains(*step))
        .collect();
    needed.into_iter()
}
