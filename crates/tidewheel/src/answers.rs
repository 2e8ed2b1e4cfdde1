//! [`Answers`]: what a wheel says of its own work, to whoever has found that work in the store.
//!
//! Other processes put the same questions through the store, where they are answered by the same functions
//! (`driver/questions`). What is asked of a handle is in `explain` and `preview`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tidewheel_core::explain::Explanation;
use tidewheel_core::id::{RunId, TaskKey};
use tidewheel_core::policy::Priority;

use crate::driver::{Shared, State};
use crate::store::{Previewed, TaskAnswer};
use crate::wheel::Tidewheel;

/// Tasks that are explained at once: people read no more, and the lock is held meanwhile.
const TASKS_MAX: usize = 1_000;

/// Tasks of an order that are told: people read no more.
const ORDER_MAX: usize = 100;

/// Answers about the work of a wheel that was found elsewhere: by its identity, as it stands in the store. It is no handle: the
/// wheel ends as if this were not there, and then nothing is answered any more.
///
/// The scheduler is played ahead, which takes its time, though none of the wheel's: on a runtime call it where blocking is
/// allowed.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Graph, Priority, Tidewheel};
///
/// let wheel = Tidewheel::builder().start();
/// let answers = wheel.answers();
/// let run = wheel.run(Graph::from_edges([("a", "b")])?, |_| async {}).paused().start()?;
/// let why = answers.why(run.id(), &[0]).expect("the wheel has it");
/// assert_eq!(why[0].holds, ["the run is paused"]);
/// assert!(answers.what_if(run.id(), None, Priority::HIGH).expect("as before").is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Answers(Weak<Shared>);

impl Tidewheel {
    /// Answers about the work of this wheel, for whoever has found it in the store.
    #[must_use]
    pub fn answers(&self) -> Answers {
        Answers(Arc::downgrade(&self.shared))
    }
}

impl Answers {
    /// Why these tasks of a run are not running, by their indices; `None` if the wheel does not have it.
    #[must_use]
    pub fn why(&self, run: RunId, tasks: &[u32]) -> Option<Vec<TaskAnswer>> {
        self.0.upgrade()?.why(run, tasks)
    }

    /// What the order would be if a run, or one of its tasks, had this priority; `None` if the wheel does not have it.
    #[must_use]
    pub fn what_if(&self, run: RunId, task: Option<u32>, priority: Priority) -> Option<Previewed> {
        let shared = self.0.upgrade()?;
        let is_here = shared.lock().engine.scheduler().find_work(run).is_some();
        is_here.then(|| shared.what_if(run, task, priority))
    }
}

impl Shared {
    /// Why tasks of work that is here are not running.
    pub(crate) fn why(&self, run: RunId, tasks: &[u32]) -> Option<Vec<TaskAnswer>> {
        let waits = |it: &Explanation| !it.state.is_terminal() && !it.state.holds_slot();
        let (explained, wanted, forecast) = {
            let now = self.clock.now();
            let state = self.lock();
            let scheduler = state.engine.scheduler();
            let run = scheduler.find_work(run)?;
            let keys = tasks.iter().take(TASKS_MAX).map(|&index| TaskKey { run, index });
            let explained = scheduler.explain_all(keys, now);
            let wanted = explained.iter().filter(|(_, it)| waits(it)).map(|(key, _)| *key);
            let wanted: BTreeSet<TaskKey> =
                wanted.filter(|key| scheduler.can_start_by_itself(*key)).collect();
            let forecast = if wanted.is_empty() { None } else { scheduler.forecast(now) };
            (explained, wanted, forecast)
        };
        // Looking ahead takes its time, and the wheel is not to wait for that.
        let starts = forecast.map(|forecast| forecast.starts_of(&wanted)).unwrap_or_default();
        let starts: BTreeMap<TaskKey, Duration> = starts.into_iter().collect();
        let answer = |(key, it)| TaskAnswer::new(it, starts.get(&key).copied());
        Some(explained.into_iter().map(answer).collect())
    }

    /// The order that a priority would lead to; what it refuses, in words.
    pub(crate) fn what_if(&self, run: RunId, task: Option<u32>, priority: Priority) -> Previewed {
        let find = |state: &State| state.engine.scheduler().find_work(run);
        let preview = self.preview(find, task, priority, ORDER_MAX);
        preview.map_err(|refusal| refusal.to_string())
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
