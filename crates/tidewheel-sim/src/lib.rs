//! The simulated world in which the scheduler is tested. Never published.
//!
//! Two ways in: [`scenario`] plays text files that read like a story, and [`world`] runs a seed:
//! random work, random faults, checked after every step against a ledger that the simulated
//! executor keeps.

pub mod engine;
pub mod random;
pub mod scenario;
pub mod store;
