//! The timers of the tick that is open, in the order in which they fire.
//!
//! The timers themselves stay in [`super::store`]; only their rank is kept here. A cancelled timer
//! leaves its rank behind, which the wheel skips when it comes to the front.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::time::Moment;

use super::store::TimerKey;

/// A timer's place in the order: deadline, then insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) due: Moment,
    pub(super) sequence: u64,
    pub(super) key: TimerKey,
}

impl Rank {
    /// The order as one number, which sorts faster than two fields.
    fn order(&self) -> u128 {
        u128::from(self.due.as_nanos()) << 64 | u128::from(self.sequence)
    }
}

/// Ranks in firing order.
///
/// A tick is sorted once, when it opens. Later arrivals mostly belong at the end ("now" never
/// goes back) and are appended; only those that must overtake another go through a heap.
#[derive(Debug, Clone, Default)]
pub(super) struct Ready {
    sorted: VecDeque<Rank>,
    overtaking: BinaryHeap<Reverse<Rank>>,
}

/// Capacity that is always kept, in ranks.
const CAPACITY_KEPT: usize = 4096;

impl Ready {
    /// Takes a whole tick of `length` timers; nothing may be waiting.
    pub(super) fn open(&mut self, length: usize, ranks: impl Iterator<Item = Rank>) {
        debug_assert!(self.is_empty(), "a tick opens only when the one before is done");
        // The ring is used from its beginning again, and one huge tick does not hold its memory
        // for ever.
        self.sorted.clear();
        if self.sorted.capacity() > CAPACITY_KEPT.max(length.saturating_mul(4)) {
            self.sorted.shrink_to(CAPACITY_KEPT);
        }
        self.sorted.reserve_exact(length);
        self.sorted.extend(ranks);
        self.sorted.make_contiguous().sort_unstable_by_key(Rank::order);
    }

    /// Adds a timer that was inserted after all the others.
    pub(super) fn push(&mut self, rank: Rank) {
        match self.sorted.back() {
            Some(last) if last.due > rank.due => self.overtaking.push(Reverse(rank)),
            _ => self.sorted.push_back(rank),
        }
    }

    pub(super) fn first(&self) -> Option<&Rank> {
        match (self.sorted.front(), self.overtaking.peek()) {
            (Some(sorted), Some(Reverse(overtaking))) => Some(sorted.min(overtaking)),
            (sorted, None) => sorted,
            (None, Some(Reverse(overtaking))) => Some(overtaking),
        }
    }

    pub(super) fn remove_first(&mut self) {
        match (self.sorted.front(), self.overtaking.peek()) {
            (sorted, Some(Reverse(overtaking))) if sorted.is_none_or(|rank| overtaking < rank) => {
                self.overtaking.pop();
            }
            _ => {
                self.sorted.pop_front();
            }
        }
    }

    pub(super) fn retain(&mut self, pending: impl Fn(TimerKey) -> bool) {
        self.sorted.retain(|rank| pending(rank.key));
        self.overtaking.retain(|Reverse(rank)| pending(rank.key));
    }

    pub(super) fn length(&self) -> usize {
        self.sorted.len() + self.overtaking.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty() && self.overtaking.is_empty()
    }
}
