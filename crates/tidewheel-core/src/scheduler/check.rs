//! Recomputing what is kept in counters and indexes, and comparing. For tests and simulations.
//!
//! It looks at everything, so it is far too slow for every step of a large scheduler.

use std::collections::BTreeMap;

use super::state::Scheduler;
use crate::id::{ProfileId, RunKey};
use crate::input::Fires;
use crate::limit::LimitKind;
use crate::run::Work;
use crate::task::{Task, TaskState};

#[derive(Default, PartialEq, Eq, Debug)]
struct Usage {
    active: u32,
    delayed: u64,
    queue_active: BTreeMap<u32, u32>,
    queue_waiting: BTreeMap<u32, u64>,
    queue_unended: BTreeMap<u32, u64>,
    units: BTreeMap<u32, u64>,
}

impl Scheduler {
    /// Checks every invariant that can be recomputed.
    ///
    /// # Panics
    ///
    /// When one does not hold; the message says which.
    pub fn check(&self) {
        assert!(self.ended.is_empty(), "consequences are left undrawn");
        assert!(self.fresh.is_empty(), "ready tasks are left without a place");
        let mut usage = Usage::default();
        for (key, work) in &self.works {
            match work {
                Work::Run(run) => {
                    let mut active = 0;
                    let mut ready = vec![0; run.sets.len()];
                    for (index, task) in run.tasks.iter().enumerate() {
                        self.add_usage(work, index as u32, task, &mut usage);
                        active += u32::from(task.state.holds_slot());
                        if task.state == TaskState::Ready && !task.held_by_key {
                            ready[run.profiles[task.profile.0 as usize].set as usize] += 1;
                        }
                        assert!(
                            run.result.is_none() || task.state.is_terminal(),
                            "a finished run has a task that is {}",
                            task.state
                        );
                    }
                    let unended = run.tasks.iter().filter(|task| !task.state.is_terminal());
                    assert_eq!(run.unended as usize, unended.count(), "unended of run {}", run.id);
                    assert_eq!(run.active, active, "active attempts of run {}", run.id);
                    assert_eq!(
                        run.counts.total() as usize,
                        run.tasks.len(),
                        "counts of run {}",
                        run.id
                    );
                    for state in TaskState::ALL {
                        let count = run.tasks.iter().filter(|task| task.state == state).count();
                        assert_eq!(run.counts.of(state) as usize, count, "{state} in {}", run.id);
                    }
                    for (set, count) in run.sets.iter().zip(ready) {
                        assert_eq!(set.len(), count, "ready set of run {}", run.id);
                        assert!(
                            set.listed || set.len() == 0 || run.is_held(),
                            "a ready set of run {} stands in no lane",
                            run.id
                        );
                    }
                    match run.levels {
                        Some(_) => self.check_levels(RunKey(key)),
                        None => self.check_blocked(run),
                    }
                }
                Work::Single(single) => {
                    self.add_usage(work, 0, &single.task, &mut usage);
                    assert!(!single.task.state.is_terminal(), "an ended submission is kept");
                }
            }
        }
        self.check_usage(&usage);
        self.check_classes();
        self.check_schedules();
        self.check_profiles();
        self.check_parties();
        let mut preemptible = self.find_preemptible();
        for (queue, index) in self.queues.iter().zip(0..) {
            let found = preemptible.remove(&index).unwrap_or_default();
            assert_eq!(queue.preemptible, found, "who may give way in queue `{}`", queue.name);
        }
    }

    fn add_usage(&self, work: &Work, index: u32, task: &Task, usage: &mut Usage) {
        let class = &self.classes[work.class(index) as usize];
        let unended = u64::from(!task.state.is_terminal());
        *usage.queue_unended.entry(class.queue).or_default() += unended;
        match task.state {
            TaskState::Running | TaskState::Cancelling => {
                usage.active += 1;
                *usage.queue_active.entry(class.queue).or_default() += 1;
                for &(limit, units) in &class.needs {
                    *usage.units.entry(limit).or_default() += u64::from(units);
                }
            }
            TaskState::Ready => *usage.queue_waiting.entry(class.queue).or_default() += 1,
            TaskState::Delayed => usage.delayed += 1,
            _ => {}
        }
    }

    fn check_usage(&self, usage: &Usage) {
        assert_eq!(self.active, usage.active, "active attempts");
        assert_eq!(self.delayed, usage.delayed, "delayed tasks");
        assert_eq!(self.waiting, usage.queue_waiting.values().sum::<u64>(), "ready tasks");
        for (index, queue) in self.queues.iter().enumerate() {
            let index = index as u32;
            let active = usage.queue_active.get(&index).copied().unwrap_or(0);
            assert_eq!(queue.active, active, "active attempts of queue `{}`", queue.name);
            let waiting = usage.queue_waiting.get(&index).copied().unwrap_or(0);
            assert_eq!(queue.waiting, waiting, "waiting tasks of queue `{}`", queue.name);
            let unended = usage.queue_unended.get(&index).copied().unwrap_or(0);
            let books = &queue.statistics;
            let (came, went) = (books.submitted + books.restored, books.ended());
            assert_eq!(came, went + unended, "the books of queue `{}`", queue.name);
        }
        for (index, limit) in self.limits.iter().enumerate() {
            if let LimitKind::Units { used, .. } = limit.kind {
                let held = usage.units.get(&(index as u32)).copied().unwrap_or(0);
                assert_eq!(used, held, "units of limit `{}` in use", limit.name);
                let share = limit.share.as_ref();
                assert!(
                    share.is_none_or(|share| used <= u64::from(share.held)),
                    "more units of limit `{}` in use than were given",
                    limit.name
                );
            }
        }
    }

    /// Every profile in use is counted as often as it is used.
    fn check_profiles(&self) {
        let mut users: Vec<u32> = Vec::new();
        let mut count = |profile: ProfileId| {
            let index = profile.0 as usize;
            users.resize(users.len().max(index + 1), 0);
            users[index] += 1;
        };
        for work in self.works.values() {
            match work {
                Work::Run(run) => run.profiles.iter().for_each(|used| count(used.profile)),
                Work::Single(single) => count(single.task.profile),
            }
        }
        for entry in self.schedules.values() {
            if let Fires::Task { profile, .. } = entry.fires {
                count(profile);
            }
        }
        self.profiles.check(&users);
    }

    /// What a schedule counts as running is there, and is found again by every name it has.
    fn check_schedules(&self) {
        assert_eq!(self.schedule_keys.len(), self.schedules.len(), "schedules by identity");
        for (key, entry) in &self.schedules {
            let (id, outstanding) = (entry.id, entry.schedule.counters().outstanding as usize);
            let under_way = entry.running.len() + entry.wanted.len();
            assert_eq!(outstanding, under_way, "firings of schedule {id} that have not ended");
            assert!(entry.running.iter().all(|run| self.works.contains_key(*run)), "{id}");
            assert_eq!(self.schedule_keys.get(&id), Some(&key), "schedule {id} by identity");
            let name = entry.spec.name.as_ref().filter(|_| !entry.schedule.is_ended());
            assert!(name.is_none_or(|name| self.schedule_names.get(name) == Some(&key)), "{id}");
        }
    }

    /// A class with ready work is open or waits for a limit that knows of it.
    fn check_classes(&self) {
        let kept = self.class_of.len() + self.free_classes.len();
        assert_eq!(kept, self.classes.len(), "classes known and forgotten");
        for (index, class) in self.classes.iter().enumerate() {
            let index = index as u32;
            if let Some(limit) = class.blocked_by {
                let waiting = &self.limits[limit as usize].waiting;
                assert!(waiting.contains(&index), "a blocked class nobody will wake");
            } else if !class.lanes.is_empty() {
                let open = &self.queues[class.queue as usize].open;
                assert!(class.is_open && open.contains(&index), "a class with work is closed");
            }
        }
    }

    /// A blocked task waits for something that has not ended, and counts it.
    fn check_blocked(&self, run: &crate::run::Run) {
        let mut pending = vec![0_u32; run.tasks.len()];
        for index in 0..run.tasks.len() as u32 {
            if !run.tasks[index as usize].state.is_terminal() {
                for successor in run.successors(index) {
                    pending[successor as usize] += 1;
                }
            }
        }
        for (index, (task, pending)) in run.tasks.iter().zip(pending).enumerate() {
            if task.state == TaskState::Blocked {
                assert!(pending > 0, "task {index} of run {} waits for nothing", run.id);
                assert_eq!(
                    run.pending[index], pending,
                    "dependencies of task {index} of {}",
                    run.id
                );
            }
        }
    }
}
