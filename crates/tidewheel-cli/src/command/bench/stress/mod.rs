//! The workload `stress`: many users at once do everything a wheel offers, and what must hold is checked.
//!
//! `tally` is what is counted beside the wheel, `user` what is asked of it, `judge` what must hold, and
//! `measure` the way through the rounds.

mod judge;
mod measure;
mod tally;
mod user;

pub(super) use measure::measure;
