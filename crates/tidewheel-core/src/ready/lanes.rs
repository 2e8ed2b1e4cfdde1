//! The order between runs: one first-in-first-out lane for each submitted priority.
//!
//! In a lane the oldest is always the most aged, so the heads of the lanes that are not empty are
//! all that has to be looked at, however many tasks wait; nothing is ever sorted or swept. What
//! stands in a lane is a single submission, or a run's ready set placed by its oldest task.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use slotmap::DefaultKey;

use crate::policy::{Ageing, Priority};
use crate::time::Moment;

/// In [`Entry::set`]: the entry is a single submission.
pub(crate) const SINGLE: u32 = u32::MAX;

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
    /// The run's ready set, or [`SINGLE`].
    pub set: u32,
}

/// Whether an entry still stands for ready work.
pub(crate) enum Alive {
    Yes,
    /// Its oldest task is another one now.
    Moved(u64, Moment),
    No,
}

#[derive(Debug, Clone, Default)]
struct Lane {
    /// Single submissions, oldest first.
    singles: VecDeque<Entry>,
    /// Ready sets of runs, and single submissions that come back older than the last.
    others: BinaryHeap<Reverse<Entry>>,
    /// Single submissions with a deadline, earliest first.
    urgent: BTreeMap<(Moment, u64), Entry>,
    /// When those became ready.
    urgent_ages: BTreeMap<u64, Moment>,
    /// Entries of single submissions that are no longer ready.
    dead: usize,
}

/// Which of a lane's parts the next entry comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Singles,
    Others,
    Urgent,
}

impl Lane {
    fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.others.is_empty() && self.urgent.is_empty()
    }

    /// Age of the oldest entry: what the lane's ageing goes by.
    #[inline]
    fn age(&self) -> (u64, Moment) {
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
        oldest
    }

    #[inline]
    fn first(&self) -> Option<(Part, Entry)> {
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

    fn tidy(&mut self, alive: &mut impl FnMut(&Entry) -> Alive) {
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
        if self.dead > 32 && self.dead > self.singles.len() / 2 {
            self.singles.retain(|entry| !matches!(alive(entry), Alive::No));
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
    /// A lane in which a set may have moved without notice.
    stale: u8,
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
        let lane = self.lane(priority);
        if let Some(deadline) = deadline {
            lane.urgent.insert((deadline, entry.sequence), entry);
            lane.urgent_ages.insert(entry.sequence, entry.ready_at);
        } else if entry.set == SINGLE
            && lane.singles.back().is_none_or(|last| last.sequence < entry.sequence)
        {
            lane.singles.push_back(entry);
        } else {
            lane.others.push(Reverse(entry));
        }
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
        self.existing(choice.priority).first().map(|(_, entry)| entry)
    }

    /// Takes a single submission that [`Lanes::peek`] showed.
    pub fn take_single(&mut self, choice: Choice, alive: impl FnMut(&Entry) -> Alive) {
        let lane = self.lane(choice.priority);
        if let Some((part, entry)) = lane.first() {
            match part {
                Part::Singles => drop(lane.singles.pop_front()),
                Part::Others => drop(lane.others.pop()),
                Part::Urgent => {
                    lane.urgent.pop_first();
                    lane.urgent_ages.remove(&entry.sequence);
                }
            }
        }
        self.tidy(choice.priority, alive);
    }

    /// A task of the ready set that [`Lanes::peek`] showed was taken; its place may move.
    #[inline]
    pub fn took_from_set(&mut self, choice: Choice, alive: impl FnMut(&Entry) -> Alive) {
        self.tidy(choice.priority, alive);
    }

    /// Takes the ready set that [`Lanes::peek`] showed out of its lane, for a run that may not start.
    pub fn unlist_set(&mut self, choice: Choice, alive: impl FnMut(&Entry) -> Alive) {
        self.lane(choice.priority).others.pop();
        self.tidy(choice.priority, alive);
    }

    /// An entry somewhere in the lane is no longer ready.
    pub fn forget(
        &mut self,
        priority: u8,
        deadline: Option<Moment>,
        sequence: u64,
        alive: impl FnMut(&Entry) -> Alive,
    ) {
        let lane = self.lane(priority);
        if let Some(deadline) = deadline {
            lane.urgent.remove(&(deadline, sequence));
            lane.urgent_ages.remove(&sequence);
        } else {
            lane.dead += 1;
        }
        self.tidy(priority, alive);
    }

    /// A task was taken from a set in this lane, and its place is not looked at now.
    #[inline]
    pub fn note_stale(&mut self, priority: u8) {
        debug_assert!(self.stale == NO_LANE || self.stale == priority, "one set is all there is");
        self.stale = priority;
    }

    /// Brings to order what was left.
    #[inline]
    pub fn tidy_stale(&mut self, alive: impl FnMut(&Entry) -> Alive) {
        if self.stale != NO_LANE {
            let priority = std::mem::replace(&mut self.stale, NO_LANE);
            self.tidy(priority, alive);
        }
    }

    #[inline]
    fn tidy(&mut self, priority: u8, mut alive: impl FnMut(&Entry) -> Alive) {
        let lane = self.lane(priority);
        lane.tidy(&mut alive);
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

    /// Every entry with its priority, in no particular order; entries that are no longer ready too.
    pub fn entries(&self) -> impl Iterator<Item = (u8, &Entry)> {
        (0..LANES as u8).filter(|&priority| self.place[priority as usize] != NO_LANE).flat_map(
            move |priority| {
                let lane = self.existing(priority);
                lane.singles
                    .iter()
                    .chain(lane.others.iter().map(|Reverse(entry)| entry))
                    .chain(lane.urgent.values())
                    .map(move |entry| (priority, entry))
            },
        )
    }
}
