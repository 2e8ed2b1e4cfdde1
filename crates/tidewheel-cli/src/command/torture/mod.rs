//! `tidewheel torture`: real faults against real processes, checked against a ledger that the tasks
//! themselves write outside the database.
//!
//! `command` is what it takes, `victim` the process that is tortured, `check` what must hold
//! afterwards, and `scenario` the faults, one file each.

mod check;
#[cfg(test)]
mod check_tests;
mod command;
mod flow;
#[cfg(test)]
mod flow_tests;
mod ledger;
mod plan;
mod report;
mod round;
mod scenario;
mod stored;
mod strace;
mod table;
mod victim;

pub(crate) use command::{Args, run};
pub(crate) use victim::{VictimArgs, run as run_victim};
