//! The code of `docs/guide/getting-started.md`.
//!
//! `cargo run -p tidewheel --example getting_started`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::time::Duration;

use tidewheel::{Permanent, Priority, Shutdown, TaskError, Tidewheel};

// [snippet: hello]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let wheel = Tidewheel::builder().slots(4).start();
    let sum = wheel.submit(Priority::NORMAL, async { 20 + 22 }).await?;
    assert_eq!(sum, 42);
    // [end]
    await_later(&wheel).await?;
    failing(&wheel).await?;
    retrying(&wheel).await?;
    shutting_down(wheel).await;
    Ok(())
}

async fn await_later(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: later]
    let first = wheel.submit(Priority::LOW, async { "slow" });
    let second = wheel.submit(Priority::HIGH, async { "urgent" });
    // Both are under way. Awaiting only fetches the values.
    assert_eq!((first.await?, second.await?), ("slow", "urgent"));

    wheel.submit_normal(async { /* nobody waits for this */ }).detach();
    // [end]
    Ok(())
}

async fn failing(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: failing]
    let parsed = wheel.submit_fallible(Priority::NORMAL, async { "4x".parse::<u32>() }).await;
    match parsed {
        Err(TaskError::Failed(error)) => println!("it returned an error: {error}"),
        Err(other) => println!("it did not run to its end: {other}"),
        Ok(number) => println!("{number}"),
    }
    // [end]
    Ok(())
}

async fn retrying(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: retrying]
    let body = wheel
        .task_with(|attempt| async move {
            match attempt.number() {
                1 => Err("connection reset".into()),
                2 => Ok("hello"),
                _ => Err(Box::<dyn Error + Send + Sync>::from(Permanent::new("gone"))),
            }
        })
        .retries(3)
        .base_delay(Duration::from_millis(10))
        .attempt_timeout(Duration::from_secs(30))
        .submit()
        .await?;
    assert_eq!(body, "hello");
    // [end]
    Ok(())
}

async fn shutting_down(wheel: Tidewheel) {
    // [snippet: shutdown]
    wheel.shutdown(Shutdown::drain()).await;
    let refused = wheel.submit_normal(async {}).await;
    assert!(matches!(refused, Err(TaskError::Rejected(_))));
    // [end]
}

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn Error>> {
    main()
}
