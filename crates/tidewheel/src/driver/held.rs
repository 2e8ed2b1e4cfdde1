//! Work of a kind that nobody here understands: it is left in the store, as it is, for somebody who does.
//!
//! Nothing is decided about it, not even that its time is over: whoever understands it decides that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use tidewheel_core::id::{RunId, ScheduleId};
use tidewheel_core::input::Fires;
use tidewheel_core::row::{ScheduleRow, Snapshot};

use super::attempt::guard;

/// Says what is wrong with a payload, if anything is.
pub(crate) type Reader = dyn Fn(Option<&[u8]>) -> Result<(), Arc<str>> + Send + Sync;

/// Which kinds of work somebody here understands.
#[derive(Clone, Default)]
pub struct Kinds {
    /// Whatever it is.
    all: bool,
    known: BTreeSet<Option<Arc<str>>>,
    /// Of schedules whose firings are runs; `None`: all kinds.
    made: Option<BTreeSet<Option<Arc<str>>>>,
    /// Who can tell whether a payload of a kind is one.
    readers: BTreeMap<Option<Arc<str>>, Arc<Reader>>,
}

/// Why work is held.
enum Why {
    Kind,
    Payload(Arc<str>),
}

impl Kinds {
    /// All kinds.
    #[must_use]
    pub fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// These, `None` standing for work that says no kind.
    #[must_use]
    pub fn only(known: BTreeSet<Option<Arc<str>>>) -> Self {
        Self { known, ..Self::default() }
    }

    /// Of schedules whose firings are runs only those of these kinds: who understands a payload need
    /// not know how to make a run of it.
    #[must_use]
    pub fn making(mut self, made: BTreeSet<Option<Arc<str>>>) -> Self {
        self.made = Some(made);
        self
    }

    /// Holds work of these kinds whose payload its reader finds wrong.
    pub(super) fn reading(mut self, readers: BTreeMap<Option<Arc<str>>, Arc<Reader>>) -> Self {
        self.readers = readers;
        self
    }

    /// Why nobody here understands such work.
    fn refusal(&self, kind: &Option<Arc<str>>, payload: Option<&[u8]>) -> Option<Why> {
        if !self.all && !self.known.contains(kind) {
            return Some(Why::Kind);
        }
        let reader = self.readers.get(kind)?;
        match guard(|| reader(payload)) {
            Ok(read) => read.err().map(Why::Payload),
            Err(panic) => Some(Why::Payload(panic.into())),
        }
    }

    fn schedule_refusal(&self, row: &ScheduleRow) -> Option<Why> {
        match (&row.fires, &self.made) {
            (Fires::Run, Some(made)) => (!made.contains(&row.spec.kind)).then_some(Why::Kind),
            (Fires::Run, None) => None,
            (Fires::Task { .. }, _) => self.refusal(&row.spec.kind, row.spec.payload.as_deref()),
        }
    }

    /// Takes work of unknown kinds out of what is restored, except ours.
    pub(super) fn hold(&self, snapshot: &mut Snapshot, ours: &Ours) -> Vec<HeldWork> {
        if self.all && self.made.is_none() && self.readers.is_empty() {
            return Vec::new();
        }
        let mut held = Vec::new();
        let mut is_held = |id: RunId, kind: &Option<Arc<str>>, payload: Option<&[u8]>| {
            let ours = ours.runs.contains(&id);
            let Some(why) = self.refusal(kind, payload).filter(|_| !ours) else { return false };
            held.push(HeldWork::new(HeldId::Run(id), kind.clone(), why));
            true
        };
        let mut waiting = BTreeSet::new();
        snapshot.runs.retain(|run| {
            let attachment = &run.row.spec.attachment;
            let is_held = is_held(run.row.id, &attachment.kind, attachment.payload.as_deref());
            waiting.extend(run.row.firing.filter(|_| is_held).map(|(schedule, _)| schedule));
            !is_held
        });
        snapshot.submissions.retain(|(row, _)| {
            let attachment = row.attachment.as_ref();
            let kind = attachment.and_then(|attachment| attachment.kind.clone());
            let payload = attachment.and_then(|attachment| attachment.payload.as_deref());
            let is_ours = row.firing.is_some_and(|(id, _)| ours.schedules.contains(&id));
            let is_held = !is_ours && is_held(row.id, &kind, payload);
            waiting.extend(row.firing.filter(|_| is_held).map(|(schedule, _)| schedule));
            !is_held
        });
        let mut held_schedules = BTreeSet::new();
        snapshot.schedules.retain(|row| {
            // Without its firing that is held, a schedule would take itself for idle and fire again.
            let is_ours = ours.schedules.contains(&row.id);
            let waits = || waiting.contains(&row.id).then_some(Why::Kind);
            let refusal = self.schedule_refusal(row).filter(|_| !is_ours).or_else(waits);
            let Some(why) = refusal else { return true };
            held_schedules.insert(row.id);
            held.push(HeldWork::new(HeldId::Schedule(row.id), row.spec.kind.clone(), why));
            false
        });
        // The end of a run must reach its schedule, so what is of a held one is held with it.
        snapshot.runs.retain(|run| {
            let is_held = run.row.firing.is_some_and(|(id, _)| held_schedules.contains(&id));
            if is_held {
                let kind = run.row.spec.attachment.kind.clone();
                held.push(HeldWork::new(HeldId::Run(run.row.id), kind, Why::Kind));
            }
            !is_held
        });
        held
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { all, known, made, readers } = self;
        f.debug_struct("Kinds")
            .field("all", all)
            .field("known", known)
            .field("made", made)
            .field("read", &readers.keys())
            .finish()
    }
}

/// Work that has its code from elsewhere: it was started here, and memory was lost since.
#[derive(Debug, Default)]
pub(super) struct Ours {
    pub runs: BTreeSet<RunId>,
    pub schedules: BTreeSet<ScheduleId>,
}

/// Unfinished work in the store that a wheel leaves alone, because nobody gave it code for its kind.
///
/// It is not failed, cancelled or timed out: it stays as it is, and goes on when a wheel is started
/// that knows its kind ([`crate::Builder::adopt_kind`]).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldWork {
    /// What it is.
    pub work: HeldId,
    /// Its kind, if it says one.
    pub kind: Option<Arc<str>>,
    /// What is wrong with its payload, if there is code for its kind
    /// (`Builder::adopt_payload`).
    pub payload: Option<Arc<str>>,
}

impl HeldWork {
    fn new(work: HeldId, kind: Option<Arc<str>>, why: Why) -> Self {
        let payload = match why {
            Why::Kind => None,
            Why::Payload(why) => Some(why),
        };
        Self { work, kind, payload }
    }
}

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldId {
    /// A run or single submission.
    Run(RunId),
    /// A schedule.
    Schedule(ScheduleId),
}

impl fmt::Display for HeldWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.work {
            HeldId::Run(id) => write!(f, "run {id}")?,
            HeldId::Schedule(id) => write!(f, "schedule {id}")?,
        }
        let kind = self.kind.as_deref().unwrap_or("(none)");
        match (&self.kind, &self.payload) {
            (_, Some(why)) => write!(f, " of the kind `{kind}` cannot be read: {why}")?,
            (Some(kind), None) => {
                write!(f, " is of the kind `{kind}`, for which there is no code here")?
            }
            (None, None) => {
                f.write_str(" says no kind, and there is no code for such work here")?
            }
        }
        f.write_str(": it stays as it is, and goes on with a wheel that has it")
    }
}
