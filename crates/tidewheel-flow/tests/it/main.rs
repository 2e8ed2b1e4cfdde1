//! Tests of `tidewheel-flow`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod bench;
mod called_flows;
mod failure_words;
mod flowtoy;
mod host;
mod scenarios;
mod validation;
