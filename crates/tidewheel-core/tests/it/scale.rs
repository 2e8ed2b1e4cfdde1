//! Large graphs and long queues: no recursion, no sweep, no cliff.
//!
//! How fast it is, is measured by `tidewheel bench`; here it only has to come to its end.

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::graph::Graph;
use tidewheel_core::policy::Priority;
use tidewheel_core::report::RunReport;
use tidewheel_core::spec::{
    Addition, Config, LimitSpec, Profile, QueueSpec, RunOptions, RunSpec, TaskSpec,
};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::{Moment, Now};
use tidewheel_core::{
    Action, Command, Decision, Event, Input, Outcome, RunId, Scheduler, Start, Submission, TaskKey,
};

const MANY: u32 = 100_000;

fn added(name: u32, after: Vec<u32>, before: Vec<u32>) -> TaskSpec {
    TaskSpec {
        name: format!("added {name}").into(),
        after,
        before,
        condition: None,
        membership: tidewheel_core::group::Membership::default(),
        profile: Arc::default(),
        estimate: None,
        key: None,
        deadline: None,
        payload: None,
    }
}

/// A scheduler whose attempts end as soon as they start.
struct Bench {
    scheduler: Scheduler,
    decision: Decision,
    now: Now,
    started: Vec<Start>,
    stopped: Vec<TaskKey>,
    report: Option<RunReport>,
}

impl Bench {
    fn new(slots: u32) -> Self {
        Self {
            scheduler: Scheduler::new(Config { slots: Some(slots), ..Config::default() }),
            decision: Decision::volatile(),
            now: Now::default(),
            started: Vec::new(),
            stopped: Vec::new(),
            report: None,
        }
    }

    fn step(&mut self, input: Input) {
        self.scheduler.step(self.now, input, &mut self.decision);
        let stored = self.decision.commit(|changes| Ok::<_, ()>(changes.stored()));
        for action in stored.expect("nothing refuses it").actions.drain(..) {
            match action {
                Action::StartAttempt(start) => self.started.push(start),
                Action::StopAttempt { task, .. } => self.stopped.push(task),
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

    fn add(&mut self, name: u32, after: Vec<u32>, before: Vec<u32>) {
        let run = self.scheduler.find_run(RunId(1)).expect("the run is live");
        let task = added(name, after, before);
        self.step(Input::Command(Command::AddTasks { run, addition: task.into() }));
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

/// A step that finds out what there is to do puts it before the step that collects the results.
#[test]
fn a_task_waits_for_100_000_that_were_put_before_it() {
    for in_a_chain in [false, true] {
        let mut bench = Bench::new(16);
        bench.submit(Graph::numbered(2, [(0, 1)]).expect("a graph"));
        for number in 0..MANY {
            // In a chain each waits for one that waits itself, so that a cycle must be looked for.
            let after = if in_a_chain && number > 0 { 1 + number } else { 0 };
            bench.add(number, vec![after], vec![1]);
        }
        bench.scheduler.check();
        let order = bench.play(|_| Outcome::Succeeded);
        assert_eq!(
            (order.len() as u32, order.first(), order.last()),
            (MANY + 2, Some(&0), Some(&1))
        );
        let counts = bench.report.map(|report| report.counts.of(TaskState::Succeeded));
        assert_eq!(counts, Some(MANY + 2));
    }
}

#[test]
fn a_failure_before_a_task_that_waits_for_many_skips_it_once() {
    let mut bench = Bench::new(16);
    bench.submit(Graph::numbered(3, [(0, 1), (1, 2)]).expect("a graph"));
    for number in 0..MANY {
        bench.add(number, Vec::new(), vec![1]);
    }
    bench.play(|index| if index > 2 { Outcome::Failed(Box::default()) } else { Outcome::Skipped });
    let report = bench.report.expect("the run has ended");
    assert_eq!(report.counts.of(TaskState::Failed), MANY);
    assert_eq!(report.counts.of(TaskState::Skipped), 3);
}

/// A task may look for something every second for days: nothing of that piles up.
#[test]
fn a_task_postponed_100_000_times_costs_nothing() {
    let mut bench = Bench::new(1);
    bench.decision = Decision::new();
    bench.submit(Graph::numbered(1, []).expect("a graph"));
    for number in 1..=MANY {
        let Start { task, attempt, .. } = bench.started.pop().expect("it was started again");
        assert_eq!(attempt, number);
        let outcome = Outcome::Postponed(Duration::from_secs(1));
        bench.step(Input::Event(Event::AttemptEnded { task, attempt, outcome }));
        bench.now.monotonic = bench.now.monotonic.after(Duration::from_secs(1));
        bench.step(Input::Event(Event::TimePassed));
        assert!(bench.scheduler.overview(bench.now).timers == 0 && bench.started.len() == 1);
    }
    bench.scheduler.check();
    let total = bench.scheduler.overview(bench.now).total;
    assert_eq!((total.postponed, total.run_time.count()), (u64::from(MANY), 0));
    let Start { task, attempt, .. } = bench.started[0];
    bench.step(Input::Event(Event::AttemptEnded { task, attempt, outcome: Outcome::Succeeded }));
    let report = bench.report.and_then(|report| report.task(0)).expect("the run has ended");
    assert_eq!((report.state, report.attempts), (TaskState::Succeeded, MANY + 1));
}

#[test]
fn a_wait_without_end_is_a_wait() {
    let mut bench = Bench::new(1);
    bench.submit(Graph::numbered(1, []).expect("a graph"));
    let Start { task, attempt, .. } = bench.started.pop().expect("it was started");
    let outcome = Outcome::Postponed(Duration::MAX);
    bench.step(Input::Event(Event::AttemptEnded { task, attempt, outcome }));
    bench.now.monotonic = bench.now.monotonic.after(Duration::from_secs(1 << 33));
    bench.step(Input::Event(Event::TimePassed));
    bench.scheduler.check();
    assert!(bench.started.is_empty());
    let waits = bench.scheduler.task(task).map(|task| (task.state, task.reason));
    assert_eq!(waits, Some((TaskState::Delayed, Reason::Postponed)));
}

#[test]
fn a_long_queue_is_served_by_priority_and_age() {
    let mut bench = Bench::new(1);
    bench.step(Input::Command(Command::Pause));
    let profile = bench.scheduler.profile(&Profile::default()).expect("the default queue is there");
    // Below what ageing makes critical, where another rule holds.
    let priority = |number: u32| (number.wrapping_mul(2_654_435_761) >> 25) % 51;
    let has_waited = |number: u32| number < MANY / 2;
    for number in 0..MANY {
        if !has_waited(number) {
            bench.now.monotonic = Moment::from_millis(20_000);
        }
        let submission = Submission {
            id: RunId(u128::from(number)),
            profile,
            priority: Priority::new(i64::from(priority(number))),
            ..Submission::default()
        };
        bench.step(Input::Command(Command::Submit(submission)));
    }
    // Twenty seconds are four sixths of the starvation timeout: forty points.
    let effective = |number: u32| priority(number) + if has_waited(number) { 40 } else { 0 };
    let mut wanted: Vec<u32> = (0..MANY).collect();
    wanted.sort_by_key(|&number| std::cmp::Reverse(effective(number)));
    bench.step(Input::Command(Command::Resume));
    bench.play(|_| Outcome::Succeeded);
    let served = bench.started.iter().map(|start| start.id.run.0 as u32);
    assert!(served.eq(wanted));
}

#[test]
fn options_that_all_differ_are_found_and_forgotten() {
    let mut bench = Bench::new(1);
    bench.step(Input::Command(Command::Pause));
    for number in 0..MANY {
        let attempt_timeout = Some(Duration::from_millis(u64::from(number)));
        let profile = Profile { attempt_timeout, ..Profile::default() };
        let profile = bench.scheduler.profile(&profile).expect("the default queue is there");
        let id = RunId(u128::from(number));
        let submission = Submission { id, profile, ..Submission::default() };
        bench.step(Input::Command(Command::Submit(submission)));
    }
    bench.scheduler.check();
    bench.step(Input::Command(Command::Resume));
    bench.play(|_| Outcome::Succeeded);
    assert!(bench.started.iter().zip(0..).all(|(start, number)| {
        start.timeout == Some(Duration::from_millis(number)) && start.id.run.0 == u128::from(number)
    }));
    bench.scheduler.check();
}

/// A place in each of them for every rank would be ten gigabytes.
#[test]
fn tasks_of_a_run_that_are_all_treated_differently_and_take_differently_long_are_accepted() {
    const TASKS: u32 = 36_000;
    let mut bench = Bench::new(1);
    let (name, spec) = (Arc::from("bytes"), LimitSpec::Units(u32::MAX));
    bench.step(Input::Command(Command::DefineLimit { name, spec }));
    let graph = Graph::numbered(TASKS, []).expect("it is a graph");
    let graph = graph.with_estimates(|index| Duration::from_secs(u64::from(index) + 1));
    let options = RunOptions { keep_open: true, ..RunOptions::default() };
    let mut spec = RunSpec::new(Arc::new(graph), options, Profile::default());
    let treated = |index: u32| {
        let limits = vec![(Arc::from("bytes"), index + 1)];
        Arc::new(Profile { limits, ..Profile::default() })
    };
    spec.profiles = (0..TASKS).map(treated).collect();
    spec.profile_of = (0..TASKS).map(|index| index as u16).collect();
    bench.step(Input::Command(Command::SubmitRun { id: RunId(1), spec: Arc::new(spec) }));
    bench.add(0, Vec::new(), Vec::new());
    for index in (TASKS - 10..TASKS).rev() {
        let Start { task, attempt, .. } = bench.started.pop().expect("one at a time");
        assert_eq!(task.index, index);
        let outcome = Outcome::Succeeded;
        bench.step(Input::Event(Event::AttemptEnded { task, attempt, outcome }));
    }
    bench.scheduler.check();
}

#[test]
fn who_gives_way_among_100_000_is_known_without_looking_at_them() {
    let mut bench = Bench::new(MANY);
    let name: Arc<str> = "default".into();
    let spec = QueueSpec { preempt: true, ..QueueSpec::default() };
    bench.step(Input::Command(Command::DefineQueue { name, spec }));
    let submit = |bench: &mut Bench, number: u32, priority: i64| {
        let id = RunId(u128::from(number));
        let priority = Priority::new(priority);
        let submission = Submission { id, priority, ..Submission::default() };
        bench.step(Input::Command(Command::Submit(submission)));
    };
    (0..MANY).for_each(|number| submit(&mut bench, number, i64::from(number % 50)));
    bench.scheduler.check();
    // Each important task takes the place of one; looking at all of them would be 10^9 looks.
    for number in 0..MANY / 10 {
        submit(&mut bench, MANY + number, 90);
        let stopped = bench.stopped.pop().expect("one of them gives way");
        let least = bench.scheduler.id_of(stopped).map(|id| id.run.0 % 50);
        assert_eq!(least, Some(u128::from(number / (MANY / 50))));
        let event = Event::AttemptEnded { task: stopped, attempt: 1, outcome: Outcome::Cancelled };
        bench.step(Input::Event(event));
        assert_eq!(bench.started.len() as u32, MANY + number + 1);
    }
    bench.scheduler.check();
}

#[test]
fn an_attempt_adds_100_000_tasks_in_one_decision() {
    let mut bench = Bench::new(4);
    bench.submit(Graph::from_edges([("list", "sum"), ("sum", "report")]).expect("it is a graph"));
    let start = bench.started.pop().expect("the first task starts");
    // Each but the first waits for the one before it; all are waited for.
    let after = |place: u32| match place {
        0 => vec![0],
        _ => vec![Addition::FIRST + place - 1],
    };
    let tasks = (0..MANY).map(|place| added(place, after(place), vec![1])).collect();
    let outcome = Outcome::Expanded(Box::new(Addition { tasks, passes_over_known: false }));
    let (task, attempt) = (start.task, start.attempt);
    let mut decision = Decision::new();
    let event = Input::Event(Event::AttemptEnded { task, attempt, outcome });
    bench.scheduler.step(bench.now, event, &mut decision);
    // A row for each of them, one for the end of the first task, one for the start of the next.
    assert_eq!(decision.changes().len() as u32, MANY + 2);
    let stored = decision.commit(|changes| Ok::<_, ()>(changes.stored()));
    let started = &stored.expect("nothing refuses it").actions;
    let [Action::StartAttempt(start)] = started[..] else { panic!("{started:?}") };
    bench.started.push(start);
    bench.scheduler.check();
    let order = bench.play(|_| Outcome::Succeeded);
    assert!(order.into_iter().eq((3..MANY + 3).chain([1, 2])));
    assert!(bench.report.is_some());
}
