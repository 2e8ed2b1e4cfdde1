//! The written form of what stores keep: versioned JSON that people can read with any tool.
//!
//! Which table or column a text goes to is the store's business; rows that are written often, such
//! as the state of a task, are plain columns and not here.

mod capacity;
mod command;
mod graph;
mod group;
mod preview;
mod profile;
mod question;
mod run;
mod schedule;
mod words;
mod written;

pub(crate) use preview::Supposed;
pub(crate) use run::RunRecord;
pub(crate) use words::{outcome_of, reason_of, state_of};
pub(crate) use written::{CodecError, Written, read, read_record, write};

#[cfg(test)]
mod tests;
