//! Values that several people wait for: found by the task of their name, for as long as the name is known.
//!
//! Whether a name was used before is the scheduler's to know; here is only what the task of one gives.

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::id::RunId;
use tidewheel_core::time::Timestamp;

use super::books::Ticket;
use super::engine::RunRef;

/// Where the value of a task is found, or will be.
#[derive(Clone)]
pub(crate) struct SharedValue {
    pub run: RunRef,
    pub ticket: Ticket,
    /// A slot for a value of that type.
    pub slot: Arc<dyn Any + Send + Sync>,
    /// The type of the value, for people.
    pub type_name: &'static str,
}

#[derive(Default)]
pub(crate) struct SharedValues {
    by_run: HashMap<RunId, SharedValue>,
    /// Earliest first: where a clock was set back, not the order in which they came.
    by_age: BTreeSet<(Timestamp, RunId)>,
}

impl SharedValues {
    /// Keeps a value. Gives those back that are older than names become, to be dropped without the lock:
    /// they are other people's.
    #[must_use]
    pub fn keep(&mut self, value: SharedValue, now: Timestamp, kept: Duration) -> Vec<SharedValue> {
        let mut forgotten = Vec::new();
        while let Some((at, _)) = self.by_age.first()
            && now.since(*at) >= kept
            && let Some((_, run)) = self.by_age.pop_first()
        {
            forgotten.extend(self.by_run.remove(&run));
        }
        self.by_age.insert((now, value.run.id));
        forgotten.extend(self.by_run.insert(value.run.id, value));
        forgotten
    }

    pub fn get(&self, run: RunId) -> Option<&SharedValue> {
        self.by_run.get(&run)
    }
}
