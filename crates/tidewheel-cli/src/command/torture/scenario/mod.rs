//! The scenarios of `tidewheel torture`, one file each: which faults, when, how often.
//!
//! What must hold after them is checked in one place for all, by `check`.

mod errors;
mod flows;
mod full;
mod kill;
mod queue;
mod stage;
mod steps;
mod stop;
mod sweep;

pub(super) use stage::{Name, Stage};
