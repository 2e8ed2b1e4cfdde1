//! [`Engine`]: one scheduler and its store, taking turns: step, commit, hand out what to do.
//!
//! It knows no threads, no runtime and no clock; the simulator drives the same engine.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidewheel_core::decision::{Decision, Outputs, Tenure};
use tidewheel_core::id::{AttemptId, RunId, RunKey, ScheduleId, ScheduleKey};
use tidewheel_core::input::{Input, Rejection, Reply};
use tidewheel_core::row::Snapshot;
use tidewheel_core::spec::Config;
use tidewheel_core::time::Now;
use tidewheel_core::{RestoreError, Scheduler};

use super::held::{HeldId, HeldWork, Kinds, Ours};
use crate::error::BoxError;
use crate::store::{AttemptRecord, CommandSource, Commons, Pace, Store, StoreError};

/// How often one change set is offered to a store that does not answer.
const COMMIT_TRIES_MAX: u32 = 5;

/// A scheduler with the store that keeps its decisions.
///
/// A store that answers at once stays with the engine, which steps and commits in one [`turn`]. One
/// that makes its callers wait is taken out ([`Engine::take_store`]) by somebody who commits one
/// [`Batch`] after another while the next is being stepped.
///
/// [`turn`]: Engine::turn
pub struct Engine {
    config: Config,
    scheduler: Scheduler,
    store: Option<Box<dyn Store>>,
    tenure: Tenure,
    decision: Decision,
    /// What attempts left whose ends are in the open decision.
    records: Vec<Arc<AttemptRecord>>,
    is_lost: bool,
    kinds: Kinds,
    held: Vec<HeldWork>,
}

/// A closed decision on its way to the store, with what attempts left that ended in it.
#[derive(Debug)]
pub struct Batch {
    tenure: Tenure,
    decision: Decision,
    records: Vec<Arc<AttemptRecord>>,
}

impl Batch {
    /// Its number, counting up within a tenure.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.decision.number()
    }

    /// Offers the decision to the store and hands out what to do. After an error that
    /// [is transient](StoreError::is_transient) it may be offered again.
    ///
    /// # Errors
    ///
    /// What the store says.
    pub fn commit(&mut self, store: &mut dyn Store) -> Result<&mut Outputs, StoreError> {
        // What changes nothing needs no store: the answers to refused commands, a look at the time.
        if !self.decision.changes().is_empty() || !self.records.is_empty() {
            self.decision.commit(|changes| store.commit(self.tenure, changes, &self.records))?;
        }
        Ok(self.decision.open().expect("there is nothing to store any more"))
    }
}

/// Which run or single submission: its identity, and the key it has in the memory of one tenure.
#[derive(Debug, Clone, Copy)]
pub struct RunRef {
    /// Its identity.
    pub id: RunId,
    key: RunKey,
    tenure: Tenure,
}

/// Which schedule: its identity, and the key it has in the memory of one tenure.
#[derive(Debug, Clone, Copy)]
pub struct ScheduleRef {
    /// Its identity.
    pub id: ScheduleId,
    key: ScheduleKey,
    tenure: Tenure,
}

impl ScheduleRef {
    /// Whether its key is of the memory of this tenure.
    #[must_use]
    pub fn is_of(&self, tenure: Tenure) -> bool {
        self.tenure == tenure
    }
}

/// Why an engine cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The newest decision could not be kept for certain. Memory may be ahead of the store, so
    /// nothing of it may be used; [`Engine::restore`] starts again from what is stored.
    #[error("the decision was not stored")]
    Lost(#[source] StoreError),
    /// The engine was lost before and has not been restored.
    #[error("an earlier decision was not stored")]
    NotRestored,
    /// The store cannot be opened.
    #[error(transparent)]
    Open(StoreError),
    /// There is unfinished work in the store, and nobody who knows how to do it.
    #[error(
        "the store holds {runs} unfinished runs and {schedules} schedules, and there is no code for \
         them"
    )]
    NoCode {
        /// Runs and single submissions.
        runs: usize,
        /// Schedules.
        schedules: usize,
    },
    /// What is left of attempts of the last owner could not be ended.
    #[error("what is left of earlier attempts could not be ended")]
    Reclaim(#[source] BoxError),
    /// What is stored makes no sense to the scheduler.
    #[error("what is stored cannot be restored")]
    Restore(#[source] RestoreError),
}

impl Engine {
    /// Takes the store's tenure and restores what is in it.
    ///
    /// What must be done about restored work is in [`Engine::outputs`].
    ///
    /// # Errors
    ///
    /// When the store cannot be opened or read, or refuses the first decision.
    pub fn open(config: Config, store: Box<dyn Store>, now: Now) -> Result<Self, EngineError> {
        Self::open_after(config, store, Kinds::all(), now, |_| Ok(()))
    }

    /// As [`Engine::open`]; `look` sees what is stored before anything is decided about it, and may
    /// refuse to go on. Work of other kinds than these is [held](Engine::held).
    ///
    /// # Errors
    ///
    /// As [`Engine::open`].
    pub fn open_after(
        config: Config,
        mut store: Box<dyn Store>,
        kinds: Kinds,
        now: Now,
        look: impl FnOnce(&mut Snapshot) -> Result<(), EngineError>,
    ) -> Result<Self, EngineError> {
        store.keep_names(config.once_kept);
        let (tenure, mut snapshot) = store.take_tenure().map_err(EngineError::Open)?;
        look(&mut snapshot)?;
        let none = BTreeSet::new();
        let held = kinds.hold(&mut snapshot, &Ours::default());
        let mut decision = if store.keeps_rows() { Decision::new() } else { Decision::volatile() };
        let scheduler = Scheduler::restore(config.clone(), snapshot, &none, now, &mut decision)
            .map_err(EngineError::Restore)?;
        let store = Some(store);
        let mut engine = Self {
            config,
            scheduler,
            store,
            tenure,
            decision,
            records: Vec::new(),
            is_lost: false,
            kinds,
            held,
        };
        engine.commit()?;
        Ok(engine)
    }

    /// Steps all inputs into one decision, stores it, and hands out what to do.
    ///
    /// # Errors
    ///
    /// When the decision was not stored: the engine is lost until [`Engine::restore`].
    pub fn turn(
        &mut self,
        now: Now,
        inputs: impl IntoIterator<Item = Input>,
    ) -> Result<&mut Outputs, EngineError> {
        if self.is_lost {
            return Err(EngineError::NotRestored);
        }
        self.decision.clear();
        for input in inputs {
            self.scheduler.step(now, input, &mut self.decision);
        }
        self.commit()
    }

    /// As [`Engine::turn`], with one input. It is stepped where it stands: what a task ended with is not copied
    /// through an iterator on its way.
    ///
    /// # Errors
    ///
    /// As [`Engine::turn`].
    #[inline]
    pub fn turn_one(&mut self, now: Now, input: Input) -> Result<&mut Outputs, EngineError> {
        if self.is_lost {
            return Err(EngineError::NotRestored);
        }
        self.decision.clear();
        self.scheduler.step(now, input, &mut self.decision);
        self.commit()
    }

    /// How the store wants to be waited for.
    #[must_use]
    pub fn pace(&self) -> Pace {
        self.store.as_ref().map_or(Pace::Slow, |store| store.pace())
    }

    /// Whether decisions are kept.
    #[must_use]
    pub fn keeps_rows(&self) -> bool {
        self.decision.is_recording()
    }

    /// Where commands of other processes arrive.
    pub fn inbox(&mut self) -> Option<Box<dyn CommandSource>> {
        self.store.as_mut()?.inbox()
    }

    /// The way to what is shared with others.
    pub fn commons(&mut self) -> Option<Box<dyn Commons>> {
        self.store.as_mut()?.commons()
    }

    /// Takes the store out, for somebody who commits by [`Batch`].
    ///
    /// # Panics
    ///
    /// If it was taken before.
    pub fn take_store(&mut self) -> Box<dyn Store> {
        let store = self.store.take().expect("the store is taken out once");
        // What opening decided is stored; from here on decisions are closed by hand.
        self.decision.clear();
        store
    }

    /// Steps one input into the open decision. A refusal may be told at once; any other reply, and
    /// what is to be done, only once [`Engine::close`] and [`Batch::commit`] have led to a proof.
    ///
    /// # Errors
    ///
    /// When the engine is lost: nothing was stepped.
    pub fn step(
        &mut self,
        now: Now,
        input: Input,
    ) -> Result<Option<&Result<Reply, Rejection>>, EngineError> {
        if self.is_lost {
            return Err(EngineError::NotRestored);
        }
        let is_command = matches!(input, Input::Command(_));
        self.scheduler.step(now, input, &mut self.decision);
        Ok(self.decision.newest_reply().filter(|_| is_command))
    }

    /// Has what an attempt left stored with the open decision, into which its end is stepped; or with
    /// the next turn.
    pub fn keep(&mut self, record: Arc<AttemptRecord>) {
        if !self.is_lost {
            self.records.push(record);
        }
    }

    /// The number of the open decision: what is stepped now is stored with it.
    #[must_use]
    pub fn open_number(&self) -> u64 {
        self.decision.number()
    }

    /// Whether something is decided that was not closed yet.
    #[must_use]
    pub fn has_open_decision(&self) -> bool {
        !(self.decision.is_empty() && self.records.is_empty())
    }

    /// Closes the open decision, if there is anything in it.
    pub fn close(&mut self) -> Option<Batch> {
        if self.is_lost || !self.has_open_decision() {
            return None;
        }
        let (tenure, decision) = (self.tenure, self.decision.close());
        Some(Batch { tenure, decision, records: std::mem::take(&mut self.records) })
    }

    /// The newest batch was not stored for certain: nothing in memory may be used.
    pub fn lose(&mut self) {
        self.is_lost = true;
        self.decision.clear();
        self.records.clear();
    }

    /// Starts again from what is stored, under a new tenure; what was in memory is forgotten, but for
    /// which queues and limits are defined for all. The decision that restoring led to is open.
    ///
    /// Keys handed out before find nothing any more; see [`RunRef`]. Attempts in `alive` are still
    /// under way.
    ///
    /// # Errors
    ///
    /// When what is stored makes no sense; then the engine is lost.
    pub fn restore(
        &mut self,
        tenure: Tenure,
        snapshot: Snapshot,
        alive: &BTreeSet<AttemptId>,
        now: Now,
    ) -> Result<(), EngineError> {
        self.lose();
        let mut decision = Decision::new();
        let mut scheduler =
            Scheduler::restore(self.config.clone(), snapshot, alive, now, &mut decision)
                .map_err(EngineError::Restore)?;
        scheduler.take_over_own(&self.scheduler);
        self.tenure = tenure;
        self.decision = decision;
        self.scheduler = scheduler;
        self.is_lost = false;
        Ok(())
    }

    /// How many tasks may run at once, should memory have to be restored.
    pub(super) fn set_slots(&mut self, slots: Option<u32>) {
        self.config.slots = slots;
    }

    /// Turns notices on or off.
    pub(crate) fn set_notices(&mut self, wanted: bool) {
        self.config.notices = wanted;
        self.scheduler.set_notices(wanted);
    }

    /// A run or single submission that is in memory under this key.
    #[must_use]
    pub fn run_ref(&self, id: RunId, key: RunKey) -> RunRef {
        RunRef { id, key, tenure: self.tenure }
    }

    /// The key of a run or single submission now; `None` when it is gone.
    #[must_use]
    pub fn find_run(&self, run: RunRef) -> Option<RunKey> {
        if run.tenure == self.tenure { Some(run.key) } else { self.scheduler.find_work(run.id) }
    }

    /// A schedule that is in memory under this key.
    #[must_use]
    pub fn schedule_ref(&self, id: ScheduleId, key: ScheduleKey) -> ScheduleRef {
        ScheduleRef { id, key, tenure: self.tenure }
    }

    /// The key of a schedule now; `None` when it is gone.
    #[must_use]
    pub fn find_schedule(&self, schedule: ScheduleRef) -> Option<ScheduleKey> {
        if schedule.tenure == self.tenure {
            return Some(schedule.key);
        }
        self.scheduler.schedules().find(|(_, id)| *id == schedule.id).map(|(key, _)| key)
    }

    /// What the newest turn, or opening, said is to be done.
    pub fn outputs(&mut self) -> &mut Outputs {
        self.decision.open().expect("every way to get here has committed")
    }

    /// The scheduler, to be asked.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The scheduler, for what is no decision: profiles, reports, notices on and off.
    pub fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }

    /// What was left in the store because nobody here understands it.
    #[must_use]
    pub fn held(&self) -> &[HeldWork] {
        &self.held
    }

    /// Takes what nobody here understands out of what is about to be restored.
    pub(super) fn hold(&mut self, snapshot: &mut Snapshot, ours: &Ours) {
        self.held = self.kinds.hold(snapshot, ours);
    }

    /// Whether a run or single submission is held.
    #[must_use]
    pub fn holds(&self, run: RunId) -> bool {
        self.held.iter().any(|held| held.work == HeldId::Run(run))
    }

    /// The tenure under which decisions are stored.
    #[must_use]
    pub fn tenure(&self) -> Tenure {
        self.tenure
    }

    /// Whether [`Engine::restore`] is needed.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn commit(&mut self) -> Result<&mut Outputs, EngineError> {
        // What changes nothing needs no store: the answers to refused commands, a look at the time.
        if self.decision.changes().is_empty() && self.records.is_empty() {
            return Ok(self.decision.open().expect("there is nothing to store"));
        }
        let store = self.store.as_mut().expect("a store that was taken out gets batches");
        let mut tries = 1;
        loop {
            let (tenure, records) = (self.tenure, &self.records);
            match self.decision.commit(|changes| store.commit(tenure, changes, records)) {
                Ok(_) => break,
                Err(error) if error.is_transient() && tries < COMMIT_TRIES_MAX => tries += 1,
                Err(error) => {
                    self.lose();
                    return Err(EngineError::Lost(error));
                }
            }
        }
        self.records.clear();
        Ok(self.decision.open().expect("it is stored"))
    }
}
