//! The measured rival of the wheel: an indexed heap with four children per node.
//!
//! It serves only tests: [`super::measure`] times it, and [`super::tests`] holds the wheel against
//! it. The scheduler uses [`super::wheel`].

use crate::time::Moment;

/// Pending timers in a heap whose nodes carry their rank, with an index from timer to node.
pub(super) struct Heap<T> {
    nodes: Vec<Node>,
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
struct Node {
    due: Moment,
    sequence: u64,
    slot: u32,
}

struct Slot<T> {
    value: T,
    generation: u32,
    node: u32,
}

const CHILDREN: usize = 4;

impl Node {
    fn order(&self) -> u128 {
        u128::from(self.due.as_nanos()) << 64 | u128::from(self.sequence)
    }
}

impl<T: Copy> Heap<T> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), slots: Vec::new(), free: Vec::new(), sequence: 0 }
    }

    pub(super) fn insert(&mut self, due: Moment, value: T) -> HeapKey {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize].value = value;
                slot
            }
            None => {
                self.slots.push(Slot { value, generation: 0, node: 0 });
                self.slots.len() as u32 - 1
            }
        };
        let node = Node { due, sequence: self.sequence, slot };
        self.sequence += 1;
        self.nodes.push(node);
        self.sift_up(self.nodes.len() - 1, node);
        HeapKey { slot, generation: self.slots[slot as usize].generation }
    }

    pub(super) fn cancel(&mut self, key: HeapKey) -> Option<T> {
        let slot = self.slots.get(key.slot as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        Some(self.remove(slot.node as usize))
    }

    pub(super) fn next_wakeup(&self) -> Option<Moment> {
        self.nodes.first().map(|node| node.due)
    }

    pub(super) fn expire(&mut self, now: Moment) -> Option<(Moment, T)> {
        let due = self.next_wakeup().filter(|&due| due <= now)?;
        Some((due, self.remove(0)))
    }

    fn remove(&mut self, at: usize) -> T {
        let removed = self.nodes[at];
        let last = self.nodes.pop().expect("the removed node is in the heap");
        if at < self.nodes.len() {
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

    fn sift_up(&mut self, mut at: usize, node: Node) {
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.nodes[parent].order() <= node.order() {
                break;
            }
            self.put(at, self.nodes[parent]);
            at = parent;
        }
        self.put(at, node);
    }

    fn sift_down(&mut self, mut at: usize, node: Node) {
        loop {
            let first = at * CHILDREN + 1;
            let last = (first + CHILDREN).min(self.nodes.len());
            let Some(child) = (first..last).min_by_key(|&child| self.nodes[child].order()) else {
                break;
            };
            if node.order() <= self.nodes[child].order() {
                break;
            }
            self.put(at, self.nodes[child]);
            at = child;
        }
        self.put(at, node);
    }

    fn put(&mut self, at: usize, node: Node) {
        self.nodes[at] = node;
        self.slots[node.slot as usize].node = at as u32;
    }
}
