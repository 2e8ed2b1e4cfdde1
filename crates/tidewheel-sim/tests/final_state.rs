//! Random graphs with random failures and words, against an obvious model of what becomes of each task.

mod common;

use std::sync::Arc;

use common::{Bare, starts};
use tidewheel_core::RunId;
use tidewheel_core::decision::Start;
use tidewheel_core::graph::Graph;
use tidewheel_core::input::Command;
use tidewheel_core::policy::OnError;
use tidewheel_core::row::RunResult;
use tidewheel_core::spec::{Config, Profile, RunOptions, RunOrder, RunSpec};
use tidewheel_core::task::TaskState;
use tidewheel_sim::random::Random;

const GRAPHS: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

/// The model: what the words say, read off the page, looked at task by task.
#[derive(Debug)]
struct Model {
    needs: Vec<Vec<usize>>,
    /// Own word on failure, own word on the failure of what it needs, clean-up.
    words: Vec<(Option<OnError>, Option<OnError>, bool)>,
    default: OnError,
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
            TaskState::Skipped => true,
            _ => false,
        };
        !always && (self.stopped || self.needs[task].iter().any(bad))
    }

    fn may_start(&self, task: usize) -> bool {
        self.states[task] == TaskState::Blocked
            && self.needs[task].iter().all(|&need| self.states[need].is_terminal())
    }

    fn end(&mut self, task: usize, fails: bool) {
        self.states[task] = if fails { TaskState::Failed } else { TaskState::Succeeded };
        if fails {
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
        // Whoever will never start is skipped, until nothing changes any more.
        while let Some(lost) = (0..self.states.len())
            .find(|&task| self.states[task] == TaskState::Blocked && self.is_lost(task))
        {
            self.states[lost] = TaskState::Skipped;
        }
    }
}

#[test]
fn every_task_ends_as_the_model_says() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..GRAPHS {
        for state in play(seed) {
            *seen.entry(state).or_insert(0_u64) += 1;
        }
    }
    for state in [TaskState::Succeeded, TaskState::Failed, TaskState::Skipped] {
        assert!(seen.get(&state).is_some_and(|&count| count > GRAPHS / 2), "{seen:?}");
    }
}

fn word(random: &mut Random) -> Option<OnError> {
    *random.pick(&[None, None, Some(OnError::Continue), Some(OnError::Skip), Some(OnError::Fail)])
}

fn play(seed: u64) -> Vec<TaskState> {
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
    let default = *random.pick(&[OnError::Continue, OnError::Skip, OnError::Skip, OnError::Fail]);
    let chance = *random.pick(&[5, 20, 50]);
    let fails: Vec<bool> = (0..count).map(|_| random.percent(chance)).collect();

    let graph = Arc::new(Graph::numbered(count as u32, edges).expect("edges point forward"));
    let options = RunOptions {
        on_error: default,
        slots: random.percent(50).then(|| random.between(1, 3) as u32),
        order: *random.pick(&[RunOrder::CriticalPath, RunOrder::Fifo]),
        ..RunOptions::default()
    };
    let mut spec = RunSpec::new(graph, options, Profile::default());
    spec.profiles = words
        .iter()
        .map(|&(on_error, on_dependency_error, always)| {
            Arc::new(Profile { on_error, on_dependency_error, always, ..Profile::default() })
        })
        .collect();
    spec.profile_of = (0..count as u16).collect();
    let states = vec![TaskState::Blocked; count];
    let mut model = Model { needs, words, default, states, stopped: false, failed: false };

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
        let place = random.below(running.len() as u64) as usize;
        let ended = running.swap_remove(place);
        model.end(ended.id.index as usize, fails[ended.id.index as usize]);
        outputs = bare.end(ended, fails[ended.id.index as usize]);
    }
    let report = run.and_then(|run| bare.scheduler.take_report(run));
    let report = report.unwrap_or_else(|| panic!("seed {seed}: not ended: {model:?}"));
    let ends: Vec<TaskState> = report.tasks().map(|task| task.state).collect();
    assert_eq!(ends, model.states, "seed {seed}: {model:?}");
    let expected = if model.failed { RunResult::Failed } else { RunResult::Succeeded };
    assert_eq!(report.result, expected, "seed {seed}: {model:?}");
    ends
}
