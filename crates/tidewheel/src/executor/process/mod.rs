//! Attempts that are processes of the system: one attempt in, one end out.
//!
//! Nothing here retries, waits for capacity or measures time-outs: that is decided in the core.
//!
//! [`Processes`] runs a [`ProcessCommand`] and gives a [`ProcessEnd`]; a [`Masker`] keeps secrets
//! out of what is written down; [`end_survivors`] ends what a crash has left.
//!
//! # How it works
//!
//! A small process of ours, the [`Spawner`], starts all children. It adopts orphans (it is a
//! "child subreaper"), so what a child leaves behind comes to it, even after `setsid`. When its
//! socket closes because we died, by whatever cause, it ends everything below it and exits. Every
//! process carries a cookie in its environment, by which it is found if both of us were killed.
//!
//! # What is promised
//!
//! * [`Processes::run`] resolves when every process of the attempt is gone, not before.
//! * Dropping its future, or our death, ends the tree by force.
//! * A child gets the variables and the three descriptors it was given, and no others.
//! * A signal never hits a process that merely got the number of one that ended.
//! * Nothing global changes in our process: no signal handler, no working folder, no umask, no
//!   environment.
//!
//! # What cannot be promised
//!
//! * A process that leaves the group and session (`setsid`) *and* whose parent ended *and* that
//!   scrubbed its environment cannot be told apart from another attempt's. It is not ended with
//!   its attempt; it is ended with the spawner.
//! * A process that changed its user (setuid programs, `su`) can be signalled only by root or by
//!   the same user. If we are neither, it outlives its attempt, and `run` waits for it as long as
//!   it can be told whose it is.
//! * If the spawner is killed, orphans go to the system's first process. What carries a cookie,
//!   and what is below such a process, is ended at once if we live, else by [`end_survivors`] at
//!   the next start; until then it runs. What scrubbed its environment is not found any more.
//! * A process started by another (a container engine, `systemd-run`, `at`, a remote shell) at the
//!   request of a step belongs to that other.
//! * A process that the kernel cannot end (in uninterruptible sleep) is waited for without end.
//! * Masking is a net: what an author encodes in a way of their own is not recognised.
//! * An orphan is told apart by the cookie it was *started* with, so a step can forge another
//!   attempt's cookie if it knows it: cookies are no protection against hostile steps.
//! * [`Limits`] hold for each process, not for the sum of a tree (except processes per user), and
//!   a step that runs as root may raise them again.

mod attempt;
mod client;
mod command;
mod connection;
mod end;
mod error;
mod limited;
mod limits;
mod masker;
mod output;
mod run;
mod serve;
mod sieve;
mod spawner;
mod start;
mod survivors;
mod table;
mod tail;
mod trees;
mod turns;
mod variants;
mod wire;

pub use client::{Processes, ProcessesBuilder};
pub use command::{CommandParts, ProcessCommand, Program, Stdin};
pub use end::{Output, ProcessEnd, ProcessStatus};
pub use error::ProcessError;
pub use limits::{Limit, Limits};
pub use masker::{MaskError, MaskStream, Masker};
pub use run::Stop;
pub use spawner::{Spawner, serve_if_spawner};
pub use survivors::{Survivor, Survivors, end_survivors};

pub use tidewheel_core::id::AttemptId;
