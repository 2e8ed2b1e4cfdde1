//! Plays every story of `scenarios/`, and names those that fail.
//!
//! What can be said in one is in `scenarios/README.md`.

use crate::bench;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A story, by its place in the folder.
fn stories(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        match path.extension() {
            Some(ending) if ending == "txt" => found.push(path),
            None => stories(&path, found),
            Some(_) => {}
        }
    }
}

#[test]
fn every_story_plays() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"));
    let mut files = Vec::new();
    stories(folder, &mut files);
    files.sort();
    assert!(files.len() >= 60, "only {} stories were found", files.len());
    let mut failures = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path).expect("a story can be read");
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
        match catch_unwind(AssertUnwindSafe(|| bench::play(&name, &text))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failures.push(format!("{error:#}")),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                failures.push(format!("{name}: panicked: {}", text.unwrap_or_default()));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} failed:\n{}",
        failures.len(),
        files.len(),
        failures.join("\n")
    );
}
