//! Files that steps leave: outputs, the folder of a run, artifacts, with real processes.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::os::unix::fs::PermissionsExt as _;

use common::{Scratch, stderr, stdout};
use serde_json::json;

#[test]
fn a_run_has_a_folder_and_leaves_outputs_in_a_file() {
    let scratch = Scratch::new("files-folder");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: build
    retry: { retries: 1, delay: 1ms }
    run: |
      echo chatter; echo "attempt=$TIDEWHEEL_ATTEMPT" >> "$TIDEWHEEL_OUTPUT"
      test "$TIDEWHEEL_ATTEMPT" = 2
      echo data > "$TIDEWHEEL_RUN_DIR/file"
      printf 'notes<<EOF\none\ntwo\nEOF\n' >> "$TIDEWHEEL_OUTPUT"
    outputs: [attempt, notes]
  - name: use
    depends_on: build
    run: |
      cat "$TIDEWHEEL_RUN_DIR/file"; ls "$TIDEWHEEL_RUN_DIR/.."
      test -e again || { touch again; exit 1; }
    outputs: { text: "{{ stdout | trim }}", notes: "{{ flows.build.notes }}" }
"#,
    );
    let output = scratch.run(&["run", &file, "--format", "json"]);
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(result["outputs"]["build"], json!({ "attempt": "2", "notes": "one\ntwo" }));
    let first = scratch.data().join("runs").join(result["run_id"].as_str().unwrap());
    assert_eq!(std::fs::metadata(&first).unwrap().permissions().mode() & 0o777, 0o700);
    // A retried run has its own, with what was there.
    let again = scratch.json(&["retry", "last"]);
    let use_ = json!({ "text": "data\nwork", "notes": "one\ntwo" });
    assert_eq!(again["outputs"]["use"], use_, "{again}");
    let second = scratch.data().join("runs").join(again["run_id"].as_str().unwrap());
    assert!(first.join("work/file").exists() && second.join("work/file").exists());
    // A run that kept nothing leaves no folder.
    let other = scratch.file("other.yaml", "flow: [{ name: a, run: 'true' }]");
    let other = scratch.json(&["run", &other]);
    assert!(!scratch.data().join("runs").join(other["run_id"].as_str().unwrap()).exists());
    assert_eq!(scratch.run(&["prune", "--keep", "0"]).status.code(), Some(0));
    assert!(!first.exists() && !second.exists());
}

#[test]
fn large_outputs_are_taken_on_request() {
    let scratch = Scratch::new("files-large");
    let file = scratch.file(
        "flow.yaml",
        r#"
runner: { on_error: skip }
flow:
  - { name: small, run: head -c 2000000 /dev/zero | tr '\0' x, outputs: { n: "{{ stdout | length }}" } }
  - { name: large, capture_max: 4MiB, run: head -c 2000000 /dev/zero | tr '\0' x, outputs: { n: "{{ stdout | length }}" } }
"#,
    );
    let output = scratch.run(&["run", &file, "--format", "json"]);
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(result["outputs"]["large"], json!({ "n": 2_000_000 }), "{}", stderr(&output));
    let error = result["steps"]["small"]["error"].as_str().unwrap();
    assert!(error.contains("it printed 2000000 bytes") && error.contains("`capture_max: 64MiB`"));
    let wrong = scratch.file("wrong.yaml", "flow: [{ name: a, run: x, capture_max: 1GiB }]");
    let output = scratch.run(&["validate", &wrong]);
    assert!(stderr(&output).contains("at most 256MiB"), "{}", stderr(&output));
}
