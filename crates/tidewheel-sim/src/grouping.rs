//! Groups and conditions of a stored run, by the book: read off what was asked for, task by task.
//!
//! Nothing of it is shared with the scheduler, which counts the same step by step.

use std::sync::Arc;

use tidewheel_core::condition::{Condition, Ends, Quantifier};
use tidewheel_core::group::GroupKind;
use tidewheel_core::policy::{OnError, OnSkip};
use tidewheel_core::task::TaskState;

use crate::ledger::profile_in;
use crate::store::KeptRun;

/// The end of the group that a task is in.
#[must_use]
pub fn group_of(run: &KeptRun, index: u32) -> Option<u32> {
    if let Some(added) = run.added.get(&index) {
        return added.membership.group;
    }
    let mut groups = run.row.spec.groups.iter();
    groups.find(|(_, group)| group.members.contains(&index)).map(|(end, _)| *end)
}

/// The kind of group that a task is the end of.
#[must_use]
pub fn kind_of(run: &KeptRun, end: u32) -> Option<GroupKind> {
    match run.added.get(&end) {
        Some(added) => added.membership.ends,
        None => run.row.spec.groups.get(&end).map(|group| group.kind),
    }
}

/// How many tasks are under way at once of the group that a task is the end of.
#[must_use]
pub fn at_once_of(run: &KeptRun, end: u32) -> Option<u32> {
    match run.added.get(&end) {
        Some(added) => added.membership.at_once,
        None => run.row.spec.groups.get(&end).and_then(|group| group.at_once),
    }
}

/// The tasks of a group, but its opener, of which something was started and not all has ended.
#[must_use]
pub fn under_way(run: &KeptRun, end: u32) -> Vec<u32> {
    let row = |index: u32| run.tasks.get(&index);
    let is_part = |index: &u32| group_of(run, *index) == Some(end) && !opens(run, *index);
    let parts = (0..run.task_count()).filter(is_part);
    let is_under_way = |part: &u32| {
        let is_of_it = |index: &u32| chain(run, *index).contains(part);
        let all: Vec<u32> = (0..run.task_count()).filter(is_of_it).collect();
        all.iter().any(|it| row(*it).is_some_and(|row| row.attempts > 0))
            && all.iter().any(|it| !row(*it).is_some_and(|row| row.state.is_terminal()))
    };
    parts.filter(is_under_way).collect()
}

/// The opener of the group that a task is the end of.
#[must_use]
pub fn opener_of(run: &KeptRun, end: u32) -> Option<u32> {
    let of_spec = run.row.spec.groups.get(&end).and_then(|group| group.opener);
    let mut added = run.added.iter();
    of_spec.or_else(|| {
        let opens = |it: &&(&u32, &Arc<tidewheel_core::spec::TaskSpec>)| {
            it.1.membership.opens && it.1.membership.group == Some(end)
        };
        added.find(|it| opens(&it)).map(|(index, _)| *index)
    })
}

/// Whether a task is the opener of the group it is in.
#[must_use]
pub fn opens(run: &KeptRun, index: u32) -> bool {
    group_of(run, index).is_some_and(|end| opener_of(run, end) == Some(index))
}

/// The condition of a task.
#[must_use]
pub fn condition_of(run: &KeptRun, index: u32) -> Option<&Condition> {
    match run.added.get(&index) {
        Some(added) => added.condition.as_deref(),
        None => run.row.spec.conditions.get(&index).map(|condition| &**condition),
    }
}

/// Whether a task follows the run or group it is in.
#[must_use]
pub fn follows(run: &KeptRun, index: u32) -> bool {
    matches!(condition_of(run, index), Some(Condition::OfWhole(_)))
}

/// A task, the end of its group, the end of the group that is in, and so on.
#[must_use]
pub fn chain(run: &KeptRun, index: u32) -> Vec<u32> {
    std::iter::successors(Some(index), |at| group_of(run, *at)).collect()
}

/// Whether the words are asked about an edge.
#[must_use]
pub fn is_judged(run: &KeptRun, from: u32, to: u32) -> bool {
    let is_asked = |condition: &Condition| condition.tasks().contains(&from);
    group_of(run, from) == group_of(run, to)
        && !condition_of(run, to).is_some_and(is_asked)
        && !opens(run, from)
        && (!follows(run, to) || follows(run, from))
}

/// The words for failures and skips where a task is, if no task has one.
#[must_use]
pub fn defaults(run: &KeptRun, index: u32) -> (OnError, OnSkip) {
    for end in chain(run, index).into_iter().skip(1) {
        if let Some(GroupKind::Call { on_error, on_skip }) = kind_of(run, end) {
            return (on_error, on_skip);
        }
    }
    (run.row.spec.options.on_error, run.row.spec.options.on_skip)
}

/// Whether a task goes on although the run was stopped or cancelled.
#[must_use]
pub fn is_spared(run: &KeptRun, index: u32) -> bool {
    let always = |at: &u32| profile_in(run, *at).is_some_and(|profile| profile.always);
    chain(run, index).iter().any(|at| always(at) || follows(run, *at))
}

/// The tasks that must have ended before a task because of groups: all of its own if it is an end, all of
/// its level if it follows that.
#[must_use]
pub fn implied(run: &KeptRun, index: u32) -> Vec<u32> {
    let level = group_of(run, index);
    let is_before = |task: &u32| {
        let chain = chain(run, *task);
        let is_inside = chain[1..].contains(&index);
        let member = chain.iter().find(|at| group_of(run, **at) == level);
        let is_body = member.is_some_and(|member| !follows(run, *member));
        is_inside || follows(run, index) && is_body
    };
    (0..run.task_count()).filter(is_before).collect()
}

/// Whether a condition over tasks holds for sure.
#[must_use]
pub fn holds(run: &KeptRun, condition: &Condition) -> bool {
    let Condition::OfTasks(clauses) = condition else { return true };
    let fits = |task: &u32, ends: Ends| {
        run.tasks.get(task).is_some_and(|row| ends.contains(row.state, row.reason))
    };
    clauses.iter().all(|clause| match clause.quantifier {
        Quantifier::All => clause.tasks.iter().all(|task| fits(task, clause.ends)),
        Quantifier::Any => clause.tasks.iter().any(|task| fits(task, clause.ends)),
    })
}

/// The level in which a task's own failure counts: that of the step it is a part of.
#[must_use]
pub fn judged_in(run: &KeptRun, index: u32) -> Option<u32> {
    let ends = chain(run, index).into_iter().skip(1);
    ends.into_iter().find(|end| kind_of(run, *end) != Some(GroupKind::Parts))
}

/// Whether a failure of a task was judged: its own, or that of a part of it, which is judged as its own at
/// once, and stays so when the rest of it is cancelled.
#[must_use]
pub fn counts_as_failed(run: &KeptRun, index: u32) -> bool {
    let is_part = |it: &u32| group_of(run, *it) == Some(index);
    has_failed(run, index)
        || kind_of(run, index) == Some(GroupKind::Parts)
            && (0..run.task_count()).filter(is_part).any(|it| counts_as_failed(run, it))
}

/// Whether a task failed, or nobody can say whether it did.
#[must_use]
pub fn has_failed(run: &KeptRun, index: u32) -> bool {
    let state = run.tasks.get(&index).map(|row| row.state);
    matches!(state, Some(TaskState::Failed | TaskState::Unknown))
}
