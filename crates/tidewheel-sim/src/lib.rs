//! The simulated world in which the scheduler is tested. Never published.
//!
//! Two ways in: [`scenario`] plays text files that read like a story, and [`world`] runs a seed:
//! random work, random faults, checked after every step against a ledger that the simulated
//! executor keeps. Beside some of them lives another owner whose work is taken in when it dies
//! ([`beside`]). [`neighbours`] does the same for several schedulers that share limits and
//! concurrency groups.

#![forbid(unsafe_code)]

pub mod batch;
pub mod beside;
pub mod client;
mod clocks;
pub mod counted;
pub mod coverage;
mod drive;
pub mod executor;
pub mod extremes;
pub mod fault;
pub mod grouping;
mod groups;
pub mod ledger;
pub mod moving;
pub mod neighbours;
mod notes;
mod owner;
mod priorities;
pub mod random;
pub mod scenario;
pub mod store;
pub mod trace;
mod verdict;
pub mod workload;
pub mod workload_groups;
pub mod world;
