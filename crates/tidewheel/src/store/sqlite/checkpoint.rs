//! Moves pages from the write-ahead log into the database, on a thread of its own, so that commits
//! do not wait for it.
//!
//! ```text
//! pages in the log   4,000 (16 MiB): the thread moves them beside the commits
//!                   16,000 (64 MiB): commits wait for the thread now and then, and each moves
//!                                    what is left, so that the log starts over
//!                   32,000 (125 MiB): the thread cuts the log off, unless somebody reads from it;
//!                                     then it tries again, less and less often
//! ```
//!
//! The second step is needed because under steady load a thread never quite catches up, and the
//! log starts over only when every page of it was moved. While the thread is at it a commit cannot
//! move any, so one that only hoped to find it idle might hope for ever.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connection;
use super::folder::Durability;

/// Pages after which the thread is called.
const PAGES_TO_MOVE: i64 = 4_000;
/// Pages after which a commit does the rest.
pub(super) const PAGES_FOR_COMMIT: i64 = 16_000;
/// Pages after which the log is cut off.
const PAGES_TO_CUT: i64 = 32_000;
/// The pause after it could not be, and how long it grows. Each try keeps those who write waiting.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Commits after which the log is looked at.
const COMMITS: u32 = 16;
/// Changes in a commit after which it is looked at in any case.
const CHANGES: usize = 1_000;

/// Keeps the log of a store short.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    commits: u32,
    thread: Option<Mover>,
}

impl Checkpoints {
    /// A change set was stored: looks whether the log has grown. What goes wrong here goes wrong
    /// again where somebody is told.
    pub(super) fn committed(&mut self, changes: usize, connection: &Connection, path: &Path) {
        self.commits += 1;
        if self.commits < COMMITS && changes < CHANGES {
            return;
        }
        self.commits = 0;
        let pages = pages(connection).unwrap_or(0);
        if pages >= PAGES_TO_MOVE {
            let mover = self.thread.get_or_insert_with(|| Mover::start(path));
            if pages < PAGES_FOR_COMMIT { mover.call() } else { mover.wait() }
        }
    }
}

/// Asks the thread to move what is there. What it holds is dropped when that is done.
type Call = Option<SyncSender<()>>;

#[derive(Debug)]
struct Mover {
    /// Dropped first, which ends the thread.
    calls: Option<SyncSender<Call>>,
    thread: Option<JoinHandle<()>>,
}

impl Mover {
    fn start(path: &Path) -> Self {
        // One call may wait while another is served; more would say nothing new.
        let (calls, called) = sync_channel(1);
        let path = path.to_owned();
        let builder = thread::Builder::new().name(String::from("tidewheel-log"));
        // Without the thread commits do its work, as they do anyway when it does not keep up.
        let thread = builder.spawn(move || serve(&path, &called)).ok();
        Self { calls: Some(calls), thread }
    }

    fn call(&self) {
        if let Some(calls) = &self.calls {
            let _ = calls.try_send(None);
        }
    }

    /// Calls it and waits until it has moved what is there now.
    fn wait(&self) {
        let (served, waits) = sync_channel(1);
        if let Some(calls) = &self.calls
            && calls.send(Some(served)).is_ok()
        {
            let _ = waits.recv();
        }
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.calls = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(path: &Path, called: &Receiver<Call>) {
    let mut connection = None;
    let mut tries = Tries::default();
    while let Ok(_call) = called.recv() {
        if connection.is_none() {
            connection = connection::open(path, Durability::Process).ok();
        }
        let tended = connection
            .as_ref()
            .map(|connection| tend(connection, PAGES_TO_CUT, &mut tries, Instant::now()));
        if let Some(Err(_)) = tended {
            connection = None;
        }
    }
}

/// When the log may be tried to be cut off again.
#[derive(Debug, Default)]
struct Tries {
    next: Option<(Instant, Duration)>,
}

impl Tries {
    fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|(at, _)| now >= at)
    }

    fn tried(&mut self, is_done: bool, now: Instant) {
        let pause = match self.next {
            Some((_, pause)) => (pause * 2).min(PAUSE_MAX),
            None => PAUSE_MIN,
        };
        self.next = (!is_done).then(|| (now + pause, pause));
    }
}

fn tend(
    connection: &Connection,
    pages_to_cut: i64,
    tries: &mut Tries,
    now: Instant,
) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    if pages(connection)? >= pages_to_cut && tries.is_due(now) {
        tries.tried(start_over(connection)?, now);
    }
    Ok(())
}

/// Moves everything and cuts the log off, if that is possible at once. To wait for those who read
/// would mean that everybody who writes waits too. From then on the connection waits for nobody.
pub(super) fn start_over(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(Duration::ZERO)?;
    let is_busy: bool =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(!is_busy)
}

/// How many pages are in the log, moved or not.
fn pages(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?.query_row([], |row| row.get(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_read_is_tried_to_be_cut_less_and_less_often() {
        let scratch = tidewheel_testing::temp_folder("log");
        let path = scratch.path().join("log.db");
        let reader = Connection::open(&path).unwrap();
        reader.pragma_update(None, "journal_mode", "WAL").unwrap();
        reader.execute_batch("CREATE TABLE t (x); BEGIN; SELECT * FROM t").unwrap();
        let writer = connection::open(&path, Durability::Process).unwrap();
        let write = || writer.execute("INSERT INTO t VALUES (randomblob(5000))", []).unwrap();
        write();

        let mover = connection::open(&path, Durability::Process).unwrap();
        let mut tries = Tries::default();
        let start = Instant::now();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut next = |seconds: f64| {
            tend(&mover, 1, &mut tries, at(seconds)).unwrap();
            tries.next.map(|(next, _)| next)
        };
        assert_eq!(next(0.0), Some(at(1.0)));
        assert_eq!(next(0.9), Some(at(1.0)), "it is left alone");
        assert_eq!(next(1.0), Some(at(3.0)));
        assert_eq!(next(3.0), Some(at(7.0)));
        assert_eq!(next(100.0), Some(at(108.0)));
        for far in 1..10 {
            next(f64::from(far) * 1000.0);
        }
        assert_eq!(next(20_000.0), Some(at(20_060.0)));
        reader.execute_batch("COMMIT").unwrap();
        assert_eq!(next(20_060.0), None);
        assert_eq!(std::fs::metadata(scratch.path().join("log.db-wal")).unwrap().len(), 0);
    }
}
