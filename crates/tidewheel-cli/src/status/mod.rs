//! The state of one run over HTTP, in the shape that flowtoy's terminal UI and web page read.
//!
//! [`StatusServer`] listens on the loopback interface, `site` decides what a request gets, and
//! `document` writes `/status`. What is known of a run comes from a [`StatusSource`]; nothing here
//! knows how a run is executed or stored, and nothing that is served changes anything.

mod document;
mod server;
mod site;
mod source;

#[cfg(test)]
mod tests;

pub(crate) use server::{StatusPort, StatusServer};
pub(crate) use source::{RunStatus, StatusSource, StepStatus};
