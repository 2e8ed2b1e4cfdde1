//! How one attempt at a step ended: what it brought, or why it failed.
//!
//! Every kind of work has the same envelope, so that outputs are taken from all in one way.

use std::time::Duration;

use serde_json::{Map, Value as Json};
use tidewheel_core::input::{Failure, Outcome};

use crate::flow::compile::CompileError;
use crate::flow::tree::RenderError;
use crate::store::AttemptRecord;

/// What an attempt that succeeded brought.
#[derive(Debug, Default)]
pub(super) struct Success {
    /// The exit code, or the status.
    pub code: Option<i32>,
    /// What outputs are taken from.
    pub data: Json,
    /// Headers of an answer.
    pub headers: Map<String, Json>,
    /// What a store keeps of it, without outputs.
    pub record: AttemptRecord,
}

/// Why an attempt is not a success.
#[derive(Debug)]
pub(super) struct Trouble {
    pub outcome: Outcome,
    pub record: Box<AttemptRecord>,
    /// Whether another side was asked and said no.
    pub was_answered: bool,
}

impl Trouble {
    /// It failed, and another attempt would end the same way.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::failed(message, true)
    }

    /// It failed.
    pub fn passing(message: impl Into<String>) -> Self {
        Self::failed(message, false)
    }

    fn failed(message: impl Into<String>, permanent: bool) -> Self {
        let message = message.into().into();
        let failure = Failure { message, permanent, ..Failure::default() };
        Self::of(Outcome::Failed(Box::new(failure)))
    }

    pub fn of(outcome: Outcome) -> Self {
        Self { outcome, record: Box::default(), was_answered: false }
    }

    /// It is not time yet.
    pub fn postponed(wait: Duration) -> Self {
        Self::of(Outcome::Postponed(wait))
    }

    /// Its condition does not hold.
    pub fn skipped() -> Self {
        Self::of(Outcome::Skipped)
    }

    pub fn with_record(mut self, record: AttemptRecord) -> Self {
        *self.record = record;
        self
    }
}

impl From<RenderError> for Trouble {
    fn from(error: RenderError) -> Self {
        Self::permanent(error.to_string())
    }
}

impl From<CompileError> for Trouble {
    fn from(error: CompileError) -> Self {
        Self::permanent(error.to_string())
    }
}
