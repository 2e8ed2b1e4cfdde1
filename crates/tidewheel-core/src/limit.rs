//! A named cap: units in use, a rate, or a circuit breaker, and the classes that wait for it.
//!
//! Which task gets what is free is decided by the order; here it is only counted.

use std::sync::Arc;

use crate::input::Rejection;
use crate::policy::{Admission, Breaker, Bucket};
use crate::spec::LimitSpec;
use crate::time::Moment;
use crate::timer::TimerKey;

/// A limit and what is taken of it.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub name: Arc<str>,
    pub kind: LimitKind,
    /// Whether it is only there for runs that bring it along: nobody has defined it for all.
    pub is_brought: bool,
    /// Classes that found it closed, in the order in which they did.
    pub waiting: Vec<u32>,
    /// The class that has the next units, because it waited too long for more than were free.
    pub reserved_for: Option<u32>,
    /// Fires when a rate or an open breaker may let somebody through.
    pub timer: Option<TimerKey>,
    /// What this scheduler has of units that it shares with others.
    pub share: Option<Share>,
}

/// This scheduler's part of a shared limit. What it does not have, others may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share {
    /// Units it was given and has not given back.
    pub held: u32,
    /// Units it has asked for, on top of those.
    pub asked: u32,
    /// Units that go back at the end of the step.
    pub returning: u32,
    /// It was restored then, and what comes may still be meant for the scheduler before it.
    pub restored: Option<Moment>,
    /// Who had the others when it was last told.
    pub holders: Vec<Arc<str>>,
}

impl Share {
    /// Units of an attempt that ended are not used again here: whoever waits in another process may
    /// have waited longer. Of lost attempts they may be gone already.
    pub fn give_back(&mut self, units: u32, used: u64) {
        let spare = units.min(self.spare(used));
        self.held -= spare;
        self.returning = self.returning.saturating_add(spare);
    }

    /// Units that nothing uses.
    pub fn spare(&self, used: u64) -> u32 {
        let used = u32::try_from(used).unwrap_or(u32::MAX);
        self.held.saturating_sub(used)
    }
}

#[derive(Debug, Clone)]
pub(crate) enum LimitKind {
    /// More may be in use than there are: a limit that was lowered takes nothing away.
    Units {
        used: u64,
        max: u32,
    },
    Rate {
        rate: crate::policy::Rate,
        bucket: Bucket,
    },
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
            LimitSpec::Units(max) | LimitSpec::SharedUnits(max) => {
                LimitKind::Units { used: 0, max: *max }
            }
            LimitSpec::Rate(rate) => LimitKind::Rate { rate: *rate, bucket: Bucket::default() },
            LimitSpec::Breaker(spec) => LimitKind::Breaker(Breaker::new(*spec)),
        };
        let share = matches!(spec, LimitSpec::SharedUnits(_)).then(Share::default);
        let waiting = Vec::new();
        Self { name, kind, is_brought: true, waiting, reserved_for: None, timer: None, share }
    }

    /// The settings it was made with.
    pub fn spec(&self) -> LimitSpec {
        match &self.kind {
            LimitKind::Units { max, .. } if self.share.is_some() => LimitSpec::SharedUnits(*max),
            LimitKind::Units { max, .. } => LimitSpec::Units(*max),
            LimitKind::Rate { rate, .. } => LimitSpec::Rate(*rate),
            LimitKind::Breaker(breaker) => LimitSpec::Breaker(breaker.spec()),
        }
    }

    /// Whether these settings are of its kind.
    pub fn is_kind_of(&self, spec: &LimitSpec) -> bool {
        std::mem::discriminant(&self.spec()) == std::mem::discriminant(spec)
    }

    /// Whether units are here, or on their way, that are shared with others.
    pub fn has_units_of_others(&self) -> bool {
        self.share.as_ref().is_some_and(|it| (it.held, it.asked, it.returning) != (0, 0, 0))
    }

    /// Changes the settings and keeps what is taken, where the kind is the same; of one that becomes
    /// another, nothing may be taken.
    pub fn change(&mut self, spec: &LimitSpec) {
        if !self.is_kind_of(spec) {
            let (is_brought, timer) = (self.is_brought, self.timer);
            let waiting = std::mem::take(&mut self.waiting);
            let other = Self::new(self.name.clone(), spec);
            *self = Self { is_brought, waiting, timer, ..other };
            return;
        }
        match (&mut self.kind, spec) {
            (LimitKind::Units { max, .. }, LimitSpec::Units(new) | LimitSpec::SharedUnits(new)) => {
                *max = *new
            }
            (LimitKind::Rate { rate, .. }, LimitSpec::Rate(new)) => *rate = *new,
            (kind, spec) => *kind = Self::new(self.name.clone(), spec).kind,
        }
    }

    /// Refuses who asks for more units than there are.
    pub fn check_fits(&self, wanted: u64) -> Result<(), Rejection> {
        match self.kind {
            LimitKind::Units { max, .. } if wanted > u64::from(max) => {
                Err(Rejection::NeverFits { limit: self.name.clone(), wanted, max })
            }
            _ => Ok(()),
        }
    }

    pub fn verdict(&self, class: u32, units: u32, now: Moment) -> Verdict {
        match &self.kind {
            LimitKind::Units { used, max } => {
                let reserved = self.reserved_for.is_some_and(|holder| holder != class);
                let most = self.share.as_ref().map_or(*max, |share| share.held);
                if reserved || used + u64::from(units) > u64::from(most) {
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
