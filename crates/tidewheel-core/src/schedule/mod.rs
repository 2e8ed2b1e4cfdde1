//! Schedules: a trigger bound to work, and what becomes of each instant it names.
//!
//! Cron expressions and time zones live in [`crate::calendar`], waiting for a due time in
//! [`crate::timer`]; the work that a firing starts is a task or a run like any other.

mod backlog;
mod by_hand;
mod custom;
mod line;
mod ranges;
#[allow(clippy::module_inception, reason = "the entity has the name of its folder")]
mod schedule;
mod spec;
mod state;
mod trigger;
mod verdict;

#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod test_bench;
#[cfg(test)]
mod tests;

pub use by_hand::BackfillError;
pub use ranges::FiredRanges;
pub use schedule::Schedule;
pub use spec::{Misfire, Overlap, ScheduleSpec, Span, SpecError};
pub use state::{Counters, Pending, ScheduleState, SkipCounts};
pub use trigger::{Anchor, Due, Trigger};
pub use verdict::{EndReason, Firing, Origin, SkipReason, Verdict};
