//! For tests that need data or a tool that is not there: they say so, and are counted as skipped.
//!
//! The harness knows no such end, so `./test` names a file by `SKIPPED_TESTS` and takes the tests that
//! are written there out of those that passed.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Says that the test that calls this was not made.
// What a test is told by its surroundings is no input of the core, and what it says is for whoever runs it.
#[allow(clippy::disallowed_methods, clippy::print_stdout)]
pub fn skipped(test: &str, why: &str) {
    println!("skipped: {test}: {why}");
    let Some(list) = env::var_os("SKIPPED_TESTS") else { return };
    let mut list =
        OpenOptions::new().append(true).create(true).open(list).expect("the list is writable");
    // One write, because tests run side by side.
    list.write_all(format!("{test}: {why}\n").as_bytes()).expect("the list is writable");
}
