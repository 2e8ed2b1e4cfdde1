//! [`Unstored`]: what was said to a wheel that no row has, and that holds all the same should memory be restored.
//!
//! When that is, is decided in `books`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::id::{RunId, RunKey};
use tidewheel_core::input::{Command, ShutdownMode};
use tidewheel_core::row::Snapshot;

/// What holds for as long as this process does, and is in no row.
#[derive(Debug, Default)]
pub(super) struct Unstored {
    pub is_paused: bool,
    pub run_slots: BTreeMap<RunKey, (RunId, Option<u32>)>,
    pub shutdown: Option<(ShutdownMode, Option<Duration>)>,
}

impl Unstored {
    /// Before anything is decided about what is stored: otherwise more would start than may. Whether
    /// nothing starts only until it is known again what was wished, or that it is to end.
    pub fn apply(&self, snapshot: &mut Snapshot, has_wishes: bool) -> bool {
        let is_ending =
            matches!(self.shutdown, Some((ShutdownMode::Reject | ShutdownMode::Persist, _)));
        let is_held_back = (is_ending || has_wishes) && !self.is_paused && !snapshot.paused;
        snapshot.paused |= self.is_paused || is_held_back;
        for (id, slots) in self.run_slots.values() {
            if let Some(run) = snapshot.runs.iter_mut().find(|run| run.row.id == *id) {
                Arc::make_mut(&mut run.row.spec).options.slots = *slots;
            }
        }
        is_held_back
    }

    pub fn rebind(&mut self, works: &BTreeMap<RunId, RunKey>) {
        let before = std::mem::take(&mut self.run_slots).into_values();
        let found = before.filter_map(|(id, slots)| Some((*works.get(&id)?, (id, slots))));
        self.run_slots = found.collect();
    }
}

/// A command that is in no row, and still holds after a recovery.
pub(super) enum Setting {
    Resumed,
    Slots(Option<u32>),
    RunSlots(RunKey, Option<u32>),
}

impl Setting {
    pub fn of(command: &Command) -> Option<Self> {
        Some(match command {
            Command::Resume => Self::Resumed,
            Command::SetSlots(slots) => Self::Slots(*slots),
            Command::SetRunSlots { run, slots } => Self::RunSlots(*run, *slots),
            _ => return None,
        })
    }
}
