//! The order between runs: one first-in-first-out lane for each submitted priority.
//!
//! In a lane the oldest is always the most aged, so the heads of the lanes that are not empty are
//! all that has to be looked at, however many tasks wait; nothing is ever sorted or swept. What
//! stands in a lane is a single submission, or a run's ready set placed by its oldest task. Where parties
//! share a queue fairly, each has a line of its own in the lane ([`super::lines`]).

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::ControlFlow;

use slotmap::DefaultKey;

use super::lines::Lines;
use crate::party::NO_PARTY;
use crate::policy::{Ageing, Priority};
use crate::time::Moment;

/// In [`Entry::set`], this and everything above: the entry is a single submission.
pub(crate) const SINGLE: u32 = 1 << 31;

const LANES: usize = 101;
const TOP: u8 = 100;
const NO_LANE: u8 = u8::MAX;

/// Something that stands in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// Place in the order of becoming ready.
    pub sequence: u64,
    pub ready_at: Moment,
    pub run: DefaultKey,
    /// The run's ready set, or the mark of a single submission, from [`SINGLE`] on.
    pub set: u32,
    /// The party it belongs to, or [`NO_PARTY`].
    pub party: u32,
}

impl Entry {
    /// Whether it is a single submission.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.set >= SINGLE
    }
}

/// What somebody wants who looks at entries.
pub(crate) enum Visit {
    /// The next one.
    Next,
    /// None that became ready later and stands in the same part.
    NextPart,
    /// No more.
    Stop,
}

/// Whether an entry still stands for ready work.
pub(crate) enum Alive {
    Yes,
    /// Its oldest task is another one now.
    Moved(u64, Moment),
    No,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Lane {
    /// Single submissions, oldest first.
    singles: VecDeque<Entry>,
    /// Ready sets of runs, and single submissions that come back older than the last.
    others: BinaryHeap<Reverse<Entry>>,
    /// Single submissions with a deadline, earliest first.
    urgent: BTreeMap<(Moment, u64), Entry>,
    /// When those became ready.
    urgent_ages: BTreeMap<u64, Moment>,
    /// Entries that stand for nothing any more, at most.
    dead: usize,
    /// Entries of parties, while there are any. All of the above have none.
    lines: Option<Box<Lines>>,
}

/// Which of a lane's parts the next entry comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Singles,
    Others,
    Urgent,
}

impl Lane {
    pub(super) fn is_empty(&self) -> bool {
        self.singles.is_empty()
            && self.others.is_empty()
            && self.urgent.is_empty()
            && self.lines.is_none()
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Entry, deadline: Option<Moment>) {
        if let Some(deadline) = deadline {
            self.urgent.insert((deadline, entry.sequence), entry);
            self.urgent_ages.insert(entry.sequence, entry.ready_at);
        } else if entry.is_single()
            && self.singles.back().is_none_or(|last| last.sequence < entry.sequence)
        {
            self.singles.push_back(entry);
        } else {
            self.others.push(Reverse(entry));
        }
    }

    /// Age of the oldest entry: what the lane's ageing goes by.
    #[inline]
    pub(super) fn age(&self) -> (u64, Moment) {
        let mut oldest = (u64::MAX, Moment::MAX);
        if let Some(entry) = self.singles.front() {
            oldest = (entry.sequence, entry.ready_at);
        }
        if let Some(Reverse(entry)) = self.others.peek()
            && entry.sequence < oldest.0
        {
            oldest = (entry.sequence, entry.ready_at);
        }
        if let Some((&sequence, &ready_at)) = self.urgent_ages.first_key_value()
            && sequence < oldest.0
        {
            oldest = (sequence, ready_at);
        }
        if let Some(lines) = &self.lines
            && let Some(age) = lines.age()
            && age.0 < oldest.0
        {
            oldest = age;
        }
        oldest
    }

    /// The entry that goes first, be it a party's.
    #[inline]
    fn first(&self) -> Option<Entry> {
        match &self.lines {
            None => self.own_first().map(|(_, entry)| entry),
            Some(lines) => self.fair_first(lines).map(|(_, entry)| entry),
        }
    }

    /// What the party has had whose entry goes first, and that entry. Among equals the ones without a party,
    /// then the party that was known first.
    #[cold]
    fn fair_first(&self, lines: &Lines) -> Option<(u64, Entry)> {
        let own = self.own_first().map(|(_, entry)| (lines.own_tag, entry));
        match (own, lines.first()) {
            (Some(own), Some((tag, _))) if own.0 <= tag => Some(own),
            (_, Some((tag, lane))) => lane.own_first().map(|(_, entry)| (tag, entry)),
            (own, None) => own,
        }
    }

    /// The first of the entries that are in no line.
    #[inline]
    fn own_first(&self) -> Option<(Part, Entry)> {
        if let Some((_, entry)) = self.urgent.first_key_value() {
            return Some((Part::Urgent, *entry));
        }
        match (self.singles.front(), self.others.peek()) {
            (Some(single), Some(Reverse(other))) if other.sequence < single.sequence => {
                Some((Part::Others, *other))
            }
            (Some(single), _) => Some((Part::Singles, *single)),
            (None, Some(Reverse(other))) => Some((Part::Others, *other)),
            (None, None) => None,
        }
    }

    /// Shows the entries that are in no line, until it is enough.
    fn visit(&self, mut look: impl FnMut(&Entry) -> Visit) -> ControlFlow<()> {
        // Only single submissions without a deadline stand here in the order of their ages.
        for entry in &self.singles {
            match look(entry) {
                Visit::Next => {}
                Visit::NextPart => break,
                Visit::Stop => return ControlFlow::Break(()),
            }
        }
        let others = self.others.iter().map(|Reverse(entry)| entry);
        for entry in others.chain(self.urgent.values()) {
            if matches!(look(entry), Visit::Stop) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Takes the first of the entries that are in no line, a single submission.
    fn take_own_first(&mut self) {
        let Some((part, entry)) = self.own_first() else { return };
        match part {
            Part::Singles => drop(self.singles.pop_front()),
            Part::Others => drop(self.others.pop()),
            Part::Urgent => {
                self.urgent.pop_first();
                self.urgent_ages.remove(&entry.sequence);
            }
        }
    }

    /// Changes what a party has here, or the ones without a party have, and brings it to order.
    #[inline]
    fn change(
        &mut self,
        party: u32,
        alive: &mut impl FnMut(&Entry) -> Alive,
        change: impl FnOnce(&mut Self),
    ) {
        if party == NO_PARTY {
            change(self);
            self.tidy(alive);
        } else if let Some(lines) = &mut self.lines {
            lines.change(party, alive, change);
            self.lines.take_if(|lines| lines.is_empty());
        }
    }

    pub(super) fn tidy(&mut self, alive: &mut impl FnMut(&Entry) -> Alive) {
        while let Some(front) = self.singles.front() {
            if !matches!(alive(front), Alive::No) {
                break;
            }
            self.singles.pop_front();
            self.dead = self.dead.saturating_sub(1);
        }
        while let Some(mut top) = self.others.peek_mut() {
            match alive(&top.0) {
                Alive::Yes => break,
                Alive::No => {
                    PeekMut::pop(top);
                }
                Alive::Moved(sequence, ready_at) => {
                    top.0.sequence = sequence;
                    top.0.ready_at = ready_at;
                }
            }
        }
        if self.dead > 32 && self.dead > (self.singles.len() + self.others.len()) / 2 {
            self.singles.retain(|entry| !matches!(alive(entry), Alive::No));
            self.others.retain(|Reverse(entry)| !matches!(alive(entry), Alive::No));
            self.dead = 0;
        }
    }
}

/// The lanes of one class. Heads are always alive.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    /// One bit a lane that is not empty.
    mask: u128,
    /// Where the lane of each priority is in `lanes`; most are never used.
    place: [u8; LANES],
    lanes: Vec<Lane>,
    /// No entry is older than this.
    oldest_bound: Moment,
    /// A lane in which a set may have moved without notice, and the set's party.
    stale: u8,
    stale_party: u32,
}

/// The lane whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub priority: u8,
    pub effective: u8,
    pub sequence: u64,
}

impl Choice {
    /// Whether this is work that became as urgent as critical work by waiting.
    pub fn has_aged_to_the_top(self) -> bool {
        self.effective == TOP && self.priority < TOP
    }
}

impl Lanes {
    pub fn new() -> Self {
        Self {
            mask: 0,
            place: [NO_LANE; LANES],
            lanes: Vec::new(),
            oldest_bound: Moment::MAX,
            stale: NO_LANE,
            stale_party: NO_PARTY,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.mask == 0
    }

    #[inline]
    fn lane(&mut self, priority: u8) -> &mut Lane {
        let place = &mut self.place[priority as usize];
        if *place == NO_LANE {
            *place = self.lanes.len() as u8;
            self.lanes.push(Lane::default());
        }
        &mut self.lanes[*place as usize]
    }

    fn existing(&self, priority: u8) -> &Lane {
        &self.lanes[self.place[priority as usize] as usize]
    }

    #[inline]
    pub fn push(&mut self, priority: u8, entry: Entry, deadline: Option<Moment>) {
        self.mask |= 1 << priority;
        self.oldest_bound = self.oldest_bound.min(entry.ready_at);
        self.lane(priority).push(entry, deadline);
    }

    /// Puts an entry of a party into its line. `tags` are what it has had, and what the ones without a party
    /// have had.
    pub fn push_fairly(
        &mut self,
        priority: u8,
        entry: Entry,
        deadline: Option<Moment>,
        tags: (u64, u64),
    ) {
        self.mask |= 1 << priority;
        self.oldest_bound = self.oldest_bound.min(entry.ready_at);
        let lines = self.lane(priority).lines.get_or_insert_default();
        lines.own_tag = tags.1;
        lines.push(tags.0, entry, deadline);
    }

    /// A party has had so much by now. Whether that matters in this lane.
    pub fn retag(&mut self, priority: u8, party: u32, tag: u64) -> bool {
        let place = self.place[priority as usize];
        match self.lanes.get_mut(place as usize).and_then(|lane| lane.lines.as_mut()) {
            Some(lines) if party == NO_PARTY => {
                lines.own_tag = tag;
                true
            }
            Some(lines) => lines.retag(party, tag),
            None => false,
        }
    }

    /// What the party has had whose entry goes first in the chosen lane; `None`: nobody there has a party.
    pub fn first_tag(&self, choice: Choice) -> Option<u64> {
        let lane = self.existing(choice.priority);
        lane.lines.as_ref().and_then(|lines| lane.fair_first(lines)).map(|(tag, _)| tag)
    }

    /// The lane whose head has the highest effective priority; among equals the oldest.
    #[inline]
    pub fn choose(&self, now: Moment, ageing: &Ageing) -> Option<Choice> {
        if self.mask == 0 {
            return None;
        }
        if !self.anybody_aged(now, ageing) {
            let priority = (127 - self.mask.leading_zeros()) as u8;
            let (sequence, _) = self.existing(priority).age();
            return Some(Choice { priority, effective: priority, sequence });
        }
        let mut best: Option<Choice> = None;
        let mut mask = self.mask;
        while mask != 0 {
            let priority = (127 - mask.leading_zeros()) as u8;
            mask &= !(1 << priority);
            let (sequence, ready_at) = self.existing(priority).age();
            let effective =
                ageing.effective(Priority::new(i64::from(priority)), now.since(ready_at));
            let better = best.is_none_or(|best| {
                (effective, Reverse(sequence)) > (best.effective, Reverse(best.sequence))
            });
            if better {
                best = Some(Choice { priority, effective, sequence });
            }
        }
        best
    }

    /// Whether anybody may have waited long enough to gain something.
    #[inline]
    fn anybody_aged(&self, now: Moment, ageing: &Ageing) -> bool {
        ageing.has_aged(now.nanos_since(self.oldest_bound))
    }

    /// The lane of critical work, whatever has aged beside it.
    pub fn choose_critical(&self) -> Option<Choice> {
        (self.mask & (1 << TOP) != 0).then(|| {
            let (sequence, _) = self.existing(TOP).age();
            Choice { priority: TOP, effective: TOP, sequence }
        })
    }

    /// The entry that goes first in the chosen lane.
    #[inline]
    pub fn peek(&self, choice: Choice) -> Option<Entry> {
        self.existing(choice.priority).first()
    }

    /// Takes a single submission that [`Lanes::peek`] showed.
    pub fn take_single(&mut self, choice: Choice, party: u32, alive: impl FnMut(&Entry) -> Alive) {
        self.change(choice.priority, party, alive, Lane::take_own_first);
    }

    /// A task of the ready set that [`Lanes::peek`] showed was taken; its place may move.
    #[inline]
    pub fn took_from_set(
        &mut self,
        choice: Choice,
        party: u32,
        alive: impl FnMut(&Entry) -> Alive,
    ) {
        self.change(choice.priority, party, alive, |_| {});
    }

    /// Takes the ready set that [`Lanes::peek`] showed out of its lane, for a run that may not start.
    pub fn unlist_set(&mut self, choice: Choice, party: u32, alive: impl FnMut(&Entry) -> Alive) {
        self.change(choice.priority, party, alive, |lane| {
            lane.others.pop();
        });
    }

    /// An entry somewhere in the lane is no longer ready, or stands elsewhere.
    pub fn forget(
        &mut self,
        priority: u8,
        party: u32,
        (deadline, sequence): (Option<Moment>, u64),
        alive: impl FnMut(&Entry) -> Alive,
    ) {
        self.change(priority, party, alive, |lane| match deadline {
            Some(deadline) => {
                lane.urgent.remove(&(deadline, sequence));
                lane.urgent_ages.remove(&sequence);
            }
            None => lane.dead += 1,
        });
    }

    /// A task was taken from a set in this lane, and its place is not looked at now.
    #[inline]
    pub fn note_stale(&mut self, priority: u8, party: u32) {
        debug_assert!(self.stale == NO_LANE || self.stale == priority, "one set is all there is");
        self.stale = priority;
        self.stale_party = party;
    }

    /// Brings to order what was left.
    #[inline]
    pub fn tidy_stale(&mut self, alive: impl FnMut(&Entry) -> Alive) {
        if self.stale != NO_LANE {
            let priority = std::mem::replace(&mut self.stale, NO_LANE);
            self.change(priority, self.stale_party, alive, |_| {});
        }
    }

    #[inline]
    fn change(
        &mut self,
        priority: u8,
        party: u32,
        mut alive: impl FnMut(&Entry) -> Alive,
        change: impl FnOnce(&mut Lane),
    ) {
        let lane = self.lane(priority);
        lane.change(party, &mut alive, change);
        if lane.is_empty() {
            self.mask &= !(1 << priority);
            if self.mask == 0 {
                self.oldest_bound = Moment::MAX;
            }
        }
    }

    /// Recomputes the bound on ages from the heads: cheap, and needed only after long waits.
    #[inline]
    pub fn refresh_bound(&mut self, now: Moment, ageing: &Ageing) {
        if !self.anybody_aged(now, ageing) {
            return;
        }
        let mut mask = self.mask;
        let mut bound = Moment::MAX;
        while mask != 0 {
            let priority = (127 - mask.leading_zeros()) as u8;
            mask &= !(1 << priority);
            bound = bound.min(self.existing(priority).age().1);
        }
        self.oldest_bound = bound;
    }

    /// Shows entries with their priority, the most important first, until it is enough. Those of a part come
    /// oldest first; some are no longer ready.
    pub fn visit(&self, mut look: impl FnMut(u8, &Entry) -> Visit) {
        for priority in (0..LANES as u8).rev() {
            let place = self.place[priority as usize];
            let Some(lane) = self.lanes.get(place as usize) else { continue };
            let lines = lane.lines.iter().flat_map(|lines| lines.lanes());
            for lane in std::iter::once(lane).chain(lines.map(|(_, _, line)| line)) {
                if lane.visit(|entry| look(priority, entry)).is_break() {
                    return;
                }
            }
        }
    }

    /// Checks the order of lines, and that they know what their parties have had.
    pub fn check(&self, tag: impl Fn(u32) -> u64) {
        for lines in self.lanes.iter().filter_map(|lane| lane.lines.as_ref()) {
            lines.check();
            assert_eq!(lines.own_tag, tag(NO_PARTY), "what the ones without a party have had");
            for (party, known, _) in lines.lanes() {
                assert_eq!(known, tag(party), "what party {party} has had");
            }
        }
    }
}
