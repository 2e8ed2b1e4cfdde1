//! What `tidewheel torture` takes, and the way through its scenarios.
//!
//! What each scenario does is in its own file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;

use super::report::Report;
use super::scenario::{Name, Stage};
use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// Hurt the scheduler in real processes, and check that nothing is lost or done twice
///
/// Victims run graphs and tasks on a data folder while they are killed, stopped, starved of disk
/// space or given failing system calls. Their tasks keep a ledger outside the database, and when all
/// is over the two must agree.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel torture --seconds 300
  tidewheel torture --only sweep,errors --rounds 100
  tidewheel torture --only kill --seed 7 --durability process --format json

Scenarios:
  sweep   SIGKILL at the n-th write, flush or message, for every n
  errors  EIO and ENOSPC at the n-th write or flush, once and from then on
  kill    SIGKILL after a random time, again and again
  stop    SIGSTOP while another wants the shard; the spawner is killed
  full    the disk is full for a while
  steps   a large graph, killed again and again
  queue   many queued tasks, killed; how long until the first one starts
  flows   flows with outputs, elements, calls and hooks, killed and resumed again and again
  odd     links and strange things in the data folder, while flows are killed and others pruned
  signals signals that were ignored at the start, and steps that ignore being told to end
  frozen  an owner that is stopped while others ask it to pause or to end its run
  taken   owners are killed, and whoever takes their work in is killed or hurt on the way, again and again

Needs strace for sweep, errors and most of taken, and the right to mount for full; what is missing is said.")]
pub(crate) struct Args {
    /// Which scenarios
    #[arg(long, value_name = "SCENARIOS", value_delimiter = ',')]
    only: Vec<Name>,

    /// How many points, kills or folders each scenario goes through [default: depends on it]
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,

    /// How long all of it may take, about
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seconds: Option<u64>,

    /// Which chance: the same seed plans the same faults [default: by the clock]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,

    /// What a stored decision survives
    #[arg(long, value_name = "WHAT", default_value = "power")]
    durability: Durable,

    /// Where data folders are made [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Keep the folders even if all is well
    #[arg(long)]
    keep: bool,

    /// How many steps the large graph has
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    steps: u32,

    /// How many tasks are queued
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    queued: u32,

    /// Only this fault, such as `all:pwrite64:kill:17`, or only this round
    #[arg(long, value_name = "POINT", hide = true)]
    point: Option<String>,

    /// We are in a mount namespace of our own
    #[arg(long, hide = true)]
    inside: bool,
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

/// What all rounds have in common.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// This very program.
    pub program: PathBuf,
    pub work: PathBuf,
    pub durability: Durable,
    pub seed: u64,
    pub keep: bool,
    pub steps: u32,
    pub queued: u32,
    pub point: Option<String>,
    pub inside: bool,
    /// How many rounds each scenario has, where that was said.
    pub rounds: Option<u64>,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    let work = args.work.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("tidewheel-torture-{}", std::process::id()))
    });
    let settings =
        settings(args, &work).map_err(|error| CommandError::new(ErrorKind::Failed, error))?;
    let mut names = if args.only.is_empty() { Name::ALL.to_vec() } else { args.only.clone() };
    names.dedup();
    ui.note(&format!(
        "torture: seed {}, durability {}, in {}",
        settings.seed,
        settings.durability.word(),
        settings.work.display()
    ));
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut outcomes = Vec::new();
    for (place, name) in names.iter().enumerate() {
        // What one leaves of its share the others get.
        let shares = (names.len() - place) as u32;
        let now = Instant::now();
        let until = end.map(|end| now + end.saturating_duration_since(now) / shares);
        outcomes.push(Stage::new(ui, &settings, *name, until).play());
    }
    let report = Report::new(settings.seed, settings.durability.word(), outcomes);
    match ui.format(Format::Human) {
        Format::Human => ui.print(&report.text())?,
        Format::Json => {
            ui.print(&serde_json::to_string(&report).map_err(CommandError::internal)?)?;
        }
    }
    if report.is_clean() {
        if args.work.is_none() && !args.keep {
            // Left behind, it is only a folder among temporary ones.
            let _ = std::fs::remove_dir_all(&work);
        }
        return Ok(());
    }
    Err(CommandError::new(ErrorKind::Failed, anyhow!("{}", report.line()))
        .hint(format!("the folders of what failed are in {}", settings.work.display())))
}

fn settings(args: &Args, work: &Path) -> anyhow::Result<Settings> {
    std::fs::create_dir_all(work).with_context(|| format!("failed to make {}", work.display()))?;
    let clock = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(1, |since| u64::from(since.subsec_nanos()) ^ (since.as_secs() & 0xffff))
    };
    Ok(Settings {
        program: std::env::current_exe().context("this program cannot be found")?,
        work: std::path::absolute(work)?,
        durability: args.durability,
        seed: args.seed.unwrap_or_else(clock),
        keep: args.keep,
        steps: args.steps,
        queued: args.queued,
        point: args.point.clone(),
        inside: args.inside,
        rounds: args.rounds,
    })
}
