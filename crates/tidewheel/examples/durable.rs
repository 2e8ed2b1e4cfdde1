//! The code of `docs/guide/durable.md`.
//!
//! `cargo run -p tidewheel --example durable --features sqlite-bundled`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::path::Path;

use tidewheel::store::sqlite::{DataFolder, Durability, Options};
use tidewheel::{Attempt, Graph, Rejection, Shutdown, TaskError, Tidewheel};

// [snippet: code]
/// Does what the payload says. It is all the code there is: after a crash the same function is
/// called with the same payload by the next process.
async fn work(attempt: Attempt) -> Result<(), Box<dyn Error + Send + Sync>> {
    let payload = attempt.payload().ok_or("nothing to do")?;
    let order = String::from_utf8_lossy(&payload);
    // The other side is asked with the same key in every attempt, so that it can tell.
    println!("{order}, key {}, attempt {}", attempt.id().run, attempt.number());
    Ok(())
}
// [end]

// [snippet: open]
fn open(path: &Path) -> Result<Tidewheel, Box<dyn Error>> {
    let folder = DataFolder::open(path, Options::default().durability(Durability::Power))?;
    let wheel =
        Tidewheel::builder().slots(4).store(folder.shard("orders")?).adopt(work).try_start()?;
    Ok(wheel)
}
// [end]

async fn accept(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: accept]
    let request = wheel.task_with(work).payload(*b"ship 7 boxes").once("order 1234").retries(3);
    let submission = request.submit();
    // Once this returns, the order is on disk.
    let id = submission.accepted().await?;
    submission.detach();

    // Somebody did not hear the answer and asks again: it is the same order.
    let again = wheel.task_with(work).payload(*b"ship 7 boxes").once("order 1234").submit();
    assert_eq!(again.accepted().await?, id);

    // Another order under the same name is a mistake.
    let other = wheel.task_with(work).payload(*b"ship 9 boxes").once("order 1234").submit();
    assert!(matches!(other.accepted().await, Err(Rejection::KeyTaken { .. })));
    // [end]
    Ok(())
}

async fn share(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: share]
    async fn price(_: Attempt) -> Result<u32, TaskError> {
        Ok(42)
    }

    let ask = || wheel.task_with(price).payload(*b"7 boxes").once("price of 1234").submit_shared();
    // Asked twice, worked out once.
    let (mine, yours) = (ask(), ask());
    assert_eq!((mine.await?, yours.await?), (42, 42));
    // [end]
    Ok(())
}

async fn graph(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: graph]
    let graph = Graph::from_edges([("pick", "pack"), ("pack", "ship")])?;
    let run = wheel.run(graph, |task| work(task.as_attempt())).payload(*b"order 1234").start()?;
    // `start` has returned, so the run is on disk; a crash from here on only delays it.
    let report = run.report().await?;
    // [end]
    assert!(report.is_success());
    Ok(())
}

fn held(path: &Path) -> Result<(), Box<dyn Error>> {
    // [snippet: held]
    let folder = DataFolder::open(path, Options::default())?;
    if let Err(error) = folder.shard("orders") {
        println!("{error}"); // … is held by process 4711 since 2026-11-15T08:00:00Z
    }
    // [end]
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("tidewheel-durable-{}", std::process::id()));
    let wheel = open(&path)?;
    accept(&wheel).await?;
    share(&wheel).await?;
    graph(&wheel).await?;
    held(&path)?;
    wheel.shutdown(Shutdown::drain()).await;
    std::fs::remove_dir_all(path)?;
    Ok(())
}

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn Error>> {
    main()
}
