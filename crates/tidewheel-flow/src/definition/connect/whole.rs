//! [`connect`]: everything that steps say of each other, one after another.
//!
//! Each kind of it has a file beside this one.

use std::sync::Arc;

use super::capacity::{check_capacity, take_over_capacity};
use super::circles::report_circles;
use super::elements::KnownElements;
use super::files::follow_files;
use super::missing::{check_missing, may_decline};
use super::names::Names;
use super::sequence::follow_order;
use crate::definition::{Dependency, Flow, Step, Work};
use crate::language::problem::{Problem, Problems};
use crate::language::template::Reference;
use crate::language::tree::starts_with;

/// How many tasks a run may come to.
pub(crate) const TASKS_MAX: usize = 200_000;

/// Adds what templates say to what each step waits for, and reports whatever does not fit.
pub(crate) fn connect(flow: &mut Flow, problems: &mut Problems) {
    take_over_capacity(flow, problems);
    if flow.tasks > TASKS_MAX {
        let text =
            format!("with the flows it calls it has {} tasks, more than {TASKS_MAX}", flow.tasks);
        problems.push(Problem::error("too-large", text));
    }
    connect_steps(flow, None, &KnownElements::default(), problems);
    check_shared_variables(flow, problems);
    check_group(flow, problems);
}

/// The same for the steps of a flow, or of a group in what is around it. Gives what they wait for outside:
/// the group as a whole does.
fn connect_steps(
    flow: &mut Flow,
    around: Option<(&Names<'_>, &Step)>,
    elements: &KnownElements,
    problems: &mut Problems,
) -> Vec<Dependency> {
    let names = match around {
        Some((around, step)) => Names::of_group(flow, around, step),
        None => Names::new(flow, None),
    };
    let (mut found, mut groups, mut outside) = (Vec::new(), Vec::new(), Vec::new());
    for (place, step) in flow.steps.iter().enumerate() {
        names.check_shadows(step, problems);
        let mut inside = Vec::new();
        if let Work::Flow(child) = &step.work
            && child.is_group
        {
            let mut group = (*child.flow).clone();
            group.join(flow);
            let elements = elements.inside(step);
            inside = connect_steps(&mut group, Some((&names, step)), &elements, problems);
            groups.push((place, group));
        }
        found.push(names.dependencies(step, inside, &mut outside, problems));
        check_capacity(flow, step, problems);
    }
    for (step, after) in flow.steps.iter_mut().zip(found) {
        Arc::make_mut(step).after = after;
    }
    for (place, group) in groups {
        if let Work::Flow(child) = &mut Arc::make_mut(&mut flow.steps[place]).work {
            child.flow = Arc::new(group);
        }
    }
    follow_order(flow);
    follow_files(flow, elements);
    flow.may_decline = may_decline(flow);
    check_missing(flow, problems);
    report_circles(flow, problems);
    outside
}

/// Variables of all steps cannot need an output of one of them.
fn check_shared_variables(flow: &Flow, problems: &mut Problems) {
    for (name, tree) in &flow.env {
        tree.visit(&mut |leaf| {
            let needs_step = |it: &Reference| starts_with(it, "flows") || starts_with(it, "steps");
            if leaf.template.references().iter().any(needs_step) {
                let text =
                    format!("`env.{name}` is for all steps and cannot need an output of one");
                let problem = Problem::error("wrong-place", text).at(leaf.span);
                problems.push(problem.hint("put it into the `env` of the steps that need it"));
            }
        });
    }
}

/// The group of a flow's runs can only use params that there are.
fn check_group(flow: &Flow, problems: &mut Problems) {
    let Some(concurrency) = &flow.concurrency else { return };
    let names = Names::new(flow, None);
    for (reference, at) in concurrency.group.references() {
        if let [root, name, ..] = &reference.path[..]
            && !reference.has_default
            && root == "params"
        {
            names.check_name(root, names.declared(root), name, at, problems);
        }
    }
}
