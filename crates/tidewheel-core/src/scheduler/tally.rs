//! Counting a run with groups and conditions from the states of its tasks alone.
//!
//! Used when a run is accepted and after a restore, and by checks that compare it with what was
//! counted step by step (see `levels`).

use std::collections::BTreeMap;

use super::levels::is_cut;
use super::propagate::Consequence;
use super::state::Scheduler;
use crate::decision::Decision;
use crate::id::{RunKey, TaskKey};
use crate::level::{Bond, Level, Levels, RUN};
use crate::run::Run;
use crate::task::{Reason, TaskState};
use crate::time::Now;

/// What the states of all tasks come to.
struct Tally {
    levels: Levels,
    /// What each task waits for; for an end what its group waits for.
    gates: Vec<u32>,
    /// Why tasks will decline.
    marks: BTreeMap<u32, Reason>,
    is_new: bool,
}

impl Scheduler {
    /// Counts a run with groups or conditions anew. In one that was accepted just now nothing has begun
    /// yet: see [`Self::wake_all`].
    pub(super) fn tally(&mut self, run: RunKey, is_new: bool) {
        let Some(Tally { mut levels, gates, marks, .. }) = self.tally_of(run, is_new) else {
            return;
        };
        for level in 1..levels.all.len() {
            let Some(end) = levels.all[level].end else { continue };
            levels.all[level].declined = marks.get(&end).copied();
        }
        let Some(entry) = self.run_mut(run.0) else { return };
        for (index, gate) in (0..).zip(gates) {
            // The end itself waits for its group and nothing else.
            let group = levels.level_ended_by(index).map(|level| &levels.all[level as usize]);
            let waits = |group: &Level| u32::from(!group.is_open || group.unended > 0);
            entry.pending[index as usize] = group.map_or(gate, waits);
        }
        for (index, reason) in marks {
            if levels.level_ended_by(index).is_none() {
                entry.tasks[index as usize].reason = reason;
            }
        }
        entry.levels = Some(Box::new(levels));
    }

    fn tally_of(&self, key: RunKey, is_new: bool) -> Option<Tally> {
        let run = self.run(key.0)?;
        let levels = blank(run.levels.as_deref()?);
        let gates = vec![0; run.tasks.len()];
        let mut tally = Tally { levels, gates, marks: BTreeMap::new(), is_new };
        tally.count_tasks(run);
        self.count_edges(key, run, &mut tally);
        tally.count_conditions(run);
        for level in tally.levels.outermost_first() {
            tally.count_level(run, level);
        }
        tally.marks.retain(|index, _| run.tasks[*index as usize].state == TaskState::Blocked);
        Some(tally)
    }

    fn count_edges(&self, key: RunKey, run: &Run, tally: &mut Tally) {
        for from in 0..run.tasks.len() as u32 {
            let has_ended = run.tasks[from as usize].state.is_terminal();
            for to in run.successors(from) {
                if tally.levels.bond(from, to) != Bond::Judged {
                    continue;
                }
                if !has_ended {
                    tally.gates[to as usize] += 1;
                    continue;
                }
                let ended = TaskKey { run: key, index: from };
                if self.consequence(ended, TaskKey { run: key, index: to }) == Consequence::Decline
                {
                    tally.marks.entry(to).or_insert(Reason::DependencyDeclined(from));
                }
            }
        }
    }

    /// Lets every task and group begin that waits for nothing.
    pub(super) fn wake_all(&mut self, run: RunKey, now: Now, decision: &mut Decision) {
        for key in self.task_keys(run.0) {
            let waits = self.member(key).is_some_and(|task| task.state == TaskState::Blocked);
            let Some(of_run) = self.run(run.0).filter(|_| waits) else { continue };
            let group = of_run.levels.as_ref().and_then(|it| it.level_ended_by(key.index));
            let is_due = of_run.pending[key.index as usize] == 0;
            let is_shut =
                |level: &u32| self.level(run, *level).is_some_and(|it| it.door == 0 && !it.is_open);
            match group.filter(is_shut) {
                Some(level) => self.open_door(key, level, now, decision),
                None if is_due => self.begin(key, now, decision),
                None => {}
            }
        }
        self.follow(run, RUN, now, decision);
    }

    /// Compares what was counted step by step with a count of everything.
    pub(super) fn check_levels(&self, key: RunKey) {
        let Some((run, tally)) = self.run(key.0).zip(self.tally_of(key, false)) else { return };
        let Some(levels) = &run.levels else { return };
        let id = run.id;
        for (index, task) in (0..).zip(&run.tasks) {
            if task.state != TaskState::Blocked {
                continue;
            }
            let gate = tally.gates[index as usize];
            let found = match levels.level_ended_by(index) {
                Some(level) => {
                    let level = &levels.all[level as usize];
                    assert!(!level.is_open || level.unended > 0, "end {index} of {id} is due");
                    level.door
                }
                None => run.pending[index as usize],
            };
            assert_eq!(found, gate, "what task {index} of {id} waits for");
            let is_end = levels.level_ended_by(index).is_some();
            let is_in_line = levels.places_for(index).is_some_and(|it| it.line.contains(&index));
            assert!(is_end || gate > 0 || is_in_line, "task {index} of {id} waits for nothing");
            let mark = match levels.level_ended_by(index) {
                Some(level) => levels.all[level as usize].declined.is_some(),
                None => task.reason.is_declined(),
            };
            assert_eq!(mark, tally.marks.contains_key(&index), "the mark of task {index} of {id}");
        }
        for (number, (kept, counted)) in levels.all.iter().zip(&tally.levels.all).enumerate() {
            let of = |level: &Level| (level.unended, level.body, level.is_cut);
            assert_eq!(of(kept), of(counted), "level {number} of {id}");
            if counted.unended > 0 {
                let of = |level: &Level| (level.is_open, level.is_followed);
                assert_eq!(of(kept), of(counted), "level {number} of {id} is open, is followed");
            }
        }
        assert_eq!(levels.undecided, tally.levels.undecided, "open conditions of {id}");
        self.check_places(key);
    }
}

impl Tally {
    fn count_tasks(&mut self, run: &Run) {
        for (index, task) in (0..).zip(&run.tasks) {
            if !task.state.is_terminal() {
                self.levels.count(index);
            } else if is_cut(task) && !self.levels.follows(index) {
                let level = self.levels.of(index);
                self.levels.all[level as usize].is_cut = true;
            }
        }
    }

    /// Whether a level is open, and followed; the levels around it are known.
    fn count_level(&mut self, run: &Run, level: u32) {
        let entry = &self.levels.all[level as usize];
        let (end, opener) = (entry.end, entry.opener);
        let (is_open, opener_waits) = match end {
            None => (true, false),
            Some(end) => {
                let is_shut = self.gates[end as usize] > 0
                    || self.marks.contains_key(&end)
                    || self.levels.lacks_place(end);
                let opens = |index: u32| {
                    let opener = &run.tasks[index as usize];
                    opener.state == TaskState::Succeeded
                        || opener.state.is_terminal() && opener.released
                };
                let is_open = match run.tasks[end as usize].state {
                    TaskState::Blocked => !self.is_new && !is_shut && opener.is_none_or(opens),
                    // All of a group that never began ended with its end, but an opener that ran.
                    _ => {
                        let has_ended = |index: u32| run.tasks[index as usize].state.is_terminal();
                        let opener = opener.is_some_and(|opener| !has_ended(opener));
                        entry.unended > u32::from(opener)
                    }
                };
                (is_open, is_shut || self.is_new)
            }
        };
        let keep_open = level == RUN && run.keep_open;
        let is_followed = !self.is_new && is_open && entry.body == 0 && !keep_open;
        let members = entry.members.clone();
        let entry = &mut self.levels.all[level as usize];
        (entry.is_open, entry.is_followed) = (is_open, is_followed);
        entry.door = end.map_or(0, |end| self.gates[end as usize]);
        for index in members {
            let waits = if opener == Some(index) { opener_waits } else { !is_open };
            self.gates[index as usize] += u32::from(waits);
            let follows = self.levels.follows(index);
            self.gates[index as usize] += u32::from(follows && !is_followed);
        }
    }

    fn count_conditions(&mut self, run: &Run) {
        let state_of = |index: u32| {
            let task = &run.tasks[index as usize];
            (task.state, task.reason)
        };
        let mut undecided = BTreeMap::new();
        for (index, condition, tasks) in self.levels.conditions() {
            if self.levels.follows(index) {
                continue;
            }
            match condition.value(state_of) {
                Some(true) => {}
                Some(false) => {
                    self.marks.insert(index, Reason::Condition);
                }
                None => {
                    self.gates[index as usize] += 1;
                    let open = tasks.iter().filter(|it| !state_of(**it).0.is_terminal());
                    undecided.insert(index, open.count() as u32);
                }
            }
        }
        self.levels.undecided = undecided;
    }
}

/// The same levels with nothing counted.
fn blank(levels: &Levels) -> Levels {
    let mut levels = levels.clone();
    for level in &mut levels.all {
        (level.unended, level.body, level.door) = (0, 0, 0);
        (level.is_cut, level.is_open, level.is_followed) = (false, false, false);
        level.declined = None;
    }
    levels
}
