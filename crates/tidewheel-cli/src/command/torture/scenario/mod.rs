//! The scenarios of `tidewheel torture`, one file each: which faults, when, how often.
//!
//! What must hold after them is checked in one place for all, by `check`.

mod errors;
mod flows;
mod frozen;
mod full;
mod kill;
mod odd;
mod queue;
mod signals;
mod stage;
mod steps;
mod stop;
mod sweep;
mod taken;

pub(super) use stage::{Name, Stage};
