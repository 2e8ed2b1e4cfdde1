//! What people know from make: targets, a usual file, files that make others necessary. The real program.

use std::io::Write as _;
use std::process::Stdio;

use crate::common::{Scratch, states, stderr, stdout};
use serde_json::{Value, json};

const CHAIN: &str = r#"
flow:
  - { name: fetch, run: "echo 1" }
  - { name: build, depends_on: fetch, run: "echo 1" }
  - { name: docs, depends_on: fetch, run: "echo 1" }
  - { name: deploy, depends_on: [build, docs], run: "echo 1", outputs: { url: "{{ stdout }}" } }
finally:
  - { name: tidy, run: "echo 1" }
  - { name: tell, run: 'echo "$URL"', env: { URL: "{{ flows.deploy.url }}" } }
"#;

#[test]
fn a_step_is_run_with_what_it_needs() {
    let scratch = Scratch::new("manners-to");
    let file = scratch.file("flow.yaml", CHAIN);
    let names = |result: &Value| -> Vec<String> {
        states(result).into_iter().filter(|(_, it)| it == "succeeded").map(|(it, _)| it).collect()
    };
    assert_eq!(names(&scratch.json(&["run", &file, "--to", "build"])), ["build", "fetch", "tidy"]);
    let both = scratch.json(&["run", &file, "--to", "build", "--to", "docs"]);
    assert_eq!(names(&both), ["build", "docs", "fetch", "tidy"]);
    let all = scratch.json(&["run", &file, "--to", "deploy"]);
    assert_eq!(names(&all).len(), 6);
    // What nobody needs is not spoken of, and what is left out is.
    let said = stderr(&scratch.run(&["run", &file, "--to", "build"]));
    assert!(!said.contains("reused of run"), "{said}");
    let left_out = "`tell` is left out: it needs `deploy`, which is not run";
    assert!(said.contains(left_out) && !said.contains("`tidy` is left out"), "{said}");
    let said = stderr(&scratch.run(&["run", &file, "--only", "build"]));
    assert!(
        said.contains(": fetch\n") && !said.contains("docs") && !said.contains("left out"),
        "{said}"
    );
    let plan = scratch.json(&["run", &file, "--to", "docs", "--dry-run"]);
    assert_eq!(plan["levels"], json!([["fetch"], ["docs"], ["tidy"]]), "{plan}");
    let output = scratch.run(&["run", &file, "--to", "biuld"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `build`"), "{}", stderr(&output));
    let output = scratch.run(&["run", &file, "--to", "build", "--only", "docs"]);
    assert_eq!(output.status.code(), Some(2), "they exclude each other");
}

#[test]
fn the_usual_file_is_found() {
    let scratch = Scratch::new("manners-usual");
    let output = scratch.run(&["run"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no tidewheel.yaml here"), "{}", stderr(&output));
    scratch.file("tidewheel.yml", "flow: [{ name: short, run: 'true' }]");
    assert_eq!(scratch.json(&["run"])["flow"], "tidewheel");
    scratch.file("tidewheel.yaml", "flow: [{ name: long, run: 'true' }]");
    let output = scratch.run(&["validate"]);
    assert!(stderr(&output).contains("are both here"), "{}", stderr(&output));
    std::fs::remove_file(scratch.path("tidewheel.yml")).unwrap();
    assert_eq!(scratch.json(&["plan"])["levels"], json!([["long"]]));
    assert_eq!(scratch.json(&["validate"])["valid"], true);
    assert!(stdout(&scratch.run(&["graph"])).contains("long"));
}

/// Runs the program with this text as its standard input.
fn with_stdin(scratch: &Scratch, arguments: &[&str], text: &str) -> (Option<i32>, String, String) {
    let mut command = scratch.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn a_flow_from_standard_input_can_be_run_again() {
    let scratch = Scratch::new("manners-stdin");
    let flow = "flow: [{ name: a, run: echo 1 }, { name: b, depends_on: a, run: test -e there }]";
    let (code, text, error) = with_stdin(&scratch, &["run", "-", "--format", "json"], flow);
    assert_eq!(code, Some(1), "{error}");
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["flow"], "stdin");
    scratch.file("there", "");
    let output = scratch.run(&["retry", "last", "--new-files"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("read from standard input"), "{}", stderr(&output));
    let again = scratch.json(&["retry", "last"]);
    assert_eq!((&again["state"], &again["flow"]), (&json!("succeeded"), &json!("stdin")));
    assert_eq!(scratch.json(&["show", "last"])["steps"]["b"]["state"], "succeeded");
    let (code, _, error) = with_stdin(&scratch, &["validate", "-"], "flow: [{ nam: a }]");
    assert_eq!(code, Some(3));
    assert!(error.contains("--> -:1:10"), "{error}");
    let (code, _, error) = with_stdin(&scratch, &["run", "-", "-"], flow);
    assert!(code == Some(2) && error.contains("only once"), "{error}");
}

#[test]
fn a_killed_run_from_standard_input_is_resumed() {
    let scratch = Scratch::new("manners-resume");
    let flow = "flow: [{ name: a, run: 'touch began; test -e over || sleep 600' }]";
    let mut child = scratch
        .command(&["run", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(flow.as_bytes()).unwrap();
    scratch.wait_for("began");
    child.kill().unwrap();
    child.wait().unwrap();
    scratch.file("over", "");
    let resumed = scratch.json(&["resume", "last"]);
    assert_eq!((&resumed["state"], &resumed["flow"]), (&json!("succeeded"), &json!("stdin")));
}

/// The result of defect 3 in the review of real workflows: it was `in=v1 x=v1 y=v0`, and a success.
#[test]
fn a_file_that_a_step_makes_is_not_read_before_it_is_made() {
    let scratch = Scratch::new("manners-files");
    scratch.file("in.txt", "v1");
    scratch.file("x.txt", "v0");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: make, cache: { inputs: [in.txt], outputs: [x.txt] }, run: touch began; cp in.txt x.txt }
  - { name: use, cache: { inputs: [x.txt], outputs: [y.txt] }, run: test -e began; cp x.txt y.txt }
"#,
    );
    scratch.json(&["run", &file]);
    assert_eq!(scratch.read("y.txt"), "v1");
    let plan = scratch.json(&["run", &file, "--dry-run"]);
    assert_eq!(plan["steps"][1]["after"], json!(["make"]), "{plan}");
    let graph = stdout(&scratch.run(&["graph", &file, "--format", "dot"]));
    assert!(graph.contains("->"), "{graph}");
    let circle = scratch.file(
        "circle.yaml",
        "flow:\n  - { name: a, cache: { inputs: [x], outputs: [y] }, run: a }\n  - { name: b, cache: { inputs: [y], outputs: [x] }, run: b }\n",
    );
    let error = stderr(&scratch.run(&["validate", &circle]));
    assert!(error.contains("`a` reads x, which `b` makes"), "{error}");
    assert!(error.contains("`b` reads y, which `a` makes"), "{error}");
}

#[test]
fn a_dry_run_says_what_is_cached_and_why_not() {
    let scratch = Scratch::new("manners-dry");
    scratch.file("in.txt", "1");
    let flow = r#"
params: { level: 1 }
secrets: { token: { env: TOKEN } }
flow:
  - name: make
    cache: { inputs: ["in*.txt"], outputs: [x.txt], key: "{{ params.level }}" }
    run: cp in.txt x.txt; cat in.txt
    outputs: { text: "{{ stdout | trim }}" }
  - { name: use, cache: { inputs: [x.txt], outputs: [y.txt] }, run: cp x.txt y.txt }
  - name: each
    foreach: [a, b]
    cache: true
    run: echo "$T$I"
    env: { T: "{{ flows.make.text }}", I: "{{ item }}" }
    outputs: { text: "{{ stdout | trim }}" }
  - { name: all, cache: true, run: 'echo "$T"', env: { T: "{{ flows.each.text }}" } }
  - { name: sign, cache: true, run: 'true', env: { T: "{{ secrets.token }}" } }
  - { name: plain, run: touch ran }
"#;
    let file = scratch.file("flow.yaml", flow);
    let run = |arguments: &[&str]| -> Value {
        let mut command = scratch.command(&[&["run", file.as_str()], arguments].concat());
        let command = command.args(["--format", "json"]).env("TOKEN", "t0k3n-t0k3n");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let forecast = |arguments: &[&str]| -> Vec<String> {
        let plan = run(&[&["--dry-run"], arguments].concat());
        let steps = plan["steps"].as_array().unwrap().iter();
        let line = |step: &Value| {
            let cache = step.get("cache")?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (state, why) = (text(&cache["state"]), text(&cache["why"]));
            Some(format!("{} {state} {why}", text(&step["step"])).trim_end().to_owned())
        };
        let mut lines: Vec<String> = steps.filter_map(line).collect();
        lines.sort();
        lines
    };
    let of = |lines: &[String], step: &str| {
        lines.iter().find(|line| line.starts_with(step)).cloned().unwrap_or_default()
    };
    let first = forecast(&[]);
    assert_eq!(of(&first, "make"), "make done it was not done before");
    assert_eq!(of(&first, "use"), "use unknown it reads x.txt, which `make` may make anew");
    assert!(of(&first, "each[0]").starts_with("each[0] unknown it depends on what is not known"));
    assert!(of(&first, "sign").starts_with("sign unknown"), "secrets are not fetched");
    assert!(!scratch.path("ran").exists(), "nothing is run");
    run(&[]);
    let again = forecast(&[]);
    let cached = ["all cached", "each[0] cached", "each[1] cached", "make cached"];
    assert_eq!(again[..4], cached);
    assert_eq!(of(&again, "use"), "use cached");
    // Each thing that may have changed is told.
    let changed = |lines: Vec<String>| of(&lines, "make");
    scratch.file("in.txt", "2");
    scratch.file("in2.txt", "2");
    assert_eq!(changed(forecast(&[])), "make done in.txt has changed, in2.txt is new");
    std::fs::remove_file(scratch.path("in2.txt")).unwrap();
    scratch.file("in.txt", "1");
    assert_eq!(changed(forecast(&["--param", "level=2"])), "make done its `key` has changed");
    scratch.file("x.txt", "other");
    assert_eq!(changed(forecast(&[])), "make done x.txt has changed since it made it");
    std::fs::remove_file(scratch.path("x.txt")).unwrap();
    assert_eq!(changed(forecast(&[])), "make done x.txt, which it makes, is not there");
    scratch.file("flow.yaml", &flow.replace("cat in.txt", "cat in.txt; true"));
    assert_eq!(changed(forecast(&[])), "make done its command has changed");
    let text = scratch.command(&["run", &file, "--dry-run"]).env("TOKEN", "t0k3n-t0k3n").output();
    let text = stdout(&text.unwrap());
    assert!(text.contains("make is not cached: its command has changed"), "{text}");
}

#[test]
fn a_dry_run_sees_files_through_groups() {
    let scratch = Scratch::new("manners-dry-groups");
    scratch.file("i", "1");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: l1, cache: { inputs: [i], outputs: [j] }, run: cp i j }
  - { name: g, steps: [{ name: l2, cache: { inputs: [j], outputs: [k] }, run: cp j k }] }
  - { name: l3, cache: { inputs: [k], outputs: [l] }, run: cp k l }
  - { name: l4, depends_on: l3, cache: { inputs: [l], outputs: [m] }, run: cp l m }
  - { name: other, cache: { inputs: [flow.yaml] }, run: 'true' }
",
    );
    let forecast = || -> Vec<String> {
        let plan = scratch.json(&["run", &file, "--dry-run"]);
        let steps = plan["steps"].as_array().unwrap().iter();
        let state = |step: &Value| Some(step.get("cache")?["state"].as_str()?.to_owned());
        steps.filter_map(state).collect()
    };
    scratch.json(&["run", &file]);
    assert_eq!(forecast(), ["cached"; 5]);
    scratch.file("i", "2");
    let mut changed = forecast();
    changed.sort();
    assert_eq!(changed, ["cached", "done", "unknown", "unknown", "unknown"]);
    let text = stdout(&scratch.run(&["run", &file, "--dry-run"]));
    assert!(text.contains("it reads j, which `l1` may make anew"), "{text}");
    assert!(text.contains("it reads k, which `g/l2` may make anew"), "{text}");
    assert!(text.contains("it reads l, which `l3` may make anew"), "{text}");
}
