//! Classes by number: made when a profile needs one, forgotten with the last profile that does.
//!
//! Which class goes first is decided in `fill`; what stands in one is the business of its lanes.

use super::state::Scheduler;
use crate::party::NO_PARTY;
use crate::queue::Class;
use crate::ready::Lanes;

impl Scheduler {
    /// The class of work that shares this queue and these limits.
    pub(super) fn class_of(&mut self, queue: u32, needs: Vec<(u32, u32)>) -> u32 {
        if let Some(&known) = self.class_of.get(&(queue, needs.clone())) {
            return known;
        }
        let entry = Class {
            queue,
            needs: needs.clone(),
            lanes: Lanes::new(),
            profiles: 0,
            blocked_by: None,
            is_open: false,
            has_parties: self.queues[queue as usize].parties.is_some(),
        };
        let class = match self.free_classes.pop() {
            Some(class) => {
                self.classes[class as usize] = entry;
                class
            }
            None => {
                self.classes.push(entry);
                self.classes.len() as u32 - 1
            }
        };
        self.class_of.insert((queue, needs), class);
        class
    }

    /// Forgets profiles that nobody needs any more, and their classes.
    #[inline]
    pub(super) fn forget_profiles(&mut self) {
        while let Some((class, party)) = self.profiles.forget_one() {
            let entry = &mut self.classes[class as usize];
            if let Some(parties) = &mut self.queues[entry.queue as usize].parties
                && party != NO_PARTY
            {
                parties.leave(party);
            }
            entry.profiles -= 1;
            if entry.profiles == 0 {
                self.forget_class(class);
            }
        }
    }

    /// Nothing that is there is of this class: what stands in its lanes has ended.
    fn forget_class(&mut self, class: u32) {
        self.drop_reservations(class);
        let entry = &mut self.classes[class as usize];
        let (queue, needs) = (entry.queue, std::mem::take(&mut entry.needs));
        (entry.lanes, entry.is_open, entry.blocked_by) = (Lanes::new(), false, None);
        self.queues[queue as usize].open.retain(|&other| other != class);
        for &(limit, _) in &needs {
            self.limits[limit as usize].waiting.retain(|&other| other != class);
        }
        self.class_of.remove(&(queue, needs));
        self.free_classes.push(class);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::decision::{Action, Decision};
    use crate::id::RunId;
    use crate::input::{Command, Event, Input, Outcome, Submission};
    use crate::scheduler::Scheduler;
    use crate::scheduler::profiles::IDLE_MAX;
    use crate::spec::{Config, LimitSpec, Profile};
    use crate::time::Now;

    fn step(scheduler: &mut Scheduler, input: Input) -> Vec<Action> {
        let mut decision = Decision::volatile();
        scheduler.step(Now::default(), input, &mut decision);
        std::mem::take(&mut decision.open().expect("nothing is to be stored").actions)
    }

    #[test]
    fn units_that_all_differ_leave_nothing_behind() {
        let mut scheduler = Scheduler::new(Config::default());
        let (name, spec) = (Arc::from("bytes"), LimitSpec::Units(u32::MAX));
        step(&mut scheduler, Input::Command(Command::DefineLimit { name, spec }));
        for units in 1..5_000 {
            let limits = vec![(Arc::from("bytes"), units)];
            let profile = scheduler.profile(&Profile { limits, ..Profile::default() }).unwrap();
            let submission =
                Submission { id: RunId(units.into()), profile, ..Submission::default() };
            let actions = step(&mut scheduler, Input::Command(Command::Submit(submission)));
            let [Action::StartAttempt(start)] = actions[..] else { panic!("{actions:?}") };
            let (task, attempt, outcome) = (start.task, start.attempt, Outcome::Succeeded);
            let ended = Event::AttemptEnded { task, attempt, outcome };
            step(&mut scheduler, Input::Event(ended));
        }
        scheduler.check();
        let count = scheduler.classes.len();
        assert!(count <= IDLE_MAX + 3, "{count} classes are kept");
    }
}
