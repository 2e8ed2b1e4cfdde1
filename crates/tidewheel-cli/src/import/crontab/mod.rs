//! Crontabs: each entry becomes a flow with a schedule and one step.
//!
//! `line` knows how crontabs are written, `schedule` when entries run, `command` what becomes of
//! the percent signs, `name` what to call the flow, `flow` how it all looks in a flow file.

mod command;
mod flow;
mod line;
mod name;
mod schedule;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use table::{ImportedFlow, Surroundings, import};
