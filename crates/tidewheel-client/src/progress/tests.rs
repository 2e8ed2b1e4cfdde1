//! What is told of a run, with a run that only answers.
//!
//! Real runs are watched by the tests of the command.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tidewheel::id::TaskId;
use tidewheel::observe::{Fact, Notice};
use tidewheel::run::RunResult;
use tidewheel::store::{AttemptRecord, RecordedOutcome};
use tidewheel::task::Reason;
use tidewheel::{RunId, TaskState, Timestamp};

use super::*;
use crate::kind::Definition;

const RUN: RunId = RunId(7);

/// A run of three tasks: one that works, one that waits for approval, one that needs the first and whose
/// failure is tolerated.
#[derive(Debug)]
struct Three;

const WORKS: u32 = 0;
const ASKS: u32 = 1;
const MAY_FAIL: u32 = 2;
const NAMES: [&str; 3] = ["works", "asks", "may fail"];

impl Definition for Three {
    fn is_wait(&self, task: &str) -> bool {
        task == "asks"
    }

    fn waits_for(&self, task: &str) -> Option<String> {
        (task == "asks").then(|| "waits for approval".to_owned())
    }

    fn asks(&self, task: &str) -> bool {
        task == "asks"
    }

    fn tolerates(&self, task: &str) -> bool {
        task == "may fail"
    }
}

#[derive(Default)]
struct Scene {
    added: RefCell<Vec<&'static str>>,
    states: RefCell<HashMap<u32, (TaskState, Reason)>>,
    said: RefCell<Vec<(TaskId, Said)>>,
    trouble: RefCell<Option<Arc<str>>>,
    /// How often values of elements were asked for.
    questions: RefCell<u32>,
}

impl Scene {
    fn say(&self, index: u32, said: Said) {
        self.said.borrow_mut().push((task(index), said));
    }

    fn leave(&self, index: u32, record: AttemptRecord) {
        self.say(index, Said::Left(Box::new(record)));
    }

    fn put(&self, index: u32, state: TaskState, reason: Reason) {
        self.states.borrow_mut().insert(index, (state, reason));
    }
}

impl RunSource for Scene {
    fn id(&self) -> RunId {
        RUN
    }

    fn name(&self, index: u32) -> Option<String> {
        let added = self.added.borrow();
        NAMES.iter().chain(added.iter()).nth(index as usize).map(|&name| name.to_owned())
    }

    fn state(&self, index: u32) -> Option<TaskState> {
        self.name(index)?;
        Some(self.states.borrow().get(&index).map_or(TaskState::Blocked, |(state, _)| *state))
    }

    fn reason(&self, index: u32) -> Option<Reason> {
        self.states.borrow().get(&index).map(|(_, reason)| *reason)
    }

    fn hear(&self) -> Vec<(TaskId, Said)> {
        std::mem::take(&mut *self.said.borrow_mut())
    }

    fn elements(&self, tasks: &[String]) -> HashMap<String, Json> {
        *self.questions.borrow_mut() += 1;
        let value = |name: &String| {
            let number: u32 = name.strip_prefix("each[")?.strip_suffix(']')?.parse().ok()?;
            Some((name.clone(), json!(10 * number)))
        };
        tasks.iter().filter_map(value).collect()
    }

    fn trouble(&self) -> Option<Arc<str>> {
        self.trouble.borrow().clone()
    }
}

fn task(index: u32) -> TaskId {
    TaskId { run: RUN, index }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A run that is being told of.
struct Stage {
    scene: Scene,
    progress: Progress,
    told: Vec<(Duration, Event)>,
}

impl Stage {
    fn new() -> Self {
        Self::taken_over(Scene::default(), &BTreeSet::new())
    }

    fn taken_over(scene: Scene, ended: &BTreeSet<u32>) -> Self {
        let mut progress = Progress::new(Arc::new(Three), Timestamp::UNIX_EPOCH);
        let mut told = Vec::new();
        let mut steps = NAMES.map(|name| StepInfo { name: name.to_owned(), ..StepInfo::default() });
        steps[MAY_FAIL as usize].after = vec![WORKS as usize];
        progress.open(&scene, "flow", steps.into(), ended, seconds(0), &mut told);
        assert!(matches!(told.remove(0), (Duration::ZERO, Event::RunStarted { .. })));
        Self { scene, progress, told }
    }

    /// What is told of a fact, so many seconds after the start.
    fn fact(&mut self, at: u64, fact: Fact) -> Vec<Event> {
        let at = Timestamp::UNIX_EPOCH.after(seconds(at));
        self.progress.notice(
            &self.scene,
            &Notice { sequence: 0, at, name: None, fact },
            &mut self.told,
        );
        self.told()
    }

    fn hear(&mut self) -> Vec<Event> {
        self.progress.hear(&self.scene, seconds(9), &mut self.told);
        self.told()
    }

    /// What is told when it is looked whether anything can be stored.
    fn look(&mut self, trouble: Option<&str>) -> Vec<Event> {
        *self.scene.trouble.borrow_mut() = trouble.map(Arc::from);
        self.progress.look(&self.scene, seconds(9), &mut self.told);
        self.told()
    }

    fn told(&mut self) -> Vec<Event> {
        self.told.drain(..).map(|(_, event)| event).collect()
    }
}

/// An attempt has something to do, so many seconds after the start.
fn began(at: u64, attempt: u32) -> Said {
    Said::Began(attempt, Timestamp::UNIX_EPOCH.after(seconds(at)))
}

fn started(index: u32, attempt: u32) -> Fact {
    Fact::AttemptStarted(task(index), attempt)
}

#[test]
fn a_step_has_started_when_it_was_admitted_and_has_something_to_do() {
    let mut stage = Stage::new();
    assert_eq!(stage.fact(1, started(WORKS, 1)), []);
    stage.scene.say(WORKS, began(3, 1));
    stage.progress.hear(&stage.scene, seconds(9), &mut stage.told);
    // When it began counts, not when it was admitted or when that was heard.
    assert_eq!(stage.told, [(seconds(3), Event::StepStarted { step: 0, attempt: 1 })]);
    stage.told.clear();
    // The other way round as well.
    stage.scene.say(MAY_FAIL, began(4, 1));
    assert_eq!(stage.hear(), []);
    let at = Timestamp::UNIX_EPOCH.after(seconds(2));
    let notice = Notice { sequence: 0, at, name: None, fact: started(MAY_FAIL, 1) };
    stage.progress.notice(&stage.scene, &notice, &mut stage.told);
    assert_eq!(stage.told, [(seconds(4), Event::StepStarted { step: 2, attempt: 1 })]);
}

#[test]
fn a_step_that_found_nothing_to_do_never_started() {
    let mut stage = Stage::new();
    assert_eq!(stage.fact(1, started(WORKS, 1)), []);
    let ended = Fact::TaskEnded(task(WORKS), TaskState::Skipped, Reason::Condition);
    let told = stage.fact(2, ended);
    let [Event::StepEnded { state: EndState::Skipped, reason, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(reason.as_deref(), Some("condition"));
}

#[test]
fn the_looks_of_a_step_that_waits_are_one_attempt() {
    let mut stage = Stage::new();
    stage.fact(1, started(ASKS, 1));
    stage.scene.say(ASKS, began(2, 1));
    assert_eq!(stage.hear(), [Event::StepStarted { step: 1, attempt: 1 }]);
    let postponed = |_| Fact::AttemptPostponed { task: task(ASKS), attempt: 1, delay: seconds(1) };
    let told = stage.fact(2, postponed(1));
    let [Event::StepWaiting { step: 1, why, answer: Some(answer) }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(why, "waits for approval");
    assert!(answer.starts_with("tidewheel approve ") && answer.ends_with(" asks"), "{answer}");
    // Another look is no news.
    assert_eq!(stage.fact(3, started(ASKS, 2)), []);
    stage.scene.say(ASKS, began(2, 2));
    assert_eq!(stage.fact(4, postponed(2)), []);
}

#[test]
fn what_was_lost_is_told_late_and_only_once() {
    let mut stage = Stage::new();
    stage.scene.added.borrow_mut().push("works[0]");
    stage.scene.put(WORKS, TaskState::Succeeded, Reason::Ordinary);
    stage.scene.put(3, TaskState::Failed, Reason::DependencyFailed(WORKS));
    stage.progress.catch_up(&stage.scene, seconds(5), &mut stage.told);
    let told = stage.told();
    let [ended, added, late] = &told[..] else { panic!("{told:?}") };
    assert!(matches!(
        ended,
        Event::StepEnded { step: 0, state: EndState::Succeeded, is_late: true, .. }
    ));
    assert!(matches!(added, Event::StepAdded(info) if info.name == "works[0]"));
    let Event::StepEnded { step: 3, reason, .. } = late else { panic!("{late:?}") };
    assert_eq!(reason.as_deref(), Some("`works` failed"));
    // The notice comes after all.
    let ended = Fact::TaskEnded(task(WORKS), TaskState::Succeeded, Reason::Ordinary);
    assert_eq!(stage.fact(6, ended), []);
    // So does the start of one that has ended.
    stage.scene.say(WORKS, began(2, 1));
    assert_eq!(stage.fact(7, started(WORKS, 1)), []);
}

#[test]
fn of_a_run_that_was_taken_over_it_is_told_what_had_ended_before() {
    let scene = Scene::default();
    scene.added.borrow_mut().push("works[0]");
    scene.put(WORKS, TaskState::Succeeded, Reason::Ordinary);
    let mut stage = Stage::taken_over(scene, &BTreeSet::from([WORKS, ASKS]));
    let told = stage.told();
    let [Event::StepAdded(_), Event::StepEnded { step: 0, reason, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(reason.as_deref(), Some("before"));
    // Its attempts say themselves that they were admitted: the notice may have come before anybody
    // listened.
    stage.scene.say(MAY_FAIL, Said::Admitted(2));
    stage.scene.say(MAY_FAIL, began(3, 2));
    stage.progress.hear(&stage.scene, seconds(9), &mut stage.told);
    assert_eq!(stage.told, [(seconds(3), Event::StepStarted { step: 2, attempt: 2 })]);
}

#[test]
fn an_end_says_what_went_wrong_and_nothing_twice() {
    let mut stage = Stage::new();
    let record = |error: &str, tail: &str| AttemptRecord {
        error: Some(error.to_owned()),
        tail: Some(tail.to_owned()),
        ..AttemptRecord::default()
    };
    stage.scene.leave(MAY_FAIL, record("exit code 1: no such file", " no such file\n"));
    let failed = |index| Fact::TaskEnded(task(index), TaskState::Failed, Reason::Error);
    let told = stage.fact(1, failed(MAY_FAIL));
    let [Event::StepEnded { error, tail, is_tolerated: true, is_late: false, reason, .. }] =
        &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(error.as_deref(), Some("exit code 1: no such file"));
    assert!(tail.is_empty() && reason.is_none());
    stage.scene.leave(WORKS, record("exit code 1", "first\nlast\n"));
    let told = stage.fact(2, failed(WORKS));
    let [Event::StepEnded { tail, is_tolerated: false, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(tail, &["first", "last"]);
}

/// As when the store was in trouble meanwhile.
#[test]
fn an_end_is_told_as_of_when_it_happened_and_not_of_when_it_was_decided() {
    let ended_at = |count: u64| Some(Timestamp::UNIX_EPOCH.after(seconds(count)));
    let of = |outcome, at| AttemptRecord { ended_at: ended_at(at), outcome, ..Default::default() };
    let is_told_at = |state: TaskState, record: AttemptRecord| {
        let mut stage = Stage::new();
        stage.scene.say(WORKS, began(1, 1));
        stage.fact(1, started(WORKS, 1));
        stage.scene.leave(WORKS, record);
        let fact = Fact::TaskEnded(task(WORKS), state, Reason::Ordinary);
        let at = Timestamp::UNIX_EPOCH.after(seconds(7));
        let notice = Notice { sequence: 0, at, name: None, fact };
        stage.progress.notice(&stage.scene, &notice, &mut stage.told);
        let Some((at, Event::StepEnded { .. })) = stage.told.last() else {
            panic!("{:?}", stage.told)
        };
        *at
    };
    let again = RecordedOutcome::Again(Reason::Error);
    assert_eq!(is_told_at(TaskState::Succeeded, of(None, 2)), seconds(2));
    assert_eq!(is_told_at(TaskState::Failed, of(Some(RecordedOutcome::Failed), 2)), seconds(2));
    // Others ended it, or it is what an attempt before left, or a clock was set.
    assert_eq!(is_told_at(TaskState::Cancelled, of(None, 2)), seconds(7));
    assert_eq!(is_told_at(TaskState::Failed, of(Some(again), 2)), seconds(7));
    assert_eq!(is_told_at(TaskState::Failed, of(None, 0)), seconds(7));
    assert_eq!(is_told_at(TaskState::Succeeded, of(None, 9)), seconds(7));
}

#[test]
fn of_a_success_only_where_it_comes_from_is_told() {
    let mut stage = Stage::new();
    stage.scene.leave(
        WORKS,
        AttemptRecord {
            outcome: Some(RecordedOutcome::Cached),
            tail: Some("noise".to_owned()),
            ..AttemptRecord::default()
        },
    );
    let told = stage.fact(1, Fact::TaskEnded(task(WORKS), TaskState::Succeeded, Reason::Ordinary));
    let [Event::StepEnded { reason, error: None, tail, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(reason.as_deref(), Some("cached"));
    assert!(tail.is_empty());
}

#[test]
fn retries_commands_and_pauses_are_told_as_they_are() {
    let mut stage = Stage::new();
    let retry = Fact::AttemptFailedWillRetry {
        task: task(WORKS),
        attempt: 1,
        delay: seconds(3),
        error: None,
    };
    stage.scene.say(WORKS, Said::Command("make".to_owned()));
    let (step, at, error) = (0, seconds(4), "failed".to_owned());
    assert_eq!(
        stage.fact(1, retry),
        [
            Event::StepOutput { step, line: "$ make".to_owned() },
            Event::StepRetrying { step, attempt: 1, at, error },
        ]
    );
    assert_eq!(stage.fact(2, Fact::RunPaused(RUN)), [Event::Paused]);
    assert_eq!(stage.fact(3, Fact::RunResumed(RUN)), [Event::Resumed]);
}

#[test]
fn a_command_is_told_after_the_start_of_its_step() {
    let mut stage = Stage::new();
    stage.scene.say(WORKS, began(1, 1));
    stage.scene.say(WORKS, Said::Command("make".to_owned()));
    // It may be heard before the notice that the attempt was admitted.
    assert_eq!(stage.hear(), []);
    let line = |text: &str| Event::StepOutput { step: 0, line: text.to_owned() };
    let begin = |attempt: u32| Event::StepStarted { step: 0, attempt };
    assert_eq!(stage.fact(1, started(WORKS, 1)), [begin(1), line("$ make")]);
    stage.scene.say(WORKS, Said::Command("make more".to_owned()));
    assert_eq!(stage.hear(), [line("$ make more")]);
    stage.scene.say(WORKS, began(2, 2));
    stage.scene.say(WORKS, Said::Command("make".to_owned()));
    assert_eq!(stage.hear(), []);
    assert_eq!(stage.fact(2, started(WORKS, 2)), [begin(2), line("$ make")]);
}

#[test]
fn elements_are_told_with_their_values_and_asked_for_together() {
    let mut stage = Stage::new();
    stage.scene.added.borrow_mut().extend(["each[0]", "each[1]", "late"]);
    let told: Vec<Event> =
        (3..6).flat_map(|index| stage.fact(1, Fact::TaskAdded(task(index)))).collect();
    let added = |name: &str, element: Option<Json>| {
        Event::StepAdded(StepInfo { name: name.to_owned(), element, ..StepInfo::default() })
    };
    let values = [Some(json!(0)), Some(json!(10)), None];
    let names = ["each[0]", "each[1]", "late"];
    let expected: Vec<Event> =
        names.iter().zip(values).map(|(name, value)| added(name, value)).collect();
    assert_eq!(told, expected);
    assert_eq!(*stage.scene.questions.borrow(), 1);
}

#[test]
fn other_runs_are_not_told_of() {
    let mut stage = Stage::new();
    let other = TaskId { run: RunId(8), index: 0 };
    assert_eq!(stage.fact(1, Fact::AttemptStarted(other, 1)), []);
    stage.scene.said.borrow_mut().push((other, began(2, 1)));
    assert_eq!(stage.fact(2, Fact::RunPaused(other.run)), []);
    let ended = Fact::TaskEnded(other, TaskState::Failed, Reason::Error);
    assert_eq!(stage.fact(3, ended), []);
    assert_eq!(stage.hear(), []);
}

#[test]
fn the_end_of_a_run_is_told_last() {
    let mut stage = Stage::new();
    let at = Timestamp::UNIX_EPOCH.after(seconds(8));
    let notice =
        Notice { sequence: 0, at, name: None, fact: Fact::RunEnded(RUN, RunResult::Cancelled) };
    let ended = stage.progress.notice(&stage.scene, &notice, &mut stage.told);
    assert_eq!(ended, Some((RunResult::Cancelled, seconds(8))));
    stage.progress.finish(&stage.scene, ended, None, seconds(9), &mut stage.told);
    assert_eq!(stage.told, [(seconds(8), Event::RunEnded { state: EndState::Cancelled })]);
    // If nobody knows how it ended, nothing is made up.
    stage.told.clear();
    stage.progress.finish(&stage.scene, None, None, seconds(9), &mut stage.told);
    assert_eq!(stage.told, []);
}

#[test]
fn what_starts_because_of_an_end_is_told_after_it() {
    let mut stage = Stage::new();
    stage.fact(1, started(WORKS, 1));
    stage.scene.say(WORKS, began(2, 1));
    assert_eq!(stage.hear(), [Event::StepStarted { step: 0, attempt: 1 }]);
    // In a run that was taken over, attempts say themselves that they were admitted, and may be heard first.
    stage.scene.say(MAY_FAIL, Said::Admitted(1));
    stage.scene.say(MAY_FAIL, began(2, 1));
    assert_eq!(stage.hear(), []);
    let told = stage.fact(2, Fact::TaskEnded(task(WORKS), TaskState::Succeeded, Reason::Ordinary));
    let [Event::StepEnded { step: 0, .. }, Event::StepStarted { step: 2, .. }] = &told[..] else {
        panic!("{told:?}")
    };
}

#[test]
fn that_nothing_can_be_stored_is_told_once_and_so_is_its_end() {
    let mut stage = Stage::new();
    let waiting = |why: &str| [Event::RunWaiting { why: why.to_owned() }];
    assert_eq!(stage.look(None), []);
    let full = waiting("waiting for the data folder: the disk is full");
    assert_eq!(stage.look(Some("the disk is full")), full);
    assert_eq!(stage.look(Some("the disk is full")), []);
    let gone = waiting("waiting for the data folder: it is gone");
    assert_eq!(stage.look(Some("it is gone")), gone);
    assert_eq!(stage.look(None), [Event::RunGoesOn]);
    assert_eq!(stage.look(None), []);
}

#[test]
fn a_run_that_waits_for_others_still_does_when_the_store_goes_on() {
    let mut stage = Stage::new();
    let waits = Fact::RunWaits { run: RUN, group: Arc::from("deploy"), holders: vec![RunId(8)] };
    let waiting = stage.fact(1, waits);
    assert!(matches!(waiting[..], [Event::RunWaiting { .. }]), "{waiting:?}");
    assert_eq!(stage.look(Some("the disk is full")).len(), 1);
    assert_eq!(stage.look(None), waiting);
    assert_eq!(stage.fact(2, Fact::RunGoesOn(RUN)), [Event::RunGoesOn]);
}
