//! `tidewheel bench`: named workloads, measured through the public interface, one file each.

mod command;
mod dag;
mod flow;
mod measurement;
mod micro;
mod priority;
mod process;
mod sqlite;
mod timers;

pub(crate) use command::{Args, run};
