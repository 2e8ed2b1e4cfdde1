//! Who has the slots of a wheel, and who stands in line for them.
//!
//! The order is the scheduler's; why one task waits is asked with [`Tidewheel::explain`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::explain::{self, Hold};
use tidewheel_core::id::{TaskId, TaskKey};
use tidewheel_core::time::Now;
use tidewheel_core::{Scheduler, Standing};

use crate::driver::State;
use crate::wheel::Tidewheel;

/// Who has slots, and who waits for one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The attempts that run, those that began first first.
    pub running: Vec<UnderWay>,
    /// The tasks that have all they need and wait, in the order in which they are expected to start.
    pub waiting: Vec<InLine>,
    /// How many more wait, as far as was counted.
    pub more: u64,
}

/// An attempt that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnderWay {
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: Arc<str>,
    /// The name of its run, if that has one.
    pub run: Option<Arc<str>>,
    /// The number of the attempt.
    pub attempt: u32,
    /// For how long it has been running.
    pub elapsed: Duration,
}

/// A task in line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InLine {
    /// Everything that holds it, and its place in the order.
    pub facts: explain::Explanation,
    /// The name of its run, if that has one.
    pub run: Option<Arc<str>>,
    /// In how long it is expected to start, if that can be told.
    pub expected_start: Option<Duration>,
}

impl Tidewheel {
    /// Who has slots and who waits for one, at most so many of each. Of very much work some ten thousand are looked at.
    ///
    /// The order comes from playing the scheduler ahead, which takes its time, though none of the wheel's: on a runtime
    /// call it where blocking is allowed.
    #[must_use]
    pub fn line(&self, max: usize) -> Line {
        let now = self.shared.clock.now();
        let (mut running, line, forecast) = {
            let state = self.shared.lock();
            let scheduler = state.engine.scheduler();
            let line = scheduler.line(now, max);
            let can_start = line.tasks.iter().any(|it| scheduler.can_start_by_itself(it.key));
            let forecast = if can_start { scheduler.forecast(now) } else { None };
            let named = |standing: Standing| (name_of_run(scheduler, standing.key), standing);
            let tasks: Vec<_> = line.tasks.into_iter().map(named).collect();
            (under_way(&state, now, max), (tasks, line.more), forecast)
        };
        running.sort_by_key(|it| std::cmp::Reverse(it.elapsed));
        let (tasks, more) = line;
        let wanted: BTreeSet<TaskKey> = tasks.iter().map(|(_, it)| it.key).collect();
        let starts = forecast.map(|forecast| forecast.starts_of(&wanted)).unwrap_or_default();
        let starts: BTreeMap<TaskKey, (usize, Duration)> =
            starts.into_iter().enumerate().map(|(place, (key, at))| (key, (place, at))).collect();
        let mut waiting: Vec<(usize, InLine)> = tasks
            .into_iter()
            .map(|(run, Standing { key, explanation })| {
                let start = starts.get(&key);
                let place = start.map_or(usize::MAX, |(place, _)| *place);
                let expected_start = start.map(|(_, at)| *at);
                (place, InLine { facts: explanation, run, expected_start })
            })
            .collect();
        // Of which nobody knows stand behind, as they stood.
        waiting.sort_by_key(|(place, _)| *place);
        let waiting = waiting.into_iter().map(|(_, it)| it).collect();
        Line { running, waiting, more }
    }
}

fn under_way(state: &State, now: Now, max: usize) -> Vec<UnderWay> {
    let scheduler = state.engine.scheduler();
    let mut attempts = state.under_way();
    // Without a store nobody has written down those that have never waited.
    attempts.extend(scheduler.under_way(max));
    let running = attempts.into_iter().take(max).filter_map(|(key, attempt)| {
        let facts = scheduler.explain(key, now)?;
        let elapsed = facts.holds.iter().find_map(|hold| match hold {
            Hold::Running { elapsed, .. } => Some(*elapsed),
            _ => None,
        });
        let run = name_of_run(scheduler, key);
        let elapsed = elapsed.unwrap_or_default();
        Some(UnderWay { task: facts.task, name: facts.name, run, attempt, elapsed })
    });
    running.collect()
}

fn name_of_run(scheduler: &Scheduler, key: TaskKey) -> Option<Arc<str>> {
    let name = &scheduler.run_spec(key.run)?.options.name;
    (!name.is_empty()).then(|| Arc::clone(name))
}
