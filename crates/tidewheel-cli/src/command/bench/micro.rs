//! The workload `micro`: single operations of the deciding core, without threads or a runtime.
//!
//! What they cost together, with everything around them, is measured by the other workloads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::json;
use tidewheel::{Graph, Priority};
use tidewheel_core::Scheduler;
use tidewheel_core::decision::{Action, Decision, Start};
use tidewheel_core::id::RunId;
use tidewheel_core::input::{Command, Event, Input, Outcome, Submission};
use tidewheel_core::spec::{Config, Profile, RunOptions, RunOrder, RunSpec};
use tidewheel_core::time::{Moment, Now, Timestamp};

use super::command::{MicroArgs, Shape};
use super::dag::{failed, made};
use super::timers::Times;
use crate::cli::Format;
use crate::error::CommandError;
use crate::ui::Ui;

/// The best of so many: the others were disturbed.
const ROUNDS: u32 = 3;

pub(super) fn measure(ui: &Ui, args: &MicroArgs) -> Result<(), CommandError> {
    let size = args.size;
    let all = u64::from(size);
    let mut rows: Vec<(&str, f64)> = Vec::new();
    for (name, shape, order, slots) in [
        ("step: a task of a chain", Shape::Chain, RunOrder::CriticalPath, 2),
        ("step: a task of a wide graph", Shape::Wide, RunOrder::CriticalPath, 2),
        ("step: a task of a layered graph", Shape::Layered, RunOrder::CriticalPath, 2),
        ("order: first in first out", Shape::Layered, RunOrder::Fifo, 2),
        ("order: longest path, 1,000 slots", Shape::Layered, RunOrder::CriticalPath, 1_000),
    ] {
        rows.push((name, best(all, || graph(shape, order, slots, size))?));
    }
    rows.push(("step: a single submission", best(all, || submissions(size, false))?));
    rows.push(("step: one of a backlog", best(all, || submissions(size, true))?));
    let cancelled = all.div_ceil(2);
    let fired = all - cancelled;
    rows.push(("timer: insert", best(all, || Ok(Times::taken(all)?.insert))?));
    rows.push(("timer: cancel", best(cancelled, || Ok(Times::taken(all)?.cancel))?));
    rows.push(("timer: expire", best(fired, || Ok(Times::taken(all)?.expire))?));
    match ui.format(Format::Human) {
        Format::Json => {
            let figures: serde_json::Map<String, serde_json::Value> =
                rows.iter().map(|(name, ns)| ((*name).to_owned(), json!(ns.round()))).collect();
            let version = env!("CARGO_PKG_VERSION");
            ui.print(
                &json!({
                    "workload": "micro", "peer": "tidewheel", "version": version,
                    "n": size, "nanoseconds": figures,
                })
                .to_string(),
            )
        }
        Format::Human => {
            let lines = rows.iter().map(|(name, ns)| format!("{name:36}{ns:8.0} ns\n"));
            ui.print(&lines.collect::<String>())
        }
    }
}

/// Nanoseconds for one of `count`.
fn best(
    count: u64,
    mut round: impl FnMut() -> Result<Duration, CommandError>,
) -> Result<f64, CommandError> {
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        least = least.min(round()?);
    }
    Ok(least.as_nanos() as f64 / count.max(1) as f64)
}

/// A scheduler, and the attempts it has started.
struct Bed {
    scheduler: Scheduler,
    decision: Decision,
    running: VecDeque<Start>,
    clock: u64,
    ended: u32,
}

impl Bed {
    fn new(slots: u32) -> Self {
        let config = Config { slots: Some(slots), ..Config::default() };
        Self {
            scheduler: Scheduler::new(config),
            decision: Decision::volatile(),
            running: VecDeque::new(),
            clock: 0,
            ended: 0,
        }
    }

    fn step(&mut self, input: Input) {
        self.clock += 100;
        let now = Now {
            monotonic: Moment::from_nanos(self.clock),
            wall: Timestamp::from_micros((self.clock / 1000) as i64),
        };
        self.decision.clear();
        self.scheduler.step(now, input, &mut self.decision);
        let opened = self.decision.open().expect("nothing is to be stored");
        for action in opened.actions.drain(..) {
            if let Action::StartAttempt(start) = action {
                self.running.push_back(start);
            }
        }
    }

    /// Ends the oldest attempt.
    fn end_one(&mut self) -> bool {
        let Some(Start { task, attempt, .. }) = self.running.pop_front() else { return false };
        self.ended += 1;
        let outcome = Outcome::Succeeded;
        self.step(Input::Event(Event::AttemptEnded { task, attempt, outcome }));
        true
    }

    fn end_all(mut self, expected: u32) -> Result<(), CommandError> {
        while self.end_one() {}
        if self.ended != expected {
            return Err(failed(anyhow!("{} of {expected} tasks ran", self.ended)));
        }
        Ok(())
    }
}

fn graph(shape: Shape, order: RunOrder, slots: u32, size: u32) -> Result<Duration, CommandError> {
    let graph = Graph::numbered(size, made(shape, size)).map_err(CommandError::internal)?;
    let options = RunOptions { order, ..RunOptions::default() };
    let spec = Arc::new(RunSpec::new(Arc::new(graph), options, Profile::default()));
    let mut bed = Bed::new(slots);
    let started = Instant::now();
    bed.step(Input::Command(Command::SubmitRun { id: RunId(1), spec }));
    bed.end_all(size)?;
    Ok(started.elapsed())
}

fn submissions(size: u32, is_backlog: bool) -> Result<Duration, CommandError> {
    let mut bed = Bed::new(16);
    let profile = bed.scheduler.profile(&Profile::default()).map_err(CommandError::internal)?;
    let started = Instant::now();
    if is_backlog {
        bed.step(Input::Command(Command::Pause));
    }
    for number in 0..size {
        let id = RunId(u128::from(number) + 1);
        let priority = Priority::new(i64::from(number.wrapping_mul(0x9E37_79B1) >> 8) % 101);
        let submission = Submission { id, profile, priority, ..Submission::default() };
        bed.step(Input::Command(Command::Submit(submission)));
        if !is_backlog {
            bed.end_one();
        }
    }
    if is_backlog {
        bed.step(Input::Command(Command::Resume));
    }
    bed.end_all(size)?;
    Ok(started.elapsed())
}
