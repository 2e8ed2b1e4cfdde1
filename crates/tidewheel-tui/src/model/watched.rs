//! [`Watched`]: a run that is looked at.
//!
//! What is known of it is a [`run::Model`](crate::run::Model), the one that `tidewheel run` shows, told from one look at
//! the run to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel_client::api::{RunResult, RunState, Standing, StepState};
use tidewheel_client::progress::{EndState, Event, Standings, Teller};
use tidewheel_client::text::{self, DrawnStep, TextLine, drawing};

use super::list::List;
use super::tried::Tried;
use crate::run::{self, Status};

/// Which of the steps are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    #[default]
    All,
    /// Those that matter now.
    Window,
    /// Those that failed.
    Failed,
}

/// How the steps are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shown {
    /// As a table.
    #[default]
    Steps,
    /// As a drawing of what waits for what.
    Graph,
    /// As bars over time.
    Time,
    /// Not they, but what the run was started with, by whom, and what it left.
    About,
}

/// A run that is looked at.
#[derive(Debug, Default)]
pub struct Watched {
    /// Its identity.
    pub run: String,
    /// What is known of it.
    pub model: run::Model,
    /// What was told of it so far.
    standings: Standings,
    /// When it was accepted; `None`: nothing is known yet.
    pub since: Option<Timestamp>,
    /// How it stands.
    pub state: Option<RunState>,
    /// The names of its steps, as they are asked for.
    pub names: Vec<Box<str>>,
    /// Steps that wait for somebody.
    pub asks: BTreeSet<usize>,
    /// Those of them that want a one-time code.
    pub codes: BTreeSet<usize>,
    /// Which steps are shown.
    pub part: Part,
    /// And how.
    pub shown: Shown,
    /// Where in them.
    pub list: List,
    /// When it will be over.
    pub eta: Option<Duration>,
    /// When steps were tried that were tried several times, by their places, as far as that was asked.
    pub tried: BTreeMap<usize, Tried>,
    /// The drawing, for so many columns.
    pub drawing: Vec<TextLine>,
    /// What else is known of the run, without its steps.
    pub about: Option<Box<RunResult>>,
    /// How far that is scrolled.
    pub about_top: usize,
}

/// Steps at once that are assumed for the time left: what a run of elsewhere has is not told.
const WORKERS: usize = 4;

/// Rows of steps that matter now.
const WINDOW: usize = 200;

struct Tell<'a>(&'a mut run::Model);

impl Teller for Tell<'_> {
    fn tell(&mut self, at: Duration, event: Event) {
        self.0.update(at, event);
    }
}

impl Watched {
    /// A run of which nothing is known yet.
    #[must_use]
    pub fn new(run: &str) -> Self {
        Self { run: run.to_owned(), ..Self::default() }
    }

    /// Takes in how it stands.
    pub fn look(&mut self, standing: &Standing, now: Timestamp) {
        // Told anew where it is another run, or has become another one: then what was told does not hold.
        let is_other = self.standings.is_over() && standing.ended_at.is_none();
        if is_other || standing.steps.len() < self.standings.seen() {
            (self.model, self.standings) = (run::Model::default(), Standings::default());
            self.names.clear();
            self.tried.clear();
        }
        self.standings.look(standing, &mut Tell(&mut self.model));
        // Steps of tries that may not be needed are told of later than others.
        self.names.resize(self.model.steps.len(), Box::default());
        for (index, step) in standing.steps.iter().enumerate() {
            let Some(place) = self.standings.place(index) else { continue };
            if let Some(name) = self.names.get_mut(place).filter(|name| name.is_empty()) {
                *name = step.name.as_str().into();
            }
        }
        let critical = standing.steps.iter().enumerate().filter(|(_, step)| step.critical);
        self.model.critical =
            critical.filter_map(|(index, _)| self.standings.place(index)).collect();
        self.since = Some(standing.accepted_at);
        self.state = Some(standing.state);
        let asking = standing.steps.iter().enumerate();
        let asking = asking.filter(|(_, step)| step.asks && !step.state.has_ended());
        let asking = asking.filter_map(|(index, step)| Some((self.standings.place(index)?, step)));
        self.asks = asking.clone().map(|(place, _)| place).collect();
        self.codes = asking.filter(|(_, step)| step.wants_code).map(|(place, _)| place).collect();
        self.eta = run::eta(&self.model, WORKERS, self.elapsed(now));
    }

    /// How long it has gone on.
    #[must_use]
    pub fn elapsed(&self, now: Timestamp) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// The steps that are shown, in their order.
    #[must_use]
    pub fn shown(&self) -> Vec<usize> {
        if self.shown == Shown::Graph {
            return self.drawing.iter().filter_map(|line| line.vertex).collect();
        }
        let steps: Vec<usize> = match self.part {
            Part::All => (0..self.model.steps.len()).collect(),
            Part::Failed => self.model.failed.clone(),
            Part::Window => self.model.window(WINDOW),
        };
        if self.list.filter.is_empty() {
            return steps;
        }
        steps.into_iter().filter(|step| self.list.takes(&self.model.steps[*step].name)).collect()
    }

    /// The step that is selected, where steps are shown.
    #[must_use]
    pub fn selected(&self) -> Option<usize> {
        if self.shown == Shown::About {
            return None;
        }
        let shown = self.shown();
        shown.get(self.list.cursor.min(shown.len().saturating_sub(1))).copied()
    }

    /// Draws it anew, for so many columns.
    pub fn draw(&mut self, width: usize) {
        if self.shown != Shown::Graph {
            self.drawing.clear();
            return;
        }
        let drawn = |step: &run::Step| -> Option<String> { step.took.map(text::took) };
        let steps: Vec<DrawnStep<'_>> = self
            .model
            .steps
            .iter()
            .map(|step| DrawnStep {
                name: &step.name,
                detail: drawn(step),
                state: state(step.status),
                after: &step.after,
            })
            .collect();
        self.drawing = drawing(&steps, width);
    }
}

fn state(status: Status) -> StepState {
    match status {
        Status::Blocked | Status::Ready | Status::Delayed { .. } => StepState::Pending,
        Status::Running { .. } => StepState::Running,
        Status::Ended(EndState::Succeeded) => StepState::Succeeded,
        Status::Ended(EndState::Failed) => StepState::Failed,
        Status::Ended(EndState::Skipped) => StepState::Skipped,
        Status::Ended(EndState::Cancelled) => StepState::Cancelled,
        Status::Ended(EndState::Unknown) => StepState::Unknown,
    }
}
