//! Publishes a small workspace in order: retries, a failure, and why the rest did not run.
//!
//! `cargo run -p tidewheel --example publish`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::time::Duration;

use tidewheel::{Graph, Permanent, Tidewheel};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let wheel = Tidewheel::builder().slots(16).limit("registry", 2).start();
    wheel.observe(|notice| println!("{:?}", notice.fact));
    let graph = Graph::from_edges([
        ("core", "client"),
        ("core", "server"),
        ("client", "cli"),
        ("server", "cli"),
    ])?;
    let report = wheel
        .run(graph, |task| async move { publish(task.name(), task.attempt()).await })
        .retries(3)
        .base_delay(Duration::from_millis(50))
        .limit("registry")
        .await?;
    println!("{report}");
    for line in report.tasks() {
        println!("{}", wheel.explain(line)?);
    }
    Ok(())
}

async fn publish(package: &str, attempt: u32) -> Result<(), Box<dyn Error + Send + Sync>> {
    match (package, attempt) {
        ("client", 1) => Err("the registry did not answer".into()),
        ("server", _) => Err(Permanent::new("version 1.2.0 is taken").into()),
        _ => Ok(()),
    }
}
