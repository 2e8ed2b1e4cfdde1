//! Tests of `tidewheel-server`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod browsers;
mod contract;
mod follow;
mod hooks;
mod hostile;
mod house;
mod log_module;
mod page;
mod pages;
mod permissions;
mod reach;
mod reading;
mod remote;
mod scene;
mod sockets;
mod tls;
mod tools;
