//! Runs real processes. This test program serves as its own spawner, which a `main` made by the
//! test harness could not, so it has a small one of its own.
//!
//! It takes what `cargo test` and `cargo nextest` pass: `--list`, `--exact`, `--ignored`, a name.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod around;
#[cfg(feature = "sqlite")]
#[allow(dead_code, reason = "its `main`")]
#[path = "../../examples/processes.rs"]
mod example;
mod exits;
mod full;
mod limits;
mod loss;
mod output;
mod scene;
mod speed;
mod stop;
mod wheel;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

type Test = (&'static str, fn());

fn main() -> ExitCode {
    tidewheel::executor::process::serve_if_spawner();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    match arguments.first().map(String::as_str) {
        Some("--as-owner") => return loss::as_owner(&arguments[1], &arguments[2]),
        #[cfg(feature = "sqlite")]
        Some("--as-holder") => return loss::as_holder(&arguments[1], &arguments[2]),
        Some("--as-printer") => return around::as_printer(),
        _ => {}
    }
    let groups = [
        around::TESTS,
        exits::TESTS,
        limits::TESTS,
        loss::TESTS,
        output::TESTS,
        stop::TESTS,
        wheel::TESTS,
    ];
    let (usual, ignored) = (groups.concat(), [full::TESTS, speed::TESTS].concat());
    let chosen = if has("--ignored") { ignored } else { usual };
    if has("--list") {
        chosen.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut words = arguments.iter().filter(|argument| !argument.starts_with('-'));
    let wanted = words.next().map_or("", String::as_str);
    let is_wanted = |name: &str| {
        if has("--exact") { name == wanted } else { name.contains(wanted) }
    };
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, test) in chosen.iter().filter(|(name, _)| is_wanted(name)) {
        let outcome = catch_unwind(AssertUnwindSafe(test));
        println!("test {name} ... {}", if outcome.is_ok() { "ok" } else { "FAILED" });
        match outcome {
            Ok(()) => passed += 1,
            Err(_) => failed.push(*name),
        }
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    let filtered = chosen.len() - passed - failed.len();
    println!(
        "\ntest result: {word}. {passed} passed; {} failed; 0 ignored; 0 measured; {filtered} \
         filtered out\n",
        failed.len()
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}
