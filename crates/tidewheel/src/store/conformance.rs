//! What every store must do, as a suite that each of them runs.
//!
//! It speaks to a store only through real decisions of a real scheduler.
#![doc(hidden)]
#![allow(clippy::unwrap_used, reason = "a failing store should fail its test where it fails")]

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::Scheduler;
use tidewheel_core::calendar::{Cron, Zone};
use tidewheel_core::decision::{Action, Decision, Outputs, Start};
use tidewheel_core::graph::Graph;
use tidewheel_core::group::{GroupKind, GroupSpec};
use tidewheel_core::id::{RunId, RunKey, ScheduleId, TaskKey};
use tidewheel_core::input::{
    CancelMode, Command, Event, Fires, Input, Outcome, Reply, ShutdownMode, Submission,
};
use tidewheel_core::policy::{BreakerSpec, Priority, Rate, Retry};
use tidewheel_core::row::{Snapshot, TaskRow};
use tidewheel_core::schedule::{ScheduleSpec, Trigger};
use tidewheel_core::spec::{
    Addition, Attachment, Config, LimitSpec, OnceKey, Profile, QueueSpec, RunOptions, RunSpec,
    TaskSpec,
};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::{Moment, Now, Timestamp};

use super::conformance_sides::failure;
pub use super::conformance_sides::{Sides, exercise_commons, exercise_sides};
use super::{Store, StoreError};
use crate::driver::engine::{Engine, EngineError};

/// Opens one and the same store again and again.
pub type Opener = Box<dyn Fn() -> Box<dyn Store>>;

/// Runs the whole suite. Each call of `make` gives the opener of a fresh, empty store.
///
/// # Panics
///
/// When the store does not conform.
pub fn exercise(make: impl Fn() -> Opener) {
    an_empty_store_restores_nothing_and_tenures_rise(&make());
    an_older_tenure_is_refused_and_changes_nothing(&make());
    the_same_change_set_is_kept_once(&make());
    a_run_comes_back_as_it_was_asked_for(&make());
    tasks_come_back_in_their_newest_state(&make());
    what_has_ended_does_not_come_back(&make());
    submissions_come_back_in_order(&make());
    queues_and_limits_come_back_as_last_defined(&make());
    schedules_come_back_where_they_stood(&make());
    super::conformance_firings::exercise(&make);
    super::conformance_priorities::exercise(&make);
    what_ran_when_the_owner_died_runs_again(&make());
    what_waited_at_a_persisting_shutdown_comes_back(&make());
    payloads_come_back_byte_for_byte(&make());
    names_come_back_earliest_first(&make());
    a_change_set_offered_again_elsewhere_is_kept_once(&make());
    a_stopped_run_and_a_paused_scheduler_come_back_so(&make());
    whatever_state_a_task_has_comes_back(&make());
    identities_may_have_any_value(&make());
    what_was_put_before_others_still_is(&make());
    what_an_attempt_added_comes_back_with_its_success(&make());
    skipped_and_postponed_tasks_come_back_so(&make());
}

pub(super) fn at(seconds: u64) -> Now {
    Now {
        monotonic: Moment::ZERO.after(Duration::from_secs(seconds)),
        wall: Timestamp::from_seconds(1_000_000 + seconds as i64),
    }
}

pub(super) fn open(opener: &Opener) -> Engine {
    let config = Config { slots: Some(1), ..Config::default() };
    Engine::open(config, opener(), at(0)).unwrap()
}

/// What is stored; whoever had the tenure has lost it.
pub(super) fn stored(opener: &Opener) -> Snapshot {
    opener().take_tenure().unwrap().1
}

pub(super) fn ask(engine: &mut Engine, now: Now, command: Command) -> (Reply, Vec<Action>) {
    let Outputs { actions, replies, .. } = engine.turn(now, [Input::Command(command)]).unwrap();
    (replies.pop().unwrap().unwrap(), std::mem::take(actions))
}

pub(super) fn tell(engine: &mut Engine, now: Now, event: Event) -> Vec<Action> {
    std::mem::take(&mut engine.turn(now, [Input::Event(event)]).unwrap().actions)
}

pub(super) fn starts(actions: &[Action]) -> Vec<Start> {
    let start = |action: &Action| match action {
        Action::StartAttempt(start) => Some(*start),
        _ => None,
    };
    actions.iter().filter_map(start).collect()
}

pub(super) fn ended(start: Start, outcome: Outcome) -> Event {
    Event::AttemptEnded { task: start.task, attempt: start.attempt, outcome }
}

pub(super) fn submit(engine: &mut Engine, id: u128) -> (RunKey, Vec<Action>) {
    let profile = engine.scheduler_mut().profile(&Profile::default()).unwrap();
    let submission = Submission {
        id: RunId(id),
        profile,
        priority: Priority::new(id as i64),
        deadline: Some(Duration::from_secs(60)),
        key: Some(Arc::from("key")).filter(|_| id.is_multiple_of(2)),
        attachment: None,
    };
    match ask(engine, at(1), Command::Submit(submission)) {
        (Reply::Accepted(run), actions) => (run, actions),
        (other, _) => panic!("{other:?}"),
    }
}

pub(super) fn spec() -> RunSpec {
    let graph = Graph::from_edges([("a", "b"), ("b", "c")]).unwrap();
    let options = RunOptions {
        name: Arc::from("näme with \"quotes\""),
        slots: Some(3),
        timeout: Some(Duration::from_micros(3_600_000_001)),
        ..RunOptions::default()
    };
    let plain = Profile { retry: Retry::times(2), ..Profile::default() };
    let other = Profile { priority: Priority::HIGH, at_most_once: true, ..Profile::default() };
    let mut spec = RunSpec::new(Arc::new(graph), options, plain);
    spec.profiles.push(Arc::new(other));
    spec.profile_of = vec![0, 1, 0];
    spec.deadlines.insert(2, Duration::from_secs(5));
    spec.keys.insert(1, Arc::from("k"));
    spec
}

fn bare_task() -> TaskSpec {
    TaskSpec {
        name: Arc::from("bare"),
        after: Vec::new(),
        before: Vec::new(),
        condition: None,
        membership: tidewheel_core::group::Membership::default(),
        profile: Arc::new(Profile::default()),
        estimate: None,
        key: None,
        deadline: None,
        payload: None,
    }
}

fn start_run(engine: &mut Engine, spec: RunSpec) -> (RunKey, Vec<Action>) {
    let command = Command::SubmitRun { id: RunId(u128::MAX - 1), spec: Arc::new(spec) };
    match ask(engine, at(1), command) {
        (Reply::Accepted(run), actions) => (run, actions),
        (other, _) => panic!("{other:?}"),
    }
}

fn an_empty_store_restores_nothing_and_tenures_rise(opener: &Opener) {
    let (first, snapshot) = opener().take_tenure().unwrap();
    assert!(snapshot.runs.is_empty() && snapshot.submissions.is_empty());
    assert!(snapshot.schedules.is_empty() && snapshot.limits.is_empty());
    let (second, _) = opener().take_tenure().unwrap();
    assert!(second > first, "a tenure is a new number each time");
    assert!(opener().keeps_rows());
}

fn an_older_tenure_is_refused_and_changes_nothing(opener: &Opener) {
    let mut older = open(opener);
    submit(&mut older, 1);
    let mut newer = open(opener);
    let command = Command::DefineLimit { name: Arc::from("l"), spec: LimitSpec::Units(1) };
    let refused = older.turn(at(2), [Input::Command(command)]);
    assert!(matches!(refused, Err(EngineError::Lost(StoreError::StaleTenure { .. }))));
    assert!(matches!(older.turn(at(2), []), Err(EngineError::NotRestored)));
    submit(&mut newer, 2);
    let snapshot = stored(opener);
    assert_eq!((snapshot.submissions.len(), snapshot.limits.len()), (2, 0));
}

fn the_same_change_set_is_kept_once(opener: &Opener) {
    let mut store = opener();
    let (tenure, _) = store.take_tenure().unwrap();
    let mut scheduler = Scheduler::new(Config::default());
    let mut decision = Decision::new();
    let mut step = |decision: &mut Decision, name: &str, units| {
        let command = Command::DefineLimit { name: Arc::from(name), spec: LimitSpec::Units(units) };
        scheduler.step(at(1), Input::Command(command), decision);
    };
    step(&mut decision, "x", 1);
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    decision.clear();
    step(&mut decision, "x", 2);
    step(&mut decision, "y", 3);
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let limits: Vec<(Arc<str>, LimitSpec)> =
        [("x", 2), ("y", 3)].map(|(name, n)| (Arc::from(name), LimitSpec::Units(n))).to_vec();
    assert_eq!(stored(opener).limits, limits);
}

fn a_run_comes_back_as_it_was_asked_for(opener: &Opener) {
    let mut engine = open(opener);
    let (run, _) = start_run(&mut engine, spec());
    let task = TaskSpec {
        name: Arc::from("added"),
        after: vec![0],
        before: vec![1, 2],
        estimate: Some(Duration::from_millis(5)),
        key: Some(Arc::from("k2")),
        deadline: Some(Duration::from_secs(9)),
        payload: Some(Arc::from(&b"\0task"[..])),
        ..bare_task()
    };
    let (reply, _) =
        ask(&mut engine, at(2), Command::AddTasks { run, addition: task.clone().into() });
    assert_eq!(reply, Reply::Added { first: TaskKey { run, index: 3 }, count: 1 });
    let last = TaskSpec { name: Arc::from("last"), after: vec![2, 3], ..bare_task() };
    ask(&mut engine, at(2), Command::AddTasks { run, addition: last.clone().into() });
    ask(&mut engine, at(2), Command::PauseRun(run));

    let snapshot = stored(opener);
    let [kept] = &snapshot.runs[..] else { panic!("{:?}", snapshot.runs) };
    let (row, wanted) = (&*kept.row.spec, spec());
    assert_eq!(kept.row.id, RunId(u128::MAX - 1));
    assert_eq!(kept.row.accepted_at, at(1).wall);
    assert_eq!(row.graph, wanted.graph);
    assert_eq!(row.options, wanted.options);
    assert_eq!(row.profiles, wanted.profiles);
    assert_eq!(row.profile_of, wanted.profile_of);
    assert_eq!((&row.deadlines, &row.keys), (&wanted.deadlines, &wanted.keys));
    assert_eq!(row.already_done, wanted.already_done);
    assert_eq!(kept.added, [(3, Arc::new(task)), (4, Arc::new(last))]);
    assert!(kept.change.is_some_and(|change| change.paused && change.result.is_none()));
}

fn tasks_come_back_in_their_newest_state(opener: &Opener) {
    let mut engine = open(opener);
    let (_, actions) = start_run(&mut engine, spec());
    let [start] = starts(&actions)[..] else { panic!("{actions:?}") };
    tell(&mut engine, at(2), ended(start, failure("fäil\n")));
    let snapshot = stored(opener);
    let row = snapshot.runs[0].tasks.iter().find(|row| row.id.index == 0).unwrap();
    assert_eq!((row.state, row.attempts), (TaskState::Delayed, 1));
    assert_eq!(row.error.as_deref(), Some("fäil\n"));
    assert!(row.until.is_some_and(|until| until >= at(2).wall));
    let indices: Vec<u32> = snapshot.runs[0].tasks.iter().map(|row| row.id.index).collect();
    assert!(indices.is_sorted(), "rows come by index, one a task: {indices:?}");
}

fn what_has_ended_does_not_come_back(opener: &Opener) {
    let mut engine = open(opener);
    let (run, actions) = start_run(&mut engine, spec());
    let mut waiting = starts(&actions);
    while let Some(start) = waiting.pop() {
        waiting.extend(starts(&tell(&mut engine, at(3), ended(start, Outcome::Succeeded))));
    }
    assert!(engine.scheduler_mut().take_report(run).is_some());
    let (_, actions) = submit(&mut engine, 1);
    tell(&mut engine, at(3), ended(starts(&actions)[0], failure("no")));
    let (_, actions) = submit(&mut engine, 3);
    let (waiting, _) = submit(&mut engine, 5);
    let mode = CancelMode::Stop { grace: Duration::ZERO };
    ask(&mut engine, at(4), Command::CancelRun { run: waiting, mode });
    tell(&mut engine, at(5), ended(starts(&actions)[0], Outcome::Succeeded));
    let snapshot = stored(opener);
    assert!(snapshot.runs.is_empty() && snapshot.submissions.is_empty(), "{snapshot:?}");
}

fn submissions_come_back_in_order(opener: &Opener) {
    let mut engine = open(opener);
    for id in [7, 3, 4, 1] {
        submit(&mut engine, id);
    }
    let snapshot = stored(opener);
    let ids: Vec<u128> = snapshot.submissions.iter().map(|(row, _)| row.id.0).collect();
    assert_eq!(ids, [7, 3, 4, 1]);
    let (row, task) = &snapshot.submissions[0];
    assert_eq!((row.priority, row.key.as_deref()), (Priority::new(7), None));
    assert_eq!(row.deadline, Some(at(61).wall));
    assert_eq!(*row.profile, Profile::default());
    assert_eq!(task.as_ref().map(|task| task.state), Some(TaskState::Running));
    assert_eq!(snapshot.submissions[2].0.key.as_deref(), Some("key"));
}

fn queues_and_limits_come_back_as_last_defined(opener: &Opener) {
    let mut engine = open(opener);
    let define = |name: &str, weight| Command::DefineQueue {
        name: Arc::from(name),
        spec: QueueSpec { weight, waiting_max: Some(9), ..QueueSpec::default() },
    };
    for command in [define("z", 1), define("a", 2), define("z", 3)] {
        ask(&mut engine, at(1), command);
    }
    ask(&mut engine, at(1), Command::PauseQueue(Arc::from("a")));
    let limits = [
        ("units", LimitSpec::Units(3)),
        ("rate", LimitSpec::Rate(Rate::new(2, Duration::from_secs(1)).unwrap())),
        ("breaker", LimitSpec::Breaker(BreakerSpec::default())),
    ];
    for (name, spec) in limits.clone() {
        ask(&mut engine, at(1), Command::DefineLimit { name: Arc::from(name), spec });
    }
    let snapshot = stored(opener);
    let queues: Vec<(&str, u32, bool)> = snapshot
        .queues
        .iter()
        .filter(|(name, ..)| &**name != "default")
        .map(|(name, spec, paused)| (&**name, spec.weight, *paused))
        .collect();
    assert_eq!(queues, [("z", 3, false), ("a", 2, true)]);
    let kept: Vec<(&str, LimitSpec)> =
        snapshot.limits.iter().map(|(name, spec)| (&**name, spec.clone())).collect();
    assert_eq!(kept, limits);
    let engine = open(opener);
    assert_eq!(engine.scheduler().overview(at(2)).queues.len(), 3);
}

fn schedules_come_back_where_they_stood(opener: &Opener) {
    let mut engine = open(opener);
    let profile = engine.scheduler_mut().profile(&Profile::default()).unwrap();
    let add = |engine: &mut Engine, id, trigger| {
        let spec = Box::new(ScheduleSpec::new(trigger));
        let (id, priority) = (ScheduleId(id), Priority::LOW);
        ask(
            engine,
            at(1),
            Command::AddSchedule { id, spec, fires: Fires::Task { profile, priority } },
        )
    };
    let cron = Trigger::calendar(Cron::parse("*/5 * * * *").unwrap(), Zone::utc());
    add(&mut engine, 8, cron.clone());
    let (_, actions) = add(&mut engine, 9, Trigger::every(Duration::from_secs(10)));
    let [start] = starts(&actions)[..] else { panic!("{actions:?}") };
    tell(&mut engine, at(2), ended(start, Outcome::Succeeded));
    let (reply, _) = add(&mut engine, 10, Trigger::after(Duration::from_secs(1000)));
    let Reply::Scheduled(cancelled) = reply else { panic!("{reply:?}") };
    ask(&mut engine, at(2), Command::CancelSchedule(cancelled));

    let snapshot = stored(opener);
    let mut schedules: Vec<_> = snapshot.schedules.iter().collect();
    schedules.sort_by_key(|row| row.id);
    let [calendar, rate] = schedules[..] else { panic!("{schedules:?}") };
    assert_eq!((calendar.id, &calendar.spec.trigger), (ScheduleId(8), &cron));
    assert_eq!((rate.id, rate.state.fired), (ScheduleId(9), 1));
    let profile = Arc::new(Profile::default());
    assert_eq!(rate.fires, Fires::Task { profile, priority: Priority::LOW });
    assert_eq!(rate.state.last_fired, Some(at(1).wall));
    assert!(snapshot.submissions.is_empty());

    // Whoever takes over does not fire the same instant again, but the next.
    let mut engine = open(opener);
    assert!(starts(&std::mem::take(&mut engine.outputs().actions)).is_empty());
    let mut fired = Vec::new();
    for second in 1..=10 {
        fired.extend(starts(&tell(&mut engine, at(second), Event::TimePassed)));
    }
    assert_eq!(fired.len(), 1);
}

fn what_ran_when_the_owner_died_runs_again(opener: &Opener) {
    let mut engine = open(opener);
    let (_, actions) = start_run(&mut engine, spec());
    let first = starts(&actions)[0];
    drop(engine);
    let mut engine = open(opener);
    let actions = std::mem::take(&mut engine.outputs().actions);
    let mut waiting = starts(&actions);
    if waiting.is_empty() {
        waiting = starts(&tell(&mut engine, at(600), Event::TimePassed));
    }
    let [second] = waiting[..] else { panic!("{waiting:?}") };
    assert_eq!((second.id, second.attempt), (first.id, first.attempt + 1));
    let mut count = 0;
    while let Some(start) = waiting.pop() {
        count += 1;
        waiting.extend(starts(&tell(&mut engine, at(601), ended(start, Outcome::Succeeded))));
    }
    assert_eq!(count, 3);
    engine.scheduler().check();
    assert!(stored(opener).runs.is_empty());
}

fn what_waited_at_a_persisting_shutdown_comes_back(opener: &Opener) {
    let mut engine = open(opener);
    let (_, actions) = submit(&mut engine, 1);
    submit(&mut engine, 3);
    let start = starts(&actions)[0];
    let command = Command::ShutDown { mode: ShutdownMode::Persist, grace: None };
    ask(&mut engine, at(2), command);
    let actions = tell(&mut engine, at(3), ended(start, Outcome::Succeeded));
    assert!(actions.contains(&Action::ShutDownCompleted));
    drop(engine);
    let mut engine = open(opener);
    let restored = starts(&std::mem::take(&mut engine.outputs().actions));
    assert_eq!(restored.iter().map(|start| start.id.run).collect::<Vec<_>>(), [RunId(3)]);
}

/// All bytes there are, and enough of them not to fit into one page of anything.
fn payload(seed: u8) -> Arc<[u8]> {
    (0..20_000_u32).map(|index| (index as u8).wrapping_add(seed)).collect()
}

fn submit_named(engine: &mut Engine, id: u128, key: &str, seconds: u64) -> Vec<Action> {
    let profile = engine.scheduler_mut().profile(&Profile::default()).unwrap();
    let once = Some(OnceKey::new(key, &id.to_be_bytes()));
    let attachment = Attachment { payload: Some(payload(id as u8)), once, ..Attachment::default() };
    let submission = Submission {
        id: RunId(id),
        profile,
        attachment: Some(Arc::new(attachment)),
        ..Submission::default()
    };
    ask(engine, at(seconds), Command::Submit(submission)).1
}

fn payloads_come_back_byte_for_byte(opener: &Opener) {
    let mut engine = open(opener);
    submit_named(&mut engine, 1, "one", 1);
    let mut spec = spec();
    spec.attachment = Attachment {
        payload: Some(payload(9)),
        kind: Some(Arc::from("bücher")),
        once: Some(OnceKey::new("rün", b"body")),
    };
    let attachment = spec.attachment.clone();
    start_run(&mut engine, spec);
    let profile = engine.scheduler_mut().profile(&Profile::default()).unwrap();
    let mut schedule = ScheduleSpec::new(Trigger::after(Duration::from_secs(50)));
    schedule.payload = Some(Arc::from(&[][..]));
    schedule.kind = Some(Arc::from("alarm"));
    let (id, spec, priority) = (ScheduleId(4), Box::new(schedule), Priority::NORMAL);
    ask(
        &mut engine,
        at(1),
        Command::AddSchedule { id, spec, fires: Fires::Task { profile, priority } },
    );

    let snapshot = stored(opener);
    assert_eq!(snapshot.runs[0].row.spec.attachment, attachment);
    let kept = snapshot.submissions[0].0.attachment.as_ref().unwrap();
    assert_eq!((&kept.payload, &kept.kind), (&Some(payload(1)), &None));
    assert_eq!(kept.once, Some(OnceKey::new("one", &1_u128.to_be_bytes())));
    assert_eq!(snapshot.schedules[0].spec.payload.as_deref(), Some(&[][..]));
    assert_eq!(snapshot.schedules[0].spec.kind.as_deref(), Some("alarm"));
    // And again, from the store that was just read.
    assert_eq!(stored(opener).runs[0].row.spec.attachment, attachment);
}

fn names_come_back_earliest_first(opener: &Opener) {
    let mut engine = open(opener);
    let actions = submit_named(&mut engine, 7, "b", 1);
    submit_named(&mut engine, 3, "a", 2);
    submit_named(&mut engine, 5, "c", 2);
    let [first] = starts(&actions)[..] else { panic!("{actions:?}") };
    tell(&mut engine, at(3), ended(first, Outcome::Succeeded));
    let snapshot = stored(opener);
    let names: Vec<_> =
        snapshot.names.iter().map(|name| (&*name.once.key, name.run.0, name.accepted_at)).collect();
    let (one, two) = (at(1).wall, at(2).wall);
    assert_eq!(names, [("b", 7, one), ("a", 3, two), ("c", 5, two)], "ended ones too");
    assert_eq!(snapshot.names[0].once, OnceKey::new("b", &7_u128.to_be_bytes()));
}

/// The answer to a commit was lost, and whoever asks again does so through a new connection.
fn a_change_set_offered_again_elsewhere_is_kept_once(opener: &Opener) {
    let mut store = opener();
    let (tenure, _) = store.take_tenure().unwrap();
    let mut scheduler = Scheduler::new(Config::default());
    let mut decision = Decision::new();
    let profile = scheduler.profile(&Profile::default()).unwrap();
    for id in 1..=3 {
        let submission = Submission { id: RunId(id), profile, ..Submission::default() };
        scheduler.step(at(1), Input::Command(Command::Submit(submission)), &mut decision);
    }
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    let opened = decision.commit(|changes| opener().commit(tenure, changes, &[])).unwrap();
    let started = starts(&opened.actions);
    decision.clear();
    for start in started {
        scheduler.step(at(2), Input::Event(ended(start, Outcome::Succeeded)), &mut decision);
    }
    decision.commit(|changes| opener().commit(tenure, changes, &[])).unwrap();
    decision.commit(|changes| store.commit(tenure, changes, &[])).unwrap();
    assert!(stored(opener).submissions.is_empty());
    let stale = decision.commit(|changes| store.commit(tenure, changes, &[]));
    assert!(matches!(stale, Err(StoreError::StaleTenure { .. })), "also a set that was kept");
}

fn a_stopped_run_and_a_paused_scheduler_come_back_so(opener: &Opener) {
    let mut engine = open(opener);
    let (run, _) = start_run(&mut engine, spec());
    let mode = CancelMode::Stop { grace: Duration::from_secs(1000) };
    ask(&mut engine, at(2), Command::CancelRun { run, mode });
    ask(&mut engine, at(2), Command::Pause);
    let snapshot = stored(opener);
    assert!(snapshot.paused);
    let change = snapshot.runs[0].change.unwrap();
    assert_eq!((change.stopped, change.result), (Some(Reason::Requested), None));
    let row = &snapshot.runs[0].tasks[0];
    assert_eq!((row.state, row.reason), (TaskState::Cancelling, Reason::Requested));
    let mut engine = open(opener);
    ask(&mut engine, at(3), Command::Resume);
    assert!(!stored(opener).paused);
}

fn whatever_state_a_task_has_comes_back(opener: &Opener) {
    let mut engine = open(opener);
    let graph =
        Graph::from_edges([("bad", "skipped"), ("good", "last"), ("inside", "end")]).unwrap();
    let options = RunOptions { slots: Some(9), ..RunOptions::default() };
    let profile = Profile { task_timeout: Some(Duration::from_secs(99)), ..Profile::default() };
    let mut spec = RunSpec::new(Arc::new(graph), options, profile);
    let (kind, members) = (GroupKind::Parts, vec![4]);
    spec.groups.insert(5, GroupSpec { kind, at_once: Some(2), opener: None, members });
    let (_, actions) = start_run(&mut engine, spec);
    let [bad] = starts(&actions)[..] else { panic!("{actions:?}") };
    tell(&mut engine, at(2), ended(bad, failure("no")));
    let expected: Vec<_> = stored(opener).runs[0].tasks.clone();
    let words: Vec<_> = expected.iter().map(|row| (row.id.index, row.state.word())).collect();
    assert!(words.contains(&(0, "failed")) && words.contains(&(1, "skipped")), "{words:?}");
    assert!(words.contains(&(2, "running")), "{words:?}");
    assert_eq!(expected[1].reason, Reason::DependencyFailed(0));
    // The time of a group runs while its end waits.
    let of_end = |row: &&TaskRow| (row.id.index, row.state) == (5, TaskState::Blocked);
    assert_eq!(expected.iter().find(of_end).map(|row| row.expires), Some(Some(at(100).wall)));
    assert_eq!(stored(opener).runs[0].tasks, expected);
}

fn what_was_put_before_others_still_is(opener: &Opener) {
    let mut engine = open(opener);
    let (run, actions) = start_run(&mut engine, spec());
    let task = TaskSpec { before: vec![1], ..bare_task() };
    ask(&mut engine, at(2), Command::AddTasks { run, addition: task.into() });
    let [first] = starts(&actions)[..] else { panic!("{actions:?}") };
    let started = starts(&tell(&mut engine, at(3), ended(first, Outcome::Succeeded)));
    assert_eq!(started.iter().map(|start| start.id.index).collect::<Vec<_>>(), [3]);
    drop(engine);
    let mut engine = open(opener);
    let mut waiting = starts(&std::mem::take(&mut engine.outputs().actions));
    let mut order = Vec::new();
    while let Some(start) = waiting.pop() {
        order.push(start.id.index);
        waiting.extend(starts(&tell(&mut engine, at(4), ended(start, Outcome::Succeeded))));
    }
    assert_eq!(order, [3, 1, 2], "b waits for what was put before it, c for b");
    engine.scheduler().check();
}

fn what_an_attempt_added_comes_back_with_its_success(opener: &Opener) {
    let mut engine = open(opener);
    let (_, actions) = start_run(&mut engine, spec());
    let [first] = starts(&actions)[..] else { panic!("{actions:?}") };
    // The first of them waits for the second.
    let task = |name: &str, after: u32| TaskSpec {
        name: Arc::from(name),
        after: vec![after],
        before: vec![1],
        ..bare_task()
    };
    let tasks = vec![task("y", Addition::FIRST + 1), task("x", 0)];
    let addition = Addition { tasks, passes_over_known: false };
    tell(&mut engine, at(2), ended(first, Outcome::Expanded(Box::new(addition))));
    drop(engine);
    let kept = stored(opener).runs[0].clone();
    assert_eq!(kept.tasks[0].state, TaskState::Succeeded);
    // An edge between two of them is kept with the later one.
    let edges: Vec<_> = kept.added.iter().map(|(_, it)| (&*it.after, &*it.before)).collect();
    assert_eq!(edges, [(&[][..], &[1][..]), (&[0], &[1, 3])]);

    let mut engine = open(opener);
    let mut waiting = starts(&std::mem::take(&mut engine.outputs().actions));
    let mut order = Vec::new();
    while let Some(start) = waiting.pop() {
        order.push(start.id.index);
        waiting.extend(starts(&tell(&mut engine, at(4), ended(start, Outcome::Succeeded))));
    }
    assert_eq!(order, [4, 3, 1, 2]);
    engine.scheduler().check();
}

fn skipped_and_postponed_tasks_come_back_so(opener: &Opener) {
    let mut engine = open(opener);
    let (_, actions) = start_run(&mut engine, spec());
    let [first] = starts(&actions)[..] else { panic!("{actions:?}") };
    let started = starts(&tell(&mut engine, at(2), ended(first, Outcome::Skipped)));
    let [second] = started[..] else { panic!("{started:?}") };
    let wait = Duration::from_secs(30);
    tell(&mut engine, at(3), ended(second, Outcome::Postponed(wait)));
    let rows = stored(opener).runs[0].tasks.clone();
    let [skipped, postponed] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((skipped.state, skipped.reason), (TaskState::Skipped, Reason::Condition));
    assert_eq!((postponed.state, postponed.reason), (TaskState::Delayed, Reason::Postponed));
    assert_eq!((postponed.attempts, postponed.uncounted, postponed.lost), (1, 1, 0));
    assert_eq!(postponed.until, Some(at(33).wall));

    let mut engine = open(opener);
    assert!(starts(&std::mem::take(&mut engine.outputs().actions)).is_empty());
    let again = starts(&tell(&mut engine, at(33), Event::TimePassed));
    let [again] = again[..] else { panic!("{again:?}") };
    assert_eq!((again.id.index, again.attempt), (1, 2));
    let last = starts(&tell(&mut engine, at(34), ended(again, Outcome::Skipped)));
    tell(&mut engine, at(35), ended(last[0], Outcome::Skipped));
    assert!(stored(opener).runs.is_empty(), "nothing to do is no failure");
}

fn identities_may_have_any_value(opener: &Opener) {
    let mut engine = open(opener);
    let ids = [u128::MAX, 0, 1 << 127, u128::from(u64::MAX), 0x8000_0000_0000_0000];
    for id in ids {
        submit(&mut engine, id);
    }
    let kept: Vec<u128> = stored(opener).submissions.iter().map(|(row, _)| row.id.0).collect();
    assert_eq!(kept, ids);
}
