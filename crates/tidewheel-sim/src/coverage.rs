//! Counters of interesting events; over many seeds each must have happened.
//!
//! A fault that never fires is a hole in the simulator, so a batch fails when one is missing.

use std::collections::BTreeMap;

/// What happened how often.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
}

impl Coverage {
    /// Counts one event.
    pub fn hit(&mut self, name: &str) {
        self.add(name, 1);
    }

    /// Counts several.
    pub fn add(&mut self, name: &str, count: u64) {
        match self.counts.get_mut(name) {
            Some(known) => *known += count,
            None => {
                self.counts.insert(name.to_owned(), count);
            }
        }
    }

    /// Adds the counts of another world.
    pub fn merge(&mut self, other: &Self) {
        for (name, count) in &other.counts {
            self.add(name, *count);
        }
    }

    /// How often something happened.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Every event and how often it happened.
    pub fn all(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Events that must happen in a batch of seeds and did not.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        REQUIRED.iter().copied().filter(|name| self.of(name) == 0).collect()
    }
}

/// Events that must happen in a batch of seeds.
pub const REQUIRED: &[&str] = &[
    "priority: of a run",
    "priority: of a task",
    "restore: with changed priorities",
    "fault: crash between turns",
    "fault: crash before commit",
    "fault: crash after commit",
    "fault: crash among actions",
    "fault: commit unavailable",
    "fault: store down",
    "fault: store busy",
    "store: the same change set again",
    "lost: recovered",
    "lost: recovered with attempts alive",
    "lost: nobody could say what is stored",
    "lost: another one decided",
    "lost: attempts left to another",
    "lost: left to another",
    "lost: died",
    "books: stepped ahead of the store",
    "books: an attempt ended while down",
    "books: an end is told again",
    "books: a stray was stopped",
    "books: an acceptance was lost",
    "books: wished while down",
    "refused: unavailable",
    "fault: commit unknown, stored",
    "fault: commit unknown, not stored",
    "fault: commit never answered, stored",
    "fault: commit never answered, not stored",
    "fault: stale tenure",
    "fault: tenure taken by another",
    "fault: slow store",
    "fault: report lost",
    "fault: report twice",
    "fault: report late",
    "fault: report from a zombie",
    "fault: attempt hangs",
    "fault: stop ignored",
    "fault: clock forward",
    "fault: clock back",
    "fault: suspend",
    "restore: with running attempts",
    "restore: with delayed tasks",
    "restore: with postponed tasks",
    "restore: with schedules",
    "hold: dependencies",
    "hold: places taken",
    "hold: retry delay",
    "hold: start delay",
    "hold: postponed",
    "hold: scheduler paused",
    "hold: queue paused",
    "hold: run paused",
    "hold: shutting down",
    "hold: scheduler full",
    "hold: queue slots",
    "hold: run slots",
    "hold: queue rate",
    "hold: limit taken",
    "hold: limit reserved",
    "hold: limit rate",
    "hold: breaker open",
    "hold: breaker probed",
    "hold: ended",
    "hold: running",
    "hold: key taken",
    "hold: order",
    "added: several at once",
    "added: by the outcome of an attempt",
    "reason: error",
    "reason: panic",
    "reason: attempt-timeout",
    "reason: task-timeout",
    "reason: run-timeout",
    "reason: dependency-failed",
    "reason: dependency-skipped",
    "reason: run-stopped",
    "reason: requested",
    "reason: removed",
    "reason: already-done",
    "reason: abandoned",
    "reason: shut-down",
    "reason: replaced",
    "reason: preempted",
    "reason: handed-back",
    "reason: lost",
    "reason: quarantined",
    "reason: ambiguous",
    "reason: condition",
    "reason: group-stopped",
    "reason: part-failed",
    "reason: dependency-declined",
    "reason: postponed",
    "task: new -> delayed",
    "task: new -> running",
    "task: new -> succeeded",
    "task: new -> failed",
    "task: new -> skipped",
    "task: new -> cancelled",
    "task: delayed -> running",
    "task: delayed -> failed",
    "task: delayed -> cancelled",
    "task: running -> ready",
    "task: running -> delayed",
    "task: running -> cancelling",
    "task: running -> succeeded",
    "task: running -> failed",
    "task: running -> skipped",
    "task: running -> cancelled",
    "task: running -> unknown",
    "task: ready -> running",
    "task: cancelling -> ready",
    "task: cancelling -> succeeded",
    "task: cancelling -> failed",
    "task: cancelling -> delayed",
    "task: cancelling -> skipped",
    "task: cancelling -> cancelled",
    "task: cancelling -> unknown",
    "refused: queue full",
    "refused: breaker open",
    "refused: shutting down",
    "refused: gone",
    "refused: too late",
    "refused: circular",
    "run: slots changed",
    "cancelled: clean-up too",
    "added: before others",
    "added: a dependent waited for what was put before it",
    "key: given back by a postponed task",
    "refused: accepted before",
    "refused: name taken",
    "refused: contradiction",
    "refused: never fits",
    "refused: unknown queue",
    "brought: a queue",
    "brought: a limit of units",
    "brought: a limit of starts",
    "skip: misfire",
    "skip: overlap",
    "skip: paused",
    "skip: excluded",
    "skip: queue full",
    "skip: backoff",
    "skip: outside window",
    "schedule: fired in a clock-change gap",
    "schedule: custom trigger asked",
    "schedule: ended",
    "schedule: changed",
    "schedule: another trigger",
    "firing: trigger",
    "firing: backfill",
    "firing: by hand",
    "firing by hand: now",
    "firing by hand: backfill",
    "firing: run asked for",
    "firing: run asked for again",
    "firing: run made",
    "firing: run not made",
    "firing: run refused",
    "firing: ended without a run",
    "firing: made twice",
    "firing: no longer wanted",
    "firing: refused by a shutdown",
    "firing: answered after a recovery",
    "restore: with wanted runs",
    "restore: with runs of firings",
    "run: succeeded",
    "run: failed",
    "run: cancelled",
    "breaker: opened",
    "breaker: closed",
    "report: stale, fenced",
    "shutdown: drain",
    "shutdown: reject",
    "shutdown: persist",
    "extreme: units",
    "extreme: priority",
    "extreme: time without end",
    "extreme: time of a nanosecond",
    "extreme: retries",
    "extreme: deadline",
    "extreme: schedule",
    "fault: clock to the end of time",
    "fault: clock to the beginning of time",
    "fault: clock centuries ahead",
    "profiles: a number was given out again",
    "beside: a guest",
    "beside: died",
    "moving: moved",
    "moving: refused",
    "moving: unavailable",
    "moving: unknown, moved",
    "moving: unknown, not moved",
    "moving: died before",
    "moving: died after",
    "moving: told late",
    "moving: while memory is restored",
    "moving: tenure stale when it is read",
    "moving: tenure taken when it is read",
    "moving: store in trouble when it is read",
    "moving: with running attempts",
    "moving: between two attempts",
    "moving: a last word",
    "taken in: while attempts run here",
    "taken in: while memory is lost",
    "taken in: while memory is being restored",
];
