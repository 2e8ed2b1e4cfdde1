//! Whether what a caller says about groups and conditions makes sense.
//!
//! Everything here only refuses; a run that was accepted is never looked at again.

use std::sync::Arc;

use crate::condition::Condition;
use crate::group::Membership;
use crate::input::Rejection;
use crate::level::{Levels, RUN};
use crate::run::Run;
use crate::spec::{RunSpec, TaskSpec};
use crate::task::TaskState;

const TURNS_BACK: &str = "what follows a run or group cannot be needed by what it follows";
const UNNEEDED: &str = "what a task of a group needs outside it, its end must need as well";
const OPENER: &str = "the opener of a group cannot need other tasks of it";
const FOLLOWING_OPENER: &str = "the opener of a group cannot follow it";
const INSIDE: &str = "outside a group only its end can be needed";

/// Refuses groups and conditions of a run that contradict each other or its graph.
pub(super) fn check_run(spec: &RunSpec) -> Result<(), Rejection> {
    if !spec.is_special() {
        return Ok(());
    }
    check_members(spec)?;
    let levels = Levels::new(spec, &[]);
    check_nesting(&levels)?;
    let dependencies = spec.graph.all_dependencies();
    for (&index, condition) in &spec.conditions {
        let needed = dependencies.get(index as usize).ok_or(Rejection::UnknownTask(index))?;
        check_condition(condition, needed)?;
        if levels.opens(index) && levels.follows(index) {
            return invalid(FOLLOWING_OPENER);
        }
    }
    for (to, needed) in (0..).zip(&dependencies) {
        for &from in needed {
            check_edge(&levels, from, to, |end| dependencies[end as usize].contains(&from))?;
        }
    }
    Ok(())
}

fn check_members(spec: &RunSpec) -> Result<(), Rejection> {
    let tasks = spec.graph.len();
    let mut is_member = vec![false; tasks as usize];
    for (&end, group) in &spec.groups {
        if let Some(index) = [end].iter().chain(&group.members).find(|&&index| index >= tasks) {
            return Err(Rejection::UnknownTask(*index));
        }
        check_at_once(group.at_once)?;
        if group.opener.is_some_and(|opener| !group.members.contains(&opener)) {
            return invalid("the opener of a group must be in it");
        }
        if group.opener.is_some_and(|opener| spec.groups.contains_key(&opener)) {
            return invalid("the end of a group cannot be the opener of another");
        }
        for &member in &group.members {
            if std::mem::replace(&mut is_member[member as usize], true) {
                return invalid("a task can be in one group only");
            }
        }
    }
    Ok(())
}

fn check_at_once(at_once: Option<u32>) -> Result<(), Rejection> {
    match at_once {
        Some(0) => invalid("a group must let at least one of its tasks be under way"),
        _ => Ok(()),
    }
}

/// Groups may be in groups, but not in themselves.
fn check_nesting(levels: &Levels) -> Result<(), Rejection> {
    match levels.outermost_first().len() == levels.all.len() {
        true => Ok(()),
        false => invalid("a group cannot be inside itself"),
    }
}

/// A condition speaks of what its task needs.
fn check_condition(condition: &Condition, needed: &[u32]) -> Result<(), Rejection> {
    if let Condition::OfTasks(clauses) = condition
        && (clauses.is_empty() || clauses.iter().any(|clause| clause.tasks.is_empty()))
    {
        return invalid("a condition must speak of a task");
    }
    match condition.tasks().iter().all(|task| needed.contains(task)) {
        true => Ok(()),
        false => invalid("a condition may only speak of tasks that its task needs"),
    }
}

/// Edges lead from task to task of one level. One that leads into a group must be one of its end, too,
/// for that is where it is judged; one that leads out of it leads to its end.
fn check_edge(
    levels: &Levels,
    from: u32,
    to: u32,
    is_needed_by: impl Fn(u32) -> bool,
) -> Result<(), Rejection> {
    let (outer, inner) = (levels.of(from), levels.of(to));
    if outer == inner {
        if levels.follows(from) && !levels.follows(to) {
            return invalid(TURNS_BACK);
        }
        if levels.opens(to) {
            return invalid(OPENER);
        }
        return Ok(());
    }
    if levels.chain(from).skip(1).any(|end| end == to) {
        return Ok(());
    }
    match levels.chain(to).skip(1).find(|end| levels.of(*end) == outer) {
        Some(end) if levels.opens(from) || is_needed_by(end) => Ok(()),
        Some(_) => invalid(UNNEEDED),
        None => invalid(INSIDE),
    }
}

/// Refuses a task that does not fit into the groups of a live run.
pub(super) fn check_added(run: &Run, spec: &TaskSpec) -> Result<(), Rejection> {
    if !spec.is_special() && run.levels.is_none() {
        return Ok(());
    }
    let made;
    let known = match &run.levels {
        Some(levels) => &**levels,
        None => {
            made = Levels::new(&run.spec, &run.added);
            &made
        }
    };
    let Membership { group, opens, ends, at_once } = spec.membership;
    check_at_once(at_once)?;
    if at_once.is_some() && ends.is_none() {
        return invalid(
            "only of a group it can be said how many of its tasks are under way at once",
        );
    }
    let level = match group {
        None => RUN,
        Some(end) => check_group(run, known, end)?,
    };
    let entry = &known.all[level as usize];
    if opens && (level == RUN || entry.is_open || !entry.members.is_empty() || ends.is_some()) {
        return invalid("a task can only be the opener of a group that has no tasks yet");
    }
    if let Some(condition) = &spec.condition {
        check_condition(condition, &spec.after)?;
        if opens && matches!(**condition, Condition::OfWhole(_)) {
            return invalid(FOLLOWING_OPENER);
        }
    }
    if entry.is_followed && run.levels.is_some() {
        return Err(Rejection::Gone("group"));
    }
    check_added_edges(run, known, level, spec)
}

/// What [`check_edge`] says, of a task that is not in the run yet.
fn check_added_edges(
    run: &Run,
    levels: &Levels,
    level: u32,
    spec: &TaskSpec,
) -> Result<(), Rejection> {
    let follows = matches!(spec.condition.as_deref(), Some(Condition::OfWhole(_)));
    let end = levels.all[level as usize].end;
    let around: Vec<u32> = end.map_or_else(Vec::new, |end| levels.chain(end).collect());
    for &from in &spec.after {
        let outer = levels.of(from);
        if outer == level {
            if levels.follows(from) && !follows {
                return invalid(TURNS_BACK);
            }
            continue;
        }
        match around.iter().find(|end| levels.of(**end) == outer) {
            Some(end) if levels.opens(from) || run.dependencies(*end).contains(&from) => {}
            Some(_) => return invalid(UNNEEDED),
            None => return invalid(INSIDE),
        }
    }
    for &to in &spec.before {
        let is_beside = levels.of(to) == level;
        if is_beside && follows && !levels.follows(to) {
            return invalid(TURNS_BACK);
        }
        if !is_beside && !around.contains(&to) {
            return invalid(INSIDE);
        }
        if is_beside && levels.opens(to) {
            return invalid(OPENER);
        }
        // The end still waits, but its group has begun.
        let group = levels.level_ended_by(to).filter(|_| is_beside);
        if group.is_some_and(|level| levels.all[level as usize].door == 0) {
            let state = run.tasks[to as usize].state;
            return Err(Rejection::TooLate { task: run.name(to), state });
        }
    }
    Ok(())
}

/// The level of a group that a task may still be added to.
fn check_group(run: &Run, levels: &Levels, end: u32) -> Result<u32, Rejection> {
    let task = run.tasks.get(end as usize).ok_or(Rejection::UnknownTask(end))?;
    let Some(level) = levels.level_ended_by(end) else {
        return invalid("a task can only be added to a group by its end");
    };
    if task.state != TaskState::Blocked {
        return Err(Rejection::TooLate { task: run.name(end), state: task.state });
    }
    let mut around = levels.chain(end).map(|task| levels.of(task)).chain([level]);
    if around.any(|level| levels.all[level as usize].stopped.is_some()) {
        return Err(Rejection::Gone("group"));
    }
    Ok(level)
}

fn invalid<T>(text: &str) -> Result<T, Rejection> {
    Err(Rejection::Invalid(Arc::from(text)))
}
