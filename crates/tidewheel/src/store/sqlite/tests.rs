//! Faults of the disk and the database, as a store meets them.
//!
//! They are made from inside; faults that need another process are in `tests/it/sqlite_processes.rs`.

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::Scheduler;
use tidewheel_core::decision::{Action, Decision, Tenure};
use tidewheel_core::id::RunId;
use tidewheel_core::input::{Command, Event, Input, Outcome, Submission};
use tidewheel_core::spec::{Attachment, Config, Profile};
use tidewheel_core::task::TaskState;
use tidewheel_core::time::{Moment, Now, Timestamp};
use tidewheel_testing::{TempDir, temp_folder};

use super::connection::PAUSED;
use super::folder::lock_opening;
use super::shards::PATIENCE;
use super::store::SqliteStore;
use super::{DataFolder, Durability, FolderError, Options, Reader, Retention};
use crate::store::{AttemptRecord, OutputRecord, OutputValue, RunFilter, Store as _, StoreError};

pub(super) fn folder(name: &str) -> (TempDir, DataFolder) {
    let scratch = temp_folder("unit");
    let options = Options::default().durability(Durability::Process);
    let data = DataFolder::open(scratch.path().join(name), options).unwrap();
    (scratch, data)
}

/// A decision that accepts one submission with a payload of some size.
fn decision(bytes: usize) -> Decision {
    let mut scheduler = Scheduler::new(Config::default());
    let profile = scheduler.profile(&Profile::default()).unwrap();
    let attachment = Attachment { payload: Some(vec![7; bytes].into()), ..Attachment::default() };
    let submission = Submission {
        id: RunId(1),
        profile,
        attachment: Some(Arc::new(attachment)),
        ..Submission::default()
    };
    let now = Now { monotonic: Moment::from_millis(1), wall: Timestamp::from_seconds(1) };
    let mut decision = Decision::new();
    scheduler.step(now, Input::Command(Command::Submit(submission)), &mut decision);
    decision
}

pub(super) fn open(data: &DataFolder) -> (SqliteStore, Tenure) {
    let mut store = data.shard("default").unwrap();
    let (tenure, _) = store.take_tenure().unwrap();
    (store, tenure)
}

fn stored(data: &DataFolder) -> usize {
    let (_, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
    snapshot.submissions.len()
}

#[test]
fn a_full_disk_is_named_and_the_same_change_set_is_stored_once_there_is_room() {
    let (_guard, data) = folder("full");
    let (mut store, tenure) = open(&data);
    let pages = |store: &SqliteStore, most: i64| {
        let connection = store.connection().unwrap();
        connection.pragma_update_and_check(None, "max_page_count", most, |_| Ok(())).unwrap();
    };
    pages(&store, 1);
    let mut decision = decision(1 << 20);
    let error = decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }) && error.is_transient());
    let cause = error.source().unwrap().to_string();
    assert!(cause.starts_with("the disk is full: /"), "{cause}");
    assert!(cause.ends_with("tidewheel.db"), "{cause}");
    assert!(store.connection().is_none(), "whatever it was in the middle of is gone");
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    assert_eq!(stored(&data), 1);
}

#[test]
fn a_database_that_vanished_is_not_replaced_by_an_empty_one() {
    let (_guard, data) = folder("vanished");
    let mut store = data.shard("default").unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let path = super::connection::with_suffix(data.database(), suffix);
        let _ = std::fs::remove_file(path);
    }
    let error = store.take_tenure().unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    assert!(!data.database().exists());
}

/// A row that cannot be written, as though the disk had failed at it: until the connection is dropped,
/// which any fault does.
fn refuse_outputs(store: &SqliteStore) {
    let sql = "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.outputs
        BEGIN SELECT RAISE(ABORT, 'no output today'); END";
    store.connection().unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_record_and_the_end_of_its_attempt_are_stored_together_or_not_at_all() {
    let (_guard, data) = folder("together");
    let (mut store, tenure) = open(&data);
    let mut scheduler = Scheduler::new(Config::default());
    let profile = scheduler.profile(&Profile::default()).unwrap();
    let submission = Submission { id: RunId(1), profile, ..Submission::default() };
    let now = Now { monotonic: Moment::from_millis(1), wall: Timestamp::from_seconds(1) };
    let mut decision = Decision::new();
    scheduler.step(now, Input::Command(Command::Submit(submission)), &mut decision);
    let stored = decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let Action::StartAttempt(start) = stored.actions.remove(0) else { panic!("it starts at once") };
    decision.clear();
    let ended = Event::AttemptEnded { task: start.task, attempt: 1, outcome: Outcome::Succeeded };
    scheduler.step(now, Input::Event(ended), &mut decision);
    let value = OutputValue::Bytes(b"7".to_vec());
    let outputs = vec![OutputRecord { name: String::from("x"), value }];
    let (task, code) = (start.id, Some(4));
    let record = AttemptRecord { task, attempt: 1, code, outputs, ..AttemptRecord::default() };
    let record = [Arc::new(record)];

    // The row of the task was written before the last of the record is refused: neither is there.
    refuse_outputs(&store);
    assert!(decision.commit(|changes| store.commit(tenure, changes, &record)).is_err());
    let reader = data.reader().unwrap();
    let seen = |reader: &Reader| {
        let state = reader.run(task.run).unwrap().unwrap().summary.state;
        (state, reader.attempts(task).unwrap()[0].code, reader.outputs(task).unwrap().len())
    };
    assert_eq!(seen(&reader), (TaskState::Running, None, 0));
    // Offered again it is stored, all of it; and once more, as after a lost answer, changes nothing.
    for _ in 0..2 {
        decision.commit(|changes| store.commit(tenure, changes, &record)).unwrap();
        assert_eq!(seen(&reader), (TaskState::Succeeded, Some(4), 1));
    }
}

/// The disk may not be written, or is full: SQLite cannot make the memory that its users share, and the lock
/// on opening cannot be had.
#[test]
fn a_folder_that_cannot_be_written_can_be_read() {
    let (_guard, data) = folder("unwritable %?#");
    let (mut store, tenure) = open(&data);
    decision(1).commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let path = data.path().to_owned();
    drop((store, data));
    let open_lock = path.join("locks").join(".open");
    std::fs::remove_file(&open_lock).unwrap();
    for folder in [open_lock, path.join("tidewheel.db-shm")] {
        std::fs::create_dir(folder).unwrap();
    }
    let data = DataFolder::open(&path, Options::default()).unwrap();
    let reader = data.reader().unwrap();
    assert_eq!(reader.runs(&RunFilter::default()).unwrap().len(), 1);
    assert_eq!(reader.run(RunId(1)).unwrap().unwrap().payload.unwrap(), [7]);
    // Whatever would write says that it cannot, and changes nothing.
    let retention = Retention { count_max: Some(0), ..Retention::default() };
    assert!(data.prune(retention).is_err());
    assert!(data.shard("default").unwrap().take_tenure().is_err());
    assert_eq!(reader.runs(&RunFilter::default()).unwrap().len(), 1);
}

#[test]
fn a_lock_names_its_holder_and_waits_for_no_one() {
    let (_guard, data) = folder("lock");
    let _store = data.shard("default").unwrap();
    // Another folder handle of this process is as foreign as another process.
    let other = DataFolder::open(data.path(), Options::default()).unwrap();
    let error = other.shard("default").unwrap_err();
    // Only as long as it takes to give a lock back.
    assert!(PAUSED.get() <= 2 * PATIENCE, "{:?}", PAUSED.get());
    let text = error.to_string();
    let expected = format!("`default` is held by process {} since 20", std::process::id());
    assert!(text.starts_with(&expected), "{text}");
    assert!(other.shard("another").is_ok());
}

#[test]
fn after_a_disk_fault_nothing_is_trusted_before_the_log_has_started_over() {
    let (_guard, data) = folder("suspect");
    let (mut store, tenure) = open(&data);
    let mut decision = decision(1);
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let reader = rusqlite::Connection::open(data.database()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let _: i64 = reader.query_row("SELECT COUNT(*) FROM runs", [], |row| row.get(0)).unwrap();
    store.suspect();
    let error = decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }) && error.is_transient());
    assert!(error.source().unwrap().to_string().contains("is being read"), "{error:?}");
    assert!(decision.commit(|changes| store.commit(tenure, changes, &[])).is_err());
    reader.execute_batch("COMMIT").unwrap();
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    assert_eq!(stored(&data), 1);
}

#[test]
fn whoever_opens_a_folder_does_not_wait_for_ever_for_another() {
    let (_guard, data) = folder("opening");
    let patience = Duration::from_millis(20);
    let opening = lock_opening(data.path(), patience).unwrap();
    let error = lock_opening(data.path(), patience).unwrap_err();
    assert!(matches!(error, FolderError::InUse { .. }), "{error:?}");
    let expected = format!("in use: process {} has been opening or", std::process::id());
    assert!(error.to_string().contains(&expected), "{error}");
    drop(opening);
    lock_opening(data.path(), patience).unwrap();
}

#[test]
fn a_shard_that_nobody_had_is_taken_without_a_look_at_those_of_others() {
    let (_guard, data) = folder("fresh");
    let (mut store, tenure) = open(&data);
    decision(1).commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    // Whoever reads it fails.
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    connection.execute("UPDATE profiles SET spec = ''", []).unwrap();
    connection.execute("ALTER TABLE live_submissions RENAME TO hidden", []).unwrap();
    let mut fresh = data.shard("fresh-1").unwrap();
    let (_, snapshot) = fresh.take_tenure().unwrap();
    assert!(snapshot.submissions.is_empty());
    let error = data.shard("default").unwrap().take_tenure().unwrap_err();
    assert!(error.source().unwrap().to_string().contains("live_submissions"), "{error:?}");
    connection.execute("ALTER TABLE hidden RENAME TO live_submissions", []).unwrap();
}

#[test]
fn work_is_read_when_the_tenure_is_stored_so_that_nobody_waits_meanwhile() {
    let (_guard, data) = folder("reading");
    let (mut store, tenure) = open(&data);
    decision(1).commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    let spec: String =
        connection.query_row("SELECT spec FROM profiles", [], |row| row.get(0)).unwrap();
    connection.execute("UPDATE profiles SET spec = ''", []).unwrap();
    let error = data.shard("default").unwrap().take_tenure().unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    let stored: i64 =
        connection.query_row("SELECT tenure FROM shards", [], |row| row.get(0)).unwrap();
    assert_eq!(stored.cast_unsigned(), tenure.0 + 1);
    connection.execute("UPDATE profiles SET spec = ?1", [spec]).unwrap();
    let (newest, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
    assert_eq!((newest.0, snapshot.submissions.len()), (tenure.0 + 2, 1));
}

#[test]
fn a_fresh_shard_with_unfinished_work_is_given_back_without_waiting_for_those_who_write() {
    let (_guard, data) = folder("given-back");
    let mut store = data.shard("fresh-busy").unwrap();
    let (tenure, _) = store.take_tenure().unwrap();
    decision(1).commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let writer = rusqlite::Connection::open(data.database()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    PAUSED.set(Duration::ZERO);
    drop(store);
    assert!(PAUSED.get() <= PATIENCE, "it waited for another: {:?}", PAUSED.get());
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(data.abandoned().unwrap(), ["fresh-busy"]);
}

#[test]
fn whoever_reads_last_leaves_no_log_behind() {
    let (_guard, data) = folder("read-last");
    let (mut store, tenure) = open(&data);
    decision(1).commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let log = PathBuf::from(format!("{}-wal", data.database().display()));
    let reader = data.reader().unwrap();
    drop((store, data));
    assert_eq!(reader.runs(&RunFilter::default()).unwrap().len(), 1);
    assert!(log.exists());
    drop(reader);
    assert!(!log.exists(), "the log was left to the next who comes");
}
