//! Tests of `tidewheel-tower`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod admission;
mod axum;
