//! A queue, and the classes of work in it: what shares a queue and a set of limits waits together.
//!
//! Choosing between queues and classes is the scheduler's business, in `scheduler/fill.rs`.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::id::TaskKey;
use crate::input::Rejection;
use crate::party::Parties;
use crate::policy::{Ageing, Bucket, Priority};
use crate::ready::Lanes;
use crate::spec::{DEFAULT_QUEUE, QueueSpec};
use crate::statistics::Statistics;
use crate::task::{Reason, Task, TaskState};
use crate::time::Moment;
use crate::timer::TimerKey;

/// A lane with weight, slots and rate.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub name: Arc<str>,
    pub spec: QueueSpec,
    /// Whether it is only there for runs that bring it along: nobody has defined it for all.
    pub is_brought: bool,
    pub paused: bool,
    /// Attempts running.
    pub active: u32,
    /// Tasks that are ready.
    pub waiting: u64,
    /// Classes with ready work and no closed limit, in the order in which they opened.
    pub open: Vec<u32>,
    pub bucket: Bucket,
    /// Fires when the rate allows the next start.
    pub timer: Option<TimerKey>,
    /// Aged work went before critical work: the next turn is the critical work's.
    pub owes_critical: bool,
    /// Virtual time at which its next start is charged (start-time fair queueing).
    pub finish_tag: u64,
    /// What an attempt is expected to cost, in nanoseconds.
    pub cost_estimate: u64,
    pub statistics: Statistics,
    /// Who gives way first, where the queue has preemption.
    pub preemptible: Preemptible,
    /// Who shares it fairly, once a task has said so.
    pub parties: Option<Box<Parties>>,
}

/// Running attempts that may give way, and whether one does already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Preemptible {
    /// The least important first, the youngest of them.
    attempts: BTreeSet<(u8, Reverse<Moment>, TaskKey)>,
    giving_way: u32,
}

impl Preemptible {
    /// Whether an attempt has been told to give way and has not ended.
    pub fn is_giving_way(&self) -> bool {
        self.giving_way > 0
    }

    /// The attempt that gives way first, if it is less important than `priority`.
    pub fn below(&self, priority: u8) -> Option<TaskKey> {
        self.attempts.first().filter(|(least, ..)| *least < priority).map(|&(.., key)| key)
    }

    /// Takes a task in as it stands. What must not be tried twice cannot give way and come back.
    pub fn enter(&mut self, key: TaskKey, task: &Task, may_give_way: bool) {
        if task.state == TaskState::Running && may_give_way {
            self.attempts.insert((task.priority, Reverse(task.started_at), key));
        }
        self.giving_way += u32::from(gives_way(task));
    }

    /// Takes a task out as it stood.
    pub fn leave(&mut self, key: TaskKey, task: &Task) {
        if task.state == TaskState::Running {
            self.attempts.remove(&(task.priority, Reverse(task.started_at), key));
        }
        self.giving_way -= u32::from(gives_way(task));
    }
}

fn gives_way(task: &Task) -> bool {
    task.state == TaskState::Cancelling && task.reason == Reason::Preempted
}

impl Queue {
    pub fn new(name: Arc<str>, spec: QueueSpec) -> Self {
        Self {
            name,
            spec,
            is_brought: true,
            paused: false,
            active: 0,
            waiting: 0,
            open: Vec::new(),
            bucket: Bucket::default(),
            timer: None,
            owes_critical: false,
            finish_tag: 0,
            cost_estimate: 1_000_000,
            statistics: Statistics::default(),
            preemptible: Preemptible::default(),
            parties: None,
        }
    }

    /// The one that is always there. It is everybody's, so no run may bring another.
    pub fn of_everybody() -> Self {
        let own = Self::new(Arc::from(DEFAULT_QUEUE), QueueSpec::default());
        Self { is_brought: false, ..own }
    }
}

impl Queue {
    /// Tasks that were accepted and are neither running nor over: what the bound on waiting counts.
    /// Those that wait for other tasks or for time are among them.
    pub fn unstarted(&self) -> u64 {
        let books = &self.statistics;
        let unended = (books.submitted + books.restored).saturating_sub(books.ended());
        unended.saturating_sub(u64::from(self.active))
    }

    /// How many more tasks it takes.
    pub fn room(&self) -> u64 {
        let bound = self.spec.waiting_max.map_or(u64::MAX, u64::from);
        bound.saturating_sub(self.unstarted())
    }

    /// Refuses more tasks than there is room for.
    pub fn check_room(&self, wanted: u64) -> Result<(), Rejection> {
        let max = self.spec.waiting_max.map_or(u64::MAX, u64::from);
        if wanted <= self.room() {
            return Ok(());
        }
        let (queue, current) = (self.name.clone(), self.unstarted());
        Err(Rejection::QueueFull { queue, wanted, current, max })
    }

    /// Counts a start. The rate was looked at before.
    #[inline]
    pub fn attempt_started(&mut self, task: &Task, now: Moment, ageing: Ageing) {
        self.active += 1;
        let waited = now.nanos_since(task.ready_at);
        self.statistics.wait_time.record_nanos(waited);
        if ageing.has_aged(waited) {
            let priority = Priority::new(i64::from(task.priority));
            let promotions = ageing.promotions(priority, Duration::from_nanos(waited));
            self.statistics.promotions += u64::from(promotions);
        }
        if let Some(rate) = self.spec.rate {
            let taken = self.bucket.take(rate, task.ready_at, now);
            debug_assert!(taken.is_ok(), "the rate was looked at before");
        }
    }

    /// Counts an end. Whether it says something about how long work takes is the caller's to know.
    #[inline]
    pub fn attempt_ended(&mut self, ran_nanos: u64, tells_of_work: bool) {
        self.active -= 1;
        if tells_of_work {
            self.statistics.run_time.record_nanos(ran_nanos);
        }
    }

    /// Charges a start with what it is expected to cost. A queue that is alone needs no fairness.
    pub fn charge(&mut self, virtual_time: &mut u64) {
        *virtual_time = (*virtual_time).max(self.finish_tag);
        self.finish_tag = virtual_time.saturating_add(self.cost_estimate / self.weight());
    }

    /// Corrects the charge by what the attempt did cost, and learns for the next.
    pub fn correct_charge(&mut self, ran_nanos: u64, tells_of_work: bool) {
        let weight = self.weight();
        self.finish_tag = self
            .finish_tag
            .saturating_add(ran_nanos / weight)
            .saturating_sub(self.cost_estimate / weight);
        if tells_of_work {
            self.cost_estimate = self.cost_estimate - self.cost_estimate / 8 + ran_nanos / 8;
        }
    }

    fn weight(&self) -> u64 {
        u64::from(self.spec.weight.max(1))
    }
}

/// Work of one queue that needs the same limits. It is passed over as a whole while one is closed,
/// so what cannot start never hides what can.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub queue: u32,
    /// Limits by index, with units: own ones in ascending order, then shared ones by name.
    pub needs: Vec<(u32, u32)>,
    pub lanes: Lanes,
    /// Profiles of it that are known. Without one it is forgotten.
    pub profiles: u32,
    /// The limit it waits for.
    pub blocked_by: Option<u32>,
    /// Whether it stands in its queue's list of open classes.
    pub is_open: bool,
    /// Whether its queue has parties.
    pub has_parties: bool,
}

impl Class {
    /// The place of a limit among its needs, and the units of it.
    pub fn need(&self, limit: u32) -> Option<(usize, u32)> {
        let place = self.needs.iter().position(|(index, _)| *index == limit)?;
        Some((place, self.needs[place].1))
    }
}
