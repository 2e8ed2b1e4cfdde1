//! The reader's answers for whoever has a shard and wants to know what goes on beside it.
//!
//! What is done about it is the business of whoever asks. Runs and tasks are in `reader`.

use rusqlite::{Connection, params};

use super::error::{FolderError, Stage, store_error};
use super::reader::{ENDED, LIVE_RUN, Reader, summary};
use super::store::Fault;
use crate::store::RunSummary;

/// Runs that another shard has, and what has ended lately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beside {
    /// Runs of other shards that have not ended, oldest first, each with a stamp: as long as that is the same, nothing
    /// has happened to it.
    pub live: Vec<(RunSummary, String)>,
    /// Runs of any shard that were accepted after the given place and have ended, oldest first.
    pub ended: Vec<RunSummary>,
    /// The last place that was given away.
    pub last_place: i64,
}

impl Reader {
    /// A number that is another one as soon as anybody else has written to the database. To ask for it costs next to
    /// nothing.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn version(&self) -> Result<i64, FolderError> {
        let asked = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        asked.map_err(|error| {
            FolderError::Store(store_error(error, Stage::Before, self.folder().database()))
        })
    }

    /// What goes on beside a shard, with what was accepted after `place` and has ended.
    ///
    /// # Errors
    ///
    /// As [`Reader::version`].
    pub fn beside(&self, shard: &str, place: i64) -> Result<Beside, FolderError> {
        self.read(|connection| beside(connection, shard, place))
    }
}

fn beside(connection: &Connection, shard: &str, place: i64) -> Result<Beside, Fault> {
    let last = "SELECT next - 1 FROM counter";
    let mut found = Beside {
        last_place: connection.query_row(last, [], |row| row.get(0))?,
        ..Beside::default()
    };
    let sql = format!("{LIVE_RUN} WHERE shards.name IS NOT ?1 ORDER BY seq");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([shard])?;
    while let Some(row) = rows.next()? {
        found.live.push((summary(row)?, String::new()));
    }
    // Attempts only grow, and a state that is entered is younger than the last.
    let sql = "SELECT COUNT(*) || ' ' || COALESCE(MAX(at), 0) || ' ' || COALESCE(SUM(attempts), 0)
            || ' ' || COALESCE(SUM(state IN ('succeeded', 'failed', 'skipped', 'cancelled')), 0)
        FROM tasks WHERE seq = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    for (run, stamp) in &mut found.live {
        let tasks: String = statement.query_row([run.place], |row| row.get(0))?;
        *stamp = format!("{tasks} {} {}", run.tasks, run.is_paused);
    }
    let sql = format!("{ENDED} WHERE kind = 'run' AND seq > ?1 ORDER BY seq");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![place])?;
    while let Some(row) = rows.next()? {
        found.ended.push(summary(row)?);
    }
    Ok(found)
}
