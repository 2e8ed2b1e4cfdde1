//! What must hold once all is over: a pure function of the ledger and of what is stored.
//!
//! Where the two come from is in `ledger` and `stored`.

use std::collections::{BTreeSet, HashMap};

use tidewheel::id::{AttemptId, TaskId};
use tidewheel::{RunId, TaskState};

use super::ledger::Line;

/// What the database says at the end, and what is left outside of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Stored {
    pub runs: Vec<StoredRun>,
    /// What the database finds wrong with itself.
    pub findings: Vec<String>,
    /// Processes that should be gone.
    pub left: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct StoredRun {
    pub id: RunId,
    pub is_live: bool,
    pub tasks: Vec<StoredTask>,
}

#[derive(Debug, Clone)]
pub(super) struct StoredTask {
    pub index: u32,
    pub name: String,
    pub duty: Duty,
    /// The tasks it waits for.
    pub after: Vec<u32>,
    pub state: TaskState,
    pub attempts: u32,
    pub at_most_once: bool,
}

/// What a task has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Duty {
    /// To run, and to say so in the ledger.
    #[default]
    Work,
    /// To succeed without a word: it only finds out or gathers.
    Quiet,
    /// Nothing: it must be skipped.
    Never,
    /// To run and to say so, unless it was ended before.
    Perhaps,
    /// Whatever it likes, without a word.
    Free,
}

impl StoredRun {
    /// The tasks with something to say that a task waits for, past those that say nothing.
    fn needed_by(&self, task: &StoredTask) -> Vec<&StoredTask> {
        let mut found = Vec::new();
        let mut open = task.after.clone();
        let mut seen = BTreeSet::new();
        while let Some(index) = open.pop() {
            let Some(needed) = self.tasks.get(index as usize) else { continue };
            match needed.duty {
                _ if !seen.insert(index) => {}
                Duty::Work | Duty::Perhaps => found.push(needed),
                Duty::Quiet | Duty::Never | Duty::Free => open.extend(&needed.after),
            }
        }
        found
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Accepted, but not done.
    Lost,
    /// Done twice, or at a time when it must not be done.
    Doubled,
    /// Something else that must hold does not.
    Broken,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Broken => "broken",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub kind: Kind,
    pub what: String,
}

/// What a check came to.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub runs: u64,
    pub attempts: u64,
    pub violations: Vec<Violation>,
}

impl Verdict {
    pub fn find(&mut self, kind: Kind, what: impl Into<String>) {
        self.violations.push(Violation { kind, what: what.into() });
    }
}

/// Checks that every one of `names` was accepted and done, once.
pub(super) fn check(ledger: &str, stored: &Stored, names: &[String]) -> Verdict {
    let mut verdict = Verdict::default();
    let history = History::read(ledger, &mut verdict);
    check_acceptance(&history, stored, names, &mut verdict);
    check_runs(&history, stored, &mut verdict);
    verdict
}

/// Checks that every task of what is stored was done as it should, whoever was told of it.
pub(super) fn check_tasks(ledger: &str, stored: &Stored) -> Verdict {
    let mut verdict = Verdict::default();
    let history = History::read(ledger, &mut verdict);
    check_runs(&history, stored, &mut verdict);
    verdict
}

fn check_runs(history: &History, stored: &Stored, verdict: &mut Verdict) {
    verdict.runs = stored.runs.len() as u64;
    verdict.attempts = history.lines.values().map(|lines| lines.starts()).sum();
    let mut known = BTreeSet::new();
    for run in &stored.runs {
        known.insert(run.id);
        check_run(run, history, verdict);
    }
    for task in history.lines.keys().filter(|task| !known.contains(&task.run)) {
        verdict.find(Kind::Doubled, format!("{} ran, but there is no such run", shown(*task)));
    }
    for finding in &stored.findings {
        verdict.find(Kind::Broken, format!("integrity check: {finding}"));
    }
    for left in &stored.left {
        verdict.find(Kind::Broken, format!("still running: {left}"));
    }
}

/// What the ledger says of each task and name.
#[derive(Default)]
struct History {
    accepted: HashMap<String, BTreeSet<RunId>>,
    lines: HashMap<TaskId, TaskLines>,
}

/// The lines of one task: their number in the ledger, the attempt, and what it said.
#[derive(Default)]
struct TaskLines {
    lines: Vec<(usize, u32, Word)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Start,
    End,
    Fail,
}

impl TaskLines {
    fn starts(&self) -> u64 {
        self.lines.iter().filter(|(_, _, word)| *word == Word::Start).count() as u64
    }

    fn first_start(&self) -> Option<usize> {
        self.lines.iter().find(|(_, _, word)| *word == Word::Start).map(|(place, ..)| *place)
    }

    /// Where the attempt of this number said that it had done all it had to do.
    fn end_of(&self, number: u32) -> Option<usize> {
        let mut lines = self.lines.iter();
        lines.find(|(_, n, word)| (*n, *word) == (number, Word::End)).map(|(place, ..)| *place)
    }

    fn last(&self) -> Option<usize> {
        self.lines.last().map(|(place, ..)| *place)
    }
}

impl History {
    fn read(ledger: &str, verdict: &mut Verdict) -> Self {
        let mut history = Self::default();
        for (place, text) in ledger.lines().enumerate() {
            match Line::parse(text) {
                Some(Line::Accepted { name, run }) => {
                    history.accepted.entry(name.to_owned()).or_default().insert(run);
                }
                Some(Line::Start(attempt)) => history.note(place, attempt, Word::Start),
                Some(Line::End(attempt)) => history.note(place, attempt, Word::End),
                Some(Line::Fail(attempt)) => history.note(place, attempt, Word::Fail),
                Some(Line::Victim | Line::Gate | Line::Ready | Line::Dispatched { .. }) => {}
                None => {
                    let what = format!("line {} of the ledger makes no sense: {text}", place + 1);
                    verdict.find(Kind::Broken, what);
                }
            }
        }
        history
    }

    fn note(&mut self, place: usize, attempt: AttemptId, word: Word) {
        let lines = &mut self.lines.entry(attempt.task).or_default().lines;
        lines.push((place, attempt.number, word));
    }
}

fn check_acceptance(history: &History, stored: &Stored, names: &[String], verdict: &mut Verdict) {
    let stored: BTreeSet<RunId> = stored.runs.iter().map(|run| run.id).collect();
    let mut answered = BTreeSet::new();
    for name in names {
        let Some(runs) = history.accepted.get(name) else {
            verdict.find(Kind::Lost, format!("`{name}` was never accepted"));
            continue;
        };
        if runs.len() > 1 {
            verdict.find(Kind::Doubled, format!("`{name}` was accepted as {} runs", runs.len()));
        }
        for run in runs {
            answered.insert(*run);
            if !stored.contains(run) {
                let what = format!("`{name}` was accepted as run {run}, which is not stored");
                verdict.find(Kind::Lost, what);
            }
        }
    }
    for run in stored.difference(&answered) {
        verdict.find(Kind::Doubled, format!("run {run} is stored, but nobody was told of it"));
    }
}

fn check_run(run: &StoredRun, history: &History, verdict: &mut Verdict) {
    if run.is_live {
        verdict.find(Kind::Lost, format!("run {} has not ended", run.id));
    }
    let none = TaskLines::default();
    let lines = |index: u32| history.lines.get(&TaskId { run: run.id, index }).unwrap_or(&none);
    for task in &run.tasks {
        let id = TaskId { run: run.id, index: task.index };
        check_end(id, task, lines(task.index), verdict);
        check_attempts(id, task, lines(task.index), verdict);
        let Some(start) = lines(task.index).first_start() else { continue };
        for needed in run.needed_by(task) {
            let before = lines(needed.index);
            let is_done = needed.state != TaskState::Succeeded
                || before.end_of(needed.attempts).is_some_and(|end| end < start);
            if !is_done || before.last().is_some_and(|last| last > start) {
                let what = format!(
                    "{} started (line {}) before task {}, which it needs, was over",
                    shown(id),
                    start + 1,
                    needed.index
                );
                verdict.find(Kind::Doubled, what);
            }
        }
    }
}

/// Whether the task came to the end that it should, and did what the database says it did.
fn check_end(id: TaskId, task: &StoredTask, lines: &TaskLines, verdict: &mut Verdict) {
    let (state, attempts) = (task.state, task.attempts);
    if task.duty == Duty::Free {
        return;
    }
    if matches!(task.duty, Duty::Quiet | Duty::Never) {
        let should =
            if task.duty == Duty::Quiet { TaskState::Succeeded } else { TaskState::Skipped };
        if state != should || lines.last().is_some() {
            let what = format!("{} (`{}`) is {}", shown(id), task.name, state.word());
            verdict.find(Kind::Broken, what);
        }
        return;
    }
    // Whether a lost attempt took effect is not known, and it must not be tried again.
    let may_fail = task.at_most_once && matches!(state, TaskState::Unknown | TaskState::Failed);
    let may_fail = may_fail || task.duty == Duty::Perhaps;
    if state != TaskState::Succeeded && !may_fail {
        let what = format!("{} is {} after {attempts} attempts", shown(id), state.word());
        verdict.find(Kind::Lost, what);
    }
    if state == TaskState::Succeeded && lines.end_of(attempts).is_none() {
        let what = format!("{} succeeded in attempt {attempts}, which did not do it", shown(id));
        verdict.find(Kind::Lost, what);
    }
}

/// Whether attempts came one after the other, each once.
fn check_attempts(id: TaskId, task: &StoredTask, lines: &TaskLines, verdict: &mut Verdict) {
    let mut started = BTreeSet::new();
    for (place, number, word) in &lines.lines {
        let place = place + 1;
        let newest = started.last().copied().unwrap_or(0);
        if *number < newest {
            let what = format!(
                "{}: attempt {number} spoke (line {place}) after attempt {newest} had started",
                shown(id)
            );
            verdict.find(Kind::Doubled, what);
        }
        match word {
            Word::Start => {
                if !started.insert(*number) {
                    let what = format!("{}: attempt {number} started twice", shown(id));
                    verdict.find(Kind::Doubled, what);
                }
            }
            Word::End | Word::Fail if !started.contains(number) => {
                let what = format!("{}: attempt {number} ended without a start", shown(id));
                verdict.find(Kind::Broken, what);
            }
            Word::End | Word::Fail => {}
        }
        if *number > task.attempts {
            let what = format!(
                "{}: attempt {number} ran (line {place}), but {} are recorded",
                shown(id),
                task.attempts
            );
            verdict.find(Kind::Doubled, what);
        }
    }
    if task.at_most_once && started.len() > 1 {
        let what = format!("{} may run at most once, but started {}", shown(id), started.len());
        verdict.find(Kind::Doubled, what);
    }
}

fn shown(task: TaskId) -> String {
    format!("task {} of run {}", task.index, task.run)
}
