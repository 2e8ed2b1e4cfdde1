//! Records, reading, commands, pruning, backups: what a data folder does besides keeping decisions.
//!
//! What it refuses is in `sqlite_folder`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::sqlite_common::{Rig, TestFolder, at};
use tidewheel::clock::wall_clock;
use tidewheel::engine::Engine;
use tidewheel::id::{ScheduleId, TaskId};
use tidewheel::schedule::{ScheduleSpec, Trigger};
use tidewheel::store::sqlite::restore_backup;
use tidewheel::store::sqlite::{DataFolder, FolderError, Options, Pruned, Retention};
use tidewheel::store::{
    AttemptRecord, FiringFate, LogFile, OutputRecord, OutputValue, RecordedOutcome, RunCommand,
    RunFilter, RunKind, RunSummary, Store as _, StoreError,
};
use tidewheel::task::{Failure, Reason};
use tidewheel::{
    Graph, LimitSpec, Outcome, Priority, QueueSpec, Retry, RunId, TaskState, Timestamp,
};
use tidewheel_core::Scheduler;
use tidewheel_core::decision::{Decision, Start};
use tidewheel_core::input::{Command, Event, Fires, Input, Submission};
use tidewheel_core::spec::{Attachment, Config, Profile, RunOptions, RunSpec, TaskSpec};
use tidewheel_core::time::Now;

fn failure() -> Outcome {
    Outcome::Failed(Box::new(Failure { message: Arc::from("no"), ..Failure::default() }))
}

fn first_of(start: &Start) -> TaskId {
    start.id
}

fn start_run(rig: &mut Rig, name: &str) -> (RunId, Vec<Start>) {
    let id = rig.id();
    let graph = Graph::from_edges([("build", "test"), ("build", "lint")]).unwrap();
    let options = RunOptions { name: Arc::from(name), ..RunOptions::default() };
    let mut spec = RunSpec::new(
        Arc::new(graph),
        options,
        Profile { retry: Retry::times(1), ..Profile::default() },
    );
    spec.attachment.payload = Some(Arc::from(&b"payload"[..]));
    let command = Command::SubmitRun { id, spec: Arc::new(spec) };
    (id, rig.turn(vec![Input::Command(command)]))
}

#[test]
fn a_record_is_stored_with_the_row_that_says_the_attempt_ended() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let reader = data.reader().unwrap();
    let starts = rig.submit(1);
    let record = AttemptRecord {
        task: first_of(&starts[0]),
        attempt: 1,
        started_at: Some(Timestamp::from_micros(5)),
        ended_at: Some(Timestamp::from_micros(7)),
        outcome: Some(RecordedOutcome::Failed),
        code: Some(-3),
        signal: Some(9),
        error: Some(String::from("ünwell")),
        tail: Some(String::from("last words\n")),
        warnings: vec![String::from("no log")],
        stdout: Some(LogFile { path: data.logs_dir().join("a/out"), bytes: 12, cut: true }),
        stderr: Some(LogFile { path: PathBuf::from("/elsewhere/err"), bytes: 0, cut: false }),
        outputs: vec![
            OutputRecord {
                name: String::from("big"),
                value: OutputValue::File { path: data.logs_dir().join("a/big"), bytes: 99 },
            },
            OutputRecord { name: String::from("x"), value: OutputValue::Bytes(vec![0, 255]) },
        ],
    };
    rig.leave(record.clone());
    assert!(reader.attempts(record.task).unwrap()[0].code.is_none(), "not yet: it is running");
    rig.end(&starts, failure);
    assert_eq!(reader.run(record.task.run).unwrap().unwrap().summary.state, TaskState::Failed);

    let mut expected = AttemptRecord { outputs: Vec::new(), ..record.clone() };
    expected.stdout.as_mut().unwrap().path = PathBuf::from("logs/a/out");
    assert_eq!(reader.attempts(record.task).unwrap(), [expected]);
    let outputs = reader.outputs(record.task).unwrap();
    let names: Vec<_> =
        outputs.iter().map(|output| (&*output.name, output.value.bytes())).collect();
    assert_eq!(names, [("big", 99), ("x", 2)]);
    assert_eq!(outputs[1].value, OutputValue::Bytes(vec![0, 255]));
}

/// Lets time pass until something starts.
fn next_starts(rig: &mut Rig) -> Vec<Start> {
    let mut turns = (0..10_000).map(|_| rig.turn(vec![Input::Event(Event::TimePassed)]));
    turns.find(|starts| !starts.is_empty()).unwrap_or_default()
}

#[test]
fn attempts_that_were_retried_or_lost_are_known() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let (run, starts) = start_run(&mut rig, "ci");
    rig.end(&starts, failure);
    let starts = next_starts(&mut rig);
    assert_eq!(starts[0].attempt, 2);
    drop(rig);
    // The second is lost with its owner; the next one tries a third time.
    let mut rig = Rig::open_at(data.shard("default").unwrap(), 100);
    let reader = data.reader().unwrap();
    let task = TaskId { run, index: 0 };
    let outcomes = || -> Vec<(u32, Option<RecordedOutcome>)> {
        let known = reader.attempts(task).unwrap();
        known.into_iter().map(|attempt| (attempt.attempt, attempt.outcome)).collect()
    };
    let again = |reason| Some(RecordedOutcome::Again(reason));
    assert_eq!(outcomes()[..2], [(1, again(Reason::Error)), (2, again(Reason::Lost))]);
    let known = reader.attempts(task).unwrap();
    assert_eq!(known[0].error.as_deref(), Some("no"));
    assert!(known[0].started_at < known[0].ended_at && known[1].started_at.is_some());
    rig.turn(vec![Input::Event(Event::TimePassed)]);
}

/// Starts a run and ends all of it well; `build` takes so many turns.
fn run_well(rig: &mut Rig, turns: u32) -> RunId {
    let (run, starts) = start_run(rig, "ci");
    for _ in 0..turns {
        rig.turn(vec![Input::Event(Event::TimePassed)]);
    }
    let others = rig.end(&starts, || Outcome::Succeeded);
    rig.end(&others, || Outcome::Succeeded);
    run
}

#[test]
fn times_are_those_of_the_last_successes_that_did_their_work() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let reader = data.reader().unwrap();
    run_well(&mut rig, 5);
    let known = reader.durations("ci", 3).unwrap();
    assert_eq!(known.keys().collect::<Vec<_>>(), ["build", "lint", "test"]);
    assert!(known["build"] > known["test"]);
    for _ in 0..2 {
        let (run, starts) = start_run(&mut rig, "ci");
        rig.leave(AttemptRecord {
            task: TaskId { run, index: 0 },
            attempt: 1,
            outcome: Some(RecordedOutcome::Cached),
            ..AttemptRecord::default()
        });
        let others = rig.end(&starts, || Outcome::Succeeded);
        rig.end(&others, || Outcome::Succeeded);
    }
    assert_eq!(reader.durations("ci", 3).unwrap()["build"], known["build"]);
    // Failures teach nothing, and make nothing forgotten.
    for _ in 0..4 {
        let (_, starts) = start_run(&mut rig, "ci");
        let permanent = Failure { permanent: true, ..Failure::default() };
        rig.end(&starts, || Outcome::Failed(Box::new(permanent.clone())));
    }
    assert_eq!(reader.durations("ci", 3).unwrap(), known);
}

#[test]
fn a_run_began_when_its_first_attempt_did() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let (run, starts) = start_run(&mut rig, "ci");
    rig.end(&starts, failure);
    let starts = next_starts(&mut rig);
    let others = rig.end(&starts, || Outcome::Succeeded);
    rig.end(&others, || Outcome::Succeeded);
    let reader = data.reader().unwrap();
    let first = reader.attempts(TaskId { run, index: 0 }).unwrap()[0].started_at;
    let summary = reader.run(run).unwrap().unwrap().summary;
    assert_eq!(summary.state, TaskState::Succeeded);
    assert_eq!((summary.started_at, first.is_some()), (first, true));
}

/// A task may look for something for days; only how often it did is kept.
#[test]
fn a_task_that_waits_long_leaves_no_trail() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let (run, starts) = start_run(&mut rig, "waits");
    let mut running = [starts, rig.submit(1)].concat();
    let task = first_of(&running[0]);
    let size = || fs::metadata(folder.path().join("tidewheel.db")).unwrap().len();
    let mut sizes = Vec::new();
    for round in 1..=3_000 {
        assert_eq!(running.iter().map(|start| start.attempt).collect::<Vec<_>>(), [round, round]);
        rig.end(&running, || Outcome::Postponed(Duration::ZERO));
        running = rig.turn(vec![Input::Event(Event::TimePassed)]);
        if round >= 1_000 {
            sizes.push(size());
        }
    }
    sizes.dedup();
    assert_eq!(sizes.len(), 1, "the database does not grow: {sizes:?}");
    let reader = data.reader().unwrap();
    for start in &running {
        let numbers: Vec<u32> =
            reader.attempts(start.id).unwrap().iter().map(|record| record.attempt).collect();
        assert_eq!(numbers, [3_001], "only the one under way");
    }
    assert_eq!(reader.run(run).unwrap().unwrap().tasks[0].attempts, 3_001);
    rig.end(&running[..1], || Outcome::Skipped);
    rig.end(&running[1..], || Outcome::Skipped);
    let detail = reader.run(run).unwrap().unwrap();
    let skipped = &detail.tasks[task.index as usize];
    assert_eq!((skipped.state, skipped.reason), (TaskState::Skipped, Reason::Condition));
    let single = reader.run(running[1].id.run).unwrap().unwrap().summary;
    assert_eq!(
        single.result(),
        Some(tidewheel::run::RunResult::Succeeded),
        "there was nothing to do"
    );
}

#[test]
fn a_reader_sees_what_waits_for_tasks_that_were_put_before_it() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let (id, _) = start_run(&mut rig, "grows");
    let run = rig.engine.scheduler().find_run(id).unwrap();
    let task = TaskSpec {
        name: Arc::from("check"),
        after: vec![0],
        before: vec![1, 2],
        condition: None,
        membership: tidewheel_core::group::Membership::default(),
        profile: Arc::default(),
        estimate: None,
        key: None,
        deadline: None,
        payload: None,
    };
    rig.turn(vec![Input::Command(Command::AddTasks { run, addition: task.into() })]);
    let detail = data.reader().unwrap().run(id).unwrap().unwrap();
    let after: Vec<&[u32]> = detail.tasks.iter().map(|task| &task.after[..]).collect();
    assert_eq!(after, [&[][..], &[0, 3], &[0, 3], &[0]]);
}

#[test]
fn a_reader_sees_what_is_there_newest_first() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let ended = rig.submit(3);
    rig.end(&ended[..2], || Outcome::Succeeded);
    rig.end(&ended[2..], failure);
    let (run, starts) = start_run(&mut rig, "ci");
    let live = rig.submit(2);
    let reader = data.reader().unwrap();
    let list = |filter: RunFilter| -> Vec<RunId> {
        reader.runs(&filter).unwrap().into_iter().map(|summary| summary.id).collect()
    };
    let all = list(RunFilter::default());
    let mut expected: Vec<RunId> =
        ended.iter().chain(&starts).chain(&live).map(|s| s.id.run).collect();
    expected.reverse();
    assert_eq!(all, expected);
    let failed = RunFilter { states: vec![TaskState::Failed], ..RunFilter::default() };
    assert_eq!(list(failed), [ended[2].id.run]);
    let named = RunFilter { name: Some(String::from("ci")), ..RunFilter::default() };
    assert_eq!(list(named.clone()), [run]);
    assert_eq!(list(RunFilter { live: Some(true), ..RunFilter::default() }), all[..3]);
    assert_eq!(list(RunFilter { live: Some(false), ..RunFilter::default() }), all[3..]);
    assert_eq!(list(RunFilter { kind: Some(RunKind::Run), ..RunFilter::default() }), [run]);
    assert_eq!(list(RunFilter { limit: 2, ..RunFilter::default() }), all[..2]);
    let page = reader.runs(&RunFilter { limit: 2, ..RunFilter::default() }).unwrap();
    let next = RunFilter { before: Some(page[1].place), limit: 2, ..RunFilter::default() };
    assert_eq!(list(next), all[2..4]);
    let since = reader.runs(&RunFilter::default()).unwrap()[2].accepted_at;
    assert_eq!(list(RunFilter { since: Some(since), ..RunFilter::default() }), all[..3]);

    let detail = reader.run(run).unwrap().unwrap();
    assert!(detail.summary.is_live && detail.summary.shard.as_deref() == Some("default"));
    assert_eq!(detail.payload.as_deref(), Some(&b"payload"[..]));
    let tasks: Vec<_> = detail.tasks.iter().map(|t| (&*t.name, &t.after[..], t.state)).collect();
    let blocked = TaskState::Blocked;
    let wait = [("test", &[0][..], blocked), ("lint", &[0][..], blocked)];
    assert_eq!(tasks, [("build", &[][..], TaskState::Running), wait[0], wait[1]]);
    let more = rig.end(&starts, || Outcome::Succeeded);
    rig.end(&more, || Outcome::Succeeded);
    let detail = reader.run(run).unwrap().unwrap();
    assert_eq!((detail.summary.state, detail.summary.attempts), (TaskState::Succeeded, 3));
    assert!(detail.summary.ended_at >= detail.summary.started_at);
    assert!(detail.tasks.iter().all(|task| task.state == TaskState::Succeeded));
    assert_eq!(list(named), [run]);

    let text = run.to_string();
    assert_eq!(reader.find(&text, 9).unwrap(), [run]);
    assert_eq!(reader.find(&text[..20], 9).unwrap(), [run]);
    assert_eq!(reader.find(&text[..4], 9).unwrap().len(), 6);
    assert!(reader.find("zz", 9).unwrap().is_empty() && reader.find("", 9).unwrap().is_empty());
    let counts = reader.counts().unwrap();
    assert_eq!((counts.live_runs, counts.live_submissions), (0, 2));
    assert_eq!(counts.ended, [(TaskState::Failed, 1), (TaskState::Succeeded, 3)]);
    assert_eq!(reader.run(RunId(1)).unwrap(), None);
}

#[test]
fn whoever_has_a_shard_sees_what_goes_on_beside_it() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut own = Rig::open(data.shard("default").unwrap());
    let mut other = Rig::open(data.shard("other").unwrap());
    let reader = data.reader().unwrap();
    let version = reader.version().unwrap();
    assert_eq!(reader.version().unwrap(), version, "nobody has written");
    let (mine, _) = start_run(&mut own, "mine");
    // Each counts for itself.
    while other.id() != mine {}
    let (theirs, starts) = start_run(&mut other, "theirs");
    assert_ne!(reader.version().unwrap(), version);
    let seen = reader.beside("default", 0).unwrap();
    let ids = |runs: &[(RunSummary, String)]| runs.iter().map(|it| it.0.id).collect::<Vec<_>>();
    assert_eq!((ids(&seen.live), &seen.ended[..]), (vec![theirs], &[][..]));
    assert_eq!(ids(&reader.beside("other", 0).unwrap().live), [mine]);
    let again = reader.beside("default", 0).unwrap();
    assert_eq!(again.live[0].1, seen.live[0].1, "nothing has happened to it");
    let more = other.end(&starts, || Outcome::Succeeded);
    let later = reader.beside("default", 0).unwrap();
    assert_ne!(later.live[0].1, seen.live[0].1);
    other.end(&more, || Outcome::Succeeded);
    let over = reader.beside("default", 0).unwrap();
    assert_eq!((over.live.len(), over.ended[0].id), (0, theirs));
    assert_eq!(reader.beside("default", over.last_place).unwrap().ended, []);
}

#[test]
fn a_reader_sees_schedules_their_instants_queues_and_limits() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let profile = rig.engine.scheduler_mut().profile(&Profile::default()).unwrap();
    let spec = ScheduleSpec::new(Trigger::every(Duration::from_millis(5)));
    let add = Command::AddSchedule {
        id: ScheduleId(9),
        spec: Box::new(spec.clone()),
        fires: Fires::Task { profile, priority: Priority::HIGH },
    };
    let queue = Command::DefineQueue { name: Arc::from("q"), spec: QueueSpec::default() };
    let limit = Command::DefineLimit { name: Arc::from("l"), spec: LimitSpec::Units(3) };
    let starts = rig.turn([add, queue, limit].map(Input::Command).to_vec());
    for _ in 0..20 {
        rig.turn(vec![Input::Event(Event::TimePassed)]);
    }
    rig.end(&starts, || Outcome::Succeeded);
    let reader = data.reader().unwrap();
    let schedules = reader.schedules(false).unwrap();
    assert_eq!((schedules.len(), schedules[0].id), (1, ScheduleId(9)));
    assert_eq!((&schedules[0].spec, &*schedules[0].shard), (&spec, "default"));
    let firings = reader.firings(ScheduleId(9), None, 100).unwrap();
    assert!(firings.len() > 1 && firings.is_sorted_by(|a, b| a.nominal > b.nominal));
    assert_eq!(firings.last().unwrap().fate, FiringFate::Ran(starts[0].id.run));
    assert!(firings.iter().any(|firing| firing.fate == FiringFate::Skipped("overlap".to_owned())));
    let older = reader.firings(ScheduleId(9), Some(firings[0].nominal), 1).unwrap();
    assert_eq!(older, firings[1..2]);
    assert!(reader.queues().unwrap().iter().any(|queue| queue.name == "q"));
    assert_eq!(reader.limits().unwrap()[0].spec, LimitSpec::Units(3));
}

/// Somebody restored an old state and fires an instant that fired before.
#[test]
fn an_instant_that_fired_cannot_fire_again() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let profile = rig.engine.scheduler_mut().profile(&Profile::default()).unwrap();
    let spec = Box::new(ScheduleSpec::new(Trigger::after(Duration::from_secs(10))));
    let (id, priority) = (ScheduleId(9), Priority::NORMAL);
    rig.turn(vec![Input::Command(Command::AddSchedule {
        id,
        spec,
        fires: Fires::Task { profile, priority },
    })]);
    let (_, stale) = data.shard("default").unwrap().take_tenure().unwrap();

    let store = Box::new(data.shard("default").unwrap());
    let mut engine = Engine::open(Config::default(), store, at(5)).unwrap();
    engine.turn(at(20), [Input::Event(Event::TimePassed)]).unwrap();
    let fired = data.reader().unwrap().firings(id, None, 9).unwrap();
    assert_eq!(fired.len(), 1);

    let mut store = data.shard("default").unwrap();
    let (tenure, _) = store.take_tenure().unwrap();
    let mut decision = Decision::new();
    let alive = BTreeSet::new();
    Scheduler::restore(Config::default(), stale, &alive, at(30), &mut decision).unwrap();
    let refused = decision.commit(|changes| store.commit(tenure, changes, &[]));
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(data.reader().unwrap().firings(id, None, 9).unwrap(), fired);
    // The store goes on.
    let limit = Command::DefineLimit { name: Arc::from("l"), spec: LimitSpec::Units(3) };
    let mut decision = Decision::new();
    Scheduler::new(Config::default()).step(at(31), Input::Command(limit), &mut decision);
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
}

#[test]
fn commands_reach_the_owner_once() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let (run, _) = start_run(&mut rig, "ci");
    let starts = rig.submit(2);
    let (single, ended) = (starts[0].id.run, starts[1].id.run);
    rig.end(&starts[1..], || Outcome::Succeeded);
    let sender = folder.open();
    let mut inbox = data.inbox("default").unwrap();
    assert!(inbox.take().unwrap().is_empty());
    let cancel = RunCommand::Cancel { grace: Duration::from_nanos(1_000_000_001) };
    sender.send(single, cancel).unwrap();
    sender.send(run, RunCommand::Pause).unwrap();
    assert!(matches!(sender.send(ended, cancel), Err(FolderError::AlreadyEnded { .. })));
    assert!(matches!(sender.send(RunId(5), cancel), Err(FolderError::UnknownRun { .. })));
    let taken = inbox.take().unwrap();
    let commands: Vec<_> = taken.iter().map(|sent| (sent.run, sent.command)).collect();
    assert_eq!(commands, [(single, cancel), (run, RunCommand::Pause)]);
    assert!(inbox.take().unwrap().is_empty(), "not twice");
    assert!(data.inbox("other").unwrap().take().unwrap().is_empty());
    inbox.acknowledge(&taken[..1]).unwrap();
    sender.send(run, RunCommand::Resume).unwrap();
    assert_eq!(inbox.take().unwrap()[0].command, RunCommand::Resume);
    // What the owner did not acknowledge comes again to the next.
    let again: Vec<_> = data.inbox("default").unwrap().take().unwrap();
    let commands: Vec<_> = again.iter().map(|sent| sent.command).collect();
    assert_eq!(commands, [RunCommand::Pause, RunCommand::Resume]);
}

#[test]
fn a_command_that_cannot_be_read_holds_up_no_other() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let (run, _) = start_run(&mut rig, "ci");
    let mut inbox = data.inbox("default").unwrap();
    data.send(run, RunCommand::Pause).unwrap();
    data.send(run, RunCommand::Pause).unwrap();
    data.send(run, RunCommand::Resume).unwrap();
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    let sql = "UPDATE inbox SET command = '{\"v\":9}' WHERE id = (SELECT MIN(id) + 1 FROM inbox)";
    assert_eq!(connection.execute(sql, []).unwrap(), 1);
    let taken = inbox.take().unwrap();
    let commands: Vec<_> = taken.iter().map(|sent| sent.command).collect();
    assert_eq!(commands, [RunCommand::Pause, RunCommand::Resume]);
    inbox.acknowledge(&taken).unwrap();
    let left: i64 =
        connection.query_row("SELECT COUNT(*) FROM inbox", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "it does not stay for ever either");
}

/// Ends `count` submissions whose attempts each left a log of ten bytes.
fn with_logs(data: &DataFolder, count: usize) -> Vec<(RunId, PathBuf)> {
    let mut rig = Rig::open(data.shard("default").unwrap());
    let starts = rig.submit(count + 1);
    let mut kept = Vec::new();
    for start in &starts[..count] {
        let path = data.logs_dir().join(start.id.run.to_string()).join("1.out");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, b"0123456789").unwrap();
        rig.leave(AttemptRecord {
            task: start.id,
            attempt: 1,
            stdout: Some(LogFile { path: path.clone(), bytes: 10, cut: false }),
            ..AttemptRecord::default()
        });
        kept.push((start.id.run, path));
    }
    rig.end(&starts[..count], || Outcome::Succeeded);
    kept
}

fn check_rows_and_files_agree(data: &DataFolder, runs: &[(RunId, PathBuf)], newest: usize) {
    let reader = data.reader().unwrap();
    for (index, (run, path)) in runs.iter().enumerate() {
        let is_kept = index >= runs.len() - newest;
        assert_eq!(reader.run(*run).unwrap().is_some(), is_kept, "{index}");
        assert_eq!((path.exists(), path.parent().unwrap().exists()), (is_kept, is_kept), "{index}");
        let attempts = reader.attempts(TaskId { run: *run, index: 0 }).unwrap();
        assert_eq!(!attempts.is_empty(), is_kept, "{index}");
    }
    assert_eq!(reader.counts().unwrap().live_submissions, 1, "live ones stay");
    assert!(data.logs_dir().exists());
}

#[test]
fn pruning_by_count_bytes_and_age() {
    let folder = TestFolder::new();
    let data = folder.open();
    let runs = with_logs(&data, 500);
    let none = data.prune(Retention::default()).unwrap();
    assert_eq!(none, Pruned::default());
    let retention = Retention { count_max: Some(300), ..Retention::default() };
    let pruned = data.prune(retention).unwrap();
    assert_eq!((pruned.runs, pruned.files, pruned.bytes), (200, 200, 2_000));
    check_rows_and_files_agree(&data, &runs, 300);
    let retention = Retention { bytes_max: Some(1_005), ..Retention::default() };
    assert_eq!(data.prune(retention).unwrap().runs, 200);
    check_rows_and_files_agree(&data, &runs, 100);
    // They ended in 2023.
    let year = Duration::from_secs(365 * 86_400);
    let retention = Retention { older_than: Some(100 * year), ..Retention::default() };
    assert_eq!(data.prune(retention).unwrap().runs, 0);
    let retention = Retention { older_than: Some(year), ..Retention::default() };
    assert_eq!(data.prune(retention).unwrap().runs, 100);
    check_rows_and_files_agree(&data, &runs, 0);
    assert!(data.check().unwrap().is_empty());
}

#[test]
fn a_command_that_cannot_be_left_is_told_as_soon_as_it_was_promised() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let (run, _) = start_run(&mut rig, "ci");
    // As an owner that is frozen while it writes.
    let writer = rusqlite::Connection::open(data.database()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let patience = Duration::from_millis(20);
    std::thread::scope(|scope| {
        // Other writers wait a minute.
        let other = scope.spawn(|| data.send(run, RunCommand::Resume));
        let sent = data.send_and_wait(run, RunCommand::Pause, patience);
        assert!(matches!(sent, Err(FolderError::Busy { .. })), "{sent:?}");
        assert!(!other.is_finished());
        writer.execute_batch("ROLLBACK").unwrap();
        other.join().unwrap().unwrap();
    });
    // Nobody has followed it, but it is there.
    assert!(!data.send_and_wait(run, RunCommand::Pause, patience).unwrap());
    let left: Vec<_> = data.inbox("default").unwrap().take().unwrap();
    let commands: Vec<_> = left.into_iter().map(|sent| sent.command).collect();
    assert_eq!(commands, [RunCommand::Resume, RunCommand::Pause]);
}

#[test]
fn pruning_that_died_is_finished_by_the_next() {
    let folder = TestFolder::new();
    let data = folder.open();
    let runs = with_logs(&data, 10);
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    // As after a crash: out of sight, some files gone, nothing else.
    connection
        .execute_batch(
            "BEGIN; INSERT INTO doomed SELECT seq, run_id FROM runs ORDER BY seq LIMIT 4;
            DELETE FROM runs WHERE seq IN (SELECT seq FROM doomed); COMMIT",
        )
        .unwrap();
    fs::remove_file(&runs[0].1).unwrap();
    let pruned = data.prune(Retention::default()).unwrap();
    assert_eq!((pruned.runs, pruned.files), (0, 3));
    fs::remove_dir(runs[0].1.parent().unwrap()).unwrap_or_default();
    check_rows_and_files_agree(&data, &runs, 6);
}

#[test]
fn pruning_removes_a_large_run_in_small_steps_and_no_file_elsewhere() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let graph = Graph::numbered(5_000, []).unwrap();
    let spec = RunSpec::new(Arc::new(graph), RunOptions::default(), Profile::default());
    let command = Command::SubmitRun { id: rig.id(), spec: Arc::new(spec) };
    let starts = rig.turn(vec![Input::Command(command)]);
    let outside = TestFolder::new();
    fs::create_dir(outside.path()).unwrap();
    let other = outside.path().join("other");
    fs::write(&other, b"theirs").unwrap();
    for path in [other.clone(), PathBuf::from("../other"), PathBuf::from("tidewheel/../x")] {
        let stdout = Some(LogFile { path, bytes: 6, cut: false });
        let attempt =
            AttemptRecord { task: starts[0].id, attempt: 1, stdout, ..Default::default() };
        rig.leave(attempt);
    }
    rig.end(&starts, || Outcome::Succeeded);
    let retention = Retention { count_max: Some(0), ..Retention::default() };
    assert_eq!(data.prune(retention).unwrap().runs, 1);
    assert!(other.exists());
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    for table in ["tasks", "specs", "attempts", "runs", "doomed"] {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0, "{table}");
    }
}

#[cfg(unix)]
#[test]
fn pruning_follows_no_link_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let folder = TestFolder::new();
    let data = folder.open();
    let runs = with_logs(&data, 3);
    let outside = TestFolder::new();
    fs::create_dir(outside.path()).unwrap();
    let precious = outside.path().join("1.out");
    fs::write(&precious, b"theirs").unwrap();
    // One run's folder is a link, and in another one a file is.
    let [first, second] = [0, 1].map(|index: usize| runs[index].1.parent().unwrap());
    fs::remove_dir_all(first).unwrap();
    symlink(outside.path(), first).unwrap();
    symlink(&precious, second.join("2.out")).unwrap();
    let retention = Retention { count_max: Some(1), ..Retention::default() };
    let pruned = data.prune(retention).unwrap();
    assert_eq!((pruned.runs, &*pruned.left), (2, &[][..]));
    assert_eq!(fs::read(&precious).unwrap(), b"theirs");
    assert!(fs::symlink_metadata(first).is_err(), "the link itself is gone");
    assert!(!second.exists() && runs[2].1.exists());
}

#[test]
fn folders_of_runs_go_with_them_and_what_links_lead_to_stays() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = TestFolder::new();
    let data = folder.open();
    let runs = with_logs(&data, 3);
    let outside = TestFolder::new();
    fs::create_dir(outside.path()).unwrap();
    let precious = outside.path().join("file");
    fs::write(&precious, b"theirs").unwrap();
    let own = |index: usize| data.runs_dir().join(runs[index].0.to_string());
    fs::create_dir_all(own(0).join("work/deep/er")).unwrap();
    fs::write(own(0).join("work/deep/er/file"), [0; 100]).unwrap();
    symlink(outside.path(), own(0).join("work/link")).unwrap();
    // As some programs leave it.
    fs::set_permissions(own(0).join("work/deep/er"), fs::Permissions::from_mode(0o500)).unwrap();
    symlink(outside.path(), own(1)).unwrap();
    fs::create_dir_all(own(2)).unwrap();
    fs::write(own(2).join("file"), [0; 50]).unwrap();
    // Ten bytes of log and fifty of the folder: the newest fits, the others do not.
    let retention = Retention { bytes_max: Some(65), ..Retention::default() };
    let pruned = data.prune(retention).unwrap();
    assert_eq!((pruned.runs, &*pruned.left), (2, &[][..]));
    assert_eq!(pruned.files, 5, "two logs, a file, and two links");
    assert!(!own(0).exists() && fs::symlink_metadata(own(1)).is_err() && own(2).exists());
    assert_eq!(fs::read(&precious).unwrap(), b"theirs");
    let pruned = data.prune(Retention { count_max: Some(0), ..Retention::default() }).unwrap();
    assert_eq!((pruned.runs, pruned.bytes), (1, 60));
    // The place of all of them may be a link as well.
    let more = with_logs(&data, 1);
    fs::remove_dir_all(data.runs_dir()).unwrap();
    fs::create_dir(outside.path().join(more[0].0.to_string())).unwrap();
    symlink(outside.path(), data.runs_dir()).unwrap();
    data.prune(Retention { count_max: Some(0), ..Retention::default() }).unwrap();
    assert!(outside.path().join(more[0].0.to_string()).exists());
}

#[test]
fn something_that_cannot_be_removed_is_told_and_stops_nothing_else() {
    let folder = TestFolder::new();
    let data = folder.open();
    let runs = with_logs(&data, 4);
    let strange = runs[0].1.parent().unwrap().join("folder");
    fs::create_dir(&strange).unwrap();
    let all = Retention { count_max: Some(0), ..Retention::default() };
    let pruned = data.prune(all).unwrap();
    assert_eq!((pruned.runs, pruned.files, pruned.left.len()), (4, 4, 1));
    assert_eq!(pruned.left[0].path, strange);
    assert!(runs[1..].iter().all(|(_, path)| !path.parent().unwrap().exists()));
    // It is tried again each time, and told again.
    assert_eq!(data.prune(all).unwrap().left.len(), 1);
    fs::remove_dir(&strange).unwrap();
    assert_eq!(data.prune(all).unwrap(), Pruned::default());
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    for table in ["doomed", "attempts"] {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0, "{table}");
    }
}

#[test]
fn names_are_forgotten_after_a_day() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let once = Some(tidewheel_core::spec::OnceKey::new("k", b""));
    rig.submit_with(Attachment { once, ..Attachment::default() });
    drop(rig);
    data.prune(Retention::default()).unwrap();
    let (_, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
    assert!(snapshot.names.is_empty(), "it was accepted in 2023");
    let attachment = snapshot.submissions[0].0.attachment.as_ref().unwrap();
    assert!(attachment.once.is_some(), "what has not ended keeps its name");
}

/// Accepts a submission under a name, so long ago.
fn submit_named(rig: &mut Rig, name: &str, ago: Duration) {
    let once = Some(tidewheel_core::spec::OnceKey::new(name, b""));
    let attachment = Some(Arc::new(Attachment { once, ..Attachment::default() }));
    let command = Command::Submit(Submission { attachment, ..rig.submission() });
    let now = Now { wall: wall_clock().before(ago), ..rig.now() };
    let outputs = rig.engine.turn(now, [Input::Command(command)]).unwrap();
    assert!(outputs.replies[0].is_ok(), "{:?}", outputs.replies);
}

#[test]
fn names_are_kept_for_a_day_and_not_much_longer() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    submit_named(&mut rig, "older than a day", DAY + HOUR);
    submit_named(&mut rig, "younger than a day", DAY - HOUR);
    drop(rig);
    let names = || -> Vec<String> {
        let (_, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
        snapshot.names.iter().map(|name| name.once.key.to_string()).collect()
    };
    // The clock of whoever takes over may be wrong: without a newer name nothing is forgotten.
    assert_eq!(names(), ["older than a day", "younger than a day"]);
    data.prune(Retention::default()).unwrap();
    assert_eq!(names(), ["younger than a day"]);

    let mut rig = Rig::open_at(data.shard("default").unwrap(), 100);
    submit_named(&mut rig, "older than a day again", DAY + HOUR);
    submit_named(&mut rig, "new", Duration::ZERO);
    drop(rig);
    assert_eq!(names(), ["younger than a day", "new"]);
}

#[test]
fn a_backup_under_writes_is_sound_and_complete() {
    let folder = TestFolder::new();
    let data = folder.open();
    let stored = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let copies = TestFolder::new();
    fs::create_dir(copies.path()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rig = Rig::open(data.shard("default").unwrap());
            while !stop.load(Ordering::SeqCst) {
                let starts = rig.submit(10);
                rig.end(&starts, || Outcome::Succeeded);
                stored.fetch_add(10, Ordering::SeqCst);
            }
        });
        for number in 0..5 {
            let goal = stored.load(Ordering::SeqCst) + 200;
            let is_reached = || stored.load(Ordering::SeqCst) >= goal;
            tidewheel_testing::wait_until("more is stored", is_reached);
            let before = stored.load(Ordering::SeqCst);
            let copy = copies.path().join(format!("{number}.db"));
            data.backup(&copy).unwrap();
            let into = copies.path().join(format!("folder{number}"));
            restore_backup(&copy, &into, false).unwrap();
            let restored = DataFolder::open(&into, Options::default()).unwrap();
            let counts = restored.reader().unwrap().counts().unwrap();
            assert!(counts.ended[0].1 >= before, "{} of {before}", counts.ended[0].1);
            assert!(restored.check().unwrap().is_empty());
            assert_ne!(restored.mark(), data.mark());
        }
        stop.store(true, Ordering::SeqCst);
    });
    let left: Vec<_> =
        fs::read_dir(copies.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 10, "nothing temporary is left: {left:?}");
}

#[test]
fn restoring_overwrites_nothing_unless_told_and_never_what_is_in_use() {
    let (folder, copies) = (TestFolder::new(), TestFolder::new());
    fs::create_dir(copies.path()).unwrap();
    let copy = copies.path().join("copy.db");
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    rig.submit(2);
    data.backup(&copy).unwrap();
    assert!(matches!(data.backup(&copy), Err(FolderError::Exists { .. })));
    rig.submit(3);
    let refused = restore_backup(&copy, folder.path(), false);
    assert!(matches!(refused, Err(FolderError::Exists { .. })), "{refused:?}");
    let refused = restore_backup(&copy, folder.path(), true);
    assert!(matches!(refused, Err(FolderError::InUse { .. })), "{refused:?}");
    drop(rig);
    let nonsense = copies.path().join("nonsense");
    fs::write(&nonsense, b"nonsense".repeat(99)).unwrap();
    assert!(restore_backup(&nonsense, folder.path(), true).is_err());
    let live = |data: &DataFolder| data.reader().unwrap().counts().unwrap().live_submissions;
    assert_eq!(live(&data), 5);
    drop(data);
    restore_backup(&copy, folder.path(), true).unwrap();
    assert_eq!(live(&folder.open()), 2);
}

#[test]
fn a_reader_that_stays_does_not_stop_commits() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    rig.submit(1);
    let connection = rusqlite::Connection::open(data.database()).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let count = || -> i64 {
        let sql = "SELECT COUNT(*) FROM live_submissions";
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count(), 1);
    for _ in 0..300 {
        let starts = rig.submit(20);
        rig.end(&starts, || Outcome::Succeeded);
    }
    assert_eq!(count(), 1, "it still reads what was there when it began");
    assert_eq!(data.reader().unwrap().counts().unwrap().ended[0].1, 6_000);
}

#[test]
fn a_reader_of_ours_that_stays_lets_the_log_start_over() {
    const MIB: u64 = 1 << 20;
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let reader = data.reader().unwrap();
    let log = data.database().with_extension("db-wal");
    let payload: Arc<[u8]> = vec![7; MIB as usize].into();
    let mut written = 0;
    // A log that never starts over holds all that was written.
    while fs::metadata(&log).map_or(0, |log| log.len()) >= written {
        assert!(written < 1_000 * MIB, "it does not start over");
        rig.submit_with(Attachment {
            payload: Some(Arc::clone(&payload)),
            ..Attachment::default()
        });
        written += MIB;
        assert_eq!(reader.counts().unwrap().live_submissions, written / MIB);
    }
}

#[test]
fn runs_stopped_by_somebody_say_so() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let (run, starts) = start_run(&mut rig, "ci");
    let mode = tidewheel_core::input::CancelMode::Stop { grace: Duration::ZERO };
    rig.turn(vec![Input::Command(Command::CancelRun { run: starts[0].task.run, mode })]);
    rig.end(&starts, || Outcome::Cancelled);
    let summary = data.reader().unwrap().run(run).unwrap().unwrap().summary;
    assert_eq!((summary.state, summary.reason), (TaskState::Cancelled, Reason::Requested));
}

#[test]
fn the_next_backup_removes_what_one_that_died_left() {
    let folder = TestFolder::new();
    let data = folder.open();
    let place = TestFolder::new();
    fs::create_dir(place.path()).unwrap();
    let to = place.path().join("copy.db");
    let path = |name: &str| place.path().join(name);
    for name in ["copy.db.1-0.tmp", "copy.db.1-0.tmp-journal", "copy.db.mine.tmp", "other.2-0.tmp"]
    {
        fs::write(path(name), b"left").unwrap();
    }
    // Somebody is at this one.
    let living = fs::File::create(path("copy.db.2-7.tmp")).unwrap();
    living.lock().unwrap();
    data.backup(&to).unwrap();
    let mut names: Vec<String> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["copy.db", "copy.db.2-7.tmp", "copy.db.mine.tmp", "other.2-0.tmp"]);
}
