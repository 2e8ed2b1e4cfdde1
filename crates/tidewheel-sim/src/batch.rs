//! Many seeds on a few threads, each played twice.
//!
//! What one seed does is in [`crate::world`].

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::coverage::Coverage;
use crate::world;

/// What a batch of seeds came to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Seeds played (each twice).
    pub seeds: u64,
    /// Inputs stepped, once counted.
    pub inputs: u64,
    /// Attempts started, once counted.
    pub attempts: u64,
    /// Interesting events of all seeds.
    pub coverage: Coverage,
    /// Seeds that failed, and why.
    pub failures: Vec<(u64, String)>,
    /// Time it took.
    pub took: Duration,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} seeds twice in {:.1?}: {} inputs, {} attempts, {} kinds of events, {} failures",
            self.seeds,
            self.took,
            self.inputs,
            self.attempts,
            self.coverage.all().count(),
            self.failures.len()
        )
    }
}

/// Plays `count` seeds from `from` on; stops at the first failure unless all are wanted.
#[must_use]
pub fn run(from: u64, count: u64, threads: u64, all: bool) -> Summary {
    let begin = Instant::now();
    let summary = Mutex::new(Summary::default());
    let next = AtomicU64::new(from);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let failed = play_twice(seed, &summary);
                    if failed && !all {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    summary.took = begin.elapsed();
    summary.failures.sort();
    summary
}

fn play_twice(seed: u64, summary: &Mutex<Summary>) -> bool {
    let first = world::play(seed, false);
    let second = world::play(seed, false);
    let mut summary = summary.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    summary.seeds += 1;
    summary.inputs += first.inputs;
    summary.attempts += first.attempts;
    summary.coverage.merge(&first.coverage);
    let failure = first
        .failure
        .or_else(|| (first.hash != second.hash).then(|| "two runs of the seed differ".to_owned()));
    let failed = failure.is_some();
    summary.failures.extend(failure.map(|failure| (seed, failure)));
    failed
}
