//! Logs as people read them: numbered lines of both streams in one order, with their colours, read in part and
//! searched.
//!
//! However long a log is, little of it is in memory at a time. Whose log it is, and where, is known to
//! [`crate::desk`].

mod cursor;
mod files;
mod index;
mod page;
mod search;
mod shelf;
mod signs;
mod style;
#[cfg(test)]
mod tests;
mod walk;

pub use files::{LogFiles, file_identity};
pub use index::Index;
pub use page::{Cut, Page, ShownLine, Wanted};
pub use search::{BUCKETS, FirstError, Found, PATTERN_MAX, Search, SearchError, first_error};
pub use shelf::{LogKey, Shelf};
pub use style::Style;
