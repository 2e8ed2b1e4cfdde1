//! The program `tidewheel-sim`: runs seeds, replays one, plays scenario files.
//!
//! What is simulated, and what is checked, is in the library.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for the terminal")]

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use tidewheel_sim::scenario;

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
        Some("scenario") => play(arguments),
        _ => bail!("usage: tidewheel-sim seeds N [--from S] | replay SEED [--trace] | scenario FILE…"),
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
