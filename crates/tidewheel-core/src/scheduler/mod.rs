//! The scheduler: one pure, synchronous function from inputs to decisions.
//!
//! `state` holds the data and the dispatch; each other file is one part of the deciding: commands,
//! control, attempts, the one transition function, what follows from an ended task, filling slots,
//! time, restoring, explaining and checking. Two more, `names` and `profiles`, are what it remembers.

mod attempt;
mod check;
mod command;
mod control;
mod explain;
mod fill;
mod names;
mod preempt;
mod profiles;
mod propagate;
mod restore;
mod state;
mod time;
mod transition;
mod view;

pub use restore::RestoreError;
pub use state::Scheduler;
