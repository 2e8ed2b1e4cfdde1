//! What becomes of those who wait, and of attempts that run here, when memory was lost and restored.
//!
//! When that is, and what must be told again, is decided in `books`; who carries it out is in
//! `writing`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::{Fact, Tenure};
use tidewheel_core::id::{AttemptId, RunId, ScheduleId};
use tidewheel_core::row::Snapshot;
use tidewheel_core::task::Reason;
use tidewheel_core::time::{Moment, Now};

use super::books::Restored;
use super::code::Entry;
use super::effect::{Effect, End};
use super::engine::EngineError;
use super::held::Ours;
use super::seat::Stopped;
use super::shared::Shared;
use super::state::State;
use crate::error::describe;
use crate::store::StoreError;

/// An attempt of somebody else's task has no time to lose.
const STRAY: Stopped = Stopped { grace: Duration::ZERO, reason: Reason::Lost };

impl State {
    /// The engine is lost: until it is restored nothing is decided, and observers are told why.
    pub(super) fn note_step_down(&mut self, now: Now) {
        let why = self.trouble(now).unwrap_or_default();
        self.notify(now, Fact::SteppedDown(why));
    }

    /// Somebody else decides: attempts that run here are ended, for they will be run there.
    pub(super) fn forsake(&mut self, effects: &mut Vec<Effect>) {
        let strays = self.books.as_mut().map(super::books::Books::forsake).unwrap_or_default();
        self.stop_strays(strays, effects);
    }

    /// Goes on with what is stored: whoever waits for something that is still there goes on waiting,
    /// all others are told.
    pub(super) fn restore(
        &mut self,
        shared: &Arc<Shared>,
        tenure: Tenure,
        snapshot: Snapshot,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        if let Err(error) = self.try_restore(shared, tenure, snapshot, now, effects) {
            self.end = Some(End::Lost(Arc::from(describe(&error))));
            self.end_everything(effects);
        }
    }

    fn try_restore(
        &mut self,
        shared: &Arc<Shared>,
        tenure: Tenure,
        mut snapshot: Snapshot,
        now: Now,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EngineError> {
        self.engine.hold(&mut snapshot, &self.ours());
        let unfinished = snapshot.works().collect();
        let Some(books) = &mut self.books else { return Ok(()) };
        let Restored { strays, unaccepted, .. } =
            books.restore(&mut self.engine, tenure, snapshot, now)?;
        let plain = self.engine.scheduler_mut().keep_profile(&Self::plain_profile());
        self.plain = plain.expect("a profile that names nothing can be had anywhere");
        self.rebind(&unfinished, &unaccepted, effects);
        self.adopt_runs(shared);
        self.stop_strays(strays, effects);
        self.notify(now, Fact::Restored);
        self.armed = Moment::MAX;
        self.rearm(effects);
        Ok(())
    }

    /// What was started here. Somebody else may have accepted work that nobody here understands: that
    /// is left to them.
    fn ours(&self) -> Ours {
        Ours {
            runs: self.entries.iter().chain(self.ending.values()).filter_map(Entry::id).collect(),
            schedules: self.schedules.values().map(|entry| entry.id).collect(),
        }
    }

    /// Finds whoever waits under the keys of the new memory.
    fn rebind(
        &mut self,
        unfinished: &BTreeSet<RunId>,
        unaccepted: &BTreeSet<RunId>,
        effects: &mut Vec<Effect>,
    ) {
        let ending = std::mem::take(&mut self.ending).into_values();
        let mut waiting: BTreeMap<RunId, Entry> =
            self.entries.drain().chain(ending).filter_map(|it| Some((it.id()?, it))).collect();
        for (key, id) in self.engine.scheduler().works() {
            let Some(entry) = waiting.remove(&id) else { continue };
            if let Entry::Run(launch) = &entry {
                effects.push(Effect::DropAdded(launch.cell().learn_anew(&self.engine)));
            }
            self.entries.insert(key, entry);
        }
        for (id, entry) in waiting {
            if unfinished.contains(&id) {
                // It ended for the scheduler that was just restored, which is not stored yet.
                self.ending.insert(id, entry);
                continue;
            }
            let end = if unaccepted.contains(&id) {
                End::Refused(Arc::from("its acceptance was not stored"))
            } else {
                End::Lost(Arc::from("it has ended, but how was lost with the answer of the store"))
            };
            effects.push(entry.end(end));
        }
        let mut schedules: BTreeMap<ScheduleId, _> =
            self.schedules.drain().map(|(_, entry)| (entry.id, entry)).collect();
        for (key, id) in self.engine.scheduler().schedules() {
            if let Some(entry) = schedules.remove(&id) {
                self.schedules.insert(key, entry);
            }
        }
        effects.extend(schedules.into_values().map(Effect::DropCode));
    }

    fn stop_strays(&mut self, strays: Vec<AttemptId>, effects: &mut Vec<Effect>) {
        for attempt in strays {
            match self.attempts.get(&attempt) {
                Some(seat) => effects.push(Effect::Stop(Arc::clone(seat), STRAY)),
                None => self.stop_early(attempt, STRAY),
            }
        }
    }

    /// Somebody else decides, and this wheel was about to end: what is left is theirs.
    pub(super) fn leave(&mut self, effects: &mut Vec<Effect>) {
        self.end = Some(End::ShutDown);
        self.end_everything(effects);
        effects.push(Effect::ShutDownCompleted);
    }

    /// The store cannot be used any more.
    pub(super) fn fail(&mut self, error: &StoreError, effects: &mut Vec<Effect>) {
        self.end = Some(End::Lost(Arc::from(describe(error))));
        self.end_everything(effects);
    }
}
