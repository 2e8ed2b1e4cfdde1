//! What a message changes, and what follows from it: a pure function.
//!
//! What follows is carried out by [`crate::app`].

mod act;
mod answers;
mod keyboard;
#[cfg(test)]
mod tests;
#[expect(clippy::module_inception, reason = "the function has the name of the room")]
mod update;

pub use update::{next_tick, update};
