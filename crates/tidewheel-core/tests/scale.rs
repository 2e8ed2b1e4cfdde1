//! Large graphs and long queues: no recursion, no sweep, no cliff.
//!
//! How fast it is, is measured by `tidewheel bench`; here it only has to come to its end.

use std::sync::Arc;

use tidewheel_core::graph::Graph;
use tidewheel_core::policy::Priority;
use tidewheel_core::report::RunReport;
use tidewheel_core::spec::{Config, Profile, RunOptions, RunSpec};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::{Moment, Now};
use tidewheel_core::{
    Action, Command, Decision, Event, Input, Outcome, RunId, Scheduler, Start, Submission,
};

const MANY: u32 = 100_000;

/// A scheduler whose attempts end as soon as they start.
struct Bench {
    scheduler: Scheduler,
    decision: Decision,
    now: Now,
    started: Vec<Start>,
    report: Option<RunReport>,
}

impl Bench {
    fn new(slots: u32) -> Self {
        Self {
            scheduler: Scheduler::new(Config { slots: Some(slots), ..Config::default() }),
            decision: Decision::volatile(),
            now: Now::default(),
            started: Vec::new(),
            report: None,
        }
    }

    fn step(&mut self, input: Input) {
        self.scheduler.step(self.now, input, &mut self.decision);
        let proof = self.decision.changes().stored();
        for action in self.decision.committed(proof).actions.drain(..) {
            match action {
                Action::StartAttempt(start) => self.started.push(start),
                Action::RunEnded { run, .. } => self.report = self.scheduler.take_report(run),
                _ => {}
            }
        }
        self.decision.clear();
    }

    fn submit(&mut self, graph: Graph) {
        let options = RunOptions::default();
        let spec = Arc::new(RunSpec::new(Arc::new(graph), options, Profile::default()));
        self.step(Input::Command(Command::SubmitRun { id: RunId(1), spec }));
    }

    /// Ends what was started, in order, until nothing is left; gives the indices in that order.
    fn play(&mut self, outcome: impl Fn(u32) -> Outcome) -> Vec<u32> {
        let mut order = Vec::new();
        let mut next = 0;
        while let Some(&Start { task, attempt, .. }) = self.started.get(next) {
            next += 1;
            order.push(task.index);
            let outcome = outcome(task.index);
            self.step(Input::Event(Event::AttemptEnded { task, attempt, outcome }));
        }
        order
    }
}

fn chain() -> Graph {
    Graph::numbered(MANY, (1..MANY).map(|index| (index - 1, index))).expect("a chain is a graph")
}

#[test]
fn a_chain_of_100_000_runs_in_order() {
    let mut bench = Bench::new(16);
    bench.submit(chain());
    let order = bench.play(|_| Outcome::Succeeded);
    assert!(order.into_iter().eq(0..MANY));
    bench.scheduler.check();
    assert_eq!(bench.report.map(|report| report.counts.of(TaskState::Succeeded)), Some(MANY));
}

#[test]
fn a_failure_at_the_head_of_a_long_chain_skips_all_the_rest() {
    let mut bench = Bench::new(16);
    bench.submit(chain());
    bench.play(|_| Outcome::Failed(Box::default()));
    let report = bench.report.expect("the run has ended");
    assert_eq!(report.counts.of(TaskState::Failed), 1);
    assert_eq!(report.counts.of(TaskState::Skipped), MANY - 1);
    let last = report.task(MANY - 1).map(|task| task.reason);
    assert_eq!(last, Some(Reason::DependencySkipped(MANY - 2)));
}

#[test]
fn a_join_of_100_000_starts_once_after_its_last_dependency() {
    let mut bench = Bench::new(16);
    let edges = (0..MANY).map(|index| (index, MANY));
    bench.submit(Graph::numbered(MANY + 1, edges).expect("a fan is a graph"));
    let order = bench.play(|_| Outcome::Succeeded);
    assert_eq!(order.last(), Some(&MANY));
    assert_eq!(order.len() as u32, MANY + 1);
}

#[test]
fn a_long_queue_is_served_by_priority_and_age() {
    let mut bench = Bench::new(1);
    bench.step(Input::Command(Command::Pause));
    let profile = bench.scheduler.profile(&Profile::default()).expect("the default queue is there");
    for number in 0..MANY {
        let submission = Submission {
            id: RunId(u128::from(number)),
            profile,
            priority: Priority::new(i64::from(number.wrapping_mul(2_654_435_761) >> 25) % 101),
            ..Submission::default()
        };
        bench.step(Input::Command(Command::Submit(submission)));
    }
    let wanted: Vec<u32> = {
        let key = |number: u32| 100 - (number.wrapping_mul(2_654_435_761) >> 25) % 101;
        let mut numbers: Vec<u32> = (0..MANY).collect();
        numbers.sort_by_key(|&number| key(number));
        numbers
    };
    bench.now.monotonic = Moment::from_millis(1);
    bench.step(Input::Command(Command::Resume));
    bench.play(|_| Outcome::Succeeded);
    let served = bench.started.iter().map(|start| start.id.run.0 as u32);
    assert!(served.eq(wanted));
}
