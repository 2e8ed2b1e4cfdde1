//! What flows say of their processes and of themselves, with real processes.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Scratch, stderr, stdout};
use serde_json::json;

#[test]
fn a_hook_finds_its_own_run() {
    let scratch = Scratch::new("shape-hook");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow: [{ name: work, run: exit 3 }]
on_failure:
  - name: look
    run: |
      "$TIDEWHEEL_BIN" show "$TIDEWHEEL_RUN_ID" --format json > seen.json
      printf '%s' "$WHAT" > what.txt
    env: { WHAT: "{{ run.state }}: {{ run.failed[0].step }} {{ steps.work.code }}" }
"#,
    );
    // The folder is said by a flag, which children do not see.
    let mut command = scratch.command(&["run", &file, "--data", "elsewhere"]);
    let output = command.env_remove("TIDEWHEEL_DATA").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(scratch.read("what.txt"), "failed: work 3");
    let seen: serde_json::Value = serde_json::from_str(&scratch.read("seen.json")).unwrap();
    assert_eq!(seen["steps"]["work"]["state"], json!("failed"), "{}", stdout(&output));
}
