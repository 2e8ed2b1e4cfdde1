//! The scenarios of `tidewheel torture`, one file each: which faults, when, how often.

mod errors;
mod full;
mod kill;
mod queue;
mod stage;
mod steps;
mod stop;
mod sweep;

pub(super) use stage::{Name, Stage};
