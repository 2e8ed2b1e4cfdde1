//! Flows of Dagu, and what becomes of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::import;
use crate::import::Warning;

fn imported(text: &str) -> (Json, String, Vec<String>) {
    let parse = tidewheel_client::files::parse_yaml;
    let documents = text.split("---\n").map(|text| parse(text).unwrap()).collect();
    let imported = import(documents).unwrap();
    let path = PathBuf::from("flow.yaml");
    let texts = BTreeMap::from([(path.clone(), Arc::from(imported.text.as_str()))]);
    let loaded = tidewheel_client::files::FlowFiles::of_texts(&[path], &texts);
    assert!(loaded.runnable().is_ok(), "{}\n{}", imported.text, loaded.problems(false, 100));
    let warnings = imported.warnings.iter().map(Warning::to_string).collect();
    (parse(&imported.text).unwrap(), imported.text, warnings)
}

#[test]
fn steps_follow_each_other_unless_they_are_a_graph() {
    let after = |text: &str| {
        let (value, ..) = imported(text);
        let steps = value["flow"].as_array().unwrap();
        steps.iter().map(|step| step["depends_on"].clone()).collect::<Vec<_>>()
    };
    let steps =
        "steps: [{ command: a }, { name: b, command: b }, { name: c, command: c, depends: [] }]";
    assert_eq!(after(steps), [Json::Null, json!(["step-1"]), Json::Null]);
    assert_eq!(after(&format!("type: graph\n{steps}")), [Json::Null, Json::Null, Json::Null]);
    let beside =
        "steps: [a, [{ name: l, command: l }, { name: r, command: r }], { name: z, command: z }]";
    assert_eq!(after(beside)[3], json!(["l", "r"]));
    let named = "steps: { a: { command: a }, b: { command: b } }";
    assert_eq!(after(named), [Json::Null, json!(["a"])]);
}

#[test]
fn whoever_waits_for_the_run_before_is_kept_as_the_policy_says() {
    let policies = |word: &str| {
        let head = format!("schedule: '0 4 * * *'\noverlap_policy: {word}\ncatchup_window: 6h");
        let (value, ..) = imported(&format!("{head}\nsteps: [{{ name: a, command: a }}]"));
        ["overlap", "misfire"].map(|key| value["schedule"][0][key].clone())
    };
    assert_eq!(policies("latest"), ["queue-newest", "latest"]);
    assert_eq!(policies("all"), ["queue-all", "all"]);
}

#[test]
fn commands_are_texts_words_or_scripts() {
    let (value, _, warnings) = imported(
        "shell: bash\nsteps:\n  - { name: a, command: [echo, 'two words', $X] }\n  - { name: b, script: 'echo b' }
  - { name: c, command: ['echo a', 'echo b'] }\n  - { name: d, command: node, script: 'x()' }
  - { name: e, command: echo, stdout: out.txt, dir: \"${HOME}/x\" }",
    );
    let step = |place: usize| &value["flow"][place];
    assert_eq!(step(0)["run"], "echo \"two words\" \"$X\"");
    assert_eq!(step(0)["shell"], json!(["bash", "-e", "-c"]));
    assert_eq!(step(1)["run"], "echo b");
    assert_eq!(step(2)["run"], "echo a\necho b");
    assert_eq!((&step(3)["argv"], &step(3)["stdin"]), (&json!(["node", "-"]), &json!("x()")));
    assert_eq!(step(4)["run"], "exec 1>> \"out.txt\"\necho");
    assert_eq!(step(4)["cwd"], "{{ sources.ours.HOME }}/x");
    assert_eq!(warnings, Vec::<String>::new());
}

/// They are filled in before a shell reads the text, so quotes keep none of them from it.
#[test]
fn values_that_say_where_they_are_from_come_in() {
    let (value, _, warnings) = imported(
        "params: [{ name: n, default: 3 }]
env: [{ A: x }, { B: \"${env.A}/${params.n}-${run.id}\" }]
steps:
  - { id: a, command: 'echo v', output: { v: { from: stdout } } }
  - { id: b, run: \"echo '${steps.a.outputs.v} $A' \\\"${params.n}\\\" ${env.B} $B \\\\${params.n} ${context.dag.name}\" }
  - { id: c, exec: { command: echo, args: ['${params.n}', '${steps.a.outputs.v}'] }, working_dir: '${env.A}' }",
    );
    assert_eq!(value["env"]["B"], "x/{{ params.n }}-{{ run.id }}");
    let b = &value["flow"][1];
    let run = "echo ''\"${steps_a_outputs_v}\"' $A' \"${params_n}\" ${B} $B \\${params.n} ${context_dag_name}";
    assert_eq!(b["run"], run);
    let left = "{{ flows.a.v if flows.a.v is string else flows.a.v | tojson }}";
    let env = json!({
        "steps_a_outputs_v": left, "params_n": "{{ params.n }}", "context_dag_name": "{{ run.flow }}",
    });
    assert_eq!(b["env"], env);
    let c = &value["flow"][2];
    assert_eq!((&c["argv"], &c["cwd"]), (&json!(["echo", "{{ params.n }}", left]), &json!("x")));
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn a_value_from_nowhere_fails_who_asks_for_it() {
    let (value, _, warnings) = imported(
        "env: [{ B: \"${consts.BASE}/y\" }, { C: \"${B}/z\" }]
steps:
  - { id: a, command: \"rm -rf '${consts.BASE}'/${steps.no.outputs.v} $C\" }
  - { id: b, command: ls, working_dir: '${paths.work_dir}/x' }
  - { id: c, command: x, output: run }
  - { id: d, command: 'echo ${run.id}' }",
    );
    assert_eq!(value["env"], Json::Null);
    let run = "rm -rf ''\"${consts_BASE:?}\"''/${steps_no_outputs_v:?} ${C:?}";
    assert_eq!(value["flow"][0]["run"], run);
    assert_eq!(value["flow"][1]["cwd"], "{{ {}['paths.work_dir'] }}/x");
    // What the flow calls so is its own.
    assert_eq!(value["flow"][3]["env"], json!({ "run_id": "{{ (flows.c.run | fromjson).id }}" }));
    for lost in ["`B` fails", "`C` fails", "`${consts.BASE}`, so it fails", "`${paths.work_dir}`"] {
        assert!(warnings.iter().any(|it| it.contains(lost)), "{lost}: {warnings:?}");
    }
    assert_eq!(warnings.len(), 5, "{warnings:?}");
}

#[test]
fn a_variable_that_is_only_there_fails_who_asks_for_it() {
    let (value, _, warnings) = imported(
        "handler_on: { exit: 'echo $DAG_RUN_STATUS' }
steps:
  - { name: a, command: 'rm -rf $DAG_RUN_LOG_FILE/x $DAG_RUN_STEP_NAME ${DAG_RUN_ARTIFACTS_DIR:-x} $OWN' }
  - { name: b, command: 'ls $DAG_RUN_WORK_DIR $DAG_RUN_STATUS' }",
    );
    let step = |place: usize| &value["flow"][place];
    let run = "rm -rf ${DAG_RUN_LOG_FILE:?}/x $DAG_RUN_STEP_NAME ${DAG_RUN_ARTIFACTS_DIR:-x} $OWN";
    assert_eq!(step(0)["run"], run);
    assert_eq!(step(0)["env"], json!({ "DAG_RUN_STEP_NAME": "{{ run.step }}" }));
    assert_eq!(step(1)["run"], "ls $TIDEWHEEL_RUN_DIR ${DAG_RUN_STATUS:?}");
    let status = "{{ 'aborted' if run.state == 'cancelled' else run.state }}";
    assert_eq!(value["finally"][0]["env"], json!({ "DAG_RUN_STATUS": status }));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn values_in_a_program_that_is_no_shell_are_told() {
    let (value, _, warnings) = imported(
        "params: [{ name: n, default: 3 }]
steps:
  - { name: a, command: node, script: 'x(`${n} ${own}`)' }
  - { name: b, script: \"#!/usr/bin/env python3\\nprint('${params.n}')\" }",
    );
    assert_eq!(value["flow"][0]["stdin"], "x(`${n} ${own}`)");
    assert!(value["flow"][1]["run"].as_str().unwrap().ends_with("exit 1"));
    assert!(warnings[0].contains("`${n}` in a program that is no shell, where"), "{warnings:?}");
    assert!(warnings[1].contains("`${params.n}` in a program that is no shell, so it fails"));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn what_a_step_writes_to_its_file_is_left() {
    let (value, _, warnings) = imported(
        "steps:
  - { id: a, run: 'echo v=1 >> \"$DAGU_OUTPUT_FILE\"', outputs: [{ name: v }] }
  - { id: b, run: 'echo ${steps.a.outputs.v}' }
  - { id: c, run: 'echo 1', stdout: { outputs: { fields: { w: {} } } } }
  - { id: d, run: 'echo ${steps.c.outputs.w}' }",
    );
    let step = |place: usize| &value["flow"][place];
    assert_eq!(step(0)["run"], "echo v=1 >> \"$TIDEWHEEL_OUTPUT\"");
    assert_eq!(step(0)["outputs"], json!(["v"]));
    assert_eq!(step(1)["run"], "echo ${steps_a_outputs_v}");
    assert_eq!(step(3)["run"], "echo ${steps_c_outputs_w:?}");
    assert!(warnings[0].contains("`stdout: {"), "{warnings:?}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn secrets_come_from_where_they_are() {
    let (value, _, warnings) = imported(
        "secrets: [{ name: A, provider: env, key: MY_A }, { name: B, provider: file, key: b.txt }, { name: C, provider: vault, key: c }]
env: [{ D: \"x-$A\" }]
steps: ['echo $A $C']",
    );
    assert_eq!(value["secrets"], json!({ "A": { "env": "MY_A" }, "B": { "file": "b.txt" } }));
    let env = json!({
        "A": "{{ secrets.A }}", "B": "{{ secrets.B }}", "D": "x-{{ secrets.A }}",
    });
    assert_eq!(value["env"], env);
    assert_eq!(value["flow"][0]["run"], "echo $A ${C:?}");
    assert!(warnings[0].contains("so who asks for `C` fails"), "{warnings:?}");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn a_param_made_of_others_must_be_said() {
    let (value, _, warnings) = imported(
        "params: [{ A: 1 }, { B: '${A}-x' }, { name: C, eval: '`date`' }, { D: 'costs $5' }]\nsteps: [a]",
    );
    let text = json!({ "type": "text" });
    let params = json!({ "A": 1, "B": text, "C": text, "D": "costs $5" });
    assert_eq!(value["params"], params);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn the_order_of_steps_is_told_where_versions_differ() {
    let told = |head: &str| {
        let (_, text, warnings) = imported(&format!("{head}steps: [a, b]"));
        (text.contains("# Nothing says `type`"), warnings.len())
    };
    assert_eq!(
        [told(""), told("type: chain\n"), told("type: agent\n")],
        [(true, 0), (false, 0), (false, 1)]
    );
}

#[test]
fn params_by_place_are_arguments() {
    let (value, ..) =
        imported("params: \"one 'two three'\"\nsteps: [{ name: a, command: 'echo $1 ${2}' }]");
    assert_eq!(value["params"], json!({ "p1": "one", "p2": "two three" }));
    let argv = ["/bin/sh", "-ec", "echo $1 ${2}", "sh", "{{ params.p1 }}", "{{ params.p2 }}"];
    assert_eq!(value["flow"][0]["argv"], json!(argv));
}

#[test]
fn what_has_no_equal_is_a_comment_and_a_warning_and_never_a_success() {
    let (value, text, warnings) = imported(
        "smtp: { host: x }\nenv: { NOW: \"`date`\" }\nsteps:
  - { name: a, executor: { type: mail, config: { to: me } }, command: 'echo x', signalOnStop: SIGINT }
  - { name: b, command: b, continueOn: { exitCode: [3] }, repeatPolicy: { repeat: true, condition: x, backoff: 2 } }",
    );
    let run = value["flow"][0]["run"].as_str().unwrap();
    assert!(run.ends_with("exit 1"), "{run}");
    for lost in [
        "`smtp: ",
        "a command in a value: `date`",
        "type `mail`",
        "`signalOnStop: ",
        "`continue_on: ",
        "`repeat_policy: ",
    ] {
        assert!(warnings.iter().any(|warning| warning.contains(lost)), "{lost}: {warnings:?}");
    }
    assert_eq!(warnings.len(), 6, "{warnings:?}");
    assert_eq!(text.matches("# No equal").count(), 6, "{text}");
}

#[test]
fn requests_and_policies_are_ours() {
    let (value, ..) = imported(
        "steps:\n  - name: a\n    executor: http\n    command: POST https://x/y\n    script: '{\"headers\": {\"A\": \"b\"}, \"body\": \"z\", \"timeout\": 10}'
    retryPolicy: { limit: 2, intervalSec: 5, backoff: true }
    repeatPolicy: { repeat: true, limit: 4, intervalSec: 60 }",
    );
    let step = &value["flow"][0];
    let request = json!({ "url": "https://x/y", "method": "POST", "headers": { "A": "b" }, "body": "z", "timeout": 10 });
    assert_eq!(step["http"], request);
    assert_eq!(
        step["retry"],
        json!({ "retries": 2, "delay": "5s", "backoff": "exponential", "jitter": "none" })
    );
    assert_eq!(step["repeat"], json!({ "until": "round == 4", "every": "60s" }));
}

#[test]
fn containers_and_hosts_are_ours() {
    let (value, _, warnings) = imported(
        "params: TAG=3\nsteps:
  - name: a
    executor: { type: docker, config: { image: 'alpine:${TAG}', pull: false, autoRemove: true, host: { binds: ['.:/w'] }, container: { workingDir: /w } } }
    command: echo ${TAG}
  - { name: b, type: ssh, config: { user: me, ip: h1, port: '22', key: k, password: p }, command: uptime }",
    );
    let container = json!({ "image": "alpine:{{ params.TAG }}", "mounts": [".:/w"], "pull": "never", "workdir": "/w" });
    let step = &value["flow"][0];
    assert_eq!((&step["container"], &step["run"]), (&container, &json!("echo ${TAG}")));
    let host = json!({ "host": "h1", "user": "me", "port": 22, "identity": "k" });
    assert_eq!((&value["flow"][1]["ssh"], &value["flow"][1]["run"]), (&host, &json!("uptime")));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`password: "), "{warnings:?}");
}

#[test]
fn variables_know_those_before_them() {
    let (value, _, warnings) = imported(
        "env: [{ OUT: /tmp/x }, { FULL: '${OUT}/y' }, 'PATH=${OUT}/bin:${PATH}']
steps:
  - { name: a, command: 'echo $FULL', env: [{ A: '${FULL}/a' }, { B: '$A/b' }], dir: '${B}' }
  - { name: b, command: 'echo $A', dir: '${FULL}' }",
    );
    let env = json!({ "OUT": "/tmp/x", "FULL": "/tmp/x/y", "PATH": "/tmp/x/bin:$PATH" });
    assert_eq!((&value["env"], &value["sources"]), (&env, &Json::Null));
    let step = |place: usize| &value["flow"][place];
    assert_eq!(step(0)["env"], json!({ "A": "/tmp/x/y/a", "B": "/tmp/x/y/a/b" }));
    assert_eq!((&step(0)["cwd"], &step(1)["cwd"]), (&json!("/tmp/x/y/a/b"), &json!("/tmp/x/y")));
    assert_eq!(warnings, Vec::<String>::new());
    // What decides which code is loaded is not made of values.
    let (value, _, warnings) =
        imported("env: { PATH: '${HOME}/bin:${PATH}' }\nsteps: [{ name: a, command: a }]");
    assert_eq!((&value["env"], warnings.len()), (&Json::Null, 1), "{warnings:?}");
}

#[test]
fn what_a_command_would_find_out_is_not_taken_for_text() {
    let (value, _, warnings) = imported(
        "env: [{ NOW: '`date`' }, { THEN: 'x-${NOW}' }]
steps: [{ name: a, command: 'rm -rf out/$NOW', dir: '${NOW}' }, { name: b, command: 'echo $NOW', env: { NOW: x } }]",
    );
    assert_eq!(value["env"], Json::Null);
    let step = |place: usize| &value["flow"][place];
    assert_eq!(step(0)["run"], "rm -rf out/${NOW:?}");
    assert_eq!(step(0)["cwd"], "{{ {}['NOW'] }}");
    assert_eq!((&step(1)["run"], &step(1)["env"]), (&json!("echo $NOW"), &json!({ "NOW": "x" })));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn params_are_described_as_there() {
    let (value, _, warnings) = imported(
        "params:
  - { name: n, type: integer, default: 3, minimum: 1, maximum: 9, description: How many }
  - { name: s, type: string, enum: [a, b], required: true, widget: x }
steps: [{ name: a, command: 'echo $n $s' }]",
    );
    let n = json!({ "type": "int", "default": 3, "description": "How many", "min": 1, "max": 9 });
    let s = json!({ "type": "text", "choices": ["a", "b"] });
    assert_eq!(value["params"], json!({ "n": n, "s": s }));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn a_script_is_run_by_the_program_that_it_names() {
    let (value, _, warnings) = imported(
        "steps:
  - { name: py, script: \"#!/usr/bin/env python3\\nprint('x')\\n\" }
  - { name: sh, script: \"#!/bin/bash -u\\nfalse\\necho $X\\n\" }
  - { name: split, script: \"#!/usr/bin/env -S node --x\\ny()\\n\", stdout: log.txt }
  - { name: plain, script: \"# a comment\\necho x\\n\" }",
    );
    let step = |place: usize| &value["flow"][place];
    assert_eq!(step(0)["argv"], json!(["python3", "-"]));
    assert_eq!(step(0)["stdin"], "#!/usr/bin/env python3\nprint('x')\n");
    assert_eq!(step(1)["shell"], json!(["/bin/bash", "-u", "-c"]), "it goes on after a failure");
    assert_eq!(step(2)["argv"], json!(["node", "--x", "-"]));
    assert_eq!(
        (&step(3)["run"], &step(3)["shell"]),
        (&json!("# a comment\necho x\n"), &Json::Null)
    );
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`stdout` and `stderr`"), "{warnings:?}");
}

#[test]
fn a_container_of_a_step_or_of_the_flow_is_never_left_out() {
    let (value, text, warnings) = imported(
        "container: { image: 'alpine:3', volumes: ['./a:/b'], pullPolicy: never, name: x }
steps:
  - { name: a, command: ls }
  - { name: b, command: ls, container: { image: own, env: [A=1], workingDir: /w, platform: linux/arm64 } }
  - { name: c, command: ls, container: { exec: running } }
  - { name: d, type: docker, config: { image: alpine, volumes: ['/a:/b'] }, command: ls }
  - { name: e, call: other, container: { image: own } }
handlerOn: { exit: echo out }
---
name: other
steps: [{ name: f, command: f }]",
    );
    let step = |place: usize| &value["flow"][place];
    let shared = json!({ "image": "alpine:3", "mounts": ["./a:/b"], "pull": "never" });
    assert_eq!((&step(0)["container"], &value["finally"][0]["container"]), (&shared, &shared));
    let own = json!({ "image": "own", "workdir": "/w", "env": { "A": "1" }, "options": ["--platform=linux/arm64"] });
    assert_eq!(step(1)["container"], own);
    assert!(step(2)["run"].as_str().unwrap().ends_with("exit 1"), "{text}");
    assert_eq!(step(3)["container"], json!({ "image": "alpine", "mounts": ["/a:/b"] }));
    assert!(text.contains("# Each step has a container of its own"), "{text}");
    assert!(
        warnings.iter().any(|it| it.contains("`container: {\"exec\":\"running\"}`")),
        "{warnings:?}"
    );
}

#[test]
fn a_command_in_a_param_is_one_word_and_must_be_said() {
    let (value, _, warnings) = imported(
        "params: DATE=`date +%F` LEVEL=3 $(id -u)\nsteps: [{ name: a, command: 'echo $DATE $1' }]",
    );
    let params = json!({ "p1": { "type": "text" }, "DATE": { "type": "text" }, "LEVEL": "3" });
    assert_eq!(value["params"], params);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[1].contains("`date +%F`, so it must be said"), "{warnings:?}");
}

#[test]
fn steps_are_done_again_by_their_exit_codes() {
    let repeated = |policy: &str, more: &str| {
        let (value, _, warnings) = imported(&format!(
            "steps: [{{ name: a, command: test -f x, repeatPolicy: {policy}{more} }}]"
        ));
        (value["flow"][0].clone(), warnings.len())
    };
    let retry = |retries: i64| json!({ "retries": retries, "delay": "5s", "backoff": "fixed", "jitter": "none" });
    let (step, lost) = repeated("{ repeat: until, exitCode: [0], intervalSec: 5 }", "");
    let wait = json!({ "run": "test -f x", "every": "5s" });
    assert_eq!((&step["wait"], &step["run"], lost), (&wait, &Json::Null, 0));
    let (step, lost) = repeated("{ repeat: until, exitCode: 0, intervalSec: 5, limit: 3 }", "");
    assert_eq!((&step["retry"], &step["run"], lost), (&retry(2), &json!("test -f x"), 0));
    let (step, lost) = repeated("{ repeat: until, exitCode: [0], intervalSec: 5 }", ", output: X");
    assert_eq!((&step["retry"], lost), (&retry(1_000_000), 0), "somebody asks for what it writes");
    let (step, lost) = repeated("{ repeat: while, exitCode: [1], intervalSec: 5, limit: 3 }", "");
    assert_eq!((&step["retry"]["codes"], lost), (&json!([1]), 0));
    for policy in [
        "{ repeat: while, exitCode: [0] }",
        "{ repeat: until, exitCode: [3] }",
        "{ repeat: until, exitCode: [0], backoff: true }",
        "{ repeat: until, condition: \"test $X = y\" }",
        "{ repeat: until, condition: x, expected: 'num:3' }",
        "{ repeat: until, condition: $X, expected: 're:[0-9]' }",
    ] {
        let (step, lost) = repeated(policy, ", output: X");
        assert_eq!(
            (&step["repeat"], &step["retry"], lost),
            (&Json::Null, &Json::Null, 1),
            "{policy}"
        );
    }
}

#[test]
fn rounds_end_by_what_a_command_says() {
    let repeated = |policy: &str| {
        let (value, text, warnings) = imported(&format!(
            "params: WHO=x\nsteps: [{{ name: a, command: deploy, repeat_policy: {policy} }}]"
        ));
        assert_eq!(warnings, Vec::<String>::new(), "{text}");
        value["flow"][0].clone()
    };
    let step = repeated("{ repeat: until, condition: test -f ready, interval_sec: 5 }");
    let run = |test: &str| {
        format!(
            "(\ndeploy\n)\nended=$?; test $ended = 0 || exit $ended\nif {test} >&2; then echo done=1 >> \"$TIDEWHEEL_OUTPUT\"; fi\n"
        )
    };
    assert_eq!(step["run"], run("{ ( test -f ready ); }"));
    assert_eq!(step["repeat"], json!({ "until": "output.done is defined", "every": "5s" }));
    let step = repeated("{ repeat: while, condition: '$WHO', expected: 're:^x', limit: 3 }");
    assert_eq!(step["run"], run("! { printf '%s\\n' \"$WHO\" | grep -Eq -- '^x'; }"));
    // There the last round ends it, whatever it brought.
    let until = "output.done is defined or round == 3";
    assert_eq!(step["repeat"], json!({ "until": until, "every": "1s" }));
    // What is not said follows from what is, and a condition counts before codes.
    for (policy, sign) in [
        ("{ condition: '$WHO', expected: y }", ""),
        ("{ repeat: false, condition: '$WHO', expected: y }", ""),
        ("{ condition: busy }", "! "),
        ("{ repeat: true, condition: busy }", "! "),
        ("{ condition: busy, exit_code: [1] }", "! "),
    ] {
        let run = repeated(policy)["run"].as_str().unwrap().to_owned();
        assert_eq!(run.contains("if ! "), sign == "! ", "{policy}\n{run}");
    }
    assert_eq!(repeated("{ exit_code: [1] }")["retry"]["codes"], json!([1]));
    let step = repeated("{ interval_sec: 5 }");
    assert_eq!((&step["run"], &step["repeat"]), (&json!("deploy"), &Json::Null));
}

#[test]
fn rounds_of_a_request_end_by_its_answer() {
    for (expected, until) in [
        ("'3'", "data == 3"),
        ("done", "data is string and (data | trim) == \"done\""),
        ("'{\"a\": 1}'", "data == {\"a\":1}"),
    ] {
        let (value, _, warnings) = imported(&format!(
            "steps: [{{ name: a, type: http, command: GET https://x/y, output: S, repeat_policy: {{ repeat: until, condition: $S, expected: {expected} }} }}]"
        ));
        assert_eq!(value["flow"][0]["repeat"]["until"], until);
        assert_eq!(warnings, Vec::<String>::new());
    }
}

#[test]
fn what_a_step_leaves_is_known_in_each_of_its_forms() {
    let (value, _, warnings) = imported(
        "steps:
  - { name: a, command: a, output: { name: X, omit: true } }
  - { name: b, command: 'rm -rf out/$X', output: { name: Y, key: other } }
  - id: look
    command: look
    output:
      version: { from: stdout, decode: json, select: .tag.name }
      all: { from: stdout }
      fixed: '$X/y'
      odd: { from: file, path: x }
  - { name: use, command: 'echo ${look.output.version} ${look.output.odd}', dir: '${look.output.fixed}' }
  - { name: other, call: part, output: Z }
  - { name: last, command: 'rm -rf out/$Z' }
---
name: part
steps: [{ name: p, command: p }]",
    );
    let step = |place: usize| &value["flow"][place];
    assert_eq!(step(0)["outputs"], json!({ "X": "{{ stdout | trim }}" }));
    assert_eq!(step(1)["env"], json!({ "X": "{{ flows.a.X }}" }));
    let left = json!({
        "version": "{{ json.tag.name }}", "all": "{{ stdout | trim }}", "fixed": "{{ flows.a.X }}/y",
    });
    assert_eq!(step(2)["outputs"], left);
    let version = "flows.look.version";
    let text = format!("{{{{ {version} if {version} is string else {version} | tojson }}}}");
    assert_eq!(step(3)["env"], json!({ "look_output_version": text }));
    assert_eq!(step(3)["run"], "echo ${look_output_version} ${look.output.odd}");
    assert_eq!((&step(4)["outputs"], &step(5)["run"]), (&Json::Null, &json!("rm -rf out/${Z:?}")));
    for lost in ["`key: ", "`output.odd: ", "`${look.output.odd}`", "so who asks for `Z` fails"] {
        assert!(warnings.iter().any(|warning| warning.contains(lost)), "{lost}: {warnings:?}");
    }
    assert_eq!(warnings.len(), 4, "{warnings:?}");
}

#[test]
fn what_a_kind_of_step_is_told_is_found_under_either_name() {
    let (value, _, warnings) = imported(
        "steps:
  - { name: a, type: http, command: POST https://x/y, with: { headers: { A: b }, body: z, odd: 1 } }
  - { name: b, type: docker, with: { image: 'alpine:3' }, command: ls }
  - { name: c, run: ls, with: { shell: bash, shell_packages: [x] } }",
    );
    let step = |place: usize| &value["flow"][place];
    let request =
        json!({ "url": "https://x/y", "method": "POST", "headers": { "A": "b" }, "body": "z" });
    assert_eq!(step(0)["http"], request);
    assert_eq!(step(1)["container"], json!({ "image": "alpine:3" }));
    assert_eq!(step(2)["shell"], json!(["bash", "-e", "-c"]));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn an_approval_is_waited_for_by_all_that_comes_behind() {
    let (value, _, warnings) = imported(
        "steps:
  - { name: build, command: b, approval: { prompt: Ship it?, input: [WHY], rewind_to: build } }
  - { name: ship, command: 'rm -rf $WHY' }
  - { name: lint, command: l, approval: {}, continue_on: { failure: true } }
  - { name: last, command: z }",
    );
    let steps = value["flow"].as_array().unwrap();
    let named = |name: &str| steps.iter().find(|step| step["name"] == name).unwrap();
    let gate = json!({ "name": "build-approval", "depends_on": ["build"], "wait": { "approval": "Ship it?" } });
    assert_eq!(named("build-approval"), &gate);
    assert_eq!(named("ship")["depends_on"], json!(["build-approval"]));
    assert_eq!(named("ship")["run"], "rm -rf ${WHY:?}");
    // Nobody is asked about what has failed, and others go on.
    let gate = json!({
        "name": "lint-approval", "depends_on": { "step": "lint", "when": "succeeded" },
        "wait": { "approval": true }, "on_skip": "continue",
    });
    assert_eq!(named("lint-approval"), &gate);
    assert_eq!(named("last")["depends_on"], json!(["lint", "lint-approval"]));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    // By name it is the same.
    let (value, ..) = imported(
        "type: graph\nsteps: [{ name: b, command: b, depends: a }, { id: a, command: a, approval: { prompt: '{{ x }}' } }]",
    );
    assert_eq!(value["flow"][0]["depends_on"], json!(["a-approval"]));
    assert_eq!(value["flow"][2]["wait"], json!({ "approval": true }));
}

#[test]
fn a_program_is_started_without_a_shell() {
    let (value, _, warnings) = imported(
        "params: WHO=x
steps:
  - { name: a, exec: { command: /bin/echo, args: [two words, 3, '${WHO}', 'a-$WHO'] } }
  - { name: b, exec: { command: bash, args: ['-ec', 'echo $WHO'] }, output: X }
  - { name: c, exec: { command: bash, args: ['-c', 'echo $X'] } }",
    );
    let step = |place: usize| &value["flow"][place];
    let argv = json!(["/bin/echo", "two words", "3", "{{ params.WHO }}", "a-{{ params.WHO }}"]);
    assert_eq!((&step(0)["argv"], &step(0)["allow_options"]), (&argv, &json!(true)));
    assert_eq!(step(1)["argv"], json!(["bash", "-ec", "echo $WHO"]));
    assert_eq!(step(2)["env"], json!({ "X": "{{ flows.b.X }}" }));
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn a_condition_knows_what_steps_before_it_left() {
    let (value, ..) = imported(
        "steps:
  - { name: a, command: a, output: X }
  - { name: b, command: b, preconditions: [{ condition: '$X', expected: y }] }
  - { name: c, command: 'echo ${X#y} $((X + 1))' }",
    );
    let env = json!({ "X": "{{ flows.a.X }}" });
    assert_eq!((&value["flow"][1]["name"], &value["flow"][1]["env"]), (&json!("b-if"), &env));
    assert_eq!(value["flow"][3]["env"], env);
}

#[test]
fn what_is_asked_of_steps_is_known_or_told() {
    let (value, _, warnings) = imported(
        "steps:
  - { id: a, name: first, command: a }
  - { id: b, executor: http, command: GET https://x/y, output: BODY }
  - { id: c, command: 'echo ${a.exit_code} ${BODY} ${a.stdout}' }
handlerOn: { cancel: echo no, exit: { command: echo out } }",
    );
    let step = &value["flow"][2];
    assert_eq!(step["run"], "echo ${a_exit_code} ${BODY} ${a.stdout}");
    let env = json!({ "a_exit_code": "{{ steps.first.code }}", "BODY": "{{ flows.b.BODY }}" });
    assert_eq!(step["env"], env);
    let body = json!({ "BODY": "{{ data if data is string else data | tojson }}" });
    assert_eq!(value["flow"][1]["outputs"], body);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`${a.stdout}`"), "{warnings:?}");
    assert_eq!(
        (&value["finally"][0]["run"], &value["finally"][1]["run"]),
        (&json!("echo no"), &json!("echo out"))
    );
    // What a skipped step would have left is empty there.
    let (value, ..) = imported(
        "steps:
  - { name: a, command: a, output: X, preconditions: [p], continueOn: { skipped: true } }
  - { name: b, command: 'echo $X' }",
    );
    assert_eq!(value["flow"][2]["env"]["X"], "{{ flows.a.X | default('') }}");
}

#[test]
fn to_go_on_is_about_the_step_itself() {
    let (value, ..) = imported(
        "steps:
  - { name: a, command: a, continueOn: { failure: true } }
  - { name: b, command: b, continue_on: { failure: true } }
  - { name: c, command: c }
  - { name: d, command: d, continue_on: failed }
  - { name: e, command: e, preconditions: [x], continue_on: { skipped: true } }
  - { name: f, command: f, preconditions: [x] }",
    );
    let step = |name: &str| {
        let steps = value["flow"].as_array().unwrap();
        steps.iter().find(|step| step["name"] == name).unwrap().clone()
    };
    for (name, on_error, of_others) in [
        ("a", json!("continue"), Json::Null),
        // What fails before it lets everybody go on.
        ("b", json!("continue"), Json::Null),
        ("c", Json::Null, Json::Null),
        ("d", json!("continue"), json!("skip")),
    ] {
        let step = step(name);
        assert_eq!((&step["on_error"], &step["on_dependency_error"]), (&on_error, &of_others));
    }
    let asks = json!(["d", { "step": "e-if", "when": "succeeded" }]);
    assert_eq!((&step("e")["depends_on"], &step("e")["on_skip"]), (&asks, &json!("continue")));
    assert_eq!(step("f")["depends_on"], json!(["e", "f-if"]));
}

#[test]
fn what_is_no_flow_is_told() {
    for (value, said) in [(json!([]), "a mapping"), (json!({}), "`steps`"), (Json::Null, "nothing")]
    {
        let error = import(vec![value]).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
