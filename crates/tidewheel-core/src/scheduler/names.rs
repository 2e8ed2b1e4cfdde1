//! Names that callers give their submissions, so that asking again after a lost answer is harmless.
//!
//! A name is remembered for a fixed time after it was accepted, whatever became of the work.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::state::Scheduler;
use crate::id::RunId;
use crate::input::Rejection;
use crate::row::NameRow;
use crate::spec::OnceKey;
use crate::time::Timestamp;

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
struct Known {
    run: RunId,
    digest: u128,
    accepted_at: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<Arc<str>, Known>,
    /// Earliest first: the order in which they are forgotten. Where a clock was set back, that is not
    /// the order in which they came.
    by_age: BTreeSet<(Timestamp, Arc<str>)>,
}

/// A scheduler is copied to look ahead, and nothing is accepted under a name there. There may be millions of them,
/// and nobody decides while they would be copied.
impl Clone for Names {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Scheduler {
    /// How long a name is remembered after it was accepted.
    #[must_use]
    pub fn once_kept(&self) -> Duration {
        self.config.once_kept
    }

    /// Refuses what was accepted under this name before, and other work under a known name.
    pub(super) fn refuse_known(
        &mut self,
        once: Option<&OnceKey>,
        now: Timestamp,
    ) -> Result<(), Rejection> {
        let Some(once) = once else { return Ok(()) };
        self.forget_names(now);
        match self.names.known.get(&once.key) {
            None => Ok(()),
            Some(known) if known.digest == once.digest => {
                Err(Rejection::AlreadyAccepted(known.run))
            }
            Some(known) => Err(Rejection::KeyTaken { key: once.key.clone(), run: known.run }),
        }
    }

    pub(super) fn remember_once(&mut self, once: Option<&OnceKey>, run: RunId, now: Timestamp) {
        if let Some(once) = once {
            self.remember(NameRow { once: once.clone(), run, accepted_at: now }, now);
        }
    }

    pub(super) fn remember(&mut self, name: NameRow, now: Timestamp) {
        let NameRow { once, run, accepted_at } = name;
        if now.since(accepted_at) < self.config.once_kept {
            let known = Known { run, digest: once.digest, accepted_at };
            self.names.known.insert(once.key.clone(), known);
            self.names.by_age.insert((accepted_at, once.key));
        }
    }

    fn forget_names(&mut self, now: Timestamp) {
        while let Some((at, _)) = self.names.by_age.first()
            && now.since(*at) >= self.config.once_kept
            && let Some((at, key)) = self.names.by_age.pop_first()
        {
            // The name may stand for something else since.
            if self.names.known.get(&key).is_some_and(|known| known.accepted_at == at) {
                self.names.known.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Config;

    #[test]
    fn names_are_forgotten_in_time_although_the_clock_was_once_far_ahead() {
        let mut scheduler = Scheduler::new(Config::default());
        let kept = scheduler.once_kept();
        let day = |day: u32| Timestamp::UNIX_EPOCH.after(kept * day);
        let once = |name: &str| OnceKey::new(name, b"");
        scheduler.remember_once(Some(&once("ahead")), RunId(1), day(1_000));
        // Set right again.
        scheduler.remember_once(Some(&once("today")), RunId(2), day(1));
        let known = scheduler.refuse_known(Some(&once("today")), day(1));
        assert_eq!(known, Err(Rejection::AlreadyAccepted(RunId(2))));
        assert_eq!(scheduler.refuse_known(Some(&once("today")), day(2)), Ok(()));
        assert!(scheduler.refuse_known(Some(&once("ahead")), day(2)).is_err());
        scheduler.refuse_known(None, day(3)).unwrap();
        assert_eq!(scheduler.names.by_age.len(), 1);
    }

    #[test]
    fn a_look_ahead_copies_no_names() {
        let mut scheduler = Scheduler::new(Config::default());
        scheduler.remember_once(Some(&OnceKey::new("job", b"")), RunId(1), Timestamp::UNIX_EPOCH);
        let forecast = scheduler.forecast(crate::time::Now::default()).expect("there is no work");
        assert!(forecast.scheduler.names.known.is_empty());
        assert_eq!(scheduler.names.known.len(), 1);
    }

    #[test]
    fn a_name_given_anew_is_kept_as_long_as_the_newest() {
        let mut scheduler = Scheduler::new(Config::default());
        let half = scheduler.once_kept() / 2;
        let at = |halves: u32| Timestamp::UNIX_EPOCH.after(half * halves);
        let once = OnceKey::new("job", b"");
        // As rows of a store that keeps both.
        scheduler.remember_once(Some(&once), RunId(1), at(0));
        scheduler.remember_once(Some(&once), RunId(2), at(1));
        let known = Err(Rejection::AlreadyAccepted(RunId(2)));
        assert_eq!(scheduler.refuse_known(Some(&once), at(2)), known);
        assert_eq!(scheduler.refuse_known(Some(&once), at(3)), Ok(()));
    }
}
