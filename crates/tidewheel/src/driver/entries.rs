//! A table by [`RunKey`], as dense as the scheduler's own.
//!
//! The scheduler numbers what it holds from zero and uses numbers again; so no hashing is needed.

use tidewheel_core::id::RunKey;

pub(super) struct Entries<T> {
    places: Vec<Option<(RunKey, T)>>,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self { places: Vec::new() }
    }
}

impl<T> Entries<T> {
    pub fn insert(&mut self, key: RunKey, value: T) {
        let place = key.slot() as usize;
        if place >= self.places.len() {
            self.places.resize_with(place + 1, || None);
        }
        self.places[place] = Some((key, value));
    }

    pub fn get_mut(&mut self, key: RunKey) -> Option<&mut T> {
        match self.places.get_mut(key.slot() as usize) {
            Some(Some((known, value))) if *known == key => Some(value),
            _ => None,
        }
    }

    pub fn remove(&mut self, key: RunKey) -> Option<T> {
        let place = self.places.get_mut(key.slot() as usize)?;
        place.take_if(|(known, _)| *known == key).map(|(_, value)| value)
    }

    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.places.drain(..).flatten().map(|(_, value)| value)
    }
}
