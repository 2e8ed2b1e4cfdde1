//! [`Problems`]: all that is wrong in some files, in the order of the files.
//!
//! How they are shown is in [`super::render`] and [`super::json`].

use super::nearest;
use super::report::{Problem, Severity};

/// How many problems are kept; more are only counted.
pub const KEPT_MAX: usize = 200;

/// Problems of any number of files, sorted by place; those without a place come first.
///
/// At most 200 are kept, errors before warnings. The same problem at the same place
/// counts once: what an alias repeats is wrong only where it is written.
#[derive(Debug, Clone, Default)]
pub struct Problems {
    kept: Vec<Problem>,
    errors: usize,
    warnings: usize,
}

impl Problems {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        let before = self.kept.partition_point(|kept| kept.span < problem.span);
        let same_place = self.kept[before..].iter().take_while(|kept| kept.span == problem.span);
        let mut place = before;
        for kept in same_place {
            if kept.code == problem.code && kept.message == problem.message {
                return;
            }
            place += 1;
        }
        match problem.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        if self.kept.len() >= KEPT_MAX {
            let is_warning = |kept: &Problem| kept.severity == Severity::Warning;
            let Some(last) = self.kept.iter().rposition(is_warning) else { return };
            if is_warning(&problem) {
                return;
            }
            self.kept.remove(last);
            place -= usize::from(last < place);
        }
        self.kept.insert(place, problem);
    }

    /// Adds all of another collection, those it only counted too.
    pub fn append(&mut self, other: Self) {
        let kept_errors = other.kept.iter().filter(|kept| kept.severity == Severity::Error).count();
        self.errors += other.errors - kept_errors;
        self.warnings += other.warnings - (other.kept.len() - kept_errors);
        self.extend(other.kept);
    }

    /// The nearest of the known words, as long as anybody will read it: with thousands of mistakes,
    /// looking for each would take too long.
    pub(crate) fn nearest<'a>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        if self.len() < KEPT_MAX { nearest(word, known) } else { None }
    }

    /// The ones that were kept, by file and position.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.kept.iter()
    }

    /// How many there are, kept or not.
    pub fn len(&self) -> usize {
        self.errors + self.warnings
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// How many errors there are.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// How many warnings there are.
    pub fn warnings(&self) -> usize {
        self.warnings
    }

    /// How many were counted but not kept.
    pub fn omitted(&self) -> usize {
        self.len() - self.kept.len()
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        problems.into_iter().for_each(|problem| self.push(problem));
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
