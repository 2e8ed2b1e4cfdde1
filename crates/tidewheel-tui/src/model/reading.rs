//! [`Reading`]: a step that is looked at.
//!
//! What it wrote is a [`Log`].

use super::list::List;
use super::log::{Log, Room};
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

impl Reading {
    /// A step of which nothing is known yet.
    #[must_use]
    pub fn new(run: &str, step: &str, is_log: bool) -> Self {
        Self { run: run.to_owned(), step: step.to_owned(), is_log, ..Self::default() }
    }

    /// What is to be asked, where there is so much room for lines.
    #[must_use]
    pub fn question(&self, room: Room) -> Question {
        let (run, step) = (self.run.clone(), self.step.clone());
        if !self.is_log {
            return Question::Step { run, step };
        }
        if !self.log.text.is_empty() && self.log.hits.is_none() {
            return Question::Find { run, step, of: self.log.of, text: self.log.text.clone() };
        }
        let (from, count) = self.log.wanted(room);
        Question::Log { run, step, of: self.log.of, from, count }
    }
}
