//! Limits, resources and queues: that those of called flows agree, and that what steps name is there.
//!
//! What they mean is the scheduler's business.

use std::sync::Arc;

use crate::definition::{ChildFlow, Flow, Step, Work};
use crate::language::problem::{Problem, Problems};

/// Limits and queues of called flows are those of the run: the same name is the same thing.
pub(super) fn take_over_capacity(flow: &mut Flow, problems: &mut Problems) {
    for step in calls_in(flow) {
        let Work::Flow(child) = &step.work else { continue };
        for (name, limit) in &child.flow.limits {
            if flow.limits.entry(name.clone()).or_insert_with(|| limit.clone()) != limit {
                differs("limit", name, child, &step, problems);
            }
        }
        for (name, queue) in &child.flow.queues {
            if flow.queues.entry(name.clone()).or_insert_with(|| queue.clone()) != queue {
                differs("queue", name, child, &step, problems);
            }
        }
    }
}

/// The steps of a flow, and of groups in it, that call flows.
fn calls_in(flow: &Flow) -> Vec<Arc<Step>> {
    let mut calls = Vec::new();
    let mut open: Vec<&Arc<Step>> = flow.steps.iter().rev().collect();
    while let Some(step) = open.pop() {
        match &step.work {
            Work::Flow(child) if child.is_group => open.extend(child.flow.steps.iter().rev()),
            Work::Flow(_) => calls.push(Arc::clone(step)),
            _ => {}
        }
    }
    calls
}

fn differs(what: &str, name: &str, child: &ChildFlow, step: &Step, problems: &mut Problems) {
    let text = format!("flow `{}` defines the {what} `{name}` differently", child.flow.name);
    let problem = Problem::error("contradiction", text).at(step.span);
    problems.push(problem.hint("give one of them another name, or both the same value"));
}

/// Limits, resources and queues must be defined, and large enough.
pub(super) fn check_capacity(flow: &Flow, step: &Step, problems: &mut Problems) {
    use tidewheel::LimitSpec;
    for (name, at) in &step.capacity.limits {
        let units = step.treatment.limits.get(name).copied().unwrap_or_default();
        match flow.limits.get(name) {
            None if flow.gaps.has_section("limits") => {}
            None => {
                let text = format!("there is no limit `{name}`");
                let problem = Problem::error("unknown-limit", text).at(*at);
                problems.push(
                    match problems.nearest(name, flow.limits.keys().map(String::as_str)) {
                        Some(near) => problem.hint(format!("did you mean `{near}`?")),
                        None => problem.hint(format!("define it:  limits: {{ {name}: 4 }}")),
                    },
                );
            }
            Some(LimitSpec::Units(most) | LimitSpec::SharedUnits(most)) if units > *most => {
                let text =
                    format!("step `{}` takes {units} of `{name}`, there are {most}", step.name);
                problems.push(Problem::error("never-fits", text).at(*at));
            }
            Some(_) => {}
        }
    }
    if let (Some(queue), Some(at)) = (&step.treatment.queue, step.capacity.queue)
        && queue != "default"
        && !flow.queues.contains_key(queue)
        && !flow.gaps.has_section("queues")
    {
        let text = format!("there is no queue `{queue}`");
        let problem = Problem::error("unknown-queue", text).at(at);
        problems.push(match problems.nearest(queue, flow.queues.keys().map(String::as_str)) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint(format!("define it:  queues: {{ {queue}: {{ weight: 1 }} }}")),
        });
    }
}
