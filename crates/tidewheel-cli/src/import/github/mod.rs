//! Workflows of GitHub Actions as flows: jobs are groups of steps.
//!
//! Text in, text out: nothing is read or run.

mod artifacts;
mod condition;
mod environment;
mod expression;
mod group;
mod matrix;
mod step;
mod values;
mod whole;

pub(crate) use whole::import;

#[cfg(test)]
mod tests;
