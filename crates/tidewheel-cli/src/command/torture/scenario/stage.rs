//! [`Stage`]: one scenario under way: its rounds, its bounds, and what they come to.
//!
//! The faults themselves are in the other files.

use std::time::Instant;

use clap::ValueEnum;

use super::super::check::Kind;
use super::super::command::Settings;
use super::super::report::{Failure, Outcome};
use super::super::round::{Judged, Round};
use super::{errors, flows, frozen, full, kill, odd, queue, signals, steps, stop, sweep, taken};
use crate::random::Random;
use crate::ui::Ui;

/// The scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// SIGKILL at the n-th write, flush or message
    Sweep,
    /// Failing writes and flushes
    Errors,
    /// SIGKILL after a random time
    Kill,
    /// SIGSTOP, and a second victim
    Stop,
    /// No space left
    Full,
    /// A large graph
    Steps,
    /// Many queued tasks
    Queue,
    /// Flows with elements, calls and hooks
    Flows,
    /// Links and strange things in the data folder
    Odd,
    /// Signals that are ignored
    Signals,
    /// A frozen owner that others ask
    Frozen,
    /// Work of the dead, taken in by others who die as well
    Taken,
}

impl Name {
    pub const ALL: [Self; 12] = [
        Self::Sweep,
        Self::Errors,
        Self::Kill,
        Self::Stop,
        Self::Full,
        Self::Steps,
        Self::Queue,
        Self::Flows,
        Self::Odd,
        Self::Signals,
        Self::Frozen,
        Self::Taken,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Errors => "errors",
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Full => "full",
            Self::Steps => "steps",
            Self::Queue => "queue",
            Self::Flows => "flows",
            Self::Odd => "odd",
            Self::Signals => "signals",
            Self::Frozen => "frozen",
            Self::Taken => "taken",
        }
    }
}

/// A round of a small plan that takes longer is worth a word.
const SLOW_SECONDS: f64 = 15.0;

/// A scenario under way.
pub(in super::super) struct Stage<'a> {
    ui: &'a Ui,
    pub settings: &'a Settings,
    name: Name,
    until: Option<Instant>,
    begin: Instant,
    /// The number of the next round.
    next: u64,
    pub outcome: Outcome,
}

impl<'a> Stage<'a> {
    pub fn new(ui: &'a Ui, settings: &'a Settings, name: Name, until: Option<Instant>) -> Self {
        let outcome = Outcome { scenario: name.word().to_owned(), ..Outcome::default() };
        Self { ui, settings, name, until, begin: Instant::now(), next: 0, outcome }
    }

    /// Goes through the whole scenario.
    pub fn play(mut self) -> Outcome {
        let played = match self.name {
            Name::Sweep => sweep::play(&mut self),
            Name::Errors => errors::play(&mut self),
            Name::Kill => kill::play(&mut self),
            Name::Stop => stop::play(&mut self),
            Name::Full => full::play(&mut self),
            Name::Steps => steps::play(&mut self),
            Name::Queue => queue::play(&mut self),
            Name::Flows => flows::play(&mut self),
            Name::Odd => odd::play(&mut self),
            Name::Signals => signals::play(&mut self),
            Name::Frozen => frozen::play(&mut self),
            Name::Taken => taken::play(&mut self),
        };
        if let Err(error) = played {
            let folder = self.settings.work.display().to_string();
            self.fail(Kind::Broken, format!("the scenario broke off: {error:#}"), folder, "");
        }
        self.outcome.seconds = self.begin.elapsed().as_secs_f64();
        self.ui.note(&self.line());
        self.outcome
    }

    /// The number of the next round, if there is to be one. `done` of so many are done.
    pub fn next_round(&mut self, done: u64, default: u64) -> Option<u64> {
        let number = self.next;
        self.next += 1;
        if let Some(only) = self.only_round() {
            return (number == 0).then_some(only);
        }
        let goes_on = match self.until {
            // A scenario that was asked for is played at least once.
            Some(until) => number == 0 || Instant::now() < until,
            None => done < self.settings.rounds.unwrap_or(default),
        };
        goes_on.then_some(number)
    }

    /// How many rounds were asked for, where that is so.
    pub fn rounds(&self) -> Option<u64> {
        self.settings.rounds.filter(|_| self.until.is_none())
    }

    /// Whether rounds are bounded by time.
    pub fn is_timed(&self) -> bool {
        self.until.is_some()
    }

    pub fn has_time(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }

    /// What is left of the time, in whole seconds.
    pub fn seconds_left(&self) -> Option<u64> {
        let until = self.until?;
        Some(until.saturating_duration_since(Instant::now()).as_secs().max(1))
    }

    fn only_round(&self) -> Option<u64> {
        self.settings.point.as_deref()?.strip_prefix("round:")?.parse().ok()
    }

    /// The fault asked for on the command line, if it is one at a place.
    pub fn only_point(&self) -> Option<&str> {
        self.settings.point.as_deref().filter(|point| !point.starts_with("round:"))
    }

    /// Chance for one round.
    pub fn random(&self, round: u64) -> Random {
        Random::new(self.settings.seed, self.name.word(), round)
    }

    /// A fresh folder.
    pub fn round(&self, name: &str) -> anyhow::Result<Round> {
        Round::new(self.settings, &format!("{}-{}", self.name.word(), name.replace(':', "-")))
    }

    /// Checks a round that is over. `point` is what repeats it. True if all was well.
    pub fn close(&mut self, round: Round, point: &str) -> bool {
        let Judged { verdict, faults, folder, seconds } = round.judge();
        if seconds > SLOW_SECONDS && !matches!(self.name, Name::Steps | Name::Queue) {
            self.note(format!("slow: {point} took {seconds:.1} s"));
        }
        self.outcome.faults += faults;
        self.outcome.rounds += 1;
        self.outcome.runs += verdict.runs;
        self.outcome.attempts += verdict.attempts;
        let is_clean = verdict.violations.is_empty();
        for violation in verdict.violations {
            self.fail(violation.kind, violation.what, folder.display().to_string(), point);
        }
        self.ui.live(&self.line());
        is_clean
    }

    /// It cannot be played here.
    pub fn skip(&mut self, why: impl Into<String>) {
        self.outcome.skipped = Some(why.into());
    }

    /// Something worth a word; the same words are said once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.outcome.notes.contains(&note) {
            self.outcome.notes.push(note);
        }
    }

    fn fail(&mut self, kind: Kind, what: String, folder: String, point: &str) {
        match kind {
            Kind::Lost => self.outcome.lost += 1,
            Kind::Doubled => self.outcome.doubled += 1,
            Kind::Broken => self.outcome.broken += 1,
        }
        let Settings { seed, durability, steps, queued, .. } = self.settings;
        let mut repeat = format!(
            "tidewheel torture --only {} --seed {seed} --durability {}",
            self.name.word(),
            durability.word()
        );
        match self.name {
            Name::Steps => repeat.push_str(&format!(" --steps {steps}")),
            Name::Queue => repeat.push_str(&format!(" --queued {queued}")),
            _ => {}
        }
        if !point.is_empty() {
            repeat.push_str(&format!(" --point {point}"));
        }
        self.ui.note(&format!("{} ({}): {what}", self.name.word(), kind.word()));
        let kind = kind.word().to_owned();
        self.outcome.failures.push(Failure { kind, what, folder, repeat });
    }

    fn line(&self) -> String {
        let Outcome { faults, rounds, attempts, lost, doubled, broken, .. } = &self.outcome;
        let name = self.name.word();
        match &self.outcome.skipped {
            Some(why) => format!("{name}: skipped, {why}"),
            None => format!(
                "{name}: {faults} faults, {rounds} rounds, {attempts} attempts, {lost} lost, \
                 {doubled} doubled, {broken} broken, {:.1} s",
                self.begin.elapsed().as_secs_f64()
            ),
        }
    }
}
