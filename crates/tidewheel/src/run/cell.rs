//! [`RunCell`]: what a live run's handles, tasks and workers share.
//!
//! States and counts of tasks are not here; the scheduler has them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tidewheel_core::graph::Graph;
use tidewheel_core::id::{RunId, RunKey};
use tidewheel_core::input::{Outcome, Rejection};
use tidewheel_core::report::{self, Counts};
use tidewheel_core::spec::Profile;
use tokio::sync::watch;

use super::{RunReport, Task};
use crate::driver::engine::{Engine, RunRef};
use crate::driver::{BoxFuture, End, Shared};
use crate::error::RunError;
use crate::output::Value;

/// Code of a task that was added with its own.
pub(crate) type ExtraCode = dyn Fn(Task) -> BoxFuture<Outcome> + Send + Sync;

pub(crate) struct RunCell {
    pub shared: Arc<Shared>,
    /// Which run.
    pub work: RunRef,
    pub name: Arc<str>,
    pub graph: Arc<Graph>,
    /// The index each task had before the graph was cut down to a part.
    pub kept: Option<Vec<u32>>,
    /// How tasks of the run are treated that say nothing else.
    pub profile: Profile,
    pub ended: watch::Sender<Option<Result<RunReport, RunError>>>,
    /// How many tasks ended how, once all have.
    pub last_counts: OnceLock<Counts>,
    values: Mutex<HashMap<u32, Value>>,
    has_extra: AtomicBool,
    added: Mutex<Added>,
}

/// What is known of a run before it is accepted.
pub(crate) struct About {
    pub name: Arc<str>,
    pub graph: Arc<Graph>,
    pub kept: Option<Vec<u32>>,
    pub profile: Profile,
}

/// Tasks added to the live run.
#[derive(Default)]
struct Added {
    names: Vec<Arc<str>>,
    indices: HashMap<Arc<str>, u32>,
    code: HashMap<u32, Arc<ExtraCode>>,
}

impl RunCell {
    pub fn new(shared: Arc<Shared>, work: RunRef, about: About) -> Self {
        Self {
            shared,
            work,
            name: about.name,
            graph: about.graph,
            kept: about.kept,
            profile: about.profile,
            ended: watch::Sender::new(None),
            last_counts: OnceLock::new(),
            values: Mutex::default(),
            has_extra: AtomicBool::new(false),
            added: Mutex::default(),
        }
    }

    /// That of a run in the scheduler's memory, with all that is known of it; `None` for a single
    /// submission.
    pub fn restored(shared: &Arc<Shared>, engine: &Engine, key: RunKey, id: RunId) -> Option<Self> {
        let scheduler = engine.scheduler();
        let spec = scheduler.run_spec(key)?;
        let about = About {
            name: Arc::clone(&spec.options.name),
            graph: Arc::clone(&spec.graph),
            kept: None,
            profile: spec.profiles.first().map(|first| (**first).clone()).unwrap_or_default(),
        };
        let cell = Self::new(Arc::clone(shared), engine.run_ref(id, key), about);
        cell.catch_up(engine);
        Some(cell)
    }

    pub fn index_of(&self, name: &str) -> Option<u32> {
        self.graph.index_of(name).or_else(|| self.added().indices.get(name).copied())
    }

    pub fn added_name(&self, index: u32) -> Option<Arc<str>> {
        let place = index.checked_sub(self.graph.len())?;
        self.added().names.get(place as usize).cloned()
    }

    /// Learns the names of tasks that were added. Called under the scheduler's lock, before any of them
    /// can start.
    pub fn catch_up(&self, engine: &Engine) {
        let Some(key) = engine.find_run(self.work) else { return };
        let mut added = self.added();
        let known = added.names.len();
        for name in engine.scheduler().added_names(key, known) {
            let index = self.graph.len() + added.names.len() as u32;
            added.names.push(Arc::clone(name));
            added.indices.insert(Arc::clone(name), index);
        }
    }

    /// Memory was restored: tasks whose addition was lost are forgotten. Gives their code, to be
    /// dropped without the scheduler's lock.
    pub fn learn_anew(&self, engine: &Engine) -> Vec<Arc<ExtraCode>> {
        let mut added = self.added();
        added.names.clear();
        added.indices.clear();
        drop(added);
        self.catch_up(engine);
        let mut added = self.added();
        let count = self.graph.len() + added.names.len() as u32;
        added.code.extract_if(|index, _| *index >= count).map(|(_, code)| code).collect()
    }

    /// Gives an added task code of its own. Called under the scheduler's lock.
    pub fn keep_code(&self, index: u32, code: Arc<ExtraCode>) {
        self.added().code.insert(index, code);
        self.has_extra.store(true, Ordering::Release);
    }

    /// The own code of a task; `None`: that of the run.
    pub fn extra_code(&self, index: u32) -> Option<Arc<ExtraCode>> {
        if !self.has_extra.load(Ordering::Acquire) {
            return None;
        }
        self.added().code.get(&index).cloned()
    }

    pub fn keep_value(&self, index: u32, value: Value) {
        let before = self.values().insert(index, value);
        // Dropped only now, without the lock.
        drop(before);
    }

    pub fn value(&self, index: u32) -> Option<Value> {
        self.values().get(&index).cloned()
    }

    /// The run has ended, with a report unless the wheel is gone.
    pub fn end(&self, report: Option<report::RunReport>, end: End) {
        let result = match (report, end) {
            (Some(report), _) => {
                let values = std::mem::take(&mut *self.values());
                Ok(RunReport::new(report, Arc::clone(&self.name), values))
            }
            (None, End::Lost(why)) => Err(RunError::Lost(why)),
            (None, End::Refused(why)) => Err(RunError::Rejected(Rejection::Unavailable(why))),
            (None, _) => Err(RunError::ShutDown),
        };
        self.ended.send_replace(Some(result));
        let code = std::mem::take(&mut self.added().code);
        drop(code);
    }

    fn values(&self) -> MutexGuard<'_, HashMap<u32, Value>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn added(&self) -> MutexGuard<'_, Added> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
