//! A run in memory: its tasks, what waits for what, and the ready sets they stand in.
//!
//! A single submission is kept in a smaller form beside it. Decisions about either are made in
//! `scheduler/`; here is only the data and what can be read off it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slotmap::DefaultKey;

use crate::graph::Graph;
use crate::id::{ProfileId, RunId};
use crate::level::Levels;
use crate::policy::{OnSkip, Priority};
use crate::ready::{Entry, ReadySet};
use crate::report::Counts;
use crate::row::RunResult;
use crate::spec::{Attachment, RunOrder, RunSpec, TaskSpec};
use crate::task::{Reason, Task, TaskState};
use crate::time::{Moment, Timestamp, duration_nanos};
use crate::timer::TimerKey;

/// What the scheduler holds: a run of many tasks, or one task on its own.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Run(Box<Run>),
    Single(Single),
}

/// One task on its own.
#[derive(Debug, Clone)]
pub(crate) struct Single {
    pub id: RunId,
    pub task: Task,
    pub class: u32,
    /// What its entry in a lane is known by. It is another one whenever its priority has changed, so that the entry
    /// it leaves behind stands for nothing.
    pub mark: u32,
    /// The schedule whose firing it is.
    pub schedule: Option<DefaultKey>,
    pub extra: Option<Box<Extra>>,
}

impl Single {
    /// Whether it is ready and this is its entry.
    #[inline]
    pub fn stands_at(&self, entry: &Entry) -> bool {
        self.task.state == TaskState::Ready
            && self.task.ready_sequence == entry.sequence
            && self.mark == entry.set
    }
}

/// What few tasks have.
#[derive(Debug, Default, Clone)]
pub(crate) struct Extra {
    /// Attempts lost with their worker.
    pub lost: u32,
    /// Attempts that do not count against retries: lost, preempted, handed back, postponed.
    pub uncounted: u32,
    pub error: Option<Arc<str>>,
    pub deadline: Option<Moment>,
    pub key: Option<Arc<str>>,
    /// When the delay ends.
    pub until: Option<Moment>,
    pub delay_timer: Option<TimerKey>,
    pub timeout_timer: Option<TimerKey>,
    /// Breakers that admitted the running attempt: limit and epoch.
    pub probes: Vec<(u32, crate::policy::Epoch)>,
    /// The nominal instant of the firing it came from.
    pub nominal: Option<Timestamp>,
    /// What travels with a single submission.
    pub attachment: Option<Arc<Attachment>>,
}

/// A profile as a run uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunProfile {
    pub profile: ProfileId,
    /// The ready set its tasks stand in.
    pub set: u32,
}

/// As many are looked through to find one; among more of them it has a number in a table.
const FEW: usize = 32;

/// Which profile or ready set of a run has which number, where there are more than [`FEW`].
#[derive(Debug, Clone, Default)]
struct Numbers {
    profiles: BTreeMap<ProfileId, u32>,
    /// By class, priority and party.
    sets: BTreeMap<(u32, u8, u32), u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub id: RunId,
    pub spec: Arc<RunSpec>,
    pub tasks: Vec<Task>,
    /// Dependencies of each task that have not ended. Apart from the tasks, because this is all
    /// that most visits to a dependent need.
    pub pending: Vec<u32>,
    pub profiles: Vec<RunProfile>,
    pub sets: Vec<ReadySet>,
    /// The numbers of both, where there are many.
    numbers: Numbers,
    /// The priority of tasks without one of their own, where it was changed while live.
    pub priority: Option<Priority>,
    /// Tasks that were given a priority of their own while live.
    pub own_priorities: BTreeMap<u32, Priority>,
    /// Tasks added while live, and the edges to and from them.
    pub added: Vec<Arc<TaskSpec>>,
    pub added_index: BTreeMap<Arc<str>, u32>,
    pub added_successors: BTreeMap<u32, Vec<u32>>,
    /// What each rank stands for, to find the rank of added tasks.
    rank_keys: Vec<RankKey>,
    /// No word for skips, no groups, no conditions: all that succeeded, or had nothing to do, lets
    /// everything after it go on.
    pub is_plain: bool,
    /// How groups stand, if there are groups or conditions.
    pub levels: Option<Box<Levels>>,
    pub counts: Counts,
    /// Tasks that have not ended.
    pub unended: u32,
    pub active: u32,
    /// Attempts at once.
    pub slots_max: u32,
    pub paused: bool,
    /// It has no place in its concurrency group yet, and waits for one.
    pub awaits_place: bool,
    /// Who had the places when it was last told.
    pub place_holders: Vec<RunId>,
    /// Why nothing more starts.
    pub stopped: Option<Reason>,
    pub keep_open: bool,
    /// A failure nobody's word tolerated.
    pub failed: bool,
    pub result: Option<RunResult>,
    pub extras: BTreeMap<u32, Extra>,
    pub accepted_at: Timestamp,
    pub started_at: Moment,
    pub ended_at: Moment,
    /// The schedule whose firing it is.
    pub schedule: Option<DefaultKey>,
    pub timeout_timer: Option<TimerKey>,
}

/// Deadline, then longest path first.
type RankKey = (Moment, Reverse<u64>);

impl Run {
    pub fn new(id: RunId, spec: Arc<RunSpec>, now: Moment, accepted_at: Timestamp) -> Self {
        Self {
            id,
            tasks: Vec::new(),
            pending: Vec::new(),
            profiles: Vec::new(),
            sets: Vec::new(),
            numbers: Numbers::default(),
            priority: None,
            own_priorities: BTreeMap::new(),
            added: Vec::new(),
            added_index: BTreeMap::new(),
            added_successors: BTreeMap::new(),
            rank_keys: Vec::new(),
            is_plain: !spec.is_special()
                && spec.options.on_skip == OnSkip::Continue
                && spec.profiles.iter().all(|profile| profile.on_skip.is_none()),
            levels: spec.is_special().then(|| Box::new(Levels::new(&spec, &[]))),
            counts: Counts::default(),
            unended: 0,
            active: 0,
            slots_max: spec.options.slots.unwrap_or(u32::MAX),
            paused: spec.options.paused,
            awaits_place: spec.options.group.is_some(),
            place_holders: Vec::new(),
            stopped: None,
            keep_open: spec.options.keep_open,
            failed: false,
            result: None,
            extras: BTreeMap::new(),
            accepted_at,
            started_at: now,
            ended_at: Moment::MAX,
            schedule: None,
            timeout_timer: None,
            spec,
        }
    }

    /// The number that a profile has in the run.
    pub fn find_profile(&self, profile: ProfileId) -> Option<u32> {
        if self.profiles.len() > FEW {
            return self.numbers.profiles.get(&profile).copied();
        }
        let found = self.profiles.iter().position(|known| known.profile == profile);
        found.map(|number| number as u32)
    }

    /// Lets the run use a profile, and gives its number.
    pub fn add_profile(&mut self, profile: RunProfile) -> u32 {
        self.profiles.push(profile);
        let number = self.profiles.len() as u32 - 1;
        if self.profiles.len() > FEW {
            let known = &mut self.numbers.profiles;
            let from = if known.is_empty() { 0 } else { number };
            for (profile, number) in self.profiles[from as usize..].iter().zip(from..) {
                known.entry(profile.profile).or_insert(number);
            }
        }
        number
    }

    /// The set in which ready tasks stand that are treated so.
    pub fn find_set(&self, class: u32, priority: u8, party: u32) -> Option<u32> {
        let alike = (class, priority, party);
        if self.sets.len() > FEW {
            return self.numbers.sets.get(&alike).copied();
        }
        let found = self.sets.iter().position(|set| !set.is_retired && set.treatment() == alike);
        found.map(|number| number as u32)
    }

    /// Adds a set for tasks that are treated so, and gives its number.
    pub fn add_set(&mut self, class: u32, priority: u8, party: u32, ranks: usize) -> u32 {
        let number = self.sets.len() as u32;
        self.sets.push(self.make_set(class, priority, party, ranks));
        self.number_set(number);
        number
    }

    /// An empty set for tasks that are treated so.
    pub fn make_set(&self, class: u32, priority: u8, party: u32, ranks: usize) -> ReadySet {
        if self.sets.len() < FEW {
            ReadySet::new(class, priority, party, ranks)
        } else {
            ReadySet::sparse(class, priority, party)
        }
    }

    /// Remembers which number a new set has.
    pub fn number_set(&mut self, number: u32) {
        if self.sets.len() <= FEW {
            return;
        }
        if !self.numbers.sets.is_empty() {
            self.numbers.sets.insert(self.sets[number as usize].treatment(), number);
            return;
        }
        let all = self.sets.iter().zip(0..).filter(|(set, _)| !set.is_retired);
        self.numbers.sets = all.map(|(set, number)| (set.treatment(), number)).collect();
    }

    pub fn graph(&self) -> &Graph {
        &self.spec.graph
    }

    pub fn name(&self, index: u32) -> Arc<str> {
        match index.checked_sub(self.graph().len()) {
            None => Arc::from(&*self.graph().name(index)),
            Some(added) => self.added[added as usize].name.clone(),
        }
    }

    pub fn find(&self, name: &str) -> Option<u32> {
        self.graph().index_of(name).or_else(|| self.added_index.get(name).copied())
    }

    /// Tasks that wait for `index`, those added while live last.
    pub fn successors(&self, index: u32) -> impl Iterator<Item = u32> + '_ {
        let of_graph =
            if index < self.graph().len() { self.graph().successors(index) } else { &[] };
        let added = if self.added_successors.is_empty() {
            &[][..]
        } else {
            self.added_successors.get(&index).map_or(&[][..], Vec::as_slice)
        };
        of_graph.iter().copied().chain(added.iter().copied())
    }

    /// Tasks that `index` waits for, found by looking at every edge.
    pub fn dependencies(&self, index: u32) -> Vec<u32> {
        let mut dependencies = match index.checked_sub(self.graph().len()) {
            None => self.graph().dependencies(index),
            Some(added) => self.added[added as usize].after.clone(),
        };
        for (added, spec) in (self.graph().len()..).zip(&self.added) {
            if spec.before.contains(&index) {
                dependencies.push(added);
            }
        }
        dependencies
    }

    pub fn extra(&self, index: u32) -> Option<&Extra> {
        if self.extras.is_empty() { None } else { self.extras.get(&index) }
    }

    /// The priority that tasks have that were given no other.
    pub fn usual_priority(&self) -> Priority {
        self.priority.unwrap_or_else(|| self.asked_usual())
    }

    /// The priority that a task has: its own, or that of the run.
    pub fn priority_of(&self, index: u32) -> Priority {
        if let Some(own) = self.own_priorities.get(&index) {
            return *own;
        }
        let asked = match index.checked_sub(self.graph().len()) {
            None => {
                let profile = self.spec.profile_of.get(index as usize).copied().unwrap_or(0);
                self.spec.profiles[usize::from(profile)].priority
            }
            Some(added) => self.added[added as usize].profile.priority,
        };
        self.heed(asked)
    }

    /// The priority of a task for which this one was asked: what is the run's changes with the run.
    pub fn heed(&self, asked: Priority) -> Priority {
        if asked == self.asked_usual() { self.usual_priority() } else { asked }
    }

    fn asked_usual(&self) -> Priority {
        self.spec.profiles.first().map(|profile| profile.priority).unwrap_or_default()
    }

    /// Gives every task its rank in the run's own order and returns how many ranks there are.
    pub fn assign_ranks(&mut self, deadlines: &BTreeMap<u32, Moment>) -> usize {
        let order = self.spec.options.order;
        let paths = match order {
            RunOrder::CriticalPath => self.graph().remaining_paths(),
            RunOrder::LatestFinish => self.graph().tails(),
            RunOrder::Deadline | RunOrder::Fifo => Vec::new(),
        };
        let longest = paths.iter().copied().max().unwrap_or(0);
        let few = 2 * self.tasks.len() as u64 + 64;
        if longest <= few && (deadlines.is_empty() || order == RunOrder::Fifo) {
            // Paths are small numbers: they are ranks as they stand.
            for (task, path) in self.tasks.iter_mut().zip(&paths) {
                task.rank = (longest - path) as u32;
            }
            self.rank_keys =
                (0..=longest).map(|rank| (Moment::MAX, Reverse(longest - rank))).collect();
            return self.rank_keys.len();
        }
        let key = |index: usize| -> RankKey {
            let deadline = if order == RunOrder::Fifo {
                Moment::MAX
            } else {
                deadlines.get(&(index as u32)).copied().unwrap_or(Moment::MAX)
            };
            (deadline, Reverse(paths.get(index).copied().unwrap_or(0)))
        };
        let mut by_key: Vec<u32> = (0..self.tasks.len() as u32).collect();
        by_key.sort_by_key(|&index| key(index as usize));
        for index in by_key {
            let key = key(index as usize);
            if self.rank_keys.last() != Some(&key) {
                self.rank_keys.push(key);
            }
            self.tasks[index as usize].rank = self.rank_keys.len() as u32 - 1;
        }
        self.rank_keys.len().max(1)
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.rank_keys.len().max(1)
    }

    /// The rank of a task added while live: that of the nearest task not more urgent than it.
    pub fn rank_for(&self, deadline: Option<Moment>, spec: &TaskSpec) -> u32 {
        let path_of = |index: u32| {
            let rank = self.tasks[index as usize].rank as usize;
            self.rank_keys.get(rank).map_or(0, |(_, Reverse(path))| *path)
        };
        let path = match self.spec.options.order {
            RunOrder::CriticalPath => {
                let after = spec.before.iter().map(|&index| path_of(index)).max().unwrap_or(0);
                weight(spec.estimate).saturating_add(after)
            }
            RunOrder::LatestFinish => {
                let tail = |&index: &u32| path_of(index).saturating_add(self.weight(index));
                spec.before.iter().map(tail).max().unwrap_or(0)
            }
            RunOrder::Deadline | RunOrder::Fifo => 0,
        };
        let key: RankKey = (deadline.unwrap_or(Moment::MAX), Reverse(path));
        let place = self.rank_keys.partition_point(|other| *other < key);
        place.min(self.rank_keys.len().saturating_sub(1)) as u32
    }

    /// What a task adds to a path.
    fn weight(&self, index: u32) -> u64 {
        match index.checked_sub(self.graph().len()) {
            None => weight(Some(self.graph().estimate(index))),
            Some(added) => weight(self.added[added as usize].estimate),
        }
    }
}

/// What a task of which this is expected adds to a path; at least one, as in a graph.
fn weight(estimate: Option<Duration>) -> u64 {
    estimate.map_or(1, duration_nanos).max(1)
}
