//! Random graphs with random failures and words, tasks with nothing to do and tasks put before others,
//! against an obvious model of what becomes of each task.

use std::sync::Arc;

use crate::common::{Bare, failed, starts};
use tidewheel_core::decision::{Outputs, Start};
use tidewheel_core::graph::Graph;
use tidewheel_core::input::{Command, Input, Outcome};
use tidewheel_core::policy::{OnError, OnSkip};
use tidewheel_core::row::RunResult;
use tidewheel_core::spec::{Config, Profile, RunOptions, RunOrder, RunSpec, TaskSpec};
use tidewheel_core::task::TaskState;
use tidewheel_core::{RunId, RunKey};
use tidewheel_sim::random::Random;

const GRAPHS: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

/// The model: what the words say, read off the page, looked at task by task.
#[derive(Debug)]
struct Model {
    needs: Vec<Vec<usize>>,
    /// Tasks that had nothing to do, or followed one that had not.
    idle: Vec<bool>,
    /// Own word on failure, own word on the failure of what it needs, clean-up.
    words: Vec<(Option<OnError>, Option<OnError>, bool)>,
    /// Own word on skips by a condition.
    skip_words: Vec<Option<OnSkip>>,
    default: OnError,
    skip_default: OnSkip,
    states: Vec<TaskState>,
    stopped: bool,
    failed: bool,
}

impl Model {
    fn word(&self, failed: usize, dependent: usize) -> OnError {
        let (own, own_for_needs, _) = self.words[dependent];
        own_for_needs.or(own).or(self.words[failed].0).unwrap_or(self.default)
    }

    /// Whether a task that has not started will never start, as things are.
    fn is_lost(&self, task: usize) -> bool {
        let (_, _, always) = self.words[task];
        let bad = |&need: &usize| match self.states[need] {
            TaskState::Failed => self.word(need, task) != OnError::Continue,
            TaskState::Skipped => !self.idle[need],
            _ => false,
        };
        !always && (self.stopped || self.needs[task].iter().any(bad))
    }

    fn may_start(&self, task: usize) -> bool {
        self.states[task] == TaskState::Blocked
            && self.needs[task].iter().all(|&need| self.states[need].is_terminal())
    }

    /// Whether a task that has all it needs follows one that was skipped by a condition.
    fn declines(&self, task: usize) -> bool {
        let said = |need: usize| self.skip_words[task].or(self.skip_words[need]);
        let follows = |&need: &usize| {
            self.idle[need] && said(need).unwrap_or(self.skip_default) == OnSkip::Skip
        };
        !self.words[task].2 && self.may_start(task) && self.needs[task].iter().any(follows)
    }

    /// Puts a new task before others. What it needs may have ended.
    fn add(&mut self, task: &Added) {
        let new = self.needs.len();
        self.needs.push(task.after.clone());
        self.words.push((task.word, None, false));
        self.skip_words.push(task.skip_word);
        self.states.push(TaskState::Blocked);
        self.idle.push(false);
        for &before in &task.before {
            self.needs[before].push(new);
        }
        self.skip_lost();
    }

    /// Whether a task waits for others.
    fn waits(&self, task: usize) -> bool {
        self.states[task] == TaskState::Blocked && !self.may_start(task)
    }

    /// Whether a task waits for another one, or is it.
    fn waits_for(&self, task: usize, other: usize) -> bool {
        self.states[task] == TaskState::Blocked
            && (task == other || self.needs[task].iter().any(|&need| self.waits_for(need, other)))
    }

    fn end(&mut self, task: usize, fate: Fate) {
        self.states[task] = match fate {
            Fate::Succeeds => TaskState::Succeeded,
            Fate::Fails => TaskState::Failed,
            Fate::HasNothingToDo => TaskState::Skipped,
        };
        self.idle[task] = fate == Fate::HasNothingToDo;
        if fate == Fate::Fails {
            let own = self.words[task].0;
            // Clean-up runs in any case and so has no say.
            let has_say =
                |other: &usize| self.needs[*other].contains(&task) && !self.words[*other].2;
            let dependents: Vec<usize> = (0..self.needs.len()).filter(has_say).collect();
            let stops = if dependents.is_empty() {
                own.unwrap_or(self.default) == OnError::Fail
            } else {
                dependents.iter().any(|&other| self.word(task, other) == OnError::Fail)
            };
            let excused = matches!(own, Some(OnError::Skip | OnError::Continue));
            self.failed |= stops || !excused;
            self.stopped |= stops;
        }
        self.skip_lost();
    }

    /// Whoever will never start is skipped, until nothing changes any more.
    fn skip_lost(&mut self) {
        let open = |model: &Self, task: &usize| model.states[*task] == TaskState::Blocked;
        loop {
            let tasks = 0..self.states.len();
            let mut waiting = tasks.filter(|task| open(self, task));
            let lost = waiting.clone().find(|&task| self.is_lost(task));
            let Some(task) = lost.or_else(|| waiting.find(|&task| self.declines(task))) else {
                return;
            };
            self.states[task] = TaskState::Skipped;
            self.idle[task] = lost.is_none();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Succeeds,
    Fails,
    HasNothingToDo,
}

impl Fate {
    fn of(random: &mut Random, chance: u64) -> Self {
        match random.percent(chance) {
            true => Self::Fails,
            false if random.percent(15) => Self::HasNothingToDo,
            false => Self::Succeeds,
        }
    }
}

/// A task to be added.
#[derive(Debug)]
struct Added {
    after: Vec<usize>,
    before: Vec<usize>,
    word: Option<OnError>,
    skip_word: Option<OnSkip>,
}

#[test]
fn every_task_ends_as_the_model_says() {
    let mut seen = std::collections::BTreeMap::new();
    let mut added = (0, 0);
    for seed in 0..GRAPHS {
        for state in play(seed, &mut added) {
            *seen.entry(state).or_insert(0_u64) += 1;
        }
    }
    assert!(added.0 > GRAPHS / 10 && added.1 > GRAPHS / 50, "{added:?} added and refused");
    for state in [TaskState::Succeeded, TaskState::Failed, TaskState::Skipped] {
        assert!(seen.get(&state).is_some_and(|&count| count > GRAPHS / 2), "{seen:?}");
    }
}

fn word(random: &mut Random) -> Option<OnError> {
    *random.pick(&[None, None, Some(OnError::Continue), Some(OnError::Skip), Some(OnError::Fail)])
}

fn skip_word(random: &mut Random) -> Option<OnSkip> {
    *random.pick(&[None, None, Some(OnSkip::Continue), Some(OnSkip::Skip)])
}

fn some_task(random: &mut Random, model: &Model) -> Added {
    let count = model.states.len() as u64;
    let some = |random: &mut Random| -> Vec<usize> {
        (0..random.below(3)).map(|_| random.below(count) as usize).collect()
    };
    let after = some(random);
    let mut before = some(random);
    if random.percent(80) {
        before.retain(|&task| model.waits(task));
    }
    Added { after, before, word: word(random), skip_word: skip_word(random) }
}

/// Adds a task, if by the model that makes sense; if it does not, it must be refused.
fn add(
    bare: &mut Bare,
    model: &mut Model,
    task: &Added,
    run: Option<RunKey>,
    added: &mut (u64, u64),
) -> Outputs {
    let too_late = task.before.iter().any(|&other| !model.waits(other));
    let circular = || {
        let waits = |&after: &usize| task.before.iter().any(|&b| model.waits_for(after, b));
        task.after.iter().any(waits)
    };
    let is_refused = model.stopped || too_late || circular();
    let indices = |tasks: &[usize]| tasks.iter().map(|&task| task as u32).collect();
    let spec = TaskSpec {
        name: format!("added {}", model.states.len()).into(),
        after: indices(&task.after),
        before: indices(&task.before),
        condition: None,
        membership: tidewheel_core::group::Membership::default(),
        profile: Arc::new(Profile {
            on_error: task.word,
            on_skip: task.skip_word,
            ..Profile::default()
        }),
        estimate: None,
        key: None,
        deadline: None,
        payload: None,
    };
    let run = run.expect("something was started");
    let command = Command::AddTasks { run, addition: spec.into() };
    let outputs = bare.step(Input::Command(command));
    assert_eq!(
        outputs.replies[0].is_err(),
        is_refused,
        "{:?}: {task:?} {model:?}",
        outputs.replies
    );
    if is_refused {
        added.1 += 1;
    } else {
        added.0 += 1;
        model.add(task);
    }
    outputs
}

fn play(seed: u64, added: &mut (u64, u64)) -> Vec<TaskState> {
    let mut random = Random::new(seed);
    let count = random.between(1, 9) as usize;
    let density = *random.pick(&[10, 30, 60]);
    let mut needs = vec![Vec::new(); count];
    let mut edges = Vec::new();
    for (after, list) in needs.iter_mut().enumerate() {
        for before in 0..after {
            if random.percent(density) {
                list.push(before);
                edges.push((before as u32, after as u32));
            }
        }
    }
    let words: Vec<_> =
        (0..count).map(|_| (word(&mut random), word(&mut random), random.percent(10))).collect();
    let skip_words: Vec<_> = (0..count).map(|_| skip_word(&mut random)).collect();
    let skip_default = *random.pick(&[OnSkip::Continue, OnSkip::Skip]);
    let default = *random.pick(&[OnError::Continue, OnError::Skip, OnError::Skip, OnError::Fail]);
    let chance = *random.pick(&[5, 20, 50]);
    let mut fates: Vec<Fate> = (0..count).map(|_| Fate::of(&mut random, chance)).collect();

    let graph = Arc::new(Graph::numbered(count as u32, edges).expect("edges point forward"));
    let options = RunOptions {
        on_error: default,
        on_skip: skip_default,
        slots: random.percent(50).then(|| random.between(1, 3) as u32),
        order: *random.pick(&[RunOrder::CriticalPath, RunOrder::Fifo]),
        ..RunOptions::default()
    };
    let mut spec = RunSpec::new(graph, options, Profile::default());
    spec.profiles = words
        .iter()
        .zip(&skip_words)
        .map(|(&(on_error, on_dependency_error, always), &on_skip)| {
            let words = Profile { on_error, on_dependency_error, on_skip, ..Profile::default() };
            Arc::new(Profile { always, ..words })
        })
        .collect();
    spec.profile_of = (0..count as u16).collect();
    let states = vec![TaskState::Blocked; count];
    let idle = vec![false; count];
    let mut model = Model {
        needs,
        idle,
        words,
        skip_words,
        default,
        skip_default,
        states,
        stopped: false,
        failed: false,
    };

    let mut bare = Bare::new(Config::default());
    let mut outputs = bare.ask(Command::SubmitRun { id: RunId(1), spec: Arc::new(spec) });
    let mut running: Vec<Start> = Vec::new();
    let mut run = None;
    loop {
        for start in starts(&outputs) {
            let index = start.id.index as usize;
            assert!(model.may_start(index), "seed {seed}: {index} started in {model:?}");
            model.states[index] = TaskState::Running;
            run = Some(start.task.run);
            running.push(start);
        }
        bare.scheduler.check();
        if running.is_empty() {
            break;
        }
        if random.percent(20) && model.states.len() < 14 {
            let task = some_task(&mut random, &model);
            outputs = add(&mut bare, &mut model, &task, run, added);
            if model.states.len() > fates.len() {
                fates.push(Fate::of(&mut random, chance));
            }
            continue;
        }
        let place = random.below(running.len() as u64) as usize;
        let ended = running.swap_remove(place);
        let fate = fates[ended.id.index as usize];
        model.end(ended.id.index as usize, fate);
        let outcome = match fate {
            Fate::Succeeds => Outcome::Succeeded,
            Fate::Fails => failed(),
            Fate::HasNothingToDo => Outcome::Skipped,
        };
        outputs = bare.end_with(ended, outcome);
    }
    let report = run.and_then(|run| bare.scheduler.take_report(run));
    let report = report.unwrap_or_else(|| panic!("seed {seed}: not ended: {model:?}"));
    let ends: Vec<TaskState> = report.tasks().map(|task| task.state).collect();
    assert_eq!(ends, model.states, "seed {seed}: {model:?}");
    let expected = if model.failed { RunResult::Failed } else { RunResult::Succeeded };
    assert_eq!(report.result, expected, "seed {seed}: {model:?}");
    ends
}
