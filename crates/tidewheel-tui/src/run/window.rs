//! Which steps are shown when there is no room for all.
//!
//! The cost depends on what is chosen, not on how many steps there are.

use tidewheel_client::progress::EndState;

use super::model::{Model, Status};

/// Rows of steps in a window, and steps up to which there is none.
pub(crate) const WINDOW_MAX: usize = 30;
/// Lines of output below each failed step.
pub(crate) const TAIL_LINES: usize = 5;
/// Lines of output of the latest failure for which other steps make room.
const TAIL_LINES_MIN: usize = 3;
/// Steps that ended lately which a window shows at most.
const RECENT_SHOWN: usize = 5;

/// Steps to show, in their own order, with how many lines of output below each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub steps: Vec<Chosen>,
}

/// One step to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub step: usize,
    pub tail: usize,
}

impl Choice {
    /// Every step, if that fits into `rows` together with some output of the latest failure, and
    /// more output where there is room left.
    pub fn everything(model: &Model, rows: usize) -> Option<Self> {
        let latest = model.failed.last().map_or(0, |&step| model.steps[step].tail().len());
        let asked: usize = model.running.iter().map(|&(_, it)| model.steps[it].answer.len()).sum();
        if model.steps.len() + latest.min(TAIL_LINES_MIN) + asked > rows {
            return None;
        }
        let mut room = rows - model.steps.len() - asked;
        let mut tails: Vec<usize> = model.steps.iter().map(|step| step.answer.len()).collect();
        for &step in model.failed.iter().rev() {
            tails[step] = model.steps[step].tail().len().min(TAIL_LINES).min(room);
            room -= tails[step];
        }
        let steps = tails.iter().enumerate().map(|(step, &tail)| Chosen { step, tail });
        Some(Self { steps: steps.collect() })
    }

    /// What matters now, in at most `rows`: what runs, what failed, what ended lately, what waits
    /// for another attempt, and what comes next.
    pub fn window(model: &Model, rows: usize) -> Self {
        let mut choice = Self::default();
        let mut room = rows;
        let share = (rows / 4).max(1);
        // A failure and its output come before everything; they take no more than half.
        let most = (rows / 2).max(1);
        for &step in model.failed.iter().rev().take(2) {
            let used = rows - room;
            if used >= most {
                break;
            }
            let lines = model.steps[step].tail().len().min(TAIL_LINES);
            choice.take(step, lines.min(most - used - 1), &mut room);
        }
        for &(_, step) in &model.running {
            choice.take(step, model.steps[step].answer.len(), &mut room);
        }
        for &step in model.failed.iter().rev().skip(2).take(share) {
            choice.take(step, 0, &mut room);
        }
        for &(_, step) in model.delayed.iter().take(share) {
            choice.take(step, 0, &mut room);
        }
        for &step in model.recent.iter().rev().take(RECENT_SHOWN.min(share)) {
            choice.take(step, 0, &mut room);
        }
        let delayed = model.delayed.iter().skip(share).map(|&(_, step)| step);
        let next = model.ready.iter().chain(&model.blocked).copied().chain(delayed);
        for step in next.take(room) {
            choice.take(step, 0, &mut room);
        }
        for &step in model.recent.iter().rev().skip(RECENT_SHOWN.min(share)).take(room) {
            choice.take(step, 0, &mut room);
        }
        choice.steps.sort_unstable_by_key(|chosen| chosen.step);
        choice
    }

    fn take(&mut self, step: usize, tail: usize, room: &mut usize) {
        if *room > 0 {
            let tail = tail.min(*room - 1);
            *room -= 1 + tail;
            self.steps.push(Chosen { step, tail });
        }
    }

    /// How many steps of each kind are not chosen: "3 succeeded, 460 blocked".
    pub fn hidden(&self, model: &Model) -> String {
        let ended = EndState::ALL.map(|state| (state.word(), model.count(state)));
        let others = [
            ("running", model.running.len()),
            ("delayed", model.delayed.len()),
            ("ready", model.ready.len()),
            ("blocked", model.blocked.len()),
        ];
        let mut counts: Vec<(&str, usize)> = ended.into_iter().chain(others).collect();
        for chosen in &self.steps {
            let word = word(model.steps[chosen.step].status);
            if let Some((_, count)) = counts.iter_mut().find(|(other, _)| *other == word) {
                *count -= 1;
            }
        }
        let hidden = counts.iter().filter(|(_, count)| *count > 0);
        let hidden: Vec<String> = hidden.map(|(word, count)| format!("{count} {word}")).collect();
        hidden.join(", ")
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Ended(state) => state.word(),
        Status::Running { .. } => "running",
        Status::Delayed { .. } => "delayed",
        Status::Ready => "ready",
        Status::Blocked => "blocked",
    }
}
