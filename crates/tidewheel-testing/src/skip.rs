//! [`skipped`]: how a test reports that it cannot run here.
//!
//! The test harness has no such outcome. `./test` sets `SKIPPED_TESTS` to a file, and subtracts the tests listed there
//! from those that passed.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Reports that the calling test did not run, and why: in one line, the last one of `why`.
#[expect(clippy::print_stdout, reason = "the message is for the person who runs the test")]
pub fn skipped(test: &str, why: &str) {
    let why = why.trim_end().lines().last().unwrap_or_default();
    println!("skipped: {test}: {why}");
    let Some(list) = env::var_os("SKIPPED_TESTS") else { return };
    let mut list = OpenOptions::new().append(true).create(true).open(list).unwrap();
    // One write, because tests run in parallel.
    list.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
}
