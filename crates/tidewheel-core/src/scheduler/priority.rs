//! Changing the priority of live work: of a run, of one of its tasks, of a single submission.
//!
//! A task's priority is part of its profile, so that one whose priority changes is treated by another profile, which differs
//! in nothing else, and stands in another ready set. The order itself is in [`crate::ready`]; what it would be is asked of
//! a [`super::Forecast`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slotmap::DefaultKey;

use super::add::take_run;
use super::state::Scheduler;
use super::transition::alive;
use crate::decision::{Decision, Fact};
use crate::id::{ProfileId, RunKey, TaskKey};
use crate::input::{Rejection, Reply};
use crate::policy::Priority;
use crate::ready::{ReadySet, SINGLE};
use crate::row::{Change, PriorityRow};
use crate::run::{Run, Work};
use crate::spec::{Profile, TaskSpec};
use crate::task::TaskState;
use crate::time::{Moment, Now};

/// A task that is to be added, with the priorities heeded that were changed before it came.
pub(super) struct Heeded {
    /// How it is treated.
    pub profile: Arc<Profile>,
    /// The priority that its group was given.
    pub own: Option<Priority>,
}

impl Scheduler {
    pub(super) fn set_priority(
        &mut self,
        now: Now,
        run: RunKey,
        task: Option<u32>,
        priority: Priority,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let is_changed = match (self.works.get(run.0), task) {
            (Some(Work::Single(_)), None | Some(0)) => self.set_single(run.0, priority, decision),
            (_, None) => self.set_run(run, priority, decision)?,
            (_, Some(index)) => self.set_task(TaskKey { run, index }, priority, decision)?,
        };
        if !is_changed {
            return Ok(Reply::Unchanged);
        }
        if let Some(id) = self.works.get(run.0).map(Work::id) {
            self.notify(now, decision, || Fact::PriorityChanged { run: id, task, priority });
        }
        Ok(Reply::Done)
    }

    /// Changes the priority of all tasks of a run that were given no other than the run.
    fn set_run(
        &mut self,
        key: RunKey,
        priority: Priority,
        decision: &mut Decision,
    ) -> Result<bool, Rejection> {
        let run = &*self.live_run(key)?;
        let before = run.usual_priority();
        if before == priority {
            return Ok(false);
        }
        let id = run.id;
        let mut supposed = BTreeMap::new();
        let run = self.live_run(key)?;
        let was = run.priority.replace(priority);
        for (task, index) in run.tasks.iter().zip(0..) {
            if !task.state.is_terminal() && run.priority_of(index).value() != task.priority {
                supposed.insert(index, priority);
            }
        }
        if let Err(refusal) = self.give_priorities(key.0, &supposed) {
            self.live_run(key)?.priority = was;
            return Err(refusal);
        }
        decision.change(|| Change::PriorityChanged(PriorityRow { run: id, task: None, priority }));
        Ok(true)
    }

    /// Gives a task a priority of its own; with the end of a group all that is left of it.
    fn set_task(
        &mut self,
        key: TaskKey,
        priority: Priority,
        decision: &mut Decision,
    ) -> Result<bool, Rejection> {
        self.live_run(key.run)?;
        let state = self.member(key).ok_or(Rejection::Gone("task"))?.state;
        let Some(run) = self.run(key.run.0) else { return Ok(false) };
        if state.is_terminal() {
            return Err(Rejection::Ended { task: run.name(key.index), state });
        }
        let group = self.left_of_group(key).into_iter().map(|(key, _)| key);
        let mut keys: Vec<TaskKey> = group.chain([key]).collect();
        keys.retain(|key| run.own_priorities.get(&key.index) != Some(&priority));
        let supposed = keys.iter().map(|key| (key.index, priority)).collect();
        self.give_priorities(key.run.0, &supposed)?;
        for &key in &keys {
            self.keep_own_priority(key, priority, decision);
        }
        Ok(!keys.is_empty())
    }

    /// Remembers that a task has a priority of its own.
    pub(super) fn keep_own_priority(
        &mut self,
        key: TaskKey,
        priority: Priority,
        decision: &mut Decision,
    ) {
        let Some(run) = self.run_mut(key.run.0) else { return };
        run.own_priorities.insert(key.index, priority);
        let row = PriorityRow { run: run.id, task: Some(key.index), priority };
        decision.change(|| Change::PriorityChanged(row));
    }

    /// Priorities as they were changed before a restart. Nothing is ready or runs yet.
    pub(super) fn restore_priorities(
        &mut self,
        key: RunKey,
        rows: &[PriorityRow],
    ) -> Result<(), Rejection> {
        let Some(run) = self.run_mut(key.0).filter(|_| !rows.is_empty()) else { return Ok(()) };
        for row in rows {
            match row.task {
                Some(index) => drop(run.own_priorities.insert(index, row.priority)),
                None => run.priority = Some(row.priority),
            }
        }
        let supposed = (0..run.tasks.len() as u32).map(|index| (index, run.priority_of(index)));
        let supposed = supposed.collect();
        self.give_priorities(key.0, &supposed)
    }

    /// The profiles and priorities of tasks that are to be added to a run.
    pub(super) fn heed_priorities(&self, key: RunKey, tasks: &[TaskSpec]) -> Vec<Heeded> {
        let as_asked = |task: &TaskSpec| Heeded { profile: task.profile.clone(), own: None };
        let heed = |run: &Run, task: &TaskSpec| {
            let own = priority_of_group(run, tasks, task);
            let priority = own.unwrap_or_else(|| run.heed(task.profile.priority));
            Heeded { profile: with_priority(&task.profile, priority), own }
        };
        match self.run(key.0) {
            Some(run) if run.priority.is_some() || !run.own_priorities.is_empty() => {
                tasks.iter().map(|task| heed(run, task)).collect()
            }
            _ => tasks.iter().map(as_asked).collect(),
        }
    }

    /// Gives tasks of a run other priorities: all of them, or none if one is refused.
    fn give_priorities(
        &mut self,
        run_key: DefaultKey,
        supposed: &BTreeMap<u32, Priority>,
    ) -> Result<(), Rejection> {
        let Some(run) = self.run(run_key) else { return Ok(()) };
        let mut others: BTreeMap<(ProfileId, Priority), (u32, Arc<Profile>)> = BTreeMap::new();
        for (&index, &priority) in supposed {
            let local = run.tasks[index as usize].profile;
            others.entry((local, priority)).or_insert_with(|| {
                let known = &self.profiles[run.profiles[local.0 as usize].profile.0 as usize];
                (known.queue, with_priority(&known.spec, priority))
            });
        }
        let mut resolved = BTreeMap::new();
        for (alike, (queue, profile)) in others {
            resolved.insert(alike, self.resolve(&profile, queue)?);
        }
        let Some(Work::Run(mut run)) = self.works.get_mut(run_key).map(take_run) else {
            unreachable!("the caller has looked the run up");
        };
        let ranks = run.ranks();
        let mut locals = BTreeMap::new();
        for (alike, profile) in resolved {
            let local = match run.find_profile(profile) {
                Some(local) => local,
                None => self.add_profile(&mut run, profile, ranks),
            };
            locals.insert(alike, ProfileId(local));
        }
        self.works[run_key] = Work::Run(run);
        self.change_profiles(run_key, supposed, &locals);
        Ok(())
    }

    /// Lets tasks of a run be treated by other profiles of it.
    fn change_profiles(
        &mut self,
        run_key: DefaultKey,
        supposed: &BTreeMap<u32, Priority>,
        locals: &BTreeMap<(ProfileId, Priority), ProfileId>,
    ) {
        let mut touched = BTreeSet::new();
        for (&index, &priority) in supposed {
            let key = TaskKey { run: RunKey(run_key), index };
            let Some(run) = self.run_mut(run_key) else { return };
            let before = run.tasks[index as usize].clone();
            let local = locals[&(before.profile, priority)];
            if local == before.profile {
                continue;
            }
            if before.state == TaskState::Ready && !before.held_by_key {
                touched.insert(run.profiles[before.profile.0 as usize].set);
                touched.insert(run.profiles[local.0 as usize].set);
            }
            let task = &mut run.tasks[index as usize];
            (task.profile, task.priority) = (local, priority.value());
            if before.state.holds_slot() {
                self.move_preemptible(key, &before);
            }
        }
        self.regroup(run_key, &touched);
    }

    /// Makes ready sets anew. Whoever has come to one may be older than all that stood in it, and what stands in a lane
    /// does not move forwards: the set takes a new place there, and what it leaves behind stands for nothing.
    fn regroup(&mut self, run_key: DefaultKey, touched: &BTreeSet<u32>) {
        let Some(Work::Run(run)) = self.works.get_mut(run_key) else { return };
        if touched.is_empty() {
            return;
        }
        let run = &mut **run;
        let (ranks, mut made) = (run.ranks(), BTreeSet::new());
        let mut left = Vec::new();
        for &number in touched {
            let (class, priority, party) = run.sets[number as usize].treatment();
            let empty = run.make_set(class, priority, party, ranks);
            let set = &mut run.sets[number as usize];
            if set.listed {
                set.retire();
                left.push((class, priority, party));
                made.insert(run.replace_set(number, empty));
            } else {
                *set = empty;
                made.insert(number);
            }
        }
        let is_ready = |index: &u32| {
            let task = &run.tasks[*index as usize];
            let set = run.profiles[task.profile.0 as usize].set;
            task.state == TaskState::Ready && !task.held_by_key && made.contains(&set)
        };
        let mut ready: Vec<u32> = (0..run.tasks.len() as u32).filter(is_ready).collect();
        ready.sort_unstable_by_key(|index| run.tasks[*index as usize].ready_sequence);
        for index in ready {
            let set = run.profiles[run.tasks[index as usize].profile.0 as usize].set;
            run.sets[set as usize].push(&mut run.tasks, index);
        }
        self.list_sets(run_key);
        for (class, priority, party) in left {
            self.leave_behind(class, priority, party, (None, 0));
        }
    }

    fn set_single(&mut self, key: DefaultKey, priority: Priority, decision: &mut Decision) -> bool {
        let Some(Work::Single(single)) = self.works.get_mut(key) else { return false };
        if single.task.priority == priority.value() {
            return false;
        }
        let task_key = TaskKey { run: RunKey(key), index: 0 };
        let (before, class, id) = (single.task.clone(), single.class, single.id);
        single.task.priority = priority.value();
        single.mark = single.mark.wrapping_add(1) | SINGLE;
        let deadline = single.extra.as_ref().and_then(|extra| extra.deadline);
        if before.state == TaskState::Ready && !before.held_by_key {
            let party = self.party(task_key);
            self.enlist(task_key);
            let place = (deadline, before.ready_sequence);
            self.leave_behind(class, before.priority, party, place);
        }
        if before.state.holds_slot() {
            self.move_preemptible(task_key, &before);
        }
        decision.change(|| Change::PriorityChanged(PriorityRow { run: id, task: None, priority }));
        true
    }

    /// What stood in a lane stands in another one.
    fn leave_behind(&mut self, class: u32, priority: u8, party: u32, place: (Option<Moment>, u64)) {
        let Self { works, classes, .. } = self;
        let lanes = &mut classes[class as usize].lanes;
        lanes.forget(priority, party, place, |entry| alive(works, entry));
        if lanes.is_empty() {
            self.drop_reservations(class);
        }
        if priority == Priority::CRITICAL.value() {
            self.forgive_critical(class);
        }
    }

    /// Where no critical work waits any more, none is owed a turn.
    fn forgive_critical(&mut self, class: u32) {
        let queue = self.classes[class as usize].queue;
        let mut classes = self.classes.iter().filter(|class| class.queue == queue);
        let waits = classes.any(|class| class.lanes.choose_critical().is_some());
        self.queues[queue as usize].owes_critical &= waits;
    }
}

impl Run {
    /// Puts another set in the place of one that is left, and gives its number.
    fn replace_set(&mut self, left: u32, set: ReadySet) -> u32 {
        let spare = self.sets.iter().position(ReadySet::is_spare);
        let number = match spare {
            Some(spare) => {
                self.sets[spare] = set;
                spare as u32
            }
            None => {
                self.sets.push(set);
                self.sets.len() as u32 - 1
            }
        };
        self.number_set(number);
        for profile in self.profiles.iter_mut().filter(|profile| profile.set == left) {
            profile.set = number;
        }
        number
    }
}

/// The priority that the group of a task to be added was given, or one of the groups around it.
fn priority_of_group(run: &Run, tasks: &[TaskSpec], task: &TaskSpec) -> Option<Priority> {
    let first = run.tasks.len() as u32;
    let mut task = task;
    // Groups are in each other, and none in itself: there are no more of them than tasks.
    for _ in 0..=tasks.len() {
        let end = task.membership.group?;
        match end.checked_sub(first) {
            None => return run.own_priorities.get(&end).copied(),
            Some(place) => task = tasks.get(place as usize)?,
        }
    }
    None
}

fn with_priority(profile: &Arc<Profile>, priority: Priority) -> Arc<Profile> {
    if profile.priority == priority {
        return Arc::clone(profile);
    }
    Arc::new(Profile { priority, ..(**profile).clone() })
}
