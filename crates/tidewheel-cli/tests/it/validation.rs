//! `tidewheel validate` and `plan`: what is printed about flow files, exit codes, and nothing run.
//!
//! Which problems there are is tested in `tidewheel-flow`, `tests/it/validation.rs`.

use std::process::{Command, Output, Stdio};

use crate::common::{Scratch, stderr, stdout};
use serde_json::{Value, json};

fn validate(scratch: &Scratch, text: &str, more: &[&str]) -> Output {
    scratch.file("bad.yaml", text);
    let mut arguments = vec!["validate", "bad.yaml"];
    arguments.extend(more);
    scratch.run(&arguments)
}

fn problems(scratch: &Scratch, text: &str) -> (Value, Option<i32>) {
    let output = validate(scratch, text, &["--format", "json"]);
    assert_eq!(stderr(&output), "", "{text}");
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

#[test]
fn problems_are_printed_with_their_places_and_exit_code_3() {
    let scratch = Scratch::new("validate-problems");
    let text = "flow:\n  - { name: a, run: x, tiemout: 3s }\n  - { name: b, run: x, depends_on: [nope] }\n";
    let (value, exit) = problems(&scratch, text);
    assert_eq!((exit, &value["valid"]), (Some(3), &json!(false)));
    let problem = &value["problems"][0];
    assert_eq!((&problem["file"], &problem["code"]), (&json!("bad.yaml"), &json!("unknown-key")));
    assert_eq!((&problem["line"], &problem["column"]), (&json!(2), &json!(24)));
    assert!(problem["hint"].as_str().unwrap().contains("`timeout`"), "{problem}");
    for arguments in [&["validate", "bad.yaml"][..], &["run", "bad.yaml"], &["plan", "bad.yaml"]] {
        let output = scratch.run(arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        let human = stderr(&output);
        assert!(human.starts_with("error[unknown-key]: "), "{human}");
        assert!(human.contains("--> bad.yaml:2:24\n"), "{human}");
        assert!(human.ends_with("error: the flow cannot be run: 2 problems\n"), "{human}");
    }
    let output = scratch.run(&["validate", "nowhere.yaml"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("error[unreadable]: nowhere.yaml: cannot be read"));
}

#[test]
fn warnings_are_printed_and_are_errors_only_if_strict() {
    let scratch = Scratch::new("validate-strict");
    let text = "params: { n: 3.10 }\nflow: []\n";
    let (value, exit) = problems(&scratch, text);
    assert_eq!((exit, &value["valid"]), (Some(0), &json!(true)));
    let output = validate(&scratch, text, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).starts_with("warning[yaml-trailing-zero]: "), "{}", stderr(&output));
    let output = validate(&scratch, text, &["--strict"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn nothing_is_run() {
    let scratch = Scratch::new("validate-runs");
    scratch.file(
        "flow.yaml",
        "
secrets: { s: { command: [touch, ran] } }
params: { p: x }
flow:
  - { name: a, run: touch ran }
  - { name: b, source: { type: process, configuration: { command: [touch, ran] } } }
  - { name: c, when: \"{{ params.p == 'x' }}\", argv: [touch, ran] }
  - { name: d, http: 'http://127.0.0.1:1/' }
schedule: '* * * * *'
",
    );
    for arguments in [
        &["validate", "flow.yaml"][..],
        &["validate", "flow.yaml", "--format", "json"],
        &["plan", "flow.yaml"],
        &["graph", "flow.yaml"],
        &["run", "flow.yaml", "--dry-run"],
    ] {
        let output = scratch.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?} {}", stderr(&output));
        assert!(!scratch.path("ran").exists(), "{arguments:?}");
    }
    let (value, _) = problems(&scratch, "name: n\nflow: [{ name: a, run: x }]\n");
    assert_eq!(value, json!({ "valid": true, "flow": "n", "steps": 1, "problems": [] }));
}

#[test]
fn plans_and_pictures_need_no_params_and_say_what_is_not_known() {
    let scratch = Scratch::new("plan-unknown");
    scratch.file(
        "flow.yaml",
        "params: { hosts: { type: list } }
flow:
  - { name: list, run: ls, outputs: { files: '{{ stdout | lines }}' } }
  - { name: scan, foreach: '{{ flows.list.files }}', argv: [scan, '{{ item }}'] }
  - { name: ping, foreach: '{{ params.hosts }}', argv: [ping, '{{ item }}'] }
",
    );
    let output = scratch.run(&["plan", "flow.yaml"]);
    let text = stdout(&output);
    assert!(text.starts_with("flow: at least 4 steps, 4 at once at most\n"), "{text}");
    for line in [
        "scan[*]: one for each element of {{ flows.list.files }}, known when the run gets there",
        "ping[*]: one for each element of {{ params.hosts }}, known with --param hosts=…",
    ] {
        assert!(text.lines().any(|known| known == line), "{text}");
    }
    let plan = scratch.json(&["plan", "flow.yaml"]);
    assert_eq!(plan["complete"], false);
    let unknown = json!([
        { "step": "scan", "elements_of": "{{ flows.list.files }}", "params": [] },
        { "step": "ping", "elements_of": "{{ params.hosts }}", "params": ["hosts"] },
    ]);
    assert_eq!(plan["unknown"], unknown);
    let many = |plan: &Value| -> Vec<String> {
        let steps = plan["steps"].as_array().unwrap().iter();
        let many = steps.filter(|step| step["many"] == true);
        many.map(|step| step["step"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(many(&plan), ["ping[*]", "scan[*]"]);
    let said = scratch.json(&["plan", "flow.yaml", "--param", "hosts=[\"a\", \"b\"]"]);
    assert_eq!(many(&said), ["scan[*]"]);
    let graph = scratch.json(&["graph", "flow.yaml"]);
    let each = graph["steps"].as_array().unwrap().iter().find(|step| step["name"] == "ping[*]");
    assert_eq!(each.unwrap()["shape"], "more");
    // A run needs them.
    let output = scratch.run(&["run", "flow.yaml", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn plans_count_in_words_that_fit() {
    let scratch = Scratch::new("plan-count");
    scratch.file("one.yaml", "runner: { max_workers: 1 }\nflow: [{ name: a, run: x }]\n");
    let text = stdout(&scratch.run(&["plan", "one.yaml"]));
    assert!(text.starts_with("one: 1 step, 1 at once at most (of 1 worker)\n"), "{text}");
}

#[test]
fn the_formats_of_graph_are_its_own() {
    let scratch = Scratch::new("graph-formats");
    scratch.file("one.yaml", "flow: [{ name: a, run: x }]\n");
    let listed = "[possible values: text, svg, dot, mermaid, json]";
    let help = stdout(&scratch.run(&["graph", "-h"]));
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains(listed), "{help}");
    let output = scratch.run(&["graph", "one.yaml", "--format", "png"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(listed), "{}", stderr(&output));
    assert!(!stdout(&scratch.run(&["plan", "-h"])).contains("svg"));
    // Before the command and behind it, it means the same.
    for arguments in
        [["graph", "one.yaml", "--format", "dot"], ["--format", "dot", "graph", "one.yaml"]]
    {
        assert!(stdout(&scratch.run(&arguments)).starts_with("digraph "), "{arguments:?}");
    }
    for arguments in [&["graph", "one.yaml"][..], &["graph", "one.yaml", "--format", "human"]] {
        assert!(stdout(&scratch.run(arguments)).starts_with("one\n"), "{arguments:?}");
    }
}

// Hostile files

/// Runs a command with 512 MiB of address space and a minute of time.
fn bounded(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command
        .args(["60", "sh", "-c", "ulimit -v 524288; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_tidewheel"))
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("TIDEWHEEL_DATA", scratch.data())
        .current_dir(scratch.path(""))
        .stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn hostile_files_are_refused_in_bounded_memory() {
    let scratch = Scratch::new("hostile");
    let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let before = format!("*a{}", level - 1);
        aliases += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
    }
    let control = "flow:\n  - { name: \"x\\e[31m\\a\", run: x }\n".to_owned();
    for (code, text) in [
        ("yaml-alias-expansion", aliases),
        ("yaml-too-deep", format!("flow: {}", "[".repeat(100_000))),
        ("bad-name", control),
    ] {
        scratch.file("bad.yaml", &text);
        let output = bounded(&scratch, &["validate", "bad.yaml"]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.starts_with(&format!("error[{code}]: ")), "{error}");
        assert!(!error.chars().any(|letter| letter.is_control() && letter != '\n'), "{error:?}");
    }
    let output = bounded(&scratch, &["validate", "/dev/zero"]);
    assert!(stderr(&output).contains("error[too-large]: /dev/zero"), "{}", stderr(&output));
}

#[test]
fn the_name_of_a_flow_is_cleaned_too() {
    let scratch = Scratch::new("hostile-flow-name");
    let output = validate(&scratch, "name: \"x\\e[31m\\a\"\nflow: []\n", &[]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(!text.trim_end().chars().any(char::is_control), "{text:?}");
}

#[test]
fn templates_that_would_build_too_much_fail_their_step_only() {
    let scratch = Scratch::new("hostile-bombs");
    let bombs = [
        "{{ 'a' * 1000000000 }}",
        "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
        "{{ range(1000000000) | list | length }}",
        "{{ 10 ** 100000000 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ 'x' | indent(1000000000) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ [1, 2, 3] * 1000000000 }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        "{{ 'a' | replace('', 'b' * 1000000) * 1000000 }}",
        "{{ 'ab'.join(['x' * 100000] * 100000) }}",
    ];
    let mut text =
        "runner: { on_error: skip }\nflow:\n  - { name: well, argv: [echo, hi] }\n".to_owned();
    for (number, bomb) in bombs.iter().enumerate() {
        text += &format!("  - {{ name: b{number}, argv: [touch, ran, \"{bomb}\"] }}\n");
    }
    std::fs::write(scratch.path("bad.yaml"), &text).unwrap();
    let output = bounded(&scratch, &["run", "bad.yaml", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["steps"]["well"]["state"], "succeeded");
    for (number, bomb) in bombs.iter().enumerate() {
        let step = &result["steps"][format!("b{number}")];
        assert_eq!(step["state"], "failed", "{bomb}: {step}");
        let error = step["error"].as_str().unwrap();
        assert!(error.starts_with("argv[2]: "), "{bomb}: {error}");
    }
    assert!(!scratch.path("ran").exists());
}

#[test]
fn values_that_begin_with_a_dash_choose_no_options() {
    let scratch = Scratch::new("hostile-options");
    scratch.file(
        "flow.yaml",
        "params: { p: '--help', n: -5 }
secrets: { s: { env: TEST_SECRET } }
runner: { on_error: continue }
flow:
  - { name: refused, argv: [touch, '{{ params.p }}'] }
  - { name: input, argv: [touch], input: '{{ params.p }}' }
  - { name: secret, argv: [touch, '{{ secrets.s }}'] }
  - { name: marked, argv: [touch, --, '{{ params.p }}'] }
  - { name: joined, argv: [echo, 'x{{ params.p }}'] }
  - { name: number, argv: [echo, '{{ params.n }}'], outputs: { text: '{{ stdout | trim }}' } }
  - { name: allowed, argv: [touch, '{{ params.p }}'], allow_options: true }
",
    );
    let mut command = scratch.command(&["run", "flow.yaml", "--format", "json"]);
    let output = command.env("TEST_SECRET", "-secret-of-the-test").output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (step, state) in [
        ("refused", "failed"),
        ("input", "failed"),
        ("secret", "failed"),
        ("marked", "succeeded"),
        ("joined", "succeeded"),
        ("number", "succeeded"),
        ("allowed", "succeeded"),
    ] {
        assert_eq!(result["steps"][step]["state"], state, "{step}: {result:#}");
    }
    let error = |step: &str| result["steps"][step]["error"].as_str().unwrap().to_owned();
    assert!(error("refused").starts_with("argv[1]: `--help` begins with a dash"));
    assert!(error("refused").contains("allow_options: true"), "{result:#}");
    assert!(error("input").starts_with("argv[1]: "), "{result:#}");
    assert!(error("secret").contains("`***`"), "{result:#}");
    assert_eq!(result["outputs"]["number"]["text"], "-5");
    assert!(scratch.path("--help").exists(), "that of `marked`");
}

#[test]
fn plans_use_the_settings_that_runs_do() {
    let scratch = Scratch::new("plan-settings");
    let file = scratch.file("flow.yaml", "flow: [{ name: a, run: 'true' }]\n");
    for arguments in [&["plan", &file][..], &["run", &file, "--dry-run"]] {
        let mut command = scratch.command(arguments);
        let output = command.args(["--format", "json"]).env("TIDEWHEEL_RUN_MAX_WORKERS", "2");
        let printed: serde_json::Value =
            serde_json::from_slice(&output.output().unwrap().stdout).unwrap();
        assert_eq!(printed["max_workers"], 2, "{arguments:?}");
    }
}
