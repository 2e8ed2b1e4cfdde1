//! What others have is imported, validates, and does what it did there.

use crate::common::{Scratch, states, stderr, stdout};
use serde_json::json;

const DAGU: &str = include_str!("../import/nightly.dagu.yaml");
const GITHUB: &str = include_str!("../import/ci.github.yml");

#[test]
fn a_flow_of_dagu_does_here_what_it_did_there() {
    let scratch = Scratch::new("import-dagu");
    let file = scratch.file("nightly.dagu.yaml", DAGU);
    let imported = scratch.json(&["import", "dagu", &file, "-o", "flow.yaml"]);
    assert_eq!(imported["valid"], json!(true), "{imported}");
    let lost: Vec<&str> = imported["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert_eq!(lost.len(), 2, "{lost:?}");
    let result = scratch.json(&["run", "flow.yaml"]);
    assert_eq!(result["state"], "succeeded", "{:?}", states(&result));
    assert_eq!(scratch.read("out/test/loaded.txt"), "3 rows for test\n");
    assert_eq!(scratch.read("out/test/parts.txt"), "first a 1\nsecond a\nfirst b 1\nsecond b\n");
    assert_eq!(scratch.read("polls").lines().count(), 3);
    assert_eq!(scratch.read("found.txt"), "4\n");
    assert_eq!(scratch.read("done.txt"), "done\n");
    assert!(!scratch.path("failed.txt").exists());
    assert_eq!(result["steps"]["only on live"]["state"], json!("skipped"));
    // Another stage is none that the flow knows: all of it is skipped.
    let result = scratch.json(&["run", "flow.yaml", "--param", "STAGE=moon"]);
    assert_eq!(result["steps"]["load"]["state"], json!("skipped"));
}

#[test]
fn a_workflow_does_here_what_it_did_there() {
    let scratch = Scratch::new("import-github");
    let file = scratch.file("ci.yml", GITHUB);
    let imported = scratch.json(&["import", "github", &file, "-o", "flow.yaml"]);
    assert_eq!(imported["valid"], json!(true), "{imported}");
    let result = scratch.json(&["run", "flow.yaml"]);
    assert_eq!(result["state"], "succeeded", "{:?}", states(&result));
    assert_eq!(scratch.read("said.txt"), "found 1.2.3 at quick\n");
    assert_eq!(scratch.read("built.txt"), "v1.2.3 for linux never\n");
    for name in ["slow.txt", "on.txt", "always.txt"] {
        assert!(scratch.path(name).exists(), "{name}");
    }
    assert!(!scratch.path("failed.txt").exists());
    assert_eq!(scratch.read("report.txt"), "success\n");
    assert_eq!(result["steps"]["publish"]["state"], json!("skipped"));
}

/// The words by which a flow goes on after a step say nothing of whether that step is done.
#[test]
fn a_step_that_lets_others_go_on_is_not_done_for_that() {
    let scratch = Scratch::new("import-go-on");
    let flow = "
steps:
  - { name: look, command: 'true' }
  - name: never
    command: echo never >> did.txt
    preconditions: [{ condition: a, expected: b }]
    continue_on: { skipped: true }
  - { name: next, command: echo next >> did.txt }
  - { name: breaks, command: 'false' }
  - { name: lint, command: echo lint >> did.txt, continue_on: { failure: true } }
  - { name: deploy, command: echo deployed >> did.txt }
";
    let file = scratch.file("flow.dagu.yaml", flow);
    let imported = scratch.json(&["import", "dagu", &file, "-o", "flow.yaml"]);
    assert_eq!(imported["valid"], json!(true), "{imported}");
    assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(1));
    assert_eq!(scratch.read("did.txt"), "next\n");
}

/// What follows a failed step of a job is not done because something looked after the failure.
#[test]
fn what_handles_a_failure_in_a_workflow_does_not_mend_it() {
    let scratch = Scratch::new("import-handlers");
    let workflow = "
on: push
jobs:
  build:
    steps:
      - run: exit 1
      - { run: echo logs >> did.txt, if: failure() }
      - { run: echo always >> did.txt, if: always() }
      - run: echo deployed >> did.txt
      - { run: echo late >> did.txt, if: failure() }
";
    let file = scratch.file("ci.yml", workflow);
    let imported = scratch.json(&["import", "github", &file, "-o", "flow.yaml"]);
    assert_eq!(imported["valid"], json!(true), "{imported}");
    assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(1));
    assert_eq!(scratch.read("did.txt"), "logs\nalways\nlate\n");
}

#[test]
fn an_importer_says_when_what_it_wrote_cannot_be_run() {
    let scratch = Scratch::new("import-broken");
    let file = scratch.file("x.yaml", "steps: [{ name: a, call: elsewhere }]");
    let output = scratch.run(&["import", "dagu", &file]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("flow: elsewhere.yaml"), "{}", stdout(&output));
    let said = stderr(&output);
    assert!(said.contains("what was written cannot be run as it is"), "{said}");
    assert!(said.contains("elsewhere.yaml"), "{said}");
    let imported = scratch.json(&["import", "dagu", &file]);
    assert_eq!(imported["valid"], json!(false));
    // The other importers look at what they wrote as well.
    let flowtoy = scratch.file("f.yaml", "flow: [{ name: a, source: nowhere }]");
    assert_eq!(scratch.json(&["import", "flowtoy", &flowtoy])["valid"], json!(false));
    let crontab = scratch.file("c.txt", "* * * * * true\n");
    assert_eq!(scratch.json(&["import", "crontab", &crontab])["flows"][0]["valid"], json!(true));
    let output = scratch.run(&["import", "github", &file]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    // What can be run may still be worth a look.
    let token = "flow: [{ name: a, source: { type: env, configuration: { vars: [API_TOKEN] } }, \
        output: [{ name: o, type: raw }] }]";
    let token = scratch.file("token.yaml", token);
    let said = stderr(&scratch.run(&["import", "flowtoy", &token]));
    assert!(said.contains("can be run as it is, but look at this"), "{said}");
    assert!(said.contains("what is left of `API_TOKEN` is stored with the run"), "{said}");
}

/// Imports a workflow, which must be one that can be run.
#[track_caller]
fn import_github(scratch: &Scratch, workflow: &str) -> String {
    let file = scratch.file("ci.yml", workflow);
    let imported = scratch.json(&["import", "github", &file, "-o", "flow.yaml"]);
    assert_eq!(imported["valid"], json!(true), "{imported}");
    scratch.read("flow.yaml")
}

/// `success() || failure()` is said of what is done in any case, as long as nobody cancels.
#[test]
fn what_is_done_after_success_and_failure_is_done_after_both() {
    for (first, expected) in
        [("true", "both\nnot\nmixed\n"), ("false", "both\nnot\nfailed\nmixed\n")]
    {
        let scratch = Scratch::new(&format!("import-ended-{first}"));
        let workflow = "
on: push
jobs:
  build:
    steps:
      - run: FIRST
      - { run: echo both >> did.txt, if: success() || failure() }
      - { run: echo not >> did.txt, if: \"${{ !cancelled() }}\" }
      - { run: echo failed >> did.txt, if: failure() }
      - { run: echo mixed >> did.txt, if: \"failure() || runner.os == 'Linux'\" }
  gate:
    needs: build
    if: always() && contains(needs.*.result, 'failure')
    steps: [{ run: echo gate >> gate.txt }]
  skipped: { needs: build, if: \"1 == 2\", steps: [{ run: exit 9 }] }
  after: { needs: skipped, if: \"!failure() && !cancelled()\", steps: [{ run: echo after > after.txt }] }
";
        import_github(&scratch, &workflow.replace("FIRST", first));
        let code = scratch.run(&["run", "flow.yaml"]).status.code();
        assert_eq!(code, Some(i32::from(first == "false")));
        assert_eq!(scratch.read("did.txt"), expected);
        assert_eq!(scratch.path("gate.txt").exists(), first == "false");
        assert_eq!(scratch.path("after.txt").exists(), first == "true");
    }
}

/// An element of a matrix, a value between quotes, in a comment and in here-documents: it is the value.
#[test]
fn values_of_a_workflow_reach_commands_wherever_they_stand() {
    let scratch = Scratch::new("import-values");
    let text = import_github(
        &scratch,
        "
on: push
jobs:
  j:
    name: One of ${{ matrix.v }}
    strategy: { matrix: { v: [it's $HOME] } }
    steps:
      - run: |
          # don't lose ${{ matrix.v }}
          cat <<'EOF' > literal.txt
          it's $HOME and `id` \\\\ ${{ matrix.v }}
          EOF
          cat <<EOF > open.txt
          it's ${{ matrix.v }}
          EOF
          echo '${{ matrix.v }}' \"$(echo '${{ matrix.v }}')\" > quoted.txt
      - uses: actions/upload-artifact@v4
        with: { path: \"*.txt\" }
",
    );
    let output = scratch.run(&["run", "flow.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{text}\n{}", stderr(&output));
    assert_eq!(scratch.read("literal.txt"), "it's $HOME and `id` \\\\ it's $HOME\n");
    assert_eq!(scratch.read("open.txt"), "it's it's $HOME\n");
    assert_eq!(scratch.read("quoted.txt"), "it's $HOME it's $HOME\n");
    let kept = stdout(&scratch.run(&["artifacts", "last"]));
    assert!(kept.contains("quoted.txt") && kept.contains("One of it-s $HOME"), "{kept}");
}

/// What nobody knows here is not taken for nothing.
#[test]
fn a_command_with_a_value_that_is_not_known_fails_before_it_does_harm() {
    for command in [
        "rm -rf out/${{ github.ref_name }}",
        "rm -rf out/$REF",
        "rm -rf out/${{ env.SET }}",
        "rm -rf out/$GITHUB_REF_NAME",
        "rm -rf out/${GITHUB_REF#refs/heads/}",
        "rm -rf out/$((GITHUB_RUN_NUMBER - 1)) out",
    ] {
        let scratch = Scratch::new("import-unknown");
        std::fs::create_dir(scratch.path("out")).unwrap();
        let text = import_github(
            &scratch,
            &format!(
                "on: push\nenv: {{ REF: \"${{{{ github.ref_name }}}}\" }}\njobs: {{ j: {{ steps: [{{ run: '{command}' }}] }} }}"
            ),
        );
        assert!(text.contains("# No equal: `github.ref_name`"), "{text}");
        assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(1), "{text}");
        assert!(scratch.path("out").exists(), "{command}");
    }
    let scratch = Scratch::new("import-left");
    let workflow = "on: push\njobs: { j: { steps: [{ run: 'echo FOO=1 >> $GITHUB_ENV' }, { run: 'touch x$FOO' }] } }";
    let text = import_github(&scratch, workflow);
    assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(1), "{text}");
    assert!(!scratch.path("x").exists(), "{text}");
}

/// Variables that GitHub sets are what they are there, and a job finds its folder empty.
#[test]
fn a_command_finds_what_github_sets() {
    let scratch = Scratch::new("import-set");
    let workflow = "
name: ci
on: push
jobs:
  j:
    strategy: { matrix: { v: [a, b] } }
    steps:
      - { run: 'test -z \"$(ls $RUNNER_TEMP)\"; echo ${{ matrix.v }} > \"$RUNNER_TEMP/x\"', working-directory: . }
      - run: cat \"$RUNNER_TEMP/x\" >> \"$GITHUB_WORKSPACE/$GITHUB_JOB-${{ matrix.v }}.txt\"
      - run: echo \"$CI $GITHUB_WORKFLOW $RUNNER_OS\" > set.txt
";
    let text = import_github(&scratch, workflow);
    let output = scratch.run(&["run", "flow.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{text}\n{}", stderr(&output));
    assert_eq!(
        (scratch.read("j-a.txt"), scratch.read("j-b.txt")),
        ("a\n".to_owned(), "b\n".to_owned())
    );
    assert_eq!(scratch.read("set.txt"), "true ci Linux\n");
}

#[test]
fn variables_scripts_and_rounds_of_dagu_are_those_they_were_there() {
    let scratch = Scratch::new("import-dagu-more");
    let flow = "
params: DATE=`date +%F` LEVEL=3
env:
  - OUT: out
  - FULL: ${OUT}/y
steps:
  - { name: full, command: echo \"$FULL $LEVEL $DATE\" > full.txt }
  - name: python
    script: |
      #!/usr/bin/env python3
      open('python.txt', 'w').write('from python')
  - { name: round, command: 'echo x >> rounds; test $(wc -l < rounds) = 3', repeat_policy: { repeat: until, exit_code: [0], interval_sec: 0, limit: 5 } }
  - { name: poll, command: 'echo x >> polls; test $(wc -l < polls) = 3', repeat_policy: { repeat: until, exit_code: [0], interval_sec: 0.01 } }
";
    let file = scratch.file("flow.dagu.yaml", flow);
    let imported = scratch.json(&["import", "dagu", &file, "-o", "flow.yaml"]);
    assert_eq!(imported["valid"], json!(true), "{imported}");
    assert_eq!(imported["warnings"].as_array().unwrap().len(), 1, "{imported}");
    // What a command said there must be said here.
    assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(2));
    let output = scratch.run(&["run", "flow.yaml", "--param", "DATE=today"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(scratch.read("full.txt"), "out/y 3 today\n");
    assert_eq!(scratch.read("python.txt"), "from python");
    assert_eq!(scratch.read("rounds").lines().count(), 3);
    assert_eq!(scratch.read("polls").lines().count(), 3);
}

/// Nothing behind an approval is done before somebody has given it, and rounds end when a command says so.
#[test]
fn what_dagu_holds_back_is_held_back_here() {
    let scratch = Scratch::new("import-dagu-held");
    let flow = "
steps:
  - name: poll
    command: echo x >> rounds
    repeat_policy: { repeat: until, condition: 'test $(wc -l < rounds) = 3', interval_sec: 0 }
  - { name: busy, command: echo x >> more, repeat_policy: { condition: 'true', limit: 2, interval_sec: 0 } }
  - { name: build, command: echo v1, output: { name: TAG } }
  - { name: say, exec: { command: sh, args: ['-c', 'echo \"$TAG\" > tag.txt'] }, approval: { prompt: Ship it? } }
  - { name: ship, command: echo shipped > shipped.txt }
";
    let file = scratch.file("flow.dagu.yaml", flow);
    let imported = scratch.json(&["import", "dagu", &file, "-o", "flow.yaml"]);
    assert_eq!((&imported["valid"], &imported["warnings"]), (&json!(true), &json!([])));
    let run = scratch.start_heard(&["run", "flow.yaml"]);
    run.wait_for("waits for approval: Ship it?");
    assert_eq!(scratch.read("rounds").lines().count(), 3);
    assert_eq!(scratch.read("more").lines().count(), 2);
    assert_eq!(scratch.read("tag.txt"), "v1\n");
    assert_eq!(scratch.json(&["show", "latest"])["steps"]["ship"]["state"], "pending");
    let output = scratch.run(&["approve", "latest", "say-approval"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (code, said) = run.ended();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(scratch.read("shipped.txt"), "shipped\n");
}
