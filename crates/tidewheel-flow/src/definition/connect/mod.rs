//! What steps say of each other: dependencies that are written down or found in templates, outputs
//! that are used, limits that are named, circles.
//!
//! What a step says of itself was checked when it was decoded.

mod capacity;
mod circles;
mod elements;
mod files;
mod missing;
mod names;
mod sequence;
mod whole;

pub(crate) use elements::KnownElements;
pub(crate) use files::file_between;
pub(crate) use whole::{TASKS_MAX, connect};
