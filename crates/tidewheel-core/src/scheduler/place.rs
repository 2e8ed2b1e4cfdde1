//! Concurrency groups: runs that do not start before they have a place.
//!
//! Who gets one is decided in [`crate::pool`], where all who share a group meet; until then a run is
//! accepted and stored, and stands still as if it were paused.

use slotmap::DefaultKey;

use super::state::Scheduler;
use crate::decision::{Action, Decision, Fact};
use crate::id::RunId;
use crate::input::CancelMode;
use crate::task::Reason;
use crate::time::Now;

impl Scheduler {
    /// A run that belongs to a group asks for its place.
    pub(super) fn join_group(&self, key: DefaultKey, decision: &mut Decision) {
        let Some(run) = self.run(key) else { return };
        if let Some(group) = &run.spec.options.group {
            decision.act(Action::JoinGroup { run: run.id, group: group.clone() });
        }
    }

    /// A run that ended needs its place no more.
    pub(super) fn leave_group(&self, key: DefaultKey, decision: &mut Decision) {
        if let Some(run) = self.run(key).filter(|run| run.spec.options.group.is_some()) {
            decision.act(Action::LeaveGroup(run.id));
        }
    }

    /// After a restore: every run asks for its place again. One that had it may find that it still
    /// has it, if the process is the same.
    pub(super) fn keep_restored_places(&self, decision: &mut Decision) {
        let has_group =
            |key: &&DefaultKey| self.run(**key).is_some_and(|run| run.spec.options.group.is_some());
        let members: Vec<DefaultKey> = self.run_keys.values().filter(has_group).copied().collect();
        let ids = members.iter().filter_map(|key| self.run(*key)).map(|run| run.id).collect();
        decision.act(Action::KeepPlaces(ids));
        for key in members {
            self.join_group(key, decision);
        }
    }

    pub(super) fn place_given(&mut self, now: Now, id: RunId, decision: &mut Decision) {
        let Some(key) = self.waiting_member(id) else { return };
        let Some(run) = self.run_mut(key) else { return };
        run.awaits_place = false;
        let has_waited = !std::mem::take(&mut run.place_holders).is_empty();
        self.list_sets(key);
        if has_waited {
            self.notify(now, decision, || Fact::RunGoesOn(id));
        }
    }

    pub(super) fn place_taken(
        &mut self,
        now: Now,
        id: RunId,
        holders: Vec<RunId>,
        decision: &mut Decision,
    ) {
        let Some(key) = self.waiting_member(id) else { return };
        let Some(run) = self.run_mut(key) else { return };
        let Some(group) = run.spec.options.group.as_ref().map(|group| group.name.clone()) else {
            return;
        };
        run.place_holders.clone_from(&holders);
        self.notify(now, decision, || Fact::RunWaits { run: id, group, holders });
    }

    /// The run ends without having started.
    pub(super) fn place_refused(
        &mut self,
        now: Now,
        id: RunId,
        replaced: bool,
        decision: &mut Decision,
    ) {
        let Some(key) = self.waiting_member(id) else { return };
        let reason = if replaced { Reason::Replaced } else { Reason::GroupTaken };
        let mode = CancelMode::Stop { grace: std::time::Duration::ZERO };
        self.cancel_work(key, reason, mode, now, decision);
    }

    /// A live run that waits for its place.
    fn waiting_member(&self, id: RunId) -> Option<DefaultKey> {
        let key = *self.run_keys.get(&id)?;
        self.run(key).filter(|run| run.awaits_place && run.result.is_none())?;
        Some(key)
    }
}
