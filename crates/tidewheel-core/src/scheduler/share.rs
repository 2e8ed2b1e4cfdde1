//! Shared limits: units that must be had before they can be used, asked for and given back.
//!
//! Who gets them is decided in [`crate::pool`], where all who share a limit meet; which task uses
//! them here is decided in `fill`, as for any other limit.

use std::sync::Arc;

use super::state::Scheduler;
use crate::decision::{Action, Decision};
use crate::limit::{LimitKind, Share};
use crate::time::Moment;

impl Scheduler {
    /// Knows whether a limit is shared.
    pub(super) fn list_shared(&mut self, index: u32) {
        let is_shared = self.limits[index as usize].share.is_some();
        if is_shared == self.shared.contains(&index) {
            return;
        }
        self.shared.retain(|it| *it != index);
        self.shared.extend(is_shared.then_some(index));
        self.sort_all_needs();
    }

    /// Has everybody take limits in their order, where it is another by now.
    fn sort_all_needs(&mut self) {
        for ((queue, mut needs), class) in std::mem::take(&mut self.class_of) {
            self.sort_needs(&mut needs);
            self.classes[class as usize].needs.clone_from(&needs);
            self.class_of.insert((queue, needs), class);
        }
    }

    /// Units of a limit that is shared, as it is defined here.
    #[must_use]
    pub fn shared_units(&self, name: &Arc<str>) -> Option<u32> {
        match self.limits[self.shared_limit(name)? as usize].kind {
            LimitKind::Units { max, .. } => Some(max),
            _ => None,
        }
    }

    /// Shared limits come last, in an order that all who share them have in common: whoever has
    /// units of one and waits for the next cannot be waited for by somebody who has that one.
    pub(super) fn sort_needs(&self, needs: &mut [(u32, u32)]) {
        needs.sort_by_key(|(index, _)| {
            let limit = &self.limits[*index as usize];
            (limit.share.is_some().then_some(&limit.name), *index)
        });
    }

    /// Units that were asked for are there. If nobody needs them any more, they go back at the end
    /// of the step.
    pub(super) fn units_granted(&mut self, name: &Arc<str>, units: u32, decision: &mut Decision) {
        let Some(index) = self.shared_limit(name) else {
            decision.act(Action::ReturnUnits { limit: name.clone(), units });
            return;
        };
        let share = self.share_mut(index);
        // Asked for before the restore: whoever keeps our part has been told to forget it.
        if share.restored.is_some() {
            return;
        }
        share.held = share.held.saturating_add(units);
        share.asked = 0;
        share.holders.clear();
        self.wake_limit(index);
    }

    /// What is granted from now on is meant for us.
    pub(super) fn units_kept(&mut self, name: &Arc<str>, since: Moment) {
        if let Some(index) = self.shared_limit(name) {
            let restored = &mut self.share_mut(index).restored;
            *restored = restored.filter(|restored| *restored != since);
        }
    }

    /// They are not there yet; whoever asks why is told who has them.
    pub(super) fn units_taken(&mut self, name: &Arc<str>, holders: Vec<Arc<str>>) {
        if let Some(index) = self.shared_limit(name) {
            self.share_mut(index).holders = holders;
        }
    }

    /// Gives back what nothing here can use, and asks for what is needed next.
    ///
    /// One request at a time and limit, for one task: whoever comes after us in another process gets
    /// its turn before our second task does.
    pub(super) fn settle_shares(&mut self, now: Moment, decision: &mut Decision) {
        for place in 0..self.shared.len() {
            let index = self.shared[place];
            let wanted = self.wanted_units(index);
            // Nobody sits on some while waiting for more: two who did would wait for each other.
            let kept = if wanted == 0 { self.units_awaited(index, now) } else { 0 };
            self.return_spare_units(index, kept, decision);
            let limit = &mut self.limits[index as usize];
            let Some(share) = limit.share.as_mut().filter(|share| share.asked != wanted) else {
                continue;
            };
            share.asked = wanted;
            decision.act(Action::AskUnits { limit: limit.name.clone(), units: wanted });
        }
    }

    /// After a restore: what the attempts that are alive use is all we have.
    pub(super) fn keep_restored_units(&mut self, now: Moment, decision: &mut Decision) {
        for &index in &self.shared {
            let limit = &mut self.limits[index as usize];
            let Some(share) = &mut limit.share else { continue };
            share.returning = 0;
            share.restored = Some(now);
            let (limit, units) = (limit.name.clone(), share.held);
            decision.act(Action::KeepUnits { limit, units, since: now });
        }
    }

    fn return_spare_units(&mut self, index: u32, kept: u32, decision: &mut Decision) {
        let limit = &mut self.limits[index as usize];
        let (LimitKind::Units { used, .. }, Some(share)) = (&limit.kind, &mut limit.share) else {
            return;
        };
        let spare = share.spare(used.saturating_add(u64::from(kept)));
        share.give_back(spare, *used);
        let units = std::mem::take(&mut share.returning);
        if units > 0 {
            decision.act(Action::ReturnUnits { limit: limit.name.clone(), units });
        }
    }

    /// Units that nothing uses yet but that a task with ready work will: as soon as it gets a slot,
    /// or the units of its other limits. Given back, they could be missing each time that comes.
    fn units_awaited(&self, index: u32, now: Moment) -> u32 {
        if !self.may_start() {
            return 0;
        }
        let needs = self.classes.iter().zip(0..).filter_map(|(class, number)| {
            let (place, units) = class.need(index)?;
            let queue = &self.queues[class.queue as usize];
            let rate = queue.spec.rate.map_or(now, |rate| queue.bucket.earliest(rate, now));
            let may_start = !class.lanes.is_empty() && !queue.paused && rate <= now;
            let is_on_its_way = class.blocked_by.is_none_or(|blocker| {
                let limit = &self.limits[blocker as usize];
                // Who has units of one shared limit waits only for those that come after it, and for
                // what runs: for nothing that may itself wait for this one.
                let is_next = match limit.share {
                    Some(_) => class.need(blocker).is_some_and(|(other, _)| other > place),
                    None => limit.reserved_for.is_none_or(|holder| holder == number),
                };
                is_next && matches!(limit.kind, LimitKind::Units { .. })
            });
            (may_start && is_on_its_way).then_some(units)
        });
        needs.max().unwrap_or(0)
    }

    /// Units that the next task needs which waits for them: those of the class that has waited too
    /// long for many, else the fewest.
    fn wanted_units(&self, index: u32) -> u32 {
        let limit = &self.limits[index as usize];
        let may_have = |class: &&u32| limit.reserved_for.is_none_or(|holder| holder == **class);
        let waiting = limit.waiting.iter().filter(may_have).filter_map(|class| {
            let class = &self.classes[*class as usize];
            let waits = class.blocked_by == Some(index) && !class.lanes.is_empty();
            class.need(index).filter(|_| waits)
        });
        waiting.map(|(_, units)| units).min().unwrap_or(0)
    }

    fn shared_limit(&self, name: &Arc<str>) -> Option<u32> {
        let is_it = |index: &&u32| self.limits[**index as usize].name == *name;
        self.shared.iter().find(is_it).copied()
    }

    fn share_mut(&mut self, index: u32) -> &mut Share {
        self.limits[index as usize].share.as_mut().expect("the limit was found among the shared")
    }
}
