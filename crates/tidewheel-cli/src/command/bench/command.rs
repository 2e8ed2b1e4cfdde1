//! What `tidewheel bench` takes, and which workload runs.
//!
//! How a workload is measured is in its own file, how it is shown in `measurement`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use tidewheel::store::sqlite::{Durability, Options};

use super::{dag, flow, micro, priority, process, serve, sqlite, stress, timers};
use crate::error::CommandError;
use crate::ui::Ui;

/// Measure the scheduler on this machine
///
/// Each workload does nothing but schedule: the tasks themselves are empty.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel bench dag --shape layered --tasks 100000
  tidewheel bench priority --tasks 1000000 --slots 16 --mode backlog
  tidewheel bench timers --count 1000000 --format json
  tidewheel bench sqlite --in-flight 256 --durability power
  tidewheel bench process --tasks 2000 --slots 2
  tidewheel bench flow
  tidewheel bench serve --only start,idle
  tidewheel bench stress --seconds 65 --threads 8

With --format json each prints one object: workload, peer, version, variant, n, seconds, build_seconds,
per_task_us, tasks_per_s, peak_rss_mb (MiB); sqlite adds in_flight, start_p50_us, start_p99_us, process
adds slots, floor_seconds, ratio, and flow adds cold_start_ms, make_ms, chain_steps, chain_ms,
chain_beyond_ms, check_steps, check_lines, check_ms. Those of serve and stress are told in their own help.")]
pub(crate) struct Args {
    #[command(subcommand)]
    workload: Workload,
}

#[derive(Debug, Subcommand)]
enum Workload {
    Dag(DagArgs),
    Priority(PriorityArgs),
    Timers(TimersArgs),
    Micro(MicroArgs),
    Sqlite(SqliteArgs),
    Process(ProcessArgs),
    Flow(FlowArgs),
    Serve(ServeArgs),
    Stress(StressArgs),
}

/// Run a graph of empty tasks
#[derive(Debug, clap::Args)]
pub(super) struct DagArgs {
    /// An edge list: first `tasks edges`, then one `before after` a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["shape", "tasks"])]
    pub graph: Option<PathBuf>,

    /// The shape of a graph to be made
    #[arg(long, value_name = "SHAPE", required_unless_present = "graph")]
    pub shape: Option<Shape>,

    /// How many tasks it has
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub tasks: u32,

    /// Threads of the runtime
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,

    /// Tasks that may run at once [default: as many as threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: Option<u32>,
}

/// A family of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    /// Each task waits for the one before
    Chain,
    /// One task, then all the others, then one
    Wide,
    /// Layers of 1,000; each task waits for 1 to 5 of the layer before, 3 on average
    Layered,
}

impl Shape {
    pub fn word(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Wide => "wide",
            Self::Layered => "layered",
        }
    }
}

/// Submit empty tasks of mixed priorities one by one
#[derive(Debug, clap::Args)]
pub(super) struct PriorityArgs {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub tasks: u64,

    /// Tasks that may run at once
    #[arg(long, value_name = "M", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: u32,

    /// When they are submitted
    #[arg(long, value_name = "MODE", default_value = "stream")]
    pub mode: Mode,

    /// Threads of the runtime
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
}

/// When tasks are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// While others run
    Stream,
    /// All of them before the first may start
    Backlog,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Backlog => "backlog",
        }
    }
}

/// Set timers over the next 60 s, cancel every second one, let the others fire (virtual time)
#[derive(Debug, clap::Args)]
pub(super) struct TimersArgs {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub count: u64,
}

/// Measure single operations of the deciding core: step, order, timers
#[derive(Debug, clap::Args)]
pub(super) struct MicroArgs {
    /// Tasks, submissions or timers per measurement
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub size: u32,
}

/// Run empty tasks on the SQLite store: each is accepted, started and ended durably
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel bench sqlite --in-flight 256 --durability power
  tidewheel bench sqlite --in-flight 1 --tasks 2000 --data /srv/tidewheel")]
pub(super) struct SqliteArgs {
    /// How many tasks
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub tasks: u64,

    /// How many at once
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub in_flight: u32,

    /// What a stored decision survives
    #[arg(long, value_name = "WHAT", default_value = "power")]
    pub durability: Durable,

    /// The data folder [default: a temporary one, removed afterwards]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Threads of the runtime
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
}

/// Run a graph of processes on the SQLite store, and the same processes from a plain loop
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel bench process --tasks 2000 --slots 2
  tidewheel bench process --slots 4 --durability power --format json")]
pub(super) struct ProcessArgs {
    /// An edge list: first `tasks edges`, then one `before after` a line [default: layers]
    #[arg(long, value_name = "FILE", conflicts_with = "tasks")]
    pub graph: Option<PathBuf>,

    /// How many processes
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tasks: u32,

    /// Processes that may run at once
    #[arg(long, value_name = "M", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub slots: u32,

    /// What a stored decision survives
    #[arg(long, value_name = "WHAT", default_value = "process")]
    pub durability: Durable,

    /// The data folder [default: a temporary one, removed afterwards]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The program each task runs
    #[arg(long, value_name = "PROGRAM", default_value = "/bin/true")]
    pub program: PathBuf,

    /// Threads of the runtime
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
}

/// Run flow files with this very program: one step, a chain, many steps; and check a long file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel bench flow
  tidewheel bench flow --rounds 51 --format json")]
pub(super) struct FlowArgs {
    /// How often each is done; the medians are shown. The many steps are run once
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: u32,

    /// Steps of the chain
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub chain: u32,

    /// Steps of the file that is read and checked
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    pub check: u32,

    /// Steps of the flow that is run once, with its memory
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    pub steps: u32,

    /// Run this file here and tell the memory it took
    #[arg(long, value_name = "FILE", hide = true)]
    pub within: Option<PathBuf>,
}

/// Measure a server of this very program beside the bounds that it is to keep
///
/// The server is a process of its own, asked over HTTP on the loopback interface with a token. Each figure is shown
/// with its bound, and with the share of the bound that it uses up: at most 1 where it holds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel bench serve
  tidewheel bench serve --only start,idle
  tidewheel bench serve --only lists --runs 1000000 --data /var/tmp/many

With --format json it prints one object: workload, peer, version, and figures, a list of objects with name,
about, value, unit, bound, ratio and holds.")]
pub(super) struct ServeArgs {
    /// Only these figures
    #[arg(long, value_name = "FIGURE", value_delimiter = ',')]
    pub only: Vec<ServeFigure>,

    /// How often a run is started one after the other, and ten times as often as a chain is
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rounds: u32,

    /// How long runs are submitted, and how long it is looked at a server that has nothing to do
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,

    /// Schedules that are due at once
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub schedules: u32,

    /// Runs that are stored when they are listed
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub runs: u32,

    /// The data folder with the runs that are listed, which is filled up [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// What is measured of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ServeFigure {
    /// From asking for a run to its start
    Start,
    /// Runs accepted in a second
    Submit,
    /// Schedules that are due at once
    Due,
    /// Lists over many stored runs
    Lists,
    /// Memory and processor of a server with nothing to do
    Idle,
    /// A chain of steps, beside the same by `run`
    Chain,
}

impl ServeFigure {
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Submit => "submit",
            Self::Due => "due",
            Self::Lists => "lists",
            Self::Idle => "idle",
            Self::Chain => "chain",
        }
    }
}

/// Let many users do everything at once, and check every 5 s that what must hold does
///
/// They submit, start runs, set schedules, cancel, pause and change limits and queues, with options that
/// are hardly ever twice the same. Slots, limits and keys are watched by the tasks themselves. Every 5 s
/// all comes to its end: nothing may be lost, the books must close, statistics add up, and memory not
/// grow. It ends with one line, and with exit code 1 if something did not hold.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel bench stress
  tidewheel bench stress --seconds 600 --threads 16 --seed 7
  tidewheel bench stress --seconds 5 --format json

With --format json it prints one object: workload, peer, version, variant, n, seconds, per_task_us,
tasks_per_s, peak_rss_mb, seed, threads, checks, submissions, runs, schedules, firings, attempts,
cancels, refused, slots_most, limit_most, first_rss_mb and last_rss_mb (at rest), and breaches, a list of
texts.")]
pub(super) struct StressArgs {
    /// How long they work
    #[arg(long, value_name = "N", default_value_t = 65, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub seconds: u64,

    /// Threads of the runtime, and as many users
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,

    /// Which chance: the same seed asks for the same, though not in the same order
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
}

/// What stored decisions survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Durable {
    /// A power failure
    Power,
    /// The death of the process, not that of the machine
    Process,
}

impl Durable {
    pub fn word(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Process => "process",
        }
    }
}

impl From<Durable> for Options {
    fn from(durable: Durable) -> Self {
        Self::default().durability(match durable {
            Durable::Power => Durability::Power,
            Durable::Process => Durability::Process,
        })
    }
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    match &args.workload {
        Workload::Dag(args) => dag::measure(args)?.print(ui),
        Workload::Priority(args) => priority::measure(args)?.print(ui),
        Workload::Timers(args) => timers::measure(args)?.print(ui),
        Workload::Micro(args) => micro::measure(ui, args),
        Workload::Sqlite(args) => sqlite::measure(args)?.print(ui),
        Workload::Process(args) => process::measure(args)?.print(ui),
        Workload::Flow(args) => flow::measure(ui, args),
        Workload::Serve(args) => serve::measure(ui, args),
        Workload::Stress(args) => stress::measure(ui, args),
    }
}
