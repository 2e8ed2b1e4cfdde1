//! Faults of the disk and the database, as a store meets them.
//!
//! They are made from inside; faults that need another process are in `tests/sqlite_processes.rs`.

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::Scheduler;
use tidewheel_core::decision::{Decision, Tenure};
use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::input::{Command, Input, Submission};
use tidewheel_core::spec::{Attachment, Config, Profile};
use tidewheel_core::time::{Moment, Now, Timestamp};

use super::store::SqliteStore;
use super::{DataFolder, Durability, Options};
use crate::store::{AttemptRecord, Store as _, StoreError};

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> (Folder, DataFolder) {
    let name = format!("tidewheel-unit-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&path);
    let options = Options::default().durability(Durability::Process);
    let data = DataFolder::open(&path, options).unwrap();
    (Folder(path), data)
}

/// A decision that accepts one submission with a payload of some size.
fn decision(bytes: usize) -> Decision {
    let mut scheduler = Scheduler::new(Config::default());
    let profile = scheduler.profile(&Profile::default()).unwrap();
    let attachment = Attachment { payload: Some(vec![7; bytes].into()), once: None };
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

fn open(data: &DataFolder) -> (SqliteStore, Tenure) {
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
    let decision = decision(1 << 20);
    let error = store.commit(tenure, decision.changes()).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }) && error.is_transient());
    let cause = error.source().unwrap().to_string();
    assert!(cause.starts_with("the disk is full: /"), "{cause}");
    assert!(cause.ends_with("tidewheel.db"), "{cause}");
    assert!(store.connection().is_none(), "whatever it was in the middle of is gone");
    let _ = store.commit(tenure, decision.changes()).unwrap();
    let _ = store.commit(tenure, decision.changes()).unwrap();
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

#[test]
fn records_wait_until_a_commit_has_written_them() {
    let (_guard, data) = folder("records");
    let (mut store, tenure) = open(&data);
    let task = TaskId { run: RunId(1), index: 0 };
    let record = AttemptRecord { task, attempt: 1, code: Some(4), ..AttemptRecord::default() };
    let first = decision(1);
    let _ = store.commit(tenure, first.changes()).unwrap();
    store.recorder().record(record.clone());
    // The answer to the first commit was lost and it is offered again: nothing is written.
    let _ = store.commit(tenure, first.changes()).unwrap();
    let reader = data.reader().unwrap();
    assert!(reader.attempts(task).unwrap().iter().all(|attempt| attempt.code.is_none()));
    // A commit that fails keeps them too.
    let connection = store.connection().unwrap();
    connection.pragma_update_and_check(None, "max_page_count", 1, |_| Ok(())).unwrap();
    let mut second = Decision::new();
    second.clear();
    let mut scheduler = Scheduler::new(Config::default());
    let profile = scheduler.profile(&Profile::default()).unwrap();
    let attachment = Attachment { payload: Some(vec![7; 1 << 20].into()), once: None };
    let submission = Submission {
        id: RunId(2),
        profile,
        attachment: Some(Arc::new(attachment)),
        ..Submission::default()
    };
    let now = Now { monotonic: Moment::from_millis(2), wall: Timestamp::from_seconds(2) };
    scheduler.step(now, Input::Command(Command::Submit(submission)), &mut second);
    assert!(store.commit(tenure, second.changes()).is_err());
    let _ = store.commit(tenure, second.changes()).unwrap();
    assert_eq!(reader.attempts(task).unwrap()[0].code, Some(4));
}

#[test]
fn a_lock_names_its_holder_and_waits_for_no_one() {
    let (_guard, data) = folder("lock");
    let _store = data.shard("default").unwrap();
    // Another folder handle of this process is as foreign as another process.
    let other = DataFolder::open(data.path(), Options::default()).unwrap();
    let started = std::time::Instant::now();
    let error = other.shard("default").unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5));
    let text = error.to_string();
    let expected = format!("`default` is held by process {} since 20", std::process::id());
    assert!(text.starts_with(&expected), "{text}");
    assert!(other.shard("another").is_ok());
}
