//! [`Recorder`]: takes what executors know of ended attempts, until the next commit writes it.
//!
//! How it is written is in `attempts`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::AttemptRecord;

/// Queues what executors know of ended attempts. Clones share the queue.
///
/// A record given before the end of the attempt is reported is stored no later than the row that
/// says the attempt has ended.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    queue: Arc<Mutex<Vec<AttemptRecord>>>,
}

impl Recorder {
    /// Has `record` written with the next commit.
    pub fn record(&self, record: AttemptRecord) {
        self.queue().push(record);
    }

    pub(super) fn queue(&self) -> MutexGuard<'_, Vec<AttemptRecord>> {
        // Nothing below panics halfway through a change.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
