//! Queues and limits as they are written.
//!
//! What is taken of them is not kept: it is counted again from the attempts that run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel_core::policy::{BreakerSpec, Rate};
use tidewheel_core::spec::{LimitSpec, QueueSpec};

use super::CodecError;
use super::profile::is_false;

/// A [`QueueSpec`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct QueueRecord {
    weight: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<RateRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting_max: Option<u32>,
    #[serde(default, skip_serializing_if = "is_false")]
    preempt: bool,
}

impl QueueRecord {
    pub(super) fn of(spec: &QueueSpec) -> Self {
        Self {
            weight: spec.weight,
            slots: spec.slots,
            rate: spec.rate.map(RateRecord::of),
            waiting_max: spec.waiting_max,
            preempt: spec.preempt,
        }
    }

    pub(super) fn into_value(self) -> Result<QueueSpec, CodecError> {
        Ok(QueueSpec {
            weight: self.weight,
            slots: self.slots,
            rate: self.rate.map(RateRecord::into_value).transpose()?,
            waiting_max: self.waiting_max,
            preempt: self.preempt,
        })
    }
}

/// A [`LimitSpec`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LimitRecord {
    Units(u32),
    SharedUnits(u32),
    Rate(RateRecord),
    Breaker {
        failures_max: u32,
        reset_after: Duration,
        #[serde(default, skip_serializing_if = "is_false")]
        fail_fast: bool,
    },
}

impl LimitRecord {
    pub(super) fn of(spec: &LimitSpec) -> Self {
        match spec {
            LimitSpec::Units(units) => Self::Units(*units),
            LimitSpec::SharedUnits(units) => Self::SharedUnits(*units),
            LimitSpec::Rate(rate) => Self::Rate(RateRecord::of(*rate)),
            LimitSpec::Breaker(breaker) => Self::Breaker {
                failures_max: breaker.failures_max,
                reset_after: breaker.reset_after,
                fail_fast: breaker.fail_fast,
            },
        }
    }

    pub(super) fn into_value(self) -> Result<LimitSpec, CodecError> {
        Ok(match self {
            Self::Units(units) => LimitSpec::Units(units),
            Self::SharedUnits(units) => LimitSpec::SharedUnits(units),
            Self::Rate(rate) => LimitSpec::Rate(rate.into_value()?),
            Self::Breaker { failures_max, reset_after, fail_fast } => {
                LimitSpec::Breaker(BreakerSpec { failures_max, reset_after, fail_fast })
            }
        })
    }
}

/// A [`Rate`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RateRecord {
    count: u32,
    per: Duration,
    burst: u32,
}

impl RateRecord {
    fn of(rate: Rate) -> Self {
        Self { count: rate.count(), per: rate.per(), burst: rate.burst() }
    }

    fn into_value(self) -> Result<Rate, CodecError> {
        Rate::new(self.count, self.per)
            .and_then(|rate| rate.with_burst(self.burst))
            .map_err(|error| CodecError::value("a rate", error.to_string()))
    }
}
