//! The mark and the version of a database.
//!
//! How older ones are brought up to date is in [`super::migrations`].

use rusqlite::Connection;

use super::migrations::MIGRATIONS;

/// Marks a database as ours in its header: "TdWl".
pub(super) const APPLICATION_ID: i64 = 0x5464_576c;

/// The schema this program writes: the number of migrations.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// The version of the schema.
pub(super) fn user_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
