//! Schedules behind the lock: the code they have here, and what is left of those that have ended.
//!
//! When they fire is decided by the scheduler; all firings there ever were are in the store's ledger.

use std::collections::VecDeque;
use std::sync::Arc;

use tidewheel_core::id::{ScheduleId, ScheduleKey};
use tidewheel_core::schedule::Counters;

use super::code::{ScheduleCode, ScheduleEntry};
use super::making::Maker;
use super::state::State;

impl State {
    /// Gives a schedule its code, and what it had before, which is dropped without the lock.
    pub fn insert_schedule(
        &mut self,
        schedule: ScheduleKey,
        entry: ScheduleEntry,
    ) -> Option<Arc<ScheduleEntry>> {
        self.schedules.insert(schedule, Arc::new(entry))
    }

    /// Whether a schedule has a rule of its own that names its instants.
    pub fn has_rule(&self, schedule: ScheduleKey) -> bool {
        self.schedules.get(&schedule).is_some_and(|entry| entry.ask.is_some())
    }

    /// What makes the runs of a schedule, set here or restored from the store.
    pub(super) fn maker(&self, schedule: ScheduleKey) -> Option<Arc<Maker>> {
        match self.schedules.get(&schedule).map(|entry| &entry.code) {
            Some(ScheduleCode::Run(maker)) => Some(Arc::clone(maker)),
            Some(ScheduleCode::Task(_)) => None,
            None => {
                let spec = self.engine.scheduler().schedule_spec(schedule)?;
                self.adopt.makers.get(&spec.kind).cloned()
            }
        }
    }
}

/// Schedules whose figures are kept after their end.
const KEPT_MAX: usize = 1024;

/// The last figures of ended schedules, the newest last.
#[derive(Default)]
pub(crate) struct EndedSchedules(VecDeque<(ScheduleId, Counters)>);

impl EndedSchedules {
    pub fn keep(&mut self, id: ScheduleId, counters: Counters) {
        if self.0.len() == KEPT_MAX {
            self.0.pop_front();
        }
        self.0.push_back((id, counters));
    }

    pub fn find(&self, id: ScheduleId) -> Option<Counters> {
        self.0.iter().rev().find(|(known, _)| *known == id).map(|(_, counters)| *counters)
    }
}
