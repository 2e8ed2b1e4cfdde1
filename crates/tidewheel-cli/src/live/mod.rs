//! The live view of a run on a terminal, where the cursor is; lines of a log without one, or of JSON for programs.
//!
//! [`Display`] is what a command talks to: it takes events of
//! [`tidewheel_client::progress`] and gives [`Action`]s. What is known of the run and how it reads is in
//! [`tidewheel_tui::run`], which the screens of `tidewheel tui` share; [`tidewheel_tui::inline`] turns
//! lines into the fewest bytes. Here, `terminal` is the only place that touches a terminal's settings.
//!
//! No rule of scheduling lives here, and no signal but those of job control is handled here: what
//! a key or Ctrl-C does to the run is up to the command.

mod display;
mod events;
mod signals;
mod terminal;

pub(crate) use display::{Display, Options, Shown};
pub(crate) use tidewheel_tui::keys::Action;
pub(crate) use tidewheel_tui::run::Level;
