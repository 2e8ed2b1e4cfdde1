//! Work of a shard whose owner is gone, moved to another one: what the SQLite store does, by the book.
//!
//! When that is, and what goes wrong with it, is in [`crate::beside`].

use std::sync::Arc;

use tidewheel::store::StoreError;
use tidewheel_core::decision::Tenure;
use tidewheel_core::id::RunId;
use tidewheel_core::spec::DEFAULT_QUEUE;

use crate::store::{Rows, SimStore};

impl SimStore {
    /// Another shard of the same folder: with one order of everything that is accepted.
    #[must_use]
    pub fn another_shard(&self) -> Self {
        let other = Self::default();
        other.rows().accepted = Arc::clone(&self.rows().accepted);
        other
    }

    /// Moves everything to another shard, all of it or nothing. History goes along, since the folder has only one.
    ///
    /// # Errors
    ///
    /// When what is in the two contradicts.
    pub fn move_to(&self, to: &Self) -> Result<(), StoreError> {
        let (mut from, mut to) = (self.rows(), to.rows());
        if let Some(what) = contradiction(&from, &to) {
            return Err(StoreError::Conflict { what });
        }
        from.tenure = Tenure(from.tenure.0 + 1);
        from.newest = None;
        to.unread.extend(from.unfinished());
        // The names of what has ended are as unknown there as its work.
        to.unread.extend(from.names.iter().map(|name| name.run));
        move_definitions(&mut from, &mut to);
        move_work(&mut from, &mut to);
        Ok(())
    }
}

impl Rows {
    /// Runs and single submissions that have not ended.
    pub fn unfinished(&self) -> impl Iterator<Item = RunId> + '_ {
        let runs = self.runs.values();
        let runs = runs.filter(|run| run.change.is_none_or(|change| change.result.is_none()));
        let singles = self.submissions.values();
        let singles =
            singles.filter(|kept| kept.task.as_ref().is_none_or(|row| !row.state.is_terminal()));
        runs.map(|run| run.row.id).chain(singles.map(|kept| kept.row.id))
    }
}

fn contradiction(from: &Rows, to: &Rows) -> Option<String> {
    if from.schedules.values().any(|(_, ended)| !ended) {
        return Some("it has schedules".into());
    }
    for (name, spec, _) in from.queues.iter().filter(|(name, ..)| **name != *DEFAULT_QUEUE) {
        if to.queues.iter().any(|(other, its, _)| other == name && its != spec) {
            return Some(format!("the queue `{name}`"));
        }
    }
    for (name, spec) in &from.limits {
        if to.limits.iter().any(|(other, its)| other == name && its != spec) {
            return Some(format!("the limit `{name}`"));
        }
    }
    None
}

fn move_definitions(from: &mut Rows, to: &mut Rows) {
    // What the other one says of the queue that everybody has counts, if only nothing.
    let own = std::mem::take(&mut from.queues).into_iter();
    for queue in own.filter(|(name, ..)| **name != *DEFAULT_QUEUE) {
        if to.queues.iter().all(|(name, ..)| *name != queue.0) {
            to.queues.push(queue);
        }
    }
    for limit in std::mem::take(&mut from.limits) {
        if to.limits.iter().all(|(name, _)| *name != limit.0) {
            to.limits.push(limit);
        }
    }
    // A name stands for what was accepted under it last.
    to.names.append(&mut from.names);
    to.names.sort_by_key(|name| name.accepted_at);
}

fn move_work(from: &mut Rows, to: &mut Rows) {
    to.runs.append(&mut from.runs);
    to.submissions.append(&mut from.submissions);
    to.schedules.append(&mut from.schedules);
    to.firings.append(&mut from.firings);
    to.violations.append(&mut from.violations);
    to.outlived.append(&mut from.outlived);
    to.changed.append(&mut from.changed);
    to.early.append(&mut from.early);
    to.loose.append(&mut from.loose);
    to.unmade.append(&mut from.unmade);
    to.recorded.append(&mut from.recorded);
    to.repeated += std::mem::take(&mut from.repeated);
    for (transition, count) in std::mem::take(&mut from.transitions) {
        *to.transitions.entry(transition).or_default() += count;
    }
}
