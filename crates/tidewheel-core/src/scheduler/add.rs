//! Tasks added to live runs, by command or by the outcome of an attempt: all of a request or none.
//!
//! Everything is checked before anything changes. How an attempt that adds tasks ends is in `attempt`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::check_groups;
use super::state::Scheduler;
use crate::decision::Decision;
use crate::id::{ProfileId, RunId, RunKey, TaskKey};
use crate::input::{Rejection, Reply};
use crate::level::{Levels, RUN};
use crate::ready::SINGLE;
use crate::row::Change;
use crate::run::{Extra, Run, Single, Work};
use crate::spec::{Addition, TaskSpec};
use crate::task::{Task, TaskState};
use crate::time::Now;

impl Scheduler {
    pub(super) fn add_tasks(
        &mut self,
        now: Now,
        run: RunKey,
        addition: Addition,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        if self.shutdown.is_some() {
            return Err(Rejection::ShuttingDown);
        }
        if self.live_run(run)?.stopped.is_some() {
            return Err(Rejection::Gone("run"));
        }
        self.insert_addition(now, run, addition, true, decision)
    }

    /// Adds tasks to a run that starts tasks. What an attempt adds that has succeeded is not `bounded` by
    /// the room in queues: it is part of what was accepted.
    pub(super) fn insert_addition(
        &mut self,
        now: Now,
        run_key: RunKey,
        addition: Addition,
        bounded: bool,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let run = &*self.live_run(run_key)?;
        let first = run.tasks.len() as u32;
        let tasks = place(run, addition)?;
        check_places(run, &tasks)?;
        let default_queue = run.spec.options.queue.clone();
        let mut profiles = Vec::with_capacity(tasks.len());
        let heeded = self.heed_priorities(run_key, &tasks);
        for (task, heeded) in tasks.iter().zip(&heeded) {
            let queue = self.find_queue(task.profile.queue.as_ref().unwrap_or(&default_queue))?;
            profiles.push(self.resolve(&heeded.profile, queue)?);
        }
        if bounded {
            self.check_rooms(&profiles)?;
        }
        let tasks: Vec<Arc<TaskSpec>> = tasks.into_iter().map(Arc::new).collect();
        self.insert_tasks(run_key, &tasks, &profiles, now)?;
        for ((spec, heeded), index) in tasks.iter().zip(heeded).zip(first..) {
            let key = TaskKey { run: run_key, index };
            let (id, class) = (self.task_id(key), self.work(key).class(index));
            let queue = self.classes[class as usize].queue;
            self.queues[queue as usize].statistics.submitted += 1;
            decision.change(|| Change::TaskAdded { id, spec: spec.clone() });
            if let Some(priority) = heeded.own {
                self.keep_own_priority(key, priority, decision);
            }
            self.notify_added(id, now, decision);
        }
        let prospects = tasks
            .iter()
            .zip(first..)
            .map(|(spec, index)| self.prospects(TaskKey { run: run_key, index }, &spec.after));
        for prospects in prospects.collect::<Vec<_>>() {
            self.meet(prospects, now, decision);
        }
        let first = TaskKey { run: run_key, index: first };
        Ok(Reply::Added { first, count: tasks.len() as u32 })
    }

    /// Whether the queues of all these tasks have room for them.
    fn check_rooms(&mut self, profiles: &[ProfileId]) -> Result<(), Rejection> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for profile in profiles {
            *counts.entry(self.profiles[profile.0 as usize].queue).or_default() += 1;
        }
        let check = |(queue, count): (&u32, &u64)| self.queues[*queue as usize].check_room(*count);
        let answer = counts.iter().try_for_each(check);
        if answer.is_err() {
            for (queue, count) in counts {
                self.queues[queue as usize].statistics.rejected += count;
            }
        }
        answer
    }

    /// Puts added tasks into memory, one after the other; none if one does not fit into its group.
    fn insert_tasks(
        &mut self,
        run_key: RunKey,
        tasks: &[Arc<TaskSpec>],
        profiles: &[ProfileId],
        now: Now,
    ) -> Result<(), Rejection> {
        let run = &*self.live_run(run_key)?;
        let may_not_fit = run.levels.is_some() || tasks.iter().any(|task| task.is_special());
        // Each is looked at among those before it, so that what was put in may have to go again.
        let before = (may_not_fit && tasks.len() > 1).then(|| Box::new(run.clone()));
        if before.is_some() {
            // What is counted for groups takes what has ended as told, which is true of no new task.
            self.make_levels(run_key);
        }
        for (task, profile) in tasks.iter().zip(profiles) {
            if may_not_fit
                && let Err(refusal) = check_groups::check_added(self.live_run(run_key)?, task)
            {
                if let Some(before) = before {
                    self.take_back(run_key, before);
                }
                return Err(refusal);
            }
            self.insert_task(run_key, task, *profile, now);
        }
        Ok(())
    }

    /// The run is as it was: nothing has followed from what was put in.
    fn take_back(&mut self, run_key: RunKey, before: Box<Run>) {
        let Some(run) = self.run(run_key.0) else { return };
        let taken: Vec<ProfileId> =
            run.profiles[before.profiles.len()..].iter().map(|used| used.profile).collect();
        for profile in taken {
            self.profiles.leave(profile);
        }
        self.works[run_key.0] = Work::Run(before);
    }

    /// Puts an added task into memory, blocked by all its dependencies and blocking its dependents.
    pub(super) fn insert_task(
        &mut self,
        run_key: RunKey,
        spec: &Arc<TaskSpec>,
        profile: ProfileId,
        now: Now,
    ) -> TaskKey {
        if spec.is_special() {
            self.make_levels(run_key);
        }
        let Some(Work::Run(mut run)) = self.works.get_mut(run_key.0).map(take_run) else {
            unreachable!("the caller has looked the run up");
        };
        let ranks = run.ranks();
        let local = match run.find_profile(profile) {
            Some(local) => local,
            None => self.add_profile(&mut run, profile, ranks),
        };
        run.is_plain &= spec.profile.on_skip.is_none();
        let index = run.tasks.len() as u32;
        let priority = self.profiles[profile.0 as usize].spec.priority;
        let mut task = Task::new(ProfileId(local), priority.value());
        let deadline = spec.deadline.map(|deadline| now.monotonic.after(deadline));
        task.rank = run.rank_for(deadline, spec);
        run.tasks.push(task);
        run.pending.push(spec.after.len() as u32);
        run.unended += 1;
        run.counts.enter(TaskState::Blocked);
        run.added_index.insert(spec.name.clone(), index);
        run.added.push(spec.clone());
        for &dependency in &spec.after {
            run.added_successors.entry(dependency).or_default().push(index);
        }
        if !spec.before.is_empty() {
            run.added_successors.insert(index, spec.before.clone());
        }
        match run.levels.as_deref_mut() {
            Some(levels) => levels.join(index, spec, &mut run.pending),
            None => {
                for &dependent in &spec.before {
                    run.pending[dependent as usize] += 1;
                }
            }
        }
        if deadline.is_some() || spec.key.is_some() {
            let extra = Extra { deadline, key: spec.key.clone(), ..Extra::default() };
            run.extras.insert(index, extra);
        }
        self.works[run_key.0] = Work::Run(run);
        TaskKey { run: run_key, index }
    }

    /// Counts a run that had no groups and conditions so far as one that has.
    fn make_levels(&mut self, key: RunKey) {
        let Some(run) = self.run_mut(key.0).filter(|run| run.levels.is_none()) else { return };
        run.levels = Some(Box::new(Levels::new(&run.spec, &run.added)));
        run.is_plain = false;
        self.tally(key, false);
    }

    /// What an added task can be told when all are there. What ends from now on, they are told of like
    /// all others.
    fn prospects(&self, key: TaskKey, after: &[u32]) -> Prospects {
        let has_ended = |index: &u32| {
            let task = self.member(TaskKey { run: key.run, index: *index });
            task.is_some_and(|task| task.state.is_terminal())
        };
        let ended = after.iter().copied().filter(has_ended).collect();
        Prospects { key, is_free: self.waits_for_nothing(key), ended }
    }

    /// An added task may need tasks that have ended already: that counts as if they ended now.
    fn meet(&mut self, prospects: Prospects, now: Now, decision: &mut Decision) {
        let Prospects { key, is_free, ended } = prospects;
        if is_free {
            match self.group_of_end(key) {
                Some(level) => self.open_door(key, level, now, decision),
                None => self.begin(key, now, decision),
            }
            return;
        }
        for index in ended {
            let dependency = TaskKey { run: key.run, index };
            let Some(state) = self.member(dependency).map(|task| task.state) else { continue };
            // What a failure means for a group follows from its tasks, whenever they joined it.
            let is_failure = matches!(state, TaskState::Failed | TaskState::Unknown);
            if is_failure && self.levels(key.run).is_some_and(|it| it.of(index) != RUN) {
                self.judge_failure(dependency, now, decision);
            }
            self.tell_bound(dependency, key, now, decision);
        }
    }

    pub(super) fn waits_for_nothing(&self, key: TaskKey) -> bool {
        match self.group_of_end(key).and_then(|level| self.level(key.run, level)) {
            Some(group) => group.door == 0,
            None => self.run(key.run.0).is_some_and(|run| run.pending[key.index as usize] == 0),
        }
    }
}

/// What an added task waits for, as it is before anything follows from any of those added with it.
struct Prospects {
    key: TaskKey,
    is_free: bool,
    ended: Vec<u32>,
}

/// The tasks of a request that are not in the run, with the indices they will have.
fn place(run: &Run, addition: Addition) -> Result<Vec<TaskSpec>, Rejection> {
    let first = run.tasks.len() as u32;
    let mut places = Vec::with_capacity(addition.tasks.len());
    let mut names: HashMap<Arc<str>, u32> = HashMap::new();
    let mut tasks: Vec<TaskSpec> = Vec::with_capacity(addition.tasks.len());
    for task in addition.tasks {
        match run.find(&task.name).or_else(|| names.get(&task.name).copied()) {
            Some(known) if addition.passes_over_known => places.push(known),
            Some(_) => return Err(Rejection::DuplicateTask(task.name)),
            None => {
                let index = first + tasks.len() as u32;
                names.insert(task.name.clone(), index);
                places.push(index);
                tasks.push(task);
            }
        }
    }
    let find = |index: u32| match index.checked_sub(Addition::FIRST) {
        None if index < first => Ok(index),
        None => Err(Rejection::UnknownTask(index)),
        Some(place) => places.get(place as usize).copied().ok_or(Rejection::UnknownTask(index)),
    };
    let mut edges = Vec::new();
    for (task, own) in tasks.iter_mut().zip(first..) {
        for index in task.after.iter_mut().chain(&mut task.before) {
            *index = find(*index)?;
        }
        if let Some(end) = &mut task.membership.group {
            *end = find(*end)?;
        }
        if let Some(condition) = &task.condition {
            task.condition = Some(Arc::new(condition.with_tasks(find)?));
        }
        // Tasks are put in one after the other: an edge is kept with the later of two new ones, and one
        // that leads back to its own task with what it waits for.
        edges.extend(task.after.extract_if(.., |from| *from > own).map(|from| (from, own)));
        edges.extend(task.before.extract_if(.., |to| *to >= own).map(|to| (own, to)));
    }
    for (from, to) in edges {
        match from <= to {
            true => tasks[(to - first) as usize].after.push(from),
            false => tasks[(from - first) as usize].before.push(to),
        }
    }
    for task in &mut tasks {
        for list in [&mut task.after, &mut task.before] {
            list.sort_unstable();
            list.dedup();
        }
    }
    Ok(tasks)
}

/// Only what still waits for other tasks can be made to wait for one more, and nothing for itself.
fn check_places(run: &Run, tasks: &[TaskSpec]) -> Result<(), Rejection> {
    let state = |index: u32| run.tasks[index as usize].state;
    let first = run.tasks.len() as u32;
    let mut before = tasks.iter().flat_map(|task| &task.before).copied();
    if let Some(late) = before.find(|&index| index < first && state(index) != TaskState::Blocked) {
        return Err(Rejection::TooLate { task: run.name(late), state: state(late) });
    }
    let Some((after, task, before)) = Search::new(run, tasks).find_cycle() else { return Ok(()) };
    let name = |index: u32| match index.checked_sub(first) {
        Some(place) => tasks[place as usize].name.clone(),
        None => run.name(index),
    };
    Err(Rejection::Circular { task: name(task), after: name(after), before: name(before) })
}

/// A search for a cycle that new tasks would close.
struct Search<'a> {
    run: &'a Run,
    tasks: &'a [TaskSpec],
    /// New tasks by what they wait for, where that waits for something itself.
    followers: BTreeMap<u32, Vec<u32>>,
}

impl<'a> Search<'a> {
    fn new(run: &'a Run, tasks: &'a [TaskSpec]) -> Self {
        let mut search = Self { run, tasks, followers: BTreeMap::new() };
        let first = run.tasks.len() as u32;
        for (task, index) in tasks.iter().zip(first..) {
            for &after in &task.after {
                if after >= first || search.is_blocked(after) {
                    search.followers.entry(after).or_default().push(index);
                }
            }
        }
        search
    }

    /// A task that waits for no other is part of no cycle.
    fn is_blocked(&self, index: u32) -> bool {
        self.run.tasks[index as usize].state == TaskState::Blocked
    }

    fn next_of(&self, index: u32) -> Vec<u32> {
        let mut next = match index.checked_sub(self.run.tasks.len() as u32) {
            Some(place) => self.tasks[place as usize].before.clone(),
            None => self.run.successors(index).filter(|&next| self.is_blocked(next)).collect(),
        };
        next.extend(self.followers.get(&index).into_iter().flatten());
        next
    }

    /// A new task in a cycle, with the tasks before and after it there.
    fn find_cycle(&self) -> Option<(u32, u32, u32)> {
        if self.followers.is_empty() {
            return None;
        }
        let first = self.run.tasks.len() as u32;
        // Whether all that follows was looked at; if not, it is on the path.
        let mut is_done: HashMap<u32, bool> = HashMap::new();
        let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
        for start in first..first + self.tasks.len() as u32 {
            if is_done.contains_key(&start) {
                continue;
            }
            is_done.insert(start, false);
            path.push((start, self.next_of(start)));
            while let Some((index, next)) = path.last_mut() {
                let Some(next) = next.pop() else {
                    is_done.insert(*index, true);
                    path.pop();
                    continue;
                };
                match is_done.get(&next) {
                    Some(true) => {}
                    Some(false) => return Some(new_in_cycle(&path, next, first)),
                    None => {
                        is_done.insert(next, false);
                        path.push((next, self.next_of(next)));
                    }
                }
            }
        }
        None
    }
}

/// The first new task on the part of the path that begins with `meets`, which closes the cycle.
fn new_in_cycle(path: &[(u32, Vec<u32>)], meets: u32, first: u32) -> (u32, u32, u32) {
    let begin = path.iter().position(|(index, _)| *index == meets).unwrap_or(0);
    let cycle: Vec<u32> = path[begin..].iter().map(|(index, _)| *index).collect();
    // The run itself has no cycle, so that one of them is new.
    let place = cycle.iter().position(|index| *index >= first).unwrap_or(0);
    let at = |offset: usize| cycle[(place + offset) % cycle.len()];
    (at(cycle.len() - 1), at(0), at(1))
}

/// Takes a run out of its place for a moment, so that it and the scheduler can both be used.
pub(super) fn take_run(work: &mut Work) -> Work {
    let placeholder = Work::Single(Single {
        id: RunId(0),
        task: Task::new(ProfileId(0), 0),
        class: 0,
        mark: SINGLE,
        schedule: None,
        extra: None,
    });
    std::mem::replace(work, placeholder)
}
