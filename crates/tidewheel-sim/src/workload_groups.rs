//! Groups and conditions, from chance alone: in runs, and for tasks that join them.
//!
//! What else there is to ask for is in [`crate::workload`].

use std::collections::BTreeMap;
use std::sync::Arc;

use tidewheel_core::condition::{Clause, Condition, Ends, Standing};
use tidewheel_core::graph::Graph;
use tidewheel_core::group::{GroupKind, GroupSpec, Membership};
use tidewheel_core::policy::{OnError, OnSkip};
use tidewheel_core::spec::{RunSpec, TaskSpec};

use crate::grouping::{group_of, kind_of};
use crate::random::Random;
use crate::store::KeptRun;

/// Some kind of group.
pub fn kind(random: &mut Random) -> GroupKind {
    if random.percent(30) {
        return GroupKind::Parts;
    }
    GroupKind::Call {
        on_error: *random.pick(&[OnError::Continue, OnError::Skip, OnError::Fail]),
        on_skip: *random.pick(&[OnSkip::Continue, OnSkip::Skip]),
    }
}

/// How many tasks of a group are under way at once, if that is said.
fn at_once(random: &mut Random) -> Option<u32> {
    random.percent(40).then(|| random.between(1, 3) as u32)
}

fn condition(random: &mut Random, needs: &[u32]) -> Option<Condition> {
    if random.percent(12) {
        let standings = [Standing::Succeeded, Standing::Failed, Standing::Ended];
        return Some(Condition::OfWhole(*random.pick(&standings)));
    }
    if needs.is_empty() || random.percent(75) {
        return None;
    }
    let ways = [Ends::SUCCEEDED, Ends::FAILED, Ends::SKIPPED, Ends::SUCCEEDED.or(Ends::DECLINED)];
    let (tasks, ends) = (needs.to_vec(), *random.pick(&ways));
    let clause =
        if random.percent(50) { Clause::all(tasks, ends) } else { Clause::any(tasks, ends) };
    Some(Condition::OfTasks(vec![clause]))
}

/// Puts the tasks of a run into groups and gives some a condition. Ends come before what is in their
/// groups, and edges lead forward within a level.
pub fn group(random: &mut Random, spec: &mut RunSpec) {
    let tasks = spec.graph.len();
    let mut group_of: Vec<Option<u32>> = Vec::new();
    let mut groups: BTreeMap<u32, GroupSpec> = BTreeMap::new();
    let mut conditions: BTreeMap<u32, Arc<Condition>> = BTreeMap::new();
    let mut edges = Vec::new();
    for task in 0..tasks {
        let ends: Vec<u32> = groups.keys().copied().collect();
        let group = (!ends.is_empty() && random.percent(65)).then(|| *random.pick(&ends));
        let follows = |task: u32| {
            conditions.get(&task).is_some_and(|it| matches!(**it, Condition::OfWhole(_)))
        };
        let beside = |need: &u32| group_of[*need as usize] == group && random.percent(25);
        let mut needs: Vec<u32> = (0..task).filter(beside).collect();
        let body: Vec<u32> = needs.iter().copied().filter(|need| !follows(*need)).collect();
        let mut condition = condition(random, &body);
        if !matches!(condition, Some(Condition::OfWhole(_))) {
            needs = body;
        }
        let members = group.and_then(|end| groups.get_mut(&end));
        let opens = members.is_some_and(|group| {
            let opens = group.members.is_empty() && random.percent(35);
            group.members.push(task);
            group.opener = group.opener.or(opens.then_some(task));
            opens
        });
        if opens {
            (needs, condition) = (Vec::new(), None);
        } else if random.percent(25) {
            let (kind, at_once) = (kind(random), at_once(random));
            groups.insert(task, GroupSpec { kind, at_once, opener: None, members: Vec::new() });
        }
        group_of.push(group);
        edges.extend(needs.iter().map(|need| (*need, task)));
        conditions.extend(condition.map(|it| (task, Arc::new(it))));
    }
    spec.graph = Arc::new(Graph::numbered(tasks, edges).expect("edges lead forward"));
    (spec.groups, spec.conditions) = (groups, conditions);
}

/// Lets a task that is added to a run join one of its groups, sometimes with one of its own.
pub fn join(random: &mut Random, run: &KeptRun, task: &mut TaskSpec) {
    let ends: Vec<u32> = (0..run.task_count()).filter(|it| kind_of(run, *it).is_some()).collect();
    let group = (!ends.is_empty() && random.percent(70)).then(|| *random.pick(&ends));
    let opens = group.is_some() && random.percent(10);
    let ends = random.percent(15).then(|| kind(random));
    let at_once = ends.and_then(|_| at_once(random));
    task.membership = Membership { group, opens, ends, at_once };
    if random.percent(85) {
        for list in [&mut task.after, &mut task.before] {
            list.retain(|other| *other < run.task_count() && group_of(run, *other) == group);
        }
    }
    task.condition = condition(random, &task.after).map(Arc::new);
}
