//! [`Imported`]: a flow made of a file of somebody else's, and [`Remarks`], what was lost on the way.
//!
//! What becomes of what is in the folders beside this file.

use super::Warning;
use super::document::{Mapping, write};

/// A flow made of a file of somebody else's.
#[derive(Debug)]
pub(crate) struct Imported {
    pub text: String,
    pub steps: usize,
    pub warnings: Vec<Warning>,
}

impl Imported {
    /// A flow of so many steps, with what is said above it.
    pub fn new(header: &[&str], root: &Mapping, steps: usize, warnings: Vec<Warning>) -> Self {
        let header: Vec<String> = header.iter().map(|&line| line.to_owned()).collect();
        Self { text: write(&header, root), steps, warnings }
    }
}

/// What has no equal: a comment above what is written next, and a warning.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    pub warnings: Vec<Warning>,
    comments: Vec<String>,
}

impl Remarks {
    /// Notes that something finds no way into the flow.
    pub fn lose(&mut self, place: &str, text: impl Into<String>) {
        let text = text.into();
        self.comments.push(format!("No equal: {text}."));
        self.warnings.push(Warning { line: None, text: format!("{place}: no equal for {text}") });
    }

    /// Says something where nothing is lost.
    pub fn say(&mut self, text: impl Into<String>) {
        self.comments.push(text.into());
    }

    /// The comments since somebody asked.
    pub fn comments(&mut self) -> Vec<String> {
        std::mem::take(&mut self.comments)
    }

    /// Takes over what another one noted.
    pub fn join(&mut self, other: Self) {
        self.warnings.extend(other.warnings);
        self.comments.extend(other.comments);
    }
}
