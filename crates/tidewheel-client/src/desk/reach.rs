//! [`Reach`]: of which flows somebody may know, and the desk as they see it.
//!
//! Who has which reach is decided by whoever lets them in. What is outside is answered as what is not there.

use std::sync::Arc;

use glob::Pattern;
use tidewheel::RunId;
use tidewheel::store::sqlite::RunPlace;
use tidewheel::store::{RunDetail, RunFilter, RunSummary, ScheduleSummary, TaskAnswer};

use super::error::DeskError;
use super::local::LocalDesk;
use crate::text::harmless;

/// More patterns of one reach are nobody's.
const PATTERNS_MAX: usize = 100;

/// The longest name of a flow, and of a pattern.
const LETTERS_MAX: usize = 128;

/// So many runs are looked at for those within reach, where most may be outside.
const LOOKS_MAX: usize = 10_000;

/// How it is said who holds what is waited for.
pub(crate) const HELD_BY: &str = ", held by ";

/// So many are looked at at once.
const PAGE: u32 = 500;

/// The flows that somebody may know of: all, or those whose names fit one of some patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach(Option<Arc<[Pattern]>>);

/// Why words are no reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// There is none: nobody would know of anything.
    #[error("name at least one flow, or a pattern such as `backup-*`")]
    Nothing,
    /// There are too many.
    #[error("at most {PATTERNS_MAX} flows and patterns can be named")]
    TooMany,
    /// It fits no name.
    #[error("`{0}` is neither the name of a flow nor a pattern such as `backup-*`")]
    Pattern(String),
}

impl Reach {
    /// All flows.
    #[must_use]
    pub fn all() -> Self {
        Self(None)
    }

    /// The flows whose names fit one of these: a name, or a pattern with `*`, `?` and `[…]`.
    ///
    /// # Errors
    ///
    /// When there is none, or one of them cannot fit anything.
    pub fn of(patterns: &[String]) -> Result<Self, ReachError> {
        match patterns.len() {
            0 => return Err(ReachError::Nothing),
            count if count > PATTERNS_MAX => return Err(ReachError::TooMany),
            _ => {}
        }
        let read = |text: &String| {
            let wrong = || ReachError::Pattern(harmless(text));
            let is_plain = harmless(text) == *text && text.trim() == text;
            let fits = !text.is_empty() && text.chars().count() <= LETTERS_MAX && is_plain;
            let pattern = fits.then(|| Pattern::new(text).ok()).flatten();
            pattern.ok_or_else(wrong)
        };
        let patterns = patterns.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(Self(Some(patterns.into())))
    }

    /// Whether that is all flows.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// The names and patterns; `None` for all flows.
    #[must_use]
    pub fn patterns(&self) -> Option<Vec<String>> {
        let patterns = self.0.as_ref()?;
        Some(patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect())
    }

    /// Whether a flow is within. What is of no flow is only for those who may know of all.
    #[must_use]
    pub fn has(&self, flow: Option<&str>) -> bool {
        match (&self.0, flow) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(patterns), Some(flow)) => patterns.iter().any(|pattern| pattern.matches(flow)),
        }
    }
}

impl LocalDesk {
    /// The same desk for somebody who knows of these flows only.
    #[must_use]
    pub fn within(&self, reach: Reach) -> Self {
        let mut narrowed = self.clone();
        narrowed.reach = reach;
        narrowed
    }

    /// A run by its identity, if it is within reach.
    pub(super) fn run_within(&self, run: RunId) -> Result<Option<RunDetail>, DeskError> {
        let detail = self.read(|reader| reader.run(run))?;
        Ok(detail.filter(|detail| self.reach.has(detail.summary.name.as_deref())))
    }

    /// Whether anything may be told of a run.
    pub(super) fn check_within(&self, run: RunId, word: &str) -> Result<(), DeskError> {
        match self.reach.is_all() || self.run_within(run)?.is_some() {
            true => Ok(()),
            false => Err(self.no_run(word)),
        }
    }

    /// The newest runs within reach, of those that are looked at.
    pub(super) fn runs_within(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, DeskError> {
        if self.reach.is_all() {
            return self.read(|reader| reader.runs(filter));
        }
        let (limit, mut found, mut looks) = (filter.limit as usize, Vec::new(), 0);
        let mut filter = RunFilter { limit: PAGE, ..filter.clone() };
        loop {
            let page = self.read(|reader| reader.runs(&filter))?;
            looks += page.len();
            filter.before = page.last().map(|run| run.place);
            let is_last = page.len() < PAGE as usize;
            found.extend(page.into_iter().filter(|run| self.reach.has(run.name.as_deref())));
            if is_last || found.len() >= limit || looks >= LOOKS_MAX {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }

    /// A place in a concurrency group, without those outside who hold it.
    pub(super) fn place_within(&self, mut place: RunPlace) -> Result<RunPlace, DeskError> {
        if !self.reach.is_all() {
            let mut holders = Vec::new();
            for holder in place.holders {
                holders.extend(self.run_within(holder)?.map(|_| holder));
            }
            place.holders = holders;
        }
        Ok(place)
    }

    /// Answers of whoever runs a run, without those who hold what is waited for: they may be outside.
    pub(super) fn answers_within(&self, mut answers: Vec<TaskAnswer>) -> Vec<TaskAnswer> {
        if !self.reach.is_all() {
            let holds = answers.iter_mut().flat_map(|answer| answer.holds.iter_mut());
            holds.for_each(|hold| hold.truncate(hold.find(HELD_BY).unwrap_or(hold.len())));
        }
        answers
    }

    /// The schedules within reach.
    pub(super) fn schedules_within(
        &self,
        ended_too: bool,
    ) -> Result<Vec<ScheduleSummary>, DeskError> {
        let mut schedules = self.read(|reader| reader.schedules(ended_too))?;
        if !self.reach.is_all() {
            schedules.retain(|it| self.reach.has(self.flow_of(it).as_deref()));
        }
        Ok(schedules)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    fn of(patterns: &[&str]) -> Result<Reach, ReachError> {
        Reach::of(&patterns.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_flow_is_within_by_its_name_or_a_pattern() {
        let reach = of(&["backup-*", "mail"]).unwrap();
        for within in ["backup-", "backup-home", "mail"] {
            assert!(reach.has(Some(within)), "{within}");
        }
        for outside in ["backup", "mails", "my-mail", "Mail", ""] {
            assert!(!reach.has(Some(outside)), "{outside}");
        }
        assert!(!reach.has(None), "what is of no flow is for those who know of all");
        assert!(Reach::all().has(None) && Reach::all().has(Some("mail")));
        assert_eq!(reach.patterns().unwrap(), ["backup-*", "mail"]);
    }

    #[test]
    fn what_fits_no_name_is_refused() {
        assert_eq!(of(&[]), Err(ReachError::Nothing));
        assert_eq!(of(&["a"; 101]), Err(ReachError::TooMany));
        for wrong in ["", " a", "a\nb", "[a", "a***", &"a".repeat(129)] {
            assert!(matches!(of(&[wrong]), Err(ReachError::Pattern(_))), "{wrong:?}");
        }
    }
}
