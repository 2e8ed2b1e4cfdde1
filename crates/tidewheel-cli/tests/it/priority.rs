//! `tidewheel priority`: what it shows is what then happens, here and at a server.

use crate::common::{Scratch, stderr, stdout, wait_until};
use serde_json::Value as Json;

/// Steps that wait for the only slot, which the first has until a file is there.
const LINE: &str = "
name: line
flow:
  - { name: hold, run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: x, run: 'echo x >> order' }
  - { name: y, run: 'echo y >> order' }
  - { name: low, run: 'echo low >> order', priority: 10 }
";

fn steps(order: &Json) -> Vec<&str> {
    order.as_array().unwrap().iter().map(|it| it["step"].as_str().unwrap()).collect()
}

#[test]
fn a_dry_run_shows_the_order_and_the_change_makes_it_so() {
    let scratch = Scratch::new("priority-order");
    let file = scratch.file("flow.yaml", LINE);
    let running = scratch.start(&["run", &file, "--max-workers", "1"]);
    scratch.wait_for("started");
    let shown = scratch.json(&["priority", "last", "y", "high", "--dry-run"]);
    assert_eq!(steps(&shown["before"]), ["x", "y", "low"]);
    assert_eq!(steps(&shown["after"]), ["y", "x", "low"]);
    assert_eq!((&shown["step"], &shown["priority"]), (&"y".into(), &80.into()));
    assert_eq!(
        (&shown["after"][0]["changed"], &shown["after"][1]["changed"]),
        (&true.into(), &false.into())
    );
    let again = scratch.json(&["priority", "last", "5", "--dry-run"]);
    assert_eq!(steps(&again["before"]), ["x", "y", "low"], "nothing was changed");
    assert_eq!(steps(&again["after"]), ["low", "x", "y"], "it was given its own priority");
    let told = scratch.run(&["priority", "last", "y", "high", "--dry-run"]);
    assert!(stdout(&told).contains("1  2    line  y     50 -> 80"), "{}", stdout(&told));

    let changed = scratch.json(&["priority", "last", "y", "80"]);
    assert_eq!((&changed["step"], &changed["heard"]), (&"y".into(), &true.into()));
    let said = scratch.run(&["priority", "last", "background"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    assert!(stdout(&said).ends_with(": priority 0\n"), "{}", stdout(&said));
    let nobody = scratch.run(&["priority", "last", "z", "80"]);
    assert_eq!(nobody.status.code(), Some(4), "{}", stderr(&nobody));
    for wrong in ["101", "-1", "soon"] {
        let output = scratch.run(&["priority", "last", "--", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", stderr(&output));
    }
    scratch.file("go", "");
    let output = running.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(scratch.path("order")).unwrap(), "y\nlow\nx\n");
    let late = scratch.run(&["priority", "last", "high"]);
    assert_eq!(late.status.code(), Some(5), "{}", stderr(&late));
}

#[test]
fn who_does_not_answer_is_not_waited_for_for_ever() {
    let scratch = Scratch::new("priority-frozen");
    let file = scratch.file("flow.yaml", LINE);
    let running = scratch.start(&["run", &file, "--max-workers", "1"]);
    scratch.wait_for("started");
    running.signal("STOP");
    let preview = scratch.run(&["priority", "last", "high", "--dry-run"]);
    assert_eq!(preview.status.code(), Some(5), "{}", stderr(&preview));
    assert!(stderr(&preview).contains("does not answer"), "{}", stderr(&preview));
    let asked = scratch.run(&["priority", "last", "y", "high"]);
    assert_eq!(asked.status.code(), Some(5), "{}", stderr(&asked));
    assert!(stdout(&asked).contains("has not answered yet"), "{}", stdout(&asked));
    running.signal("CONT");
    let is_raised = || {
        let shown = scratch.json(&["priority", "last", "50", "--dry-run"]);
        shown["before"][0]["step"] == "y"
    };
    wait_until("what was left was followed", is_raised);
    scratch.file("go", "");
    assert_eq!(running.output().status.code(), Some(0));
}
