//! How long tasks took in the past: the rule by which times are learnt, for every store.
//!
//! What is done with them is for whoever asks.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel_core::task::{Reason, TaskState};

use super::{
    Reader, RecordedOutcome, Records, RunDetail, RunFilter, RunKind, RunSummary, StoreError,
};

/// How many runs are looked at, and how many tasks of them in all.
const PAST_RUNS_MAX: u32 = 50;
const PAST_TASKS_MAX: usize = 50_000;

/// How long the tasks of runs of this name took the last few times they did their work and succeeded, by
/// name: the middle one of `samples` times. Runs are looked at from the newest on, until enough is known
/// or they become too many.
///
/// # Errors
///
/// When the store cannot be read.
pub fn durations(
    store: &(impl Reader + Records + ?Sized),
    name: &str,
    samples: usize,
) -> Result<BTreeMap<String, Duration>, StoreError> {
    let filter = RunFilter {
        name: Some(name.to_owned()),
        kind: Some(RunKind::Run),
        live: Some(false),
        limit: PAST_RUNS_MAX,
        ..RunFilter::default()
    };
    let mut learnt = Learnt { samples, times: BTreeMap::new(), tasks: 0 };
    for summary in store.runs(&filter)? {
        let Some(detail) = store.run(summary.id)? else { continue };
        let (outcomes, times) = (store.outcomes(summary.id)?, store.times(summary.id)?);
        if learnt.is_enough_after(&summary, detail, &outcomes, &times) {
            break;
        }
    }
    Ok(learnt.middles())
}

struct Learnt {
    samples: usize,
    times: BTreeMap<String, Vec<Duration>>,
    tasks: usize,
}

impl Learnt {
    /// Takes in a run, and says whether older ones need not be looked at.
    fn is_enough_after(
        &mut self,
        summary: &RunSummary,
        detail: RunDetail,
        outcomes: &BTreeMap<u32, RecordedOutcome>,
        own: &BTreeMap<u32, Duration>,
    ) -> bool {
        self.tasks += detail.tasks.len();
        let mut is_enough = summary.state == TaskState::Succeeded;
        for task in detail.tasks {
            let is_well = task.state == TaskState::Succeeded && task.reason == Reason::Ordinary;
            let (true, Some(from), Some(to)) = (is_well, task.started_at, task.at) else {
                continue;
            };
            let outcome = outcomes.get(&task.index);
            let times = self.times.entry(task.name).or_default();
            // What was cached or reused took no time, and says nothing of the work.
            if times.len() < self.samples && !outcome.is_some_and(|it| it.is_without_work()) {
                times.push(own.get(&task.index).copied().unwrap_or_else(|| to.since(from)));
            }
            is_enough &= times.len() >= self.samples;
        }
        is_enough || self.tasks >= PAST_TASKS_MAX
    }

    fn middles(self) -> BTreeMap<String, Duration> {
        let middle = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        let learnt = self.times.into_iter().filter(|(_, times)| !times.is_empty());
        learnt.map(|(name, times)| (name, middle(times))).collect()
    }
}
