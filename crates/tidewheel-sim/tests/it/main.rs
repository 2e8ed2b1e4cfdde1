//! Tests of `tidewheel-sim`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

#[path = "../../../tidewheel-flow/tests/it/bench/mod.rs"]
mod bench;
mod common;
mod final_state;
mod group_model;
mod neighbours;
mod order;
mod scenarios;
mod seeds;
mod slow_flows;
mod tidy;
mod truth_table;
mod turnstile;
