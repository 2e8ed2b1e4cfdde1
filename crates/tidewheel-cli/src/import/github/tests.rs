//! Workflows, and what becomes of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::import;
use crate::import::Warning;

fn imported(text: &str) -> (Json, String, Vec<String>) {
    let parse = tidewheel_client::files::parse_yaml;
    let imported = import(parse(text).unwrap()).unwrap();
    let path = PathBuf::from("flow.yaml");
    let texts = BTreeMap::from([(path.clone(), Arc::from(imported.text.as_str()))]);
    let loaded = tidewheel_client::files::FlowFiles::of_texts(&[path], &texts);
    assert!(loaded.runnable().is_ok(), "{}\n{}", imported.text, loaded.problems(false, 100));
    let warnings = imported.warnings.iter().map(Warning::to_string).collect();
    (parse(&imported.text).unwrap(), imported.text, warnings)
}

fn steps_of(text: &str) -> Json {
    imported(&format!("jobs: {{ j: {{ steps: {text} }} }}")).0["flow"][0]["steps"].clone()
}

#[test]
fn steps_follow_each_other_and_a_skip_holds_up_nothing() {
    let steps = steps_of(
        "[{ run: a }, { id: b, run: b, if: \"1 == 2\" }, { name: C d, run: c }, { run: e, if: failure() }, { run: f, if: always() }]",
    );
    assert_eq!(
        (&steps[0]["name"], &steps[1]["name"], &steps[2]["name"]),
        (&json!("a"), &json!("b"), &json!("c-d"))
    );
    assert_eq!((&steps[1]["when"], &steps[1]["on_skip"]), (&json!("1 == 2"), &json!("continue")));
    assert_eq!(steps[2]["depends_on"], Json::Null, "they are a sequence");
    assert_eq!(steps[3]["depends_on"], json!({ "any": ["a", "b", "c-d"], "when": "failed" }));
    assert_eq!((&steps[4]["depends_on"], &steps[4]["always"]), (&Json::Null, &json!(true)));
}

#[test]
fn expressions_come_into_commands_as_variables() {
    let (value, ..) = imported(
        "env: { A: x }\njobs:\n  j:\n    strategy: { matrix: { os: [l, m] } }\n    env: { B: \"${{ env.A }}-${{ matrix.os }}\" }
    steps: [{ run: \"echo ${{ matrix.os }} '${{ matrix.os }}' ${{ env.A }} $B ${{ secrets.KEY }}\" }]",
    );
    assert_eq!(value["flow"][0]["env"]["B"], "{{ 'x' }}-{{ matrix.os }}");
    let step = &value["flow"][0]["steps"][0];
    assert_eq!(step["run"], "echo ${MATRIX_OS} ''\"${MATRIX_OS}\"'' ${A} $B ${SECRETS_KEY}");
    assert_eq!(
        step["env"],
        json!({ "MATRIX_OS": "{{ matrix.os }}", "SECRETS_KEY": "{{ secrets.KEY }}" })
    );
    assert_eq!(value["secrets"], json!({ "KEY": { "env": "KEY" } }));
}

#[test]
fn what_is_not_there_is_empty_and_states_have_their_old_words() {
    let (value, ..) = imported(
        "on: { workflow_dispatch: { inputs: { go: { type: boolean } } } }
jobs:
  a:
    outputs: { x: \"${{ steps.b.outputs.x }}\" }
    steps:
      - { id: b, if: inputs.go, run: 'echo x=1 >> $GITHUB_OUTPUT' }
      - { run: 'echo ${{ steps.b.outputs.x }} ${{ steps.b.outcome }}' }
  c: { needs: a, if: \"always() && needs.a.outputs.x == '1'\", steps: [{ run: 'test ${{ needs.a.result }} = success' }] }",
    );
    let steps = &value["flow"][0]["steps"];
    assert_eq!(steps[0]["outputs"], json!({ "x": "{{ output.x | default('') }}" }));
    let words = "{'succeeded': 'success', 'failed': 'failure'}";
    let env = json!({
        "STEPS_B_OUTPUTS_X": "{{ (flows.b.x | default('')) }}",
        "STEPS_B_OUTCOME": format!("{{{{ {words}[steps.b.state] | default(steps.b.state) }}}}"),
    });
    assert_eq!(steps[1]["env"], env);
    assert_eq!(value["flow"][1]["when"], "(flows.a.b.x | default('')) == '1'");
}

#[test]
fn groups_wait_for_each_other_and_ask_how_others_ended() {
    let (value, ..) = imported(
        "jobs:\n  a: { steps: [{ run: a }], continue-on-error: true, timeout-minutes: 3 }
  b: { needs: a, if: \"needs.a.result != 'failure'\", steps: [{ run: b, shell: python, working-directory: x }] }
  c: { needs: [a, b], if: failure(), steps: [{ run: c }] }",
    );
    let job = |place: usize| &value["flow"][place];
    assert_eq!((&job(0)["on_error"], &job(0)["timeout"]), (&json!("continue"), &json!("3m")));
    assert_eq!(job(1)["depends_on"], json!(["a"]));
    // Of one that is tolerated nobody hears that it failed.
    assert_eq!(job(2)["depends_on"], json!({ "any": ["b"], "when": "failed" }));
    // Their words are about their own failures.
    let (value, ..) = imported(
        "jobs:\n  a: { steps: [{ run: a }], continue-on-error: true }
  b: { needs: a, continue-on-error: true, steps: [{ run: b }] }
  c: { needs: [a, d], continue-on-error: true, steps: [{ run: c }] }
  d: { steps: [{ run: d }] }",
    );
    let word = |place: usize| &value["flow"][place]["on_dependency_error"];
    assert_eq!((word(0), word(1), word(2)), (&Json::Null, &Json::Null, &json!("skip")));
    let step = &job(1)["steps"][0];
    assert_eq!(
        (&step["argv"], &step["stdin"], &step["cwd"]),
        (&json!(["python3", "-"]), &json!("b"), &json!("x"))
    );
}

/// There only `outcome` says that something failed whose failure does not matter.
#[test]
fn what_may_fail_has_succeeded_for_who_asks() {
    let (value, ..) = imported(
        "jobs:
  a: { steps: [{ run: a }], continue-on-error: true }
  b: { steps: [{ id: x, run: x, continue-on-error: true }, { run: y, if: \"steps.x.outcome == 'failure'\" }, { run: z, if: \"steps.x.conclusion == 'success'\" }] }
  c: { needs: [a, b], if: \"always() && needs.a.result == 'success' && !contains(needs.*.result, 'failure')\", steps: [{ id: x, run: x }, { run: 'echo ${{ steps.x.conclusion }}' }] }",
    );
    let excused = |step: &str| {
        format!("('succeeded' if steps.{step}.state == 'failed' else steps.{step}.state)")
    };
    let steps = &value["flow"][1]["steps"];
    assert_eq!(steps[1]["when"], "steps.x.state == 'failed'");
    assert_eq!(steps[2]["when"], format!("{} == 'succeeded'", excused("x")));
    let a = excused("a");
    let when = format!("{a} == 'succeeded' and not ('failed' in [{a}, steps.b.state])");
    assert_eq!(value["flow"][2]["when"], when);
    let said = &value["flow"][2]["steps"][1]["env"]["STEPS_X_CONCLUSION"];
    assert!(!said.as_str().unwrap().contains("if"), "{said}: it is of another job");
}

#[test]
fn outputs_that_old_steps_print_are_written_or_missed_aloud() {
    let (value, _, warnings) = imported(
        "jobs: { j: { steps: [{ id: a, run: 'cd x && echo \"::set-output name=v::$(date +%F)\" && echo ok' }, { run: 'echo ${{ steps.a.outputs.v }}' }
        , { run: 'printf \"::set-output name=w::1\"' }] } }",
    );
    let step = |place: usize| &value["flow"][0]["steps"][place];
    let run = "cd x && >> \"$TIDEWHEEL_OUTPUT\" echo \"v=$(date +%F)\" && echo ok";
    assert_eq!(step(0)["run"], run);
    assert_eq!(step(0)["outputs"], json!({ "v": "{{ output.v | default('') }}" }));
    assert!(step(2)["run"].as_str().unwrap().ends_with("exit 1"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`::set-output`, so it fails"), "{warnings:?}");
}

#[test]
fn a_shell_with_options_is_the_same_here() {
    let (value, _, warnings) = imported(
        "defaults: { run: { shell: 'bash -l {0}' } }
jobs:
  j: { defaults: { run: { shell: 'zsh -e {0}' } }, steps: [{ run: a }, { run: b, shell: '/bin/bash --noprofile -eo pipefail {0}' }] }
  k: { steps: [{ run: c, shell: 'perl {0}' }] }",
    );
    assert_eq!(value["defaults"]["shell"], json!(["bash", "-l", "-c"]));
    let job = &value["flow"][0];
    assert_eq!(job["shell"], json!(["zsh", "-e", "-c"]));
    let shell = json!(["/bin/bash", "--noprofile", "-eo", "pipefail", "-c"]);
    assert_eq!((&job["steps"][0]["shell"], &job["steps"][1]["shell"]), (&Json::Null, &shell));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`shell: perl {0}`"), "{warnings:?}");
}

#[test]
fn what_has_no_equal_is_told_and_is_never_done_by_mistake() {
    let (value, text, warnings) = imported(
        "on: push\njobs:\n  j:\n    runs-on: self\n    services: { db: { image: pg } }\n    if: github.actor == 'me'
    steps:\n      - uses: actions/checkout@v4\n      - uses: a/b@v1\n      - run: echo ${{ github.sha }} >> $GITHUB_ENV\n      - { run: x, shell: pwsh }",
    );
    let job = &value["flow"][0];
    assert_eq!(job["when"], false);
    assert_eq!(job["steps"][0]["run"], "echo 'the action a/b@v1 has no equal' >&2; exit 1");
    assert_eq!(job["steps"][1]["run"], "echo ${GITHUB_SHA:?} >> ${GITHUB_ENV:?}");
    assert_eq!(job["steps"][1]["env"], Json::Null);
    for lost in [
        "the event `push`",
        "`runs-on",
        "`services",
        "`github.actor`",
        "checkout",
        "a/b@v1",
        "`github.sha`",
        "GITHUB_ENV",
        "pwsh",
    ] {
        assert!(warnings.iter().any(|warning| warning.contains(lost)), "{lost}: {warnings:?}");
    }
    assert_eq!(text.matches("# No equal").count(), 9, "{text}");
}

#[test]
fn steps_are_done_for_the_ends_that_they_name() {
    let steps = steps_of(
        "[{ run: a }, { run: b, if: success() || failure() }, { run: c, if: \"${{ !cancelled() }}\" }
        , { run: d, continue-on-error: true }, { run: e, if: failure() }, { run: f, if: \"failure() || runner.os == 'Linux'\" }
        , { run: g, if: cancelled() }, { run: h, if: \"github.ref == 'x' || always()\" }]",
    );
    let step = |place: usize| (&steps[place]["depends_on"], &steps[place]["when"]);
    assert_eq!(step(1), (&json!({ "step": "a", "when": "ended" }), &Json::Null));
    assert_eq!(step(2), (&json!({ "step": "b", "when": "ended" }), &Json::Null));
    let any = json!({ "any": ["a", "b", "c"], "when": "failed" });
    assert_eq!(step(4), (&any, &Json::Null), "nobody hears of one that is tolerated");
    let failed = "'failed' in [steps.a.state, steps.b.state, steps.c.state, steps.e.state]";
    let when = json!(format!("{failed} or 'Linux' == 'Linux'"));
    // What is asked for by name would else be a need like others.
    let all = json!({ "all": ["a", "b", "c", "d", "e"], "when": "ended" });
    assert_eq!(step(5), (&all, &when));
    assert_eq!(step(6), (&Json::Null, &json!(false)));
    assert_eq!((&steps[7]["always"], &steps[7]["when"]), (&json!(true), &Json::Null));
    let (.., warnings) = imported("jobs: { j: { steps: [{ run: a, if: cancelled() }] } }");
    assert!(warnings[0].contains("`if: cancelled()` after a cancel"), "{warnings:?}");
    // Before the first there is nothing that could fail.
    assert_eq!(steps_of("[{ run: a, if: failure() }]")[0]["when"], false);
}

#[test]
fn groups_are_done_for_the_ends_that_they_name() {
    let (value, ..) = imported(
        "jobs:
  a: { steps: [{ run: a }] }
  b: { needs: a, if: \"1 == 2\", steps: [{ run: b }] }
  c: { needs: [a, b], if: \"!failure() && !cancelled()\", steps: [{ run: c }] }
  d: { needs: b, if: success() || failure(), steps: [{ run: d }] }
  e: { needs: [a, b], if: \"!cancelled()\", steps: [{ run: e }] }
  f: { needs: [a, b], if: \"always() && contains(needs.*.result, 'failure')\", steps: [{ run: f }] }",
    );
    let job = |place: usize| (&value["flow"][place]["depends_on"], &value["flow"][place]["when"]);
    let none_failed = json!({ "all": ["a", "b"], "when": ["succeeded", "skipped"] });
    assert_eq!(job(2), (&none_failed, &Json::Null));
    let all = "[steps.a.state, steps.b.state]";
    let when = json!(format!("'failed' in {all} or not ('skipped' in {all})"));
    assert_eq!(job(3), (&json!({ "all": ["a", "b"], "when": "ended" }), &when));
    assert_eq!(job(4), (&json!({ "all": ["a", "b"], "when": "ended" }), &Json::Null));
    assert_eq!(job(5), (&json!(["a", "b"]), &json!(format!("('failed' in {all})"))));
    // What is asked of all of them is said for each, or told.
    let (.., warnings) = imported(
        "jobs: { a: { steps: [{ run: a }] }, b: { needs: a, if: \"contains(needs.*.outputs.x, 'y')\", steps: [{ run: 'echo ${{ join(needs.*.result) }}' }] } }",
    );
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn a_value_that_is_not_known_fails_who_asks_for_it() {
    let (value, text, warnings) = imported(
        "env: { REF: \"${{ github.ref_name }}\", KNOWN: x }
jobs:
  j:
    env: { OTHER: \"a-${{ github.sha }}\" }
    steps:
      - run: rm -rf out/${{ github.ref_name }}
      - run: rm -rf out/$REF '${{ env.REF }}' \"$OTHER\" ${OTHER:-x} ${{ env.KNOWN }} ${{ env.NOWHERE }}
      - { run: 'echo $OTHER', env: { OTHER: y } }
      - { run: x, working-directory: \"${{ github.sha }}\" }
      - { uses: actions/cache@v4, id: cache }
      - run: echo ${{ steps.cache.outputs.hit }}",
    );
    let job = &value["flow"][0];
    assert_eq!((&value["env"], &job["env"]), (&json!({ "KNOWN": "x" }), &Json::Null));
    let run = |place: usize| &job["steps"][place]["run"];
    assert_eq!(run(0), "rm -rf out/${GITHUB_REF_NAME:?}");
    let guarded =
        "rm -rf out/${REF:?} ''\"${REF:?}\"'' \"${OTHER:?}\" ${OTHER:-x} ${KNOWN} ${NOWHERE:?}";
    assert_eq!(run(1), guarded);
    assert_eq!(run(2), "echo $OTHER");
    assert_eq!(job["steps"][3]["cwd"], "{{ {}['github.sha'] }}");
    assert_eq!(run(4), "echo ${STEPS_CACHE_OUTPUTS_HIT:?}");
    assert_eq!(warnings.len(), 7, "{warnings:?}");
    assert_eq!(text.matches("# No equal").count(), 7, "{text}");
}

#[test]
fn a_variable_that_is_only_there_fails_who_asks_for_it() {
    let steps = |lines: &str| {
        let (value, _, warnings) = imported(&format!(
            "env: {{ GITHUB_SHA: x }}\njobs: {{ j: {{ steps: [{{ run: \"{lines}\" }}] }} }}"
        ));
        (value["flow"][0]["steps"][0].clone(), warnings)
    };
    let (step, warnings) = steps("rm -rf $RUNNER_TOOL_CACHE/x ${GITHUB_REF} $GITHUB_SHA $OWN");
    let run = "rm -rf ${RUNNER_TOOL_CACHE:?}/x ${GITHUB_REF:?} $GITHUB_SHA $OWN";
    assert_eq!((&step["run"], &step["env"]), (&json!(run), &Json::Null));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("`$GITHUB_REF`, so it fails"), "{warnings:?}");
    let (step, warnings) = steps("docker push app:${GITHUB_REF#refs/tags/}");
    let first = ": \"${GITHUB_REF:?GITHUB_REF has no value here, say it in env}\"";
    let run = format!("{first}\ndocker push app:${{GITHUB_REF#refs/tags/}}");
    assert_eq!((&step["run"], warnings.len()), (&json!(run), 1));
    let (step, warnings) = steps("echo ${GITHUB_HEAD_REF:-main}");
    assert_eq!((&step["run"], warnings.len()), (&json!("echo ${GITHUB_HEAD_REF:-main}"), 1));
    assert!(warnings[0].contains("so what the text says instead counts"), "{warnings:?}");
    // What a text sets itself is its own.
    let (step, warnings) = steps("GITHUB_REF=x; echo $GITHUB_REF >> $GITHUB_OUTPUT");
    let run = "GITHUB_REF=x; echo $GITHUB_REF >> $TIDEWHEEL_OUTPUT";
    assert_eq!((&step["run"], warnings.len()), (&json!(run), 0), "{warnings:?}");
}

#[test]
fn a_variable_that_is_only_there_comes_in_where_it_is_the_same() {
    let text = "echo $CI $RUNNER_OS $GITHUB_JOB $GITHUB_RUN_ID $GITHUB_WORKFLOW ${GITHUB_WORKSPACE}/x ${{ github.job }}";
    let (value, _, warnings) = imported(&format!(
        "jobs:\n  j: {{ steps: [{{ run: '{text}' }}, {{ run: 'tar x -C $RUNNER_TEMP ${{{{ runner.temp }}}}' }}] }}
  k: {{ container: 'alpine:3', steps: [{{ run: 'ls $GITHUB_WORKSPACE' }}] }}"
    ));
    let step = |group: usize, place: usize| &value["flow"][group]["steps"][place];
    let env = json!({
        "CI": "true", "RUNNER_OS": "Linux", "GITHUB_JOB": "{{ 'j' }}", "GITHUB_RUN_ID": "{{ run.id }}",
        "GITHUB_WORKFLOW": "{{ run.flow }}", "GITHUB_WORKSPACE": "{{ run.folder }}",
    });
    assert_eq!(step(0, 0)["env"], env);
    assert_eq!(step(0, 0)["run"], text.replace("${{ github.job }}", "${GITHUB_JOB}"));
    let make =
        "export RUNNER_TEMP=\"$TIDEWHEEL_RUN_DIR/${TIDEWHEEL_STEP%/*}\"\nmkdir -p \"$RUNNER_TEMP\"";
    assert_eq!(step(0, 1)["run"], format!("{make}\ntar x -C $RUNNER_TEMP ${{RUNNER_TEMP}}"));
    assert_eq!(step(1, 0)["env"], json!({ "GITHUB_WORKSPACE": "/work" }));
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn a_program_of_python_fails_where_it_names_what_is_not_there() {
    let (value, _, warnings) = imported(
        "jobs: { j: { steps: [{ shell: python, run: \"import os\\nprint(os.environ.get('GITHUB_SHA'), os.getenv('GITHUB_REF', 'x'), os.environ['GITHUB_WORKSPACE'])\" }] } }",
    );
    let step = &value["flow"][0]["steps"][0];
    let text = step["stdin"].as_str().unwrap();
    assert!(text.starts_with("import os; os.environ['GITHUB_SHA']\nimport os\n"), "{text}");
    assert_eq!(step["env"], json!({ "GITHUB_WORKSPACE": "{{ run.folder }}" }));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn files_are_kept_and_elements_are_called_as_there() {
    let (value, _, warnings) = imported(
        "jobs:
  j:
    name: Test ${{ matrix.os }}
    strategy: { matrix: { os: [l, m] } }
    continue-on-error: ${{ matrix.os == 'l' }}
    defaults: { run: { working-directory: sub } }
    steps:
      - { run: a, continue-on-error: '${{ matrix.slow }}' }
      - uses: actions/upload-artifact@v4
        if: always()
        with: { name: logs, path: \"./out/*.log\\n!out/x.log\\n${{ matrix.os }}.txt\", if-no-files-found: error }
  k:
    name: ${{ matrix.os }}
    strategy: { matrix: { os: [l, m], v: [1, 2] } }
    steps: [{ uses: actions/upload-artifact@v4, with: { path: dist } }]
  n: { name: \"On ${{ github.ref }}\", steps: [{ run: x }] }",
    );
    let (j, k) = (&value["flow"][0], &value["flow"][1]);
    assert_eq!(j["label"], "Test {{ matrix.os }}");
    assert_eq!(k["label"], "{{ matrix.os }} {{ index }}", "there two may be called the same");
    let upload = &j["steps"][1];
    assert_eq!((&upload["always"], &upload["cwd"]), (&json!(true), &json!(".")));
    assert_eq!(
        upload["artifacts"],
        json!([{ "path": "out/*.log" }, { "path": "{{ matrix.os }}.txt" }])
    );
    assert_eq!(k["steps"][0]["artifacts"], json!([{ "path": "dist", "optional": true }]));
    for lost in ["matrix.os == 'l'", "matrix.slow", "the name `logs`", "`!out/x.log`", "`name: On "]
    {
        assert!(warnings.iter().any(|warning| warning.contains(lost)), "{lost}: {warnings:?}");
    }
    assert_eq!(warnings.len(), 5, "{warnings:?}");
}

#[test]
fn elements_that_are_called_by_numbers_get_a_word_before_them() {
    let (value, _, warnings) = imported(
        "jobs: { j: { name: '${{ matrix.node }}', strategy: { matrix: { node: [18, 20] } }, steps: [{ run: a }] } }",
    );
    assert_eq!(value["flow"][0]["label"], "node-{{ matrix.node }}");
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn what_a_group_says_and_nobody_can_do_is_told() {
    let (value, text, _) = imported(
        "on: { workflow_dispatch: { inputs: { m: {}, n: {} } } }
defaults: { run: { shell: pwsh } }
concurrency: { group: g, cancel-in-progress: \"${{ github.ref != 'x' }}\" }
jobs:
  j:
    outputs: { x: \"${{ github.sha }}\" }
    strategy: { max-parallel: \"${{ inputs.n }}\", matrix: \"${{ fromJSON(inputs.m) }}\" }
    defaults: { run: { shell: cmd } }
    steps: [{ run: 'echo ${{ matrix.os }}' }, { run: 'print(\"${{ inputs.m }}\")', shell: python }]
  s: { steps: [{ run: 'echo [${{ matrix.os }}]' }] }",
    );
    for lost in [
        "`shell: pwsh`",
        "`cancel-in-progress",
        "the output `x: ",
        "`max-parallel",
        "`matrix: ",
        "`shell: cmd`",
        "`matrix.os`",
    ] {
        assert!(
            text.contains(&format!("# No equal: {lost}")) || text.contains(lost),
            "{lost}: {text}"
        );
    }
    assert_eq!(text.matches("# No equal").count(), 8, "{text}");
    let job = &value["flow"][0];
    assert_eq!(job["steps"][0]["run"], "echo ${MATRIX_OS:?}");
    assert_eq!(job["steps"][1]["run"], "echo 'values in a program have no equal' >&2; exit 1");
    assert_eq!(value["flow"][1]["steps"][0]["env"]["MATRIX_OS"], "{{ '' }}", "there it is empty");
}

#[test]
fn steps_in_a_container_run_in_one() {
    let (value, _, warnings) = imported(
        "jobs:
  a: { container: { image: 'rust:1', env: { A: b }, options: --cpus 1 }, steps: [{ run: x }, { run: y, working-directory: sub }] }
  b: { container: 'alpine:3', steps: [{ run: x }] }
  c: { steps: [{ run: x, working-directory: sub }] }",
    );
    let step = |group: usize, place: usize| &value["flow"][group]["steps"][place];
    let here = json!({ "image": "rust:1", "mounts": [".:/work"], "workdir": "/work", "env": { "A": "b" } });
    assert_eq!(step(0, 0)["container"], here);
    assert_eq!(
        (&step(0, 1)["container"]["workdir"], &step(0, 1)["cwd"]),
        (&json!("/work/sub"), &Json::Null)
    );
    assert_eq!(step(1, 0)["container"]["image"], "alpine:3");
    assert_eq!((&step(2, 0)["container"], &step(2, 0)["cwd"]), (&Json::Null, &json!("sub")));
    assert!(warnings.iter().any(|it| it.contains("`options: ")), "{warnings:?}");
}

#[test]
fn what_is_no_workflow_is_told() {
    for value in [json!([]), json!({ "jobs": [] }), Json::Null] {
        assert!(import(value).unwrap_err().contains("jobs"));
    }
}
