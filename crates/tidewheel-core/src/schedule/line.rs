//! The instants of a trigger with everything cut out that must not fire: window, exclusions, and
//! instants that fired before.
//!
//! Every question is answered by arithmetic; the work depends on the number of cuts, never on the
//! number of instants. What is done with the answers is in [`super::backlog`].

use crate::time::Timestamp;

use super::ranges::FiredRanges;
use super::spec::Span;
use super::trigger::Series;
use super::verdict::SkipReason;

/// Instants and cuts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) series: Series<'a>,
    pub(super) window: Option<Span>,
    /// In order and apart from each other.
    pub(super) exclusions: &'a [Span],
    pub(super) fired: &'a FiredRanges,
}

/// What an instant is, should the trigger name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cover {
    Free,
    Excluded,
    Fired,
}

/// Instants next to each other that do not fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Skip {
    pub(super) count: u64,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    pub(super) reason: SkipReason,
}

impl Line<'_> {
    /// The first instant of the window.
    pub(super) fn floor(&self) -> i64 {
        self.window.map_or(i64::MIN, |span| span.from.as_micros())
    }

    /// The last instant of the window.
    pub(super) fn ceiling(&self) -> i64 {
        self.window.map_or(i64::MAX, |span| span.until.as_micros().saturating_sub(1))
    }

    /// What `at` is, and the last place up to which everything is the same.
    pub(super) fn cover(&self, at: i64) -> (Cover, i64) {
        if let Some((_, last)) = self.fired.containing(at) {
            return (Cover::Fired, last);
        }
        let next_fired =
            self.fired.next_start(at).map_or(i64::MAX, |start| start.saturating_sub(1));
        let index = self.exclusions.partition_point(|span| span.from.as_micros() <= at);
        match self.exclusions[..index].last().map(|span| span.until.as_micros()) {
            Some(until) if at < until => (Cover::Excluded, next_fired.min(until.saturating_sub(1))),
            _ => {
                let next = self.exclusions.get(index);
                let next = next.map_or(i64::MAX, |span| span.from.as_micros().saturating_sub(1));
                (Cover::Free, next_fired.min(next))
            }
        }
    }

    /// The first instant at or after `from` that may fire.
    pub(super) fn first_free_from(&self, from: i64) -> Option<i64> {
        let mut from = from.max(self.floor());
        loop {
            let instant = self.series.first_from(from).filter(|at| *at <= self.ceiling())?;
            match self.cover(instant) {
                (Cover::Free, _) => return Some(instant),
                (_, last) => from = last.checked_add(1)?,
            }
        }
    }

    /// The last instant from `from` to `until` that may fire.
    pub(super) fn last_free_until(&self, until: i64, from: i64) -> Option<i64> {
        let from = from.max(self.floor());
        let mut until = until.min(self.ceiling());
        loop {
            let instant = self.series.last_until(until).filter(|at| *at >= from)?;
            let (cover, _) = self.cover(instant);
            if cover == Cover::Free {
                return Some(instant);
            }
            until = self.start_of_cut(instant).checked_sub(1)?;
        }
    }

    /// The first place at or after `at` that is not cut out, were an instant put there.
    pub(super) fn first_open_from(&self, at: i64) -> Option<i64> {
        let mut at = at.max(self.floor());
        loop {
            match self.cover(at) {
                (Cover::Free, _) => return Some(at).filter(|at| *at <= self.ceiling()),
                (_, last) => at = last.checked_add(1)?,
            }
        }
    }

    /// The instants from `from` to `until` that do not fire: excluded ones and, if a reason is
    /// given for them, all others that did not fire before.
    pub(super) fn skips(&self, from: i64, until: i64, reason: Option<SkipReason>) -> Vec<Skip> {
        let mut skips = Vec::new();
        if reason.is_none() && self.exclusions.is_empty() {
            return skips;
        }
        let until = until.min(self.ceiling());
        let mut from = from.max(self.floor());
        while from <= until {
            let (cover, last) = self.cover(from);
            let last = last.min(until);
            let reason = match cover {
                Cover::Free => reason,
                Cover::Excluded => Some(SkipReason::Excluded),
                Cover::Fired => None,
            };
            if let Some(reason) = reason {
                skips.extend(self.skip(from, last, reason));
            }
            let Some(next) = last.checked_add(1) else { break };
            from = next;
        }
        skips
    }

    fn skip(&self, from: i64, until: i64, reason: SkipReason) -> Option<Skip> {
        let first = self.series.first_from(from).filter(|at| *at <= until)?;
        let last = self.series.last_until(until).filter(|at| *at >= first)?;
        let instant = Timestamp::from_micros;
        let count = self.series.count(first, last);
        Some(Skip { count, first: instant(first), last: instant(last), reason })
    }

    /// Where the exclusion or range of fired instants begins that `at` lies in.
    fn start_of_cut(&self, at: i64) -> i64 {
        if let Some((first, _)) = self.fired.containing(at) {
            return first;
        }
        let index = self.exclusions.partition_point(|span| span.from.as_micros() <= at);
        self.exclusions[..index].last().map_or(at, |span| span.from.as_micros())
    }
}
