//! [`Shelf`]: the indexes of the logs that somebody looks at.
//!
//! There is room for few. The one that was not asked for longest goes first, and is made anew when it is asked for.

use std::sync::{Arc, Mutex, PoisonError};

use tidewheel::id::TaskId;

use super::index::Index;
use crate::api::LogStream;

/// Indexes that are kept, of at most 300 KiB each.
const KEPT_MAX: usize = 32;

/// Which log: of a task, an attempt, and one stream or both.
pub type LogKey = (TaskId, u32, Option<LogStream>);

/// The indexes of logs.
#[derive(Debug, Default)]
pub struct Shelf {
    /// The one that was asked for last stands last.
    kept: Mutex<Vec<(LogKey, Arc<Mutex<Index>>)>>,
}

impl Shelf {
    /// The index of a log, empty if it was not kept. Whoever has it locked has it grow with the log.
    #[must_use]
    pub fn index(&self, key: LogKey) -> Arc<Mutex<Index>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(known, _)| *known == key);
        let found = place.map_or_else(|| (key, Arc::default()), |place| kept.remove(place));
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        let index = Arc::clone(&found.1);
        kept.push(found);
        index
    }
}

#[cfg(test)]
mod tests {
    use tidewheel::RunId;

    use super::*;

    #[test]
    fn the_shelf_keeps_those_that_are_asked_for() {
        let shelf = Shelf::default();
        let key = |index: u32| (TaskId { run: RunId(1), index }, 1, None);
        let first = shelf.index(key(0));
        for other in 1..100 {
            let _ = shelf.index(key(other));
            assert!(Arc::ptr_eq(&first, &shelf.index(key(0))), "it was asked for all the time");
        }
        for other in 100..200 {
            let _ = shelf.index(key(other));
        }
        assert!(!Arc::ptr_eq(&first, &shelf.index(key(0))));
        assert_eq!(shelf.kept.lock().map(|kept| kept.len()).ok(), Some(KEPT_MAX));
    }
}
