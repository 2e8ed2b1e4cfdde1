//! What steps say of each other: dependencies that are written down or found in templates, outputs
//! that are used, limits that are named, circles.
//!
//! What a step says of itself was checked when it was decoded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::definition::names::{ABOUT_RUN, ABOUT_STEP, ABOUT_WHOLE};
use crate::definition::{ChildFlow, Dependency, Flow, Gaps, Place, Step, Work};
use crate::language::problem::{Problem, Problems, Span};
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
    let names = Names::new(flow);
    let mut found = Vec::with_capacity(flow.steps.len());
    for step in &flow.steps {
        found.push(names.dependencies(step, problems));
        check_capacity(flow, step, problems);
    }
    for (step, after) in flow.steps.iter_mut().zip(found) {
        Arc::make_mut(step).after = after;
    }
    check_shared_variables(flow, problems);
    check_group(flow, problems);
    report_circles(flow, problems);
}

/// Limits and queues of called flows are those of the run: the same name is the same thing.
fn take_over_capacity(flow: &mut Flow, problems: &mut Problems) {
    for step in flow.steps.clone() {
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

fn differs(what: &str, name: &str, child: &ChildFlow, step: &Step, problems: &mut Problems) {
    let text = format!("flow `{}` defines the {what} `{name}` differently", child.flow.name);
    let problem = Problem::error("contradiction", text).at(step.span);
    problems.push(problem.hint("give one of them another name, or both the same value"));
}

struct Names<'a> {
    by_name: BTreeMap<&'a str, &'a Step>,
    gaps: &'a Gaps,
    params: BTreeSet<&'a str>,
    secrets: BTreeSet<&'a str>,
    sources: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    fn new(flow: &'a Flow) -> Self {
        Self {
            by_name: flow.steps.iter().map(|step| (step.name.as_str(), &**step)).collect(),
            gaps: &flow.gaps,
            params: flow.params.iter().map(|param| param.name.as_str()).collect(),
            secrets: flow.secrets.iter().map(|secret| secret.name.as_str()).collect(),
            sources: flow.sources.keys().map(String::as_str).collect(),
        }
    }

    /// What a step waits for, written down or found in its templates.
    fn dependencies(&self, step: &Step, problems: &mut Problems) -> Vec<Dependency> {
        let mut after = Vec::new();
        let mut known = BTreeSet::new();
        for dependency in &step.after {
            self.check_dependency(step, dependency, problems);
            if self.by_name.contains_key(dependency.step.as_str())
                && known.insert(dependency.step.as_str())
            {
                after.push(dependency.clone());
            }
        }
        step.visit(&mut |leaf| {
            for (reference, at) in leaf.references() {
                let needed = self.check_reference(step, reference, at, problems);
                if let Some(needed) = needed.filter(|needed| known.insert(needed)) {
                    let step = needed.to_owned();
                    after.push(Dependency { step, is_inferred: true, span: at });
                }
            }
        });
        after
    }

    fn check_dependency(&self, step: &Step, dependency: &Dependency, problems: &mut Problems) {
        let (wanted, at) = (dependency.step.as_str(), dependency.span);
        match self.by_name.get(wanted) {
            Some(found) => check_places(step, found, at, problems),
            None => {
                let text =
                    format!("step `{}` waits for `{wanted}`, which does not exist", step.name);
                self.missing_step(&text, wanted, at, problems);
            }
        }
    }

    fn missing_step(&self, text: &str, wanted: &str, at: Span, problems: &mut Problems) {
        if self.gaps.has_section("flow") {
            return;
        }
        let problem = Problem::error("missing-step", text).at(at);
        let near = problems.nearest(wanted, self.by_name.keys().copied());
        problems.push(problem.did_you_mean(near));
    }

    /// The step that a template needs, if it needs one.
    fn check_reference(
        &self,
        step: &Step,
        reference: &Reference,
        at: Span,
        problems: &mut Problems,
    ) -> Option<&'a str> {
        let mut path = reference.path.iter().map(String::as_str);
        let root = path.next()?;
        if root != "flows" && root != "steps" {
            if let Some(name) = path.next().filter(|_| !reference.has_default) {
                self.check_declared(root, name, step, at, problems);
            }
            return None;
        }
        let Some(wanted) = path.next() else {
            if reference.is_dynamic && step.after.is_empty() {
                let text = "which step this needs is only known when it runs, so it waits for none";
                let problem = Problem::warning("dynamic-reference", text).at(at);
                problems.push(problem.hint("name the steps in `depends_on`"));
            }
            return None;
        };
        let Some(found) = self.by_name.get(wanted) else {
            self.missing_step(&format!("there is no step `{wanted}`"), wanted, at, problems);
            return None;
        };
        check_places(step, found, at, problems);
        if root == "steps" {
            if let Some(name) = path.next() {
                check_about("steps.NAME", name, &ABOUT_STEP, at, problems);
            }
        } else if !reference.has_default && !self.gaps.outputs.contains(wanted) {
            check_outputs(found, path, at, problems);
        }
        Some(&found.name)
    }

    /// Params, secrets and sources must be declared, and what is known of a run is always the same.
    fn check_declared(
        &self,
        root: &str,
        name: &str,
        step: &Step,
        at: Span,
        problems: &mut Problems,
    ) {
        let (what, known) = match root {
            "run" => return check_about_run(name, step, at, problems),
            _ => self.declared(root),
        };
        self.check_name(root, (what, known), name, at, problems);
    }

    /// What must be declared to be named, and what is.
    fn declared(&self, root: &str) -> (&'static str, Option<&BTreeSet<&'a str>>) {
        match root {
            "params" => ("param", Some(&self.params)),
            "secrets" => ("secret", Some(&self.secrets)),
            "sources" => ("source", Some(&self.sources)),
            _ => ("", None),
        }
    }

    fn check_name(
        &self,
        root: &str,
        (what, known): (&str, Option<&BTreeSet<&'a str>>),
        name: &str,
        at: Span,
        problems: &mut Problems,
    ) {
        let Some(known) = known.filter(|it| !it.contains(name)) else { return };
        if self.gaps.has_section(root) {
            return;
        }
        let text = format!("the flow has no {what} `{name}`");
        let problem = Problem::error("unknown-name", text).at(at);
        problems.push(match problems.nearest(name, known.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint(format!("declare it:  {root}: {{ {name}: … }}")),
        });
    }
}

/// Steps of the flow cannot wait for steps that follow it.
fn check_places(step: &Step, needed: &Step, at: Span, problems: &mut Problems) {
    if step.place != needed.place && needed.place != Place::Flow {
        let text = format!(
            "step `{}` cannot wait for `{}`, which follows the run",
            step.name, needed.name
        );
        problems.push(Problem::error("wrong-place", text).at(at));
    }
}

fn check_about_run(name: &str, step: &Step, at: Span, problems: &mut Problems) {
    if ABOUT_WHOLE.contains(&name) {
        if !step.follows_run() {
            let text = format!("`run.{name}` is known when all of the flow has ended");
            let problem = Problem::error("wrong-place", text).at(at);
            problems.push(problem.hint("use it in on_success, on_failure or finally"));
        }
        return;
    }
    let mut known = ABOUT_RUN.to_vec();
    if step.follows_run() {
        known.extend(ABOUT_WHOLE);
    }
    check_about("run", name, &known, at, problems);
}

/// What is known of the run and of steps is always the same.
fn check_about(what: &str, name: &str, known: &[&'static str], at: Span, problems: &mut Problems) {
    if known.contains(&name) {
        return;
    }
    let problem = Problem::error("unknown-name", format!("`{what}` has no `{name}`")).at(at);
    problems.push(match problems.nearest(name, known.iter().copied()) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(format!("it has {}", known.join(", "))),
    });
}

/// What is named of a step must be one of its outputs; of one that calls a flow, a step of that and
/// an output of it.
fn check_outputs<'r>(
    mut step: &Step,
    path: impl Iterator<Item = &'r str>,
    at: Span,
    problems: &mut Problems,
) {
    for wanted in path {
        let Work::Flow(child) = &step.work else {
            return check_output(step, wanted, at, problems);
        };
        let flow = &child.flow;
        let Some(inner) = flow.step(wanted) else {
            if !flow.gaps.has_section("flow") {
                missing_in_flow(step, flow, wanted, at, problems);
            }
            return;
        };
        // With elements, it is a list of what the step left in each.
        if step.foreach.is_some() || flow.gaps.outputs.contains(wanted) {
            return;
        }
        step = inner;
    }
}

fn missing_in_flow(step: &Step, flow: &Flow, wanted: &str, at: Span, problems: &mut Problems) {
    let text =
        format!("step `{}` calls flow `{}`, which has no step `{wanted}`", step.name, flow.name);
    let problem = Problem::error("missing-output", text).at(at).see(step.span, "this step");
    problems.push(match problems.nearest(wanted, flow.names.iter().map(String::as_str)) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(format!("its steps: {}", flow.names.join(", "))),
    });
}

fn check_output(step: &Step, wanted: &str, at: Span, problems: &mut Problems) {
    let names: Vec<&str> = step.outputs.iter().map(|output| output.name.as_str()).collect();
    if names.contains(&wanted) {
        return;
    }
    let text = format!("step `{}` has no output `{wanted}`", step.name);
    let problem = Problem::error("missing-output", text).at(at).see(step.span, "this step");
    problems.push(match problems.nearest(wanted, names.iter().copied()) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => {
            problem.hint(format!("give it one:  outputs: {{ {wanted}: \"{{{{ stdout }}}}\" }}"))
        }
        None => problem.hint(format!("its outputs: {}", names.join(", "))),
    });
}

/// Limits, resources and queues must be defined, and large enough.
fn check_capacity(flow: &Flow, step: &Step, problems: &mut Problems) {
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
    let names = Names::new(flow);
    for (reference, at) in concurrency.group.references() {
        if let [root, name, ..] = &reference.path[..]
            && !reference.has_default
            && root == "params"
        {
            names.check_name(root, names.declared(root), name, at, problems);
        }
    }
}

/// Reports steps that wait for each other, each circle once, as a path.
fn report_circles(flow: &Flow, problems: &mut Problems) {
    let index: BTreeMap<&str, usize> =
        flow.steps.iter().enumerate().map(|(place, step)| (step.name.as_str(), place)).collect();
    let after: Vec<Vec<usize>> = flow
        .steps
        .iter()
        .map(|step| {
            step.after.iter().filter_map(|it| index.get(it.step.as_str()).copied()).collect()
        })
        .collect();
    for circle in circles(&after) {
        let name = |place: &usize| format!("`{}`", flow.steps[*place].name);
        let mut path: Vec<String> = circle.iter().map(name).collect();
        path.extend(circle.first().map(name));
        let text = match circle.len() {
            1 => format!("step {} waits for itself", path[0]),
            _ => format!("steps wait for each other: {}", path.join(" → ")),
        };
        let mut problem = Problem::error("cycle", text).at(flow.steps[circle[0]].span);
        for place in circle.iter().skip(1).take(8) {
            problem = problem.see(flow.steps[*place].span, "part of the circle");
        }
        problems.push(problem);
    }
}

/// Circles of a graph given by what each vertex waits for: one for each vertex at which walking back
/// meets the path again. Iterative, since files can be deep.
fn circles(after: &[Vec<usize>]) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::New; after.len()];
    let mut found = Vec::new();
    for start in 0..after.len() {
        if marks[start] != Mark::New {
            continue;
        }
        let mut path = vec![(start, 0)];
        marks[start] = Mark::OnPath;
        while let Some((vertex, next)) = path.last_mut() {
            let vertex = *vertex;
            let Some(needed) = after[vertex].get(*next).copied() else {
                marks[vertex] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[needed] {
                Mark::Done => {}
                Mark::New => {
                    marks[needed] = Mark::OnPath;
                    path.push((needed, 0));
                }
                Mark::OnPath => {
                    let from = path.iter().position(|(on, _)| *on == needed).unwrap_or_default();
                    let mut circle: Vec<usize> = path[from..].iter().map(|(on, _)| *on).collect();
                    // The path walks from a step to what it needs; people read the other way round.
                    circle.reverse();
                    found.push(circle);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_once_each() {
        assert!(circles(&[vec![], vec![0], vec![0, 1]]).is_empty());
        assert_eq!(circles(&[vec![0]]), [vec![0]]);
        assert_eq!(circles(&[vec![1], vec![0], vec![1]]), [vec![1, 0]]);
        let long: Vec<Vec<usize>> = (0..100_000).map(|it| vec![(it + 1) % 100_000]).collect();
        assert_eq!(circles(&long).len(), 1);
    }
}
