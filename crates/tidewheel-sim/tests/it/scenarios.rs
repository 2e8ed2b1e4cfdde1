//! Plays every file of `scenarios/`, and names those that fail.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tidewheel_sim::scenario;

#[test]
fn every_scenario_plays() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(files.len() > 150, "only {} scenarios were found", files.len());
    let mut failures = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path).expect("a scenario can be read");
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        if !text.starts_with("# ") {
            failures.push(format!("{name}: its first line does not say why it matters"));
        }
        match catch_unwind(AssertUnwindSafe(|| scenario::play(&name, &text))) {
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
