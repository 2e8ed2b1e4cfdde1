//! The statements that commits and lists really run, each explained by SQLite: none goes through a table.
//!
//! They are written down while they run, so that none can be forgotten here.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use tidewheel_core::Scheduler;
use tidewheel_core::decision::{Action, Decision, MakeRun, Start, Tenure};
use tidewheel_core::graph::Graph;
use tidewheel_core::group::Membership;
use tidewheel_core::id::{ProfileId, RunId, RunKey, ScheduleId};
use tidewheel_core::input::{
    CancelMode, Command, Event, Failure, Fires, Input, Outcome, Reply, Submission,
};
use tidewheel_core::policy::{Priority, Retry};
use tidewheel_core::schedule::{ScheduleSpec, Trigger};
use tidewheel_core::spec::{
    Attachment, Config, LimitSpec, OnceKey, Profile, QueueSpec, RunOptions, RunSpec, TaskSpec,
};
use tidewheel_core::task::TaskState;
use tidewheel_core::time::{Moment, Now, Timestamp};

use super::migrations::{MIGRATIONS, migrate};
use super::store::SqliteStore;
use super::tests::{folder, open};
use crate::store::{AttemptRecord, OutputRecord, OutputValue, RunFilter, RunKind, Store as _};

thread_local! {
    static RUN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

fn note(event: TraceEvent<'_>) {
    if let TraceEvent::Stmt(statement, _) = event {
        RUN.with(|run| run.borrow_mut().insert(statement.sql().into_owned()));
    }
}

fn listen(connection: &mut Connection) {
    RUN.with(|run| run.borrow_mut().clear());
    let note: fn(TraceEvent<'_>) = note;
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(note)).unwrap();
}

/// What was run since [`listen`], without what only opens and closes transactions.
fn heard() -> Vec<String> {
    let words = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];
    let run = RUN.with(|run| run.borrow().clone());
    run.into_iter().filter(|sql| words.iter().any(|word| sql.starts_with(word))).collect()
}

/// The steps of a statement that go through a whole table.
fn scans(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let plan = statement.raw_query();
    let plan = plan.mapped(|row| row.get::<_, String>("detail")).map(Result::unwrap);
    // The counter has one row.
    plan.filter(|line| line.starts_with("SCAN") && line != "SCAN counter").collect()
}

/// A scheduler on a store whose statements are heard.
struct Bench {
    store: SqliteStore,
    tenure: Tenure,
    scheduler: Scheduler,
    decision: Decision,
    profile: ProfileId,
    second: u64,
    /// Runs that schedules asked for.
    wanted: Vec<MakeRun>,
}

impl Bench {
    fn new(store: SqliteStore, tenure: Tenure) -> Self {
        let mut scheduler = Scheduler::new(Config { slots: Some(1), ..Config::default() });
        let profile = scheduler.profile(&Profile::default()).unwrap();
        let (decision, wanted) = (Decision::new(), Vec::new());
        Self { store, tenure, scheduler, decision, profile, second: 0, wanted }
    }

    fn turn(&mut self, inputs: Vec<Input>, records: &[AttemptRecord]) -> (Vec<Reply>, Vec<Start>) {
        self.second += 1;
        let now = Now {
            monotonic: Moment::ZERO.after(Duration::from_secs(self.second)),
            wall: Timestamp::from_seconds(1_000_000 + self.second.cast_signed()),
        };
        self.decision.clear();
        for input in inputs {
            self.scheduler.step(now, input, &mut self.decision);
        }
        let records: Vec<_> = records.iter().cloned().map(Arc::new).collect();
        let outputs = self
            .decision
            .commit(|changes| self.store.commit(self.tenure, changes, &records))
            .unwrap();
        let mut starts = Vec::new();
        for action in &outputs.actions {
            match action {
                Action::StartAttempt(start) => starts.push(*start),
                Action::MakeRun(make) => self.wanted.push(*make),
                _ => {}
            }
        }
        (outputs.replies.drain(..).map(Result::unwrap).collect(), starts)
    }

    fn ask(&mut self, command: Command) -> (Reply, Vec<Start>) {
        let (mut replies, starts) = self.turn(vec![Input::Command(command)], &[]);
        (replies.remove(0), starts)
    }

    fn end(&mut self, start: Start, outcome: Outcome) -> Vec<Start> {
        let output = |value| OutputRecord { name: String::from("x"), value };
        let record = AttemptRecord {
            task: start.id,
            attempt: start.attempt,
            code: Some(1),
            outputs: vec![output(OutputValue::Bytes(vec![1]))],
            ..AttemptRecord::default()
        };
        let (task, attempt) = (start.task, start.attempt);
        let event = Event::AttemptEnded { task, attempt, outcome };
        self.turn(vec![Input::Event(event)], &[record]).1
    }

    /// Ends what runs, and whatever follows, until nothing does.
    fn run_out(&mut self, mut starts: Vec<Start>) {
        while let Some(start) = starts.pop() {
            let next = self.end(start, Outcome::Succeeded);
            starts.extend(next);
        }
    }

    fn submission(&self, id: u128) -> Command {
        let attachment = Attachment {
            payload: Some(Arc::from(&b"x"[..])),
            kind: Some(Arc::from("kind")),
            once: Some(OnceKey::new(&id.to_string(), b"x")),
        };
        Command::Submit(Submission {
            id: RunId(id),
            profile: self.profile,
            attachment: Some(Arc::new(attachment)),
            ..Submission::default()
        })
    }
}

fn failed() -> Outcome {
    Outcome::Failed(Box::new(Failure { message: Arc::from("no"), ..Failure::default() }))
}

/// A run whose first task is tried twice, which is added to and paused, and which ends.
fn a_run(bench: &mut Bench) {
    let graph = Graph::from_edges([("a", "b")]).unwrap();
    let options = RunOptions { name: Arc::from("name"), ..RunOptions::default() };
    let profile = Profile { retry: Retry::times(1), ..Profile::default() };
    let mut spec = RunSpec::new(Arc::new(graph), options, profile.clone());
    spec.attachment.once = Some(OnceKey::new("run", b"x"));
    let command = Command::SubmitRun { id: RunId(1), spec: Arc::new(spec) };
    let (reply, starts) = bench.ask(command);
    let run = accepted(reply);
    bench.end(starts[0], failed());
    let task = TaskSpec {
        name: Arc::from("c"),
        after: vec![1],
        before: Vec::new(),
        profile: Arc::new(profile),
        estimate: None,
        key: None,
        deadline: None,
        payload: None,
        condition: None,
        membership: Membership::default(),
    };
    bench.ask(Command::AddTasks { run, addition: task.into() });
    bench.ask(Command::PauseRun(run));
    let (_, mut starts) = bench.ask(Command::ResumeRun(run));
    while starts.is_empty() {
        starts = bench.turn(vec![Input::Event(Event::TimePassed)], &[]).1;
    }
    bench.run_out(starts);
}

fn accepted(reply: Reply) -> RunKey {
    match reply {
        Reply::Accepted(run) => run,
        other => panic!("{other:?}"),
    }
}

/// Submissions that end in their own set, in another, after a retry, and by a cancel.
fn submissions(bench: &mut Bench) {
    let (_, starts) = bench.ask(bench.submission(10));
    let waiting = accepted(bench.ask(bench.submission(11)).0);
    let mode = CancelMode::Stop { grace: Duration::ZERO };
    bench.ask(Command::CancelRun { run: waiting, mode });
    bench.run_out(starts);
    let profile = Profile { retry: Retry::times(1), ..Profile::default() };
    let profile = bench.scheduler.profile(&profile).unwrap();
    let submission = Submission { id: RunId(12), profile, ..Submission::default() };
    let (_, starts) = bench.ask(Command::Submit(submission));
    bench.end(starts[0], failed());
    let mut starts = Vec::new();
    while starts.is_empty() {
        starts = bench.turn(vec![Input::Event(Event::TimePassed)], &[]).1;
    }
    // Accepted while the only slot is taken, and given up.
    let (first, second) = (bench.submission(13), bench.submission(14));
    let (replies, _) = bench.turn(vec![Input::Command(first), Input::Command(second)], &[]);
    let cancel = |run| Input::Command(Command::CancelRun { run, mode });
    let runs: Vec<RunKey> = replies.into_iter().map(accepted).collect();
    bench.turn(runs.into_iter().map(cancel).collect(), &[]);
    bench.run_out(starts);
}

/// Priorities that are changed while work waits: of a submission, of a run, and of a task of it.
fn priorities(bench: &mut Bench) {
    let (_, mut starts) = bench.ask(bench.submission(20));
    let single = accepted(bench.ask(bench.submission(21)).0);
    let graph = Arc::new(Graph::from_edges([("a", "b")]).unwrap());
    let spec = Arc::new(RunSpec::new(graph, RunOptions::default(), Profile::default()));
    let run = accepted(bench.ask(Command::SubmitRun { id: RunId(22), spec }).0);
    for (run, task) in [(single, None), (run, None), (run, Some(1))] {
        let priority = Priority::HIGH;
        starts.extend(bench.ask(Command::SetPriority { run, task, priority }).1);
    }
    bench.run_out(starts);
}

/// A schedule whose firings are runs that its owner makes.
fn firings_that_are_runs(bench: &mut Bench) {
    let spec = Box::new(ScheduleSpec::new(Trigger::every(Duration::from_secs(2))));
    let command = Command::AddSchedule { id: ScheduleId(2), spec, fires: Fires::Run };
    let (Reply::Scheduled(schedule), _) = bench.ask(command) else { panic!("it was refused") };
    while bench.wanted.is_empty() {
        bench.turn(vec![Input::Event(Event::TimePassed)], &[]);
    }
    let make = bench.wanted.remove(0);
    let graph = Arc::new(Graph::from_edges([("a", "b")]).unwrap());
    let spec = Arc::new(RunSpec::new(graph, RunOptions::default(), Profile::default()));
    let command = Command::SubmitFiring { schedule, id: make.run, spec };
    let (_, starts) = bench.ask(command);
    bench.run_out(starts);
    bench.ask(Command::CancelSchedule(schedule));
}

fn definitions(bench: &mut Bench) {
    let name: Arc<str> = Arc::from("other");
    bench.ask(Command::DefineQueue { name: name.clone(), spec: QueueSpec::default() });
    bench.ask(Command::PauseQueue(name.clone()));
    bench.ask(Command::DefineLimit { name, spec: LimitSpec::Units(1) });
    bench.ask(Command::Pause);
    bench.ask(Command::Resume);
    for _ in 0..2 {
        let spec = ScheduleSpec::new(Trigger::every(Duration::from_secs(2)));
        let (id, profile) = (ScheduleId(1), bench.profile);
        let (spec, priority) = (Box::new(spec), Priority::NORMAL);
        let (reply, mut starts) =
            bench.ask(Command::AddSchedule { id, spec, fires: Fires::Task { profile, priority } });
        let Reply::Scheduled(schedule) = reply else { panic!("{reply:?}") };
        while starts.is_empty() {
            starts = bench.turn(vec![Input::Event(Event::TimePassed)], &[]).1;
        }
        bench.run_out(starts);
        bench.ask(Command::CancelSchedule(schedule));
    }
}

#[test]
fn a_commit_looks_nothing_up_without_an_index() {
    let (_guard, data) = folder("plans");
    let (store, tenure) = open(&data);
    let mut bench = Bench::new(store, tenure);
    // What is alive is looked at once, when the store is first written.
    let (_, starts) = bench.ask(bench.submission(9));
    bench.run_out(starts);
    listen(bench.store.connection_mut().unwrap());
    a_run(&mut bench);
    submissions(&mut bench);
    priorities(&mut bench);
    definitions(&mut bench);
    firings_that_are_runs(&mut bench);
    let heard = heard();
    for part in [
        "INSERT INTO runs (seq, run_id, kind, name",
        "INSERT INTO tasks",
        "INSERT INTO attempts",
        "INSERT INTO outputs",
        "INSERT INTO firings",
        "UPDATE live_submissions SET state",
        "UPDATE live_submissions SET priority",
        "INSERT OR REPLACE INTO priorities",
        "UPDATE schedules SET state = ?2, wanted",
        "DELETE FROM live_runs",
        "DELETE FROM schedules",
        "UPDATE shards SET newest",
    ] {
        assert!(heard.iter().any(|sql| sql.starts_with(part)), "{part}: {heard:#?}");
    }
    let plain = Connection::open_in_memory().unwrap();
    migrate(&plain, MIGRATIONS).unwrap();
    for sql in &heard {
        assert_eq!(scans(&plain, sql), [""; 0], "{sql}");
    }
}

#[test]
fn a_page_of_history_is_found_by_an_index() {
    let (_guard, data) = folder("pages");
    let mut reader = data.reader().unwrap();
    listen(&mut reader.connection);
    let filter = RunFilter { live: Some(false), before: Some(9), ..RunFilter::default() };
    reader.runs(&filter).unwrap();
    reader.runs(&RunFilter { states: vec![TaskState::Failed], ..filter.clone() }).unwrap();
    let (name, kind) = (Some(String::from("x")), Some(RunKind::Run));
    reader.runs(&RunFilter { name, kind, ..filter }).unwrap();
    let heard = heard();
    assert_eq!(heard.len(), 3, "{heard:#?}");
    let plain = Connection::open_in_memory().unwrap();
    migrate(&plain, MIGRATIONS).unwrap();
    for sql in &heard {
        assert_eq!(scans(&plain, sql), [""; 0], "{sql}");
    }
}

/// Two states at once, and a state of a name, read no more than they show.
#[test]
fn lists_of_history_go_through_no_table() {
    let (_guard, data) = folder("lists");
    let mut reader = data.reader().unwrap();
    listen(&mut reader.connection);
    let states = vec![TaskState::Failed, TaskState::Unknown];
    let filter = RunFilter { live: Some(false), states, ..RunFilter::default() };
    reader.runs(&filter).unwrap();
    let of_states = heard();
    listen(&mut reader.connection);
    reader.runs(&RunFilter { name: Some(String::from("x")), ..filter }).unwrap();
    let of_name = heard();
    let plain = Connection::open_in_memory().unwrap();
    migrate(&plain, MIGRATIONS).unwrap();
    for (heard, found_by) in
        [(of_states, "(state=? AND seq"), (of_name, "(name=? AND state=? AND seq")]
    {
        let [sql] = &heard[..] else { panic!("{heard:#?}") };
        assert_eq!(scans(&plain, sql), [""; 0], "{sql}");
        let mut statement = plain.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let plan = statement.raw_query().mapped(|row| row.get::<_, String>("detail"));
        let plan: Vec<String> = plan.map(Result::unwrap).collect();
        // One step, and nothing is sorted behind it.
        assert!(plan.len() == 1 && plan[0].contains(found_by), "{plan:?}");
    }
}
