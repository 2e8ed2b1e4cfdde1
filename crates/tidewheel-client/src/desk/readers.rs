//! [`Readers`]: connections to a data folder that only read, kept for whoever asks next.
//!
//! What is read is in the files beside.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidewheel::store::sqlite::{DataFolder, FolderError, Reader};

/// So many are kept, and as a rule open at once: to open one takes longer than most questions.
const READERS_MAX: usize = 4;

/// How long one is waited for that somebody else reads with. Who reads for longer than that holds up nobody.
const PATIENCE: Duration = Duration::from_millis(20);

/// The readers of a desk.
#[derive(Debug)]
pub(super) struct Readers {
    state: Mutex<State>,
    came_back: Condvar,
}

#[derive(Debug)]
struct State {
    /// Those that nobody reads with now.
    idle: Vec<Reader>,
    /// How many somebody reads with.
    busy: usize,
}

impl Readers {
    pub fn new(first: Reader) -> Self {
        let state = State { idle: vec![first], busy: 0 };
        Self { state: Mutex::new(state), came_back: Condvar::new() }
    }

    /// One that nobody else has, which must be put back.
    pub fn take(&self, folder: &DataFolder) -> Result<Reader, FolderError> {
        let state = self.lock();
        let is_taken = |state: &mut State| state.idle.is_empty() && state.busy >= READERS_MAX;
        let waited = self.came_back.wait_timeout_while(state, PATIENCE, is_taken);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.busy += 1;
        if let Some(reader) = state.idle.pop() {
            return Ok(reader);
        }
        drop(state);
        folder.reader().inspect_err(|_| self.lock().busy -= 1)
    }

    /// Whoever comes next may have it.
    pub fn put_back(&self, reader: Reader) {
        let mut state = self.lock();
        state.busy -= 1;
        if state.idle.len() + state.busy < READERS_MAX {
            state.idle.push(reader);
            drop(state);
            self.came_back.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel::store::sqlite::Options;
    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn however_many_ask_at_once_few_are_kept_and_all_come_back() {
        let temp = temp_folder("readers");
        let folder = DataFolder::open(temp.path(), Options::default()).unwrap();
        let readers = Readers::new(folder.reader().unwrap());
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let reader = readers.take(&folder).unwrap();
                        reader.counts().unwrap();
                        readers.put_back(reader);
                    }
                });
            }
        });
        let state = readers.lock();
        assert_eq!(state.busy, 0);
        assert!((1..=READERS_MAX).contains(&state.idle.len()), "{}", state.idle.len());
        drop(state);
    }
}
