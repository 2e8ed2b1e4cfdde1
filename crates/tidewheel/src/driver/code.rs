//! Whose code is whose: what users gave for runs, single submissions and schedules, and for restored work.
//!
//! When it is called, and who is told afterwards, is in `state` and `effect`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use tidewheel_core::id::{RunId, ScheduleId};
use tidewheel_core::input::Outcome;
use tidewheel_core::time::Timestamp;

use super::attempt::BoxFuture;
use super::effect::{Effect, End, Launch, SingleCode, Waiter};
use super::held::{Kinds, Reader};
use super::making::Maker;
use super::span::WorkSpan;
use crate::attempt::Attempt;

/// Code that can be run again and again.
pub(crate) type Repeat = dyn Fn(Attempt) -> BoxFuture<Outcome> + Send + Sync;

/// Code for restored work.
#[derive(Default)]
pub(crate) struct Adopt {
    /// By kind, `None` standing for work that says none.
    pub kinds: HashMap<Option<Arc<str>>, Arc<Repeat>>,
    /// For work of any other kind.
    pub rest: Option<Arc<Repeat>>,
    /// What makes the runs of schedules, by their kind.
    pub makers: HashMap<Option<Arc<str>>, Arc<Maker>>,
    /// Who can tell whether a payload of a kind is one.
    pub readers: BTreeMap<Option<Arc<str>>, Arc<Reader>>,
}

impl Adopt {
    /// Which kinds of work there is code for.
    pub fn known(&self) -> Kinds {
        let known = match self.rest {
            Some(_) => Kinds::all(),
            None => Kinds::only(self.kinds.keys().cloned().collect()),
        };
        known.making(self.makers.keys().cloned().collect()).reading(self.readers.clone())
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_none() && self.kinds.is_empty() && self.makers.is_empty()
    }

    pub fn code(&self, kind: Option<&Arc<str>>) -> Option<&Arc<Repeat>> {
        self.kinds.get(&kind.cloned()).or(self.rest.as_ref())
    }
}

/// Who names the instants of a custom trigger.
#[derive(Clone)]
pub(crate) enum Ask {
    /// A rule, which is asked for the instant after this one.
    Rule(Arc<dyn Fn(Option<Timestamp>) -> Option<Timestamp> + Send + Sync>),
    /// Nobody: they are told as they come.
    Told(Arc<Told>),
}

/// Instants that were told to a schedule and may not be decided yet.
pub(crate) type Told = Mutex<BTreeSet<Timestamp>>;

/// Whoever belongs to a run or single submission.
pub(super) enum Entry {
    Single(SingleEntry),
    Run(Arc<dyn Launch>),
}

impl Entry {
    /// Whose it is. Of single submissions it is known only where they are stored.
    pub fn id(&self) -> Option<RunId> {
        match self {
            Self::Single(entry) => entry.stored_as.as_deref().copied(),
            Self::Run(launch) => Some(launch.cell().work.id),
        }
    }

    /// Tells that there is no report, and why.
    pub fn end(self, end: End) -> Effect {
        match self {
            Self::Single(entry) => Effect::EndSingle(entry, end),
            Self::Run(launch) => Effect::EndRun(launch, None, end),
        }
    }
}

pub(crate) struct SingleEntry {
    /// Its identity, if it outlives this memory. Apart, because of what is in memory only there may be
    /// millions.
    pub stored_as: Option<Box<RunId>>,
    pub code: Code,
    pub span: WorkSpan,
    pub waiter: Arc<dyn Waiter>,
}

pub(crate) enum Code {
    /// A future that can be run once; gone when it was.
    Once(Option<BoxFuture<Outcome>>),
    Repeat(Arc<Repeat>),
}

pub(crate) struct ScheduleEntry {
    pub id: ScheduleId,
    pub code: ScheduleCode,
    pub ask: Option<Ask>,
}

/// What a firing of a schedule calls.
pub(crate) enum ScheduleCode {
    Task(Arc<Repeat>),
    Run(Arc<Maker>),
}

impl Code {
    pub(super) fn attempt(&mut self) -> SingleCode {
        match self {
            Self::Once(future) => future.take().map_or(SingleCode::Missing, SingleCode::Future),
            Self::Repeat(code) => SingleCode::Call(Arc::clone(code)),
        }
    }
}
