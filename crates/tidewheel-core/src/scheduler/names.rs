//! Names that callers give their submissions, so that asking again after a lost answer is harmless.
//!
//! A name is remembered for a fixed time after it was accepted, whatever became of the work.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::state::Scheduler;
use crate::id::RunId;
use crate::input::Rejection;
use crate::row::NameRow;
use crate::spec::OnceKey;
use crate::time::Timestamp;

#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    known: HashMap<Arc<str>, (RunId, u128)>,
    /// Earliest first: the order in which they are forgotten.
    by_age: VecDeque<(Timestamp, Arc<str>)>,
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
            Some(&(run, digest)) if digest == once.digest => Err(Rejection::AlreadyAccepted(run)),
            Some(&(run, _)) => Err(Rejection::KeyTaken { key: once.key.clone(), run }),
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
            self.names.known.insert(once.key.clone(), (run, once.digest));
            self.names.by_age.push_back((accepted_at, once.key));
        }
    }

    fn forget_names(&mut self, now: Timestamp) {
        while let Some((at, _)) = self.names.by_age.front()
            && now.since(*at) >= self.config.once_kept
            && let Some((_, key)) = self.names.by_age.pop_front()
        {
            self.names.known.remove(&key);
        }
    }
}
