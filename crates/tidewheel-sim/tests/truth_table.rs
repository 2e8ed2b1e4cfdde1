//! Every row of the published table of failure policies, played on the scheduler.

mod common;

use std::sync::Arc;

use common::{Bare, starts};
use tidewheel_core::decision::Outputs;
use tidewheel_core::graph::Graph;
use tidewheel_core::input::Command;
use tidewheel_core::policy::failure::{Fate, Row, truth_table};
use tidewheel_core::row::RunResult;
use tidewheel_core::spec::{Config, Profile, RunOptions, RunSpec};
use tidewheel_core::task::TaskState;
use tidewheel_core::{RunId, TaskKey};

/// The tasks: a fails, b waits for it; x runs meanwhile, y waits for x.
const A: u32 = 0;
const X: u32 = 1;
const Y: u32 = 2;
const B: u32 = 3;

#[test]
fn the_scheduler_does_what_each_row_says() {
    for row in truth_table() {
        play(row, false);
        play(row, true);
    }
}

/// B's word is given as its `on_dependency_error`, or as the one word for both sides.
fn play(row: Row, apart: bool) {
    let mut edges = vec![(X, Y)];
    if row.dependent.is_some() {
        edges.push((A, B));
    }
    let count = if row.dependent.is_some() { 4 } else { 3 };
    let graph = Arc::new(Graph::numbered(count, edges).expect("there is no cycle"));
    let options = RunOptions { on_error: row.run_default, ..RunOptions::default() };
    let mut spec = RunSpec::new(graph, options, Profile::default());
    let own = row.dependent.flatten();
    spec.profiles.push(Arc::new(Profile { on_error: row.failed_own, ..Profile::default() }));
    spec.profiles.push(Arc::new(if apart {
        Profile { on_dependency_error: own, ..Profile::default() }
    } else {
        Profile { on_error: own, ..Profile::default() }
    }));
    spec.profile_of = vec![1, 0, 0, 2];
    spec.profile_of.truncate(count as usize);

    let mut bare = Bare::new(Config::default());
    let outputs = bare.ask(Command::SubmitRun { id: RunId(1), spec: Arc::new(spec) });
    let first: Vec<_> = starts(&outputs).collect();
    assert_eq!(first.iter().map(|start| start.id.index).collect::<Vec<_>>(), [A, X], "{row:?}");
    let run = first[0].task.run;

    let outputs = bare.end(first[0], true);
    let after_a: Vec<_> = starts(&outputs).collect();
    let runs = after_a.iter().any(|start| start.id.index == B);
    assert_eq!(runs, row.fate == Some(Fate::Runs), "{row:?}");
    if row.fate == Some(Fate::Skipped) {
        let b = bare.scheduler.task(TaskKey { run, index: B }).expect("the run is live");
        assert_eq!(b.state, TaskState::Skipped, "{row:?}");
    }

    let mut outputs: Outputs = bare.end(first[1], false);
    let mut open: Vec<_> = after_a.into_iter().chain(starts(&outputs)).collect();
    let others = open.iter().any(|start| start.id.index == Y);
    assert_eq!(others, row.others_go_on, "{row:?}");
    while let Some(start) = open.pop() {
        outputs = bare.end(start, false);
        open.extend(starts(&outputs));
    }
    let report = bare.scheduler.take_report(run).expect("the run has ended");
    let succeeded = report.result == RunResult::Succeeded;
    assert_eq!(succeeded, row.run_succeeds, "{row:?}: {:?}", report.result);
}
