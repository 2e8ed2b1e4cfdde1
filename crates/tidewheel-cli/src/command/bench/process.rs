//! The workload `process`: a graph of short processes on the SQLite store.
//!
//! Beside it the floor: the same number of processes, as many at once, from a plain loop that stores
//! nothing and knows no graph.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tidewheel::executor::process::{ProcessCommand, Processes, Spawner};
use tidewheel::{Graph, Shutdown, Tidewheel};

use super::command::{ProcessArgs, Shape};
use super::dag::{failed, graph_of, runtime};
use super::measurement::Measurement;
use super::sqlite::Scratch;
use crate::error::CommandError;

pub(super) fn measure(args: &ProcessArgs) -> Result<Measurement, CommandError> {
    let graph = graph_of(args.graph.as_deref(), Shape::Layered, args.tasks)?;
    let (variant, task_count, edges) = graph;
    let floor = floor(&args.program, task_count, args.slots)?;
    let started = Instant::now();
    let graph = Graph::numbered(task_count, edges).map_err(CommandError::input)?;
    let build = started.elapsed();
    let folder = Scratch::new(args.data.as_deref(), args.durability.into())?;
    let run = runtime(args.threads)?.block_on(run(args, &folder, Arc::new(graph)))?;
    let ratio = run.as_secs_f64() / floor.as_secs_f64().max(1e-9);
    Ok(Measurement {
        workload: "W2",
        variant: format!("{variant} -j{} {}", args.slots, args.durability.word()),
        n: u64::from(task_count),
        run,
        build,
        details: vec![
            ("plain loop", format!("{:.3} s", floor.as_secs_f64())),
            ("ratio", format!("{ratio:.2}")),
            ("threads, slots", format!("{}, {}", args.threads, args.slots)),
        ],
        figures: vec![
            ("slots", f64::from(args.slots)),
            ("floor_seconds", floor.as_secs_f64()),
            ("ratio", ratio),
        ],
    })
}

async fn run(
    args: &ProcessArgs,
    scratch: &Scratch,
    graph: Arc<Graph>,
) -> Result<Duration, CommandError> {
    let store = scratch.store()?;
    let shard = store.share().map_err(|error| failed(error.into()))?;
    let processes = Processes::builder().spawner(Spawner::this_program()).of_shard(shard);
    let processes = processes.start().await.map_err(|error| failed(error.into()))?;
    let wheel = Tidewheel::builder().slots(args.slots).store(store);
    let wheel = wheel.try_start().map_err(|error| failed(error.into()))?;
    let command = Arc::new(ProcessCommand::argv([&args.program]));
    let (slots, inner) = (args.slots, wheel.clone());
    let measured = tokio::spawn(async move {
        let started = Instant::now();
        let run = inner.run(graph, move |task| {
            let (processes, command) = (processes.clone(), Arc::clone(&command));
            async move {
                let end = processes.run_attempt(&task.as_attempt(), &command).await?;
                if end.status.is_success() { Ok(()) } else { Err(anyhow!("{}", end.status)) }
            }
        });
        let report = run.concurrency(slots).await;
        (started.elapsed(), report)
    });
    let (elapsed, report) = measured.await.map_err(|error| failed(error.into()))?;
    let report = report.map_err(|error| failed(error.into()))?;
    wheel.shutdown(Shutdown::drain()).await;
    match report.failed().next() {
        None => Ok(elapsed),
        Some(line) => {
            let error = line.error().unwrap_or_default();
            Err(failed(anyhow!("task {}: {error}", line.name())))
        }
    }
}

/// Starts `count` processes, `slots` at once, and waits for each.
fn floor(program: &Path, count: u32, slots: u32) -> Result<Duration, CommandError> {
    let started = Instant::now();
    let mut running: Vec<Child> = Vec::new();
    let mut left = count;
    while left > 0 || !running.is_empty() {
        while left > 0 && running.len() < slots as usize {
            let mut command = Command::new(program);
            let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            running.push(command.spawn().map_err(|error| {
                let what = format!("failed to start {}", program.display());
                CommandError::input(anyhow::Error::new(error).context(what))
            })?);
            left -= 1;
        }
        // Whichever ends first: the wait is for any of them.
        let any = rustix::process::waitid(
            rustix::process::WaitId::All,
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
        );
        any.map_err(|error| failed(error.into()))?;
        let mut error = None;
        running.retain_mut(|child| match child.try_wait() {
            Ok(status) => status.is_none(),
            Err(source) => {
                error = Some(source);
                false
            }
        });
        if let Some(error) = error {
            return Err(failed(error.into()));
        }
    }
    Ok(started.elapsed())
}
