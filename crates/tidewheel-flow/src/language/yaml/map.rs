//! [`Map`]: a mapping in the order it was written.
//!
//! That keys are unique is seen to in [`super::expand`], where both places are known.

use crate::language::problem::Span;

use super::node::Node;

/// Up to so many keys are compared one after another.
const SEARCHED_MAX: usize = 16;

/// A mapping in the order it was written. Every key is there once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Map {
    entries: Vec<Entry>,
    /// Indexes of `entries` sorted by key; empty if there are only a few.
    by_key: Vec<u32>,
}

/// One key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key. Numbers and booleans are taken as they were written.
    pub key: String,
    /// Where the key was written.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Map {
    /// A mapping of `entries`; of those with the same key the first counts.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        let repeated = repeated(&entries);
        if !repeated.is_empty() {
            let mut index = 0;
            let mut repeated = repeated.into_iter().peekable();
            entries.retain(|_| {
                let is_repeated = repeated.next_if(|(_, again)| *again == index).is_some();
                index += 1;
                !is_repeated
            });
        }
        let by_key = if entries.len() > SEARCHED_MAX {
            sorted(&entries).into_iter().map(|index| index as u32).collect()
        } else {
            Vec::new()
        };
        Self { entries, by_key }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// A key with its value and its place.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.position(key).map(|index| &self.entries[index])
    }

    /// At which place a key was written, from 0.
    pub fn position(&self, key: &str) -> Option<usize> {
        if self.by_key.is_empty() {
            return self.entries.iter().position(|entry| entry.key == key);
        }
        self.search(key).ok().map(|place| self.by_key[place] as usize)
    }

    /// Sets the value of a key: in its place if it is there, otherwise behind all others.
    pub fn insert(&mut self, key: String, key_span: Span, value: Node) {
        if let Some(index) = self.position(&key) {
            self.entries[index] = Entry { key, key_span, value };
            return;
        }
        if !self.by_key.is_empty()
            && let Err(place) = self.search(&key)
        {
            self.by_key.insert(place, self.entries.len() as u32);
        }
        self.entries.push(Entry { key, key_span, value });
        if self.by_key.is_empty() && self.entries.len() > SEARCHED_MAX {
            self.by_key = sorted(&self.entries).into_iter().map(|index| index as u32).collect();
        }
    }

    /// Where a key is in `by_key`, or where it would be.
    fn search(&self, key: &str) -> Result<usize, usize> {
        let of = |index: &u32| self.entries[*index as usize].key.as_str();
        self.by_key.binary_search_by(|index| of(index).cmp(key))
    }

    /// Whether there is such a key.
    pub fn contains(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// All in the order they were written.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// All keys in the order they were written.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in the order they were written.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Pairs of entries with the same key, the first one and a later one, in the order of the latter.
pub(super) fn repeated(entries: &[Entry]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    if entries.len() <= SEARCHED_MAX {
        for (index, entry) in entries.iter().enumerate() {
            let first = entries[..index].iter().position(|before| before.key == entry.key);
            pairs.extend(first.map(|first| (first, index)));
        }
        return pairs;
    }
    let sorted = sorted(entries);
    for same in sorted.chunk_by(|a, b| entries[*a].key == entries[*b].key) {
        pairs.extend(same[1..].iter().map(|index| (same[0], *index)));
    }
    pairs.sort_unstable_by_key(|(_, again)| *again);
    pairs
}

/// The indexes of entries in the order of their keys, and of equal ones in the order written.
fn sorted(entries: &[Entry]) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..entries.len()).collect();
    indexes.sort_by(|a, b| entries[*a].key.cmp(&entries[*b].key));
    indexes
}
