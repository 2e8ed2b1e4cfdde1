//! Sharing a queue fairly: which party a task belongs to, and what each is charged.
//!
//! The rule is in [`crate::party`], the order in [`crate::ready`]. Queues in which no task says `fair_by` know
//! nothing of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::state::Scheduler;
use crate::id::TaskKey;
use crate::party::{NO_PARTY, Parties};
use crate::ready::Entry;
use crate::run::Work;
use crate::spec::Profile;
use crate::time::Moment;

impl Scheduler {
    /// The party of tasks that are treated so. It is counted as used by one profile more.
    pub(super) fn party_of(&mut self, queue: u32, profile: &Profile) -> u32 {
        let Some(name) = &profile.fair_by else { return NO_PARTY };
        let entry = &mut self.queues[queue as usize];
        let active = entry.active;
        if entry.parties.is_none() {
            let classes = self.classes.iter_mut();
            classes.filter(|class| class.queue == queue).for_each(|class| class.has_parties = true);
        }
        entry.parties.get_or_insert_with(|| Box::new(Parties::new(active))).enter(name)
    }

    /// Gives ready work its place in the line of its party.
    #[cold]
    pub(super) fn enlist_fairly(
        &mut self,
        class: u32,
        priority: u8,
        entry: Entry,
        deadline: Option<Moment>,
    ) {
        let Self { classes, queues, .. } = self;
        let class_entry = &mut classes[class as usize];
        let parties = queues[class_entry.queue as usize].parties.as_mut();
        match parties.filter(|_| entry.party != NO_PARTY) {
            Some(parties) => {
                parties.stands_in(entry.party, class, priority);
                parties.stands_in(NO_PARTY, class, priority);
                let tags = (parties.tag(entry.party), parties.tag(NO_PARTY));
                class_entry.lanes.push_fairly(priority, entry, deadline, tags);
            }
            None => class_entry.lanes.push(priority, entry, deadline),
        }
    }

    /// A task has taken a slot or given it back: its party is charged, and moves in the order.
    #[cold]
    pub(super) fn charge_party(&mut self, key: TaskKey, class: u32, now: Moment) {
        let party = self.party(key);
        let Some(task) = self.member(key) else { return };
        let takes = task.state.holds_slot();
        let (ran, tells) = (now.nanos_since(task.started_at), task.reason.tells_of_work());
        let Self { classes, queues, .. } = self;
        let queue = classes[class as usize].queue;
        let Some(parties) = &mut queues[queue as usize].parties else { return };
        if takes {
            parties.started(party);
        } else {
            parties.ended(party, ran, tells);
        }
        let tag = parties.tag(party);
        parties.each_line(party, |&(class, priority)| {
            let class = &mut classes[class as usize];
            class.queue == queue && class.lanes.retag(priority, party, tag)
        });
    }

    /// The party of a task.
    pub(super) fn party(&self, key: TaskKey) -> u32 {
        self.profiles[self.work(key).profile(key.index).0 as usize].party
    }

    /// The key by which a task shares its queue.
    pub(super) fn fair_by(&self, key: TaskKey) -> Option<Arc<str>> {
        self.profile_spec(key).fair_by.clone()
    }

    /// Attempts that run are counted for their party, and lines know what theirs has had.
    pub(super) fn check_parties(&self) {
        let mut active: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (key, _) in self.running() {
            let queue = self.classes[self.work(key).class(key.index) as usize].queue;
            *active.entry((queue, self.party(key))).or_default() += 1;
        }
        for (queue, index) in self.queues.iter().zip(0..) {
            let Some(parties) = &queue.parties else { continue };
            for (counted, party) in parties.active().zip(0..) {
                let found = active.get(&(index, party)).copied().unwrap_or(0);
                assert_eq!(counted, found, "attempts of party {party} of queue `{}`", queue.name);
            }
            for class in self.classes.iter().filter(|class| class.queue == index) {
                assert!(class.has_parties, "a class of queue `{}` knows no parties", queue.name);
                class.lanes.check(|party| parties.tag(party));
            }
        }
        for (_, work) in &self.works {
            if let Work::Run(run) = work {
                for used in &run.profiles {
                    let party = self.profiles[used.profile.0 as usize].party;
                    assert_eq!(run.sets[used.set as usize].party, party, "party of a ready set");
                }
            }
        }
    }
}
