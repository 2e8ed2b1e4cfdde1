//! Several processes on one folder: who holds a shard, who takes over, and nobody sees a lock of the
//! database.
//!
//! The other processes are this test binary again, told by a variable what to be.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::sqlite_common::{Rig, TestFolder, at};
use tidewheel::store::sqlite::{DataFolder, Durability, Options};
use tidewheel::store::{Store as _, StoreError};
use tidewheel::{Outcome, RunId};
use tidewheel_core::Scheduler;
use tidewheel_core::decision::Decision;
use tidewheel_core::input::Command::Submit;
use tidewheel_core::input::{Input, Submission};
use tidewheel_core::spec::{Config, Profile};

const ROLE: &str = "TIDEWHEEL_TEST_ROLE";
const FOLDER: &str = "TIDEWHEEL_TEST_FOLDER";
const NUMBER: &str = "TIDEWHEEL_TEST_NUMBER";

/// Starts this test binary as another process. It is killed when it is dropped.
struct Other {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Other {
    fn start(role: &str, folder: &TestFolder, number: u32) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["sqlite_processes::be_another_process", "--exact", "--nocapture", "--ignored"])
            .env(ROLE, role)
            .env(FOLDER, folder.path())
            .env(NUMBER, number.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits until it says `word`.
    fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "it never said {word}");
        }
    }

    fn finish(mut self) -> (bool, String) {
        let mut text = String::new();
        self.lines.read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().success(), text)
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "what the other processes run"]
fn be_another_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let options = Options::default().durability(Durability::Process);
    let data = DataFolder::open(std::env::var_os(FOLDER).unwrap(), options).unwrap();
    let number: u128 = std::env::var(NUMBER).unwrap().parse().unwrap();
    match role.as_str() {
        "hold" => {
            let mut rig = Rig::open(data.shard("default").unwrap());
            rig.submit(3);
            println!("holding");
            loop {
                std::thread::park();
            }
        }
        "write" => {
            let store = data.shard(&format!("writer{number}")).unwrap();
            let mut rig = Rig::open_at(store, number << 32);
            for _ in 0..100 {
                let starts = rig.submit(1);
                rig.end(&starts, || Outcome::Succeeded);
            }
            println!("written");
        }
        "race" => {
            // Two holders at once would both find the file missing, or one would find it there.
            let mark = data.path().join("inside");
            let mut held = 0;
            while held < 50 {
                let name = format!("fresh-race{}", number % 2);
                let store = match data.shard(&name) {
                    Ok(store) => store,
                    Err(StoreError::Held { .. }) => {
                        std::thread::yield_now();
                        continue;
                    }
                    Err(error) => panic!("{error:?}"),
                };
                held += 1;
                let mark = mark.with_extension(&name);
                let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&mark);
                assert!(made.is_ok(), "two holders");
                std::fs::remove_file(&mark).unwrap();
                drop(store);
            }
            println!("held {held} times");
        }
        "count" => {
            let mut rig = Rig::open(data.shard("default").unwrap());
            for count in 1..=u32::MAX {
                let starts = rig.submit(1);
                if count % 3 == 0 {
                    rig.end(&starts, || Outcome::Succeeded);
                }
                println!("stored {count}");
            }
        }
        #[cfg(target_os = "linux")]
        "no room" => run_out_of_room(&data),
        other => panic!("{other}"),
    }
}

/// The disk fails in the middle of COMMIT: writing beyond a limit on file sizes is an I/O error.
#[cfg(target_os = "linux")]
fn run_out_of_room(data: &DataFolder) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let mut store = data.shard("default").unwrap();
    let (tenure, _) = store.take_tenure().unwrap();
    let mut scheduler = Scheduler::new(Config::default());
    let profile = scheduler.profile(&Profile::default()).unwrap();
    let mut decision = Decision::new();
    for id in 1..=200 {
        let submission = Submission { id: RunId(id), profile, ..Submission::default() };
        scheduler.step(at(1), Input::Command(Submit(submission)), &mut decision);
    }
    let limit = getrlimit(Resource::Fsize);
    let log = std::fs::metadata(data.database().with_extension("db-wal")).unwrap().len();
    let small = Rlimit { current: Some(log + 10_000), ..limit };
    setrlimit(Resource::Fsize, small).unwrap();
    let error = decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap_err();
    assert!(matches!(error, StoreError::Ambiguous { .. }), "{error:?}");
    for _ in 0..3 {
        let error = decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap_err();
        assert!(error.is_transient(), "{error:?}");
    }
    setrlimit(Resource::Fsize, limit).unwrap();
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let (_, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
    assert_eq!(snapshot.submissions.len(), 200);
    assert!(data.check().unwrap().is_empty());
    println!("recovered");
}

#[test]
fn a_held_shard_is_refused_with_its_holder_and_taken_over_when_that_is_killed() {
    let folder = TestFolder::new();
    let mut other = Other::start("hold", &folder, 0);
    other.wait_for("holding");
    let data = folder.open();
    match data.shard("default") {
        Err(StoreError::Held { shard, pid, since }) => {
            assert_eq!((shard.as_str(), pid), ("default", Some(other.child.id())));
            assert!(since.is_some());
        }
        other => panic!("{other:?}"),
    }
    assert!(data.abandoned().unwrap().is_empty());
    other.kill();
    // The lock ends with its process, so the first look finds it.
    assert_eq!(data.abandoned().unwrap(), ["default"]);
    let (_, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
    assert_eq!(snapshot.submissions.len(), 3);
}

/// Whatever was said to be stored is there, however its process ended.
#[test]
fn what_was_acknowledged_survives_being_killed() {
    let folder = TestFolder::new();
    for round in 1..=5_u64 {
        let mut other = Other::start("count", &folder, 0);
        other.wait_for(&format!("stored {}", 37 * round));
        other.kill();
        let mut rest = String::new();
        other.lines.read_to_string(&mut rest).unwrap();
        let said = rest.lines().filter(|line| line.starts_with("stored ")).count() as u64;
        let said = said + 37 * round;
        let data = folder.open();
        let counts = data.reader().unwrap().counts().unwrap();
        let ended: u64 = counts.ended.iter().map(|(_, count)| count).sum();
        let there = counts.live_submissions + ended;
        assert!((said..=said + 1).contains(&there), "{there} are there, {said} were acknowledged");
        assert!(data.check().unwrap().is_empty());
        drop(data);
        std::fs::remove_dir_all(folder.path()).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fails_at_commit_and_recovers_loses_and_doubles_nothing() {
    let folder = TestFolder::new();
    folder.open();
    // The shell makes the signal that goes with the limit ignored, here and in what it becomes.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["sqlite_processes::be_another_process", "--exact", "--nocapture", "--ignored"])
        .env(ROLE, "no room")
        .env(FOLDER, folder.path())
        .env(NUMBER, "0")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("recovered"), "{text}{errors}");
}

#[test]
fn eight_processes_write_at_once_and_none_finds_the_database_locked() {
    let folder = TestFolder::new();
    let others: Vec<_> = (1..=8).map(|number| Other::start("write", &folder, number)).collect();
    for other in others {
        let (is_success, text) = other.finish();
        assert!(is_success && text.contains("written"), "{text}");
    }
    let counts = folder.open().reader().unwrap().counts().unwrap();
    assert_eq!(counts.ended.iter().map(|(_, count)| count).sum::<u64>(), 800);
}

#[test]
fn racing_for_a_lock_never_makes_two_holders() {
    let folder = TestFolder::new();
    folder.open();
    let others: Vec<_> = (0..4).map(|number| Other::start("race", &folder, number)).collect();
    for other in others {
        let (is_success, text) = other.finish();
        assert!(is_success && text.contains("held 50 times"), "{text}");
    }
}

#[test]
fn opening_a_new_folder_at_once_makes_one_database() {
    let folder = TestFolder::new();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let path = folder.path().to_owned();
            std::thread::spawn(move || {
                let data = DataFolder::open(path, Options::default()).unwrap();
                data.mark().to_owned()
            })
        })
        .collect();
    let marks: Vec<String> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(marks.iter().all(|mark| *mark == marks[0]), "{marks:?}");
}
