//! Playing a graph with known durations through the real scheduler, on a virtual clock.
//!
//! [`Problem`] is what is asked, read from JSON; [`Plan`] the schedule that came of it. Deciding what
//! starts when is done by `tidewheel_core::Scheduler` alone; here attempts only last as long as
//! they were declared to.

mod bound;
mod gantt;
mod input;
mod plan;
mod play;
mod problem;

pub use bound::Bound;
pub(crate) use gantt::draw;
pub use plan::{Plan, PlannedTask};
pub use problem::{Order, Problem, Task};
