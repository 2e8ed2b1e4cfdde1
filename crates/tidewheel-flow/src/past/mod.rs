//! Runs that were started: what is kept with each, what can be told of them, and how they are made again.
//!
//! Nothing is started here, and nothing is read from a store; whoever asks brings the rows.

mod again;
mod elements;
mod listing;
mod questions;
mod renewal;

pub use again::{Again, AgainError, AgainWith, PastRun};
pub use listing::{is_further_try, is_spare, listed, tolerated};
