//! The code of `docs/reference/processes.md`.
//!
//! `cargo run -p tidewheel --example processes --features process,sqlite-bundled`

use std::error::Error;
use std::path::Path;

use tidewheel::executor::process::{ProcessCommand, Processes, serve_if_spawner};
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel::task::Failure;
use tidewheel::{Attempt, Graph, Outcome, Shutdown, Tidewheel};

// [snippet: open]
async fn open(path: &Path) -> Result<(Tidewheel, Processes), Box<dyn Error>> {
    let folder = DataFolder::open(path, Options::default())?;
    let store = folder.shard("builds")?;
    let processes = Processes::builder().of_shard(store.share()?).start().await?;
    let reclaim = processes.reclaim();
    let code = processes.clone();
    let wheel = Tidewheel::builder()
        .store(store)
        .reclaim(reclaim)
        .adopt(move |attempt| build(code.clone(), attempt))
        .try_start()?;
    Ok((wheel, processes))
}
// [end]

// [snippet: attempt]
/// Runs the payload as a text for the shell.
async fn build(processes: Processes, attempt: Attempt) -> Outcome {
    let payload = attempt.payload().unwrap_or_default();
    let command = ProcessCommand::shell(String::from_utf8_lossy(&payload));
    let end = match processes.run_attempt(&attempt, &command).await {
        Ok(end) => end,
        // Lost, failed for good, or worth another try: the error knows.
        Err(error) => return error.into_outcome(),
    };
    // Stored with the outcome.
    attempt.record(end.record(&attempt));
    if end.status.is_success() {
        Outcome::Succeeded
    } else if end.was_stopped {
        Outcome::Cancelled
    } else {
        let message = end.status.to_string().into();
        Outcome::Failed(Box::new(Failure { message, ..Failure::default() }))
    }
}
// [end]

fn main() -> Result<(), Box<dyn Error>> {
    serve_if_spawner();
    run()
}

/// Runs it, as a test does too. The program must have served as spawner before, if it was asked to.
#[tokio::main(flavor = "current_thread")]
pub async fn run() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("tidewheel-processes-{}", std::process::id()));
    let (wheel, processes) = open(&path).await?;
    let graph = Graph::from_edges([("compile", "test")])?;
    let run = wheel
        .run(graph, move |task| build(processes.clone(), task.as_attempt()))
        .payload(*b"echo $TIDEWHEEL_TASK_INDEX")
        .start()?;
    assert!(run.report().await?.is_success());
    wheel.shutdown(Shutdown::drain()).await;
    drop(wheel);
    std::fs::remove_dir_all(path)?;
    Ok(())
}
