//! `tidewheel serve`: a house that lasts until it is told to stop, and says what happens in it.
//!
//! What a house keeps and does is the client's business.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tidewheel::store::sqlite::{DataFolder, Durability, Retention};
use tidewheel_client::api::{FlowList, Happened, Reloaded, StartWish, What};
use tidewheel_client::house::{Happenings, House, HouseOptions, Seen};
use tidewheel_client::kind::Kinds;
use tidewheel_client::text::{count, harmless, short_id};
use tidewheel_client::traces::Traces;
use tidewheel_publish::run::Publishes;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::Format;
use crate::command::run::{DurabilityWord, session_options};
use crate::data::DataArgs;
use crate::error::CommandError;
use crate::files::problem_lines;
use crate::listening::{ListenArgs, Listening, Places};
use crate::overseer::{News, Overseer};
use crate::runtime::on_runtime;
use crate::ui::{Ui, warn};
use crate::value;
use crate::watch::{heard, unless_ignored};

/// Tasks at once, unless something else is said.
const SLOTS: u32 = 16;

/// Serve flows: their schedules fire, and their runs are kept
///
/// The files of a folder are its flows, each by its name; folders inside it are not looked into. Files that
/// change count within two seconds, and each run keeps the version it was started with. A file that
/// cannot be run is told with its place, and what it said before stays in force. A file that is gone ends
/// its schedules; what they did stays.
///
/// Everything is one scheduler: priorities, queues and limits hold over all runs. Whatever happens to
/// the process, the next one goes on where it was.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel serve --flows flows
  tidewheel serve --flows /etc/tidewheel/flows --data /var/lib/tidewheel
  tidewheel serve nightly.yaml --listen off
  tidewheel serve --flows flows --listen 0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key --host tide.example

Signals: SIGTERM and Ctrl-C accept nothing more and let running steps finish, for as long as --grace says;
then, or the second time, they are stopped. What is left goes on at the next start. SIGHUP reads the files
and the certificate again at once.

It answers over HTTP on 127.0.0.1:8080, with tokens of `tidewheel token`; the link that it prints logs a
browser in, once, and `tidewheel login` prints another. Commands on its data folder find it by themselves;
from elsewhere they take --server. Other addresses need TLS: --tls-cert and --tls-key, or a proxy that
speaks it and --behind-proxy. Sockets that systemd hands over (LISTEN_FDS) take the place of --listen.

Exit codes: 0 stopped when told to, 3 a file that was named cannot be run, 5 another server has the data
folder, or the port is taken, 6 the address is not safe to listen on.

With --format json it prints what happens, one JSON object a line.")]
pub(crate) struct Args {
    /// Flow files that are run once, beside those of the folder; each is a flow of its own
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The folder with flow files [default: `serve.flows`]
    #[arg(long, value_name = "DIR")]
    flows: Option<PathBuf>,

    /// How long running steps may take to finish when it is told to stop [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = value::span)]
    grace: Option<Duration>,

    /// What a stored decision survives [default: power]
    #[arg(long, value_name = "WHAT")]
    durability: Option<DurabilityWord>,

    #[command(flatten)]
    listen: ListenArgs,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    let options = house_options(ui, args)?;
    keep_memory(ui);
    let durability = args.durability.map_or(Durability::Power, Into::into);
    let places = args.listen.places(ui)?;
    let folder = args.data.open(ui, durability)?;
    on_runtime(serve(ui, args, places, folder, options))
}

/// Keeps what is in memory, such as secrets of flows, out of files that are written when a process crashes, and away from
/// other programs of the same user. Steps are programs of their own, for which it does not hold.
fn keep_memory(ui: &Ui) {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        ui.warn(&format!("what is in memory may be written down if the server crashes: {error}"));
    }
}

/// How the house is set up, by arguments and settings.
fn house_options(ui: &Ui, args: &Args) -> Result<HouseOptions, CommandError> {
    let config = ui.config();
    let mut options = HouseOptions::new();
    options.flows = args.flows.clone().or_else(|| config.serve_flows());
    options.files.clone_from(&args.files);
    if let Some(file) = args.files.iter().find(|file| !file.exists()) {
        return Err(CommandError::input(anyhow!("there is no file {}", file.display())));
    }
    options.session = session_options(ui, config.scheduler_max_concurrency().unwrap_or(SLOTS));
    options.kinds = Kinds::default().with(Publishes);
    options.session.waiting_max = config.scheduler_max_queue_size();
    options.retention = Retention {
        older_than: config.retention_age(),
        count_max: config.retention_runs(),
        bytes_max: config.retention_bytes(),
    };
    Ok(options)
}

async fn serve(
    ui: &Ui,
    args: &Args,
    places: Places,
    folder: DataFolder,
    options: HouseOptions,
) -> Result<(), CommandError> {
    let data = folder.path().to_owned();
    let traces = traces(ui)?;
    let overseer = Arc::new(Overseer::from_environment());
    let mut signals = Signals::new()?;
    let taken = places.take().await?;
    let house = House::open(folder, options).await?;
    let told = house.happenings(None);
    let status = tell_flows(ui, &house).await;
    if let Err(error) = start_files(&house, &args.files).await {
        house.close(Duration::ZERO).await;
        return Err(error);
    }
    let listening = match Listening::begin(ui, &house, &data, &args.listen, taken) {
        Ok(listening) => listening,
        Err(error) => {
            house.close(Duration::ZERO).await;
            return Err(error);
        }
    };
    listening.tell(ui)?;
    overseer.tell(News::Ready(&status));
    let exporting = traces.map(|traces| {
        tokio::spawn(traces.export(house.happenings(None), |text| warn(&harmless(&text))))
    });
    let alive = tokio::spawn(keep_alive(Arc::clone(&overseer), house.clone()));
    let telling = tell(ui, told);
    tokio::pin!(telling);
    tokio::select! {
        () = &mut telling => {}
        () = signals.until_stop(ui, &house, &listening, &overseer) => {}
    }
    overseer.tell(News::Stopping);
    listening.drain();
    ui.note("stopping: running steps may finish; once more stops them at once");
    let grace = args.grace.unwrap_or_else(|| ui.config().serve_grace());
    let close = async {
        tokio::select! {
            () = house.close(grace) => {}
            () = signals.stop() => house.close(Duration::ZERO).await,
        }
    };
    tokio::select! {
        () = &mut telling => {}
        () = close => {}
    }
    listening.end().await;
    alive.abort();
    if let Some(exporting) = exporting {
        // It sends what is left, and waits for nobody who is gone.
        let _ = exporting.await;
    }
    ui.note("stopped");
    Ok(())
}

/// Where traces are sent, if they are.
fn traces(ui: &Ui) -> Result<Option<Traces>, CommandError> {
    let Some(endpoint) = ui.config().otlp_endpoint() else { return Ok(None) };
    // What is secret about it does not belong into a file that others read.
    let headers = std::env::var("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
    Traces::to(&endpoint, &headers).map(Some).map_err(CommandError::input)
}

/// Says that the scheduler answers, as often as somebody wants to hear it.
async fn keep_alive(overseer: Arc<Overseer>, house: House) {
    let Some(every) = overseer.every() else { return };
    loop {
        tokio::time::sleep(every).await;
        let house = house.clone();
        // Whatever keeps the scheduler from answering keeps this from being said.
        if tokio::task::spawn_blocking(move || drop(house.overview())).await.is_ok() {
            overseer.tell(News::Alive);
        }
    }
}

/// Runs the files once that were named.
async fn start_files(house: &House, files: &[PathBuf]) -> Result<(), CommandError> {
    let list = house.flows().await;
    for file in files {
        let path = std::path::absolute(file).map_err(CommandError::input)?;
        let path = path.display().to_string();
        let Some(flow) = list.flows.iter().find(|flow| flow.file == path && !flow.outdated) else {
            let broken = list.broken.iter().find(|broken| broken.file == path);
            let problems = broken.map(|broken| broken.problems.clone()).unwrap_or_default();
            let error = CommandError::input(anyhow!("{} cannot be run", file.display()));
            return Err(error.problems(problems));
        };
        house.start(StartWish { flow: flow.name.clone(), ..StartWish::default() }).await?;
    }
    Ok(())
}

/// Says what is served; the same in words for others.
async fn tell_flows(ui: &Ui, house: &House) -> String {
    let list = house.flows().await;
    let schedules: usize = list.flows.iter().map(|flow| flow.schedules.len()).sum();
    let (flows, schedules) = (count(list.flows.len(), "flow"), count(schedules, "schedule"));
    let slots = house.overview().slots.unwrap_or_default();
    tell_broken(ui, &list, None);
    for refused in house.refused() {
        ui.warn(&refused);
    }
    let status = format!("serving {flows} with {schedules}, {}", count(slots as usize, "slot"));
    ui.note(&status);
    status
}

/// Says what is wrong with files: with all, or with these.
fn tell_broken(ui: &Ui, list: &FlowList, only: Option<&[String]>) {
    let is_told = |file: &String| only.is_none_or(|only| only.contains(file));
    for broken in list.broken.iter().filter(|broken| is_told(&broken.file)) {
        let kept = match broken.in_force {
            true => "what it said before stays in force",
            false => "it is not served",
        };
        ui.warn(&format!("{} cannot be run: {kept}", harmless(&broken.file)));
        ui.explain(&problem_lines(&broken.problems));
    }
}

/// Says what happens, for ever: should nobody read it any more, the house goes on all the same.
async fn tell(ui: &Ui, mut happenings: Happenings) {
    while let Some(seen) = happenings.next().await {
        let Seen::Happened(happened) = seen else { continue };
        let told = match ui.format(Format::Human) {
            Format::Json => ui.print_json(&*happened),
            Format::Human => match line(&happened) {
                Some(line) => {
                    ui.note(&line);
                    Ok(())
                }
                None => Ok(()),
            },
        };
        if told.is_err() {
            break;
        }
    }
    std::future::pending().await
}

/// What happened, for people; steps are told only if they fail.
fn line(happened: &Happened) -> Option<String> {
    let text = |text: &Option<String>| text.as_deref().map(harmless).unwrap_or_default();
    let (flow, schedule) = (text(&happened.flow), text(&happened.schedule));
    let run = happened.run_id.as_deref().map(short_id).unwrap_or_default();
    let nominal = happened.nominal.map(|at| at.to_string()).unwrap_or_default();
    let (state, error) = (text(&happened.state), text(&happened.error));
    let at = happened.at;
    Some(match happened.what {
        What::RunAccepted => format!("{at} {flow}: run {run} accepted"),
        What::RunEnded => format!("{at} {flow}: run {run} {state}"),
        What::RunPaused => format!("{at} {flow}: run {run} paused"),
        What::RunResumed => format!("{at} {flow}: run {run} goes on"),
        What::RunWaits => format!("{at} {flow}: run {run} waits for its group"),
        What::PriorityChanged => match &happened.step {
            Some(_) => {
                let step = text(&happened.step);
                format!("{at} {flow}: step {step} of run {run} has priority {state}")
            }
            None => format!("{at} {flow}: run {run} has priority {state}"),
        },
        What::StepRetries => {
            format!(
                "{at} {flow}: step {} of run {run} is tried again: {error}",
                text(&happened.step)
            )
        }
        What::ScheduleFired => format!("{at} schedule {schedule} fired for {nominal}: run {run}"),
        What::ScheduleSkipped => {
            let skipped = count(happened.count.unwrap_or(1) as usize, "instant");
            format!("{at} schedule {schedule}: {skipped} from {nominal} on skipped ({state})")
        }
        What::FiringFailed => format!("{at} schedule {schedule}: no run for {nominal}: {error}"),
        What::ScheduleEnded => format!("{at} schedule {schedule} ended"),
        What::FlowChanged => format!("{at} {flow}: a new version is in force"),
        What::FlowRemoved => format!("{at} {flow}: its file is gone, its schedules have ended"),
        What::FlowBroken => format!("{at} {error}"),
        What::Missed => format!("{at} so much happened that not all of it is told"),
        _ => return None,
    })
}

/// What the process is told from outside.
struct Signals {
    /// None where it is ignored, as in the background of a script: an interrupt is for somebody else there.
    interrupt: Option<Signal>,
    terminate: Signal,
    hang_up: Signal,
    /// Without a meaning here: heard, so that they do not end the process.
    _others: [Signal; 2],
}

impl Signals {
    fn new() -> Result<Self, CommandError> {
        let listen = |kind| signal(kind).map_err(CommandError::internal);
        Ok(Self {
            interrupt: unless_ignored(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            _others: [listen(SignalKind::user_defined1())?, listen(SignalKind::user_defined2())?],
        })
    }

    /// Waits until it is told to stop.
    async fn stop(&mut self) {
        tokio::select! {
            () = heard(&mut self.interrupt) => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// The same, and reads files again when it is told to.
    async fn until_stop(
        &mut self,
        ui: &Ui,
        house: &House,
        listening: &Listening,
        overseer: &Overseer,
    ) {
        loop {
            tokio::select! {
                () = heard(&mut self.interrupt) => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => {
                    overseer.tell(News::Reloading);
                    listening.reload(ui);
                    match house.reload().await {
                        Ok(reloaded) => tell_reloaded(ui, house, &reloaded).await,
                        Err(error) => ui.warn(&harmless(&error.to_string())),
                    }
                    overseer.tell(News::Ready("read again"));
                }
            }
        }
    }
}

async fn tell_reloaded(ui: &Ui, house: &House, reloaded: &Reloaded) {
    let Reloaded { added, changed, removed, .. } = reloaded;
    let (added, changed) = (count(added.len(), "new flow"), count(changed.len(), "changed"));
    ui.note(&format!("read again: {added}, {changed}, {} gone", removed.len()));
    tell_broken(ui, &house.flows().await, Some(&reloaded.broken));
    for refused in &reloaded.refused {
        ui.warn(refused);
    }
}
