//! Which crate of the workspace may use which.
//!
//! Crates from elsewhere are the business of `cargo deny`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::sources::root;

/// Each crate with those it may name. What stands below one of them may be used as well, except for the
/// core: only who decides, drives, measures or tests the scheduler itself speaks to it.
const ARROWS: [(&str, &[&str]); 12] = [
    ("tidewheel-core", &[]),
    ("tidewheel", &["tidewheel-core"]),
    ("tidewheel-tower", &["tidewheel"]),
    ("tidewheel-picture", &[]),
    ("tidewheel-flow", &["tidewheel", "tidewheel-picture"]),
    ("tidewheel-client", &["tidewheel-flow", "tidewheel"]),
    ("tidewheel-server", &["tidewheel-client", "tidewheel"]),
    ("tidewheel-publish", &["tidewheel-client", "tidewheel"]),
    ("tidewheel-tui", &["tidewheel-client", "tidewheel"]),
    (
        "tidewheel-cli",
        &[
            "tidewheel-client",
            "tidewheel-server",
            "tidewheel-publish",
            "tidewheel-tui",
            "tidewheel",
            "tidewheel-core",
        ],
    ),
    ("tidewheel-sim", &["tidewheel-core", "tidewheel", "tidewheel-flow"]),
    ("tidewheel-testing", &[]),
];

/// Fixtures for tests, which every crate may use.
const TESTING: &str = "tidewheel-testing";

/// The crates of the workspace that a crate names, tests included.
fn named(manifest: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut named = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
        if section.contains("dependencies") && name.starts_with("tidewheel") {
            named.insert(name.to_owned());
        }
    }
    named
}

#[test]
fn crates_use_only_what_stands_below_them() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    let mut wrong = Vec::new();
    let mut arrows = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap();
        let name = folder.file_name().into_string().unwrap();
        let Ok(manifest) = fs::read_to_string(folder.path().join("Cargo.toml")) else { continue };
        let Some(allowed) = allowed.get(name.as_str()) else {
            wrong.push(format!("{name} has no place among the arrows"));
            continue;
        };
        for used in named(&manifest) {
            arrows += 1;
            if used != name && used != TESTING && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{name} may not use {used}"));
            }
        }
    }
    assert!(arrows > 6, "only {arrows} arrows were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
