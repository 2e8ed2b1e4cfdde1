//! Tests of `tidewheel-publish`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod following;
mod library;
mod peers;
mod refusals;
mod registry;
mod registry_clients;
mod registry_faults;
mod registry_peers;
mod rehearsal;
mod samples;
mod scene;
mod tools;
mod uploads;
