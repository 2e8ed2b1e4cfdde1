//! [`Model`]: what is known about the run, kept so that a frame costs what it shows.
//!
//! It has no clock: every change comes with its time, a duration since the start of the run. How
//! things look is decided in `view`, how long the rest takes in `eta`.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tidewheel_client::progress::{EndState, Event, StepInfo};
use tidewheel_client::text;

use crate::keys::Action;

/// Steps that ended lately, which are remembered in order.
const RECENT_MAX: usize = 16;
/// Lines of output kept for the log.
pub const LOG_MAX: usize = 1000;
/// Lines of output kept for each failed step.
const TAIL_MAX: usize = 20;

/// A run and its steps, and which part of it is looked at.
#[derive(Debug, Default)]
pub struct Model {
    pub(crate) flow: String,
    pub(crate) run_id: String,
    pub(crate) phase: Phase,
    pub(crate) steps: Vec<Step>,
    /// The widest name, in columns.
    pub(crate) name_width: usize,
    /// How many ended in each way, in the order of [`EndState::ALL`].
    ended_counts: [usize; 5],
    /// Steps under way, the oldest first.
    pub(crate) running: BTreeSet<(Duration, usize)>,
    /// Steps that wait for their next attempt, the next first.
    pub(crate) delayed: BTreeSet<(Duration, usize)>,
    pub(crate) ready: BTreeSet<usize>,
    pub(crate) blocked: BTreeSet<usize>,
    /// Failed steps in the order of their failing.
    pub(crate) failed: Vec<usize>,
    /// The last steps that ended otherwise, the latest last.
    pub(crate) recent: VecDeque<usize>,
    /// Those that decided how long it took, or has taken by now, where that is told.
    pub(crate) critical: BTreeSet<usize>,
    pub(crate) log: VecDeque<LogLine>,
    pub(crate) part: Part,
    /// Rows that were scrolled past, in parts that can be scrolled.
    pub(crate) scroll: usize,
}

/// What the run as a whole does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Running,
    /// For a place in its concurrency group.
    Waiting,
    Paused,
    Draining,
    Killing,
    Ended {
        state: EndState,
        at: Duration,
    },
}

/// Which part of the run is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything if there is room, else a window.
    #[default]
    Fitting,
    All,
    Window,
    Failed,
    Log,
}

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    pub name: String,
    pub expected: Option<Duration>,
    pub attempts_max: Option<u32>,
    /// The latest attempt, zero before the first.
    pub attempt: u32,
    pub status: Status,
    pub after: Vec<usize>,
    pub dependents: Vec<usize>,
    /// How many of `after` have not ended.
    pub unmet: usize,
    /// Why it waits, or the error of the attempt before.
    pub why: String,
    /// The line that says how it is answered, if it waits for somebody.
    pub answer: Vec<String>,
    /// When the first attempt began.
    pub began: Option<Duration>,
    /// When it ended, if that is known.
    pub ended: Option<Duration>,
    /// The time of the last attempt, once it is over.
    pub took: Option<Duration>,
    /// What else is known once it is over, if that is anything.
    pub end: Option<Box<End>>,
}

/// Where a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Blocked,
    Ready,
    Running { since: Duration },
    Delayed { until: Duration },
    Ended(EndState),
}

/// What is known about a step that is over.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub reason: String,
    pub error: String,
    pub tail: Vec<String>,
    pub is_tolerated: bool,
}

/// A line of output.
#[derive(Debug)]
pub(crate) struct LogLine {
    pub step: usize,
    pub text: String,
}

impl Model {
    /// Takes in what happened at `now`.
    pub fn update(&mut self, now: Duration, event: Event) {
        match event {
            Event::RunStarted { run_id, flow, steps } => self.start(&run_id, &flow, steps),
            Event::StepAdded(info) => self.add_all(vec![info]),
            Event::StepWaiting { step, why, answer } => self.explain(step, &why, answer),
            Event::StepStarted { step, attempt } => self.begin(step, attempt, now),
            Event::StepRetrying { step, attempt, at, error } => {
                self.delay(step, attempt, at, &error);
            }
            Event::StepEnded { step, state, reason, error, tail, is_tolerated, is_late } => {
                let clean = |text: Option<String>| {
                    text.map(|text| text::sentence(&text)).unwrap_or_default()
                };
                let skipped = tail.len().saturating_sub(TAIL_MAX);
                let tail = tail.iter().skip(skipped).map(|line| text::output(line)).collect();
                let (reason, error) = (clean(reason), clean(error));
                let now = (!is_late).then_some(now);
                self.end(step, state, now, End { reason, error, tail, is_tolerated });
            }
            Event::StepOutput { step, line } => self.write(step, &line),
            Event::RunWaiting { .. } => self.turn(Phase::Waiting),
            Event::RunGoesOn => self.turn(Phase::Running),
            Event::Paused => self.turn(Phase::Paused),
            Event::Resumed => self.turn(Phase::Running),
            Event::Draining => self.turn(Phase::Draining),
            Event::Killing => self.turn(Phase::Killing),
            Event::RunEnded { state } => self.phase = Phase::Ended { state, at: now },
        }
    }

    /// Looks at another part of the run, where a page has so many rows. Keys for the run itself change nothing
    /// here.
    pub fn press(&mut self, key: Action, page: isize) {
        match key {
            Action::All => self.look_at(Part::All),
            Action::Window => self.look_at(Part::Window),
            Action::Failed => self.look_at(Part::Failed),
            Action::Log => self.look_at(Part::Log),
            Action::Up => self.scroll_by(-1, page),
            Action::Down => self.scroll_by(1, page),
            Action::PageUp => self.scroll_by(-page, page),
            Action::PageDown => self.scroll_by(page, page),
            Action::Top => self.scroll_by(isize::MIN + 1, page),
            Action::Bottom => self.scroll_by(isize::MAX, page),
            _ => {}
        }
    }

    /// The steps that matter now, at most so many, in their own order.
    #[must_use]
    pub(crate) fn window(&self, most: usize) -> Vec<usize> {
        super::window::Choice::window(self, most).steps.iter().map(|chosen| chosen.step).collect()
    }

    /// Whether something on the screen moves although nothing happens.
    pub fn is_moving(&self) -> bool {
        !self.running.is_empty() && !self.is_over()
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }

    /// How many steps ended in a way.
    pub(crate) fn count(&self, state: EndState) -> usize {
        self.ended_counts[state as usize]
    }

    /// How many steps ended.
    pub(crate) fn ended_count(&self) -> usize {
        self.ended_counts.iter().sum()
    }

    /// How long the run goes on, or took.
    pub(crate) fn elapsed(&self, now: Duration) -> Duration {
        match self.phase {
            Phase::Ended { at, .. } => at,
            _ => now,
        }
    }

    fn start(&mut self, run_id: &str, flow: &str, steps: Vec<StepInfo>) {
        *self = Self {
            flow: text::name(flow),
            run_id: text::name(run_id),
            part: self.part,
            ..Self::default()
        };
        self.add_all(steps);
    }

    /// Adds steps, which may wait for each other.
    fn add_all(&mut self, infos: Vec<StepInfo>) {
        let first = self.steps.len();
        self.steps.reserve(infos.len());
        for info in infos {
            let name = text::with_element(&info.name, info.element.as_ref());
            self.name_width = self.name_width.max(text::columns(&name));
            self.steps.push(Step {
                name,
                expected: info.expected,
                attempts_max: info.attempts_max,
                attempt: 0,
                status: Status::Ready,
                after: info.after,
                dependents: Vec::new(),
                unmet: 0,
                why: String::new(),
                answer: Vec::new(),
                began: None,
                ended: None,
                took: None,
                end: None,
            });
        }
        for index in first..self.steps.len() {
            let count = self.steps.len();
            let mut after = std::mem::take(&mut self.steps[index].after);
            after.retain(|&before| before < count && before != index);
            after.sort_unstable();
            after.dedup();
            for &before in &after {
                self.steps[before].dependents.push(index);
                if !matches!(self.steps[before].status, Status::Ended(_)) {
                    self.steps[index].unmet += 1;
                }
            }
            self.steps[index].after = after;
            self.place(index, self.waiting(index));
        }
    }

    /// The steps that come after one, directly or not, and have not ended.
    pub fn behind(&self, first: usize) -> Vec<usize> {
        let mut is_seen = vec![false; self.steps.len()];
        let mut open = vec![first];
        while let Some(index) = open.pop() {
            for &next in self.steps.get(index).map_or(&[][..], |step| &step.dependents) {
                if !std::mem::replace(&mut is_seen[next], true) {
                    open.push(next);
                }
            }
        }
        let is_open = |index: &usize| {
            is_seen[*index] && !matches!(self.steps[*index].status, Status::Ended(_))
        };
        (0..self.steps.len()).filter(is_open).collect()
    }

    fn explain(&mut self, index: usize, why: &str, answer: Option<String>) {
        if let Some(step) = self.steps.get_mut(index) {
            step.why = text::sentence(why);
            step.answer = answer.iter().map(|it| format!("say `{}`", text::name(it))).collect();
        }
    }

    fn begin(&mut self, index: usize, attempt: u32, now: Duration) {
        if index < self.steps.len() {
            self.steps[index].attempt = attempt;
            self.steps[index].began.get_or_insert(now);
            self.steps[index].why = String::new();
            self.steps[index].answer.clear();
            self.change(index, Status::Running { since: now });
        }
    }

    fn delay(&mut self, index: usize, attempt: u32, at: Duration, error: &str) {
        if index < self.steps.len() {
            self.steps[index].attempt = attempt;
            self.steps[index].why = text::sentence(error);
            self.change(index, Status::Delayed { until: at });
        }
    }

    fn end(&mut self, index: usize, state: EndState, now: Option<Duration>, end: End) {
        let Some(step) = self.steps.get_mut(index) else { return };
        if let Status::Running { since } = step.status {
            step.took = now.map(|now| now.saturating_sub(since));
        }
        step.ended = now.filter(|_| step.began.is_some());
        step.why = String::new();
        step.answer.clear();
        step.end = (end != End::default()).then(|| Box::new(end));
        self.change(index, Status::Ended(state));
    }

    fn write(&mut self, step: usize, line: &str) {
        if step >= self.steps.len() {
            return;
        }
        if self.log.len() == LOG_MAX {
            self.log.pop_front();
        }
        self.log.push_back(LogLine { step, text: text::output(line) });
        // Whoever reads older lines wants them to stay where they are.
        if self.part == Part::Log && self.scroll > 0 {
            self.scroll_by(-1, 1);
        }
    }

    /// What the run does next. A run that is over stays so, and one that is being ended does not
    /// pause.
    fn turn(&mut self, phase: Phase) {
        let is_final = match self.phase {
            Phase::Ended { .. } => true,
            Phase::Killing => true,
            Phase::Draining => phase != Phase::Killing,
            Phase::Running | Phase::Waiting | Phase::Paused => false,
        };
        if !is_final {
            self.phase = phase;
        }
    }

    /// Moves a step to another state, and what waits for it with it.
    fn change(&mut self, index: usize, status: Status) {
        let was_ended = matches!(self.steps[index].status, Status::Ended(_));
        let is_ended = matches!(status, Status::Ended(_));
        self.displace(index);
        self.place(index, status);
        if was_ended == is_ended {
            return;
        }
        let dependents = std::mem::take(&mut self.steps[index].dependents);
        for &dependent in &dependents {
            let step = &mut self.steps[dependent];
            step.unmet = if is_ended { step.unmet.saturating_sub(1) } else { step.unmet + 1 };
            if matches!(step.status, Status::Blocked | Status::Ready) {
                self.displace(dependent);
                self.place(dependent, self.waiting(dependent));
            }
        }
        self.steps[index].dependents = dependents;
    }

    fn waiting(&self, index: usize) -> Status {
        if self.steps[index].unmet == 0 { Status::Ready } else { Status::Blocked }
    }

    fn place(&mut self, index: usize, status: Status) {
        self.steps[index].status = status;
        match status {
            Status::Blocked => drop(self.blocked.insert(index)),
            Status::Ready => drop(self.ready.insert(index)),
            Status::Running { since } => drop(self.running.insert((since, index))),
            Status::Delayed { until } => drop(self.delayed.insert((until, index))),
            Status::Ended(state) => {
                self.ended_counts[state as usize] += 1;
                if state == EndState::Failed {
                    self.failed.push(index);
                } else {
                    if self.recent.len() == RECENT_MAX {
                        self.recent.pop_front();
                    }
                    self.recent.push_back(index);
                }
            }
        }
    }

    fn displace(&mut self, index: usize) {
        match self.steps[index].status {
            Status::Blocked => drop(self.blocked.remove(&index)),
            Status::Ready => drop(self.ready.remove(&index)),
            Status::Running { since } => drop(self.running.remove(&(since, index))),
            Status::Delayed { until } => drop(self.delayed.remove(&(until, index))),
            // Rare: what has ended begins again only if somebody asks for it.
            Status::Ended(state) => {
                self.ended_counts[state as usize] -= 1;
                self.failed.retain(|&other| other != index);
                self.recent.retain(|&other| other != index);
            }
        }
    }

    /// The same key again leads back.
    fn look_at(&mut self, part: Part) {
        self.part = if self.part == part { Part::Fitting } else { part };
        self.scroll = 0;
    }

    /// The log is scrolled from its end, everything else from its beginning; steps only until the last one is
    /// shown, at the end of a page.
    fn scroll_by(&mut self, rows: isize, page: isize) {
        let (count, rows, shown) = match self.part {
            Part::Failed => (self.failed.len(), rows, 1),
            Part::Log => (self.log.len(), -rows, 1),
            Part::Fitting | Part::All | Part::Window => {
                (self.steps.len(), rows, page.unsigned_abs())
            }
        };
        self.scroll = self.scroll.saturating_add_signed(rows).min(count.saturating_sub(shown));
    }
}

impl Step {
    /// Whether the run counts it as failed.
    pub fn is_tolerated(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.is_tolerated)
    }

    /// What is said below it: the last lines of its output, or how it is answered.
    pub fn tail(&self) -> &[String] {
        self.end.as_ref().map_or(&self.answer, |end| &end.tail)
    }
}
