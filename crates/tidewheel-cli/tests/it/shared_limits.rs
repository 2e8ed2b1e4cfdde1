//! Limits that several `tidewheel run` on one data folder share.
//!
//! What ran beside what is read from a file that the steps append to, never from the clock.

use crate::common::{Running, Scratch, stderr, stdout, wait_until};

/// The most steps that were between their `+` and their `-` at once, and how many there were.
fn overlap(ledger: &str) -> (usize, usize) {
    let (mut now, mut most) = (0_usize, 0);
    for mark in ledger.chars() {
        match mark {
            '+' => now += 1,
            _ => now -= 1,
        }
        most = most.max(now);
    }
    assert_eq!(now, 0, "{ledger}");
    (most, ledger.len() / 2)
}

/// A flow whose only step says that it runs and then stays until it is killed, or let go.
fn holder(scratch: &Scratch, units: u32) -> String {
    let text = format!(
        "
limits: {{ db: {{ units: {units}, shared: true }} }}
flow:
  - name: hold
    limits: db
    run: |
      echo $$ > held.new; mv held.new held
      until test -e go; do sleep 0.01; done
"
    );
    scratch.file("holder.yaml", &text)
}

fn last_run_id(scratch: &Scratch) -> String {
    scratch.json(&["runs"])["runs"][0]["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn units_are_those_of_all_runs_in_the_folder() {
    let scratch = Scratch::new("shared-many");
    // sleeps: the longer a step has its units, the surer an overlap shows; nothing waits for it.
    let file = scratch.file(
        "flow.yaml",
        "
limits: { db: { units: 2, shared: true } }
flow:
  - name: work
    foreach: [1, 2, 3, 4]
    limits: db
    run: printf + >> ledger; sleep 0.02; printf - >> ledger
",
    );
    let runs: Vec<Running> = (0..5).map(|_| scratch.start(&["run", &file, "-q"])).collect();
    for run in runs {
        let output = run.output();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let (most, count) = overlap(&scratch.read("ledger"));
    assert!(most <= 2, "{most} at once");
    assert_eq!(count, 20);
}

#[test]
fn units_of_a_killed_process_come_back_when_its_children_have_ended() {
    let scratch = Scratch::new("shared-killed");
    let first = scratch.start(&["run", &holder(&scratch, 1)]);
    scratch.wait_for("held");
    let held_by = last_run_id(&scratch);
    let file = scratch.file(
        "next.yaml",
        "
limits: { db: { units: 1, shared: true } }
flow: [{ name: next, limits: db, run: 'if kill -0 $(cat held) 2>/dev/null; then exit 9; fi' }]
",
    );
    let second = scratch.start(&["run", &file]);
    wait_until("the second run waits and says for whom", || {
        let output = scratch.run(&["explain", "last"]);
        let text = stdout(&output);
        text.contains("the shared limit `db`, 1 of 1, held by `run")
            && text.contains(&held_by[..13])
    });
    first.signal("KILL");
    let output = second.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn who_contradicts_a_living_run_is_refused_and_told_by_whom() {
    let scratch = Scratch::new("shared-contradiction");
    let first = scratch.start(&["run", &holder(&scratch, 2)]);
    scratch.wait_for("held");
    let held_by = last_run_id(&scratch);
    let other =
        "limits: { db: { units: 3, shared: true } }\nflow: [{ name: a, limits: db, run: 'true' }]";
    let file = scratch.file("other.yaml", other);
    let refused = scratch.run(&["run", &file]);
    assert_ne!(refused.status.code(), Some(0));
    let text = stderr(&refused);
    assert!(text.contains("`db` is to have 3 units here, but has 2 in run"), "{text}");
    assert!(text.contains(&held_by), "{text}");
    scratch.file("go", "");
    assert_eq!(first.output().status.code(), Some(0));
    // Nobody uses it any more.
    let output = scratch.run(&["run", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn only_units_can_be_shared() {
    let scratch = Scratch::new("shared-rate");
    let text = "limits: { api: { rate: 5/1s, shared: true } }\nflow: [{ name: a, run: 'true' }]";
    let output = scratch.run(&["validate", &scratch.file("flow.yaml", text)]);
    assert!(stderr(&output).contains("only a limit in units can be shared"), "{}", stderr(&output));
}
