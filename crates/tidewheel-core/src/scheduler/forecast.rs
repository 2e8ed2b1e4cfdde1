//! When a task will start: the scheduler itself, played ahead with the durations that are expected.
//!
//! No rule is written a second time: a copy is stepped on a clock of its own, in which every attempt ends
//! well after the time it is expected to take. The scheduler that was copied does not notice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use super::state::Scheduler;
use crate::decision::{Action, Decision, Start};
use crate::id::TaskKey;
use crate::input::{Event, Input, Outcome};
use crate::run::{Run, Work};
use crate::time::{Moment, Now, duration_nanos};

/// Tasks up to which there is a look ahead: nobody decides while they are copied.
const TASKS_MAX: usize = 50_000;

/// Steps that are played at the most, because schedules fire for ever.
const STEPS_MAX: u32 = 500_000;

/// What is to come, if everything takes as long as expected and nothing fails.
///
/// It is a copy: asking it takes time, but none of the scheduler's.
#[derive(Debug)]
pub struct Forecast {
    scheduler: Scheduler,
    asked_at: Now,
    now: Moment,
    under_way: BinaryHeap<UnderWay>,
    started: u64,
}

/// An attempt of the future: when it ends, then in the order of starting.
type UnderWay = Reverse<(Moment, u64, TaskKey, u32)>;

impl Scheduler {
    /// A look ahead, unless there is too much work for one.
    #[must_use]
    pub fn forecast(&self, now: Now) -> Option<Forecast> {
        if self.works.len() > TASKS_MAX {
            return None;
        }
        let tasks = self.works.values().map(|work| match work {
            Work::Run(run) => run.tasks.len(),
            Work::Single(_) => 1,
        });
        let tasks: usize = tasks.sum();
        if tasks > TASKS_MAX {
            return None;
        }
        let mut scheduler = self.clone();
        scheduler.config.notices = false;
        let mut forecast = Forecast {
            scheduler,
            asked_at: now,
            now: now.monotonic,
            under_way: BinaryHeap::new(),
            started: 0,
        };
        for (task, attempt) in self.running() {
            forecast.goes_on(task, attempt);
        }
        Some(forecast)
    }

    /// How long an attempt at a task is expected to take: as its run says; else nothing, if others do the
    /// work; else as others of its queue took, else as the other tasks of its run are expected to.
    fn expected_duration(&self, key: TaskKey) -> Option<Duration> {
        let work = self.works.get(key.run.0)?;
        let queue = self.classes[work.class(key.index) as usize].queue;
        let own = match work {
            Work::Run(run) => run.estimate(key.index),
            Work::Single(_) => None,
        };
        let works_by_others = || {
            let levels = self.levels(key.run)?;
            let is_end = levels.level_ended_by(key.index).is_some();
            (is_end || levels.opens(key.index)).then_some(Duration::ZERO)
        };
        own.or_else(works_by_others)
            .or_else(|| self.queues[queue as usize].statistics.run_time.mean())
            .or_else(|| match work {
                Work::Run(run) => run.mean_estimate(),
                Work::Single(_) => None,
            })
    }
}

impl Forecast {
    /// How long it is until the next attempt at a task starts. Nobody knows where it is held by
    /// something that has no expected end: a pause, a person, work of which no duration is known.
    #[must_use]
    pub fn start_of(mut self, task: TaskKey) -> Option<Duration> {
        let mut found = None;
        self.play(|started, at| {
            found = (started == task).then_some(at);
            found.is_some()
        });
        found
    }

    /// How long it is until the next attempt of each task starts that has one to come.
    #[must_use]
    pub fn starts(mut self) -> BTreeMap<TaskKey, Duration> {
        let mut starts = BTreeMap::new();
        self.play(|started, at| {
            starts.entry(started).or_insert(at);
            false
        });
        starts
    }

    /// Lets what is under way end and time pass, until nothing more is to come or `seen` has seen enough.
    fn play(&mut self, mut seen: impl FnMut(TaskKey, Duration) -> bool) {
        let mut decision = Decision::volatile();
        for _ in 0..STEPS_MAX {
            let Some(input) = self.next_input() else { return };
            decision.clear();
            self.scheduler.step(self.time(), input, &mut decision);
            for action in decision.unstored_actions() {
                let Action::StartAttempt(Start { task, attempt, .. }) = action else { continue };
                if seen(*task, self.now.since(self.asked_at.monotonic)) {
                    return;
                }
                self.begins(*task, *attempt);
            }
        }
    }

    /// The next thing to happen; the clock is set to it.
    fn next_input(&mut self) -> Option<Input> {
        let end = self.under_way.peek().map(|Reverse((end, ..))| *end);
        let wakeup = self.scheduler.next_wakeup();
        let time_passes = wakeup.is_some_and(|wakeup| end.is_none_or(|end| wakeup <= end));
        if time_passes {
            self.now = self.now.max(wakeup?);
            return Some(Input::Event(Event::TimePassed));
        }
        let Reverse((end, _, task, attempt)) = self.under_way.pop()?;
        self.now = self.now.max(end);
        let outcome = Outcome::Succeeded;
        Some(Input::Event(Event::AttemptEnded { task, attempt, outcome }))
    }

    fn time(&self) -> Now {
        let ahead = self.now.since(self.asked_at.monotonic);
        Now { monotonic: self.now, wall: self.asked_at.wall.after(ahead) }
    }

    /// An attempt starts in the future. One of which nothing is known never ends there.
    fn begins(&mut self, task: TaskKey, attempt: u32) {
        if let Some(expected) = self.scheduler.expected_duration(task) {
            self.ends_at(self.now.after(expected), task, attempt);
        }
    }

    /// An attempt runs already. One that should have ended is taken to go on for as long as it is late.
    fn goes_on(&mut self, task: TaskKey, attempt: u32) {
        let Some(started) = self.scheduler.member(task).map(|task| task.started_at) else { return };
        let Some(expected) = self.scheduler.expected_duration(task) else { return };
        let late = self.now.since(started).saturating_sub(expected);
        let end = if late.is_zero() { started.after(expected) } else { self.now.after(late) };
        self.ends_at(end, task, attempt);
    }

    fn ends_at(&mut self, end: Moment, task: TaskKey, attempt: u32) {
        self.started += 1;
        self.under_way.push(Reverse((end, self.started, task, attempt)));
    }
}

impl Run {
    /// How long a task is expected to take, where that was said.
    fn estimate(&self, index: u32) -> Option<Duration> {
        let estimate = match index.checked_sub(self.graph().len()) {
            None => Some(self.graph().estimate(index)),
            Some(added) => self.added[added as usize].estimate,
        };
        estimate.filter(|estimate| !estimate.is_zero())
    }

    /// The mean over the tasks of the graph of which it was said.
    fn mean_estimate(&self) -> Option<Duration> {
        let known = (0..self.graph().len()).filter_map(|index| self.estimate(index));
        let (sum, count) = known.fold((0_u128, 0_u128), |(sum, count), estimate| {
            (sum + u128::from(duration_nanos(estimate)), count + 1)
        });
        let mean = sum.checked_div(count)?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }
}
