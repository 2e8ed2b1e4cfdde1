//! Step, commit, hand out: the turn of production's engine, with places to die in between.
//!
//! Carrying out what comes out of a turn is the world's and the scenarios' business.

use tidewheel_core::decision::{Decision, Outputs, Tenure};
use tidewheel_core::input::Input;
use tidewheel_core::spec::Config;
use tidewheel_core::time::Now;
use tidewheel_core::{RestoreError, Scheduler};

use crate::store::{CommitError, SimStore};

/// How often one change set is offered to a store that does not answer.
const TRIES_MAX: u32 = 5;

/// A scheduler with its store.
#[derive(Debug)]
pub struct Engine {
    scheduler: Scheduler,
    store: SimStore,
    tenure: Tenure,
    decision: Decision,
}

/// Why an engine cannot go on.
#[derive(Debug)]
pub enum EngineError {
    /// The decision may not be stored: memory must be dropped.
    Lost(CommitError),
    /// What is stored makes no sense.
    Restore(RestoreError),
}

impl Engine {
    /// Takes the tenure and restores what is stored.
    ///
    /// # Errors
    ///
    /// When it cannot be restored, or the first commit fails.
    pub fn open(config: Config, mut store: SimStore, now: Now) -> Result<Self, EngineError> {
        let (tenure, snapshot) = store.take_tenure();
        let mut decision = Decision::new();
        let scheduler = Scheduler::restore(config, snapshot, now, &mut decision)
            .map_err(EngineError::Restore)?;
        let mut engine = Self { scheduler, store, tenure, decision };
        engine.commit()?;
        Ok(engine)
    }

    /// Steps all inputs into one decision and stores it.
    ///
    /// # Errors
    ///
    /// When the decision was not stored.
    pub fn turn(
        &mut self,
        now: Now,
        inputs: impl IntoIterator<Item = Input>,
    ) -> Result<&mut Outputs, EngineError> {
        self.decision.clear();
        for input in inputs {
            self.scheduler.step(now, input, &mut self.decision);
        }
        self.commit()
    }

    /// What the newest turn said is to be done.
    pub fn outputs(&mut self) -> &mut Outputs {
        let proof = self.decision.changes().stored();
        self.decision.committed(proof)
    }

    /// The changes of the newest turn.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The scheduler, to be asked.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The scheduler, for what is no decision.
    pub fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }

    fn commit(&mut self) -> Result<&mut Outputs, EngineError> {
        let changes = self.decision.changes();
        if changes.changes().is_empty() {
            let proof = changes.stored();
            return Ok(self.decision.committed(proof));
        }
        let mut tries = 1;
        let proof = loop {
            match self.store.commit(self.tenure, changes) {
                Ok(proof) => break proof,
                Err(CommitError::Transient) if tries < TRIES_MAX => tries += 1,
                Err(error) => return Err(EngineError::Lost(error)),
            }
        };
        Ok(self.decision.committed(proof))
    }
}
