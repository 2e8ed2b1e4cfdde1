//! The scheduler: one pure, synchronous function from inputs to decisions.
//!
//! `state` holds the data and the dispatch; each other file is one part of the deciding: commands,
//! control, priorities, attempts, the one transition function, what follows from an ended task (for
//! dependents, for groups and their parts, for the run), filling slots, time, firings, restoring, explaining and
//! checking. Three more, `names`, `profiles` and `classes`, are what it remembers.

mod add;
mod attempt;
mod brought;
mod check;
mod check_groups;
mod classes;
mod command;
mod control;
mod explain;
mod fair;
mod fill;
mod firing;
mod forecast;
mod judge;
mod levels;
mod line;
mod names;
mod notice;
mod parts;
mod place;
mod preempt;
mod preview;
mod priority;
mod profiles;
mod propagate;
mod remove;
mod restore;
mod share;
mod state;
mod tally;
mod time;
mod transition;
mod view;
mod waiting;

pub use forecast::Forecast;
pub use line::{Line, Standing};
pub use preview::{Preview, Prospect};
pub use restore::RestoreError;
pub use state::Scheduler;
