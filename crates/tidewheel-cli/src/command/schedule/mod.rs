//! `tidewheel schedule`: schedules that a server has, and what cron expressions mean.
//!
//! When a schedule fires is decided in the core.

mod command;
mod named;
mod next;

pub(crate) use command::{Args, run};
