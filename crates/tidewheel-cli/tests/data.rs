//! The commands that look after a data folder, and the workloads that use one.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tidewheel::store::RunFilter;
use tidewheel::store::sqlite::{DataFolder, Options};

/// A folder that is removed with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("tidewheel-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tidewheel(arguments: &[&str], data: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidewheel"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .env_clear()
        .output()
        .unwrap()
}

#[track_caller]
fn json_of(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((&*error, output.status.code()), ("", Some(0)));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(code), &b""[..]), "{error}");
    for word in words {
        assert!(error.contains(word), "{word} is not in: {error}");
    }
}

fn runs_in(data: &Path) -> usize {
    let folder = DataFolder::open(data, Options::default()).unwrap();
    let filter = RunFilter { limit: 10_000, ..RunFilter::default() };
    folder.reader().unwrap().runs(&filter).unwrap().len()
}

/// A folder in which forty tasks have ended.
fn used(scratch: &Scratch) -> PathBuf {
    let data = scratch.path("data");
    let arguments =
        ["bench", "sqlite", "--tasks", "40", "--in-flight", "4", "--durability", "process"];
    let measured = json_of(&tidewheel(&[&arguments[..], &["--format", "json"]].concat(), &data));
    assert_eq!(measured["n"], json!(40));
    assert!(measured["start_p99_us"].as_f64().unwrap() > 0.0);
    data
}

#[test]
fn a_backup_is_a_copy_that_can_be_restored_elsewhere() {
    let scratch = Scratch::new("backup");
    let data = used(&scratch);
    let all = runs_in(&data);
    let copy = scratch.path("copy.db");
    let copy_name = copy.to_str().unwrap();
    let made = json_of(&tidewheel(&["backup", copy_name, "--format", "json"], &data));
    assert_eq!(made["bytes"], json!(std::fs::metadata(&copy).unwrap().len()));
    assert_refused(&tidewheel(&["backup", copy_name], &data), 5, &["exists already"]);

    let elsewhere = scratch.path("elsewhere");
    let restored = tidewheel(&["restore", copy_name, "--format", "json"], &elsewhere);
    assert_eq!(json_of(&restored), json!({ "data": elsewhere.to_str().unwrap() }));
    assert_eq!(runs_in(&elsewhere), all);
    let again = tidewheel(&["restore", copy_name], &elsewhere);
    assert_refused(&again, 5, &["exists already", "--overwrite"]);
    json_of(&tidewheel(&["restore", copy_name, "--overwrite", "--format", "json"], &elsewhere));
}

#[test]
fn something_else_is_not_restored() {
    let scratch = Scratch::new("not-a-copy");
    let file = scratch.path("letter.txt");
    std::fs::write(&file, "dear reader").unwrap();
    let refused = tidewheel(&["restore", file.to_str().unwrap()], &scratch.path("data"));
    assert_refused(&refused, 6, &["letter.txt is not a database of tidewheel"]);
}

#[test]
fn what_ended_is_pruned_by_count() {
    let scratch = Scratch::new("prune");
    let data = used(&scratch);
    let all = runs_in(&data);
    let pruned = json_of(&tidewheel(&["prune", "--keep", "10", "--format", "json"], &data));
    assert_eq!(pruned["runs"], json!(all - 10));
    assert_eq!(runs_in(&data), 10);
    assert_refused(&tidewheel(&["prune"], &data), 2, &["nothing is said", "--older-than"]);
    assert_refused(&tidewheel(&["prune", "--older-than", "soon"], &data), 2, &["soon"]);
}

#[test]
fn a_folder_that_is_not_there_is_told_and_not_made() {
    let scratch = Scratch::new("missing");
    let data = scratch.path("nowhere");
    let copy = scratch.path("copy.db");
    let refused = tidewheel(&["backup", copy.to_str().unwrap()], &data);
    assert_refused(&refused, 4, &["there is no data folder at", "--data"]);
    assert!(!data.exists());
}

#[test]
fn processes_are_measured_beside_a_plain_loop() {
    let scratch = Scratch::new("processes");
    let data = scratch.path("data");
    let arguments = ["bench", "process", "--tasks", "30", "--slots", "3", "--format", "json"];
    let measured = json_of(&tidewheel(&arguments, &data));
    assert_eq!((&measured["n"], &measured["slots"]), (&json!(30), &json!(3.0)));
    assert!(measured["ratio"].as_f64().unwrap() > 0.0);
    let folder = DataFolder::open(&data, Options::default()).unwrap();
    let runs = folder.reader().unwrap().runs(&RunFilter::default()).unwrap();
    assert_eq!((runs.len(), runs[0].tasks, runs[0].failed), (1, 30, 0));
    let arguments = ["bench", "process", "--tasks", "3", "--program", "/bin/false"];
    assert_refused(&tidewheel(&arguments, &data), 1, &["exit code 1"]);
}
