//! Concurrency groups: whole runs of which only so many go on at once, in several processes.
//!
//! What ran beside what is read from a file that the steps append to, never from the clock.

use crate::common::{Running, Scratch, stderr, stdout, wait_until};

/// A flow whose only step says that it runs and stays until it is let go.
fn flow(scratch: &Scratch, busy: &str) -> String {
    let text = format!(
        "
params: {{ env: prod, who: nobody }}
concurrency: {{ group: 'deploy-{{{{ params.env }}}}', max: 1, busy: {busy} }}
flow:
  - name: work
    env: {{ WHO: '{{{{ params.who }}}}' }}
    run: |
      printf + >> ledger
      touch held-$WHO
      until test -e go-$WHO; do sleep 0.01; done
      printf - >> ledger
"
    );
    scratch.file("flow.yaml", &text)
}

fn start(scratch: &Scratch, file: &str, who: &str) -> Running {
    scratch.start(&["run", file, "-p", &format!("who={who}")])
}

/// How many runs are in this state.
fn count(scratch: &Scratch, state: &str) -> usize {
    let runs = scratch.json(&["runs"]);
    let runs = runs["runs"].as_array().unwrap();
    runs.iter().filter(|run| run["state"] == state).count()
}

fn last_run_id(scratch: &Scratch) -> String {
    scratch.json(&["runs"])["runs"][0]["run_id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn ends_with(run: Running, code: i32) {
    let output = run.output();
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
}

fn let_go(scratch: &Scratch, who: &str) {
    scratch.file(&format!("go-{who}"), "");
}

#[test]
fn queue_all_lets_runs_of_a_group_go_on_one_after_the_other() {
    let scratch = Scratch::new("group-queue-all");
    let file = flow(&scratch, "queue-all");
    let first = start(&scratch, &file, "a");
    scratch.wait_for("held-a");
    let first_id = last_run_id(&scratch);
    let others = [start(&scratch, &file, "b"), start(&scratch, &file, "c")];
    wait_until("two wait", || count(&scratch, "waiting") == 2);
    let held = format!("waiting for its group `deploy-prod`, held by run {}", &first_id[..13]);
    for command in ["show", "explain"] {
        let text = stdout(&scratch.run(&[command, "last"]));
        assert!(text.contains(&held), "{text}");
    }
    // Another group is not held up.
    let_go(&scratch, "d");
    let other = scratch.run(&["run", &file, "-p", "env=test", "-p", "who=d"]);
    assert_eq!(other.status.code(), Some(0), "{}", stderr(&other));
    // That of the other group stands between the marks of the first one.
    assert_eq!(scratch.read("ledger"), "++-");
    for who in ["a", "b", "c"] {
        let_go(&scratch, who);
    }
    ends_with(first, 0);
    others.into_iter().for_each(|run| ends_with(run, 0));
    assert_eq!(scratch.read("ledger"), "++--+-+-");
}

#[test]
fn skip_ends_a_run_that_finds_its_group_taken() {
    let scratch = Scratch::new("group-skip");
    let file = flow(&scratch, "skip");
    let first = start(&scratch, &file, "a");
    scratch.wait_for("held-a");
    ends_with(start(&scratch, &file, "b"), 5);
    assert!(!scratch.path("held-b").exists());
    let shown = stdout(&scratch.run(&["show", "last"]));
    assert!(shown.contains("cancelled") && shown.contains("its group was taken"), "{shown}");
    let_go(&scratch, "a");
    ends_with(first, 0);
    let_go(&scratch, "c");
    ends_with(start(&scratch, &file, "c"), 0);
}

#[test]
fn queue_one_keeps_only_the_first_waiting() {
    let scratch = Scratch::new("group-queue-one");
    let file = flow(&scratch, "queue-one");
    let first = start(&scratch, &file, "a");
    scratch.wait_for("held-a");
    let second = start(&scratch, &file, "b");
    wait_until("the second waits", || count(&scratch, "waiting") == 1);
    ends_with(start(&scratch, &file, "c"), 5);
    let shown = stdout(&scratch.run(&["show", "last"]));
    assert!(shown.contains("cancelled") && shown.contains("its group was taken"), "{shown}");
    let_go(&scratch, "a");
    let_go(&scratch, "b");
    ends_with(first, 0);
    ends_with(second, 0);
    assert!(!scratch.path("held-c").exists());
}

#[test]
fn queue_newest_keeps_only_the_newest_waiting() {
    let scratch = Scratch::new("group-queue-newest");
    let file = flow(&scratch, "queue-newest");
    let first = start(&scratch, &file, "a");
    scratch.wait_for("held-a");
    let second = start(&scratch, &file, "b");
    wait_until("the second waits", || count(&scratch, "waiting") == 1);
    let third = start(&scratch, &file, "c");
    ends_with(second, 5);
    let_go(&scratch, "a");
    let_go(&scratch, "c");
    ends_with(first, 0);
    ends_with(third, 0);
    assert!(!scratch.path("held-b").exists());
}

#[test]
fn cancel_ends_what_has_the_group_and_then_starts() {
    let scratch = Scratch::new("group-cancel");
    let file = flow(&scratch, "cancel");
    let first = start(&scratch, &file, "a");
    scratch.wait_for("held-a");
    let second = start(&scratch, &file, "b");
    ends_with(first, 5);
    scratch.wait_for("held-b");
    let_go(&scratch, "b");
    ends_with(second, 0);
}

#[test]
fn a_killed_run_leaves_its_place_and_one_that_waited_finds_its_own_again() {
    let scratch = Scratch::new("group-killed");
    let file = flow(&scratch, "queue-all");
    let first = start(&scratch, &file, "a");
    scratch.wait_for("held-a");
    let second = start(&scratch, &file, "b");
    wait_until("the second waits", || count(&scratch, "waiting") == 1);
    let second_id = last_run_id(&scratch);
    let third = start(&scratch, &file, "c");
    wait_until("the third waits", || count(&scratch, "waiting") == 2);
    // Killed in the queue, and gone on with elsewhere: it has kept its place in the line.
    second.signal("KILL");
    wait_until("nobody runs it", || count(&scratch, "interrupted") == 1);
    let again = scratch.start(&["resume", &second_id]);
    wait_until("it waits again", || count(&scratch, "waiting") == 2);
    first.signal("KILL");
    scratch.wait_for("held-b");
    assert!(!scratch.path("held-c").exists());
    let_go(&scratch, "b");
    ends_with(again, 0);
    let_go(&scratch, "c");
    ends_with(third, 0);
}

#[test]
fn who_waits_goes_on_waiting_when_a_killed_run_is_resumed() {
    let scratch = Scratch::new("group-queue-one-resumed");
    let file = flow(&scratch, "queue-one");
    let first = start(&scratch, &file, "a");
    scratch.wait_for("held-a");
    let first_id = last_run_id(&scratch);
    first.signal("KILL");
    let second = start(&scratch, &file, "b");
    scratch.wait_for("held-b");
    let third = start(&scratch, &file, "c");
    wait_until("the third waits", || count(&scratch, "waiting") == 1);
    let again = scratch.start(&["resume", &first_id]);
    wait_until("both wait", || count(&scratch, "waiting") == 2);
    // Who waits looks several times before the second lets go.
    ends_with(start(&scratch, &file, "d"), 5);
    for who in ["a", "b", "c"] {
        let_go(&scratch, who);
    }
    ends_with(second, 0);
    ends_with(again, 0);
    ends_with(third, 0);
}

#[test]
fn the_name_of_a_group_needs_params_that_there_are() {
    let scratch = Scratch::new("group-wrong");
    let text = "
concurrency: { group: 'x-{{ params.nope }}-{{ flows.a.stdout }}', busy: never }
flow: [{ name: a, run: 'true' }]
";
    let output = scratch.run(&["validate", &scratch.file("flow.yaml", text)]);
    let said = stderr(&output) + &stdout(&output);
    for problem in ["no param `nope`", "it can only use params", "queue-all"] {
        assert!(said.contains(problem), "{problem}: {said}");
    }
}
