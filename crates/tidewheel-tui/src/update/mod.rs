//! What a message changes, and what follows from it: a pure function.
//!
//! What follows is carried out by [`crate::app`].

mod act;
mod answers;
mod ask;
mod form;
mod keyboard;
#[cfg(test)]
mod selection_tests;
#[cfg(test)]
mod tests;
#[expect(clippy::module_inception, reason = "the function has the name of the room")]
mod update;

pub(crate) use ask::is_live;
pub use update::{next_tick, update};
