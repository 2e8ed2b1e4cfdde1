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
    assert_eq!(
        (&job(1)["depends_on"], &job(1)["when"]),
        (&json!(["a"]), &json!("steps.a.state != 'failed'"))
    );
    assert_eq!(job(2)["depends_on"], json!({ "any": ["a", "b"], "when": "failed" }));
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

#[test]
fn what_has_no_equal_is_told_and_is_never_done_by_mistake() {
    let (value, text, warnings) = imported(
        "on: push\njobs:\n  j:\n    runs-on: self\n    services: { db: { image: pg } }\n    if: github.actor == 'me'
    steps:\n      - uses: actions/checkout@v4\n      - uses: a/b@v1\n      - run: echo ${{ github.sha }} >> $GITHUB_ENV\n      - { run: x, shell: pwsh }",
    );
    let job = &value["flow"][0];
    assert_eq!(job["when"], false);
    assert_eq!(job["steps"][0]["run"], "echo 'the action a/b@v1 has no equal' >&2; exit 1");
    assert_eq!(job["steps"][1]["env"], json!({ "GITHUB_ENV": "/dev/null" }));
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
