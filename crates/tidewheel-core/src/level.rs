//! How the groups of a live run stand: who is in which, what is open, what has failed.
//!
//! The run itself is level 0, and every group is a level within another. Only the data and what can
//! be read off it; what follows when a level opens, fails or ends is decided in `scheduler/`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::condition::Condition;
use crate::group::{GroupKind, Membership};
use crate::spec::{RunSpec, TaskSpec};
use crate::task::Reason;

/// The run itself.
pub(crate) const RUN: u32 = 0;

/// The levels of a run that has groups or conditions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Levels {
    /// The level each task is in.
    of: Vec<u32>,
    pub all: Vec<Level>,
    /// The level that a task is the end of.
    by_end: BTreeMap<u32, u32>,
    /// Conditions by task, with the tasks that each speaks of, in order.
    conditions: BTreeMap<u32, (Arc<Condition>, Vec<u32>)>,
    /// Conditions of tasks that are not decided: how many of the tasks they speak of have not ended.
    pub undecided: BTreeMap<u32, u32>,
}

/// The run, or a group in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Level {
    pub parent: u32,
    /// The task that stands for the group; none for the run.
    pub end: Option<u32>,
    pub kind: Option<GroupKind>,
    pub opener: Option<u32>,
    /// Tasks in it, ends of groups in it too.
    pub members: Vec<u32>,
    /// What must happen before the group, or its opener, may begin.
    pub door: u32,
    /// Why it will not begin although nothing failed, once that is known.
    pub declined: Option<Reason>,
    /// Its tasks may start.
    pub is_open: bool,
    /// What follows it has had its turn.
    pub is_followed: bool,
    /// Tasks in it and in groups in it that have not ended.
    pub unended: u32,
    /// Those among them that do not follow it.
    pub body: u32,
    /// A task of it was cancelled, or skipped because something was stopped.
    pub is_cut: bool,
    /// Tasks of it whose failure was not tolerated.
    pub failed: BTreeSet<u32>,
    /// The task whose failure stopped the group. What stopped the run is kept with it.
    pub stopped: Option<u32>,
    /// Where only so many of its tasks are under way at once.
    pub places: Option<Places>,
}

/// The places of a group, for the tasks in it but its opener. A place is had from the beginning to the end:
/// by a task over all its attempts, by the end of a group inside until all of that has ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    pub max: u32,
    /// Tasks that have one.
    pub taken: BTreeSet<u32>,
    /// Tasks that nothing else held when they came. Meanwhile they may have ended, or wait for more.
    pub line: BTreeSet<u32>,
}

impl Places {
    fn new(at_once: Option<u32>) -> Option<Self> {
        at_once.map(|max| Self { max, ..Self::default() })
    }

    pub fn has_free(&self) -> bool {
        self.taken.len() < self.max as usize
    }
}

/// What an edge between two tasks means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bond {
    /// Nothing of its own: one of them is in a group and the other is not, or a condition over the
    /// whole says it all. The edge only helps to find a good order.
    Implied,
    /// The words for failures and skips are asked.
    Judged,
    /// A condition is asked.
    Asked,
}

impl Levels {
    /// The levels of a run as it was accepted, and of the tasks added to it since.
    pub fn new(spec: &RunSpec, added: &[Arc<TaskSpec>]) -> Self {
        let tasks = spec.graph.len();
        let mut levels = Self {
            of: vec![RUN; tasks as usize],
            all: vec![Level { is_open: true, ..Level::default() }],
            ..Self::default()
        };
        for (&end, group) in &spec.groups {
            let level = levels.all.len() as u32;
            levels.by_end.insert(end, level);
            let (kind, opener) = (Some(group.kind), group.opener);
            let places = Places::new(group.at_once);
            levels.all.push(Level { end: Some(end), kind, opener, places, ..Level::default() });
            for &member in &group.members {
                levels.of[member as usize] = level;
            }
        }
        for index in 0..tasks {
            let level = levels.of[index as usize];
            levels.all[level as usize].members.push(index);
        }
        for (&end, &level) in &levels.by_end {
            levels.all[level as usize].parent = levels.of[end as usize];
        }
        for (&index, condition) in &spec.conditions {
            levels.conditions.insert(index, (condition.clone(), condition.tasks()));
        }
        for (index, task) in (tasks..).zip(added) {
            levels.add(index, task);
        }
        levels
    }

    /// Takes in a task that is added to the run. Nothing is counted.
    pub fn add(&mut self, index: u32, spec: &TaskSpec) {
        let Membership { group, opens, ends, at_once } = spec.membership;
        let level = group.and_then(|end| self.level_ended_by(end)).unwrap_or(RUN);
        self.of.push(level);
        let entry = &mut self.all[level as usize];
        entry.members.push(index);
        if opens {
            entry.opener = Some(index);
        }
        if let Some(kind) = ends {
            self.by_end.insert(index, self.all.len() as u32);
            let (end, kind, places) = (Some(index), Some(kind), Places::new(at_once));
            self.all.push(Level { parent: level, end, kind, places, ..Level::default() });
        }
        if let Some(condition) = &spec.condition {
            self.conditions.insert(index, (condition.clone(), condition.tasks()));
        }
    }

    /// Takes in a task that is added to a live run, and counts what it waits for and who waits for
    /// it. Dependencies that have ended are told of later.
    pub fn join(&mut self, index: u32, spec: &TaskSpec, pending: &mut [u32]) {
        self.add(index, spec);
        self.count(index);
        let judged = spec.after.iter().filter(|from| self.bond(**from, index) == Bond::Judged);
        let mut gate = judged.count() as u32;
        let level = &self.all[self.of(index) as usize];
        let is_held = match level.opener == Some(index) {
            true => {
                let lacks_place = level.end.is_some_and(|end| self.lacks_place(end));
                level.door > 0 || level.declined.is_some() || lacks_place
            }
            false => !level.is_open,
        };
        gate += u32::from(is_held) + u32::from(spec.condition.is_some());
        if let Some(condition) = spec.condition.as_ref().filter(|_| !self.follows(index)) {
            self.undecided.insert(index, condition.tasks().len() as u32);
        }
        pending[index as usize] = gate;
        if let Some(level) = self.level_ended_by(index) {
            pending[index as usize] = 1;
            self.all[level as usize].door = gate;
        }
        for &to in &spec.before {
            match self.by_end.get(&to) {
                _ if self.bond(index, to) != Bond::Judged => {}
                Some(&level) => self.all[level as usize].door += 1,
                None => pending[to as usize] += 1,
            }
        }
    }

    pub fn of(&self, task: u32) -> u32 {
        self.of[task as usize]
    }

    pub fn level_ended_by(&self, task: u32) -> Option<u32> {
        self.by_end.get(&task).copied()
    }

    pub fn condition(&self, task: u32) -> Option<&Arc<Condition>> {
        self.conditions.get(&task).map(|(condition, _)| condition)
    }

    /// Every task with a condition, and the tasks that it speaks of.
    pub fn conditions(&self) -> impl Iterator<Item = (u32, &Arc<Condition>, &[u32])> {
        self.conditions.iter().map(|(task, (condition, tasks))| (*task, condition, &**tasks))
    }

    /// Whether a task follows the level it is in.
    pub fn follows(&self, task: u32) -> bool {
        self.conditions.get(&task).is_some_and(|(it, _)| matches!(**it, Condition::OfWhole(_)))
    }

    /// Whether a task is the opener of the level it is in.
    pub fn opens(&self, task: u32) -> bool {
        self.all[self.of(task) as usize].opener == Some(task)
    }

    /// The places of the level that a task is in, if it needs one.
    pub fn places_for(&self, task: u32) -> Option<&Places> {
        let level = &self.all[self.of(task) as usize];
        level.places.as_ref().filter(|_| level.opener != Some(task))
    }

    /// The same, to be changed.
    pub fn places_for_mut(&mut self, task: u32) -> Option<&mut Places> {
        let level = &mut self.all[self.of[task as usize] as usize];
        level.places.as_mut().filter(|_| level.opener != Some(task))
    }

    /// Whether a task needs a place and has none.
    pub fn lacks_place(&self, task: u32) -> bool {
        self.places_for(task).is_some_and(|places| !places.taken.contains(&task))
    }

    /// A task and, if it is the end of a group, all inside that.
    pub fn with_inside(&self, task: u32) -> impl Iterator<Item = u32> {
        let inside = self.level_ended_by(task).map(|level| self.inside(level));
        std::iter::once(task).chain(inside.into_iter().flatten())
    }

    /// What the edge between two tasks means.
    pub fn bond(&self, from: u32, to: u32) -> Bond {
        match self.conditions.get(&to) {
            // Wherever they are: that its group waits for a task says nothing about how that ends.
            Some((_, tasks)) if tasks.binary_search(&from).is_ok() => Bond::Asked,
            _ if self.of(from) != self.of(to) || self.opens(from) => Bond::Implied,
            Some(_) if self.follows(to) && !self.follows(from) => Bond::Implied,
            _ => Bond::Judged,
        }
    }

    /// Whether any task has a condition over others.
    pub fn has_conditions(&self) -> bool {
        self.conditions.values().any(|(_, tasks)| !tasks.is_empty())
    }

    /// Whether an edge may hold a task up as things are.
    pub fn is_open_bond(&self, from: u32, to: u32) -> bool {
        match self.bond(from, to) {
            Bond::Judged => true,
            Bond::Asked => self.undecided.contains_key(&to),
            Bond::Implied => false,
        }
    }

    /// Tasks that a task waits for without an edge: those of a group for its end, all of a level for
    /// what follows it, and the opener for those it opens to.
    pub fn implied(&self, task: u32) -> Vec<u32> {
        let level = &self.all[self.of(task) as usize];
        let opener = level.opener.filter(|opener| *opener != task && !level.is_open);
        let mut tasks: Vec<u32> = opener.into_iter().collect();
        if self.follows(task) && !level.is_followed {
            tasks.extend(level.members.iter().filter(|member| !self.follows(**member)));
        }
        if let Some(group) = self.level_ended_by(task).map(|level| &self.all[level as usize])
            && group.is_open
        {
            tasks.extend(&group.members);
        }
        tasks
    }

    /// A task, the end of the group it is in, the end of the group that is in, and so on.
    pub fn chain(&self, task: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(task), |at| self.all[self.of(*at) as usize].end)
    }

    /// The ends that a task stands for: a part for the step it is a part of.
    pub fn stands_for(&self, task: u32) -> Vec<u32> {
        let mut ends = Vec::new();
        let mut at = task;
        while let Level { kind: Some(GroupKind::Parts), end: Some(end), .. } =
            self.all[self.of(at) as usize]
        {
            ends.push(end);
            at = end;
        }
        ends
    }

    /// The innermost level around a level, or itself, that has words: a called flow, or the run.
    pub fn with_words(&self, mut level: u32) -> &Level {
        while self.all[level as usize].kind == Some(GroupKind::Parts) {
            level = self.all[level as usize].parent;
        }
        &self.all[level as usize]
    }

    /// All tasks inside a level, those of groups in it too.
    pub fn inside(&self, level: u32) -> Vec<u32> {
        let mut tasks = Vec::new();
        let mut open = vec![level];
        while let Some(level) = open.pop() {
            for &member in &self.all[level as usize].members {
                tasks.push(member);
                open.extend(self.level_ended_by(member));
            }
        }
        tasks.sort_unstable();
        tasks
    }

    /// Every level, after the one around it.
    pub fn outermost_first(&self) -> Vec<u32> {
        let mut order = vec![RUN];
        let mut place = 0;
        while let Some(&level) = order.get(place) {
            let members = self.all[level as usize].members.iter();
            order.extend(members.filter_map(|&member| self.level_ended_by(member)));
            place += 1;
        }
        order
    }

    /// Counts a task that has not ended: in its level, and in those around it.
    pub fn count(&mut self, task: u32) {
        self.each_around(task, |level, follows| {
            level.unended += 1;
            level.body += u32::from(!follows);
        });
    }

    /// The same once it has ended.
    pub fn count_down(&mut self, task: u32) {
        self.each_around(task, |level, follows| {
            level.unended -= 1;
            level.body -= u32::from(!follows);
        });
    }

    /// For each level around a task: the level, and whether the task belongs to what follows it.
    fn each_around(&mut self, task: u32, mut count: impl FnMut(&mut Level, bool)) {
        let mut at = task;
        loop {
            let follows = self.follows(at);
            let level = &mut self.all[self.of[at as usize] as usize];
            count(level, follows);
            match level.end {
                Some(end) => at = end,
                None => return,
            }
        }
    }
}
