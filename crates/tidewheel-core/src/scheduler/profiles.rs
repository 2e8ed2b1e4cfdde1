//! Profiles by number: each kept once, found by hash, forgotten when nobody has used it for long.
//!
//! What a profile means for a task is decided elsewhere; here is only who is treated alike.

use std::collections::{HashMap, VecDeque};
use std::ops::Index;
use std::sync::Arc;

use crate::id::ProfileId;
use crate::spec::Profile;

/// Profiles that nobody uses and that are kept all the same, because they may be asked for again.
pub(super) const IDLE_MAX: usize = 1024;

/// A profile with its queue and class looked up.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    pub spec: Arc<Profile>,
    pub queue: u32,
    pub class: u32,
    /// The party its tasks belong to.
    pub party: u32,
    /// No start delay and no task timeout: ready tasks need no timer.
    pub plain: bool,
    /// Single submissions, runs and schedules that are treated so; whoever had it kept is one too.
    users: u32,
    /// Whether it is never forgotten.
    is_kept: bool,
    /// Whether it stands in the line of those that may be forgotten.
    in_line: bool,
    /// The number of the question that last named it.
    asked: u64,
}

/// All profiles the scheduler knows.
///
/// A number stays valid for as long as something uses it; one that was only asked for, until
/// [`IDLE_MAX`] others were. The first, which is the default one, and those that are kept are never
/// forgotten.
#[derive(Debug, Clone, Default)]
pub(super) struct Profiles {
    entries: Vec<Resolved>,
    /// By queue.
    known: Vec<HashMap<Arc<Profile>, ProfileId>>,
    /// Those without users, and some that have found one since.
    line: VecDeque<ProfileId>,
    /// Numbers to be given out again.
    free: Vec<ProfileId>,
    /// How often a profile was asked for.
    questions: u64,
}

impl Profiles {
    pub fn find(&mut self, profile: &Profile, queue: u32) -> Option<ProfileId> {
        let found = *self.known.get(queue as usize)?.get(profile)?;
        self.questions += 1;
        self.entries[found.0 as usize].asked = self.questions;
        Some(found)
    }

    /// Gives a profile that is not known yet a number.
    pub fn insert(&mut self, spec: Arc<Profile>, queue: u32, class: u32, party: u32) -> ProfileId {
        if self.known.len() <= queue as usize {
            self.known.resize_with(queue as usize + 1, HashMap::new);
        }
        self.questions += 1;
        let is_first = self.entries.is_empty();
        let plain = spec.start_delay.is_zero() && spec.task_timeout.is_none();
        let entry = Resolved {
            spec: spec.clone(),
            queue,
            class,
            party,
            plain,
            users: u32::from(is_first),
            is_kept: is_first,
            in_line: !is_first,
            asked: self.questions,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id.0 as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                ProfileId(self.entries.len() as u32 - 1)
            }
        };
        self.known[queue as usize].insert(spec, id);
        if !is_first {
            self.line.push_back(id);
        }
        id
    }

    /// Never forgets it.
    pub fn keep(&mut self, id: ProfileId) {
        let entry = &mut self.entries[id.0 as usize];
        entry.users += u32::from(!entry.is_kept);
        entry.is_kept = true;
    }

    /// One more is treated so.
    #[inline]
    pub fn take(&mut self, id: ProfileId) {
        self.entries[id.0 as usize].users += 1;
    }

    /// One less is treated so.
    #[inline]
    pub fn leave(&mut self, id: ProfileId) {
        let entry = &mut self.entries[id.0 as usize];
        entry.users -= 1;
        if entry.users == 0 && !entry.in_line {
            entry.in_line = true;
            self.line.push_back(id);
        }
    }

    /// Forgets one that nobody uses and the last [`IDLE_MAX`] questions did not name, and gives its
    /// class and party. Among more than so many there is always one.
    #[inline]
    pub fn forget_one(&mut self) -> Option<(u32, u32)> {
        while self.line.len() > IDLE_MAX {
            let forgotten = self.pass_first();
            if forgotten.is_some() {
                return forgotten;
            }
        }
        None
    }

    /// Decides about the first in line: it leaves, gets another round, or is forgotten.
    fn pass_first(&mut self) -> Option<(u32, u32)> {
        let id = self.line.pop_front()?;
        let entry = &mut self.entries[id.0 as usize];
        if entry.users > 0 {
            entry.in_line = false;
        } else if self.questions - entry.asked < IDLE_MAX as u64 {
            self.line.push_back(id);
        } else {
            let (spec, queue) = (entry.spec.clone(), entry.queue as usize);
            // What is left of it is the number.
            self.entries[id.0 as usize].spec = self.entries[0].spec.clone();
            self.known[queue].remove(&spec);
            self.free.push(id);
            let entry = &self.entries[id.0 as usize];
            return Some((entry.class, entry.party));
        }
        None
    }

    /// Classes of work that is there, or that schedules will make.
    pub fn classes_in_use(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().filter(|entry| entry.users > 0).map(|entry| entry.class)
    }

    /// Checks that what is counted is what there is.
    pub fn check(&self, users: &[u32]) {
        let count: usize = self.known.iter().map(HashMap::len).sum();
        assert_eq!(count + self.free.len(), self.entries.len(), "profiles known and forgotten");
        for (index, entry) in self.entries.iter().enumerate() {
            let counted = users.get(index).copied().unwrap_or(0) + u32::from(entry.is_kept);
            assert_eq!(entry.users, counted, "users of profile {index}");
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Index<usize> for Profiles {
    type Output = Resolved;

    #[inline]
    fn index(&self, index: usize) -> &Resolved {
        &self.entries[index]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn timeout(seconds: u64) -> Arc<Profile> {
        let attempt_timeout = Some(Duration::from_secs(seconds));
        Arc::new(Profile { attempt_timeout, ..Profile::default() })
    }

    fn profiles() -> Profiles {
        let mut profiles = Profiles::default();
        profiles.insert(Arc::default(), 0, 0, 0);
        profiles
    }

    #[test]
    fn the_same_profile_has_one_number_and_another_queue_another() {
        let mut profiles = profiles();
        let id = profiles.insert(timeout(1), 0, 0, 0);
        assert_eq!(profiles.find(&timeout(1), 0), Some(id));
        assert_eq!(profiles.find(&timeout(1), 1), None);
        let other = profiles.insert(timeout(1), 1, 1, 0);
        assert_ne!(other, id);
        assert_eq!(profiles.find(&timeout(1), 1), Some(other));
    }

    #[test]
    fn what_nobody_uses_is_forgotten_and_what_somebody_uses_is_not() {
        let mut profiles = profiles();
        let used = profiles.insert(timeout(0), 0, 0, 0);
        profiles.take(used);
        for seconds in 1..100_000 {
            let id = profiles.insert(timeout(seconds), 0, 0, 0);
            profiles.take(id);
            profiles.leave(id);
            profiles.forget_one();
        }
        assert!(profiles.len() <= IDLE_MAX + 3, "{} numbers are taken", profiles.len());
        assert_eq!(profiles.find(&timeout(0), 0), Some(used));
        assert_eq!(profiles.find(&timeout(1), 0), None);
        assert!(profiles.find(&Profile::default(), 0).is_some(), "the first one stays");
        profiles.check(&[0, 1]);
    }

    #[test]
    fn what_is_kept_is_never_forgotten() {
        let mut profiles = profiles();
        let kept = profiles.insert(timeout(0), 0, 0, 0);
        profiles.keep(kept);
        profiles.keep(kept);
        for seconds in 1..5_000 {
            profiles.insert(timeout(seconds), 0, 0, 0);
            profiles.forget_one();
        }
        assert_eq!(profiles.find(&timeout(0), 0), Some(kept));
        profiles.take(kept);
        profiles.leave(kept);
        profiles.check(&[]);
    }

    #[test]
    fn a_number_that_was_asked_for_outlives_many_that_come_after_it() {
        let mut profiles = profiles();
        for seconds in 0..IDLE_MAX as u64 {
            profiles.insert(timeout(seconds), 0, 0, 0);
            profiles.forget_one();
        }
        let oldest = profiles.find(&timeout(0), 0);
        for seconds in 1..IDLE_MAX as u64 {
            profiles.insert(timeout(1_000_000 + seconds), 0, 0, 0);
            profiles.forget_one();
        }
        assert!(oldest.is_some());
        assert_eq!(profiles.find(&timeout(0), 0), oldest);
    }
}
