//! The simulated executor: attempts that run, end, hang, ignore stops, and report faithfully or not.
//!
//! It never decides anything; every whim comes from the seed.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel_core::decision::Start;
use tidewheel_core::id::{AttemptId, TaskId};
use tidewheel_core::input::{Failure, Outcome};
use tidewheel_core::time::Moment;

use crate::coverage::Coverage;
use crate::random::Random;
use crate::workload;

/// How long it takes until somebody notices that a worker is gone.
const WATCH: Duration = Duration::from_secs(20);

/// An attempt whose end the scheduler has not heard of.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Which scheduler it belongs to.
    pub incarnation: u32,
    /// Whether a stop was asked for.
    pub stopping: bool,
    /// The place of its report among those on their way.
    due: Option<(Moment, u64)>,
}

/// A report on its way to the scheduler.
#[derive(Debug, Clone)]
pub struct Report {
    /// The attempt.
    pub id: AttemptId,
    /// How it ended.
    pub outcome: Outcome,
    /// Which scheduler it is meant for.
    pub incarnation: u32,
    /// Whether it is a copy of one already sent.
    pub is_copy: bool,
}

/// Attempts and reports.
#[derive(Debug, Default)]
pub struct Executor {
    /// Attempts under way, as far as the scheduler was told.
    pub running: BTreeMap<AttemptId, Attempt>,
    /// Reports by the moment they arrive.
    pub reports: BTreeMap<(Moment, u64), Report>,
    /// Whether nothing goes wrong any more.
    pub healed: bool,
    sequence: u64,
}

/// Longer than any world goes on.
const LIFETIME: Duration = Duration::from_secs(100 * 365 * 86_400);

impl Executor {
    /// Starts an attempt and settles its fate. Of a task of a run, `successors` wait for it.
    pub fn start(
        &mut self,
        start: Start,
        successors: Option<&[u32]>,
        incarnation: u32,
        now: Moment,
        random: &mut Random,
        coverage: &mut Coverage,
    ) {
        let id = AttemptId { task: start.id, number: start.attempt };
        let faulty = !self.healed;
        let mut duration = match random.below(20) {
            0..=1 => Some(Duration::ZERO),
            2..=15 => Some(random.millis(1, 5_000)),
            16..=18 => Some(random.millis(5_000, 40_000)),
            _ if faulty => {
                coverage.hit("fault: attempt hangs");
                None
            }
            _ => Some(random.millis(1, 1_000)),
        };
        let mut outcome = outcome(random, faulty);
        if let (Outcome::Succeeded, Some(successors)) = (&outcome, successors)
            && random.percent(8)
        {
            outcome = Outcome::Expanded(Box::new(workload::expansion(random, id, successors)));
        }
        // A time that no world lives through is none: whoever hangs is found to be lost at the end.
        if let Some(timeout) = start.timeout.filter(|timeout| *timeout < LIFETIME)
            && duration.is_none_or(|duration| duration > timeout)
        {
            duration = Some(timeout);
            outcome = Outcome::TimedOut;
        }
        let mut due = None;
        if let Some(mut duration) = duration {
            if faulty && random.percent(3) {
                coverage.hit("fault: report lost");
                duration += WATCH;
                outcome = Outcome::Lost;
            } else if faulty && random.percent(4) {
                coverage.hit("fault: report late");
                duration += random.millis(500, 30_000);
            }
            due = Some(self.send(id, outcome.clone(), incarnation, now.after(duration), false));
            if faulty && random.percent(5) {
                coverage.hit("fault: report twice");
                let later = now.after(duration + random.millis(0, 3_000));
                self.send(id, outcome, incarnation, later, true);
            }
        }
        let attempt = Attempt { incarnation, stopping: false, due };
        self.running.insert(id, attempt);
    }

    fn send(
        &mut self,
        id: AttemptId,
        outcome: Outcome,
        incarnation: u32,
        at: Moment,
        is_copy: bool,
    ) -> (Moment, u64) {
        self.sequence += 1;
        let place = (at, self.sequence);
        self.reports.insert(place, Report { id, outcome, incarnation, is_copy });
        place
    }

    /// Tells an attempt to stop; when the grace is over it is ended.
    pub fn stop(
        &mut self,
        id: AttemptId,
        grace: Duration,
        now: Moment,
        random: &mut Random,
        coverage: &mut Coverage,
    ) {
        let Some(attempt) = self.running.get_mut(&id) else { return };
        let incarnation = attempt.incarnation;
        attempt.stopping = true;
        let due = attempt.due;
        let (delay, outcome) = match random.below(10) {
            0..=1 if !self.healed => {
                coverage.hit("fault: stop ignored");
                (grace + random.millis(0, 100), Outcome::Cancelled)
            }
            2 => (grace / 2, unstopped(random)),
            3 => (grace / 2, failed(random, "failed while stopping")),
            4 if !self.healed => (grace + WATCH, Outcome::Lost),
            _ => (grace / 3, Outcome::Cancelled),
        };
        let at = now.after(delay);
        if due.is_none_or(|(before, _)| at < before) {
            if let Some(due) = due {
                self.reports.remove(&due);
            }
            let place = self.send(id, outcome, incarnation, at, false);
            if let Some(attempt) = self.running.get_mut(&id) {
                attempt.due = Some(place);
            }
        }
    }

    /// The process died: its attempts are gone, or go on unseen and report late.
    pub fn crash(&mut self, now: Moment, random: &mut Random) {
        self.running.clear();
        let reports = std::mem::take(&mut self.reports);
        for ((at, sequence), report) in reports {
            if random.percent(40) {
                let at = at.max(now.after(random.millis(1, 2_000)));
                self.reports.insert((at, sequence), report);
            }
        }
    }

    /// What is left of attempts of another process that died reports late, and to nobody.
    pub fn inherit(&mut self, other: Self) {
        for ((at, _), report) in other.reports {
            self.sequence += 1;
            let report = Report { incarnation: u32::MAX, ..report };
            self.reports.insert((at, self.sequence), report);
        }
    }

    /// The attempt is not ours any more; it goes on unseen.
    pub fn forget(&mut self, id: AttemptId) {
        self.running.remove(&id);
    }

    /// The attempt goes on under a scheduler that was restored.
    pub fn rebind(&mut self, id: AttemptId, incarnation: u32) {
        if let Some(attempt) = self.running.get_mut(&id) {
            attempt.incarnation = incarnation;
        }
        for report in self.reports.values_mut().filter(|report| report.id == id) {
            report.incarnation = incarnation;
        }
    }

    /// Attempts that hang are found to be lost.
    pub fn find_lost(&mut self, now: Moment) {
        let hanging: Vec<(AttemptId, u32)> = self
            .running
            .iter()
            .filter(|(_, attempt)| attempt.due.is_none())
            .map(|(id, attempt)| (*id, attempt.incarnation))
            .collect();
        for (id, incarnation) in hanging {
            let place = self.send(id, Outcome::Lost, incarnation, now, false);
            if let Some(attempt) = self.running.get_mut(&id) {
                attempt.due = Some(place);
            }
        }
    }

    /// When the next report arrives.
    #[must_use]
    pub fn next_due(&self) -> Option<Moment> {
        self.reports.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes a report that has arrived.
    pub fn take_due(&mut self, now: Moment) -> Option<Report> {
        let entry = self.reports.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// Attempts of a task under way.
    pub fn of_task(&self, task: TaskId) -> impl Iterator<Item = &AttemptId> {
        let least = AttemptId { task, number: 0 };
        let most = AttemptId { task, number: u32::MAX };
        self.running.range(least..=most).map(|(id, _)| id)
    }
}

fn outcome(random: &mut Random, faulty: bool) -> Outcome {
    match random.below(100) {
        0..=54 => Outcome::Succeeded,
        55..=58 => Outcome::Skipped,
        59..=64 => postponed(random),
        65..=81 => failed(random, "boom"),
        82..=85 => Outcome::Failed(Box::new(Failure { permanent: true, ..message("no use") })),
        86..=90 => Outcome::Failed(Box::new(Failure { panicked: true, ..message("panic") })),
        91..=92 => Outcome::Cancelled,
        93..=95 if faulty => Outcome::Lost,
        _ => Outcome::Succeeded,
    }
}

/// What an attempt may come to that does not mind being told to stop.
fn unstopped(random: &mut Random) -> Outcome {
    match random.below(4) {
        0 => Outcome::Skipped,
        1 => postponed(random),
        _ => Outcome::Succeeded,
    }
}

fn postponed(random: &mut Random) -> Outcome {
    Outcome::Postponed(match random.below(10) {
        0 => Duration::ZERO,
        1 => random.millis(5_000, 60_000),
        _ => random.millis(1, 5_000),
    })
}

fn failed(random: &mut Random, text: &str) -> Outcome {
    let retry_after = random.percent(10).then(|| random.millis(100, 3_000));
    Outcome::Failed(Box::new(Failure { retry_after, ..message(text) }))
}

fn message(text: &str) -> Failure {
    Failure { message: text.into(), ..Failure::default() }
}
