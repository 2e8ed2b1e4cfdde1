//! [`Places`]: which runs of a scheduler have, or wait for, a place in a concurrency group.
//!
//! Who gets one is decided in `tidewheel_core::pool`, when a store is asked. It knows no threads and
//! no clock; the simulator drives the same machine.

use std::collections::{BTreeMap, BTreeSet};

use tidewheel_core::decision::Action;
use tidewheel_core::id::RunId;
use tidewheel_core::input::Event;
use tidewheel_core::spec::RunGroup;

use crate::store::Placement;

/// The runs of a scheduler that belong to concurrency groups.
#[derive(Debug, Default)]
pub struct Places {
    members: BTreeMap<RunId, Member>,
    /// Runs that a store does not know yet to have left.
    leaving: BTreeSet<RunId>,
}

#[derive(Debug)]
struct Member {
    group: RunGroup,
    is_placed: bool,
    /// The scheduler has asked and was not told yet that it has its place.
    is_asking: bool,
    /// What was last told about who has the places.
    told: Option<Vec<RunId>>,
}

impl Places {
    /// Takes note of an action about groups. Others are not for us.
    pub fn note(&mut self, action: &Action) {
        match action {
            Action::JoinGroup { run, group } => {
                self.leaving.remove(run);
                let member = self.members.entry(*run).or_insert_with(|| Member {
                    group: group.clone(),
                    is_placed: false,
                    is_asking: true,
                    told: None,
                });
                // A restored scheduler asks again for what the one before it had.
                (member.is_asking, member.told) = (true, None);
            }
            Action::LeaveGroup(run) => self.leave(*run),
            Action::KeepPlaces(runs) => {
                let gone = self.members.keys().filter(|run| !runs.contains(run)).copied();
                for run in gone.collect::<Vec<RunId>>() {
                    self.leave(run);
                }
            }
            _ => {}
        }
    }

    fn leave(&mut self, run: RunId) {
        self.members.remove(&run);
        self.leaving.insert(run);
    }

    /// Whether a store is to be asked, from time to time.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.leaving.is_empty() || self.members.values().any(|member| member.is_asking)
    }

    /// Runs that wait for a place.
    #[must_use]
    pub fn due(&self) -> Vec<(RunId, RunGroup)> {
        let waiting = self.members.iter().filter(|(_, member)| !member.is_placed);
        waiting.map(|(run, member)| (*run, member.group.clone())).collect()
    }

    /// Runs whose places, or wishes for one, are to be given up.
    #[must_use]
    pub fn leaving(&self) -> Vec<RunId> {
        self.leaving.iter().copied().collect()
    }

    /// A store knows that a run has left.
    pub fn left(&mut self, run: RunId) {
        self.leaving.remove(&run);
    }

    /// What the scheduler is to be told about places that it had all along.
    pub fn answers(&mut self) -> Vec<Event> {
        let had = self.members.iter_mut().filter(|(_, member)| member.is_placed);
        let asked = had.filter_map(|(run, member)| {
            std::mem::take(&mut member.is_asking).then_some(Event::PlaceGiven(*run))
        });
        asked.collect()
    }

    /// A store has said how a run stands. Gives what the scheduler is to be told.
    pub fn placed(&mut self, run: RunId, placement: Placement) -> Option<Event> {
        let member = self.members.get_mut(&run)?;
        match placement {
            Placement::Given => {
                (member.is_placed, member.is_asking) = (true, false);
                Some(Event::PlaceGiven(run))
            }
            Placement::Taken { holders } => {
                let is_new = member.told.as_ref() != Some(&holders);
                member.told = Some(holders.clone());
                is_new.then_some(Event::PlaceTaken { run, holders })
            }
            Placement::Refused { replaced } => {
                // The run ends of it, and then leaves.
                Some(Event::PlaceRefused { run, replaced })
            }
        }
    }
}
