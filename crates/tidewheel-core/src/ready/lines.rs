//! Lines inside a lane: each party of a queue has one of its own, and the party that has had the least goes
//! first.
//!
//! How much a party has had is counted in [`crate::party`]; here is only the order. A lane has lines only while
//! somebody stands in one.

use std::collections::{BTreeMap, BTreeSet};

use super::lanes::{Alive, Entry, Lane};
use crate::time::Moment;

/// The lines of one lane. Those without a party are in the lane itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    lines: BTreeMap<u32, Line>,
    /// By what their party has had.
    order: BTreeSet<(u64, u32)>,
    /// By the age of their oldest entry.
    ages: BTreeSet<(u64, u32)>,
    /// What those without a party have had.
    pub own_tag: u64,
}

#[derive(Debug, Clone)]
struct Line {
    /// Never has lines of its own.
    lane: Lane,
    tag: u64,
    age: u64,
}

impl Lines {
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn push(&mut self, tag: u64, entry: Entry, deadline: Option<Moment>) {
        let party = entry.party;
        let line = self.lines.entry(party).or_insert_with(|| {
            self.order.insert((tag, party));
            Line { lane: Lane::default(), tag, age: u64::MAX }
        });
        self.ages.remove(&(line.age, party));
        line.lane.push(entry, deadline);
        line.age = line.lane.age().0;
        self.ages.insert((line.age, party));
    }

    /// A party has had so much by now. Whether it has a line.
    pub fn retag(&mut self, party: u32, tag: u64) -> bool {
        let Some(line) = self.lines.get_mut(&party) else { return false };
        self.order.remove(&(line.tag, party));
        line.tag = tag;
        self.order.insert((tag, party));
        true
    }

    /// The line that goes first: what its party has had, and its entries.
    pub fn first(&self) -> Option<(u64, &Lane)> {
        let (tag, party) = self.order.first()?;
        self.lines.get(party).map(|line| (*tag, &line.lane))
    }

    /// Age of the oldest entry.
    pub fn age(&self) -> Option<(u64, Moment)> {
        let (_, party) = self.ages.first()?;
        self.lines.get(party).map(|line| line.lane.age())
    }

    /// Changes a line and brings it to order; one that is empty is gone.
    pub fn change(
        &mut self,
        party: u32,
        alive: &mut impl FnMut(&Entry) -> Alive,
        change: impl FnOnce(&mut Lane),
    ) {
        let Some(line) = self.lines.get_mut(&party) else { return };
        self.ages.remove(&(line.age, party));
        change(&mut line.lane);
        line.lane.tidy(alive);
        if line.lane.is_empty() {
            self.order.remove(&(line.tag, party));
            self.lines.remove(&party);
        } else {
            line.age = line.lane.age().0;
            self.ages.insert((line.age, party));
        }
    }

    /// The lanes of all parties.
    pub fn lanes(&self) -> impl Iterator<Item = (u32, u64, &Lane)> {
        self.lines.iter().map(|(party, line)| (*party, line.tag, &line.lane))
    }

    pub fn check(&self) {
        let order: BTreeSet<_> =
            self.lines.iter().map(|(party, line)| (line.tag, *party)).collect();
        assert_eq!(self.order, order, "lines by what their parties have had");
        let age = |line: &Line| line.lane.age().0;
        let ages: BTreeSet<_> =
            self.lines.iter().map(|(party, line)| (age(line), *party)).collect();
        assert_eq!(self.ages, ages, "lines by age");
        assert!(!self.lines.is_empty(), "lines that nobody stands in");
    }
}
