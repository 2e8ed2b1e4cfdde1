//! Groups that let only so many of their tasks be under way at once: who has a place, and who is next.
//!
//! A task asks for its place last, when nothing else holds it, so that nobody has one and waits for somebody
//! who has none. Places are given out when all else that follows from an input is known, the task with the
//! lowest index first.

use super::state::Scheduler;
use crate::decision::Decision;
use crate::id::{RunKey, TaskKey};
use crate::task::TaskState;
use crate::time::Now;

impl Scheduler {
    /// Whether a task that nothing else holds may begin. If it lacks a place, it stands in line for one.
    pub(super) fn ask_place(&mut self, key: TaskKey) -> bool {
        let Some(levels) = self.levels_mut(key.run) else { return true };
        if !levels.lacks_place(key.index) {
            return true;
        }
        let level = levels.of(key.index);
        if let Some(places) = levels.places_for_mut(key.index) {
            places.line.insert(key.index);
        }
        self.deal_later(key.run, level);
        false
    }

    fn deal_later(&mut self, run: RunKey, level: u32) {
        if self.dealing.last() != Some(&(run, level)) {
            self.dealing.push((run, level));
        }
    }

    pub(super) fn lacks_place(&self, key: TaskKey) -> bool {
        self.levels(key.run).is_some_and(|levels| levels.lacks_place(key.index))
    }

    /// Something of a task has ended. If that was the last of it, its place is free.
    pub(super) fn leave_place(&mut self, key: TaskKey) {
        let Some(levels) = self.levels(key.run) else { return };
        if levels.places_for(key.index).is_none() {
            return;
        }
        let level = levels.of(key.index);
        let inside = levels.level_ended_by(key.index).map(|level| &levels.all[level as usize]);
        let is_over = self.member(key).is_some_and(|task| task.state.is_terminal())
            && inside.is_none_or(|inside| inside.unended == 0);
        if is_over
            && let Some(levels) = self.levels_mut(key.run)
            && let Some(places) = levels.places_for_mut(key.index)
        {
            places.line.remove(&key.index);
            if places.taken.remove(&key.index) {
                self.deal_later(key.run, level);
            }
        }
    }

    /// Gives one place of a group to the first in line. What follows from that comes before the next.
    pub(super) fn deal_place(
        &mut self,
        run: RunKey,
        level: u32,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(index) = self.next_in_line(run, level) else { return };
        self.deal_later(run, level);
        let key = TaskKey { run, index };
        match self.group_of_end(key) {
            Some(inner) => self.open_door(key, inner, now, decision),
            None => self.begin(key, now, decision),
        }
    }

    /// Takes the first task out of the line that nothing but a place holds, and gives it one.
    fn next_in_line(&mut self, run: RunKey, level: u32) -> Option<u32> {
        loop {
            let places = self.places_mut(run, level).filter(|places| places.has_free())?;
            let index = places.line.pop_first()?;
            let key = TaskKey { run, index };
            let is_blocked = self.member(key).is_some_and(|it| it.state == TaskState::Blocked);
            if is_blocked && self.waits_for_nothing(key) {
                self.places_mut(run, level)?.taken.insert(index);
                return Some(index);
            }
        }
    }

    fn places_mut(&mut self, run: RunKey, level: u32) -> Option<&mut crate::level::Places> {
        self.levels_mut(run)?.all.get_mut(level as usize)?.places.as_mut()
    }

    /// After a restore: a task has a place if anything of it has begun and not all of it has ended.
    pub(super) fn take_restored_places(&mut self, run: RunKey) {
        let Some(of_run) = self.run(run.0) else { return };
        let Some(levels) = of_run.levels.as_deref() else { return };
        let state = |index: u32| of_run.tasks[index as usize].state;
        let has_begun = |index: u32| {
            let of_extra = of_run.extras.get(&index);
            of_run.tasks[index as usize].attempts > 0
                || of_extra.is_some_and(|it| it.until.is_some() || it.timeout_timer.is_some())
        };
        let is_under_way = |index: &u32| {
            let is_over = levels.with_inside(*index).all(|index| state(index).is_terminal());
            // What never began ended with its end.
            !is_over && (state(*index).is_terminal() || levels.with_inside(*index).any(has_begun))
        };
        let needs_place = |index: &u32| levels.places_for(*index).is_some();
        let taken: Vec<u32> =
            (0..of_run.tasks.len() as u32).filter(needs_place).filter(is_under_way).collect();
        let Some(levels) = self.levels_mut(run) else { return };
        for index in taken {
            if let Some(places) = levels.places_for_mut(index) {
                places.taken.insert(index);
            }
        }
    }

    /// After a restore: a task that waits for nothing but its place stands in line again.
    pub(super) fn ask_again_for_place(&mut self, key: TaskKey) {
        let is_blocked = self.member(key).is_some_and(|it| it.state == TaskState::Blocked);
        if is_blocked && self.waits_for_nothing(key) {
            self.ask_place(key);
        }
    }

    /// Compares who has a place, and who is in line, with how all tasks stand.
    pub(super) fn check_places(&self, key: RunKey) {
        let Some(run) = self.run(key.0) else { return };
        let Some(levels) = &run.levels else { return };
        let id = run.id;
        for (number, level) in levels.all.iter().enumerate() {
            let Some(places) = &level.places else { continue };
            let taken = &places.taken;
            assert!(taken.len() <= places.max as usize, "too much of level {number} of {id}");
            let state = |index: u32| run.tasks[index as usize].state;
            for &index in level.members.iter().filter(|it| level.opener != Some(**it)) {
                let is_over = levels.with_inside(index).all(|index| state(index).is_terminal());
                let mut all = levels.with_inside(index).map(state);
                let is_untouched = all.all(|it| it == TaskState::Blocked || it.is_terminal());
                let waits = state(index) == TaskState::Blocked
                    && level.is_open
                    && self.waits_for_nothing(TaskKey { run: key, index });
                match taken.contains(&index) {
                    true => assert!(!is_over, "the place of task {index} of {id} is free"),
                    false => {
                        assert!(is_over || is_untouched, "task {index} of {id} has no place");
                        let is_next = waits && places.has_free();
                        assert!(!is_next, "a place of level {number} of {id} waits for {index}");
                        assert!(!waits || places.line.contains(&index), "{index} is not in line");
                    }
                }
            }
        }
    }
}
