//! How a run looks while it runs: a live view on a terminal, lines of a log without one.
//!
//! [`Display`] is what a command talks to: it takes events of
//! [`tidewheel_client::progress`] and gives [`Key`]s. Behind it,
//! [`Model`] knows the run, [`view`] draws it into lines, `screen` turns lines into the fewest
//! bytes, and `terminal` is the only place that touches a terminal's settings. Model, view and the
//! log are pure: times are durations since the start of the run and come in as arguments.
//!
//! No rule of scheduling lives here, and no signal but those of job control is handled here: what
//! a key or Ctrl-C does to the run is up to the command.

mod display;
mod eta;
mod keys;
mod line;
mod look;
mod model;
mod plain;
mod row;
mod screen;
mod signals;
mod summary;
mod terminal;
mod view;
mod window;

#[cfg(test)]
mod tests;

pub(crate) use display::{Display, Options};
pub(crate) use keys::Key;
pub(crate) use plain::Level;
