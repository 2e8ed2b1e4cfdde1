//! `tidewheel bench`: named workloads, measured through the public interface, one file each.
//!
//! What is measured is never a private part, so that a figure means something to users.

mod command;
mod dag;
mod flow;
mod measurement;
mod micro;
mod priority;
mod process;
mod serve;
mod sqlite;
mod stress;
mod timers;

pub(crate) use command::{Args, run};
