//! Files that steps leave: outputs, the folder of a run, artifacts, with real processes.

use std::os::unix::fs::PermissionsExt as _;

use crate::common;
use crate::common::{Scratch, stderr, stdout};
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

#[test]
fn artifacts_are_listed_taken_and_pruned() {
    let scratch = Scratch::new("files-artifacts");
    let file = scratch.file(
        "flow.yaml",
        r#"
runner: { on_error: skip }
flow:
  - name: build
    foreach: [linux, mac]
    label: "{{ item }}"
    env: { OS: "{{ item }}" }
    run: mkdir -p dist; printf '%s' "$OS" > "dist/$OS.bin"; printf same > dist/notes
    artifacts: ["dist/{{ item }}.bin", dist/notes]
  - { name: test, depends_on: build, run: echo bad > report.txt; exit 3, artifacts: report.txt }
  - { name: link, run: ln -sf /etc/hostname out, artifacts: out }
"#,
    );
    let output = scratch.run(&["run", &file, "--max-workers", "1", "--format", "json"]);
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let error = result["steps"]["link"]["error"].as_str().unwrap();
    assert!(error.contains("out is a link out of the folder"), "{error}");
    let list = scratch.json(&["artifacts", "last"]);
    let lines: Vec<String> = list["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {} {}", it["step"], it["name"], it["bytes"]).replace('"', ""))
        .collect();
    let expected = [
        "build[linux] dist/linux.bin 5",
        "build[linux] dist/notes 4",
        "build[mac] dist/mac.bin 3",
        "build[mac] dist/notes 4",
        "test report.txt 4",
    ];
    assert_eq!(lines, expected);
    // As `printf mac | sha256sum` says.
    let sha256 = "348a629f5ceed032c3e8706ec47d9bfafb00fb4250b018dd965435ca50cb836e";
    assert_eq!(list["artifacts"][2]["sha256"], sha256);
    assert_eq!(result["artifacts"], list["artifacts"]);
    assert!(stdout(&scratch.run(&["show", "last"])).contains("5 artifacts: tidewheel artifacts"));
    let get = |arguments: &[&str]| {
        let output = scratch.run(&[&["artifacts", "last"], arguments].concat());
        (output.status.code(), stdout(&output), stderr(&output))
    };
    // A change of the original does not matter.
    std::fs::write(scratch.path("dist/mac.bin"), "changed").unwrap();
    assert_eq!(get(&["--get", "dist/mac.bin"]).1, "mac");
    let (code, _, error) = get(&["--get", "dist/notes"]);
    assert!(code == Some(2) && error.contains("--step: build[linux], build[mac]"), "{error}");
    assert_eq!(get(&["--get", "dist/notes", "--step", "build[mac]"]).1, "same");
    let (code, _, error) = get(&["--get", "dist/mac.bim"]);
    assert!(code == Some(4) && error.contains("did you mean `dist/mac.bin`?"), "{error}");
    assert_eq!(get(&["--to", "copies"]).0, Some(0));
    assert_eq!(scratch.read("copies/build[mac]/dist/mac.bin"), "mac");
    let (code, _, error) = get(&["--to", "copies"]);
    assert!(code == Some(1) && error.contains("exists"), "{error}");
    // One that was tampered with is not given out as what it was.
    let path = list["artifacts"][0]["path"].as_str().unwrap();
    std::fs::write(path, "evil!").unwrap();
    let (code, _, error) = get(&["--get", "dist/linux.bin"]);
    assert!(code == Some(1) && error.contains("has changed since it was kept"), "{error}");
    assert_eq!(scratch.run(&["prune", "--keep", "0"]).status.code(), Some(0));
    assert!(!std::path::Path::new(path).exists());
    let other = scratch.file("other.yaml", "flow: [{ name: a, run: 'true' }]");
    scratch.json(&["run", &other]);
    assert!(get(&[]).1.contains("has no artifacts"));
}

/// Writes to both streams in turn, and waits in between until what was written has been read: `ready` files
/// are made by the test when the log has grown.
#[test]
fn both_streams_are_shown_in_the_order_they_were_written() {
    let scratch = Scratch::new("files-streams");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: talk
    run: |
      wait_for() { while ! test -e "$1"; do sleep 0.01; done; }
      touch began; wait_for go0
      echo "out 1"; wait_for go1
      printf 'half a ' >&2; wait_for go2
      echo "out 2"; wait_for go3
      echo "line" >&2; wait_for go4
      printf 'last'
"#,
    );
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("began");
    let logged = || -> u64 {
        let logs = std::fs::read_dir(scratch.data().join("logs")).into_iter().flatten().flatten();
        let files = logs.flat_map(|run| std::fs::read_dir(run.path()).into_iter().flatten());
        let is_log = |path: &std::path::Path| path.extension().is_some_and(|it| it != "seq");
        let files = files.flatten().map(|file| file.path()).filter(|path| is_log(path));
        files.map(|path| std::fs::metadata(path).map_or(0, |it| it.len())).sum()
    };
    for (step, bytes) in [0, 6, 13, 19, 24].into_iter().enumerate() {
        common::wait_until("what was written is read", || logged() >= bytes);
        scratch.file(&format!("go{step}"), "");
    }
    assert_eq!(running.output().status.code(), Some(0));
    let merged = stdout(&scratch.run(&["logs", "last", "talk", "--merge"]));
    assert_eq!(merged, "out | out 1\nout | out 2\nerr | half a line\nout | last\n");
    let all = stdout(&scratch.run(&["logs", "last", "--merge"]));
    assert!(all.starts_with("talk out | out 1\n"), "{all}");
    let list = scratch.json(&["logs", "last"]);
    let turn = |stream: &str, bytes: u64| json!({ "stream": stream, "bytes": bytes });
    let turns = [
        turn("stdout", 6),
        turn("stderr", 7),
        turn("stdout", 6),
        turn("stderr", 5),
        turn("stdout", 4),
    ];
    assert_eq!(list["steps"][0]["turns"], json!(turns));
    let only = scratch.run(&["logs", "last", "talk", "--stream", "stderr"]);
    assert_eq!((stdout(&only), stderr(&only)), (String::new(), "half a line\n".to_owned()));
    let only = scratch.run(&["logs", "last", "--stream", "stdout"]);
    assert_eq!(stdout(&only), "talk | out 1\ntalk | out 2\ntalk | last\n");
    // Byte for byte, each stream to its own.
    let raw = scratch.run(&["logs", "last", "talk"]);
    assert_eq!(stdout(&raw), "out 1\nout 2\nlast");
    assert_eq!(scratch.run(&["prune", "--keep", "0"]).status.code(), Some(0));
    assert_eq!(std::fs::read_dir(scratch.data().join("logs")).unwrap().count(), 0);
}
