//! The program `tidewheel-sim`: runs seeds, replays one, plays scenario files, runs workloads to be counted.
//!
//! What is simulated, and what is checked, is in the library.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for the terminal")]

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use tidewheel_sim::{batch, counted, scenario, world};

const USAGE: &str = "usage: tidewheel-sim seeds N [--from S] [--all] [--coverage] | replay SEED [--trace] | scenario FILE… | workload NAME";

/// From so many seeds on, every interesting event must have happened.
const GATE: u64 = 1_000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("seeds") => seeds(arguments),
        Some("replay") => replay(arguments),
        Some("scenario") => play(arguments),
        Some("workload") => counted::run(&arguments.next().context(USAGE)?),
        _ => bail!(USAGE),
    }
}

fn seeds(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let count: u64 = arguments.next().context(USAGE)?.parse().context("N is a number")?;
    let mut from = 0;
    let mut all = false;
    let mut show = false;
    while let Some(flag) = arguments.next() {
        match flag.as_str() {
            "--from" => from = arguments.next().context(USAGE)?.parse().context("S is a number")?,
            "--all" => all = true,
            "--coverage" => show = true,
            _ => bail!(USAGE),
        }
    }
    std::panic::set_hook(Box::new(|_| {}));
    let summary = batch::run(from, count, 2, all);
    for (seed, failure) in &summary.failures {
        println!("seed {seed}: {failure}");
        println!("  cargo run --release -p tidewheel-sim -- replay {seed} --trace");
    }
    if show {
        for (name, count) in summary.coverage.all() {
            println!("{count:>9}  {name}");
        }
    }
    println!("{summary}");
    if !summary.failures.is_empty() {
        bail!("{} seeds failed", summary.failures.len());
    }
    let missing = summary.coverage.missing();
    if count >= GATE && !missing.is_empty() {
        bail!("never happened in {count} seeds: {}", missing.join(", "));
    }
    Ok(())
}

fn replay(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let seed: u64 = arguments.next().context(USAGE)?.parse().context("SEED is a number")?;
    let readable = arguments.next().as_deref() == Some("--trace");
    let outcome = world::play(seed, readable);
    for line in &outcome.lines {
        println!("{line}");
    }
    println!("seed {seed}: {} inputs, hash {:016x}", outcome.inputs, outcome.hash);
    match outcome.failure {
        Some(failure) => bail!("{failure}"),
        None => Ok(()),
    }
}

fn play(files: impl Iterator<Item = String>) -> Result<()> {
    let mut failed = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).with_context(|| file.clone())?;
        if let Err(error) = scenario::play(&file, &text) {
            eprintln!("{error:#}");
            failed += 1;
        }
    }
    if failed == 0 { Ok(()) } else { bail!("{failed} scenarios failed") }
}
