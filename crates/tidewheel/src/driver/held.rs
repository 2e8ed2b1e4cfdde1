//! Work of a kind that nobody here understands: it is left in the store, as it is, for somebody who does.
//!
//! Nothing is decided about it, not even that its time is over: whoever understands it decides that.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use tidewheel_core::id::{RunId, ScheduleId};
use tidewheel_core::input::Fires;
use tidewheel_core::row::{ScheduleRow, Snapshot};

/// Which kinds of work somebody here understands.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    /// Whatever it is.
    all: bool,
    known: BTreeSet<Option<Arc<str>>>,
    /// Of schedules whose firings are runs; `None`: all kinds.
    made: Option<BTreeSet<Option<Arc<str>>>>,
}

impl Kinds {
    /// All kinds.
    #[must_use]
    pub fn all() -> Self {
        Self { all: true, known: BTreeSet::new(), made: None }
    }

    /// These, `None` standing for work that says no kind.
    #[must_use]
    pub fn only(known: BTreeSet<Option<Arc<str>>>) -> Self {
        Self { all: false, known, made: None }
    }

    /// Of schedules whose firings are runs only those of these kinds: who understands a payload need
    /// not know how to make a run of it.
    #[must_use]
    pub fn making(mut self, made: BTreeSet<Option<Arc<str>>>) -> Self {
        self.made = Some(made);
        self
    }

    fn knows(&self, kind: &Option<Arc<str>>) -> bool {
        self.all || self.known.contains(kind)
    }

    fn knows_schedule(&self, row: &ScheduleRow) -> bool {
        match (&row.fires, &self.made) {
            (Fires::Run, Some(made)) => made.contains(&row.spec.kind),
            (Fires::Run, None) => true,
            (Fires::Task { .. }, _) => self.knows(&row.spec.kind),
        }
    }

    /// Takes work of unknown kinds out of what is restored, except ours.
    pub(super) fn hold(&self, snapshot: &mut Snapshot, ours: &Ours) -> Vec<HeldWork> {
        if self.all && self.made.is_none() {
            return Vec::new();
        }
        let mut held = Vec::new();
        let mut is_held = |id: RunId, kind: &Option<Arc<str>>| {
            let is_held = !self.knows(kind) && !ours.runs.contains(&id);
            if is_held {
                held.push(HeldWork { work: HeldId::Run(id), kind: kind.clone() });
            }
            is_held
        };
        let mut waiting = BTreeSet::new();
        snapshot.runs.retain(|run| {
            let is_held = is_held(run.row.id, &run.row.spec.attachment.kind);
            waiting.extend(run.row.firing.filter(|_| is_held).map(|(schedule, _)| schedule));
            !is_held
        });
        snapshot.submissions.retain(|(row, _)| {
            let kind = row.attachment.as_ref().and_then(|attachment| attachment.kind.clone());
            let is_ours = row.firing.is_some_and(|(id, _)| ours.schedules.contains(&id));
            let is_held = !is_ours && is_held(row.id, &kind);
            waiting.extend(row.firing.filter(|_| is_held).map(|(schedule, _)| schedule));
            !is_held
        });
        let mut held_schedules = BTreeSet::new();
        snapshot.schedules.retain(|row| {
            // Without its firing that is held, a schedule would take itself for idle and fire again.
            let is_known = self.knows_schedule(row) || ours.schedules.contains(&row.id);
            let is_held = !is_known || waiting.contains(&row.id);
            if is_held {
                held_schedules.insert(row.id);
                let (work, kind) = (HeldId::Schedule(row.id), row.spec.kind.clone());
                held.push(HeldWork { work, kind });
            }
            !is_held
        });
        // The end of a run must reach its schedule, so what is of a held one is held with it.
        snapshot.runs.retain(|run| {
            let is_held = run.row.firing.is_some_and(|(id, _)| held_schedules.contains(&id));
            if is_held {
                let kind = run.row.spec.attachment.kind.clone();
                held.push(HeldWork { work: HeldId::Run(run.row.id), kind });
            }
            !is_held
        });
        held
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
        match &self.kind {
            Some(kind) => write!(f, " is of the kind `{kind}`, for which there is no code here")?,
            None => f.write_str(" says no kind, and there is no code for such work here")?,
        }
        f.write_str(": it stays as it is, and goes on with a wheel that has it")
    }
}
