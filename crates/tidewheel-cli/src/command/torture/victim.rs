//! `tidewheel torture-victim`: does a plan on a data folder, and writes down what it does.
//!
//! It is started, hurt and started again by the scenarios; it knows nothing of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use tidewheel::executor::process::{ProcessCommand, ProcessEnd, Processes, Spawner};
use tidewheel::id::AttemptId;
use tidewheel::store::sqlite::{DataFolder, Durability, Options};
use tidewheel::store::{AttemptRecord, RecordedOutcome, StoreError};
use tidewheel::task::Failure;
use tidewheel::{Attempt, Graph, Outcome, Rejection, RunId, Shutdown, Tidewheel};

use super::command::Durable;
use super::ledger::{Ledger, words_of};
use super::plan::{self, Deed, Plan, Shape, Work};
use super::round::TAG;
use crate::error::{CommandError, ErrorKind};

/// For processes to end by themselves, those of an earlier life too.
const GRACE: Duration = Duration::from_millis(100);

/// The exit code of a victim that found the shard in other hands.
pub(super) const HELD: i32 = 75;
/// How long the processes of a dead holder are waited for.
const LEFT_WAIT: Duration = Duration::from_secs(30);
/// How often it is looked whether somebody whose work is to be taken in is gone.
const LOOK: Duration = Duration::from_millis(5);
/// Tasks that are lost are tried again: how often is not what is tested here.
const LOST_MAX: u32 = 1_000_000;
const RETRIES: u32 = 5;
const RETRY_DELAY: Duration = Duration::from_millis(5);
/// How long a store may be in trouble before a victim gives up.
const PATIENCE: Duration = Duration::from_secs(300);
/// Submissions under way at once.
const CHUNK: usize = 1_000;

/// Be tortured
#[derive(Debug, clap::Args)]
pub(crate) struct VictimArgs {
    /// The data folder
    #[arg(long)]
    data: PathBuf,
    /// The ledger
    #[arg(long)]
    ledger: PathBuf,
    /// What to do
    #[arg(long)]
    plan: Plan,
    /// How much of it
    #[arg(long, default_value_t = 0)]
    count: u32,
    /// How long each own task takes
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    /// What a stored decision survives
    #[arg(long)]
    durability: Durable,
    /// Tasks at once
    #[arg(long, default_value_t = 4)]
    slots: u32,
    /// Threads of the runtime
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Start nothing: submit, say so, and wait for the end
    #[arg(long)]
    hold: bool,
    /// Wait for this file before anything is submitted, or taken in
    #[arg(long)]
    gate: Option<PathBuf>,
    /// The shard
    #[arg(long, default_value = "torture")]
    shard: String,
    /// Begin the names of all work with this
    #[arg(long, default_value = "")]
    prefix: String,
    /// Take in the work of this shard once its owner is gone, and submit what that has not
    #[arg(long)]
    takes: Vec<String>,
}

pub(crate) fn run(args: &VictimArgs) -> Result<(), CommandError> {
    let mut runtime = if args.threads == 1 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = runtime.worker_threads(args.threads).enable_all().build();
    let live = async { live(args).await };
    runtime
        .context("no runtime")
        .and_then(|runtime| runtime.block_on(live))
        .map_err(|error| CommandError::new(ErrorKind::Failed, error))
}

/// What the code of tasks needs.
#[derive(Clone)]
struct Tools {
    ledger: Arc<Ledger>,
    ledger_path: PathBuf,
    processes: Processes,
    pause: Duration,
    /// Set once the first task of this life has begun.
    has_begun: Arc<AtomicBool>,
}

async fn live(args: &VictimArgs) -> anyhow::Result<()> {
    let ledger = Ledger::open(&args.ledger).context("the ledger cannot be opened")?;
    ledger.say(&format!("victim {}\n", std::process::id()))?;
    let durability = match args.durability {
        Durable::Power => Durability::Power,
        Durable::Process => Durability::Process,
    };
    let folder = DataFolder::open(&args.data, Options::default().durability(durability))?;
    let store = match folder.shard_when_left(&args.shard, LEFT_WAIT) {
        Err(error @ StoreError::Held { .. }) => refuse(&error),
        other => other?,
    };
    let processes = Processes::builder()
        .spawner(Spawner::this_program())
        .grace(GRACE)
        .of_shard(store.share()?)
        .start()
        .await?;
    // Going on without would mean to run attempts beside those that are left.
    let reclaim = processes.reclaim();
    let tools = Tools {
        ledger: Arc::new(ledger),
        ledger_path: args.ledger.clone(),
        processes,
        pause: Duration::from_millis(args.pause_ms),
        has_begun: Arc::new(AtomicBool::new(false)),
    };
    let code = tools.clone();
    let wheel = Tidewheel::builder()
        .slots(args.slots)
        .lost_attempts_max(LOST_MAX)
        .store(store)
        .adopt(move |attempt| perform(code.clone(), attempt))
        .reclaim(reclaim)
        .try_start()?;
    if args.hold {
        wheel.pause();
    }
    let works = |prefix: &str| args.plan.works_named(args.count, prefix);
    if !args.takes.is_empty() {
        // What is taken in comes among other work.
        submit_all(&wheel, &tools, works(&args.prefix)).await?;
    }
    if let Some(gate) = &args.gate {
        tools.ledger.say("gate\n")?;
        while !gate.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    for left in &args.takes {
        take_in(&wheel, &folder, left, &args.shard).await?;
        submit_all(&wheel, &tools, works(&prefix_of(left))).await?;
    }
    if args.takes.is_empty() {
        submit_all(&wheel, &tools, works(&args.prefix)).await?;
    }
    if args.hold {
        tools.ledger.say("ready\n")?;
        std::future::pending::<()>().await;
    }
    wheel.shutdown(Shutdown::drain()).await;
    Ok(())
}

/// With what the names of all work begin that the owner of a shard submits, where there are several.
pub(super) fn prefix_of(shard: &str) -> String {
    format!("{shard}-")
}

/// Takes in what is left in another shard. On the thread of the wheel, so that the calls of moving can be told from others.
async fn take_in(
    wheel: &Tidewheel,
    folder: &DataFolder,
    left: &str,
    own: &str,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let moved = match folder.shard(left) {
            Ok(mut store) => store.move_to(own),
            Err(error) => Err(error),
        };
        match moved {
            Ok(()) => return Ok(wheel.take_in().await?),
            // Its owner lives, or something of it does.
            Err(StoreError::Held { .. }) => {}
            Err(error @ StoreError::Conflict { .. }) => return Err(error.into()),
            // Nobody can say whether it was moved; moving it again does no harm.
            Err(_) => wheel.take_in().await?,
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(anyhow!("the work of {left} could not be moved"))
}

/// Says who has the shard, and ends.
#[expect(clippy::print_stderr, reason = "a victim has no surface")]
fn refuse(error: &StoreError) -> ! {
    eprintln!("{error}");
    std::process::exit(HELD);
}

/// Submits everything under its name, and writes down each answer.
async fn submit_all(wheel: &Tidewheel, tools: &Tools, works: Vec<Work>) -> anyhow::Result<()> {
    let (singles, graphs): (Vec<_>, Vec<_>) =
        works.into_iter().partition(|work| work.shape == Shape::Single);
    for work in graphs {
        let graph = Arc::new(match work.shape {
            Shape::Steps(count) => plan::steps_graph(count)?,
            Shape::Small | Shape::Single => plan::small_graph()?,
        });
        let run = insist(async || submit_graph(wheel, tools, &work, &graph)).await?;
        tools.ledger.say(&accepted(&work, run))?;
    }
    for chunk in singles.chunks(CHUNK) {
        let submitted: Vec<_> =
            chunk.iter().map(|work| submit_single(wheel, tools, work)).collect();
        let mut lines = String::new();
        for (work, submission) in chunk.iter().zip(submitted) {
            let answer = submission.accepted().await;
            submission.detach();
            let run = match answer {
                Ok(run) => run,
                // It may have been accepted all the same: whoever asks again is told.
                Err(Rejection::Unavailable(_)) => {
                    insist(async || again(wheel, tools, work).await).await?
                }
                Err(rejection) => return Err(anyhow!("`{}`: {rejection}", work.name)),
            };
            lines.push_str(&accepted(work, run));
        }
        tools.ledger.say(&lines)?;
    }
    Ok(())
}

fn accepted(work: &Work, run: RunId) -> String {
    format!("accepted {} {run}\n", work.name)
}

/// Asks until the store can answer.
async fn insist(ask: impl AsyncFn() -> Result<RunId, Rejection>) -> anyhow::Result<RunId> {
    let begin = Instant::now();
    loop {
        match ask().await {
            Ok(run) | Err(Rejection::AlreadyAccepted(run)) => return Ok(run),
            Err(Rejection::Unavailable(_)) if begin.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(rejection) => return Err(rejection.into()),
        }
    }
}

fn submit_graph(
    wheel: &Tidewheel,
    tools: &Tools,
    work: &Work,
    graph: &Arc<Graph>,
) -> Result<RunId, Rejection> {
    let tools = tools.clone();
    let run = wheel
        .run(Arc::clone(graph), move |task| perform(tools.clone(), task.as_attempt()))
        .once(&work.name)
        .payload(work.payload())
        .concurrency(None)
        .retries(RETRIES)
        .base_delay(RETRY_DELAY);
    let run = if work.shape == Shape::Small { run.configure(plan::options_of) } else { run };
    run.start().map(|run| run.id())
}

fn submit_single(wheel: &Tidewheel, tools: &Tools, work: &Work) -> tidewheel::Submission<()> {
    let tools = tools.clone();
    wheel
        .task_with(move |attempt| {
            let performed = perform(tools.clone(), attempt);
            async move {
                match performed.await {
                    Outcome::Succeeded => Ok(()),
                    other => Err(anyhow!("{other:?}")),
                }
            }
        })
        .once(&work.name)
        .payload(work.payload())
        .retries(RETRIES)
        .base_delay(RETRY_DELAY)
        .submit()
}

async fn again(wheel: &Tidewheel, tools: &Tools, work: &Work) -> Result<RunId, Rejection> {
    let submission = submit_single(wheel, tools, work);
    let answer = submission.accepted().await;
    submission.detach();
    answer
}

/// What every task of a victim does, in this life or a later one.
async fn perform(tools: Tools, attempt: Attempt) -> Outcome {
    if !tools.has_begun.swap(true, Ordering::Relaxed) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        // A missing line shows in the check.
        let _ = tools.ledger.say(&format!("dispatched {}{:09}\n", now.tv_sec, now.tv_nsec));
    }
    let (payload, name) = (attempt.payload(), attempt.task_name());
    let id = attempt.attempt_id();
    let outcome = match Deed::of(payload.as_deref(), name.as_deref(), id.number) {
        Deed::Own => do_it_here(&tools, id).await,
        Deed::Process { sleep, fails } => {
            return run_shell(&tools, &attempt, id, &plan::shell_text(sleep, fails)).await;
        }
    };
    outcome.map_or_else(|error| failed(error.to_string()), |()| Outcome::Succeeded)
}

async fn do_it_here(tools: &Tools, id: AttemptId) -> std::io::Result<()> {
    let (words, pid) = (words_of(id), std::process::id());
    tools.ledger.say(&format!("start {words} {pid}\n"))?;
    if !tools.pause.is_zero() {
        tokio::time::sleep(tools.pause).await;
    }
    tools.ledger.say(&format!("end {words} {pid}\n"))
}

async fn run_shell(tools: &Tools, attempt: &Attempt, id: AttemptId, text: &str) -> Outcome {
    let tag = std::env::var_os(TAG).unwrap_or_default();
    let command = ProcessCommand::shell(text)
        .cwd(Path::new("/"))
        .variable("TORTURE_LEDGER", &tools.ledger_path)
        .variable("TORTURE_ATTEMPT", words_of(id))
        .variable(TAG, tag);
    match tools.processes.run_attempt(attempt, &command).await {
        Ok(end) => {
            attempt.record(record_of(&end));
            if end.status.is_success() {
                Outcome::Succeeded
            } else {
                failed(end.status.to_string())
            }
        }
        Err(error) => error.into_outcome(),
    }
}

fn record_of(end: &ProcessEnd) -> AttemptRecord {
    let outcome = match end.status.is_success() {
        true => RecordedOutcome::Succeeded,
        false => RecordedOutcome::Failed,
    };
    AttemptRecord {
        outcome: Some(outcome),
        tail: Some(end.tail.clone()),
        ..AttemptRecord::default()
    }
}

fn failed(message: String) -> Outcome {
    Outcome::Failed(Box::new(Failure { message: Arc::from(message), ..Failure::default() }))
}
