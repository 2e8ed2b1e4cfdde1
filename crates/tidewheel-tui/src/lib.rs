//! Runs in a terminal, for whoever watches them.
//!
//! [`run`] is a run as it is watched: the live view of `tidewheel run` draws it. How a terminal is taken and given back is
//! the business of whoever shows it.
#![forbid(unsafe_code)]

pub mod run;
