//! The measured rival of the wheel: an indexed heap with four children per entry.
//!
//! It serves only tests: [`super::measure`] times it, and [`super::tests`] holds the wheel against
//! it. The scheduler uses [`super::wheel`].

use crate::time::Moment;

/// Pending timers in a heap whose entries carry their rank, with an index from timer to entry.
pub(super) struct Heap<T> {
    entries: Vec<Entry>,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    sequence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeapKey {
    slot: u32,
    generation: u32,
}

#[derive(Clone, Copy)]
struct Entry {
    due: Moment,
    sequence: u64,
    slot: u32,
}

struct Slot<T> {
    value: T,
    generation: u32,
    entry: u32,
}

const CHILDREN: usize = 4;

impl Entry {
    fn order(&self) -> u128 {
        u128::from(self.due.as_nanos()) << 64 | u128::from(self.sequence)
    }
}

impl<T: Copy> Heap<T> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), slots: Vec::new(), free: Vec::new(), sequence: 0 }
    }

    pub(super) fn insert(&mut self, due: Moment, value: T) -> HeapKey {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize].value = value;
                slot
            }
            None => {
                self.slots.push(Slot { value, generation: 0, entry: 0 });
                self.slots.len() as u32 - 1
            }
        };
        let entry = Entry { due, sequence: self.sequence, slot };
        self.sequence += 1;
        self.entries.push(entry);
        self.sift_up(self.entries.len() - 1, entry);
        HeapKey { slot, generation: self.slots[slot as usize].generation }
    }

    pub(super) fn cancel(&mut self, key: HeapKey) -> Option<T> {
        let slot = self.slots.get(key.slot as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        Some(self.remove(slot.entry as usize))
    }

    pub(super) fn next_wakeup(&self) -> Option<Moment> {
        self.entries.first().map(|entry| entry.due)
    }

    pub(super) fn expire(&mut self, now: Moment) -> Option<(Moment, T)> {
        let due = self.next_wakeup().filter(|&due| due <= now)?;
        Some((due, self.remove(0)))
    }

    fn remove(&mut self, at: usize) -> T {
        let removed = self.entries[at];
        let last = self.entries.pop().expect("the removed entry is in the heap");
        if at < self.entries.len() {
            if last.order() < removed.order() {
                self.sift_up(at, last);
            } else {
                self.sift_down(at, last);
            }
        }
        let slot = &mut self.slots[removed.slot as usize];
        slot.generation += 1;
        self.free.push(removed.slot);
        slot.value
    }

    fn sift_up(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.entries[parent].order() <= entry.order() {
                break;
            }
            self.put(at, self.entries[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    fn sift_down(&mut self, mut at: usize, entry: Entry) {
        loop {
            let first = at * CHILDREN + 1;
            let last = (first + CHILDREN).min(self.entries.len());
            let Some(child) = (first..last).min_by_key(|&child| self.entries[child].order()) else {
                break;
            };
            if entry.order() <= self.entries[child].order() {
                break;
            }
            self.put(at, self.entries[child]);
            at = child;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: Entry) {
        self.entries[at] = entry;
        self.slots[entry.slot as usize].entry = at as u32;
    }
}
