//! Runs that were started: what is kept with each, what can be told of them, and how they are made again.
//!
//! Nothing is started here, and nothing is read from a store; whoever asks brings the rows.

mod again;
mod elements;
mod listing;
mod questions;

pub use again::{Again, AgainError, AgainWith, PastRun};
pub use listing::{listed, tolerated};
