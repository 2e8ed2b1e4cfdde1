//! [`Engine`]: one scheduler and its store, taking turns: step, commit, hand out what to do.
//!
//! It knows no threads, no runtime and no clock; the simulator drives the same engine.

use tidewheel_core::decision::{Decision, Outputs, Tenure};
use tidewheel_core::input::Input;
use tidewheel_core::spec::Config;
use tidewheel_core::time::Now;
use tidewheel_core::{RestoreError, Scheduler};

use crate::store::{Store, StoreError};

/// How often one change set is offered to a store that does not answer.
const COMMIT_TRIES_MAX: u32 = 5;

/// A scheduler with the store that keeps its decisions.
pub struct Engine {
    config: Config,
    scheduler: Scheduler,
    store: Box<dyn Store>,
    tenure: Tenure,
    decision: Decision,
    is_lost: bool,
}

/// Why an engine cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The newest decision could not be kept for certain. Memory may be ahead of the store, so
    /// nothing of it may be used; [`Engine::recover`] starts again from what is stored.
    #[error("the decision was not stored")]
    Lost(#[source] StoreError),
    /// The engine was lost before and has not been recovered.
    #[error("an earlier decision was not stored")]
    NotRecovered,
    /// The store cannot be opened.
    #[error("the store cannot be opened")]
    Open(#[source] StoreError),
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
    pub fn open(config: Config, mut store: Box<dyn Store>, now: Now) -> Result<Self, EngineError> {
        let (tenure, decision, scheduler) = restore(&config, &mut *store, now)?;
        let mut engine = Self { config, scheduler, store, tenure, decision, is_lost: false };
        engine.commit()?;
        Ok(engine)
    }

    /// Steps all inputs into one decision, stores it, and hands out what to do.
    ///
    /// # Errors
    ///
    /// When the decision was not stored: the engine is lost until [`Engine::recover`].
    pub fn turn(
        &mut self,
        now: Now,
        inputs: impl IntoIterator<Item = Input>,
    ) -> Result<&mut Outputs, EngineError> {
        if self.is_lost {
            return Err(EngineError::NotRecovered);
        }
        self.decision.clear();
        for input in inputs {
            self.scheduler.step(now, input, &mut self.decision);
        }
        self.commit()
    }

    /// Forgets what is in memory and starts again from the store, under a new tenure.
    ///
    /// Keys handed out before find nothing any more.
    ///
    /// # Errors
    ///
    /// As [`Engine::open`].
    pub fn recover(&mut self, now: Now) -> Result<&mut Outputs, EngineError> {
        self.is_lost = true;
        let (tenure, decision, scheduler) = restore(&self.config, &mut *self.store, now)?;
        self.tenure = tenure;
        self.decision = decision;
        self.scheduler = scheduler;
        self.is_lost = false;
        self.commit()
    }

    /// What the newest turn, or opening, said is to be done.
    pub fn outputs(&mut self) -> &mut Outputs {
        // Every way to get here has committed, and a lost engine has no outputs left.
        let proof = self.decision.changes().stored();
        self.decision.committed(proof)
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

    /// The tenure under which decisions are stored.
    #[must_use]
    pub fn tenure(&self) -> Tenure {
        self.tenure
    }

    /// Whether [`Engine::recover`] is needed.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn commit(&mut self) -> Result<&mut Outputs, EngineError> {
        let changes = self.decision.changes();
        // What changes nothing needs no store: the answers to refused commands, a look at the time.
        if changes.changes().is_empty() {
            let proof = changes.stored();
            return Ok(self.decision.committed(proof));
        }
        let mut tries = 1;
        let proof = loop {
            match self.store.commit(self.tenure, changes) {
                Ok(proof) => break proof,
                Err(error) if error.is_transient() && tries < COMMIT_TRIES_MAX => tries += 1,
                Err(error) => {
                    self.is_lost = true;
                    self.decision.clear();
                    return Err(EngineError::Lost(error));
                }
            }
        };
        Ok(self.decision.committed(proof))
    }
}

fn restore(
    config: &Config,
    store: &mut dyn Store,
    now: Now,
) -> Result<(Tenure, Decision, Scheduler), EngineError> {
    let (tenure, snapshot) = store.take_tenure().map_err(EngineError::Open)?;
    let mut decision = if store.keeps_rows() { Decision::new() } else { Decision::volatile() };
    let scheduler = Scheduler::restore(config.clone(), snapshot, now, &mut decision)
        .map_err(EngineError::Restore)?;
    Ok((tenure, decision, scheduler))
}
