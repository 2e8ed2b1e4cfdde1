//! A table by [`RunKey`], as dense as the scheduler's own.
//!
//! The scheduler numbers what it holds from zero and uses numbers again; so no hashing is needed.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use tidewheel_core::id::RunKey;

use super::ids::KeyHasher;

pub(super) struct Entries<T> {
    places: Vec<Option<(RunKey, T)>>,
    /// What has ended for the scheduler, but whose end is not stored yet, and whose place is taken.
    displaced: HashMap<RunKey, T, BuildHasherDefault<KeyHasher>>,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self { places: Vec::new(), displaced: HashMap::default() }
    }
}

impl<T> Entries<T> {
    pub fn insert(&mut self, key: RunKey, value: T) {
        let place = key.slot() as usize;
        if place >= self.places.len() {
            self.places.resize_with(place + 1, || None);
        }
        self.displaced.extend(self.places[place].replace((key, value)));
    }

    pub fn get(&self, key: RunKey) -> Option<&T> {
        match self.places.get(key.slot() as usize) {
            Some(Some((known, value))) if *known == key => Some(value),
            _ => self.displaced.get(&key),
        }
    }

    pub fn get_mut(&mut self, key: RunKey) -> Option<&mut T> {
        match self.places.get_mut(key.slot() as usize) {
            Some(Some((known, value))) if *known == key => Some(value),
            _ => self.displaced.get_mut(&key),
        }
    }

    pub fn remove(&mut self, key: RunKey) -> Option<T> {
        let place = self.places.get_mut(key.slot() as usize)?;
        if let Some((_, value)) = place.take_if(|(known, _)| *known == key) {
            return Some(value);
        }
        self.displaced.remove(&key)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let places = self.places.iter().flatten().map(|(_, value)| value);
        places.chain(self.displaced.values())
    }

    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        let places = self.places.drain(..).flatten();
        places.chain(self.displaced.drain()).map(|(_, value)| value)
    }
}
