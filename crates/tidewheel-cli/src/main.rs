//! The binary `tidewheel`.
//!
//! Everything it does is in the library beside it, where tests can reach it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // This program is also the one that starts the processes of steps.
    tidewheel::executor::process::serve_if_spawner();
    tidewheel_cli::main(std::env::args_os())
}
