//! Removes what has ended and is no longer wanted, in small steps beside the work that goes on.
//!
//! ```text
//! runs ──> doomed (one transaction: from here on nobody sees the run)
//!            └─> files, then rows of attempts, outputs, tasks, specs ──> gone
//! ```
//!
//! A run that can be seen has all its files. Whatever is left of one that cannot is found through
//! `doomed` by the next call, so a crash at any point leaves nothing behind for good. Work that has
//! not ended is never touched.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, Row, params};
use tidewheel_core::id::RunId;
use tidewheel_core::time::Timestamp;

use super::error::{FolderError, is_full};
use super::folder::{DataFolder, RUNS, now};
use super::remains::{self, Removed};
use super::trees;
use crate::store::log_folder;

/// Ended runs looked at or removed at once; at this size no statement takes long.
const RUNS_AT_ONCE: i64 = 500;
/// Rows removed at once.
const ROWS_AT_ONCE: i64 = 1_000;
/// Rows stepped over at once.
const STEP: i64 = 5_000;
/// The pause between two steps, in which others get their turn.
const PAUSE: Duration = Duration::from_millis(1);
/// So many things that could not be removed are told of.
const LEFT_MAX: usize = 100;

/// What is kept of the work that has ended. What is not said does not limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Nothing that ended longer ago than this.
    pub older_than: Option<Duration>,
    /// At most so many runs and submissions, the newest.
    pub count_max: Option<u64>,
    /// At most so many bytes of logs, outputs and folders of runs, those of the newest.
    pub bytes_max: Option<u64>,
}

/// What was removed, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Runs and submissions.
    pub runs: u64,
    /// Files of theirs.
    pub files: u64,
    /// The bytes in those files.
    pub bytes: u64,
    /// What could not be removed, of runs that are gone otherwise. The next call tries again.
    pub left: Vec<LeftOver>,
}

/// Something that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOver {
    /// Where it is.
    pub path: PathBuf,
    /// Why it is still there.
    pub why: String,
}

impl DataFolder {
    /// Removes what is no longer wanted of the work that has ended. It may be called at any time
    /// and by several processes at once.
    ///
    /// # Errors
    ///
    /// When the database cannot be written. What is not removed yet will be by the next call. A file
    /// that cannot be removed is [told](Pruned::left), and keeps nothing else from going.
    pub fn prune(&self, retention: Retention) -> Result<Pruned, FolderError> {
        match self.try_prune(retention) {
            // Logs go first then, and make room for the note that they did.
            Err(error) if is_full(&error) => {
                let room = self.make_room(retention)?;
                if room == Pruned::default() {
                    return Err(error);
                }
                let Pruned { runs, files, bytes, left } = self.try_prune(retention)?;
                Ok(Pruned { runs, files: files + room.files, bytes: bytes + room.bytes, left })
            }
            done => done,
        }
    }

    fn try_prune(&self, retention: Retention) -> Result<Pruned, FolderError> {
        let connection = self.connect()?;
        // Losing the newest steps in a power failure only means to repeat them, but for the first.
        hurry(&connection).map_err(|error| self.failed(error))?;
        let mut pruner =
            Pruner { folder: self, connection, pruned: Pruned::default(), tried: i64::MIN };
        pruner.bury()?;
        let rows = |error| self.failed(error);
        let connection = &pruner.connection;
        let by_count = match retention.count_max {
            Some(count) => last_beyond(connection, count).map_err(rows)?,
            None => None,
        };
        let by_bytes = match retention.bytes_max {
            Some(bytes) => last_over(connection, self.path(), bytes).map_err(rows)?,
            None => None,
        };
        if let Some(last) = by_count.max(by_bytes) {
            pruner.remove(last, Timestamp::from_micros(i64::MAX))?;
        }
        if let Some(age) = retention.older_than {
            let cutoff = now().before(age);
            pruner.remove(i64::MAX, cutoff)?;
            pruner.forget_firings(cutoff)?;
        }
        pruner.forget_names()?;
        self.sweep()?;
        Ok(pruner.pruned)
    }
}

impl DataFolder {
    /// Removes logs of the oldest runs that are to go, without a note of it.
    fn make_room(&self, retention: Retention) -> Result<Pruned, FolderError> {
        let connection = self.reader()?.into_connection();
        let rows = |error| self.failed(error);
        let by_count = match retention.count_max {
            Some(count) => last_beyond(&connection, count).map_err(rows)?,
            None => None,
        };
        let by_bytes = match retention.bytes_max {
            Some(bytes) => last_over(&connection, self.path(), bytes).map_err(rows)?,
            None => None,
        };
        let last = by_count.max(by_bytes).unwrap_or(i64::MIN);
        let cutoff = retention.older_than.map_or(i64::MIN, |age| now().before(age).as_micros());
        let sql = "SELECT run_id FROM runs WHERE seq <= ?1 OR ended_at < ?2 ORDER BY seq LIMIT ?3";
        let oldest: Vec<RunId> = connection
            .prepare(sql)
            .and_then(|mut statement| {
                let run = |row: &Row<'_>| Ok(RunId(u128::from_be_bytes(row.get(0)?)));
                statement.query_map([last, cutoff, RUNS_AT_ONCE], run)?.collect()
            })
            .map_err(rows)?;
        let mut room = Pruned::default();
        for run in oldest {
            let logs = Path::new("logs").join(log_folder(run));
            for name in remains::list(self.path(), &logs).unwrap_or_default() {
                if let Ok(Removed::Gone(bytes)) = remains::remove(self.path(), &logs.join(name)) {
                    room.files += 1;
                    room.bytes += bytes;
                }
            }
            let swept = trees::remove(self.path(), RUNS, &run.to_string());
            room.files += swept.files;
            room.bytes += swept.bytes;
        }
        Ok(room)
    }
}

struct Pruner<'a> {
    folder: &'a DataFolder,
    connection: Connection,
    pruned: Pruned,
    /// The newest doomed run whose files were tried: those before it are gone, or cannot be removed now.
    tried: i64,
}

impl Pruner<'_> {
    /// Removes ended runs up to the place `last` that ended before `cutoff`.
    fn remove(&mut self, last: i64, cutoff: Timestamp) -> Result<(), FolderError> {
        let mut from = i64::MIN;
        loop {
            let chunk = self.doom(from, last, cutoff).map_err(|error| self.folder.failed(error))?;
            self.bury()?;
            match chunk {
                Some(next) => from = next,
                None => return Ok(()),
            }
            thread::sleep(PAUSE);
        }
    }

    /// Takes some of the runs from the place `from` on out of sight. Says where to go on.
    fn doom(&mut self, from: i64, last: i64, cutoff: Timestamp) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT seq, accepted_at, ended_at FROM runs
            WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3";
        let rows: Vec<(i64, i64, i64)> = self
            .connection
            .prepare_cached(sql)?
            .query_map([from, last, RUNS_AT_ONCE], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<Result<_, _>>()?;
        let Some((end, newest, _)) = rows.last().copied() else { return Ok(None) };
        let cutoff = cutoff.as_micros();
        let old: Vec<i64> =
            rows.iter().filter(|(.., ended)| *ended < cutoff).map(|(seq, ..)| *seq).collect();
        let list = list_of(&old);
        // On the disk before any file goes: after a power failure the run must not be seen again.
        durably(&self.connection, |connection| {
            let sql = "INSERT OR IGNORE INTO doomed SELECT seq, run_id FROM runs
                WHERE seq IN (SELECT value FROM json_each(?1))";
            connection.prepare_cached(sql)?.execute([&list])?;
            let sql = "DELETE FROM runs WHERE seq IN (SELECT value FROM json_each(?1))";
            connection.prepare_cached(sql)?.execute([&list])?;
            Ok(())
        })?;
        self.pruned.runs += old.len() as u64;
        // What was accepted after the cutoff ended after it, and so did all that follows.
        Ok((newest < cutoff).then_some(end))
    }

    /// Removes all that is left of doomed runs, also of those that somebody else doomed.
    fn bury(&mut self) -> Result<(), FolderError> {
        loop {
            let doomed = self.doomed().map_err(|error| self.folder.failed(error))?;
            if doomed.is_empty() {
                return Ok(());
            }
            self.tried = doomed.iter().copied().max().unwrap_or(self.tried);
            // By name: what others doom meanwhile still has its files.
            let list = list_of(&doomed);
            let stuck = self.remove_files(&list)?;
            // As long as something of a run is there, its rows say so.
            let gone: Vec<i64> = doomed.into_iter().filter(|seq| !stuck.contains(seq)).collect();
            let rows = self.remove_rows(&list_of(&gone));
            rows.map_err(|error| self.folder.failed(error))?;
            thread::sleep(PAUSE);
        }
    }

    fn doomed(&self) -> rusqlite::Result<Vec<i64>> {
        let sql = "SELECT seq FROM doomed WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([self.tried, RUNS_AT_ONCE], |row| row.get(0))?.collect()
    }

    /// Removes files of doomed runs. Says of which runs something is left.
    fn remove_files(&mut self, list: &str) -> Result<BTreeSet<i64>, FolderError> {
        let sql = "WITH gone AS MATERIALIZED
                (SELECT seq, run_id FROM doomed WHERE seq IN (SELECT value FROM json_each(?1)))
            SELECT seq, stdout_path FROM gone JOIN attempts USING (run_id)
                WHERE stdout_path IS NOT NULL
            UNION ALL SELECT seq, stderr_path FROM gone JOIN attempts USING (run_id)
                WHERE stderr_path IS NOT NULL
            UNION ALL SELECT seq, path FROM gone JOIN outputs USING (run_id)
                WHERE path IS NOT NULL";
        let paths = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let pair = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            statement.query_map([list], pair)?.collect::<Result<Vec<(i64, String)>, _>>()
        });
        let mut stuck = BTreeSet::new();
        for (seq, path) in paths.map_err(|error| self.folder.failed(error))? {
            if !self.remove_file(Path::new(&path)) {
                stuck.insert(seq);
            }
        }
        for (seq, run) in self.doomed_runs(list).map_err(|error| self.folder.failed(error))? {
            let are_logs_gone = self.remove_logs(run);
            if !self.remove_folder(run) || !are_logs_gone {
                stuck.insert(seq);
            }
        }
        Ok(stuck)
    }

    fn doomed_runs(&self, list: &str) -> rusqlite::Result<Vec<(i64, RunId)>> {
        let sql = "SELECT seq, run_id FROM doomed WHERE seq IN (SELECT value FROM json_each(?1))";
        let mut statement = self.connection.prepare_cached(sql)?;
        let run = |row: &Row<'_>| Ok((row.get(0)?, RunId(u128::from_be_bytes(row.get(1)?))));
        statement.query_map([list], run)?.collect()
    }

    /// Removes logs of a run that no record tells of: those of attempts that a crash cut short. Whether
    /// none is left.
    fn remove_logs(&mut self, run: RunId) -> bool {
        let logs = Path::new("logs").join(log_folder(run));
        let names = match remains::list(self.folder.path(), &logs) {
            Ok(names) => names,
            Err(error) => {
                self.leave(&logs, &error);
                return false;
            }
        };
        let mut is_clear = true;
        for name in names {
            is_clear &= self.remove_file(&logs.join(name));
        }
        is_clear
    }

    /// Removes the folder of a run, with all that steps left in it. Whether nothing is left.
    fn remove_folder(&mut self, run: RunId) -> bool {
        let swept = trees::remove(self.folder.path(), RUNS, &run.to_string());
        self.pruned.files += swept.files;
        self.pruned.bytes += swept.bytes;
        for (stored, error) in &swept.left {
            self.leave(stored, error);
        }
        swept.left.is_empty()
    }

    /// Removes a file of the folder. Whether it is not there any more.
    fn remove_file(&mut self, stored: &Path) -> bool {
        match remains::remove(self.folder.path(), stored) {
            Ok(Removed::Gone(bytes)) => {
                self.pruned.files += 1;
                self.pruned.bytes += bytes;
                true
            }
            Ok(Removed::Nothing) => true,
            Err(error) => {
                self.leave(stored, &error);
                false
            }
        }
    }

    fn leave(&mut self, stored: &Path, error: &std::io::Error) {
        let (path, why) = (self.folder.path().join(stored), error.to_string());
        let left = LeftOver { path, why };
        if self.pruned.left.len() < LEFT_MAX && !self.pruned.left.contains(&left) {
            self.pruned.left.push(left);
        }
    }

    fn remove_rows(&self, list: &str) -> rusqlite::Result<()> {
        let parts = [
            "DELETE FROM attempts WHERE id IN (SELECT id FROM doomed CROSS JOIN attempts
                USING (run_id) WHERE seq IN (SELECT value FROM json_each(?1)) LIMIT ?2)",
            "DELETE FROM outputs WHERE id IN (SELECT id FROM doomed CROSS JOIN outputs
                USING (run_id) WHERE seq IN (SELECT value FROM json_each(?1)) LIMIT ?2)",
            "DELETE FROM tasks WHERE (seq, idx) IN (SELECT seq, idx FROM doomed CROSS JOIN tasks
                USING (seq) WHERE seq IN (SELECT value FROM json_each(?1)) LIMIT ?2)",
            "DELETE FROM added_tasks WHERE (seq, idx) IN (SELECT seq, idx FROM doomed
                CROSS JOIN added_tasks USING (seq)
                WHERE seq IN (SELECT value FROM json_each(?1)) LIMIT ?2)",
            "DELETE FROM priorities WHERE (seq, idx) IN (SELECT seq, idx FROM doomed
                CROSS JOIN priorities USING (seq)
                WHERE seq IN (SELECT value FROM json_each(?1)) LIMIT ?2)",
            "DELETE FROM answers WHERE (run_id, idx) IN (SELECT run_id, idx FROM doomed
                CROSS JOIN answers USING (run_id)
                WHERE seq IN (SELECT value FROM json_each(?1)) LIMIT ?2)",
        ];
        // A run may have a hundred thousand tasks: they go in many small steps.
        for sql in parts {
            loop {
                let mut statement = self.connection.prepare_cached(sql)?;
                if (statement.execute(params![list, ROWS_AT_ONCE])? as i64) < ROWS_AT_ONCE {
                    break;
                }
                thread::sleep(PAUSE);
            }
        }
        in_transaction(&self.connection, |connection| {
            for table in ["specs", "doomed"] {
                let sql =
                    format!("DELETE FROM {table} WHERE seq IN (SELECT value FROM json_each(?1))");
                connection.prepare_cached(&sql)?.execute([list])?;
            }
            Ok(())
        })
    }

    /// Forgets instants of schedules, but never the newest of each, and ended schedules without any.
    fn forget_firings(&self, cutoff: Timestamp) -> Result<(), FolderError> {
        let sql = "DELETE FROM firings WHERE (schedule, nominal, number) IN
            (SELECT schedule, nominal, number FROM firings WHERE schedule = ?1 AND last < ?2
                AND nominal < (SELECT MAX(nominal) FROM firings WHERE schedule = ?1) LIMIT ?3)";
        let forget = || {
            let schedules: Vec<[u8; 16]> = self
                .connection
                .prepare_cached("SELECT id FROM schedules")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            for schedule in schedules {
                loop {
                    let row = params![schedule, cutoff.as_micros(), ROWS_AT_ONCE];
                    let gone = self.connection.prepare_cached(sql)?.execute(row)?;
                    if (gone as i64) < ROWS_AT_ONCE {
                        break;
                    }
                    thread::sleep(PAUSE);
                }
            }
            let sql = "SELECT id FROM schedules WHERE ended AND NOT EXISTS
                (SELECT 1 FROM firings WHERE schedule = id AND last >= ?1) LIMIT ?2";
            let gone: Vec<[u8; 16]> = self
                .connection
                .prepare_cached(sql)?
                .query_map([cutoff.as_micros(), ROWS_AT_ONCE], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            in_transaction(&self.connection, |connection| {
                for schedule in gone {
                    connection.execute("DELETE FROM firings WHERE schedule = ?1", [schedule])?;
                    connection.execute("DELETE FROM schedules WHERE id = ?1", [schedule])?;
                }
                Ok(())
            })
        };
        forget().map_err(|error: rusqlite::Error| self.folder.failed(error))
    }

    fn forget_names(&self) -> Result<(), FolderError> {
        let forget = || {
            let kept: Vec<(i64, i64)> = self
                .connection
                .prepare_cached("SELECT id, names_kept FROM shards")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            kept.into_iter().try_for_each(|(shard, kept)| {
                self.forget_names_of(
                    shard,
                    now().before(Duration::from_micros(kept.unsigned_abs())),
                )
            })
        };
        forget().map_err(|error: rusqlite::Error| self.folder.failed(error))
    }

    fn forget_names_of(&self, shard: i64, cutoff: Timestamp) -> rusqlite::Result<()> {
        let sql = "DELETE FROM names WHERE (shard, key) IN
            (SELECT shard, key FROM names WHERE shard = ?1 AND accepted_at < ?2 LIMIT ?3)";
        let mut statement = self.connection.prepare_cached(sql)?;
        while statement.execute([shard, cutoff.as_micros(), ROWS_AT_ONCE])? as i64 == ROWS_AT_ONCE {
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// The newest place that is not among the newest `count`.
fn last_beyond(connection: &Connection, count: u64) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT seq FROM runs WHERE seq < ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut place = i64::MAX;
    let mut left = i64::try_from(count).unwrap_or(i64::MAX);
    // Stepping over many rows takes time, so it is done in steps.
    loop {
        let step = left.min(STEP);
        let mut rows = statement.query([place, step])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        place = row.get(0)?;
        // The row found is one of the next step, unless it is the answer.
        if left <= STEP {
            return Ok(Some(place));
        }
        left -= step + 1;
    }
}

/// The newest place with which the newest runs have more than `bytes` of logs, outputs and folders.
fn last_over(connection: &Connection, folder: &Path, bytes: u64) -> rusqlite::Result<Option<i64>> {
    let folders: BTreeSet<OsString> =
        remains::list(folder, Path::new(RUNS)).unwrap_or_default().into_iter().collect();
    let bytes_of = |run: RunId| {
        let name = run.to_string();
        if folders.contains(OsStr::new(&name)) { trees::size(folder, RUNS, &name) } else { 0 }
    };
    let sql = "SELECT seq, run_id,
            (SELECT COALESCE(SUM(COALESCE(stdout_bytes, 0) + COALESCE(stderr_bytes, 0)), 0)
                FROM attempts WHERE attempts.run_id = runs.run_id)
            + (SELECT COALESCE(SUM(bytes), 0) FROM outputs WHERE outputs.run_id = runs.run_id)
        FROM runs WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut place = i64::MAX;
    let mut total = 0_u64;
    loop {
        let before = place;
        let mut rows = statement.query([place, STEP / 5])?;
        while let Some(row) = rows.next()? {
            place = row.get(0)?;
            let run = RunId(u128::from_be_bytes(row.get(1)?));
            total = total.saturating_add(row.get::<_, i64>(2)?.max(0).cast_unsigned());
            total = total.saturating_add(bytes_of(run));
            if total > bytes {
                return Ok(Some(place));
            }
        }
        if place == before {
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

/// Places as a list that SQLite can read.
fn list_of(places: &[i64]) -> String {
    let places: Vec<String> = places.iter().map(i64::to_string).collect();
    format!("[{}]", places.join(","))
}

/// Lets commits not wait for the disk.
fn hurry(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "NORMAL")
}

/// Does `work` in a transaction that is on the disk when it is over, whatever the durability.
fn durably<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    let done = in_transaction(connection, work);
    hurry(connection)?;
    done
}

/// Does `work` in a transaction that may write.
pub(super) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = work(connection).and_then(|value| {
        connection.execute_batch("COMMIT")?;
        Ok(value)
    });
    if done.is_err() {
        // The first error counts; closing the connection rolls back as well.
        let _ = connection.execute_batch("ROLLBACK");
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_are_removed_after_waits_for_the_disk() {
        let connection = Connection::open_in_memory().unwrap();
        hurry(&connection).unwrap();
        let synchronous = |connection: &Connection| {
            connection.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))
        };
        assert_eq!(synchronous(&connection).unwrap(), 1);
        assert_eq!(durably(&connection, synchronous).unwrap(), 2);
        assert_eq!(synchronous(&connection).unwrap(), 1);
    }
}
