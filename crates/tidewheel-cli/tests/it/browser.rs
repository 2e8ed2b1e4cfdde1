//! The page in a real browser: what a person does with it.
//!
//! The tests themselves are in `browser/page.mjs`; they need node, Chromium and two packages, which `./test` installs, and
//! are left out where it has not said where those are.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]

use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "needs a browser: ./test runs it"]
fn people_can_use_the_page() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/page.mjs");
    let status = Command::new("node")
        .arg(script)
        .env("TIDEWHEEL", env!("CARGO_BIN_EXE_tidewheel"))
        .status()
        .unwrap();
    assert!(status.success(), "the page does not do what it should");
}
