//! Tests of `tidewheel-core`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod cron_properties;
mod cron_vectors;
mod forecast;
mod scale;
#[cfg(feature = "serde")]
mod serialised;
