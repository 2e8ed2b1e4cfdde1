//! What flows say of their processes and of themselves, with real processes.

use crate::common::{Scratch, stderr, stdout};
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

#[test]
fn shell_text_stops_at_the_first_command_that_fails() {
    let scratch = Scratch::new("shape-errexit");
    let file = scratch.file(
        "flow.yaml",
        r#"
runner: { on_error: skip }
env_file: vars.env
flow:
  - { name: stops, run: "false\necho went on" }
  - { name: pipe, shell: bash, run: "false | cat\necho went on" }
  - { name: old, shell: [sh, -c], run: "false\necho went on", outputs: { said: "{{ stdout | trim }}" } }
  - { name: source, source: { type: process, configuration: { command: [sh, -c, "false; echo went on"] } } }
  - name: path
    env: { PATH: "./bin:$PATH" }
    run: hello "$NAME"
    outputs: { said: "{{ stdout | trim }}" }
"#,
    );
    std::fs::create_dir(scratch.path("bin")).unwrap();
    let program = scratch.file("bin/hello", "#!/bin/sh\necho hello $1\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program, executable).unwrap();
    scratch.file("vars.env", "NAME='big world'\n");
    let output = scratch.run(&["run", &file, "--format", "json"]);
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let state = |step: &str| result["steps"][step]["state"].clone();
    assert_eq!((state("stops"), state("pipe")), (json!("failed"), json!("failed")), "{result}");
    assert_eq!(
        (state("old"), state("source")),
        (json!("succeeded"), json!("succeeded")),
        "{result}"
    );
    assert_eq!(result["outputs"]["old"]["said"], "went on");
    assert_eq!(result["outputs"]["path"]["said"], "hello big world");
}
