//! [`Plain`]: the run as lines of a log, for where there is no terminal.
//!
//! It gives lines and writes none. The time of day comes in as text.

use std::time::Duration;

use tidewheel_client::progress::{EndState, Event};
use tidewheel_client::text::{self, count};

use super::line::{Line, Tone};
use super::model::{Model, Status};
use super::summary;

/// How much is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What went wrong.
    Quiet,
    /// What happens to steps as well.
    #[default]
    Normal,
    /// What they write and what they wait for as well.
    Verbose,
}

/// A log of the run.
#[derive(Debug, Default)]
pub struct Plain {
    model: Model,
    level: Level,
}

/// Columns of the longest first word.
const WORD_WIDTH: usize = 9;

impl Plain {
    /// A log that says so much.
    pub fn new(level: Level) -> Self {
        Self { model: Model::default(), level }
    }

    /// Whether what steps write is part of it.
    pub fn shows_output(&self) -> bool {
        self.level >= Level::Verbose
    }

    /// Takes in what happened at `now`, which is `clock` to people, and gives the lines for it.
    pub fn tell(&mut self, now: Duration, clock: &str, event: Event) -> Vec<Line> {
        let (needed, word, tone) = kind(&event);
        let is_known = event.step().is_none_or(|step| step < self.model.steps.len());
        let is_told = self.level >= needed && is_known;
        if let Event::StepOutput { step, line: written } = &event {
            let words = || format!("{}: {}", self.name(*step), text::output(written));
            return if is_told { vec![line(clock, word, tone, &words())] } else { Vec::new() };
        }
        if !is_told {
            self.model.update(now, event);
            return Vec::new();
        }
        self.model.update(now, event.clone());
        let mut lines = vec![line(clock, word, tone, &self.words(now, &event))];
        if let Event::StepEnded { step, state: EndState::Failed | EndState::Unknown, .. } = event {
            let tail = self.model.steps[step].tail().iter();
            lines.extend(tail.map(|text| line(clock, "", tone, &format!("  | {text}"))));
        }
        lines
    }

    fn name(&self, step: usize) -> &str {
        self.model.steps.get(step).map_or("", |step| &step.name)
    }

    fn words(&self, now: Duration, event: &Event) -> String {
        match event {
            Event::RunStarted { .. } => {
                let steps = count(self.model.steps.len(), "step");
                format!("{}, run {}: {steps}", self.model.flow, self.model.run_id)
            }
            Event::StepAdded(_) => {
                self.model.steps.last().map(|step| step.name.clone()).unwrap_or_default()
            }
            Event::StepWaiting { step, answer, .. } => {
                let waits = format!("{}: {}", self.name(*step), self.model.steps[*step].why);
                match answer {
                    Some(answer) => format!("{waits}: say `{}`", text::name(answer)),
                    None => waits,
                }
            }
            Event::StepStarted { step, .. } => self.started(*step),
            Event::StepRetrying { step, at, .. } => self.retrying(*step, at.saturating_sub(now)),
            Event::StepEnded { step, .. } => self.ended(*step),
            Event::StepOutput { .. } => String::new(),
            Event::RunWaiting { why } => text::sentence(why),
            Event::RunGoesOn => "what it waited for is there".to_owned(),
            Event::Paused => "nothing new starts; what runs goes on".to_owned(),
            Event::Resumed => "steps start again".to_owned(),
            Event::Draining => "nothing new starts; what runs may finish".to_owned(),
            Event::Killing => "ending what runs".to_owned(),
            Event::RunEnded { .. } => {
                let took = text::took(self.model.elapsed(now));
                format!("{} in {took}: {}", self.model.flow, summary::counts(&self.model))
            }
        }
    }

    fn started(&self, step: usize) -> String {
        match self.attempt(step) {
            (_, 1) => self.name(step).to_owned(),
            (attempt, _) => format!("{} ({attempt})", self.name(step)),
        }
    }

    fn retrying(&self, step: usize, wait: Duration) -> String {
        let (attempt, _) = self.attempt(step);
        let next = format!("{}, {attempt}, next try in {}", self.name(step), text::due(wait));
        let why = &self.model.steps[step].why;
        if why.is_empty() { next } else { format!("{next}: {why}") }
    }

    fn ended(&self, step: usize) -> String {
        let (attempt, number) = self.attempt(step);
        let known = &self.model.steps[step];
        let mut words = known.name.clone();
        let mut facts: Vec<String> = known.took.map(text::took).into_iter().collect();
        if number > 1 {
            facts.push(attempt);
        }
        if known.is_tolerated() && known.status == Status::Ended(EndState::Failed) {
            facts.push("tolerated".to_owned());
        }
        if !facts.is_empty() {
            words.push_str(&format!(" ({})", facts.join(", ")));
        }
        let Some(end) = &known.end else { return words };
        let mut reasons = vec![end.error.as_str(), end.reason.as_str()];
        reasons.retain(|reason| !reason.is_empty());
        reasons.dedup();
        if !reasons.is_empty() {
            words.push_str(": ");
            words.push_str(&reasons.join(", "));
        }
        words
    }

    /// "attempt 2 of 3", and the number of it.
    fn attempt(&self, step: usize) -> (String, u32) {
        let step = &self.model.steps[step];
        let words = match step.attempts_max {
            Some(most) => format!("attempt {} of {}", step.attempt, most.max(step.attempt)),
            None => format!("attempt {}", step.attempt),
        };
        (words, step.attempt)
    }
}

fn line(clock: &str, word: &str, tone: Tone, words: &str) -> Line {
    Line::new()
        .with(Tone::Faint, clock)
        .with(Tone::Plain, " ")
        .with(tone, format!("{word:WORD_WIDTH$}"))
        .with(Tone::Plain, format!(" {words}"))
}

/// From which level on an event is told, its first word and its tone.
fn kind(event: &Event) -> (Level, &'static str, Tone) {
    match event {
        Event::RunStarted { .. } => (Level::Normal, "run", Tone::Strong),
        Event::StepAdded(_) => (Level::Verbose, "added", Tone::Plain),
        // Nothing goes on until somebody knows.
        Event::StepWaiting { answer: Some(_), .. } => (Level::Normal, "waiting", Tone::Doubtful),
        Event::StepWaiting { .. } => (Level::Verbose, "waiting", Tone::Plain),
        Event::StepStarted { .. } => (Level::Normal, "started", Tone::Active),
        Event::StepRetrying { .. } => (Level::Normal, "failed", Tone::Doubtful),
        Event::StepEnded { state, is_tolerated, .. } => {
            let is_bad = matches!(state, EndState::Failed | EndState::Unknown);
            let level = if is_bad && !is_tolerated { Level::Quiet } else { Level::Normal };
            (level, state.word(), end_tone(*state))
        }
        Event::StepOutput { .. } => (Level::Verbose, "output", Tone::Plain),
        Event::RunWaiting { .. } => (Level::Normal, "waiting", Tone::Doubtful),
        Event::RunGoesOn => (Level::Normal, "goes on", Tone::Plain),
        Event::Paused => (Level::Normal, "paused", Tone::Doubtful),
        Event::Resumed => (Level::Normal, "resumed", Tone::Plain),
        Event::Draining => (Level::Quiet, "stopping", Tone::Doubtful),
        Event::Killing => (Level::Quiet, "killing", Tone::Bad),
        Event::RunEnded { state } => {
            let is_well = *state == EndState::Succeeded;
            let level = if is_well { Level::Normal } else { Level::Quiet };
            (level, state.word(), end_tone(*state))
        }
    }
}

fn end_tone(state: EndState) -> Tone {
    super::row::end_mark(state, &super::line::ASCII).1
}
