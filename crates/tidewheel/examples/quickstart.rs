//! The example of the README: one submission, one graph, one schedule, one question.
//!
//! `cargo run -p tidewheel --example quickstart`
#![allow(clippy::print_stdout, reason = "a program for people")]

// [snippet: quickstart]
use std::time::Duration;
use tidewheel::{Graph, Priority, Tidewheel};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wheel = Tidewheel::builder().slots(16).start();

    let answer = wheel.submit(Priority::HIGH, async { 42 }).await?;
    println!("the answer is {answer}");

    let ticker = wheel.every(Duration::from_millis(300)).run(|| async { /* refresh */ })?;

    let graph = Graph::from_edges([("build", "test"), ("build", "lint"), ("test", "publish")])?;
    let report = wheel.run(graph, |task| async move { work(task.name()).await }).await?;
    println!("{report}"); // failed: 2 succeeded, 1 failed, 1 skipped
    println!("{}", wheel.explain(report.task("publish"))?);

    ticker.cancel();
    Ok(())
}

async fn work(name: &str) -> Result<(), &'static str> {
    if name == "test" { Err("2 of 80 failed") } else { Ok(()) }
}
// [end]

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
