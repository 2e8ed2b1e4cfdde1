//! What a data folder refuses, and what it makes of files it finds.
//!
//! Several processes on one folder are in `sqlite_processes`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use crate::sqlite_common;
use crate::sqlite_common::{Rig, TestFolder};
use tidewheel::id::ScheduleId;
use tidewheel::schedule::{ScheduleSpec, Trigger};
use tidewheel::store::sqlite::{DataFolder, FolderError, Options};
use tidewheel::store::{Store as _, StoreError};
use tidewheel::{Outcome, Priority};
use tidewheel_core::input::{Command, Fires, Input, Submission};
use tidewheel_core::spec::{Attachment, OnceKey, Profile};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn fill(data: &DataFolder) {
    let mut rig = Rig::open(data.shard("default").unwrap());
    let starts = rig.submit(50);
    rig.end(&starts[..25], || Outcome::Succeeded);
}

fn refused(folder: &TestFolder) -> FolderError {
    DataFolder::open(folder.path(), Options::default()).unwrap_err()
}

#[test]
fn everything_is_for_its_owner_alone() {
    let folder = TestFolder::new();
    let data = folder.open();
    let _rig = Rig::open(data.shard("default").unwrap());
    for inner in ["", "locks", "logs"] {
        assert_eq!(mode(&folder.path().join(inner)), 0o700, "{inner}");
    }
    for file in ["tidewheel.db", "tidewheel.db-wal", "tidewheel.db-shm", "locks/default.lock"] {
        assert_eq!(mode(&folder.path().join(file)), 0o600, "{file}");
    }
    let copy = folder.path().join("copy.db");
    data.backup(&copy).unwrap();
    assert_eq!(mode(&copy), 0o600);
}

#[test]
fn a_folder_that_others_can_write_is_refused_and_one_they_can_read_is_closed() {
    let folder = TestFolder::new();
    fs::create_dir(folder.path()).unwrap();
    for bits in [0o777, 0o720, 0o702] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(bits)).unwrap();
        let error = refused(&folder);
        assert!(matches!(error, FolderError::WritableByOthers { .. }), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made in it");
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder.open();
    assert_eq!(mode(folder.path()), 0o700);
}

#[test]
fn a_parent_that_others_can_write_is_named() {
    let parent = TestFolder::new();
    fs::create_dir(parent.path()).unwrap();
    let inner = parent.path().join("inner");
    let data = DataFolder::open(&inner, Options::default()).unwrap();
    assert_eq!(data.open_parent(), None, "the folder for temporary files has its sticky bit");
    fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(data.open_parent(), Some(parent.path()));
}

/// To open and close a file drops every lock of the process on it: only SQLite may do that, which
/// knows. Otherwise the last to close elsewhere would take the log away from under this process.
#[test]
fn opening_a_folder_again_does_not_drop_the_locks_of_those_who_have_it_open() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    rig.submit(1);
    folder.open();
    data.backup(folder.path().join("copy")).unwrap();
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    use std::os::unix::fs::MetadataExt as _;
    let inode = fs::metadata(data.database()).unwrap().ino();
    let is_ours =
        |line: &&str| line.contains("POSIX") && line.contains(&format!(" {} ", std::process::id()));
    let held: Vec<_> = locks.lines().filter(is_ours).collect();
    if !held.is_empty() || cfg!(target_os = "linux") {
        assert!(held.iter().any(|line| line.contains(&format!(":{inode} "))), "{locks}");
    }
}

#[test]
fn what_is_not_our_database_is_refused_and_left_as_it_is() {
    let folder = TestFolder::new();
    let data = folder.open();
    let path = data.database().to_owned();
    fill(&data);
    drop(data);
    let whole = fs::read(&path).unwrap();
    assert!(!path.with_extension("db-wal").exists(), "the last to close tidies up");

    let foreign = folder.path().join("foreign.db");
    let other = rusqlite::Connection::open(&foreign).unwrap();
    other.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").unwrap();
    drop(other);
    let cases: [(&str, Vec<u8>); 7] = [
        ("empty", Vec::new()),
        ("text", b"hello, this is not a database".repeat(9)),
        ("zeros", vec![0; whole.len()]),
        ("foreign", fs::read(&foreign).unwrap()),
        ("cut in the header", whole[..50].to_vec()),
        ("cut in half", whole[..whole.len() / 2].to_vec()),
        ("cut by a page", whole[..whole.len() - 4096].to_vec()),
    ];
    for (what, bytes) in cases {
        fs::write(&path, &bytes).unwrap();
        let error = refused(&folder);
        assert!(matches!(error, FolderError::NotOurs { .. }), "{what}: {error:?}");
        assert!(error.to_string().contains("left as it is"), "{error}");
        assert!(fs::read(&path).unwrap() == bytes, "{what} was touched");
    }
    fs::write(&path, whole).unwrap();
    let (_, snapshot) = folder.open().shard("default").unwrap().take_tenure().unwrap();
    assert_eq!(snapshot.submissions.len(), 25);
}

#[test]
fn no_database_is_made_beside_the_log_of_another() {
    let folder = TestFolder::new();
    let data = folder.open();
    let path = data.database().to_owned();
    let log = path.with_extension("db-wal");
    {
        // Held open, so that the log stays, as it does when its owner is killed.
        let mut rig = Rig::open(data.shard("default").unwrap());
        rig.submit(3);
        let kept: Vec<_> = ["db", "db-wal"].map(|end| fs::read(path.with_extension(end))).into();
        drop((rig, data));
        for (end, bytes) in ["db.away", "db-wal"].iter().zip(kept) {
            fs::write(path.with_extension(end), bytes.unwrap()).unwrap();
        }
    }
    fs::remove_file(&path).unwrap();
    let error = refused(&folder);
    assert!(matches!(&error, FolderError::LogWithoutDatabase { log: named } if *named == log));
    assert!(error.to_string().contains("tidewheel.db-wal"), "{error}");
    assert!(!path.exists() && log.exists(), "nothing was made or touched");
    // Together again they are what they were.
    fs::rename(path.with_extension("db.away"), &path).unwrap();
    let (_, snapshot) = folder.open().shard("default").unwrap().take_tenure().unwrap();
    assert_eq!(snapshot.submissions.len(), 3);
    // Without either, the folder starts anew.
    fs::remove_file(&path).unwrap();
    folder.open();
}

#[test]
fn a_newer_schema_is_refused_with_a_hint() {
    let folder = TestFolder::new();
    let path = folder.open().database().to_owned();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 1000).unwrap();
    let refuse = || {
        let error = refused(&folder);
        assert!(matches!(error, FolderError::Newer { found: 1000, .. }), "{error:?}");
        assert!(error.to_string().contains("upgrade tidewheel or use another folder"), "{error}");
    };
    // Once while the version is only in the log, once when it is in the file.
    refuse();
    drop(connection);
    refuse();
}

#[test]
fn a_record_of_a_newer_program_is_refused_with_a_hint() {
    let folder = TestFolder::new();
    let data = folder.open();
    fill(&data);
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    connection.execute("UPDATE profiles SET spec = '{\"v\":9}'", []).unwrap();
    let error = data.shard("default").unwrap().take_tenure().unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("upgrade tidewheel"), "{error}");
}

#[test]
fn the_mark_stays_and_differs_between_folders() {
    let (one, two) = (TestFolder::new(), TestFolder::new());
    let mark = one.open().mark().to_owned();
    assert_eq!(mark.len(), 32);
    assert_eq!(one.open().mark(), mark);
    assert_ne!(two.open().mark(), mark);
}

#[test]
fn shards_have_plain_names() {
    let folder = TestFolder::new();
    let data = folder.open();
    for name in ["", "..", "../up", "a/b", "Default", "ä", ".open", &"x".repeat(65)] {
        assert!(data.shard(name).is_err(), "{name}");
    }
    for name in ["default", "a.b-c_9", &"x".repeat(64)] {
        data.shard(name).unwrap();
    }
}

#[test]
fn shards_do_not_see_each_other() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut one = Rig::open(data.shard("one").unwrap());
    let mut two = Rig::open_at(data.shard("two").unwrap(), 1000);
    one.submit(3);
    two.submit(4);
    drop((one, two));
    let count = |name: &str| {
        let (_, snapshot) = data.shard(name).unwrap().take_tenure().unwrap();
        snapshot.submissions.len()
    };
    assert_eq!((count("one"), count("two"), count("three")), (3, 4, 0));
    assert_eq!(data.abandoned().unwrap(), ["one", "two"]);
}

#[test]
fn a_shard_with_nothing_but_a_schedule_is_abandoned_too() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("nightly").unwrap());
    let profile = rig.engine.scheduler_mut().profile(&Profile::default()).unwrap();
    let spec = Box::new(ScheduleSpec::new(Trigger::after(Duration::from_secs(86_400))));
    let (id, priority) = (ScheduleId(9), Priority::NORMAL);
    rig.turn(vec![Input::Command(Command::AddSchedule {
        id,
        spec,
        fires: Fires::Task { profile, priority },
    })]);
    assert!(data.abandoned().unwrap().is_empty(), "it is held");
    drop(rig);
    assert_eq!(data.abandoned().unwrap(), ["nightly"]);
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    connection.execute("UPDATE schedules SET ended = 1", []).unwrap();
    assert!(data.abandoned().unwrap().is_empty(), "its schedule has ended");
}

#[test]
fn names_beyond_their_time_leave_when_the_shard_is_taken() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let day = 24 * 60 * 60;
    for (name, seconds) in [("old", 10), ("young", day), ("new", day + 20)] {
        let once = Some(OnceKey { key: name.into(), digest: 7 });
        let attachment = Some(Attachment { once, ..Attachment::default() }.into());
        let submission = Submission { attachment, ..rig.submission() };
        let input = Input::Command(Command::Submit(submission));
        rig.engine.turn(sqlite_common::at(seconds), [input]).unwrap();
    }
    drop(rig);
    let (_, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
    let names: Vec<_> = snapshot.names.iter().map(|name| &*name.once.key).collect();
    assert_eq!(names, ["young", "new"]);
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    let left: i64 =
        connection.query_row("SELECT COUNT(*) FROM names", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 2);
}

#[test]
fn a_fresh_shard_goes_when_it_has_nothing_left_to_do() {
    let folder = TestFolder::new();
    let data = folder.open();
    let (done, waiting) = (data.fresh_shard().unwrap(), data.fresh_shard().unwrap());
    assert_ne!(done, waiting);
    let lock = |name: &str| folder.path().join(format!("locks/{name}.lock")).exists();
    let mut rig = Rig::open(data.shard(&done).unwrap());
    let starts = rig.submit(2);
    assert!(data.abandoned().unwrap().is_empty(), "it is held");
    // A question whose asker died is in nobody's way.
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    let sql = "INSERT INTO questions (shard, run_id, question, asked_at)
        SELECT id, zeroblob(16), '[]', 0 FROM shards WHERE name = ?1";
    assert_eq!(connection.execute(sql, [&done]).unwrap(), 1);
    rig.end(&starts, || Outcome::Succeeded);
    assert!(lock(&done));
    drop(rig);
    assert!(!lock(&done));
    let sql = "SELECT COUNT(*) FROM questions";
    assert_eq!(connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    let mut rig = Rig::open_at(data.shard(&waiting).unwrap(), 1000);
    rig.submit(1);
    drop(rig);
    assert!(lock(&waiting));
    assert_eq!(data.abandoned().unwrap(), std::slice::from_ref(&waiting));
    // Whoever takes it over finishes its work, and then it goes as well.
    let mut rig = Rig::open_at(data.shard(&waiting).unwrap(), 2000);
    let outputs = std::mem::take(&mut rig.engine.outputs().actions);
    assert!(!outputs.is_empty());
    let starts: Vec<_> = outputs
        .iter()
        .filter_map(|action| match action {
            tidewheel_core::decision::Action::StartAttempt(start) => Some(*start),
            _ => None,
        })
        .collect();
    rig.end(&starts, || Outcome::Succeeded);
    drop(rig);
    assert!(!lock(&waiting) && data.abandoned().unwrap().is_empty());
}

#[test]
fn what_a_dead_holder_of_a_fresh_shard_left_is_swept_up() {
    let folder = TestFolder::new();
    let data = folder.open();
    let hour = std::time::Duration::from_secs(3600);
    let now = std::time::SystemTime::now();
    let (old, new) = (now - hour, now + hour);
    let left = |name: &str, at| {
        let path = folder.path().join("locks").join(name);
        fs::File::create(&path).unwrap().set_modified(at).unwrap();
        path
    };
    let dead = left("fresh-dead.lock", old);
    let young = left("fresh-young.lock", new);
    let other = left("other.lock", old);
    let held = data.shard("fresh-held").unwrap();
    assert_eq!(data.sweep().unwrap(), 1);
    assert!(!dead.exists() && young.exists() && other.exists());
    assert!(folder.path().join("locks/fresh-held.lock").exists());
    drop(held);
    assert!(!folder.path().join("locks/fresh-held.lock").exists());
}

#[test]
fn a_shard_that_was_removed_does_not_answer_to_its_old_holder() {
    let folder = TestFolder::new();
    let data = folder.open();
    let name = data.fresh_shard().unwrap();
    let mut rig = Rig::open(data.shard(&name).unwrap());
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    connection.execute("DELETE FROM shards", []).unwrap();
    let now = rig.now();
    let submission = rig.submission();
    let command = tidewheel_core::input::Command::Submit(submission);
    let refused = rig.engine.turn(now, [tidewheel_core::input::Input::Command(command)]);
    assert!(refused.is_err());
}

#[test]
fn a_database_whose_schema_has_no_number_is_refused_and_left_as_it_is() {
    for version in [-1, 0] {
        let folder = TestFolder::new();
        drop(folder.open());
        let database = folder.path().join("tidewheel.db");
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        drop(connection);
        let error = DataFolder::open(folder.path(), Options::default()).unwrap_err();
        assert!(matches!(error, FolderError::NotOurs { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&format!("its schema is {version}")), "{text}");
        assert!(!text.contains("CREATE"), "{text}");
    }
}

#[test]
fn a_path_that_is_too_long_is_refused_before_anything_is_made() {
    let folder = TestFolder::new();
    let long = folder.path().join("x".repeat(200)).join("y".repeat(200)).join("z".repeat(100));
    let error = DataFolder::open(&long, Options::default()).unwrap_err();
    let FolderError::LongPath { bytes, most, .. } = error else { panic!("{error:?}") };
    assert_eq!((bytes, folder.path().exists()), (long.as_os_str().len(), false));
    // The longest that is said to be possible is.
    let rest = most - folder.path().as_os_str().len() - 2;
    let longest = folder.path().join("x".repeat(rest / 2)).join("y".repeat(rest - rest / 2));
    assert_eq!(longest.as_os_str().len(), most);
    let data = DataFolder::open(&longest, Options::default()).unwrap();
    Rig::open(data.shard("default").unwrap()).submit(1);
}

#[test]
fn what_was_made_while_the_database_could_not_be_written_can_be_afterwards() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mode = |name: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for name in ["tidewheel.db-wal", "tidewheel.db-shm"] {
        mode(name, 0o400);
    }
    let other = folder.open();
    for name in ["tidewheel.db-wal", "tidewheel.db-shm"] {
        let found = fs::metadata(folder.path().join(name)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{name}");
    }
    Rig::open(other.shard("default").unwrap()).submit(1);
    drop(data);
}
