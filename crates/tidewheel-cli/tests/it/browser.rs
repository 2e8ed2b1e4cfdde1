//! The page in a real browser: what a person does with it.
//!
//! The tests themselves are in `tests/browser`, one test here for each file. They need node, Chromium and two packages,
//! which `./test` installs; they are skipped where the environment does not name those.

use std::env;
use std::path::Path;
use std::process::Command;

use tidewheel_testing::skipped;

/// The files with tests, each with a test of its own below.
const FILES: [&str; 7] = ["acted", "corpus", "large", "live", "page", "reached", "shown"];

/// Runs the tests of a file, on a server and in a browser of its own.
fn run(file: &str) {
    for tool in ["TIDEWHEEL_BROWSER_TOOLS", "TIDEWHEEL_CHROMIUM"] {
        if env::var_os(tool).is_none() {
            return skipped(&format!("browser::{file}"), &format!("{tool} is not set"));
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let status = Command::new("node")
        .arg(folder.join("run.mjs"))
        .arg(format!("{file}.mjs"))
        .env("TIDEWHEEL", env!("CARGO_BIN_EXE_tidewheel"))
        .status()
        .unwrap();
    assert!(status.success(), "tests of {file}.mjs failed");
}

#[test]
fn acted() {
    run("acted");
}

#[test]
fn corpus() {
    run("corpus");
}

#[test]
fn large() {
    run("large");
}

#[test]
fn live() {
    run("live");
}

#[test]
fn page() {
    run("page");
}

#[test]
fn reached() {
    run("reached");
}

#[test]
fn shown() {
    run("shown");
}

#[test]
fn every_file_with_browser_tests_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let mut files: Vec<String> = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if std::fs::read_to_string(&path).unwrap().contains("export const tests = {") {
            files.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    files.sort();
    assert_eq!(files, FILES);
    let runner = std::fs::read_to_string(folder.join("run.mjs")).unwrap();
    for file in FILES {
        assert!(runner.contains(&format!("'{file}.mjs'")), "run.mjs does not list {file}.mjs");
    }
}
