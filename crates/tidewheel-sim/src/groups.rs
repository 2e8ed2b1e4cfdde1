//! Concurrency groups of the folder that several simulated processes have in common.
//!
//! It keeps what a store keeps; the rule is the core's.

use std::collections::BTreeSet;

use tidewheel::store::Placement;
use tidewheel_core::id::RunId;
use tidewheel_core::pool::{self, Claim, PlaceVerdict, Stage};
use tidewheel_core::spec::{Busy, RunGroup};

use crate::random::Random;

/// The groups, and how many runs of each go on at once.
pub const GROUPS: [(&str, u32); 2] = [("deploy", 1), ("pair", 2)];

/// Runs that have, or wait for, a place.
#[derive(Debug, Default)]
pub struct Groups {
    members: Vec<Member>,
    places: u64,
    /// Runs that have ended: they hold nothing, whatever was written down.
    ended: BTreeSet<RunId>,
    /// Runs that are to make room.
    pub replaced: Vec<RunId>,
}

#[derive(Debug)]
struct Member {
    group: String,
    process: u128,
    claim: Claim,
    stage: Stage,
    lives: bool,
}

impl Groups {
    /// One of the groups, with any of the words.
    pub fn pick(random: &mut Random) -> RunGroup {
        let (name, max) = *random.pick(&GROUPS);
        RunGroup { name: name.into(), max, busy: *random.pick(&Busy::ALL) }
    }

    /// A process was killed and all it had started has ended, or it was started again.
    pub fn set_alive(&mut self, process: u128, lives: bool) {
        for member in self.members.iter_mut().filter(|member| member.process == process) {
            member.lives = lives;
        }
    }

    /// That a run has ended is stored.
    pub fn end(&mut self, run: RunId) {
        self.ended.insert(run);
        self.leave(run);
    }

    /// Asks for a place for a run of a process that knows of none.
    pub fn place(&mut self, process: u128, run: RunId, group: &RunGroup) -> Placement {
        if self.ended.contains(&run) {
            return Placement::Taken { holders: Vec::new() };
        }
        let known = self.members.iter().position(|member| member.claim.owner == run.0);
        let mut own = match known {
            Some(place) => self.members.remove(place),
            None => {
                self.places += 1;
                let claim = Claim { place: self.places, owner: run.0, units: 1, is_held: false };
                let group = group.name.to_string();
                Member { group, process, claim, stage: Stage::New, lives: true }
            }
        };
        own.claim.is_held = false;
        let others = self.members.iter().filter(|other| other.lives && other.group == own.group);
        let claims: Vec<Claim> = others.map(|other| other.claim).collect();
        let holders = claims.iter().filter(|claim| claim.is_held).map(|claim| RunId(claim.owner));
        let holders: Vec<RunId> = holders.collect();
        match pool::stand(&claims, own.claim, group.max, group.busy, own.stage) {
            PlaceVerdict::Replaced => return Placement::Refused { replaced: true },
            PlaceVerdict::Refused => return Placement::Refused { replaced: false },
            PlaceVerdict::Placed => own.claim.is_held = true,
            PlaceVerdict::Waits => {}
            PlaceVerdict::Replaces(owners) => {
                self.replaced.extend(owners.into_iter().map(RunId));
            }
        }
        let is_placed = own.claim.is_held;
        own.stage = match own.stage {
            _ if is_placed => Stage::Begun,
            Stage::New => Stage::InLine,
            known => known,
        };
        self.members.push(own);
        if is_placed { Placement::Given } else { Placement::Taken { holders } }
    }

    pub fn leave(&mut self, run: RunId) {
        self.members.retain(|member| member.claim.owner != run.0);
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
