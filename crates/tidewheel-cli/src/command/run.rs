//! `tidewheel run`: runs a flow, shows how it goes, and says what it came to.
//!
//! What may be run, and what is reused, is known at the desk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::anyhow;
use tidewheel::executor::http::AddressPolicy;
use tidewheel::store::sqlite::Durability;
use tidewheel_client::api::{RunResult, RunState, StartWish};
use tidewheel_client::desk::{Desk, LocalDesk, Reuse};
use tidewheel_client::files::{RunWish, STDIN};
use tidewheel_client::kind::Startable;
use tidewheel_client::remote::RemoteDesk;
use tidewheel_client::session::{Session, SessionOptions, Started};
use tidewheel_client::text::{harmless, short_id};

use crate::cli::Format;
use crate::command::{plan, there};
use crate::data::DeskArgs;
use crate::error::{CommandError, ErrorKind};
use crate::files::read_files;
use crate::live::{Level, Shown};
use crate::output::{check_writable, write_atomically};
use crate::runtime::{Room, on_runtime_in, raise_descriptors};
use crate::status::{StatusPort, StatusServer};
use crate::ui::{Ui, in_plain_letters};
use crate::watch::{Seen, Signals, StoredStatus, Watch};

/// How long readers of a status port have to see that the run is over.
const LINGER: Duration = Duration::from_secs(3);

/// Run a flow
///
/// Reads the files, which are merged from left to right, checks them, and runs the steps as soon as
/// what they need is done. Every run is kept in the data folder: see `tidewheel runs`. With --server it is a
/// flow of that server, by its name, that is run there and watched from here: see `tidewheel flows`. So is a
/// name that is no file where a server has the data folder.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Flow files; later ones change what earlier ones say. `-` is standard input [default:
    /// tidewheel.yaml, or tidewheel.yml]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// A param of the flow; may be given again
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE")]
    params: Vec<String>,

    /// Only these steps; outputs of others come from the newest run of the same files that has them
    #[arg(long, value_name = "STEP", conflicts_with_all = ["from", "to"])]
    only: Vec<String>,

    /// Only this step and what comes after it
    #[arg(long, value_name = "STEP", conflicts_with = "to")]
    from: Option<String>,

    /// Only this step and what it needs; may be given again
    #[arg(long, value_name = "STEP")]
    to: Vec<String>,

    /// Show what would be run and what is cached, or why not, and run nothing
    #[arg(long)]
    dry_run: bool,

    /// The priority of steps that say none, 0 to 100; of a flow of a server, like the next three
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=100))]
    priority: Option<u8>,

    /// A word to find the run by; may be given again
    #[arg(long = "tag", value_name = "WORD")]
    tags: Vec<String>,

    /// A name under which the run is accepted once, however often it is asked for
    #[arg(long, value_name = "NAME")]
    key: Option<String>,

    /// Start it, print its id, and do not watch it
    #[arg(long, conflicts_with = "dry_run")]
    detach: bool,

    #[command(flatten)]
    how: RunArgs,

    #[command(flatten)]
    data: DeskArgs,
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
    #[arg(long, value_name = "LEVEL", ignore_case = true)]
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
  tidewheel run
  tidewheel run flow.yaml
  tidewheel run flow.yaml --to test
  generate-flow | tidewheel run -
  tidewheel run flow.yaml --param env=staging --max-workers 8
  tidewheel run base.yaml production.yaml --format json -o result.json
  tidewheel run flow.yaml --from test
  tidewheel run nightly --param env=staging --detach
  tidewheel run nightly --server https://tide.example --param env=staging

Keys while it runs:
  p pause   r resume   q quit   a all steps   w window   f failed   l log

Signals: Ctrl-C lets running steps finish and starts no more; once more ends them. SIGUSR1 pauses,
SIGUSR2 resumes.

Exit codes: 0 all went well (failures that the flow tolerates included), 1 a step failed, 2 the
command line is wrong, 3 the flow is, 130 after Ctrl-C, 143 after SIGTERM.

With --format json it prints { run_id, flow, state, started_at, ended_at, steps, outputs }.";

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let room = Room::look();
    let how = args.how.settled(ui);
    if let Some(server) = args.server(ui)? {
        let start = args.there(&how)?;
        return on_runtime_in(room, there::start(ui, &server, start, &how));
    }
    args.here()?;
    let files = read_files(ui, &args.files)?;
    let wish = RunWish {
        params: args.params.clone(),
        only: args.only.clone(),
        from: args.from.clone(),
        to: args.to.clone(),
        max_workers: how.max_workers,
    };
    let mut run = files.run(&wish)?;
    drop(files);
    if args.dry_run {
        return plan::show_with_cache(ui, &run, &args.data.data).map(|()| 0);
    }
    let folder = args.data.data.open(ui, how.durability())?;
    on_runtime_in(room, async {
        let desk = LocalDesk::open(folder)?;
        let reuse = desk.reuse(&mut run)?;
        if !how.quiet {
            tell_reuse(ui, &reuse);
            // Only those that are asked for by name are wanted otherwise.
            if !args.to.is_empty() {
                tell_left_out(ui, &reuse);
            }
        }
        // Nobody else needs this thread before the run has started, nor after it has ended.
        start(ui, &Desk::inline(desk), Box::new(run), &how).await
    })
}

impl Args {
    /// The server that was named; or the one that has the data folder, if what is to be run is no file and can only be a
    /// flow of it.
    fn server(&self, ui: &Ui) -> Result<Option<Arc<RemoteDesk>>, CommandError> {
        match &self.files[..] {
            [flow] if !is_file(flow) => self.data.owner(ui),
            _ => self.data.named(),
        }
    }

    /// Refuses what only a server can do.
    fn here(&self) -> Result<(), CommandError> {
        let unfit = [
            (self.priority.is_some(), "--priority"),
            (!self.tags.is_empty(), "--tag"),
            (self.key.is_some(), "--key"),
            (self.detach, "--detach"),
        ];
        let Some((_, flag)) = unfit.iter().find(|(is_said, _)| *is_said) else { return Ok(()) };
        let error = anyhow!("{flag}: this is for a run of a server");
        Err(CommandError::usage(error).hint("name a flow of a server:  tidewheel flows"))
    }

    /// What is asked of a server. What only files can have is refused.
    fn there(&self, how: &RunArgs) -> Result<there::Start, CommandError> {
        let [flow] = &self.files[..] else {
            let error = anyhow!("with --server, one flow is named as the server knows it");
            return Err(CommandError::usage(error).hint("tidewheel flows --server URL  lists them"));
        };
        let is_part = !self.only.is_empty() || self.from.is_some() || !self.to.is_empty();
        let unfit = [
            (is_part, "--only, --from and --to"),
            (self.how.status_port.is_some(), "--status-port"),
            (self.how.durability.is_some(), "--durability"),
        ];
        if let Some((_, flags)) = unfit.iter().find(|(is_said, _)| *is_said) {
            let error = anyhow!("{flags}: this is not for a run of a server");
            return Err(CommandError::usage(error).hint("leave out --server to run a file here"));
        }
        let wish = StartWish {
            flow: flow.to_string_lossy().into_owned(),
            params: there::params(&self.params)?,
            priority: self.priority.map(i64::from),
            tags: self.tags.clone(),
            key: self.key.clone(),
            max_workers: self.how.max_workers.or(how.max_workers),
            ..StartWish::default()
        };
        Ok(there::Start { wish, is_dry: self.dry_run, is_detached: self.detach })
    }
}

/// Whether this is a file, or is meant to be one that is not there.
fn is_file(path: &Path) -> bool {
    let ends_so = |ending: &&str| path.extension().is_some_and(|it| it == *ending);
    path == Path::new(STDIN) || path.exists() || ["yaml", "yml", "json"].iter().any(ends_so)
}

/// Says from where outputs come that no step of this run leaves.
fn tell_reuse(ui: &Ui, reuse: &Reuse) {
    for (run, steps) in &reuse.found {
        let steps: Vec<String> = steps.iter().map(|step| harmless(step)).collect();
        ui.note(&format!("reused of run {}: {}", short_id(*run), steps.join(", ")));
    }
    for missing in &reuse.missing {
        let step = harmless(missing);
        ui.note(&format!("nothing of `{step}` can be reused; --from '{step}' runs it too"));
    }
}

/// Says what does not follow the run, and why.
fn tell_left_out(ui: &Ui, reuse: &Reuse) {
    for (hook, needed) in &reuse.left_out {
        let (hook, needed) = (harmless(hook), harmless(needed));
        ui.note(&format!("`{hook}` is left out: it needs `{needed}`, which is not run"));
    }
}

/// Starts a run and watches it to its end.
pub(crate) async fn start(
    ui: &Ui,
    desk: &Desk,
    run: Box<dyn Startable>,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let port = status_port(how)?;
    check_output(how)?;
    let options = session_options(ui, run.workers());
    let mut signals = Signals::new()?;
    let start = Session::begin(desk, &*run, options);
    let (session, started) = signals.keep_while(start, &AtomicBool::new(false)).await?;
    let id = started.run.id().to_string();
    let watched = Watched { shown: level(how, ui).into(), workers: run.workers(), port, signals };
    // What it came to is read from the store: large flows are not kept beside it.
    drop(run);
    let seen = watch(ui, &session, started, watched).await?;
    session.close().await;
    finish(ui, desk, &id, seen, how).await
}

/// How a session is set up for so many steps at once, as far as the configuration allows.
pub(crate) fn session_options(ui: &Ui, workers: u32) -> SessionOptions {
    let config = ui.config();
    // Switched off, the scheduler has no ageing of its own. Steps are processes, and those are
    // always bounded.
    let is_enabled = config.scheduler_enabled();
    let most = config.scheduler_max_concurrency();
    let mut options = SessionOptions::new(workers.min(most.unwrap_or(u32::MAX)));
    options.starvation_timeout = config.scheduler_starvation_timeout().filter(|_| is_enabled);
    options.grace = config.process_grace();
    options.output_max = config.process_output_max();
    if let Some(soft) = raise_descriptors() {
        options.spawner = options.spawner.descriptors(soft);
    }
    options.engine = config.container_engine();
    if config.http_allow_private() {
        options.policy = AddressPolicy::open();
    }
    options
}

/// How a run is watched.
pub(crate) struct Watched {
    pub shown: Shown,
    pub workers: u32,
    pub port: Option<StatusPort>,
    /// Listened to since before the run started.
    pub signals: Signals,
}

/// Watches a run to its end, and shows its state to others if asked to.
pub(crate) async fn watch(
    ui: &Ui,
    session: &Session,
    started: Started,
    Watched { shown, workers, port, signals }: Watched,
) -> Result<Seen, CommandError> {
    let status = match port {
        Some(port) => {
            let run = started.run.id();
            let source = Arc::new(StoredStatus::new(session.folder.clone(), run));
            let served = StatusServer::start(port, source).await;
            Some(served.map_err(|error| CommandError::internal(anyhow!(error)))?)
        }
        None => None,
    };
    if let Some(status) = &status {
        ui.note(&format!("status at http://{}/status", status.address()));
    }
    let seen = Watch::new(session, started, workers, shown).until_end(signals).await;
    if let Some(status) = status {
        // One that was lost here has no end to be seen.
        if seen.as_ref().is_ok_and(|seen| seen.lost.is_none()) {
            status.linger(LINGER).await;
        }
        status.stop().await;
    }
    seen
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
pub(crate) async fn finish(
    ui: &Ui,
    desk: &Desk,
    id: &str,
    Seen { ending, lost }: Seen,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let mut result = desk.show(id).await?;
    let is_human = ui.format(Format::Human) == Format::Human;
    match lost {
        Some(lost) if result.ended_at.is_none() => {
            result.lose(&lost);
            if let Some(why) = result.reason.as_ref().filter(|_| is_human) {
                ui.explain(&format!("error: {}", harmless(why)));
            }
        }
        // Somebody else went on with it.
        Some(_) if is_human && !how.quiet => {
            ui.note(&format!("run {} has ended elsewhere: {}", short_id(id), result.state));
        }
        _ => {}
    }
    if let Some(path) = &how.output {
        let written = write_atomically(path, &format!("{}\n", pretty(&result, how)?));
        written.map_err(|error| not_written(error, &result))?;
    } else if ui.format(Format::Human) == Format::Json {
        unless_left(match how.outputs {
            true => ui.print_json(&result.outputs),
            false => ui.print_json(&result),
        })?;
    } else if how.outputs {
        unless_left(ui.print(&pretty(&result, how)?))?;
    }
    if is_human {
        // Nothing of it was shown before, so it is said even to whoever wants to hear nothing but the result.
        if result.made_room
            && let Some(reason) = &result.reason
        {
            ui.warn(&format!("run {} was not carried out: {}", short_id(id), harmless(reason)));
        }
    }
    if is_human && !how.quiet {
        for (step, warning) in result.warnings() {
            ui.warn(&format!("{}: {}", harmless(step), harmless(warning)));
        }
        for hint in &result.hints {
            ui.note(&format!("hint: {}", harmless(hint)));
        }
    }
    let own = match result.state {
        _ if result.made_room => ErrorKind::Conflict.exit_code(),
        RunState::Succeeded => 0,
        _ => ErrorKind::Failed.exit_code(),
    };
    Ok(ending.exit_code(own))
}

/// The work is done, whatever became of the file.
fn not_written(error: CommandError, result: &RunResult) -> CommandError {
    let kind = match result.state {
        RunState::Succeeded => ErrorKind::Conflict,
        _ => ErrorKind::Failed,
    };
    let (id, state) = (&result.run_id, result.state);
    let error = error.error.context(format!("run {id} has ended: {state}; its result is lost"));
    CommandError::new(kind, error)
        .hint(format!("tidewheel show {} --format json  prints it", short_id(id)))
}

/// What was asked for of the result, for programs and people.
fn pretty(result: &RunResult, how: &RunArgs) -> Result<String, CommandError> {
    let text = match how.outputs {
        true => serde_json::to_string_pretty(&result.outputs),
        false => serde_json::to_string_pretty(result),
    };
    text.map(in_plain_letters).map_err(CommandError::internal)
}

/// Whoever reads the result may have left; how the run ended counts all the same.
fn unless_left(printed: Result<(), CommandError>) -> Result<(), CommandError> {
    printed.or_else(|error| match error.kind {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
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
