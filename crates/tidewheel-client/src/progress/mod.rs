//! How a run goes on, in people's words: notices of the scheduler and what tasks say of themselves become
//! [`Event`]s.
//!
//! A [`Follow`] waits for what happens and has it told. [`Progress`] translates and does nothing else: what it
//! asks meanwhile is answered by a [`RunSource`]. How
//! events are shown, and what people want while they watch, is each surface's own.

mod event;
mod follow;
mod sayings;
mod source;
mod standings;
mod translation;

#[cfg(test)]
mod tests;

pub use event::{EndState, Event, StepInfo, Told};
pub use follow::Follow;
pub use sayings::{Listener, Said, Sayings};
pub use source::RunSource;
pub use standings::Standings;
pub use translation::{Progress, Teller};
