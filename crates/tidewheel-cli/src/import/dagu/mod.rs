//! Flows of Dagu as flows of ours: steps, what they wait for, and the words for what goes wrong.
//!
//! Text in, text out: nothing is read or run.

mod approval;
mod elsewhere;
mod exec;
mod output;
mod policy;
mod references;
mod rounds;
mod step;
mod values;
mod whole;
mod work;

pub(crate) use whole::import;

#[cfg(test)]
mod tests;
