//! A run as it is watched: what is known of it, told event by event, and how that reads in lines.
//!
//! [`Model`] takes in the events of [`tidewheel_client::progress`], [`view`] draws it into lines for the live view of
//! `tidewheel run`, and the rows, signs and times are those of the screens beside. All of it is pure: times are
//! durations since the start of the run and come in as arguments. Nothing here touches a terminal.

mod eta;
mod keys;
mod line;
mod look;
mod model;
mod plain;
mod row;
mod summary;
mod view;
mod window;

#[cfg(test)]
mod tests;

pub use eta::eta;
pub use keys::pressed;
pub(crate) use line::push_ascii;
pub use line::{ASCII, Line, Signs, Tone, UNICODE};
pub use look::Look;
pub use model::{LOG_MAX, Model};
pub(crate) use model::{Phase, Status, Step};
pub use plain::{Level, Plain};
pub(crate) use row::{RowStyle, detail, end_mark, margin, step as step_row};
pub use summary::summary;
pub use view::{Canvas, page, view};
pub(crate) use view::{progress, state as phase_word};
