//! Which instants fired, as a short list of ranges.
//!
//! The store's key (schedule, instant) is the last word on uniqueness; this list is what lets a
//! schedule choose its next instant after the clock was set back without asking the store.

use crate::time::Timestamp;

/// The most ranges that are kept.
const RANGES_MAX: usize = 32;

/// Ranges of consecutive instants that fired or wait in the queue, in order, apart from each other.
///
/// A schedule that never missed an instant has one range. When there are too many, the two with
/// the smallest gap between them become one: the instants in that gap count as fired, which never
/// fires one twice, and the large gaps that a wrongly set clock leaves are kept longest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FiredRanges(Vec<(i64, i64)>);

impl FiredRanges {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The ranges as (first, last) instants, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Timestamp, Timestamp)> + '_ {
        let instant = Timestamp::from_micros;
        self.0.iter().map(move |(first, last)| (instant(*first), instant(*last)))
    }

    /// The list that [`FiredRanges::iter`] gave; ranges in disorder are put in order.
    #[must_use]
    pub fn from_ranges(ranges: impl IntoIterator<Item = (Timestamp, Timestamp)>) -> Self {
        let ends = ranges.into_iter().map(|(first, last)| (first.as_micros(), last.as_micros()));
        let mut list: Vec<_> = ends.filter(|(first, last)| first <= last).collect();
        list.sort_unstable();
        list.dedup_by(|next, kept| {
            let touches = next.0 <= kept.1;
            if touches {
                kept.1 = kept.1.max(next.1);
            }
            touches
        });
        let mut ranges = Self(list);
        while ranges.0.len() > RANGES_MAX {
            ranges.merge_nearest();
        }
        ranges
    }

    /// The range that `instant` lies in, as (first, last).
    pub(super) fn containing(&self, instant: i64) -> Option<(i64, i64)> {
        let index = self.after(instant);
        self.0[..index].last().copied().filter(|range| instant <= range.1)
    }

    /// The start of the first range that begins after `instant`.
    pub(super) fn next_start(&self, instant: i64) -> Option<i64> {
        self.0.get(self.after(instant)).map(|range| range.0)
    }

    /// The end of the last range that ends before `instant`.
    pub(super) fn end_before(&self, instant: i64) -> Option<i64> {
        self.0[..self.after(instant)].last().map(|range| range.1)
    }

    /// Adds `instant`, joined to the range before or after it when it is the neighbour of that.
    pub(super) fn insert(&mut self, instant: i64, joins_before: bool, joins_after: bool) {
        if self.containing(instant).is_some() {
            return;
        }
        let index = self.after(instant);
        let before = joins_before && index > 0;
        let after = joins_after && index < self.0.len();
        match (before, after) {
            (true, true) => {
                self.0[index - 1].1 = self.0[index].1;
                self.0.remove(index);
            }
            (true, false) => self.0[index - 1].1 = instant,
            (false, true) => self.0[index].0 = instant,
            (false, false) => self.0.insert(index, (instant, instant)),
        }
        if self.0.len() > RANGES_MAX {
            self.merge_nearest();
        }
    }

    /// The index of the first range that begins after `instant`.
    fn after(&self, instant: i64) -> usize {
        self.0.partition_point(|range| range.0 <= instant)
    }

    fn merge_nearest(&mut self) {
        let gap = |index: &usize| i128::from(self.0[*index].0) - i128::from(self.0[*index - 1].1);
        if let Some(index) = (1..self.0.len()).min_by_key(gap) {
            self.0[index - 1].1 = self.0[index].1;
            self.0.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_range() {
        let mut ranges = FiredRanges::default();
        ranges.insert(10, false, false);
        ranges.insert(30, false, false);
        ranges.insert(20, true, true);
        assert_eq!(ranges.0, [(10, 30)]);
        assert_eq!(ranges.containing(15), Some((10, 30)));
        assert_eq!(ranges.containing(31), None);
        assert_eq!(ranges.next_start(9), Some(10));
        assert_eq!(ranges.end_before(40), Some(30));
    }

    #[test]
    fn the_list_is_bounded_and_keeps_the_large_gap() {
        let mut ranges = FiredRanges::default();
        for instant in (0..1000).map(|step| step * 2) {
            ranges.insert(instant, false, false);
        }
        ranges.insert(1_000_000, false, false);
        for instant in (0..1000).map(|step| 2_000_000 + step * 2) {
            ranges.insert(instant, false, false);
        }
        assert_eq!(ranges.0.len(), RANGES_MAX);
        assert_eq!(ranges.containing(500_000), None);
        assert_eq!(ranges.containing(1_500_000), None);
        assert!(ranges.containing(998).is_some());
        assert_eq!(FiredRanges::from_ranges(ranges.iter()), ranges);
    }
}
