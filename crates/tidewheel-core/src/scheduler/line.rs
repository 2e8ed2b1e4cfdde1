//! Who stands in line: the tasks that have all they need and wait for room, those that go first first.
//!
//! It is what people are shown. Nothing is decided by it, and it looks at so many tasks at the most (`waiting`).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::state::Scheduler;
use super::waiting::{Ahead, Holders, Looks, each_ready};
use crate::explain::Explanation;
use crate::id::{RunKey, TaskKey};
use crate::run::{Run, Work};
use crate::task::{Task, TaskState};
use crate::time::{Moment, Now};

/// The tasks that wait for room, as things stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Those that go first, of each queue in its order; queues one after the other.
    pub tasks: Vec<Standing>,
    /// How many more there are, as far as was counted.
    pub more: u64,
}

/// A task in line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its key.
    pub key: TaskKey,
    /// What holds it, and its place.
    pub explanation: Explanation,
}

/// What decides which of two tasks goes first: queue, priority with age, when it or the first of its run became
/// ready, and inside of a run what else comes of it.
type Turn = (u32, Reverse<u8>, u64, u32, u64);

impl Scheduler {
    /// The tasks that wait for room, at most so many.
    #[must_use]
    pub fn line(&self, now: Now, max: usize) -> Line {
        let now = now.monotonic;
        let mut standing: Vec<(Turn, TaskKey)> = Vec::new();
        let mut looks = Looks::new();
        for (run, work) in &self.works {
            if !looks.take() {
                break;
            }
            let run = RunKey(run);
            match work {
                Work::Run(work) if work.counts.of(TaskState::Ready) > 0 => {
                    self.line_of_run(run, work, now, &mut looks, &mut standing);
                }
                Work::Single(single) if single.task.state == TaskState::Ready => {
                    let (task, queue) = (&single.task, self.classes[single.class as usize].queue);
                    let turn = self.turn(queue, task, now, task.ready_sequence);
                    standing.push((turn, TaskKey { run, index: 0 }));
                }
                _ => {}
            }
        }
        standing.sort_unstable();
        let more = standing.len().saturating_sub(max) as u64;
        let mut ahead: BTreeMap<u32, u64> = BTreeMap::new();
        let mut holders = Holders::default();
        let shown = standing.into_iter().take(max);
        let tasks = shown.filter_map(|((queue, ..), key)| {
            let count = ahead.entry(queue).or_default();
            let before = Ahead { count: *count, is_least: false };
            *count += 1;
            let explanation = self.explain_ready(key, now, before, &mut holders)?;
            Some(Standing { key, explanation })
        });
        Line { tasks: tasks.collect(), more }
    }

    /// Attempts that run, at most so many: as far as they are found among those that are looked at.
    pub fn under_way(&self, max: usize) -> impl Iterator<Item = (TaskKey, u32)> + '_ {
        let found = self.some_running().take(max);
        found.filter_map(|key| Some((key, self.member(key)?.attempts)))
    }

    fn line_of_run(
        &self,
        key: RunKey,
        run: &Run,
        now: Moment,
        looks: &mut Looks,
        standing: &mut Vec<(Turn, TaskKey)>,
    ) {
        for set in &run.sets {
            let queue = self.classes[set.class as usize].queue;
            let mut oldest = None;
            let _ = each_ready(run, set, looks, |index, task| {
                // A set stands where its oldest does.
                let (_, effective, ..) = self.turn(queue, task, now, 0);
                let (since, first) = *oldest.get_or_insert((effective, task.ready_sequence));
                let turn = (queue, since, first, task.rank, task.ready_sequence);
                standing.push((turn, TaskKey { run: key, index }));
                ControlFlow::Continue(())
            });
        }
    }

    fn turn(&self, queue: u32, task: &Task, now: Moment, since: u64) -> Turn {
        let effective = self.effective(task.priority, task.ready_at, now);
        (queue, Reverse(effective), since, task.rank, task.ready_sequence)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::decision::Decision;
    use crate::explain::Hold;
    use crate::graph::Graph;
    use crate::id::RunId;
    use crate::input::{Command, Input, Reply, Submission};
    use crate::policy::Priority;
    use crate::spec::{Config, Profile, RunOptions, RunSpec};

    fn ask(scheduler: &mut Scheduler, command: Command) -> RunKey {
        let mut decision = Decision::volatile();
        scheduler.step(Now::default(), Input::Command(command), &mut decision);
        match decision.open().expect("nothing is to be stored").replies.pop() {
            Some(Ok(Reply::Accepted(run))) => run,
            other => panic!("{other:?}"),
        }
    }

    fn submit(scheduler: &mut Scheduler, number: u128, priority: i64) -> TaskKey {
        let profile = scheduler.profile(&Profile::default()).expect("a plain one");
        let id = RunId(number);
        let priority = Priority::new(priority);
        let submission = Submission { id, profile, priority, ..Submission::default() };
        TaskKey { run: ask(scheduler, Command::Submit(submission)), index: 0 }
    }

    /// One slot that is taken, and five tasks that wait for it.
    fn crowded() -> (Scheduler, Vec<TaskKey>) {
        let mut scheduler = Scheduler::new(Config { slots: Some(1), ..Config::default() });
        submit(&mut scheduler, 1, 50);
        let low = submit(&mut scheduler, 2, 20);
        let graph = Graph::numbered(3, []).expect("three tasks");
        let seconds = |index: u32| if index == 1 { 9 } else { 1 };
        let graph = graph.with_estimates(|index| Duration::from_secs(seconds(index)));
        let spec = RunSpec::new(Arc::new(graph), RunOptions::default(), Profile::default());
        let run = ask(&mut scheduler, Command::SubmitRun { id: RunId(3), spec: Arc::new(spec) });
        let of_run = [1, 0, 2].map(|index| TaskKey { run, index });
        let high = submit(&mut scheduler, 4, 90);
        let expected = [high].into_iter().chain(of_run).chain([low]).collect();
        (scheduler, expected)
    }

    #[test]
    fn those_that_go_first_stand_first() {
        let (scheduler, expected) = crowded();
        let line = scheduler.line(Now::default(), 10);
        let keys: Vec<TaskKey> = line.tasks.iter().map(|it| it.key).collect();
        assert_eq!((keys, line.more), (expected, 0));
        let last = &line.tasks[4].explanation;
        assert!(last.holds.contains(&Hold::SchedulerFull { active: 1, slots: 1 }), "{last}");
        assert!(last.holds.contains(&Hold::Order { ahead: 4, is_least: false }), "{last}");
        assert_eq!(last.place.as_ref().map(|place| place.ahead), Some(4));
    }

    #[test]
    fn they_start_in_the_order_in_which_they_stand() {
        let (mut scheduler, expected) = crowded();
        let mut decision = Decision::volatile();
        let mut started = Vec::new();
        while started.len() < expected.len() {
            let (task, attempt) = scheduler.running().next().expect("one runs");
            let outcome = crate::input::Outcome::Succeeded;
            let event = crate::input::Event::AttemptEnded { task, attempt, outcome };
            decision.clear();
            scheduler.step(Now::default(), Input::Event(event), &mut decision);
            started.extend(scheduler.running().map(|(task, _)| task));
        }
        assert_eq!(started, expected);
    }

    #[test]
    fn of_many_only_the_first_are_shown_and_the_rest_counted() {
        let (scheduler, expected) = crowded();
        let line = scheduler.line(Now::default(), 2);
        let keys: Vec<TaskKey> = line.tasks.iter().map(|it| it.key).collect();
        assert_eq!((keys.as_slice(), line.more), (&expected[..2], 3));
    }
}
