//! [`Held`]: a memory store on a slow disk that can be held up, and that counts what it is given.
//!
//! It keeps what [`Memory`] keeps; nothing here asserts anything.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tidewheel::store::{AttemptRecord, Memory, Pace, Store, StoreError};
use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::row::Snapshot;

/// Clones share everything.
#[derive(Clone, Default)]
pub struct Held {
    memory: Memory,
    control: Arc<Control>,
}

#[derive(Default)]
struct Control {
    is_held: Mutex<bool>,
    moved: Condvar,
    commits: AtomicU32,
}

impl Held {
    /// Commits wait until they are let go on.
    pub fn hold(&self, is_held: bool) {
        *self.control.is_held.lock().unwrap_or_else(PoisonError::into_inner) = is_held;
        self.control.moved.notify_all();
    }

    /// How many commits were stored.
    pub fn commits(&self) -> u32 {
        self.control.commits.load(Ordering::SeqCst)
    }
}

impl Store for Held {
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.memory.take_tenure()
    }

    fn retake_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.memory.retake_tenure()
    }

    fn commit<'c>(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'c>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError> {
        let held = self.control.is_held.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody who has the lock panics.
        drop(self.control.moved.wait_while(held, |is_held| *is_held));
        self.control.commits.fetch_add(1, Ordering::SeqCst);
        self.memory.commit(tenure, changes, records)
    }

    fn pace(&self) -> Pace {
        Pace::Slow
    }
}
