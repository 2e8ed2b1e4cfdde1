//! Runs, queues and schedules in a terminal: the screens of `tidewheel tui`, and what they share with the live view of
//! `tidewheel run`.
//!
//! A [`Model`](model::Model) is all that is known and looked at. [`update`](update::update) takes in a
//! [`Message`](message::Message) and says which [`Effect`](message::Effect)s follow: it is pure. [`view`](view::view)
//! draws it. [`show`](app::show) is the loop around them, which has a [`Source`](source::Source) answer what is asked;
//! [`terminal`] takes the terminal and gives it back. [`run`] is a run as it is watched, [`inline`] draws it where the cursor is.
//!
//! No rule is here: what may be asked and done is known at the desk of the client.
#![forbid(unsafe_code)]

pub mod app;
pub mod inline;
pub mod input;
pub mod keys;
pub mod message;
pub mod model;
mod outlet;
mod pace;
pub mod run;
#[cfg(test)]
mod samples;
pub mod source;
mod status;
pub mod terminal;
pub mod theme;
pub mod update;
pub mod view;
