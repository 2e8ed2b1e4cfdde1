//! The binary `tidewheel`.
//!
//! Everything it does is in the library beside it, where tests can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidewheel_cli::main(std::env::args_os())
}
