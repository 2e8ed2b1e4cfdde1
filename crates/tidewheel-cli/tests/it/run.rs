//! `tidewheel run`: real flows, real processes.

use crate::common::{Scratch, is_alive, states, stderr, stdout, wait_until};
use serde_json::json;

#[test]
fn values_pass_from_step_to_step_and_keep_their_types() {
    let scratch = Scratch::new("run-values");
    let file = scratch.file(
        "flow.yaml",
        r#"
name: values
params: { who: world, count: 2 }
flow:
  - name: greet
    run: printf 'hello %s' "$WHO"
    env: { WHO: "{{ params.who }}" }
    outputs: { text: "{{ stdout }}" }
  - name: data
    run: echo '{"items":[1,2,3],"ok":true}'
    output:
      - { name: all, type: raw }
      - { name: items, type: jmespath, value: "json.items" }
  - name: sum
    argv: [sh, -c, 'echo "$1 $2"', sh, "{{ flows.greet.text | upper }}", "{{ flows.data.items | length }}"]
    outputs:
      line: "{{ stdout | trim }}"
      items: "{{ flows.data.items }}"
      count: "{{ params.count + 1 }}"
"#,
    );
    let result = scratch.json(&["run", &file, "--param", "who=moon", "--param", "count=4"]);
    assert_eq!(result["state"], "succeeded");
    assert_eq!(
        result["outputs"]["sum"],
        json!({ "line": "HELLO MOON 3", "items": [1, 2, 3], "count": 5 })
    );
    assert_eq!(result["outputs"]["data"]["all"]["json"]["ok"], true);
    let step = &result["steps"]["greet"];
    assert_eq!((&step["attempts"], &step["code"]), (&json!(1), &json!(0)));
}

#[test]
fn a_value_never_becomes_shell_text() {
    let scratch = Scratch::new("run-injection");
    let payload = "$(touch pwned); `touch pwned` && touch pwned | '\"; touch pwned";
    let file = scratch.file(
        "flow.yaml",
        r#"
params: { text: "" }
flow:
  - name: say
    run: printf '%s' "$TEXT"
    env: { TEXT: "{{ params.text }}" }
    outputs: { text: "{{ stdout }}" }
  - name: pass
    argv: [printf, "%s", "{{ flows.say.text }}"]
    outputs: { text: "{{ stdout }}" }
  - name: feed
    run: cat
    stdin: "{{ flows.pass.text }}"
    outputs: { text: "{{ stdout }}" }
"#,
    );
    let result = scratch.json(&["run", &file, "--param", &format!("text={payload}")]);
    assert_eq!(result["outputs"]["feed"]["text"], payload);
    assert!(!scratch.path("pwned").exists());
    let output = scratch.run(&[
        "validate",
        &scratch.file("bad.yaml", "flow: [{ name: a, run: 'echo {{ params.x }}' }]"),
    ]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("env: { VALUE:"), "{}", stderr(&output));
}

#[test]
fn a_failed_step_is_tried_again_and_then_fails_the_run() {
    let scratch = Scratch::new("run-retry");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: flaky
    run: test "$TIDEWHEEL_ATTEMPT" -eq 3
    retry: { attempts: 3, delay: 10ms }
  - name: broken
    depends_on: flaky
    run: echo out; echo why >&2; exit 7
    retry: { attempts: 2, delay: 10ms }
  - name: after
    depends_on: [broken]
    run: touch never
"#,
    );
    let output = scratch.run(&["run", &file, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["state"], "failed");
    assert_eq!(result["steps"]["flaky"]["attempts"], 3);
    let broken = &result["steps"]["broken"];
    assert_eq!((&broken["attempts"], &broken["code"]), (&json!(2), &json!(7)));
    assert_eq!(broken["error"], "exit code 7: why");
    assert_eq!(result["steps"]["after"]["state"], "skipped");
    assert!(!scratch.path("never").exists());
    let logs = scratch.run(&["logs", "last", "broken"]);
    assert_eq!((stdout(&logs), stderr(&logs)), ("out\n".to_owned(), "why\n".to_owned()));
}

#[test]
fn a_tolerated_failure_leaves_the_run_well() {
    let scratch = Scratch::new("run-tolerated");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: optional, run: exit 1, on_error: continue }
  - { name: after, depends_on: [optional], run: 'true' }
",
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(result["state"], "succeeded");
    let expected = [("after", "succeeded"), ("optional", "failed")];
    assert_eq!(states(&result), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn a_step_runs_for_each_element_and_gathers_what_they_leave() {
    let scratch = Scratch::new("run-foreach");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: list
    run: echo '["a","b","c"]'
    outputs: { names: "{{ json }}" }
  - name: each
    foreach: { in: "{{ flows.list.names }}", as: name, parallel: 2 }
    run: echo "$NAME$INDEX"
    env: { NAME: "{{ name }}", INDEX: "{{ index }}" }
    outputs: { text: "{{ stdout | trim }}" }
  - name: grid
    matrix: { os: [linux, mac], version: [1, 2] }
    run: echo "$OS-$V"
    env: { OS: "{{ matrix.os }}", V: "{{ matrix.version }}" }
    outputs: { text: "{{ stdout | trim }}" }
  - name: none
    foreach: []
    run: touch never
    outputs: { text: "{{ stdout }}" }
  - name: join
    run: echo "$ALL"
    env: { ALL: "{{ flows.each.text | join(',') }} {{ flows.grid.text | join(',') }} {{ flows.none.text }}" }
    outputs: { text: "{{ stdout | trim }}" }
"#,
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(result["outputs"]["each"]["text"], json!(["a0", "b1", "c2"]));
    assert_eq!(result["outputs"]["join"]["text"], "a0,b1,c2 linux-1,linux-2,mac-1,mac-2 []");
    assert!(!scratch.path("never").exists());
}

#[test]
fn a_flow_can_call_another_for_each_element() {
    let scratch = Scratch::new("run-child");
    scratch.file(
        "child.yaml",
        r#"
name: child
params: { n: { type: int } }
flow:
  - name: double
    run: echo $((N * 2))
    env: { N: "{{ params.n }}" }
    outputs: { n: "{{ json }}" }
  - name: again
    run: echo $((N + 1))
    env: { N: "{{ flows.double.n }}" }
    outputs: { n: "{{ json }}" }
"#,
    );
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: one
    flow: child.yaml
    with: { n: 5 }
  - name: many
    foreach: "{{ [flows.one.again.n, 20] }}"
    flow: child.yaml
    with: { n: "{{ item }}" }
  - name: end
    argv: [echo, "{{ flows.many.again }}"]
    outputs: { text: "{{ stdout | trim }}" }
"#,
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(result["outputs"]["one"]["again"]["n"], 11);
    assert_eq!(result["outputs"]["end"]["text"], r#"[{"n": 23}, {"n": 41}]"#);
    assert_eq!(result["steps"]["many[1]/double"]["state"], "succeeded");
}

#[test]
fn a_step_with_unchanged_inputs_is_not_done_again() {
    let scratch = Scratch::new("run-cache");
    scratch.file("in.txt", "1");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: build
    run: echo run >> count; cat in.txt > out.txt; cat in.txt
    cache: { inputs: ["*.txt"], outputs: [made] }
    outputs: { text: "{{ stdout }}" }
  - name: compile
    run: echo run >> compiled; touch made; cat in.txt
    cache: { inputs: [in.txt], outputs: [made] }
    outputs: { text: "{{ stdout }}" }
"#,
    );
    scratch.json(&["run", &file, "--only", "compile"]);
    let again = scratch.json(&["run", &file, "--only", "compile"]);
    assert_eq!(again["steps"]["compile"]["reason"], "cached");
    assert_eq!(again["outputs"]["compile"]["text"], "1");
    assert_eq!(scratch.read("compiled"), "run\n");
    scratch.file("in.txt", "2");
    let changed = scratch.json(&["run", &file, "--only", "compile"]);
    assert_eq!(changed["outputs"]["compile"]["text"], "2");
    std::fs::remove_file(scratch.path("made")).unwrap();
    scratch.json(&["run", &file, "--only", "compile"]);
    assert_eq!(scratch.read("compiled"), "run\nrun\nrun\n");
}

#[test]
fn secrets_reach_processes_and_nothing_else() {
    let scratch = Scratch::new("run-secrets");
    scratch.file("token", "s3cr3t-value\n");
    let file = scratch.file(
        "flow.yaml",
        r#"
secrets: { token: { file: token } }
flow:
  - name: use
    run: echo "token is $TOKEN"; test "${#TOKEN}" -eq 12
    env: { TOKEN: "{{ secrets.token }}" }
  - name: leak
    run: echo "$TOKEN"
    env: { TOKEN: "{{ secrets.token }}" }
    outputs: { text: "{{ stdout }}" }
    on_error: continue
"#,
    );
    let result = scratch.json(&["run", &file]);
    assert_eq!(result["steps"]["use"]["state"], "succeeded");
    assert!(result["steps"]["leak"]["error"].as_str().unwrap().contains("holds a secret"));
    let logs = stdout(&scratch.run(&["logs", "last", "use"]));
    assert!(logs.starts_with("token is ") && !logs.contains("s3cr3t"), "{logs}");
    let mut grep = std::process::Command::new("grep");
    grep.args(["-rla", "s3cr3t"]).arg(scratch.data());
    assert_eq!(stdout(&grep.output().unwrap()), "");
}

#[test]
fn ctrl_c_lets_running_steps_finish_and_a_second_one_ends_them() {
    let scratch = Scratch::new("run-signal");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - name: work
    run: touch started; while [ ! -e go ]; do sleep 0.02; done; touch finished
  - { name: next, depends_on: [work], run: touch never }
",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("INT");
    let state = || scratch.json(&["show", "last"])["steps"]["next"]["state"].clone();
    wait_until("the next step is cancelled", || state() == "cancelled");
    scratch.file("go", "");
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(scratch.path("finished").exists() && !scratch.path("never").exists());
    assert_eq!(scratch.json(&["show", "last"])["state"], "cancelled");

    std::fs::remove_file(scratch.path("go")).unwrap();
    std::fs::remove_file(scratch.path("started")).unwrap();
    std::fs::remove_file(scratch.path("finished")).unwrap();
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("INT");
    // Two signals that come at once are one.
    wait_until("the next step is cancelled", || state() == "cancelled");
    running.signal("INT");
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(!scratch.path("finished").exists());
}

#[test]
fn a_killed_run_is_resumed_without_doing_again_what_was_done() {
    let scratch = Scratch::new("run-resume");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: first
    run: echo first >> ledger; echo 41
    outputs: { n: "{{ json }}" }
  - name: second
    run: echo $$ > pid; echo "second $N" >> ledger; touch started; while [ ! -e go ]; do sleep 0.02; done
    env: { N: "{{ flows.first.n + 1 }}" }
  - name: third
    depends_on: [second]
    run: echo third >> ledger
"#,
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("KILL");
    drop(running.output());
    assert_eq!(scratch.json(&["show", "last"])["state"], "interrupted");
    let pid = scratch.read("pid");
    scratch.file("go", "");
    let result = scratch.json(&["resume", "last"]);
    assert!(!is_alive(&pid), "the step of the killed run is gone");
    assert_eq!(result["state"], "succeeded");
    assert_eq!(scratch.read("ledger"), "first\nsecond 42\nsecond 42\nthird\n");
    let again = scratch.json(&["resume", "last"]);
    assert_eq!(again["state"], "succeeded");
    assert_eq!(scratch.read("ledger").lines().count(), 4);
}

#[test]
fn a_changed_flow_is_not_resumed() {
    let scratch = Scratch::new("run-changed");
    let text = "flow: [{ name: a, run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }]";
    let file = scratch.file("flow.yaml", text);
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("KILL");
    drop(running.output());
    scratch.file("flow.yaml", "flow: [{ name: a, run: 'true' }]");
    let output = scratch.run(&["resume", "last"]);
    assert_eq!(output.status.code(), Some(6));
    let error = stderr(&output);
    assert!(
        error.contains("- flow: [{ name: a, run: 'touch") && error.contains("+ flow:"),
        "{error}"
    );
    let output = scratch.run(&["resume", "last", "--format", "json"]);
    let printed: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    let change = &printed["error"]["changes"][0]["change"];
    assert!(change.as_str().unwrap().contains("+ flow:"), "{printed}");
    scratch.file("go", "");
    // Other comments are no change.
    scratch.file("flow.yaml", &format!("# Why.\n{text}\n"));
    assert_eq!(scratch.json(&["resume", "last"])["state"], "succeeded");
}

#[test]
fn a_run_goes_on_as_it_was_started_if_told_to() {
    let scratch = Scratch::new("run-as-started");
    let text = "flow: [{ name: a, run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }]";
    let file = scratch.file("flow.yaml", text);
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("KILL");
    drop(running.output());
    scratch.file("flow.yaml", "flow: [{ name: a, run: 'false' }]");
    scratch.file("go", "");
    assert_eq!(scratch.json(&["resume", "last", "--as-started"])["state"], "succeeded");
}

#[test]
fn a_failed_run_is_retried_with_what_succeeded_reused() {
    let scratch = Scratch::new("run-again");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - name: first
    run: echo first >> ledger; echo 1
    outputs: { n: "{{ json }}" }
  - name: each
    foreach: "{{ [flows.first.n, 2] }}"
    run: 'echo "each $N" >> ledger; test "$N" = 1 || test -e fixed'
    env: { N: "{{ item }}" }
    outputs: { n: "{{ index }}" }
  - name: last
    run: echo "last $N" >> ledger
    env: { N: "{{ flows.each.n }} {{ flows.first.n }}" }
"#,
    );
    assert_eq!(scratch.run(&["run", &file, "-q"]).status.code(), Some(1));
    let preview = scratch.json(&["retry", "last", "--dry-run"]);
    assert!(preview["reused"].as_array().unwrap().contains(&json!("first")));
    assert!(preview["run_again"].as_array().unwrap().contains(&json!("last")));
    scratch.file("fixed", "");
    let result = scratch.json(&["retry", "last"]);
    assert_eq!(result["state"], "succeeded");
    assert_eq!(result["outputs"]["first"]["n"], 1);
    assert_eq!(result["steps"]["first"]["reason"], "reused");
    let mut lines: Vec<String> = scratch.read("ledger").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["each 1", "each 2", "each 2", "first", "last [0, 1] 1"]);
    let result = scratch.json(&["retry", "last", "--from", "last"]);
    assert_eq!(result["state"], "succeeded");
    assert_eq!(scratch.read("ledger").lines().count(), 6);
}

#[test]
fn a_run_is_retried_by_one_at_a_time_and_what_is_passed_over_is_called_so() {
    let scratch = Scratch::new("run-retries");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: flaky, run: 'false' }
  - { name: after, depends_on: [flaky], run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }
",
    );
    assert_eq!(scratch.run(&["run", &file, "-q"]).status.code(), Some(1));
    let failed = scratch.json(&["show", "last"])["run_id"].as_str().unwrap().to_owned();
    let preview = scratch.json(&["retry", &failed, "--skip", "flaky", "--dry-run"]);
    assert_eq!((&preview["reused"], &preview["passed_over"]), (&json!([]), &json!(["flaky"])));
    let first = scratch.start(&["retry", &failed, "--skip", "flaky"]);
    scratch.wait_for("started");
    let second = scratch.run(&["retry", &failed, "--skip", "flaky"]);
    let running = scratch.json(&["show", "last"])["run_id"].as_str().unwrap().to_owned();
    assert_eq!(second.status.code(), Some(5), "{}", stderr(&second));
    let said = format!("run {failed} is being retried by run {running}, which has not ended");
    assert!(stderr(&second).contains(&said), "{}", stderr(&second));
    scratch.file("go", "");
    let first = first.output();
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(stderr(&first).contains("passed over: flaky"), "{}", stderr(&first));
    let shown = scratch.json(&["show", &running]);
    assert_eq!(shown["steps"]["flaky"]["reason"], "passed over");
    // That one has ended, so another may follow.
    assert_eq!(scratch.run(&["retry", &failed, "--skip", "flaky"]).status.code(), Some(0));
}

#[test]
fn a_run_is_paused_resumed_and_cancelled_from_another_process() {
    let scratch = Scratch::new("run-steer");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: a, run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: b, depends_on: [a], run: 'touch b; while [ ! -e never ]; do sleep 0.02; done' }
",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    scratch.json(&["pause", "last"]);
    let state = || scratch.json(&["runs"])["runs"][0]["state"].clone();
    wait_until("it is paused", || state() == "paused");
    scratch.file("go", "");
    let ended = || scratch.json(&["show", "last"])["steps"]["a"]["state"].clone();
    wait_until("the first step has ended", || ended() == "succeeded");
    assert!(!scratch.path("b").exists());
    let why = scratch.json(&["explain", "last", "b"]);
    assert_eq!(why["steps"][0]["why"], "the run is paused");
    scratch.json(&["resume", "last"]);
    scratch.wait_for("b");
    scratch.json(&["cancel", "last", "--grace", "0s"]);
    let output = running.output();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(scratch.json(&["show", "last"])["steps"]["b"]["state"], "cancelled");
}

#[test]
fn a_step_waits_for_a_file_and_for_somebody() {
    let scratch = Scratch::new("run-wait");
    let file = scratch.file(
        "flow.yaml",
        r#"
runner: { max_workers: 1 }
flow:
  - { name: file, wait: { file: ready, every: 50ms } }
  - { name: ask, wait: { approval: "go?", every: 50ms }, output: [{ name: answer }] }
  - { name: short, wait: 10ms }
  - { name: other, run: touch other }
  - { name: end, depends_on: [file, ask, short], run: 'true' }
"#,
    );
    let running = scratch.start(&["run", &file, "--format", "json"]);
    // Waiting holds no slot, so the only one is free.
    scratch.wait_for("other");
    assert_eq!(scratch.run(&["approve", "last", "other"]).status.code(), Some(2));
    scratch.json(&["approve", "last", "ask", "--by", "ann", "--note", "fine"]);
    assert_eq!(scratch.run(&["approve", "last", "ask"]).status.code(), Some(5));
    scratch.file("ready", "");
    let output = running.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["outputs"]["ask"]["answer"], json!({ "by": "ann", "note": "fine" }));
}

#[test]
fn results_are_written_whole_and_only_outputs_on_request() {
    let scratch = Scratch::new("run-output");
    let file = scratch.file(
        "flow.yaml",
        "flow: [{ name: a, run: echo hi, outputs: { t: '{{ stdout }}' } }, { name: b, run: 'true' }]",
    );
    let target = scratch.path("out.json");
    let output = scratch.run(&["run", &file, "-q", "--outputs", "-o", target.to_str().unwrap()]);
    assert_eq!(
        (output.status.code(), stdout(&output), stderr(&output)),
        (Some(0), "".into(), "".into())
    );
    let written: serde_json::Value = serde_json::from_str(&scratch.read("out.json")).unwrap();
    assert_eq!(written, json!({ "a": { "t": "hi\n" }, "b": {} }));
}

#[test]
fn only_a_part_runs_with_what_others_left_before() {
    let scratch = Scratch::new("run-only");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: a, run: echo a >> ledger; echo 1, outputs: { n: "{{ json }}" } }
  - { name: b, run: echo "b $N" >> ledger, env: { N: "{{ flows.a.n }}" } }
  - { name: c, depends_on: [b], run: echo c >> ledger }
"#,
    );
    scratch.json(&["run", &file]);
    scratch.json(&["run", &file, "--only", "b"]);
    assert_eq!(scratch.read("ledger"), "a\nb 1\nc\nb 1\n");
    scratch.json(&["run", &file, "--from", "b"]);
    assert_eq!(scratch.read("ledger"), "a\nb 1\nc\nb 1\nb 1\nc\n");
    // What a step left that is another now is not used.
    let changed = scratch.read("flow.yaml").replace("echo 1,", "echo 2,");
    scratch.file("flow.yaml", &changed);
    let output = scratch.run(&["run", &file, "--only", "b"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("nothing of `a` can be reused; --from 'a' runs it too"), "{text}");
    let output = scratch.run(&["run", &file, "--only", "bb"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `b`?"));
}

#[test]
fn runs_share_a_data_folder_and_ctrl_c_ends_only_its_own() {
    let scratch = Scratch::new("run-many");
    let flow = |name: &str| {
        let text = format!(
            "
flow:
  - {{ name: a, run: 'touch {name}-started; while [ ! -e go ]; do sleep 0.02; done' }}
  - {{ name: b, depends_on: [a], run: 'true' }}
"
        );
        scratch.file(&format!("{name}.yaml"), &text)
    };
    let files: Vec<String> = (0..4).map(|number| flow(&format!("f{number}"))).collect();
    let runs: Vec<_> = files.iter().map(|file| scratch.start(&["run", file])).collect();
    for number in 0..4 {
        scratch.wait_for(&format!("f{number}-started"));
    }
    let mut runs = runs.into_iter();
    let first = runs.next().unwrap();
    first.signal("INT");
    // Two signals that come at once are one.
    let id = scratch.json(&["runs", "--flow", "f0"])["runs"][0]["run_id"].clone();
    let state = || scratch.json(&["show", id.as_str().unwrap()])["steps"]["b"]["state"].clone();
    wait_until("the next step is cancelled", || state() == "cancelled");
    first.signal("INT");
    assert_eq!(first.output().status.code(), Some(130));
    scratch.file("go", "");
    for run in runs {
        let output = run.output();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    assert_eq!(scratch.json(&["runs"])["runs"].as_array().unwrap().len(), 4);
}

#[test]
fn the_view_tells_every_step_by_its_name_once_and_the_end_last() {
    let scratch = Scratch::new("run-view");
    let file = scratch.file(
        "flow.yaml",
        r#"
name: quick
flow:
  - { name: l, source: { type: env, configuration: { vars: [PATH] } }, output: [{ name: r }] }
  - name: e
    foreach: "{{ [flows.l.r.PATH, 'b', 'c'] }}"
    source: { type: env, configuration: { vars: [PATH] } }
  - { name: never, when: "false", run: "true" }
"#,
    );
    let names = ["l", "e[]", "e[0]", "e[1]", "e[2]", "e", "never"];
    for _ in 0..20 {
        let output = scratch.run(&["run", &file]);
        assert_eq!(output.status.code(), Some(0));
        let text = stderr(&output);
        let words: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().skip(1).collect()).collect();
        for name in names {
            let is_of_step = |line: &&Vec<&str>| {
                line.get(1).is_some_and(|word| word.trim_end_matches(':') == name)
            };
            let of_step = words.iter().filter(is_of_step);
            let ends = of_step.filter(|line| ["succeeded", "skipped"].contains(&line[0])).count();
            assert_eq!(ends, 1, "{name}: {text}");
        }
        assert!(!text.contains("before"), "{text}");
        assert_eq!(words.last().unwrap()[1], "quick", "{text}");
    }
}

#[test]
fn what_steps_write_is_shown_under_their_names() {
    let scratch = Scratch::new("run-labels");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: l, source: { type: env, configuration: { vars: [PATH] } }, output: [{ name: r }] }
  - name: e
    foreach: "{{ [flows.l.r.PATH, 'b', 'c'] }}"
    run: echo "element $N"; printf 'end %s' "$N"
    env: { N: "{{ index }}" }
"#,
    );
    let output = scratch.run(&["run", &file, "--log-level", "debug"]);
    let text = stderr(&output);
    for number in 0..3 {
        for word in ["element", "end"] {
            let said = format!("{word} {number}");
            let line = text.lines().find(|line| line.ends_with(&said));
            let line = line.unwrap_or_else(|| panic!("{said}: {text}"));
            assert!(line.contains(&format!("e[{number}]")), "{line}");
        }
    }
}

#[test]
fn a_port_in_use_starts_nothing() {
    let scratch = Scratch::new("run-port");
    let file = scratch.file("flow.yaml", "flow: [{ name: a, run: touch started }]");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = scratch.run(&["run", &file, "--status-port", &port]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert_eq!(scratch.json(&["runs"])["runs"], json!([]));
    assert!(!scratch.path("started").exists());
}

#[test]
fn a_part_is_retried_as_a_part() {
    let scratch = Scratch::new("run-part");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: a, run: echo a >> ledger; echo 1, outputs: { n: "{{ json }}" } }
  - { name: b, run: echo "b $N" >> ledger; test -e fixed, env: { N: "{{ flows.a.n }}" } }
  - { name: c, depends_on: [b], run: echo c >> ledger }
"#,
    );
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(1));
    assert_eq!(scratch.run(&["run", &file, "--only", "b"]).status.code(), Some(1));
    let preview = scratch.json(&["retry", "last", "--dry-run"]);
    assert_eq!((&preview["run_again"], &preview["reused"]), (&json!(["b"]), &json!(["a"])));
    assert_eq!(scratch.run(&["retry", "last", "--from", "c"]).status.code(), Some(2));
    assert_eq!(scratch.run(&["retry", "last"]).status.code(), Some(1));
    scratch.file("fixed", "");
    let result = scratch.json(&["retry", "last"]);
    assert_eq!(states(&result), [("b".to_owned(), "succeeded".to_owned())]);
    assert_eq!(scratch.read("ledger"), "a\nb 1\nb 1\nb 1\nb 1\n");
}

#[test]
fn outputs_are_not_taken_from_another_flow_of_the_same_name() {
    let scratch = Scratch::new("run-same-name");
    let flow = |file: &str, number: u32| {
        let text = format!(
            "
name: same
flow:
  - {{ name: a, run: echo {number}, outputs: {{ n: '{{{{ json }}}}' }} }}
  - {{ name: b, run: 'echo \"b $N\" >> ledger', env: {{ N: '{{{{ flows.a.n }}}}' }} }}
"
        );
        scratch.file(file, &text)
    };
    let (one, two) = (flow("one.yaml", 1), flow("two.yaml", 2));
    scratch.json(&["run", &one, "--only", "a"]);
    assert_eq!(scratch.run(&["run", &two, "--only", "b"]).status.code(), Some(1));
    scratch.json(&["run", &two, "--only", "a"]);
    scratch.json(&["run", &one, "--only", "b"]);
    // The same file by another path.
    scratch.json(&["run", "./two.yaml", "--only", "b"]);
    assert_eq!(scratch.read("ledger"), "b 1\nb 2\n");

    let plan = scratch.json(&["run", &one, "--from", "b", "--dry-run"]);
    assert_eq!(plan["steps"].as_array().unwrap().len(), 1, "{plan}");
    assert_eq!(plan["steps"][0]["step"], "b");
    let output = scratch.run(&["run", &one, "--only", "bb", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `b`?"));
}

#[test]
fn long_logs_are_shown_to_their_end_and_followed_to_the_end_of_the_process() {
    let scratch = Scratch::new("run-long-logs");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: many, run: 'seq 200000' }
  - { name: hang, depends_on: [many], run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }
",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("KILL");
    drop(running.output());
    // It would go on for ever if the run were thought to be alive.
    let output = scratch.run(&["logs", "last", "-f"]);
    let text = stdout(&output);
    assert_eq!(text.lines().filter(|line| line.starts_with("many | ")).count(), 200_000);
    assert!(text.contains("\nmany | 200000\n"));
    scratch.file("go", "");
    let output = scratch.run(&["resume", "last"]);
    assert!(stderr(&output).contains("many"), "{}", stderr(&output));
    // The view reads to the end as well.
    let file = scratch.file("one.yaml", "flow: [{ name: many, run: 'seq 200000' }]");
    let output = scratch.run(&["run", &file, "--log-level", "debug"]);
    assert!(stderr(&output).lines().any(|line| line.ends_with(" 200000")));
}

#[test]
fn steps_of_called_flows_and_elements_are_approved_one_by_one() {
    let scratch = Scratch::new("run-approve");
    scratch.file("child.yaml", "flow: [{ name: ok, wait: { approval: 'go?', every: 50ms } }]");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: call, flow: child.yaml }
  - { name: each, foreach: [a, b], wait: { approval: 'go?', every: 50ms } }
  - { name: file, wait: { file: ready, every: 20ms } }
",
    );
    let running = scratch.start(&["run", &file, "--format", "json"]);
    let is_there = || scratch.run(&["show", "last"]).status.code() == Some(0);
    wait_until("the run is there", is_there);
    let output = scratch.run(&["approve", "last", "each"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("each[0], each[1]"), "{}", stderr(&output));
    for step in ["call/ok", "each[0]", "each[1]"] {
        scratch.json(&["approve", "last", step]);
    }
    // Looks are not attempts.
    let looks = || {
        let explained = scratch.json(&["show", "last"]);
        explained["steps"]["file"]["attempts"] == 1
    };
    wait_until("it was looked for the file", looks);
    scratch.file("ready", "");
    let output = running.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["steps"]["each[1]"]["attempts"], 1);
}

#[test]
fn looks_of_a_step_that_waits_are_not_attempts() {
    let scratch = Scratch::new("run-looks");
    let file = scratch.file(
        "flow.yaml",
        "
# The first look comes before the file is made: there is one slot.
runner: { max_workers: 1 }
flow:
  - { name: file, wait: { file: ready, every: 5ms } }
  - { name: make, run: touch ready }
",
    );
    let output = scratch.run(&["run", &file]);
    assert!(!stderr(&output).contains("attempt"), "{}", stderr(&output));
    assert_eq!(scratch.json(&["show", "last"])["steps"]["file"]["attempts"], 1);
}

#[test]
fn what_follows_a_called_flow_follows_it_again() {
    let scratch = Scratch::new("run-nested-hooks");
    scratch.file(
        "child.yaml",
        "
flow: [{ name: work, run: 'echo work >> ledger; test -e fixed' }]
on_failure: [{ name: note, run: echo note >> ledger }]
finally: [{ name: clean, run: echo clean >> ledger }]
",
    );
    scratch.file(
        "good.yaml",
        "
flow: [{ name: work, run: echo good >> good }]
finally: [{ name: clean, run: echo clean >> good }]
",
    );
    let file = scratch.file(
        "flow.yaml",
        "flow: [{ name: g, flow: good.yaml }, { name: c, depends_on: [g], flow: child.yaml }]",
    );
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(1));
    assert_eq!(scratch.run(&["retry", "last"]).status.code(), Some(1));
    let mut lines: Vec<String> = scratch.read("ledger").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["clean", "clean", "note", "note", "work", "work"]);
    scratch.file("fixed", "");
    scratch.json(&["retry", "last"]);
    assert_eq!(scratch.read("ledger").lines().skip(6).collect::<Vec<_>>(), ["work", "clean"]);
    // What went well is not called again, so nothing follows it again.
    assert_eq!(scratch.read("good"), "good\nclean\n");
}

#[test]
fn an_interrupted_run_is_resumed_after_a_pause_and_never_retried() {
    let scratch = Scratch::new("run-interrupted");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: a, run: 'echo a >> ledger; touch started; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: b, depends_on: [a], run: echo b >> ledger }
",
    );
    let running = scratch.start(&["run", &file, "--max-workers", "1"]);
    scratch.wait_for("started");
    running.signal("KILL");
    drop(running.output());
    let output = scratch.run(&["retry", "last"]);
    assert_eq!(output.status.code(), Some(5));
    let hints = stderr(&output);
    assert!(hints.contains("tidewheel resume") && hints.contains("tidewheel cancel"), "{hints}");
    // Nobody would follow it.
    let output = scratch.run(&["pause", "last"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(5), String::new()));
    assert!(stderr(&output).contains("does not run"), "{}", stderr(&output));
    scratch.file("go", "");
    let output = scratch.run(&["resume", "last"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(scratch.read("ledger"), "a\na\nb\n");
    // What was under way when it was taken over is told like everything else.
    let text = stderr(&output);
    let lines: Vec<&str> = text.lines().map(|line| &line[9..]).collect();
    assert!(lines.contains(&"started   a (attempt 2)"), "{text}");
    let ended = lines.iter().find(|line| line.starts_with("succeeded a (")).unwrap();
    assert!(ended.ends_with(" s, attempt 2)"), "{text}");
}

#[test]
fn a_run_is_resumed_with_more_workers_than_it_was_started_with() {
    let scratch = Scratch::new("run-more-workers");
    // Each waits for the other, so both must run at once.
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - { name: a, run: 'touch a-runs; while [ ! -e b-runs ]; do sleep 0.02; done' }
  - { name: b, run: 'touch b-runs; while [ ! -e a-runs ]; do sleep 0.02; done' }
",
    );
    let running = scratch.start(&["run", &file, "--max-workers", "1"]);
    scratch.wait_for("a-runs");
    running.signal("KILL");
    drop(running.output());
    let output = scratch.run(&["resume", "last", "--max-workers", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_failed_run_fails_even_if_nobody_reads_its_result() {
    let scratch = Scratch::new("run-closed");
    let file = scratch.file(
        "flow.yaml",
        "flow: [{ name: a, run: 'while [ ! -e go ]; do sleep 0.02; done; exit 1' }]",
    );
    let mut command = scratch.command(&["run", &file, "--format", "json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    scratch.file("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn changed_steps_and_what_follows_them_are_not_reused() {
    let scratch = Scratch::new("run-new-files");
    let flow = |b: &str, last: &str| {
        let text = format!(
            r#"
params: {{ suffix: x }}
flow:
  - {{ name: a, run: echo a >> ledger; echo 1, outputs: {{ n: "{{{{ json }}}}" }} }}
  - name: b
    run: echo b >> ledger; echo '{b}'
    outputs: {{ list: "{{{{ json }}}}" }}
  - name: each
    foreach: "{{{{ flows.b.list }}}}"
    run: echo "each $N" >> ledger
    env: {{ N: "{{{{ item }}}}" }}
  - name: last
    depends_on: [each, a]
    run: echo last >> ledger; {last}
"#
        );
        scratch.file("flow.yaml", &text)
    };
    flow("[1,2]", "exit 1");
    assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(1));
    let lines = |from: usize| {
        let mut lines: Vec<String> =
            scratch.read("ledger").lines().skip(from).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(0), ["a", "b", "each 1", "each 2", "last"]);
    flow("[3]", "exit 1");
    // From wherever it is said.
    let elsewhere = scratch.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let retry = |arguments: &[&str]| {
        let mut command = scratch.command(&["retry", "last", "--new-files"]);
        command.args(arguments).current_dir(&elsewhere).output().unwrap()
    };
    let output = retry(&["--dry-run", "--format", "json"]);
    let preview: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(preview["reused"], json!(["a"]), "{}", stderr(&output));
    assert_eq!(retry(&[]).status.code(), Some(1));
    assert_eq!(lines(5), ["b", "each 3", "last"]);
    flow("[3]", "true");
    let output = retry(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(lines(8), ["last"]);
}

#[test]
fn a_step_that_could_start_is_explained_by_what_holds_it() {
    let scratch = Scratch::new("run-explain");
    let wait = "while [ ! -e go ]; do sleep 0.02; done";
    let file = scratch.file(
        "flow.yaml",
        &format!(
            "
limits: {{ db: 1 }}
runner: {{ max_workers: 3 }}
flow:
  - {{ name: x, limits: [db], priority: 90, run: 'touch x; {wait}' }}
  - {{ name: y, limits: [db], run: 'true' }}
  - {{ name: each, foreach: {{ in: [1, 2], parallel: 1 }}, run: 'touch each; {wait}' }}
  - {{ name: z, run: 'touch z; {wait}' }}
  - {{ name: late, priority: 10, run: 'true' }}
"
        ),
    );
    let running = scratch.start(&["run", &file]);
    for name in ["x", "each", "z"] {
        scratch.wait_for(name);
    }
    let why = |step: &str| {
        let explained = scratch.json(&["explain", "last", step]);
        explained["steps"][0]["why"].as_str().unwrap().to_owned()
    };
    wait_until("three run", || why("late").contains("slots"));
    // As the scheduler of the other process says it.
    assert!(why("late").starts_with("all slots of the run are taken (3/3)"), "{}", why("late"));
    // `y`; the second element is not in the queue before it has a place in its group.
    assert!(why("late").ends_with("; 1 task is ahead of it"), "{}", why("late"));
    let held = "limit `db` has 1 of 1 in use, 1 needed, held by `x`";
    assert!(why("y").contains(held), "{}", why("y"));
    assert!(why("each[1]").contains("held by `each[0]`"), "{}", why("each[1]"));
    // The slots of the run are those of its process.
    assert_eq!(why("late").matches("slots").count(), 1, "{}", why("late"));
    scratch.file("go", "");
    assert_eq!(running.output().status.code(), Some(0));
}

#[test]
fn a_step_that_may_have_taken_effect_is_run_again_only_by_its_name() {
    let scratch = Scratch::new("run-unknown");
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - name: pay
    at_most_once: true
    run: echo paid >> ledger; touch started; while [ ! -e go ]; do sleep 0.02; done
",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("KILL");
    drop(running.output());
    let resumed = scratch.run(&["resume", "last"]);
    assert_eq!(resumed.status.code(), Some(1));
    let text = stderr(&resumed);
    assert!(text.contains("nobody can say whether it took effect"), "{text}");
    assert!(!text.contains("tidewheel retry"), "{text}");
    assert_eq!(scratch.json(&["show", "last"])["steps"]["pay"]["state"], "unknown");
    let refused = scratch.run(&["retry", "last"]);
    assert_eq!(refused.status.code(), Some(6));
    assert!(stderr(&refused).contains("--from pay"), "{}", stderr(&refused));
    let skipped = scratch.json(&["retry", "last", "--skip", "pay"]);
    assert_eq!(skipped["state"], "succeeded");
    assert_eq!(scratch.read("ledger"), "paid\n");
    scratch.file("go", "");
    let first = scratch.json(&["runs"])["runs"][1]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(scratch.json(&["retry", &first, "--from", "pay"])["state"], "succeeded");
    assert_eq!(scratch.read("ledger"), "paid\npaid\n");
}

#[test]
fn a_step_that_has_ended_is_explained_by_what_ended_it() {
    let scratch = Scratch::new("run-explain-ended");
    let file = scratch.file(
        "flow.yaml",
        "
runner: { on_error: continue }
flow:
  - { name: slow, run: sleep 600, timeout: 50ms }
  - { name: never, when: 'false', run: 'true' }
  - { name: broken, run: 'echo oops >&2; exit 3' }
  - { name: after, depends_on: [broken], on_dependency_error: skip, run: 'true' }
on_success:
  - { name: party, run: 'true' }
",
    );
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(1));
    let why = |step: &str| {
        let explained = scratch.json(&["explain", "last", step]);
        explained["steps"][0]["why"].as_str().unwrap().to_owned()
    };
    assert!(why("slow").starts_with("its time was over in its only attempt"), "{}", why("slow"));
    assert_eq!(why("never"), "its `when` did not hold");
    assert_eq!(why("party"), "it is done only if all of the flow went well");
    assert!(why("broken").contains("exit code 3"), "{}", why("broken"));
    assert_eq!(why("after"), "`broken` failed");
}

#[test]
fn a_run_that_nobody_runs_is_ended_without_doing_anything_of_it() {
    let scratch = Scratch::new("run-end-left");
    let file = scratch.file(
        "flow.yaml",
        "flow: [{ name: a, run: 'echo a >> ledger; touch started; while [ ! -e go ]; do sleep 0.02; done' }, { name: b, run: echo b >> ledger, depends_on: [a] }]",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("KILL");
    drop(running.output());
    scratch.file("go", "");
    scratch.json(&["cancel", "last"]);
    let result = scratch.json(&["show", "last"]);
    assert_eq!(result["state"], "cancelled");
    assert_eq!(result["steps"]["a"]["attempts"], 1, "nothing was started to be ended");
    assert_eq!(scratch.read("ledger"), "a\n");
    assert_eq!(scratch.run(&["resume", "last"]).status.code(), Some(5));
}

#[test]
fn a_step_that_waits_for_somebody_says_so_and_how_to_answer() {
    let scratch = Scratch::new("run-asks");
    let file = scratch.file(
        "flow.yaml",
        "flow: [{ name: ask, wait: { approval: 'Ship it?', every: 50ms } }, { name: other, run: touch other }]",
    );
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("other");
    let why = || scratch.json(&["explain", "last", "ask"])["steps"][0]["why"].to_string();
    // While it looks, it says that.
    let says =
        |why: &str| why.contains("for approval: Ship it?") && why.contains("tidewheel approve");
    wait_until("it says what it waits for, and how to answer", || says(&why()));
    scratch.json(&["approve", "last", "ask"]);
    assert_eq!(running.output().status.code(), Some(0));
}

#[test]
fn where_nothing_ran_yet_there_are_no_runs() {
    let scratch = Scratch::new("run-none");
    assert_eq!(scratch.json(&["runs"]), json!({ "runs": [] }));
    assert_eq!(stdout(&scratch.run(&["runs"])), "no runs yet\n");
    assert!(!scratch.data().exists());
}

#[test]
fn processes_are_bounded_by_the_scheduler_even_if_it_is_switched_off() {
    let scratch = Scratch::new("run-scheduler");
    // sleeps: the longer a step runs, the surer an overlap shows; nothing waits for it.
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - name: each
    foreach: [1, 2, 3, 4, 5, 6]
    run: mkdir alone || touch clash; sleep 0.02; rmdir alone
",
    );
    for enabled in ["true", "false"] {
        let mut command = scratch.command(&["run", &file]);
        command.env("TIDEWHEEL_SCHEDULER_MAX_CONCURRENCY", "1");
        command.env("TIDEWHEEL_SCHEDULER_ENABLED", enabled);
        assert_eq!(command.output().unwrap().status.code(), Some(0));
        assert!(!scratch.path("clash").exists(), "enabled = {enabled}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_known_before_anything_starts() {
    let scratch = Scratch::new("run-output");
    let file = scratch.file("flow.yaml", "flow: [{ name: a, run: touch started }]");
    let folder = scratch.path("");
    for path in ["missing/result.json", folder.to_str().unwrap()] {
        let output = scratch.run(&["run", &file, "-o", path]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("cannot be written"), "{}", stderr(&output));
    }
    assert!(!scratch.path("started").exists());
}

#[test]
fn a_result_that_is_lost_does_not_make_the_work_fail() {
    let scratch = Scratch::new("run-output-lost");
    std::fs::create_dir(scratch.path("results")).unwrap();
    let file = scratch.file("flow.yaml", "flow: [{ name: a, run: rmdir results }]");
    let output = scratch.run(&["run", &file, "-o", "results/result.json"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("has ended: succeeded"), "{}", stderr(&output));
    assert!(stderr(&output).contains("tidewheel show"), "{}", stderr(&output));
}

#[test]
fn what_a_retry_would_do_is_a_result_and_short() {
    let scratch = Scratch::new("run-retry-preview");
    let file = scratch.file(
        "flow.yaml",
        r#"
flow:
  - { name: e, foreach: "{{ range(12) }}", run: 'true' }
  - { name: broken, depends_on: [e], run: exit 1 }
"#,
    );
    assert_eq!(scratch.run(&["run", &file]).status.code(), Some(1));
    let output = scratch.run(&["retry", "last", "--dry-run"]);
    let text = stdout(&output);
    assert!(text.starts_with("run again: broken\nreused:    "), "{text}");
    assert!(text.contains("e[0..11]"), "{text}");
    assert_eq!(stderr(&output), "");
    for (step, hint) in [("brokn", "did you mean `broken`?"), ("e[3]", "part of step `e`")] {
        for word in ["--from", "--skip"] {
            let output = scratch.run(&["retry", "last", word, step]);
            assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
            assert!(stderr(&output).contains(hint), "{}", stderr(&output));
        }
    }
}
