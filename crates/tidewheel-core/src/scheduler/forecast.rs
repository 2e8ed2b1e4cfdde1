//! When a task will start: the scheduler itself, played ahead with the durations that are expected.
//!
//! No rule is written a second time: a copy is stepped on a clock of its own, in which every attempt ends
//! well after the time it is expected to take. The scheduler that was copied does not notice.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::time::Duration;

use super::line::Line;
use super::state::Scheduler;
use super::waiting::note_look;
use crate::decision::{Action, Decision, Start};
use crate::id::TaskKey;
use crate::input::{Command, Event, Input, Outcome, Rejection, Reply};
use crate::run::{Run, Work};
use crate::task::TaskState;
use crate::time::{Moment, Now, duration_nanos};

/// Tasks and schedules up to which there is a look ahead: nobody decides while they are copied.
const TASKS_MAX: usize = 50_000;

/// Steps that are played at the most, because schedules fire for ever.
const STEPS_MAX: u32 = 500_000;

/// How far ahead is looked. Schedules fire for ever, and each firing is played: beyond this nobody knows.
const HORIZON: Duration = Duration::from_secs(7 * 86_400);

/// What is to come, if everything takes as long as expected and nothing fails.
///
/// It is a copy: asking it takes time, but none of the scheduler's.
#[derive(Debug, Clone)]
pub struct Forecast {
    pub(super) scheduler: Scheduler,
    asked_at: Now,
    now: Moment,
    under_way: BinaryHeap<UnderWay>,
    started: u64,
    /// What starts at once, by what was supposed.
    at_once: Vec<TaskKey>,
}

/// An attempt of the future: when it ends, then in the order of starting.
type UnderWay = Reverse<(Moment, u64, TaskKey, u32)>;

impl Scheduler {
    /// A look ahead, unless there is too much work for one.
    #[must_use]
    pub fn forecast(&self, now: Now) -> Option<Forecast> {
        // Names that work was accepted under are not copied.
        let schedules = self.schedules.len();
        if self.works.len() + schedules > TASKS_MAX {
            return None;
        }
        let tasks = self.works.values().map(|work| match work {
            Work::Run(run) => run.tasks.len(),
            Work::Single(_) => 1,
        });
        let tasks: usize = tasks.sum();
        if tasks + schedules > TASKS_MAX {
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
            at_once: Vec::new(),
        };
        forecast.scheduler.count_overdue(now.monotonic);
        for (task, attempt) in self.running() {
            forecast.goes_on(task, attempt);
        }
        Some(forecast)
    }

    /// Whether a task may start without somebody doing something: it has not ended, and no pause holds it, nor a
    /// place that its run waits for.
    #[must_use]
    pub fn can_start_by_itself(&self, key: TaskKey) -> bool {
        let Some(task) = self.member(key) else { return false };
        let work = self.work(key);
        let queue = self.classes[work.class(key.index) as usize].queue;
        let stands_still = matches!(work, Work::Run(run) if run.stands_still());
        let is_paused = !self.may_start() || self.queues[queue as usize].paused || stands_still;
        !task.state.is_terminal() && !is_paused
    }

    /// Lets attempts that have been running for longer than others of their queue took count in the average of it: what
    /// takes long would not before it has ended.
    fn count_overdue(&mut self, now: Moment) {
        let overdue = |task: TaskKey| {
            let queue = self.classes[self.work(task).class(task.index) as usize].queue as usize;
            let ran = now.since(self.member(task)?.started_at);
            let mean = self.queues[queue].statistics.run_time.mean()?;
            (ran > mean).then_some((queue, ran))
        };
        let found: Vec<_> = self.running().filter_map(|(task, _)| overdue(task)).collect();
        for (queue, ran) in found {
            self.queues[queue].statistics.run_time.record(ran);
        }
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
    /// What would be to come if this were asked for now.
    ///
    /// # Errors
    ///
    /// When it would be refused.
    pub fn suppose(&mut self, command: Command) -> Result<Reply, Rejection> {
        let mut decision = Decision::volatile();
        self.scheduler.step(self.time(), Input::Command(command), &mut decision);
        let mut at_once = Vec::new();
        self.follow(&decision, |task, _| {
            at_once.push(task);
            false
        });
        self.at_once.append(&mut at_once);
        let outputs = decision.open().expect("a copy stores nothing");
        outputs.replies.pop().expect("a command is answered")
    }

    /// The tasks that wait for room, at most so many.
    #[must_use]
    pub fn line(&self, max: usize) -> Line {
        self.scheduler.line(self.time(), max)
    }

    /// How long it is until the next attempt at a task starts. Nobody knows where it is held by
    /// something that has no expected end: a pause, a person, work of which no duration is known.
    #[must_use]
    pub fn start_of(self, task: TaskKey) -> Option<Duration> {
        self.starts_of(&BTreeSet::from([task])).first().map(|(_, at)| *at)
    }

    /// The next attempts at these tasks in the order in which they start, each with how long it is until then. Those
    /// that never do are not among them.
    #[must_use]
    pub fn starts_of(mut self, tasks: &BTreeSet<TaskKey>) -> Vec<(TaskKey, Duration)> {
        let mut open = tasks.clone();
        // For what nothing can start, nothing is played.
        open.retain(|task| {
            self.at_once.contains(task) || self.scheduler.can_start_by_itself(*task)
        });
        let mut starts = Vec::with_capacity(open.len());
        if open.is_empty() {
            return starts;
        }
        self.play(|started, at| {
            if open.remove(&started) {
                starts.push((started, at));
            }
            open.is_empty()
        });
        starts
    }

    /// Lets what is under way end and time pass, until nothing more is to come or `seen` has seen enough.
    fn play(&mut self, mut seen: impl FnMut(TaskKey, Duration) -> bool) {
        if std::mem::take(&mut self.at_once).into_iter().any(|task| seen(task, Duration::ZERO)) {
            return;
        }
        let mut decision = Decision::volatile();
        for _ in 0..STEPS_MAX {
            let Some(input) = self.next_input() else { return };
            if self.now.since(self.asked_at.monotonic) > HORIZON {
                return;
            }
            note_look();
            decision.clear();
            self.scheduler.step(self.time(), input, &mut decision);
            if self.follow(&decision, &mut seen) {
                return;
            }
        }
    }

    /// Does what was decided, as far as it matters here. Whether `seen` has seen enough.
    fn follow(
        &mut self,
        decision: &Decision,
        mut seen: impl FnMut(TaskKey, Duration) -> bool,
    ) -> bool {
        for action in decision.unstored_actions() {
            match action {
                Action::StartAttempt(Start { task, attempt, .. }) => {
                    if seen(*task, self.now.since(self.asked_at.monotonic)) {
                        return true;
                    }
                    self.begins(*task, *attempt);
                }
                // What is told to stop does so.
                Action::StopAttempt { task, attempt, .. } => {
                    self.ends_at(self.now, *task, *attempt);
                }
                _ => {}
            }
        }
        false
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
        let is_stopped =
            self.scheduler.member(task).is_some_and(|task| task.state == TaskState::Cancelling);
        let outcome = if is_stopped { Outcome::Cancelled } else { Outcome::Succeeded };
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::waiting::LOOKS;
    use super::*;
    use crate::id::{RunId, RunKey, ScheduleId};
    use crate::input::{Command, Fires, Reply, Submission};
    use crate::schedule::{Anchor, ScheduleSpec, Trigger};
    use crate::spec::{Config, Profile};

    fn ask(scheduler: &mut Scheduler, command: Command) -> Option<RunKey> {
        let mut decision = Decision::volatile();
        scheduler.step(Now::default(), Input::Command(command), &mut decision);
        match decision.open().expect("nothing is to be stored").replies.pop() {
            Some(Ok(Reply::Accepted(run))) => Some(run),
            Some(Err(rejection)) => panic!("{rejection}"),
            _ => None,
        }
    }

    #[test]
    fn schedules_that_fire_for_ever_are_not_played_for_ever_nor_for_what_is_paused() {
        let mut scheduler = Scheduler::new(Config { slots: Some(1), ..Config::default() });
        let profile = scheduler.profile(&Profile::default()).expect("a plain one");
        let submission = |number: u128| {
            Command::Submit(Submission { id: RunId(number), profile, ..Submission::default() })
        };
        // Nobody knows how long the first takes, so the second is never seen to start.
        ask(&mut scheduler, submission(1));
        let second = ask(&mut scheduler, submission(2)).expect("it was accepted");
        let (period, start) = (Duration::from_secs(3_600), Anchor::NOW);
        let spec = Box::new(ScheduleSpec::new(Trigger::FixedRate { period, start }));
        ask(&mut scheduler, Command::AddSchedule { id: ScheduleId(3), spec, fires: Fires::Run });
        let mut forecast = scheduler.forecast(Now::default()).expect("it is little work");
        let mut steps = 0;
        forecast.play(|_, _| {
            steps += 1;
            false
        });
        assert!(forecast.now <= Moment::ZERO.after(HORIZON + Duration::from_secs(3_600)));
        assert_eq!(steps, 0);
        let task = TaskKey { run: second, index: 0 };
        let start = |scheduler: &Scheduler| {
            scheduler.forecast(Now::default()).expect("as before").start_of(task)
        };
        LOOKS.set(0);
        assert_eq!(start(&scheduler), None);
        assert!(LOOKS.get() > 100, "nobody knows before it is played");
        // Nor for what a pause holds, which is known beforehand.
        let queue: Arc<str> = Arc::from("default");
        for (pause, resume) in [
            (Command::Pause, Command::Resume),
            (Command::PauseQueue(queue.clone()), Command::ResumeQueue(queue)),
        ] {
            ask(&mut scheduler, pause);
            LOOKS.set(0);
            assert_eq!((start(&scheduler), LOOKS.get()), (None, 0));
            ask(&mut scheduler, resume);
        }
        assert!(scheduler.can_start_by_itself(task));
    }
}
