//! The code of `docs/guide/fitting-in.md`.
//!
//! `cargo run -p tidewheel --example fitting_in --features serde,tracing,metrics`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tidewheel::id::AttemptId;
use tidewheel::observe::Metrics;
use tidewheel::store::Memory;
use tidewheel::task::{BoxError, MayRetry};
use tidewheel::{Attempt, Graph, Priority, Shutdown, Tidewheel, Timestamp};

// [snippet: error]
/// An error of your own says whether another attempt could help by giving a `MayRetry` as its cause.
#[derive(Debug, thiserror::Error)]
enum Upload {
    #[error("the bucket {0} is not there")]
    NoBucket(String, #[source] MayRetry),
}

async fn upload() -> anyhow::Result<()> {
    // Whatever is wrapped around it, it is heard: one attempt, not four.
    Err(Upload::NoBucket("images".to_owned(), MayRetry::No))?
}
// [end]

// [snippet: payload]
#[derive(Serialize, Deserialize)]
struct Mail {
    to: String,
}

async fn send(attempt: Attempt, mail: Mail) -> Result<(), BoxError> {
    println!("{}: to {}", attempt.attempt_id(), mail.to);
    Ok(())
}

async fn submit(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let mail = Mail { to: "ada@example.com".to_owned() };
    let request = wheel.task_with(|attempt| async move {
        let mail = attempt.payload_as()?;
        send(attempt, mail).await
    });
    request.kind("mail").payload_of(&mail)?.submit().accepted().await?;
    Ok(())
}
// [end]

async fn errors(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let result = wheel.task(upload).retries(3).submit().await;
    assert!(result.is_err_and(|error| error.to_string() == "the bucket images is not there"));
    Ok(())
}

async fn payloads() -> Result<(), Box<dyn Error>> {
    let store = Memory::new();
    let wheel = Tidewheel::builder().store(store.clone()).paused().start();
    submit(&wheel).await?;
    wheel.shutdown(Shutdown::persist()).await;
    // [snippet: adopt]
    let wheel = Tidewheel::builder().store(store).adopt_payload("mail", send).start();
    for held in wheel.held_work() {
        println!("{held}"); // run 019e… of the kind `mail` cannot be read: … missing field `to` …
    }
    // [end]
    wheel.shutdown(Shutdown::drain()).await;
    Ok(())
}

async fn values(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: values]
    let graph = Graph::from_edges([("build", "test")])?;
    let report = wheel.run(&graph, |_| async {}).priority(70_u8).await?;
    println!("{}", serde_json::to_string_pretty(&report)?);
    println!("{}", serde_json::to_string(&wheel.stats())?);

    let tomorrow = Timestamp::from(SystemTime::now()) + Duration::from_secs(24 * 60 * 60);
    assert!(SystemTime::from(tomorrow) > SystemTime::now());
    let id: AttemptId = "019ea4a0-7a51-7c3e-9f00-0123456789ab/2/1".parse()?;
    assert_eq!((id.task.index, id.number), (2, 1));
    assert_eq!(Priority::from(250_u64), Priority::CRITICAL);
    // [end]
    Ok(())
}

async fn spans(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: spans]
    let request = tracing::info_span!("request", path = "/orders");
    let task = async { tracing::info!("inside its attempt") };
    request.in_scope(|| wheel.submit_normal(task)).await?;
    // [end]
    Ok(())
}

async fn metrics(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: metrics]
    wheel.export_metrics(Duration::from_secs(10));
    // Or whenever somebody asks:
    let mut metrics = Metrics::new();
    metrics.record(&wheel.stats());
    // [end]
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let wheel = Tidewheel::builder().start();
    errors(&wheel).await?;
    payloads().await?;
    values(&wheel).await?;
    spans(&wheel).await?;
    metrics(&wheel).await
}

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn Error>> {
    main()
}
