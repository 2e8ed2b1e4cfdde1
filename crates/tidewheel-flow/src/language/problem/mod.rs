//! Problems found in flow files: what is wrong, where, and what to do about it.
//!
//! Nothing here knows what a flow looks like. Whoever reads a file pushes a [`Problem`] and reads
//! on, so that people see all of them at once. Text from files is untrusted: what would move a
//! cursor, hide or reorder letters is never shown as it is.

mod clean;
mod excerpt;
mod json;
mod list;
mod render;
mod report;
mod source;

#[cfg(test)]
mod tests;

pub use tidewheel::words::nearest;

pub use clean::quote;
pub use list::Problems;
pub use render::Style;
pub use report::{Problem, Severity};
pub use source::{FileId, SourceFile, SourceFiles, Span};
