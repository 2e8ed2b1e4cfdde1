//! Schedules behind the lock: the code they have here, and what is left of those that have ended.
//!
//! When they fire is decided by the scheduler; all firings there ever were are in the store's ledger.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::{Arc, PoisonError};

use tidewheel_core::id::{ScheduleId, ScheduleKey};
use tidewheel_core::schedule::Counters;
use tidewheel_core::time::Timestamp;

use super::code::{Ask, ScheduleCode, ScheduleEntry};
use super::engine::ScheduleRef;
use super::making::Maker;
use super::state::State;

impl State {
    /// Gives a schedule its code, and what it had before, which is dropped without the lock.
    pub fn insert_schedule(
        &mut self,
        schedule: ScheduleKey,
        entry: ScheduleEntry,
    ) -> Option<Arc<ScheduleEntry>> {
        // What was told before and is not decided is told to whoever sets it again.
        if let (Some(Ask::Told(told)), Some(before)) = (&entry.ask, self.schedules.get(&schedule))
            && let Some(Ask::Told(known)) = &before.ask
        {
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            told.lock().unwrap_or_else(PoisonError::into_inner).extend(&*known);
        }
        self.schedules.insert(schedule, Arc::new(entry))
    }

    /// Takes in an instant for a schedule whose instants are told; false if it has none such, or this one is decided.
    pub(super) fn take_told(&self, schedule: ScheduleRef, instant: Timestamp) -> bool {
        let Some(key) = self.engine.find_schedule(schedule) else { return false };
        let decided = self.engine.scheduler().schedule_decided(key);
        let ask = self.schedules.get(&key).and_then(|entry| entry.ask.as_ref());
        let (Some(decided), Some(Ask::Told(told))) = (decided, ask) else { return false };
        // What is named already is next: none before it can be.
        let next = self.engine.scheduler().schedule_next(key);
        let is_passed = instant <= decided || next.is_some_and(|next| instant < next);
        if is_passed || self.end.is_some() {
            return false;
        }
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(instant);
        // Decided ones stay for a while: should memory be lost before that is stored, they are named again.
        while told.len() > TOLD_MAX && told.first().is_some_and(|first| *first <= decided) {
            told.pop_first();
        }
        true
    }

    /// The first instant that a schedule was told and that is not decided.
    pub(super) fn next_told(&self, schedule: ScheduleRef) -> Option<Timestamp> {
        let key = self.engine.find_schedule(schedule)?;
        let decided = self.engine.scheduler().schedule_decided(key)?;
        let Some(Ask::Told(told)) = &self.schedules.get(&key)?.ask else { return None };
        let told = told.lock().unwrap_or_else(PoisonError::into_inner);
        told.range((Bound::Excluded(decided), Bound::Unbounded)).next().copied()
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

/// Instants of a schedule that are remembered although they are decided.
const TOLD_MAX: usize = 4096;

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
