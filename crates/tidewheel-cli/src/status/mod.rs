//! The state of one run over HTTP, in the shape that flowtoy's terminal UI and web page read.
//!
//! [`StatusServer`] listens on the loopback interface, `site` decides what a request gets. What is known of
//! a run comes from a [`StatusSource`], in a shape of the client; nothing here knows how a run is executed or stored,
//! and nothing that is served changes anything.

mod server;
mod site;
mod source;

#[cfg(test)]
mod tests;

pub(crate) use server::{StatusPort, StatusServer};
pub(crate) use source::StatusSource;
