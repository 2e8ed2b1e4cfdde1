//! Parties: tasks of a queue that carry the same `fair_by`, and how much each party has had of the queue.
//!
//! The rule is start-time fair queueing, as between queues: a start is charged what attempts are expected to
//! take, and its end corrects that. Who stands where is the business of the lanes ([`crate::ready`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The party of tasks that say nothing: they are one party together.
pub(crate) const NO_PARTY: u32 = 0;

/// What an attempt is expected to take until one has ended, in microseconds.
const FIRST_ESTIMATE: u64 = 1000;

/// The parties of one queue, from the first task on that carries a key.
#[derive(Debug, Clone)]
pub(crate) struct Parties {
    by_name: BTreeMap<Arc<str>, u32>,
    /// The first is [`NO_PARTY`].
    all: Vec<Party>,
    /// Numbers to be given out again.
    free: Vec<u32>,
    /// What the party that started last had had before: nobody who comes is behind that.
    virtual_time: u64,
    /// What an attempt is expected to take, in microseconds.
    cost_estimate: u64,
    /// Parties without tasks that have had more than others, until those have caught up: else who hands in
    /// one task after the other would owe nothing for the one before.
    resting: BTreeSet<(u64, u32)>,
}

#[derive(Debug, Clone, Default)]
struct Party {
    name: Option<Arc<str>>,
    /// Microseconds that its ended attempts took, on the line of virtual time.
    served: u64,
    /// Attempts running.
    active: u32,
    /// What it has had, with what runs as it is expected: the party with the least goes first.
    tag: u64,
    /// Profiles that name it. Without one it has no tasks.
    profiles: u32,
    /// The lanes, by class and priority, in which it has a line; some of them may be gone.
    lines: Vec<(u32, u8)>,
}

impl Parties {
    /// `active`: attempts of the queue that run already.
    pub fn new(active: u32) -> Self {
        let others = Party { active, ..Party::default() };
        Self {
            by_name: BTreeMap::new(),
            all: vec![others],
            free: Vec::new(),
            virtual_time: 0,
            cost_estimate: FIRST_ESTIMATE,
            resting: BTreeSet::new(),
        }
    }

    /// One more profile names this party.
    pub fn enter(&mut self, name: &Arc<str>) -> u32 {
        let party = self.by_name.get(name).copied().unwrap_or_else(|| self.add(name));
        let entry = &mut self.all[party as usize];
        entry.profiles += 1;
        self.resting.remove(&(entry.tag, party));
        party
    }

    fn add(&mut self, name: &Arc<str>) -> u32 {
        let (name, served) = (name.clone(), self.virtual_time);
        let entry = Party { name: Some(name.clone()), served, tag: served, ..Party::default() };
        let party = match self.free.pop() {
            Some(party) => {
                self.all[party as usize] = entry;
                party
            }
            None => {
                self.all.push(entry);
                self.all.len() as u32 - 1
            }
        };
        self.by_name.insert(name, party);
        party
    }

    /// A profile that named this party is forgotten.
    pub fn leave(&mut self, party: u32) {
        let entry = &mut self.all[party as usize];
        entry.profiles -= 1;
        if entry.profiles > 0 {
            return;
        }
        if entry.tag > self.virtual_time {
            self.resting.insert((entry.tag, party));
        } else {
            self.forget(party);
        }
    }

    fn forget(&mut self, party: u32) {
        if let Some(name) = self.all[party as usize].name.take() {
            self.by_name.remove(&name);
            self.free.push(party);
        }
    }

    /// What a party has had.
    pub fn tag(&self, party: u32) -> u64 {
        self.all[party as usize].tag
    }

    /// An attempt of a party started.
    pub fn started(&mut self, party: u32) {
        let entry = &mut self.all[party as usize];
        // Who had less than others while it wanted nothing is not owed the difference.
        let start = self.virtual_time.max(entry.tag);
        entry.served = entry.served.saturating_add(start - entry.tag);
        entry.active += 1;
        entry.charge(self.cost_estimate);
        self.virtual_time = start;
        while let Some(&(tag, resting)) = self.resting.first()
            && tag <= start
        {
            self.resting.pop_first();
            self.forget(resting);
        }
    }

    /// An attempt of a party ended. Whether it says something about how long work takes is the caller's to
    /// know.
    pub fn ended(&mut self, party: u32, ran_nanos: u64, tells_of_work: bool) {
        let ran = ran_nanos / 1000;
        let entry = &mut self.all[party as usize];
        entry.active -= 1;
        entry.served = entry.served.saturating_add(ran);
        entry.charge(self.cost_estimate);
        if tells_of_work {
            // At least one: what takes no time must still be shared.
            self.cost_estimate = (self.cost_estimate - self.cost_estimate / 8 + ran / 8).max(1);
        }
    }

    /// An attempt of a party that runs was restored.
    pub fn restored(&mut self, party: u32) {
        let entry = &mut self.all[party as usize];
        entry.active += 1;
        entry.charge(self.cost_estimate);
    }

    /// A party has a line in a lane.
    pub fn stands_in(&mut self, party: u32, class: u32, priority: u8) {
        let lines = &mut self.all[party as usize].lines;
        if !lines.contains(&(class, priority)) {
            lines.push((class, priority));
        }
    }

    /// The lanes of a party; those that `is_there` denies are forgotten.
    pub fn each_line(&mut self, party: u32, is_there: impl FnMut(&(u32, u8)) -> bool) {
        self.all[party as usize].lines.retain(is_there);
    }

    /// Attempts running, by party.
    pub fn active(&self) -> impl Iterator<Item = u32> + '_ {
        self.all.iter().map(|party| party.active)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }
}

impl Party {
    fn charge(&mut self, estimate: u64) {
        let expected = estimate.saturating_mul(u64::from(self.active));
        self.tag = self.served.saturating_add(expected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    fn parties(names: &[&str]) -> (Parties, Vec<u32>) {
        let mut parties = Parties::new(0);
        let numbers = names.iter().map(|name| parties.enter(&Arc::from(*name))).collect();
        (parties, numbers)
    }

    /// The party that goes first among these.
    fn least(parties: &Parties, among: &[u32]) -> u32 {
        *among.iter().min_by_key(|party| (parties.tag(**party), **party)).unwrap()
    }

    #[test]
    fn shares_are_of_time_not_of_tasks() {
        let (mut parties, all) = parties(&["long", "short"]);
        let mut had = [0_u64; 2];
        for _ in 0..1100 {
            let party = least(&parties, &all);
            let ran = if party == all[0] { 100 } else { 10 };
            parties.started(party);
            parties.ended(party, ran * MILLI, true);
            had[usize::from(party == all[1])] += ran;
        }
        let [long, short] = had;
        assert!(long.abs_diff(short) <= 200, "{long} ms and {short} ms");
    }

    #[test]
    fn who_rested_gets_no_more_than_the_others_from_then_on() {
        let (mut parties, all) = parties(&["busy", "idle"]);
        for _ in 0..1000 {
            parties.started(all[0]);
            parties.ended(all[0], MILLI, true);
        }
        let mut starts = [0; 2];
        for _ in 0..100 {
            let party = least(&parties, &all);
            parties.started(party);
            parties.ended(party, MILLI, true);
            starts[usize::from(party == all[1])] += 1;
        }
        assert!(starts[0] >= 49 && starts[1] >= 49, "{starts:?}");
    }

    #[test]
    fn parties_are_forgotten_when_they_owe_nothing() {
        let (mut parties, all) = parties(&["stays"]);
        for number in 0..10_000 {
            let party = parties.enter(&Arc::from(number.to_string()));
            parties.started(party);
            parties.ended(party, MILLI, true);
            parties.leave(party);
            let next = least(&parties, &all);
            parties.started(next);
            parties.ended(next, MILLI, true);
        }
        assert!(parties.len() < 10, "{} parties are kept", parties.len());
    }

    #[test]
    fn one_task_after_the_other_is_charged_for_the_one_before() {
        let (mut parties, all) = parties(&["crowd"]);
        let mut had = [0_u64; 2];
        for _ in 0..1000 {
            let single = parties.enter(&Arc::from("one by one"));
            let party = least(&parties, &[all[0], single]);
            let ran = if party == single { 50 } else { 5 };
            parties.started(party);
            parties.ended(party, ran * MILLI, true);
            had[usize::from(party == single)] += ran;
            parties.leave(single);
        }
        assert!(had[0].abs_diff(had[1]) <= 100, "{had:?}");
    }
}
