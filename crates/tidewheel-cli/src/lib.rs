//! What the command `tidewheel` does, as a library so that tests can call it.
//!
//! The important type is [`simulate::Problem`]: a graph with durations, which
//! [`simulate::Problem::run`] plays through the real scheduler on a virtual clock. The rest is the
//! command line: [`main`] reads it, `command/` has one file a subcommand, [`error`] the exit codes,
//! `ui` what is written where. It is no stable interface; flags, JSON output and exit codes are.
//!
//! No rule of scheduling lives here.

mod cli;
mod command;
mod config;
mod credentials;
mod data;
pub mod error;
mod files;
mod import;
mod listening;
mod live;
mod memory;
mod output;
mod overseer;
mod random;
mod runtime;
mod server;
pub mod simulate;
mod status;
mod table;
mod ui;
mod value;
mod watch;

pub use cli::main;
