//! The code of `docs/guide/explain-and-observe.md`, on virtual time.
//!
//! `cargo run -p tidewheel --example explain_and_observe`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::time::Duration;

use tidewheel::clock::Clock;
use tidewheel::explain::Hold;
use tidewheel::observe::Fact;
use tidewheel::{Graph, Priority, Tidewheel};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    explain().await?;
    stats().await?;
    notices().await?;
    Ok(())
}

async fn explain() -> Result<(), Box<dyn Error>> {
    let clock = Clock::virtual_at("2026-01-01T00:00:00Z".parse()?);
    // [snippet: explain]
    let wheel = Tidewheel::builder().slots(8).limit("registry", 1).clock(clock).start();
    let graph = Graph::from_edges([("core", "client"), ("core", "server"), ("client", "cli")])?;
    let run = wheel
        .run(graph, |task| async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            if task.name() == "client" { Err("version 1.4.0 is taken") } else { Ok(()) }
        })
        .limit("registry")
        .start()?;
    tokio::time::sleep(Duration::from_secs(75)).await;
    for name in ["core", "client", "server", "cli"] {
        println!("{}", wheel.explain(run.task(name))?);
    }
    // [end]
    #[cfg(test)]
    for name in ["core", "client", "server", "cli"] {
        check_page(&wheel.explain(run.task(name))?.to_string());
    }

    // [snippet: holds]
    let server = wheel.explain(run.task("server"))?;
    let is_held = server.facts.holds.iter().any(|hold| matches!(hold, Hold::LimitTaken { .. }));
    assert!(is_held);
    // [end]

    // [snippet: after]
    let report = run.report().await?;
    println!("{}", wheel.explain(report.task("client"))?);
    println!("{}", wheel.explain(report.task("cli"))?);
    // [end]
    #[cfg(test)]
    for name in ["client", "cli"] {
        check_page(&wheel.explain(report.task(name))?.to_string());
    }
    Ok(())
}

/// The page shows what is printed.
#[cfg(test)]
fn check_page(text: &str) {
    let page = include_str!("../../../docs/guide/explain-and-observe.md");
    assert!(page.lines().any(|line| line == text), "the page does not have: {text}");
}

async fn stats() -> Result<(), Box<dyn Error>> {
    let clock = Clock::virtual_at("2026-01-01T00:00:00Z".parse()?);
    // [snippet: stats]
    let wheel = Tidewheel::builder().slots(2).clock(clock).start();
    let work = |seconds| tokio::time::sleep(Duration::from_secs(seconds));
    let all = [3, 1, 2].map(|seconds| wheel.submit(Priority::HIGH, work(seconds)));
    let now = wheel.stats();
    assert_eq!((now.total.active, now.total.queued, now.slots), (2, 1, Some(2)));
    for submission in all {
        submission.await?;
    }
    let total = wheel.stats().total;
    assert_eq!((total.completed, total.high_priority_completed), (3, 3));
    assert_eq!(total.run_time.max(), Some(Duration::from_secs(3)));
    assert_eq!(total.wait_time.max(), Some(Duration::from_secs(1)));
    // [end]
    Ok(())
}

async fn notices() -> Result<(), Box<dyn Error>> {
    let wheel = Tidewheel::builder().start();
    // [snippet: observe]
    wheel.observe(|notice| println!("{} {} {:?}", notice.sequence, notice.at, notice.fact));
    // [end]

    // [snippet: notices]
    let mut notices = wheel.notices();
    wheel.submit_normal(async {}).await?;
    while let Some(notice) = notices.recv().await {
        match notice {
            Ok(notice) if matches!(notice.fact, Fact::TaskEnded(..)) => break,
            Ok(notice) => println!("{:?}", notice.fact),
            Err(lagged) => println!("{lagged}"), // read too slowly; it goes on with the oldest left
        }
    }
    // [end]
    Ok(())
}

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn Error>> {
    main()
}
