//! A named cap: units in use, a rate, or a circuit breaker, and the classes that wait for it.
//!
//! Which task gets what is free is decided by the order; here it is only counted.

use std::sync::Arc;

use crate::policy::{Admission, Breaker, Bucket};
use crate::spec::LimitSpec;
use crate::time::Moment;
use crate::timer::TimerKey;

/// A limit and what is taken of it.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub name: Arc<str>,
    pub kind: LimitKind,
    /// Classes that found it closed, in the order in which they did.
    pub waiting: Vec<u32>,
    /// The class that has the next units, because it waited too long for more than were free.
    pub reserved_for: Option<u32>,
    /// Fires when a rate or an open breaker may let somebody through.
    pub timer: Option<TimerKey>,
}

#[derive(Debug, Clone)]
pub(crate) enum LimitKind {
    Units { used: u32, max: u32 },
    Rate { rate: crate::policy::Rate, bucket: Bucket },
    Breaker(Breaker),
}

/// Whether a limit lets an attempt through now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Open,
    /// Not before something is released.
    Closed,
    /// Not before this moment.
    ClosedUntil(Moment),
}

impl Limit {
    pub fn new(name: Arc<str>, spec: &LimitSpec) -> Self {
        let kind = match spec {
            LimitSpec::Units(max) => LimitKind::Units { used: 0, max: *max },
            LimitSpec::Rate(rate) => LimitKind::Rate { rate: *rate, bucket: Bucket::default() },
            LimitSpec::Breaker(spec) => LimitKind::Breaker(Breaker::new(*spec)),
        };
        Self { name, kind, waiting: Vec::new(), reserved_for: None, timer: None }
    }

    /// The settings it was made with.
    pub fn spec(&self) -> LimitSpec {
        match &self.kind {
            LimitKind::Units { max, .. } => LimitSpec::Units(*max),
            LimitKind::Rate { rate, .. } => LimitSpec::Rate(*rate),
            LimitKind::Breaker(breaker) => LimitSpec::Breaker(breaker.spec()),
        }
    }

    /// Changes the settings and keeps what is taken, where the kind is the same.
    pub fn change(&mut self, spec: &LimitSpec) {
        match (&mut self.kind, spec) {
            (LimitKind::Units { max, .. }, LimitSpec::Units(new)) => *max = *new,
            (LimitKind::Rate { rate, .. }, LimitSpec::Rate(new)) => *rate = *new,
            (kind, spec) => *kind = Self::new(self.name.clone(), spec).kind,
        }
    }

    pub fn verdict(&self, class: u32, units: u32, now: Moment) -> Verdict {
        match &self.kind {
            LimitKind::Units { used, max } => {
                let reserved = self.reserved_for.is_some_and(|holder| holder != class);
                if reserved || used.saturating_add(units) > *max {
                    Verdict::Closed
                } else {
                    Verdict::Open
                }
            }
            LimitKind::Rate { rate, bucket } => {
                let earliest = bucket.earliest(*rate, now);
                if earliest <= now { Verdict::Open } else { Verdict::ClosedUntil(earliest) }
            }
            LimitKind::Breaker(breaker) => match breaker.admits(now) {
                Admission::Admit => Verdict::Open,
                Admission::WaitUntil(moment) => Verdict::ClosedUntil(moment),
                Admission::WaitForProbe => Verdict::Closed,
            },
        }
    }
}
