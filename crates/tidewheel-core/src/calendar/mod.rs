//! Calendars: cron expressions, the time zones they are read in, and the instants they name.
//!
//! What a schedule does with a missed instant is decided in [`crate::policy`]; nothing here reads a
//! clock.

mod cron;
mod date;
mod error;
mod fields;
mod local;
mod parse;
mod search;
mod zone;

#[cfg(test)]
pub(crate) mod steps;
#[cfg(test)]
mod tests;

pub use cron::{ClockChanges, Cron, Fold, Gap};
pub use error::CronError;
pub use zone::{Zone, ZoneError};
