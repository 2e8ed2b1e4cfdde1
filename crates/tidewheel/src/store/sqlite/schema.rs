//! The tables as they are now, in which a new database is made.
//!
//! What is hot (live runs and submissions, the tasks of live runs) is apart from history, so that a commit costs the same
//! whatever has ended before. How databases of older programs are brought up to this is in [`super::migrations`]; that both ways
//! lead to the same is tested there. Columns stand in the order in which they came.

use rusqlite::Connection;

use super::migrations::MIGRATIONS;

/// Marks a database as ours in its header: "TdWl".
pub(super) const APPLICATION_ID: i64 = 0x5464_576c;

/// The schema this program writes: the number of migrations.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Makes the tables in a database that has none.
///
/// To play all migrations would do too, but SQLite reads the whole schema again after each of them: that took more time than
/// everything else about a first run.
pub(super) fn make(connection: &Connection) -> rusqlite::Result<()> {
    let version = format!("PRAGMA user_version = {VERSION};");
    connection.execute_batch(&["BEGIN IMMEDIATE;", TABLES, &version, "COMMIT"].concat())
}

/// The version of the schema.
pub(super) fn user_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

const TABLES: &str = "
-- Facts about the folder itself.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The next place in the order of acceptance, over all shards. One row.
CREATE TABLE counter (next INTEGER NOT NULL);
INSERT INTO counter VALUES (1);

-- Who may decide. Ids are never used again, so an old holder cannot mistake a new shard for its own.
CREATE TABLE shards (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    tenure INTEGER NOT NULL,
    newest INTEGER,
    paused INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    -- How long names of its work are known, in microseconds.
    names_kept INTEGER NOT NULL DEFAULT 86400000000
);

-- How work is treated, each way once.
CREATE TABLE profiles (
    id INTEGER PRIMARY KEY,
    spec TEXT NOT NULL UNIQUE
);

-- What was asked for, by place in the order of acceptance. Stays when the work ends. Payloads say who understands them;
-- those that were kept before there were kinds say nothing.
CREATE TABLE specs (
    seq INTEGER PRIMARY KEY,
    spec TEXT,
    payload BLOB,
    kind TEXT
);

-- Hot: runs that have not ended.
CREATE TABLE live_runs (
    seq INTEGER PRIMARY KEY,
    run_id BLOB NOT NULL UNIQUE,
    shard INTEGER NOT NULL,
    name TEXT,
    accepted_at INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    changed INTEGER NOT NULL DEFAULT 0,
    paused INTEGER NOT NULL DEFAULT 0,
    keep_open INTEGER NOT NULL DEFAULT 0,
    stopped TEXT,
    stopped_by INTEGER,
    schedule BLOB,
    nominal INTEGER
);

-- Hot: single submissions that have not ended. One tree: their ids rise with time.
CREATE TABLE live_submissions (
    run_id BLOB PRIMARY KEY,
    seq INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    profile INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    deadline INTEGER,
    key TEXT,
    accepted_at INTEGER NOT NULL,
    schedule BLOB,
    nominal INTEGER,
    once_key TEXT,
    once_digest BLOB,
    state TEXT,
    reason TEXT,
    cause INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    uncounted INTEGER NOT NULL DEFAULT 0,
    at INTEGER,
    until INTEGER,
    expires INTEGER,
    released INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    started_at INTEGER
) WITHOUT ROWID;

-- The tasks of runs, live and ended; they are not moved when the run ends.
CREATE TABLE tasks (
    seq INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    cause INTEGER,
    attempts INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    uncounted INTEGER NOT NULL,
    at INTEGER NOT NULL,
    until INTEGER,
    expires INTEGER,
    released INTEGER NOT NULL,
    error TEXT,
    started_at INTEGER,
    PRIMARY KEY (seq, idx)
) WITHOUT ROWID;

CREATE TABLE added_tasks (
    seq INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    spec TEXT NOT NULL,
    payload BLOB,
    PRIMARY KEY (seq, idx)
) WITHOUT ROWID;

-- History: runs and submissions that have ended, in the order of acceptance.
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    run_id BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    name TEXT,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    cause INTEGER,
    accepted_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    profile INTEGER,
    priority INTEGER,
    key TEXT,
    schedule BLOB,
    nominal INTEGER
);
CREATE INDEX runs_by_state ON runs (state, seq);
-- The runs of one name that failed are found without looking at those that did not.
CREATE INDEX runs_by_name ON runs (name, state, seq) WHERE name IS NOT NULL;

-- Attempts that did not end their task, and whatever executors know of any attempt. Warnings, a line each, are what people
-- should know although it counts.
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    run_id BLOB NOT NULL,
    idx INTEGER NOT NULL,
    number INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    outcome TEXT,
    code INTEGER,
    signal INTEGER,
    error TEXT,
    tail TEXT,
    stdout_path TEXT,
    stdout_bytes INTEGER,
    stdout_cut INTEGER,
    stderr_path TEXT,
    stderr_bytes INTEGER,
    stderr_cut INTEGER,
    warnings TEXT,
    UNIQUE (run_id, idx, number)
);

-- Values that tasks left; the newest attempt's.
CREATE TABLE outputs (
    id INTEGER PRIMARY KEY,
    run_id BLOB NOT NULL,
    idx INTEGER NOT NULL,
    name TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    value BLOB,
    path TEXT,
    UNIQUE (run_id, idx, name)
);

-- Without a profile the firings of a schedule are runs; those it waits for are in `wanted`.
CREATE TABLE schedules (
    id BLOB PRIMARY KEY,
    shard INTEGER NOT NULL,
    place INTEGER NOT NULL,
    spec TEXT NOT NULL,
    payload BLOB,
    kind TEXT,
    profile INTEGER,
    priority INTEGER,
    state TEXT NOT NULL,
    wanted TEXT,
    ended INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- What became of each instant, and of each time that somebody asked for it. The key is the last word
-- on firing once. A run that could not be made has an error.
CREATE TABLE firings (
    schedule BLOB NOT NULL,
    nominal INTEGER NOT NULL,
    number INTEGER NOT NULL,
    origin TEXT NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    run_id BLOB,
    skipped TEXT,
    error TEXT,
    PRIMARY KEY (schedule, nominal, number)
) WITHOUT ROWID;

CREATE TABLE queues (
    place INTEGER PRIMARY KEY,
    shard INTEGER NOT NULL,
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    paused INTEGER NOT NULL,
    UNIQUE (shard, name)
);

CREATE TABLE limits (
    place INTEGER PRIMARY KEY,
    shard INTEGER NOT NULL,
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    UNIQUE (shard, name)
);

-- Names that work was accepted under, for as long as their shard says.
CREATE TABLE names (
    shard INTEGER NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    run_id BLOB NOT NULL,
    accepted_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (shard, key)
) WITHOUT ROWID;
CREATE INDEX names_by_age ON names (shard, accepted_at);

-- Ended runs that are being removed: their row in `runs` is gone, the rest of them and their files
-- are going. Whoever finds one finishes the removal.
CREATE TABLE doomed (
    seq INTEGER PRIMARY KEY,
    run_id BLOB NOT NULL
);

-- Commands for runs that another process has.
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    shard INTEGER NOT NULL,
    run_id BLOB NOT NULL,
    command TEXT NOT NULL,
    sent_at INTEGER NOT NULL
);

-- What people said to tasks that wait for them. The first answer counts.
CREATE TABLE answers (
    run_id BLOB NOT NULL,
    idx INTEGER NOT NULL,
    approved INTEGER NOT NULL,
    who TEXT NOT NULL,
    note TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_id, idx)
) WITHOUT ROWID;

-- What shards have of limits that they share, and wait for. A row counts while somebody holds the lock of its shard. Each
-- shard that uses a limit has one row for what it holds, if only none. Runs that have, or wait for, a place in a concurrency
-- group have claims too; one that had its place when its process died waits for it again, as one that has begun.
CREATE TABLE claims (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    pool TEXT NOT NULL,
    shard INTEGER NOT NULL,
    units INTEGER NOT NULL,
    held INTEGER NOT NULL,
    most INTEGER NOT NULL,
    run_id BLOB,
    begun INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX claims_by_pool ON claims (pool, shard);
CREATE INDEX claims_by_run ON claims (run_id) WHERE run_id IS NOT NULL;

-- Questions to whoever has a run; whoever asked removes them.
CREATE TABLE questions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    shard INTEGER NOT NULL,
    run_id BLOB NOT NULL,
    question TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    answer TEXT
);

-- What has arrived for a schedule, by its name: a delivery, a file. The key tells it from others; the instant is the
-- one that is told to the schedule. What waits may not be decided yet.
CREATE TABLE arrivals (
    schedule TEXT NOT NULL,
    key TEXT NOT NULL,
    nominal INTEGER NOT NULL,
    content BLOB NOT NULL,
    waiting INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (schedule, key)
) WITHOUT ROWID;
CREATE UNIQUE INDEX arrivals_by_nominal ON arrivals (schedule, nominal);

-- Priorities of runs that were changed while they were live; those of submissions are in their rows. The index -1 stands for
-- tasks without a priority of their own.
CREATE TABLE priorities (
    seq INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    PRIMARY KEY (seq, idx)
) WITHOUT ROWID;
";
