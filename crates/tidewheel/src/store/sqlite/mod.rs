//! Rows in an SQLite database in a data folder, so that they survive the process and the machine.
//!
//! [`DataFolder`] is the folder: it is opened once and gives stores, readers and everything for its
//! upkeep. [`SqliteStore`] is one shard of it, as a [`Store`](super::Store). What rows mean is the
//! core's business, their written form is in `codec`.

mod arrivals;
mod attempts;
mod backup;
mod bell;
mod changes;
mod checkpoint;
mod commons;
mod connection;
mod definitions;
mod error;
mod folder;
mod inbox;
mod migrations;
mod moving;
mod places;
mod private;
mod prune;
mod questions;
mod reader;
mod reader_beside;
mod reader_definitions;
mod reader_results;
mod remains;
mod schema;
mod seams;
mod shards;
mod snapshot;
mod store;
mod trees;

pub use arrivals::{Arrival, Kept};
pub use backup::restore_backup;
pub use bell::Bell;
pub use commons::UnitHolder;
pub use error::FolderError;
pub use folder::{DataFolder, Durability, Options};
pub use inbox::Inbox;
pub use places::RunPlace;
pub use prune::{LeftOver, Pruned, Retention};
pub use reader::{Reader, StoredPayload};
pub use reader_beside::Beside;
pub use store::SqliteStore;

#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod tests;
