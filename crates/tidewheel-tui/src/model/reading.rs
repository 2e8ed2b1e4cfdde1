//! [`Reading`]: a step that is looked at, and what it wrote.
//!
//! Lines come in pages from whoever has them: however long a log is, little of it is here.

use tidewheel_client::api::LogLines;

use super::list::List;
use crate::message::{Question, StepKnown};

/// A step that is looked at.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The run.
    pub run: String,
    /// The step, by its own name.
    pub step: String,
    /// Whether its log is looked at, instead of what is known of it.
    pub is_log: bool,
    /// What is known of it.
    pub known: Option<StepKnown>,
    /// How far that is scrolled.
    pub details: List,
    /// What it wrote.
    pub log: Log,
}

/// What a step wrote, as far as it is looked at.
#[derive(Debug, Clone)]
pub struct Log {
    /// Some lines.
    pub lines: Option<LogLines>,
    /// The number of the first line that is shown, from 1.
    pub top: u64,
    /// Whether the end is kept in sight.
    pub is_following: bool,
    /// What is searched for.
    pub text: String,
    /// The lines in which it was found; `None`: nobody has looked yet.
    pub hits: Option<Vec<u64>>,
    /// Which of them is looked at.
    pub hit: usize,
}

impl Default for Log {
    fn default() -> Self {
        let (text, hits) = (String::new(), None);
        Self { lines: None, top: 1, is_following: true, text, hits, hit: 0 }
    }
}

impl Reading {
    /// A step of which nothing is known yet.
    #[must_use]
    pub fn new(run: &str, step: &str, is_log: bool) -> Self {
        Self { run: run.to_owned(), step: step.to_owned(), is_log, ..Self::default() }
    }

    /// What is to be asked, where so many lines have room.
    #[must_use]
    pub fn question(&self, room: usize) -> Question {
        let (run, step) = (self.run.clone(), self.step.clone());
        if !self.is_log {
            return Question::Step { run, step };
        }
        if !self.log.text.is_empty() && self.log.hits.is_none() {
            return Question::Find { run, step, text: self.log.text.clone() };
        }
        let count = u32::try_from(room).unwrap_or(100).clamp(1, 400);
        let from = match self.log.is_following {
            true => -i64::from(count),
            false => i64::try_from(self.log.top).unwrap_or(1),
        };
        Question::Log { run, step, from, count }
    }
}

impl Log {
    /// How many lines there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.lines.as_ref().map_or(0, |lines| lines.total)
    }

    /// Scrolls, where so many lines have room.
    pub fn scroll(&mut self, by: i64, room: usize) {
        let last = (self.total() + 1).saturating_sub(room as u64).max(1);
        let top = if self.is_following { last } else { self.top };
        self.top = top.saturating_add_signed(by).clamp(1, last);
        self.is_following = self.top == last && by > 0;
    }

    /// Goes to a line in which it was found: the next one, or the one before.
    pub fn jump(&mut self, by: isize, room: usize) {
        let Some(hits) = self.hits.as_ref().filter(|hits| !hits.is_empty()) else { return };
        let count = hits.len() as isize;
        self.hit = (self.hit as isize + by).rem_euclid(count) as usize;
        self.show(hits[self.hit], room);
    }

    /// Shows a line, in the middle if there are lines on both sides.
    pub fn show(&mut self, line: u64, room: usize) {
        let last = (self.total() + 1).saturating_sub(room as u64).max(1);
        self.top = line.saturating_sub(room as u64 / 2).clamp(1, last);
        self.is_following = false;
    }
}
