//! The check of flows sees what is missing, what is too much and what is wrong.

use tidewheel::{RunId, TaskState};

use super::check::{Duty, Kind, Stored, StoredRun, StoredTask};
use super::flow::{StoredFlow, check, expected};

const RUN: &str = "00000000-0000-0000-0000-000000000001";

/// A flow of which everything was done, and the ledger of it.
fn done() -> (StoredFlow, String) {
    let (mut tasks, mut ledger) = (Vec::new(), String::new());
    let mut left = std::collections::BTreeMap::new();
    for (index, (name, (duty, value))) in (0..).zip(expected()) {
        if duty == Duty::Work {
            let words = format!("{RUN} {index} 1 7");
            ledger.push_str(&format!("start {words}\nend {words}\n"));
        }
        let state = if duty == Duty::Never { TaskState::Skipped } else { TaskState::Succeeded };
        let after = Vec::new();
        tasks.push(StoredTask {
            index,
            name,
            duty,
            after,
            state,
            attempts: 1,
            at_most_once: false,
        });
        left.extend(value.map(|value| (index, value)));
    }
    let runs = vec![StoredRun { id: RunId(1), is_live: false, tasks }];
    (StoredFlow { stored: Stored { runs, ..Stored::default() }, left }, ledger)
}

#[track_caller]
fn assert_finds(change: impl FnOnce(&mut StoredFlow, &mut String), kind: Kind, words: &str) {
    let (mut flow, mut ledger) = done();
    change(&mut flow, &mut ledger);
    let found = check(&ledger, &flow).violations;
    assert!(found.iter().any(|it| it.kind == kind && it.what.contains(words)), "{found:?}");
}

fn index_of(flow: &StoredFlow, name: &str) -> usize {
    flow.stored.runs[0].tasks.iter().position(|task| task.name == name).expect("it is there")
}

#[test]
fn what_is_done_is_fine() {
    let (flow, ledger) = done();
    let verdict = check(&ledger, &flow);
    assert_eq!(verdict.violations, []);
    assert!(verdict.attempts > 20);
}

#[test]
fn everything_that_can_be_lost_is_missed() {
    assert_finds(|flow, _| flow.stored.runs.clear(), Kind::Lost, "0 runs");
    let unnamed = |flow: &mut StoredFlow, _: &mut String| {
        let element = index_of(flow, "each[3]");
        flow.stored.runs[0].tasks[element].name = "each[99]".to_owned();
    };
    assert_finds(unnamed, Kind::Lost, "no task `each[3]`");
    assert_finds(unnamed, Kind::Doubled, "a task `each[99]`");
    let forgotten = |flow: &mut StoredFlow, _: &mut String| {
        let task = index_of(flow, "call[1]/add");
        flow.left.remove(&(task as u32));
    };
    assert_finds(forgotten, Kind::Lost, "`call[1]/add` left None");
    assert_finds(|_, ledger| ledger.clear(), Kind::Lost, "which did not do it");
}

#[test]
fn what_must_not_be_is_seen() {
    let mourned = |flow: &mut StoredFlow, ledger: &mut String| {
        let words = format!("{RUN} {} 1 7", index_of(flow, "mourn"));
        ledger.push_str(&format!("start {words}\nend {words}\n"));
    };
    assert_finds(mourned, Kind::Broken, "(`mourn`)");
    let twice = |flow: &mut StoredFlow, ledger: &mut String| {
        ledger.push_str(&format!("start {RUN} {} 1 7\n", index_of(flow, "cheer")));
    };
    assert_finds(twice, Kind::Doubled, "attempt 1 started twice");
    let two = |flow: &mut StoredFlow, _: &mut String| {
        let mut second = flow.stored.runs[0].clone();
        second.id = RunId(2);
        flow.stored.runs.push(second);
    };
    assert_finds(two, Kind::Doubled, "2 runs");
}
