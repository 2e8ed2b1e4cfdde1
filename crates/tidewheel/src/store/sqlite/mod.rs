//! Rows in an SQLite database.
