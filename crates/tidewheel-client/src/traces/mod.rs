//! Traces of what happens in a house, for OpenTelemetry: a run is a trace, an attempt a span of it.
//!
//! `spans` makes them of what happened, `form` writes them as OTLP says, `export` sends them. Nothing is decided here, and
//! whoever cannot be reached holds nobody up.

mod export;
mod form;
mod spans;

pub use export::{TraceError, Traces};
