//! Tests of `tidewheel-tui`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod crash;
mod crossterm;
mod input;
