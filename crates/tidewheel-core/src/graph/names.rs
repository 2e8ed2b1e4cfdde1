//! The names of a graph's tasks: one arena of text and one table of slots, no string per task.
//!
//! What the names are attached to is not known here.

use std::borrow::Cow;
use std::hash::Hasher as _;

use super::GraphError;
use crate::nearest::nearest;

/// Marks a free slot of the table; also one more than the greatest index a task can have.
const FREE: u32 = u32::MAX;

/// One place of the table. Keeping the hash saves looking at the name of every neighbour.
#[derive(Debug, Clone, Copy)]
struct Slot {
    index: u32,
    hash: u32,
}

/// The names of all tasks of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Names {
    /// Each task is named by its index in decimal.
    Numbered,
    /// Each task has a name of its own.
    Interned(NameTable),
}

impl Names {
    pub(super) fn name(&self, index: u32) -> Cow<'_, str> {
        match self {
            Self::Numbered => Cow::Owned(index.to_string()),
            Self::Interned(table) => Cow::Borrowed(table.name(index)),
        }
    }

    pub(super) fn find(&self, name: &str, task_count: u32) -> Option<u32> {
        match self {
            Self::Numbered => {
                let index: u32 = name.parse().ok()?;
                // "007" and "+7" parse as 7, but no task has that name.
                (index < task_count && index.to_string() == name).then_some(index)
            }
            Self::Interned(table) => table.find(name),
        }
    }
}

/// Distinct names, numbered in the order they were added.
///
/// The table is an open-addressing hash table whose slots hold indices into the arena, so a name is
/// stored once. Its layout shows nowhere: names are only ever listed by index.
#[derive(Debug, Clone, Default)]
pub(super) struct NameTable {
    text: String,
    ends: Vec<u32>,
    slots: Vec<Slot>,
}

impl PartialEq for NameTable {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl Eq for NameTable {}

impl NameTable {
    pub(super) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    pub(super) fn name(&self, index: u32) -> &str {
        let index = index as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.text[start..self.ends[index] as usize]
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        match self.slots[self.place_of(name, hash(name))].index {
            FREE => None,
            index => Some(index),
        }
    }

    /// The index of `name`, and whether it was added just now.
    pub(super) fn intern(&mut self, name: &str) -> Result<(u32, bool), GraphError> {
        if (self.ends.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let hash = hash(name);
        let place = self.place_of(name, hash);
        if self.slots[place].index != FREE {
            return Ok((self.slots[place].index, false));
        }
        let index = u32::try_from(self.ends.len()).map_err(|_| GraphError::TooLarge)?;
        let end = u32::try_from(self.text.len() + name.len()).map_err(|_| GraphError::TooLarge)?;
        if index == FREE {
            return Err(GraphError::TooLarge);
        }
        self.text.push_str(name);
        self.ends.push(end);
        self.slots[place] = Slot { index, hash };
        Ok((index, true))
    }

    /// Gives back what was reserved for names that did not come.
    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Where `name` stands in the table, or the free place where it belongs.
    fn place_of(&self, name: &str, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let slot = self.slots[place];
            if slot.index == FREE || (slot.hash == hash && self.name(slot.index) == name) {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(16);
        let mask = capacity - 1;
        let mut slots = vec![Slot { index: FREE, hash: 0 }; capacity];
        for &slot in self.slots.iter().filter(|slot| slot.index != FREE) {
            let mut place = slot.hash as usize & mask;
            while slots[place].index != FREE {
                place = (place + 1) & mask;
            }
            slots[place] = slot;
        }
        self.slots = slots;
    }
}

/// The same on every run of the program: the hasher is made with fixed keys.
fn hash(name: &str) -> u32 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish() as u32
}

/// Finds the name someone meant, among the names of a table.
///
/// Looking through a large graph for each of many unknown names would take quadratic time, so the
/// number of names looked at is bounded; after that there are no more suggestions.
pub(super) struct Suggestions<'a> {
    table: &'a NameTable,
    looks_left: u32,
}

impl<'a> Suggestions<'a> {
    pub(super) fn new(table: &'a NameTable) -> Self {
        Self { table, looks_left: 2_000_000 }
    }

    /// The name that was meant, if one is near.
    pub(super) fn nearest(&mut self, wanted: &str) -> Option<String> {
        self.looks_left = self.looks_left.checked_sub(self.table.len())?;
        let names = (0..self.table.len()).map(|index| self.table.name(index));
        nearest(wanted, names).map(str::to_owned)
    }
}
