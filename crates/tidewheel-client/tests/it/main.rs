//! Tests of `tidewheel-client`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod contract;
mod contract_house;
mod contract_logs;
mod desk;
mod follow;
mod house;
mod kinds;
mod news;
mod outside;
mod runtimes;
mod scene;
mod shown;
mod traces;
mod written;
