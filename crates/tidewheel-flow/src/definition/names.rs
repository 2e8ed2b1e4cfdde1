//! What templates may name, wherever they stand.
//!
//! What stands behind a name when a task is done is put together in [`crate::execute`].

/// What every template may name.
pub(crate) const ROOTS: [&str; 6] = ["flows", "params", "run", "secrets", "sources", "steps"];

/// What templates know of a step as `steps.NAME`.
pub(crate) const ABOUT_STEP: [&str; 5] = ["state", "code", "error", "attempts", "took"];

/// What templates know as `run`.
pub(crate) const ABOUT_RUN: [&str; 7] =
    ["id", "flow", "step", "attempt", "folder", "started_at", "scheduled_at"];

/// What those of hooks know of it besides.
pub(crate) const ABOUT_WHOLE: [&str; 3] = ["state", "failed", "took"];
