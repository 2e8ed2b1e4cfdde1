//! How older databases are brought up to date: forwards only, one transaction each.
//!
//! What the tables are now is in [`super::schema`].

use rusqlite::Connection;

use super::schema::user_version;

/// Each brings a database from the version of its index to the next.
pub(super) const MIGRATIONS: &[&str] = &[
    FIRST, KINDS, CLAIMS, QUESTIONS, PLACES, FIRINGS, WARNINGS, LISTS, ARRIVALS, PRIORITIES, AGES,
];

/// Brings the database up to `migrations`, from wherever it is.
///
/// A migration and the version that says it happened are one transaction, so a process that dies in
/// the middle of one leaves the database as it was before.
pub(super) fn migrate(connection: &Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    // Versions only grow. Where nothing is to be done nobody is waited for, who may be frozen.
    let done = usize::try_from(user_version(connection)?).unwrap_or(0);
    for (index, migration) in migrations.iter().enumerate().skip(done) {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        // Read inside the transaction: another process may have been here meanwhile.
        let version = user_version(connection)?;
        let step = if version == index as i64 {
            connection
                .execute_batch(migration)
                .and_then(|()| connection.pragma_update(None, "user_version", version + 1))
        } else {
            Ok(())
        };
        let step = step.and_then(|()| connection.execute_batch("COMMIT"));
        if let Err(error) = step {
            // The first error counts; when the rollback fails too, closing the connection does it.
            let _ = connection.execute_batch("ROLLBACK");
            return Err(error);
        }
    }
    Ok(())
}

const FIRST: &str = "
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
    created_at INTEGER NOT NULL
);

-- How work is treated, each way once.
CREATE TABLE profiles (
    id INTEGER PRIMARY KEY,
    spec TEXT NOT NULL UNIQUE
);

-- What was asked for, by place in the order of acceptance. Stays when the work ends.
CREATE TABLE specs (
    seq INTEGER PRIMARY KEY,
    spec TEXT,
    payload BLOB
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
    stopped_by INTEGER
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
CREATE INDEX runs_by_name ON runs (name, seq) WHERE name IS NOT NULL;

-- Attempts that did not end their task, and whatever executors know of any attempt.
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

CREATE TABLE schedules (
    id BLOB PRIMARY KEY,
    shard INTEGER NOT NULL,
    place INTEGER NOT NULL,
    spec TEXT NOT NULL,
    payload BLOB,
    profile INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- What became of each instant. The key is the last word on firing an instant once.
CREATE TABLE firings (
    schedule BLOB NOT NULL,
    nominal INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    run_id BLOB,
    skipped TEXT,
    PRIMARY KEY (schedule, nominal)
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

-- Names that work was accepted under, for a day.
CREATE TABLE names (
    shard INTEGER NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    run_id BLOB NOT NULL,
    accepted_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (shard, key)
) WITHOUT ROWID;
CREATE INDEX names_by_age ON names (accepted_at);

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
";

/// Payloads say who understands them. Those that were kept before say nothing.
const KINDS: &str = "
ALTER TABLE specs ADD COLUMN kind TEXT;
ALTER TABLE schedules ADD COLUMN kind TEXT;
";

/// What shards have of limits that they share, and wait for. A row counts while somebody holds the
/// lock of its shard. Each shard that uses a limit has one row for what it holds, if only none.
const CLAIMS: &str = "
CREATE TABLE claims (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    pool TEXT NOT NULL,
    shard INTEGER NOT NULL,
    units INTEGER NOT NULL,
    held INTEGER NOT NULL,
    most INTEGER NOT NULL
);
CREATE INDEX claims_by_pool ON claims (pool, shard);
";

/// Questions to whoever has a run; whoever asked removes them.
const QUESTIONS: &str = "
CREATE TABLE questions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    shard INTEGER NOT NULL,
    run_id BLOB NOT NULL,
    question TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    answer TEXT
);
";

/// Runs that have, or wait for, a place in a concurrency group have claims too. One that had its
/// place when its process died waits for it again, as one that has begun.
const PLACES: &str = "
ALTER TABLE claims ADD COLUMN run_id BLOB;
ALTER TABLE claims ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
CREATE INDEX claims_by_run ON claims (run_id) WHERE run_id IS NOT NULL;
";

/// Firings may be runs, may be asked for more than once, and may come to nothing.
const WARNINGS: &str = "
-- What people should know of an attempt although it counts, a line each.
ALTER TABLE attempts ADD COLUMN warnings TEXT;
";

/// The runs of one name that failed are found without looking at those that did not.
const LISTS: &str = "
DROP INDEX runs_by_name;
CREATE INDEX runs_by_name ON runs (name, state, seq) WHERE name IS NOT NULL;
";

const FIRINGS: &str = "
ALTER TABLE live_runs ADD COLUMN schedule BLOB;
ALTER TABLE live_runs ADD COLUMN nominal INTEGER;

-- Without a profile the firings of a schedule are runs; those it waits for are in `wanted`.
CREATE TABLE schedules_now (
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
INSERT INTO schedules_now (id, shard, place, spec, payload, kind, profile, priority, state, ended)
    SELECT id, shard, place, spec, payload, kind, profile, priority, state, ended FROM schedules;
DROP TABLE schedules;
ALTER TABLE schedules_now RENAME TO schedules;

-- What became of each instant, and of each time that somebody asked for it. The key is the last word
-- on firing once. A run that could not be made has an error.
CREATE TABLE firings_now (
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
INSERT INTO firings_now (schedule, nominal, number, origin, last, count, run_id, skipped)
    SELECT schedule, nominal, 0, 'trigger', last, count, run_id, skipped FROM firings;
DROP TABLE firings;
ALTER TABLE firings_now RENAME TO firings;
";

/// What happens outside is remembered, so that it counts once.
const ARRIVALS: &str = "
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
";

/// Priorities of runs that were changed while they were live. Those of submissions are in their rows.
const PRIORITIES: &str = "
-- The index -1 stands for tasks without a priority of their own.
CREATE TABLE priorities (
    seq INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    PRIMARY KEY (seq, idx)
) WITHOUT ROWID;
";

/// Names may be kept for longer than a day, or not as long.
const AGES: &str = "
ALTER TABLE shards ADD COLUMN names_kept INTEGER NOT NULL DEFAULT 86400000000;
DROP INDEX names_by_age;
CREATE INDEX names_by_age ON names (shard, accepted_at);
";

#[cfg(test)]
mod tests {
    use super::super::schema::{self, VERSION};
    use super::*;

    /// A line for each column of each table and index: what statements can tell of a schema.
    fn columns(connection: &Connection) -> Vec<String> {
        let sql = "SELECT concat_ws(' ', t.type, t.name, t.wr, c.cid, c.name, c.type, c.\"notnull\", c.dflt_value, c.pk)
                FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c
                WHERE t.schema = 'main' AND t.name <> 'sqlite_schema'
            UNION ALL
            SELECT concat_ws(' ', 'index of', t.name, i.name, i.\"unique\", i.origin, c.seqno, c.cid, c.name, c.\"desc\", c.key,
                    (SELECT substr(sql, instr(sql, 'WHERE')) FROM sqlite_schema WHERE name = i.name AND i.partial))
                FROM pragma_table_list AS t, pragma_index_list(t.name) AS i, pragma_index_xinfo(i.name) AS c
                WHERE t.schema = 'main' AND t.name <> 'sqlite_schema'
            UNION ALL
            SELECT concat_ws(' ', 'counter', next) FROM counter
            UNION ALL
            SELECT concat_ws(' ', 'autoincrement', name) FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'
            ORDER BY 1";
        let mut statement = connection.prepare(sql).unwrap();
        let lines = statement.query_map([], |row| row.get(0)).unwrap();
        lines.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn a_new_database_is_what_the_oldest_one_becomes() {
        let (new, old) =
            (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
        schema::make(&new).unwrap();
        migrate(&old, MIGRATIONS).unwrap();
        assert_eq!(user_version(&new).unwrap(), user_version(&old).unwrap());
        let (new, old) = (columns(&new), columns(&old));
        assert!(new.len() > 150, "{}", new.len());
        for (new, old) in new.iter().zip(&old) {
            assert_eq!(new, old);
        }
        assert_eq!(new.len(), old.len());
    }

    fn has_table(connection: &Connection, name: &str) -> bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
        connection.query_row(sql, [name], |row| row.get(0)).unwrap()
    }

    /// What dying in the middle of a migration comes to: the transaction does not happen.
    #[test]
    fn a_migration_that_fails_leaves_everything_as_it_was() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, MIGRATIONS).unwrap();
        let broken = "CREATE TABLE later (x); INSERT INTO counter VALUES (7);
            INSERT INTO nowhere VALUES (1)";
        let migrations = [MIGRATIONS, &[broken]].concat();
        assert!(migrate(&connection, &migrations).is_err());
        assert_eq!(user_version(&connection).unwrap(), VERSION);
        assert!(!has_table(&connection, "later"));
        let rows: i64 =
            connection.query_row("SELECT COUNT(*) FROM counter", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);

        let whole = [MIGRATIONS, &["CREATE TABLE later (x)"]].concat();
        migrate(&connection, &whole).unwrap();
        migrate(&connection, &whole).unwrap();
        assert_eq!(user_version(&connection).unwrap(), VERSION + 1);
        assert!(has_table(&connection, "later"));
    }

    #[test]
    fn what_was_kept_before_there_were_kinds_says_none() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &MIGRATIONS[..1]).unwrap();
        let sql = "INSERT INTO specs (seq, spec, payload) VALUES (1, 'text', x'00ff')";
        connection.execute_batch(sql).unwrap();
        migrate(&connection, MIGRATIONS).unwrap();
        let sql = "SELECT spec, payload, kind FROM specs WHERE seq = 1";
        let row: (String, Vec<u8>, Option<String>) = connection
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap();
        assert_eq!(row, ("text".to_owned(), vec![0, 255], None));
    }

    #[test]
    fn schedules_and_instants_from_before_are_tasks_of_their_triggers() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &MIGRATIONS[..5]).unwrap();
        let sql =
            "INSERT INTO schedules VALUES (x'01', 1, 1, 'spec', NULL, 7, 50, 'state', 0, 'k');
            INSERT INTO firings VALUES (x'01', 5, 5, 1, x'02', NULL);
            INSERT INTO firings VALUES (x'01', 6, 9, 4, NULL, 'misfire')";
        connection.execute_batch(sql).unwrap();
        migrate(&connection, MIGRATIONS).unwrap();
        let sql = "SELECT profile, priority, kind, wanted IS NULL FROM schedules";
        let schedule: (i64, i64, String, bool) = connection
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .unwrap();
        assert_eq!(schedule, (7, 50, "k".to_owned(), true));
        let sql = "SELECT group_concat(nominal || origin || number || count) FROM firings";
        let firings: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(firings, "5trigger01,6trigger04");
    }

    /// What commits run is explained in `plan_tests`; claims are made beside them.
    #[test]
    fn a_claim_is_found_by_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, MIGRATIONS).unwrap();
        let sql = "EXPLAIN QUERY PLAN
            UPDATE claims SET units = 1 WHERE pool = '' AND shard = 1 AND held";
        let plan: String = connection.query_row(sql, [], |row| row.get("detail")).unwrap();
        assert!(plan.starts_with("SEARCH"), "{plan}");
    }
}
