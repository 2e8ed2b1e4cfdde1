//! [`Model`]: all that is known and looked at.
//!
//! Each screen that has more than a list has a file of its own beside this one.

use std::time::Duration;

use jiff::tz::TimeZone;
use tidewheel::Timestamp;
use tidewheel_client::api::{
    Glance, Ledger, LedgerFate, LedgerLine, LimitList, QueueList, RunList, ScheduleList, Upcoming,
    WaitingLine,
};

use super::flow::ShownFlow;
use super::form::Form;
use super::list::List;
use super::listed::RunsOf;
use super::log::Room;
use super::reading::Reading;
use super::watched::{Shown, Watched};
use crate::message::{Effect, Question, Wish};
use crate::run::Tone;

/// Questions about what is shown beside what is looked at.
pub const BESIDE: u8 = 2;

/// What is looked at is asked for first, and what is beside it so much later.
const BESIDE_LATER: Duration = Duration::from_secs(1);

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Screen {
    /// What matters now.
    Overview,
    /// All runs.
    Runs,
    /// One of them.
    Run,
    /// A step of it.
    Step,
    /// What that wrote.
    Log,
    /// Who has slots and who waits.
    Queues,
    /// What runs by itself.
    Schedules,
    /// One of those.
    Schedule,
    /// A flow: its last runs and its files.
    Flow,
}

impl Screen {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Overview,
        Self::Runs,
        Self::Run,
        Self::Step,
        Self::Log,
        Self::Queues,
        Self::Schedules,
        Self::Schedule,
        Self::Flow,
    ];
}

/// What the screens are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attached {
    /// A data folder or a server.
    Desk,
    /// A page with the state of one run, and nothing else.
    Page,
}

/// All that is known and looked at.
#[derive(Debug)]
pub struct Model {
    /// What it is of, in words.
    pub name: String,
    /// What it is of.
    pub attached: Attached,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The time.
    pub now: Timestamp,
    /// In which zone times of day are told.
    pub zone: TimeZone,
    /// The screens, the one that is looked at last; never empty. A step and its log are one of them.
    pub screens: Vec<Screen>,
    /// What matters now.
    pub glance: Option<Glance>,
    /// Where in it.
    pub overview: List,
    /// All runs.
    pub runs: Option<RunList>,
    /// Which of them these are.
    pub runs_of: RunsOf,
    /// Which are meant by what was typed.
    pub runs_meant: RunsOf,
    /// Whether older ones are wanted.
    pub wants_older: bool,
    /// Where in them.
    pub runs_list: List,
    /// The run that is looked at.
    pub watched: Option<Box<Watched>>,
    /// The step of it.
    pub reading: Option<Box<Reading>>,
    /// Who has slots and who waits.
    pub line: Option<WaitingLine>,
    /// When that was so.
    pub line_at: Timestamp,
    /// Queues and limits, where there is a server.
    pub capacity: Option<(QueueList, LimitList)>,
    /// Where in the line.
    pub line_list: List,
    /// What runs by itself.
    pub schedules: Option<ScheduleList>,
    /// Where in it.
    pub schedules_list: List,
    /// What the schedule that is looked at will do and did.
    pub schedule: Option<(Upcoming, Ledger)>,
    /// Its name.
    pub schedule_name: String,
    /// Where in its ledger.
    pub ledger_list: List,
    /// The flow that is looked at.
    pub looked_flow: Option<Box<ShownFlow>>,
    /// What is typed.
    pub prompt: Option<Prompt>,
    /// What is asked.
    pub dialog: Option<Dialog>,
    /// What is filled in.
    pub form: Option<Form>,
    /// How far the help is scrolled, if it is shown.
    pub help: Option<usize>,
    /// What was said last, and until when it is shown.
    pub note: Option<Note>,
    /// Why nothing new is known, if that is so.
    pub trouble: Option<String>,
    /// What is asked of the source now.
    pub asking: Option<Question>,
    /// Whether what is shown may have changed since it was asked for.
    pub is_stale: bool,
    /// Before this nothing is asked again: who is asked for much needs their time.
    pub ask_at: Timestamp,
    /// Whether what is shown beside it may have changed.
    pub is_beside_stale: bool,
    /// How many questions about that are left of a round of them.
    pub beside: u8,
    /// Before this there is no other round: it is shown in passing.
    pub beside_at: Timestamp,
    /// Runs that this process carries out.
    pub own: Vec<String>,
    /// How many of those are over.
    pub over: usize,
    /// How often somebody wanted them to end.
    pub urgency: u8,
}

/// Something is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// What to search for.
    Search(String),
    /// What to do.
    Command(String),
}

impl Prompt {
    /// What has been typed.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Search(text) | Self::Command(text) => text,
        }
    }

    /// The same, to be changed.
    pub fn text_mut(&mut self) -> &mut String {
        match self {
            Self::Search(text) | Self::Command(text) => text,
        }
    }
}

/// Something is asked before it is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialog {
    /// The question.
    pub question: String,
    /// What else is to be known, line by line.
    pub details: Vec<String>,
    /// The keys, what they say, and what follows.
    pub answers: Vec<(char, &'static str, Vec<Effect>)>,
}

impl Dialog {
    /// Whether a wish is really meant.
    #[must_use]
    pub fn of(question: String, yes: &'static str, wish: Wish) -> Self {
        let answers = vec![('y', yes, vec![Effect::Do(wish)]), ('n', "no", Vec::new())];
        Self { question, details: Vec::new(), answers }
    }

    /// Whether it is about how that is to end which this process runs.
    #[must_use]
    pub fn ends(&self) -> bool {
        let effects = self.answers.iter().flat_map(|(_, _, effects)| effects);
        effects.into_iter().any(|effect| matches!(effect, Effect::End(_)))
    }

    /// The same, with what else is to be known.
    #[must_use]
    pub fn with(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }
}

/// Something is said in passing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// Until when it is shown.
    pub until: Timestamp,
}

impl Model {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(name: String, attached: Attached, now: Timestamp, zone: TimeZone) -> Self {
        Self {
            name,
            attached,
            size: (80, 24),
            now,
            zone,
            screens: vec![Screen::Overview],
            glance: None,
            overview: List::default(),
            runs: None,
            runs_of: RunsOf::default(),
            runs_meant: RunsOf::default(),
            wants_older: false,
            runs_list: List::default(),
            watched: None,
            reading: None,
            line: None,
            line_at: now,
            capacity: None,
            line_list: List::default(),
            schedules: None,
            schedules_list: List::default(),
            schedule: None,
            schedule_name: String::new(),
            ledger_list: List::default(),
            looked_flow: None,
            prompt: None,
            dialog: None,
            form: None,
            help: None,
            note: None,
            trouble: None,
            asking: None,
            is_stale: true,
            ask_at: now,
            is_beside_stale: true,
            beside: 0,
            beside_at: now,
            own: Vec::new(),
            over: 0,
            urgency: 0,
        }
    }

    /// The screen that is looked at.
    #[must_use]
    pub fn screen(&self) -> Screen {
        let is_log = self.reading.as_ref().is_some_and(|reading| reading.is_log);
        match self.screens.last().copied().unwrap_or(Screen::Overview) {
            Screen::Step if is_log => Screen::Log,
            screen => screen,
        }
    }

    /// Looks at a run from now on.
    pub fn watch(&mut self, run: &str) {
        if self.watched.as_ref().is_none_or(|watched| watched.run != run) {
            self.watched = Some(Box::new(Watched::new(run)));
        }
        self.screens.push(Screen::Run);
    }

    /// What is to be asked for the screen that is looked at.
    #[must_use]
    pub fn question(&self) -> Option<Question> {
        Some(match self.screen() {
            Screen::Overview => Question::Glance,
            Screen::Runs => {
                Question::Runs { of: self.runs_meant.clone(), after: self.runs_after() }
            }
            Screen::Run => self.of_run()?,
            Screen::Step | Screen::Log => self.reading.as_ref()?.question(self.log_room()),
            Screen::Queues => Question::Line,
            Screen::Schedules => Question::Schedules,
            Screen::Schedule => Question::Schedule(self.schedule_name.clone()),
            Screen::Flow => Question::Source(self.looked_flow.as_ref()?.name.clone()),
        })
    }

    /// What is to be asked about what is shown beside what is looked at, of which there are two questions: how many run, fail,
    /// are late and ask, and how the run stands of a step, or of what else is known of it.
    #[must_use]
    pub fn question_beside(&self, number: u8) -> Option<Question> {
        let screen = self.screen();
        if number == 0 {
            let is_elsewhere = self.attached == Attached::Desk && screen != Screen::Overview;
            return is_elsewhere.then_some(Question::Glance);
        }
        let watched = self.watched.as_ref()?;
        let is_beside = match screen {
            Screen::Step | Screen::Log => true,
            Screen::Run => watched.shown == Shown::About,
            _ => false,
        };
        is_beside.then(|| Question::Run(watched.run.clone()))
    }

    /// Wants what is looked at now to be asked for at once.
    pub fn want_now(&mut self) {
        self.is_stale = true;
        self.ask_at = self.now;
        self.beside_at = self.beside_at.max(self.now.after(BESIDE_LATER));
    }

    /// What is to be asked of the run that is looked at: when steps were tried, once that matters, else how it stands.
    fn of_run(&self) -> Option<Question> {
        let watched = self.watched.as_ref()?;
        let run = watched.run.clone();
        if watched.shown == Shown::About {
            return Some(Question::About(run));
        }
        let untold = if self.attached == Attached::Desk { watched.untold() } else { Vec::new() };
        match untold.is_empty() {
            true => Some(Question::Run(run)),
            false => Some(Question::Attempts { run, steps: untold }),
        }
    }

    /// Rows between the lines at the top and those at the bottom.
    #[must_use]
    pub fn room(&self) -> usize {
        usize::from(self.size.1).saturating_sub(4).max(1)
    }

    /// Columns and rows for a log.
    #[must_use]
    pub fn log_room(&self) -> Room {
        Room { columns: self.size.0.into(), rows: self.room().saturating_sub(2).max(1) }
    }

    /// The list that is looked at, and how many rows it has.
    pub fn list(&mut self) -> Option<(&mut List, usize)> {
        let screen = self.screen();
        let count = match screen {
            Screen::Overview => super::rows(self).len(),
            Screen::Runs => self.shown_runs().len(),
            Screen::Run => self.watched.as_ref()?.shown().len(),
            Screen::Queues => self.shown_line().len(),
            Screen::Schedules => self.shown_schedules().len(),
            Screen::Schedule => self.shown_ledger().len(),
            Screen::Flow => self.looked_flow.as_ref()?.shown().len(),
            Screen::Step | Screen::Log => return None,
        };
        Some((self.list_of(screen)?, count))
    }

    /// The places of those in line that are shown: holders first.
    #[must_use]
    pub fn shown_line(&self) -> Vec<usize> {
        let Some(line) = &self.line else { return Vec::new() };
        let holders = line.holders.iter().map(|it| (&it.step, &it.flow));
        let waiting = line.waiting.iter().map(|it| (&it.step, &it.flow));
        let all = holders.chain(waiting).enumerate();
        let takes = |step: &str, flow: &Option<String>| {
            self.line_list.takes(&format!("{step} {}", flow.as_deref().unwrap_or_default()))
        };
        all.filter(|(_, (step, flow))| takes(step, flow)).map(|(place, _)| place).collect()
    }

    /// The places of the schedules that are shown.
    #[must_use]
    pub fn shown_schedules(&self) -> Vec<usize> {
        let all = self.schedules.iter().flat_map(|list| &list.schedules).enumerate();
        all.filter(|(_, it)| self.schedules_list.takes(&it.name)).map(|(place, _)| place).collect()
    }

    /// The places of the instants that are shown, of the ledger that is looked at.
    #[must_use]
    pub fn shown_ledger(&self) -> Vec<usize> {
        let all = self.schedule.iter().flat_map(|(_, ledger)| &ledger.firings).enumerate();
        let words = |it: &LedgerLine| {
            let (run, why) = (it.run_id.as_deref(), it.why.as_deref());
            let (run, why) = (run.unwrap_or_default(), why.unwrap_or_default());
            format!("{} {} {run} {why}", ledger_word(it), it.origin)
        };
        all.filter(|(_, it)| self.ledger_list.takes(&words(it))).map(|(place, _)| place).collect()
    }

    /// Says something in passing.
    pub fn say(&mut self, tone: Tone, text: impl Into<String>) {
        let until = self.now.after(Duration::from_secs(6));
        self.note = Some(Note { text: text.into(), tone, until });
    }
}

/// What became of an instant, in a word.
#[must_use]
pub fn ledger_word(it: &LedgerLine) -> &'static str {
    match (it.fate, it.state) {
        (LedgerFate::Ran, Some(state)) => state.word(),
        (LedgerFate::Ran, None) => "ran",
        (LedgerFate::Skipped, _) => "skipped",
        (LedgerFate::NotMade, _) => "not made",
    }
}
