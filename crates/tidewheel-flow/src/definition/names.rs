//! What templates may name, wherever they stand.
//!
//! What stands behind a name when a task is done is put together in [`crate::execute`].

/// What every template may name.
pub(crate) const ROOTS: [&str; 5] = ["flows", "params", "run", "secrets", "sources"];

/// What templates know as `run`.
pub(crate) const ABOUT_RUN: [&str; 5] = ["id", "flow", "step", "attempt", "folder"];
