//! Scenarios: text files that read like a story, played on the real scheduler.
//!
//! ```text
//! run pub: a -> b -> c
//!   slots 1
//! start pub
//! expect a running
//! a succeeds
//! b fails "boom"
//! expect b failed (error), c skipped (dependency-failed b)
//! expect run pub failed
//! ```
//!
//! [`play`] plays one; `scenarios/README.md` lists all that can be said. Time stands still unless
//! a line moves it.

mod adding;
mod attributes;
mod expect;
mod groups;
mod play;
mod player;
mod say;
mod words;

pub use play::play;
