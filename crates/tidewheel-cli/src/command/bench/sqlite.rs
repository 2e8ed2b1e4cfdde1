//! The workload `sqlite`: single empty tasks on the SQLite store, accepted, started and ended durably.
//!
//! So many are in flight at once as asked for; then, on an idle wheel, how long a task waits for its
//! start.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel::{Shutdown, Tidewheel};

use super::command::SqliteArgs;
use super::dag::{failed, runtime};
use super::measurement::Measurement;
use crate::error::CommandError;

/// Tasks whose wait for their start is measured, one after the other.
const IDLE_TASKS: usize = 1_000;

pub(super) fn measure(args: &SqliteArgs) -> Result<Measurement, CommandError> {
    let folder = Scratch::new(args.data.as_deref(), args.durability.into())?;
    let runtime = runtime(args.threads)?;
    let in_flight = args.in_flight;
    let (run, latencies) = runtime.block_on(async {
        let wheel = folder.wheel()?;
        let run = tokio::spawn(complete(wheel.clone(), args.tasks, in_flight));
        let run = run.await.map_err(|error| failed(error.into()))??;
        let latencies = tokio::spawn(start_latencies(wheel.clone()));
        let latencies = latencies.await.map_err(|error| failed(error.into()))??;
        wheel.shutdown(Shutdown::drain()).await;
        Ok::<_, CommandError>((run, latencies))
    })?;
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    Ok(Measurement {
        workload: "sqlite",
        variant: format!("{} in-flight {in_flight}", args.durability.word()),
        n: args.tasks,
        run,
        build: Duration::ZERO,
        details: vec![
            ("idle, to start", {
                let (half, most) = (micros(at(0.5)), micros(at(0.99)));
                format!("p50 {half:.0} µs, p99 {most:.0} µs")
            }),
            ("threads", args.threads.to_string()),
        ],
        figures: vec![
            ("in_flight", f64::from(in_flight)),
            ("start_p50_us", micros(at(0.5))),
            ("start_p99_us", micros(at(0.99))),
        ],
    })
}

/// Runs `tasks` empty tasks, `in_flight` at a time.
async fn complete(wheel: Tidewheel, tasks: u64, in_flight: u32) -> Result<Duration, CommandError> {
    let left = Arc::new(AtomicU64::new(tasks));
    let started = Instant::now();
    let mut flights = Vec::new();
    for _ in 0..in_flight {
        let (wheel, left) = (wheel.clone(), Arc::clone(&left));
        flights.push(tokio::spawn(async move {
            let take = |left: u64| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                wheel.submit_normal(async {}).await?;
            }
            Ok::<_, tidewheel::TaskError>(())
        }));
    }
    for flight in flights {
        flight
            .await
            .map_err(|error| failed(error.into()))?
            .map_err(|error| failed(error.into()))?;
    }
    Ok(started.elapsed())
}

/// How long tasks wait for their start on an idle wheel, shortest first.
async fn start_latencies(wheel: Tidewheel) -> Result<Vec<Duration>, CommandError> {
    let mut waits = Vec::with_capacity(IDLE_TASKS);
    for _ in 0..IDLE_TASKS {
        let asked = Instant::now();
        let started = wheel.submit_normal(async { Instant::now() }).await;
        let started = started.map_err(|error| failed(error.into()))?;
        waits.push(started.saturating_duration_since(asked));
    }
    waits.sort_unstable();
    Ok(waits)
}

/// A data folder to measure on: the one asked for, or one that is removed afterwards.
pub(super) struct Scratch {
    pub folder: DataFolder,
    made: Option<PathBuf>,
}

impl Scratch {
    pub fn new(path: Option<&Path>, options: Options) -> Result<Self, CommandError> {
        let made = path.is_none().then(|| {
            let name = format!("tidewheel-bench-{}", std::process::id());
            std::env::temp_dir().join(name)
        });
        let path = path.or(made.as_deref()).unwrap_or(Path::new("."));
        let folder = DataFolder::open(path, options).map_err(|error| failed(anyhow!(error)))?;
        Ok(Self { folder, made })
    }

    pub fn wheel(&self) -> Result<Tidewheel, CommandError> {
        let store = self.store()?;
        Tidewheel::builder().store(store).try_start().map_err(|error| failed(error.into()))
    }

    /// A shard of its own, so that a folder in use can be measured too.
    pub fn store(&self) -> Result<tidewheel::store::sqlite::SqliteStore, CommandError> {
        let name = self.folder.fresh_shard().map_err(|error| failed(error.into()))?;
        self.folder.shard(&name).map_err(|error| failed(error.into()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            // Left behind, it is only a folder among temporary ones.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}
