//! Orders and locks, without any registry.

use std::fs;
use std::process::Command;
use std::time::Duration;

use tidewheel_testing::{TempDir, temp_folder};

use super::*;
use crate::plan::{Pace, Rate};
use crate::settings::Surroundings;

fn folder(name: &str) -> TempDir {
    let folder = temp_folder(&format!("publish-{name}"));
    fs::create_dir_all(folder.path().join("ws")).unwrap();
    folder
}

#[test]
fn a_workspace_is_published_by_one_at_a_time() {
    let folder = folder("lock");
    let folder = folder.path();
    let (root, ours) = (folder.join("ws"), folder.join("ours"));
    // Whatever a record says: only the kernel's lock counts.
    fs::create_dir_all(&ours).unwrap();
    for record in
        ["", "{ nonsense", r#"{ "pid": 1, "host": "elsewhere", "since": 0, "command": "x" }"#]
    {
        fs::write(ours.join("holder.json"), record).unwrap();
        drop(WorkspaceLock::take(&root, &ours, "tidewheel publish").unwrap());
    }
    let lock = WorkspaceLock::take(&root, &ours, "tidewheel publish").unwrap();
    let error = WorkspaceLock::take(&root, &ours, "tidewheel publish").unwrap_err();
    let LockError::Held { holder: Some(holder), .. } = &error else { panic!("{error:?}") };
    assert_eq!((holder.pid, holder.command.as_str()), (std::process::id(), "tidewheel publish"));
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    // Somebody with another data folder is kept out too.
    let other = WorkspaceLock::take(&root, &folder.join("other"), "tidewheel publish").unwrap_err();
    assert!(matches!(other, LockError::Held { holder: None, .. }));
    drop(lock);
    WorkspaceLock::take(&root, &ours, "tidewheel publish").unwrap();
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "nothing is written to the workspace");
}

#[test]
fn a_lock_ends_with_its_holder_however_that_ends() {
    let folder = folder("killed");
    let folder = folder.path();
    let (root, ours) = (folder.join("ws"), folder.join("ours"));
    let script = "exec 9<\"$1\"; flock 9; echo held; exec sleep 1000";
    let mut holder = Command::new("sh")
        .args(["-c", script, "sh", root.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = holder.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    assert_eq!(line, "held\n");
    assert!(WorkspaceLock::take(&root, &ours, "x").is_err());
    holder.kill().unwrap();
    holder.wait().unwrap();
    WorkspaceLock::take(&root, &ours, "x").unwrap();
}

#[test]
fn of_many_who_want_a_workspace_one_gets_it() {
    let folder = folder("race");
    let folder = folder.path();
    let (root, ours) = (folder.join("ws"), folder.join("ours"));
    let take = || WorkspaceLock::take(&root, &ours, "x").ok();
    let winners: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..50).map(|_| scope.spawn(take)).collect();
        let held: Vec<_> = all.into_iter().map(|it| it.join().unwrap()).collect();
        held.iter().flatten().count()
    });
    assert_eq!(winners, 1);
}

#[test]
fn what_a_run_ended_with_is_forgotten_by_the_next_and_what_it_did_is_not() {
    let folder = folder("journal");
    let folder = folder.path();
    let path = folder.join("journal/a.json");
    assert_eq!(Journal::load(&path), Journal::default());
    let did = Journal { phase: Phase::Uploaded, since: 7, sent: true, ..Journal::default() };
    let journal = Journal { uploads: 1, end: Some(End::Waiting), ..did.clone() };
    journal.store(&path).unwrap();
    assert_eq!(Journal::load(&path), journal);
    Journal::begin(&path);
    assert_eq!(Journal::load(&path), did);
    fs::write(&path, "{ nonsense").unwrap();
    assert_eq!(Journal::load(&path), Journal::default());
}

#[test]
fn a_registry_that_says_too_many_is_sent_nothing_be_it_new_or_not() {
    let package = |name: &str, index: &str, is_new: bool| -> OrderedPackage {
        let address = serde_json::json!({ "name": "ours", "index": index, "upload": null });
        let told = serde_json::json!({ "ecosystem": "cargo", "name": name, "version": "1.0.0",
            "address": address, "after": [], "is_new": is_new, "is_out": false });
        serde_json::from_value(told).unwrap()
    };
    let (here, there) = ("https://a.example/", "https://b.example/");
    let publisher = Publisher::new(Surroundings::of(folder("pace").path(), [])).unwrap();
    let rate = |burst| Some(Rate { burst, every: Duration::from_secs(3600) });
    let said = Pace { new: rate(1), update: rate(2) };
    let may = |package: &OrderedPackage| publisher.may_upload(package, said);
    assert_eq!(may(&package("a", here, true)), Ok(()));
    assert!(may(&package("b", here, true)).is_err(), "one new crate an hour");
    assert_eq!(may(&package("c", here, false)), Ok(()), "versions are counted apart");
    publisher.hold_back(&package("b", here, true), said, Duration::from_secs(60));
    assert!(may(&package("d", here, false)).is_err(), "it takes nothing at all for a minute");
    assert_eq!(may(&package("e", there, true)), Ok(()), "another registry is another one");
}
