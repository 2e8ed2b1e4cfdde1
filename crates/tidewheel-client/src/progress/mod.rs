//! How a run goes on, in people's words: notices of the scheduler and what tasks say of themselves become
//! [`Event`]s.
//!
//! [`Progress`] translates and does nothing else: what it asks meanwhile is answered by a [`RunSource`]. How
//! events are shown, and what people want while they watch, is each surface's own.

mod event;
mod sayings;
mod source;
mod translation;

#[cfg(test)]
mod tests;

pub use event::{EndState, Event, StepInfo, Told};
pub use sayings::{Said, Sayings};
pub use source::{LiveRun, RunSource};
pub use translation::{Progress, Teller};
