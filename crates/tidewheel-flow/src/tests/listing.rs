//! Tasks of runs as they are listed for people.

use tidewheel::store::{RunDetail, RunKind, RunSummary, TaskSummary};
use tidewheel::task::Reason;
use tidewheel::{RunId, TaskState, Timestamp};

use super::load_texts;
use crate::{is_spare, listed, tolerated};

const FLOW: &str = "
flow:
  - { name: optional, run: exit 1, on_error: continue }
  - { name: needed, run: exit 1 }
  - { name: call, flow: child.yaml, on_error: continue }
  - { name: each, foreach: [1, 2], run: exit 1, on_error: skip }
  - { name: strict, depends_on: [each], run: 'true', on_dependency_error: fail }
";
const CHILD: &str = "flow: [{ name: push, run: exit 1 }]\n";

pub(super) fn run(state: TaskState, tasks: &[(&str, TaskState, Reason)]) -> RunDetail {
    let task = |(index, (name, state, reason)): (u32, &(&str, TaskState, Reason))| TaskSummary {
        index,
        name: (*name).to_owned(),
        after: Vec::new(),
        state: *state,
        reason: *reason,
        attempts: 1,
        started_at: None,
        at: None,
        until: None,
        error: None,
    };
    RunDetail {
        tasks: (0..).zip(tasks).map(task).collect(),
        summary: RunSummary {
            id: RunId::default(),
            place: 0,
            kind: RunKind::Run,
            name: None,
            state,
            reason: Reason::Ordinary,
            is_live: false,
            is_paused: false,
            shard: None,
            accepted_at: Timestamp::UNIX_EPOCH,
            started_at: None,
            ended_at: None,
            tasks: 0,
            failed: 0,
            attempts: 0,
            error: None,
            priority: None,
            key: None,
            firing: None,
        },
        payload: None,
        payload_kind: None,
    }
}

fn tolerated_names(run: &RunDetail) -> Vec<&str> {
    let loaded = load_texts(&[("flow.yaml", FLOW), ("child.yaml", CHILD)]);
    let flow = loaded.runnable().expect("a flow");
    let indices = tolerated(run, Some(flow));
    indices.iter().map(|index| run.tasks[*index as usize].name.as_str()).collect()
}

const FAILED: (TaskState, Reason) = (TaskState::Failed, Reason::Error);

#[test]
fn failures_are_tolerated_by_the_word_of_their_step_or_of_one_that_calls_it() {
    let names = ["optional", "needed", "call/push", "call", "each[0]", "each"];
    let run = run(TaskState::Failed, &names.map(|name| (name, FAILED.0, FAILED.1)));
    assert_eq!(tolerated_names(&run), ["optional", "call/push", "call", "each[0]", "each"]);
}

#[test]
fn the_failure_that_stopped_the_run_was_not_tolerated() {
    let skipped = (TaskState::Skipped, Reason::RunStopped(1));
    let run = run(
        TaskState::Failed,
        &[
            ("each[0]", FAILED.0, FAILED.1),
            ("each", FAILED.0, FAILED.1),
            ("strict", skipped.0, skipped.1),
            ("optional", FAILED.0, FAILED.1),
        ],
    );
    assert_eq!(tolerated_names(&run), ["optional"]);
}

#[test]
fn every_failure_of_a_run_that_succeeded_was_tolerated() {
    let run = run(TaskState::Succeeded, &[("a", FAILED.0, FAILED.1)]);
    assert_eq!(tolerated(&run, None).into_iter().collect::<Vec<_>>(), [0]);
}

#[test]
fn elements_found_late_are_listed_beside_their_step_in_their_order() {
    let tasks = [
        "list",
        "each[]",
        "each",
        "last",
        "each[10]",
        "each[2]/in[]",
        "each[2]/in",
        "each[2]",
        "known[0]",
        "each[2]/in[1]",
        "each[2]/in[0]",
    ];
    let run = run(TaskState::Succeeded, &tasks.map(|name| (name, FAILED.0, FAILED.1)));
    let names: Vec<&str> = listed(&run.tasks).into_iter().map(|task| task.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "list",
            "each[]",
            "each[2]/in[]",
            "each[2]/in[0]",
            "each[2]/in[1]",
            "each[2]/in",
            "each[2]",
            "each[10]",
            "each",
            "last",
            "known[0]",
        ]
    );
}

#[test]
fn tries_stand_beside_each_other_and_only_the_last_one_counts() {
    use TaskState::{Failed, Skipped, Succeeded};

    let text = "
flow:
  - { name: g, retry: { retries: 2 }, steps: [{ name: a, run: x }] }
  - { name: end, run: x, on_error: continue }
";
    let tasks = [
        ("g/a", Failed),
        ("g{1}", Failed),
        ("g{2}[]", Succeeded),
        ("g{2}", Failed),
        ("g{3}[]", Skipped),
        ("g{3}", Skipped),
        ("g", Failed),
        ("end", Succeeded),
        ("g{2}/a", Failed),
    ];
    let run = run(Failed, &tasks.map(|(name, state)| (name, state, Reason::Error)));
    let listed: Vec<&str> =
        listed(&run.tasks).into_iter().filter(|it| !is_spare(it)).map(|it| &*it.name).collect();
    assert_eq!(listed, ["g/a", "g{1}", "g{2}[]", "g{2}/a", "g{2}", "g", "end"]);
    let loaded = load_texts(&[("flow.yaml", text)]);
    let flow = loaded.runnable().expect("a flow");
    let found = tolerated(&run, Some(flow));
    let names: Vec<&str> = found.iter().map(|it| &*run.tasks[*it as usize].name).collect();
    // The third was not begun: somebody stopped the run.
    assert_eq!(names, ["g/a", "g{1}"]);
    // While it goes on, nobody knows that.
    for (task, is_tolerated) in [("g{2}/a", true), ("g{2}", true), ("g{3}/a", false), ("g", false)]
    {
        assert_eq!(flow.tolerates_task(task), is_tolerated, "{task}");
    }
}
