//! Doing: what drives the scheduler, runs attempts, keeps time and tells whoever waits.
//!
//! Nothing here decides; every decision comes out of [`engine::Engine`].

mod attempt;
pub mod books;
#[cfg(test)]
mod broken_tests;
mod code;
mod commons;
mod effect;
pub mod engine;
mod entries;
mod held;
mod ids;
mod inbox;
mod making;
mod pace;
pub mod places;
mod questions;
mod recovery;
mod report;
mod schedules;
mod seat;
mod shared;
pub mod shares;
pub(crate) mod span;
mod state;
mod sync;
mod timer;
mod turnstile;
mod unstored;
mod values;
pub mod wish;
mod worker;
mod writing;

pub(crate) use attempt::{BoxFuture, panic_text};
pub(crate) use code::{Adopt, Ask, Code, ScheduleCode, ScheduleEntry, SingleEntry};
pub(crate) use commons::{Announced, brings_shared};
pub(crate) use effect::{End, Launch, Waiter};
#[cfg(feature = "serde")]
pub(crate) use held::Reader;
pub use held::{HeldId, HeldWork, Kinds};
pub(crate) use making::Maker;
pub(crate) use seat::Seat;
pub(crate) use shared::{Settings, Shared, Until};
pub(crate) use state::{Keeping, State};
pub(crate) use values::SharedValue;
pub(crate) use worker::{conclude, plain_conclude, run_worker};
pub(crate) use writing::Reclaim;
