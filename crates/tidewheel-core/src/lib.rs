//! The deciding core of Tidewheel: pure, synchronous, deterministic.
//!
//! Two types matter. A [`Scheduler`] takes in one [`Input`] after the other, with the time as an
//! argument, and writes what follows into a [`Decision`]: rows to store, and, once a proof shows
//! that they are stored, actions to carry out, replies to give and notices to show.
//!
//! ```text
//!   commands, events ──> Scheduler::step(now, input, &mut decision)
//!                        decision.commit(Store::commit)
//!                        actions, replies, notices
//! ```
//!
//! There is no I/O, clock, thread or randomness in here. People embed the crate `tidewheel`, which
//! drives this one; its interface may change in any release.
//!
//! What users of `tidewheel` are told and match ([`Fact`], [`Rejection`], [`Outcome`], reasons, holds,
//! errors) is `#[non_exhaustive]`. What only drivers and stores match is not: they are released with
//! this crate, and a new action or row must not compile before all of them know it.
#![forbid(unsafe_code)]
// The core may look things up in hash maps, but never iterate over one: the order differs from run to run.
#![cfg_attr(not(test), deny(clippy::iter_over_hash_type))]

pub mod calendar;
pub mod condition;
pub mod decision;
pub mod explain;
pub mod graph;
pub mod group;
pub mod histogram;
pub mod id;
pub mod input;
mod level;
mod limit;
pub mod nearest;
mod party;
pub mod policy;
pub mod pool;
mod queue;
mod ready;
pub mod report;
pub mod row;
mod run;
pub mod schedule;
mod scheduler;
#[cfg(feature = "serde")]
mod serialised;
pub mod spec;
pub mod statistics;
pub mod task;
pub mod time;
pub mod timer;

pub use decision::{
    Action, ChangeSet, CommitProof, Decision, Fact, MakeRun, Notice, Outputs, Start, Tenure,
};
pub use id::{AttemptId, ProfileId, RunId, RunKey, ScheduleId, ScheduleKey, TaskId, TaskKey};
pub use input::{Command, Event, Failure, Fires, Input, Outcome, Rejection, Reply, Submission};
pub use scheduler::{Forecast, Line, Preview, Prospect, RestoreError, Scheduler, Standing};
