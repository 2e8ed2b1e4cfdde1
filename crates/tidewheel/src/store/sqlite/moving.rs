//! Moves what is unfinished in a shard to another one, whose holder goes on with it.
//!
//! Rows are moved as they are; what becomes of the work is decided by whoever takes it in.

use rusqlite::{Connection, OptionalExtension as _};

use super::store::{Fault, SqliteStore};
use crate::store::StoreError;

/// The queue that everybody has. What the one says of it who takes work in counts, if only nothing.
const COMMON_QUEUE: &str = "default";

impl SqliteStore {
    /// Moves all runs and submissions of this shard that have not ended to another shard of the folder, with the queues and
    /// limits that they need and commands that nobody has followed yet: all of it or nothing. This store has the lock of its
    /// shard, so nobody decides about them meanwhile. Whoever has the other shard knows of them when it is opened, or with
    /// [`Tidewheel::take_in`](crate::Tidewheel::take_in). A name stands for what was accepted under it last.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] when there is no such shard, a queue or limit there says something else under the same name,
    /// or this shard has schedules; otherwise what went wrong. After [`StoreError::Ambiguous`] nobody can say whether it was
    /// moved: whoever has the other shard should look.
    pub fn move_to(&mut self, shard: &str) -> Result<(), StoreError> {
        self.transact(|store, connection| {
            // Should somebody think that it is still theirs, they are told.
            let (_, from) = store.begin_tenure(connection)?;
            let conflict = |what: String| Fault::Refused(StoreError::Conflict { what });
            let sql = "SELECT id FROM shards WHERE name = ?1";
            let to = connection.query_row(sql, [shard], |row| row.get(0)).optional()?;
            let to: i64 = to.ok_or_else(|| conflict(format!("there is no shard `{shard}`")))?;
            if let Some(what) = contradiction(connection, from, to)? {
                return Err(conflict(what));
            }
            Ok(move_rows(connection, from, to)?)
        })
    }
}

/// What of a shard cannot be in another one.
fn contradiction(connection: &Connection, from: i64, to: i64) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM schedules WHERE shard = ?1 AND NOT ended)";
    if connection.query_row(sql, [from], |row| row.get(0))? {
        return Ok(Some("it has schedules".to_owned()));
    }
    for (table, what) in [("queues", "queue"), ("limits", "limit")] {
        let sql = format!(
            "SELECT own.name FROM {table} AS own JOIN {table} AS other USING (name)
             WHERE own.shard = ?1 AND other.shard = ?2 AND own.spec <> other.spec AND name <> ?3"
        );
        let found: Option<String> =
            connection.query_row(&sql, (from, to, COMMON_QUEUE), |row| row.get(0)).optional()?;
        if let Some(name) = found {
            return Ok(Some(format!("the {what} `{name}` is another one where it is moved to")));
        }
    }
    Ok(None)
}

fn move_rows(connection: &Connection, from: i64, to: i64) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO queues (shard, name, spec, paused)
        SELECT ?2, name, spec, paused FROM queues WHERE shard = ?1 AND name <> ?3 ORDER BY place";
    connection.execute(sql, (from, to, COMMON_QUEUE))?;
    let statements = [
        "INSERT OR IGNORE INTO limits (shard, name, spec)
            SELECT ?2, name, spec FROM limits WHERE shard = ?1 ORDER BY place",
        "INSERT INTO names (shard, key, digest, run_id, accepted_at, seq)
            SELECT ?2, key, digest, run_id, accepted_at, seq FROM names WHERE shard = ?1
            ON CONFLICT (shard, key) DO UPDATE SET digest = excluded.digest,
                run_id = excluded.run_id, accepted_at = excluded.accepted_at, seq = excluded.seq
                WHERE excluded.accepted_at > accepted_at",
        "UPDATE live_runs SET shard = ?2 WHERE shard = ?1",
        "UPDATE live_submissions SET shard = ?2 WHERE shard = ?1",
        "UPDATE inbox SET shard = ?2 WHERE shard = ?1",
        // Runs keep their places in groups. Units are claimed anew, of limits that the other one knows of from now on.
        "UPDATE claims SET shard = ?2 WHERE shard = ?1 AND run_id IS NOT NULL",
        "INSERT INTO claims (pool, shard, units, held, most)
            SELECT pool, ?2, 0, 1, most FROM claims WHERE shard = ?1 AND held
                AND pool NOT IN (SELECT pool FROM claims WHERE shard = ?2)",
    ];
    for sql in statements {
        connection.execute(sql, [from, to])?;
    }
    for table in ["names", "claims"] {
        connection.execute(&format!("DELETE FROM {table} WHERE shard = ?1"), [from])?;
    }
    Ok(())
}
