//! `tidewheel publish`: a workspace to its registries, one file a subcommand.
//!
//! What packages are, what is in their way and what becomes of them is known in `tidewheel-publish`.

mod agreed;
mod args;
mod command;
mod explain;
mod graph;
mod pack;
mod place;
mod rehearse;
mod shown;
mod start;
mod status;
mod undo;

pub(crate) use command::{Args, run};
