//! Every row of the published tables of failures and skips, played on the scheduler.

use std::sync::Arc;

use crate::common::{Bare, starts};
use tidewheel_core::decision::Outputs;
use tidewheel_core::graph::Graph;
use tidewheel_core::input::{Command, Outcome};
use tidewheel_core::policy::failure::{Fate, Row, truth_table};
use tidewheel_core::policy::skip;
use tidewheel_core::row::RunResult;
use tidewheel_core::spec::{Config, Profile, RunOptions, RunSpec};
use tidewheel_core::task::{Reason, TaskState};
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

/// A is skipped by its condition, b waits for it, and c for b.
#[test]
fn the_scheduler_does_what_each_row_of_skips_says() {
    for row in skip::truth_table() {
        let graph = Graph::numbered(3, [(0, 1), (1, 2)]).expect("there is no cycle");
        let options = RunOptions { on_skip: row.run_default, ..RunOptions::default() };
        let mut spec = RunSpec::new(Arc::new(graph), options, Profile::default());
        let says = |on_skip| Arc::new(Profile { on_skip, ..Profile::default() });
        // Whatever c hears, it says the same of itself: a word is heard as far down as skips go.
        let last = says(Some(skip::OnSkip::Continue));
        spec.profiles = vec![says(row.skipped_own), says(row.dependent_own), last];
        spec.profile_of = vec![0, 1, 2];
        let mut bare = Bare::new(Config::default());
        let outputs = bare.ask(Command::SubmitRun { id: RunId(1), spec: Arc::new(spec) });
        let a = starts(&outputs).next().expect("a starts");
        let outputs = bare.end_with(a, Outcome::Skipped);
        let next = starts(&outputs).next().expect("b or c starts");
        assert_eq!(next.id.index, if row.runs { 1 } else { 2 }, "{row:?}");
        if !row.runs {
            let b = bare.scheduler.task(TaskKey { run: a.task.run, index: 1 }).expect("it is live");
            assert_eq!((b.state, b.reason), (TaskState::Skipped, Reason::DependencyDeclined(0)));
        }
    }
}
