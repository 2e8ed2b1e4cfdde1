//! The order of ready work: inside a run ([`ReadySet`]) and between runs ([`Lanes`]).
//!
//! Limits and slots are not known here; the scheduler asks for the best and takes it or not.

mod lanes;
mod lines;
mod rank_set;
mod ready_set;

pub(crate) use lanes::{Alive, Choice, Entry, Lanes, SINGLE, Visit};
pub(crate) use ready_set::ReadySet;
