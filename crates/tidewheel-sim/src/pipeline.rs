//! Storing one decision while the next ones are being made, as a store that makes its callers wait
//! wants it.
//!
//! The order is that of production: one batch on its way at a time, actions only once it is stored.

use std::collections::BTreeSet;

use tidewheel::engine::{Batch, Engine, EngineError};
use tidewheel::store::Store;
use tidewheel_core::decision::Outputs;
use tidewheel_core::id::AttemptId;
use tidewheel_core::input::Input;
use tidewheel_core::time::Now;

use crate::client::Asked;
use crate::world::World;

/// How often one batch is offered to a store that does not answer.
const TRIES_MAX: u32 = 5;

/// The store, and what is on its way to it.
#[derive(Default)]
pub struct Pipeline {
    store: Option<Box<dyn Store>>,
    /// Asked in the open decision.
    asked: Vec<Asked>,
    /// Ends of attempts that the batch under way holds.
    reports: usize,
    batch: Option<(Batch, Vec<Asked>)>,
}

impl Pipeline {
    pub(crate) fn open(&mut self, store: Box<dyn Store>) {
        self.drop_all();
        self.store = Some(store);
    }

    pub(crate) fn drop_all(&mut self) {
        self.asked.clear();
        self.reports = 0;
        self.batch = None;
    }

    /// Restores and stores what that led to.
    pub(crate) fn recover(
        &mut self,
        engine: &mut Engine,
        alive: &BTreeSet<AttemptId>,
        now: Now,
    ) -> Result<Outputs, EngineError> {
        self.drop_all();
        let store = self.store.as_mut().expect("an open world has a store");
        engine.recover_from(&mut **store, alive, now)?;
        match engine.close() {
            Some(mut batch) => {
                batch.commit(&mut **store).map(std::mem::take).map_err(EngineError::Lost)
            }
            None => Ok(Outputs::default()),
        }
    }
}

impl World {
    /// Steps now; stores now or later.
    pub(crate) fn turn_in_pipeline(&mut self, inputs: Vec<Input>, asked: Vec<Asked>) {
        let (Some(engine), Some(pipeline)) = (&mut self.engine, &mut self.pipeline) else { return };
        for input in inputs {
            if let Err(error) = engine.step(self.now, input).map(drop) {
                self.violate("a step works", format!("{error:?}"));
                return;
            }
        }
        pipeline.asked.extend(asked);
        if !self.faults {
            self.flush();
            return;
        }
        while self.random.percent(65) {
            if !self.commit_one() {
                return;
            }
        }
        self.coverage.hit("pipeline: stepped ahead of the store");
    }

    /// Stores everything that is decided.
    pub(crate) fn flush(&mut self) {
        while self.pipeline.is_some() && self.commit_one() {}
    }

    /// Stores the batch under way, or the next one. Whether there was any.
    fn commit_one(&mut self) -> bool {
        let (Some(engine), Some(pipeline)) = (&mut self.engine, &mut self.pipeline) else {
            return false;
        };
        let Some((mut batch, asked)) = pipeline.batch.take() else {
            pipeline.reports = self.unstored.len();
            let closed = engine.close();
            pipeline.batch = closed.map(|batch| (batch, std::mem::take(&mut pipeline.asked)));
            return pipeline.batch.is_some();
        };
        let fault = self.plan_fault();
        self.store.set_fault(fault);
        let (Some(engine), Some(pipeline)) = (&mut self.engine, &mut self.pipeline) else {
            return false;
        };
        let store = pipeline.store.as_mut().expect("an open world has a store");
        let mut tries = 1;
        let result = loop {
            match batch.commit(&mut **store).map(std::mem::take) {
                Ok(outputs) => break Ok(outputs),
                Err(error) if error.is_transient() && tries < TRIES_MAX => tries += 1,
                Err(error) => {
                    engine.lose();
                    break Err(EngineError::Lost(error));
                }
            }
        };
        if result.is_ok() {
            self.unstored.drain(..pipeline.reports);
            pipeline.reports = 0;
        }
        self.committed(result, asked);
        true
    }
}
