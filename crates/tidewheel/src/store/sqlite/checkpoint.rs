//! Moves pages from the write-ahead log into the database, on a thread of its own, so that commits
//! do not wait for it.
//!
//! ```text
//! pages in the log   4,000 (16 MiB): the thread moves them beside the commits
//!                   16,000 (64 MiB): a commit moves the few that are left, so the log starts over
//!                   32,000 (125 MiB): the thread waits a moment for readers, and cuts the log off
//! ```
//!
//! The second step is needed because under steady load a thread never quite catches up, and the
//! log starts over only when every page of it was moved.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::connection;
use super::folder::Durability;

/// Pages after which the thread is called.
const PAGES_TO_MOVE: i64 = 4_000;
/// Pages after which a commit does the rest.
pub(super) const PAGES_FOR_COMMIT: i64 = 16_000;
/// Pages after which readers are waited for.
const PAGES_TO_CUT: i64 = 32_000;
/// How long.
const READERS_WAIT: Duration = Duration::from_millis(200);
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
        if pages(connection).is_ok_and(|pages| pages >= PAGES_TO_MOVE) {
            self.thread.get_or_insert_with(|| Mover::start(path)).call();
        }
    }
}

#[derive(Debug)]
struct Mover {
    /// Dropped first, which ends the thread.
    calls: Option<SyncSender<()>>,
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
            let _ = calls.try_send(());
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

fn serve(path: &Path, called: &Receiver<()>) {
    let mut connection = None;
    while called.recv().is_ok() {
        if connection.is_none() {
            connection = connection::open(path, Durability::Process).ok();
        }
        if connection.as_ref().is_some_and(|connection| tend(connection).is_err()) {
            connection = None;
        }
    }
}

fn tend(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    if pages(connection)? >= PAGES_TO_CUT {
        connection.busy_timeout(READERS_WAIT)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    Ok(())
}

/// How many pages are in the log, moved or not.
fn pages(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?.query_row([], |row| row.get(1))
}
