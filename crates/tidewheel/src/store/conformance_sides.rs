//! What every store must show and pass on: readers, records, commands of others, what is shared.
//!
//! What it must keep is in `conformance`.
#![allow(clippy::unwrap_used, reason = "a failing store should fail its test where it fails")]

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::Start;
use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::input::{Command, Failure, Input, Outcome};
use tidewheel_core::spec::{Busy, Config, LimitSpec, QueueSpec, RunGroup, RunSpec};
use tidewheel_core::task::{Reason, TaskState};

use super::conformance::{Opener, ask, at, ended, open, spec, starts, submit, tell};
use super::{
    Answer, AttemptRecord, Commons, LogFile, Outbox, OutputRecord, OutputValue, Placement, Reader,
    RecordedOutcome, Records, RunCommand, RunFilter, RunKind, Sent, Settled, StoreError,
    TaskAnswer, durations,
};
use crate::driver::engine::Engine;

/// One and the same store from all its sides, each opened again and again.
#[derive(Debug)]
pub struct Sides<S, R, O> {
    /// The store.
    pub store: S,
    /// What it shows.
    pub reader: R,
    /// Where something is left for the wheel on it.
    pub outbox: O,
}

/// Runs the suite of what a store shows and passes on. Each call of `make` gives a fresh, empty store.
///
/// # Panics
///
/// When the store does not conform.
pub fn exercise_sides<S, R, O, Shown, Left>(make: impl Fn() -> Sides<S, R, O>)
where
    S: Fn() -> Box<dyn super::Store> + 'static,
    R: Fn() -> Shown,
    O: Fn() -> Left,
    Shown: Reader + Records,
    Left: Outbox + Sync,
{
    let with_store = |test: fn(&Opener, &dyn Fn() -> Shown)| {
        let Sides { store, reader, .. } = make();
        test(&(Box::new(store) as Opener), &reader);
    };
    with_store(a_run_is_shown_while_it_lives_and_after);
    with_store(lists_are_newest_first_and_as_they_were_asked_for);
    with_store(what_attempts_left_is_given_back);
    with_store(attempts_that_another_followed_are_known);
    with_store(times_are_learnt_from_work_that_was_done);
    with_store(queues_and_limits_are_shown_as_defined);
    with_store(super::conformance_firings::are_shown);
    let Sides { store, outbox, .. } = make();
    commands_reach_the_owner_and_stay_until_acknowledged(&outbox(), &(Box::new(store) as Opener));
    let Sides { store, reader, outbox } = make();
    the_first_answer_to_a_task_counts(&outbox(), &reader(), &(Box::new(store) as Opener));
    let Sides { store, outbox, .. } = make();
    questions_are_answered_or_taken_back(&outbox(), &(Box::new(store) as Opener));
    let Sides { store, outbox, .. } = make();
    super::conformance_priorities::pass_on(&outbox(), &(Box::new(store) as Opener));
}

pub(super) fn failure(message: &str) -> Outcome {
    Outcome::Failed(Box::new(Failure { message: Arc::from(message), ..Failure::default() }))
}

fn begin(engine: &mut Engine, id: u128, spec: RunSpec) -> Vec<Start> {
    let command = Command::SubmitRun { id: RunId(id), spec: Arc::new(spec) };
    starts(&ask(engine, at(id as u64), command).1)
}

fn end_with(
    engine: &mut Engine,
    start: Start,
    outcome: Outcome,
    record: Option<AttemptRecord>,
) -> Vec<Start> {
    if let Some(record) = record {
        let record = AttemptRecord { task: start.id, attempt: start.attempt, ..record };
        engine.keep(Arc::new(record));
    }
    starts(&tell(engine, at(40), ended(start, outcome)))
}

/// Ends everything that starts, well.
fn end_all(
    engine: &mut Engine,
    first: Vec<Start>,
    record: impl Fn(Start) -> Option<AttemptRecord>,
) {
    let mut running = first;
    while let Some(start) = running.pop() {
        running.extend(end_with(engine, start, Outcome::Succeeded, record(start)));
    }
}

fn a_run_is_shown_while_it_lives_and_after<R: Reader + Records>(
    opener: &Opener,
    reader: &dyn Fn() -> R,
) {
    let mut engine = open(opener);
    let mut asked = spec();
    asked.attachment.payload = Some(Arc::from(&b"what to do"[..]));
    asked.attachment.kind = Some(Arc::from("kind"));
    let running = begin(&mut engine, 7, asked);
    let live = reader().run(RunId(7)).unwrap().unwrap();
    assert!(live.summary.is_live && live.summary.shard.is_some());
    assert_eq!((live.summary.kind, live.summary.state), (RunKind::Run, TaskState::Running));
    assert_eq!(live.summary.name.as_deref(), Some("näme with \"quotes\""));
    assert_eq!((live.summary.tasks, live.summary.accepted_at), (3, at(7).wall));
    let shown: Vec<_> = live
        .tasks
        .iter()
        .map(|task| (task.index, &*task.name, &*task.after, task.state, task.attempts))
        .collect();
    let expected: [(u32, &str, &[u32], TaskState, u32); 3] = [
        (0, "a", &[], TaskState::Running, 1),
        (1, "b", &[0], TaskState::Blocked, 0),
        (2, "c", &[1], TaskState::Blocked, 0),
    ];
    assert_eq!(shown, expected);
    assert_eq!(live.tasks[0].started_at, Some(at(7).wall));
    assert_eq!(live.payload.as_deref(), Some(&b"what to do"[..]));
    assert_eq!(live.payload_kind.as_deref(), Some("kind"));

    end_all(&mut engine, running, |_| None);
    let past = reader().run(RunId(7)).unwrap().unwrap();
    assert!(!past.summary.is_live && past.summary.shard.is_none());
    assert_eq!((past.summary.state, past.summary.reason), (TaskState::Succeeded, Reason::Ordinary));
    assert_eq!((past.summary.failed, past.summary.attempts), (0, 3));
    let times = (past.summary.started_at, past.summary.ended_at);
    assert_eq!(times, (Some(at(7).wall), Some(at(40).wall)));
    assert!(past.tasks.iter().all(|task| task.state == TaskState::Succeeded));
    assert_eq!(past.payload, live.payload);
    assert_eq!(reader().run(RunId(8)).unwrap(), None);
    assert_eq!(reader().find("00000000-0000-0000-0000-0000000000", 9).unwrap(), [RunId(7)]);
    assert_eq!(reader().find("1", 9).unwrap(), []);
    let counts = reader().counts().unwrap();
    assert_eq!((counts.live_runs, counts.ended), (0, vec![(TaskState::Succeeded, 1)]));
}

fn lists_are_newest_first_and_as_they_were_asked_for<R: Reader + Records>(
    opener: &Opener,
    reader: &dyn Fn() -> R,
) {
    let mut engine = open(opener);
    let running = begin(&mut engine, 1, spec());
    end_all(&mut engine, running, |_| None);
    submit(&mut engine, 2);
    let mut other = spec();
    other.options.name = Arc::from("other");
    begin(&mut engine, 3, other);
    let list = |filter: RunFilter| -> Vec<u128> {
        reader().runs(&filter).unwrap().iter().map(|summary| summary.id.0).collect()
    };
    let all = RunFilter::default;
    assert_eq!(list(all()), [3, 2, 1]);
    assert_eq!(list(RunFilter { limit: 2, ..all() }), [3, 2]);
    assert_eq!(list(RunFilter { live: Some(true), ..all() }), [3, 2]);
    assert_eq!(list(RunFilter { live: Some(false), ..all() }), [1]);
    assert_eq!(list(RunFilter { kind: Some(RunKind::Single), ..all() }), [2]);
    assert_eq!(list(RunFilter { name: Some("other".to_owned()), ..all() }), [3]);
    assert_eq!(list(RunFilter { states: vec![TaskState::Succeeded], ..all() }), [1]);
    assert_eq!(list(RunFilter { since: Some(at(2).wall), ..all() }), [3]);
    let newest = reader().runs(&all()).unwrap().remove(0);
    assert_eq!(list(RunFilter { before: Some(newest.place), ..all() }), [2, 1]);
    let single = reader().run(RunId(2)).unwrap().unwrap();
    assert_eq!((single.tasks.len(), single.summary.key.as_deref()), (1, Some("key")));
}

/// Everything that can be known of an attempt, but its outputs.
fn full() -> AttemptRecord {
    let log = |path: &str| Some(LogFile { path: path.into(), bytes: 12, cut: true });
    AttemptRecord {
        started_at: Some(at(2).wall),
        ended_at: Some(at(3).wall),
        outcome: Some(RecordedOutcome::Succeeded),
        code: Some(-3),
        signal: Some(9),
        error: Some(String::from("ünwell")),
        tail: Some(String::from("last words\n")),
        warnings: vec![String::from("its log is cut"), String::from("anybody's")],
        stdout: log("logs/out"),
        stderr: log("logs/err"),
        ..AttemptRecord::default()
    }
}

fn what_attempts_left_is_given_back<R: Reader + Records>(opener: &Opener, reader: &dyn Fn() -> R) {
    let output = |name: &str, bytes: &[u8]| {
        let value = OutputValue::Bytes(bytes.to_vec());
        OutputRecord { name: name.to_owned(), value }
    };
    let mut engine = open(opener);
    let start = begin(&mut engine, 1, spec())[0];
    let task = start.id;
    assert!(reader().attempts(task).unwrap()[0].code.is_none(), "it is running");
    let outputs = vec![output("y", b"1"), output("x", &[0, 255])];
    let record = AttemptRecord { outputs, ..full() };
    end_with(&mut engine, start, Outcome::Succeeded, Some(record));
    let expected = AttemptRecord { task, attempt: 1, ..full() };
    assert_eq!(reader().attempts(task).unwrap(), [expected]);
    assert_eq!(reader().outputs(task).unwrap(), [output("x", &[0, 255]), output("y", b"1")]);
    let results = reader().results(task.run).unwrap();
    assert_eq!(results.keys().copied().collect::<Vec<_>>(), [0]);
    let newest = results[&0].newest.as_ref().unwrap();
    assert_eq!((newest.attempt, newest.code), (1, Some(-3)));
    assert_eq!(results[&0].outputs, [output("y", b"1"), output("x", &[0, 255])], "as they came");
    let outcomes = reader().outcomes(task.run).unwrap();
    assert_eq!(outcomes.into_iter().collect::<Vec<_>>(), [(0, RecordedOutcome::Succeeded)]);
}

fn attempts_that_another_followed_are_known<R: Reader + Records>(
    opener: &Opener,
    reader: &dyn Fn() -> R,
) {
    let mut engine = open(opener);
    let start = begin(&mut engine, 1, spec())[0];
    let record = AttemptRecord { code: Some(2), ..AttemptRecord::default() };
    end_with(&mut engine, start, failure("first"), Some(record));
    let again = starts(&tell(&mut engine, at(100), tidewheel_core::input::Event::TimePassed))[0];
    assert_eq!(again.attempt, 2);
    let known = reader().attempts(start.id).unwrap();
    let told: Vec<_> = known.iter().map(|it| (it.attempt, it.outcome, it.code)).collect();
    let retried = Some(RecordedOutcome::Again(Reason::Error));
    assert_eq!(told, [(1, retried, Some(2)), (2, None, None)]);
    assert_eq!(known[0].error.as_deref(), Some("first"));
    assert_eq!((known[0].started_at, known[0].ended_at), (Some(at(1).wall), Some(at(40).wall)));
    assert_eq!((known[1].started_at, known[1].ended_at), (Some(at(100).wall), None));
}

fn times_are_learnt_from_work_that_was_done<R: Reader + Records>(
    opener: &Opener,
    reader: &dyn Fn() -> R,
) {
    let mut engine = open(opener);
    let name = spec().options.name.to_string();
    let running = begin(&mut engine, 1, spec());
    end_all(&mut engine, running, |_| None);
    let worked = durations(&reader(), &name, 3).unwrap();
    assert_eq!(worked["a"], Duration::from_secs(39));
    for (id, outcome) in [(2, RecordedOutcome::Cached), (3, RecordedOutcome::Reused)] {
        let running = begin(&mut engine, id, spec());
        let record = || AttemptRecord { outcome: Some(outcome), ..AttemptRecord::default() };
        end_all(&mut engine, running, |_| Some(record()));
        let learnt = durations(&reader(), &name, 3).unwrap();
        assert_eq!(learnt, worked, "{outcome:?} took no time, and says nothing");
    }
    // What an attempt says of itself counts more than when its start and end were decided.
    let running = begin(&mut engine, 4, spec());
    let (started_at, ended_at) = (Some(at(20).wall), Some(at(25).wall));
    end_all(&mut engine, running, |_| {
        Some(AttemptRecord { started_at, ended_at, ..AttemptRecord::default() })
    });
    assert_eq!(durations(&reader(), &name, 1).unwrap()["a"], Duration::from_secs(5));
}

fn queues_and_limits_are_shown_as_defined<R: Reader + Records>(
    opener: &Opener,
    reader: &dyn Fn() -> R,
) {
    let mut engine = open(opener);
    let (queue, limit) =
        (QueueSpec { slots: Some(2), ..QueueSpec::default() }, LimitSpec::Units(3));
    let name = |name: &str| Arc::from(name);
    ask(&mut engine, at(1), Command::DefineQueue { name: name("q"), spec: queue.clone() });
    ask(&mut engine, at(1), Command::DefineLimit { name: name("l"), spec: limit.clone() });
    ask(&mut engine, at(1), Command::PauseQueue(name("q")));
    let queues = reader().queues().unwrap();
    let shown = queues.iter().find(|shown| shown.name == "q").unwrap();
    assert_eq!((&shown.spec, shown.is_paused), (&queue, true));
    let limits = reader().limits().unwrap();
    assert_eq!((&*limits[0].name, &limits[0].spec), ("l", &limit));
    assert_eq!(reader().schedules(true).unwrap(), []);
}

fn commands_reach_the_owner_and_stay_until_acknowledged(outbox: &dyn Outbox, opener: &Opener) {
    let mut engine = open(opener);
    let past = begin(&mut engine, 1, spec());
    end_all(&mut engine, past, |_| None);
    begin(&mut engine, 2, spec());
    assert_eq!(outbox.send(RunId(1), RunCommand::Pause).unwrap(), Sent::Ended);
    assert_eq!(outbox.send(RunId(9), RunCommand::Pause).unwrap(), Sent::Unknown);
    let mut inbox = engine.inbox().unwrap();
    assert_eq!(inbox.take().unwrap(), []);
    let cancel = RunCommand::Cancel { grace: Duration::from_micros(1_500_001) };
    assert_eq!(outbox.send(RunId(2), RunCommand::Pause).unwrap(), Sent::Left);
    assert_eq!(outbox.send(RunId(2), cancel).unwrap(), Sent::Left);
    let taken = inbox.take().unwrap();
    let told: Vec<_> = taken.iter().map(|sent| (sent.run, sent.command)).collect();
    assert_eq!(told, [(RunId(2), RunCommand::Pause), (RunId(2), cancel)]);
    assert_eq!(inbox.take().unwrap(), [], "handed out once");
    inbox.acknowledge(&taken[..1]).unwrap();
    // The next owner finds what nobody has followed.
    assert_eq!(engine.inbox().unwrap().take().unwrap(), taken[1..]);
}

fn the_first_answer_to_a_task_counts<R: Reader + Records>(
    outbox: &dyn Outbox,
    reader: &R,
    opener: &Opener,
) {
    let mut engine = open(opener);
    begin(&mut engine, 1, spec());
    let task = TaskId { run: RunId(1), index: 2 };
    assert_eq!(reader.answer(task).unwrap(), None);
    let yes = Answer { is_approved: true, by: "ada".to_owned(), note: Some("fine".to_owned()) };
    let no = Answer { is_approved: false, by: "bob".to_owned(), note: None };
    assert!(outbox.answer(task, &yes).unwrap());
    assert!(!outbox.answer(task, &no).unwrap());
    assert_eq!(reader.answer(task).unwrap(), Some(yes));
}

fn questions_are_answered_or_taken_back(outbox: &(dyn Outbox + Sync), opener: &Opener) {
    let mut engine = open(opener);
    begin(&mut engine, 1, spec());
    let none = outbox.ask(RunId(9), &[0], Duration::from_secs(60)).unwrap();
    assert_eq!(none, None, "nobody has it, so nobody is waited for");
    assert_eq!(outbox.ask(RunId(1), &[0], Duration::ZERO).unwrap(), None);
    let mut inbox = engine.inbox().unwrap();
    inbox.take().unwrap();
    assert_eq!(inbox.questions().unwrap(), [], "it was taken back");
    let scheduler = engine.scheduler();
    let key = scheduler.find_work(RunId(1)).unwrap();
    let task = tidewheel_core::id::TaskKey { run: key, index: 1 };
    let answer = vec![TaskAnswer::new(scheduler.explain(task, at(2)).unwrap(), None)];
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| outbox.ask(RunId(1), &[1], Duration::from_secs(60)).unwrap());
        let question = loop {
            inbox.take().unwrap();
            if let Some(question) = inbox.questions().unwrap().pop() {
                break question;
            }
            std::thread::yield_now();
        };
        assert_eq!((question.run, &*question.tasks), (RunId(1), &[1][..]));
        inbox.answer(question.id, &answer).unwrap();
        asking.join().unwrap()
    });
    assert_eq!(asked, Some(answer));
}

/// Runs the suite of what several schedulers share. Each call of `make` gives a fresh, empty store, in
/// which each name stands for a scheduler of its own.
///
/// # Panics
///
/// When the store does not conform.
pub fn exercise_commons(make: impl Fn() -> Box<dyn Fn(&str) -> Box<dyn super::Store>>) {
    units_are_first_come_first_served_and_freed_by_death(&*make());
    what_one_forgets_others_may_define(&*make());
    places_of_a_group_are_given_in_turn(&*make());
    who_is_in_the_line_of_a_group_is_never_refused(&*make());
}

fn units_are_first_come_first_served_and_freed_by_death(shards: Shards<'_>) {
    let (mut one, mut other) = (shards("one"), shards("other"));
    one.take_tenure().unwrap();
    other.take_tenure().unwrap();
    let (mut first, mut second) = (one.commons().unwrap(), other.commons().unwrap());
    first.define("gpu", 2).unwrap();
    let refused = second.define("gpu", 3).unwrap_err();
    assert!(matches!(refused, StoreError::Conflict { .. }), "{refused}");
    second.define("gpu", 2).unwrap();
    assert_eq!(first.settle("gpu", 0, 2).unwrap(), Settled::Granted);
    let Settled::Taken { holders } = second.settle("gpu", 0, 1).unwrap() else {
        panic!("there are two")
    };
    assert_eq!(holders.len(), 1);
    first.settle("gpu", 1, 0).unwrap();
    // Whoever came first is served first.
    assert!(matches!(first.settle("gpu", 1, 1).unwrap(), Settled::Taken { .. }));
    assert_eq!(second.settle("gpu", 0, 1).unwrap(), Settled::Granted);
    drop((first, one));
    assert_eq!(second.settle("gpu", 1, 1).unwrap(), Settled::Granted, "the dead have nothing");
}

fn what_one_forgets_others_may_define(shards: Shards<'_>) {
    let (mut one, mut other) = (shards("one"), shards("other"));
    one.take_tenure().unwrap();
    other.take_tenure().unwrap();
    let (mut first, mut second) = (one.commons().unwrap(), other.commons().unwrap());
    first.define("gpu", 2).unwrap();
    first.define("disk", 2).unwrap();
    first.forget("gpu").unwrap();
    first.forget("nothing").unwrap();
    second.define("gpu", 3).unwrap();
    assert_eq!(second.settle("gpu", 0, 3).unwrap(), Settled::Granted);
    let refused = second.define("disk", 3).unwrap_err();
    assert!(matches!(refused, StoreError::Conflict { .. }), "{refused}");
}

type Shards<'a> = &'a dyn Fn(&str) -> Box<dyn super::Store>;

/// The group `deploy`, in which one run goes on at once.
fn deploy(busy: Busy) -> RunGroup {
    RunGroup { name: Arc::from("deploy"), max: 1, busy }
}

/// A scheduler, with what it has left to do if it was there before, and its way to the others.
fn scheduler(shards: Shards<'_>, name: &str) -> (Engine, Box<dyn Commons>) {
    let mut engine = Engine::open(Config::default(), shards(name), at(0)).unwrap();
    let commons = engine.commons().unwrap();
    (engine, commons)
}

/// One that has a run of a group.
fn begun(shards: Shards<'_>, name: &str, id: u128, group: &RunGroup) -> (Engine, Box<dyn Commons>) {
    let (mut engine, commons) = scheduler(shards, name);
    let mut asked = spec();
    asked.options.group = Some(group.clone());
    let command = Command::SubmitRun { id: RunId(id), spec: Arc::new(asked) };
    engine.turn(at(1), [Input::Command(command)]).unwrap();
    (engine, commons)
}

fn places_of_a_group_are_given_in_turn(shards: Shards<'_>) {
    let group = deploy(Busy::QueueAll);
    let (_one, mut first) = begun(shards, "one", 1, &group);
    let (_other, mut second) = begun(shards, "other", 2, &group);
    assert_eq!(first.place(RunId(1), &group).unwrap(), Placement::Given);
    let taken = Placement::Taken { holders: vec![RunId(1)] };
    assert_eq!(second.place(RunId(2), &group).unwrap(), taken);
    first.leave(RunId(1)).unwrap();
    assert_eq!(second.place(RunId(2), &group).unwrap(), Placement::Given);
}

fn who_is_in_the_line_of_a_group_is_never_refused(shards: Shards<'_>) {
    let group = deploy(Busy::QueueOne);
    let refused = Placement::Refused { replaced: false };
    let taken = |id: u128| Placement::Taken { holders: vec![RunId(id)] };
    let (killed, mut first) = begun(shards, "one", 1, &group);
    assert_eq!(first.place(RunId(1), &group).unwrap(), Placement::Given);
    drop((first, killed));
    let (_second, mut second) = begun(shards, "two", 2, &group);
    assert_eq!(second.place(RunId(2), &group).unwrap(), Placement::Given, "the first is dead");
    let (_third, mut third) = begun(shards, "three", 3, &group);
    assert_eq!(third.place(RunId(3), &group).unwrap(), taken(2));
    let (_first, mut first) = scheduler(shards, "one");
    assert_eq!(first.place(RunId(1), &group).unwrap(), taken(2), "it was begun, and waits");
    for _ in 0..2 {
        assert_eq!(third.place(RunId(3), &group).unwrap(), taken(2), "it stays in the line");
    }
    let (_fourth, mut fourth) = begun(shards, "four", 4, &group);
    assert_eq!(fourth.place(RunId(4), &group).unwrap(), refused, "others wait");
    second.leave(RunId(2)).unwrap();
    assert_eq!(third.place(RunId(3), &group).unwrap(), Placement::Taken { holders: vec![] });
    assert_eq!(first.place(RunId(1), &group).unwrap(), Placement::Given, "its place is older");
    first.leave(RunId(1)).unwrap();
    // Nobody has looked yet whose turn it is: the third does not wait any more.
    assert_eq!(fourth.place(RunId(4), &group).unwrap(), Placement::Taken { holders: vec![] });
    assert_eq!(third.place(RunId(3), &group).unwrap(), Placement::Given);
}
