//! Names in templates and dependencies, and whether there is something behind each.
//!
//! What templates may name in which place was checked when they were read.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::names::{ABOUT_RUN, ABOUT_STEP, ABOUT_WHOLE};
use crate::definition::{Dependency, Flow, Gaps, Place, Step, Work};
use crate::language::problem::{Problem, Problems, Span};
use crate::language::template::Reference;

pub(super) struct Names<'a> {
    /// Of a group, those of what is around it.
    around: Option<&'a Names<'a>>,
    /// Whether the group follows the run.
    follows_run: bool,
    by_name: BTreeMap<&'a str, &'a Step>,
    gaps: &'a Gaps,
    params: BTreeSet<&'a str>,
    secrets: BTreeSet<&'a str>,
    sources: BTreeSet<&'a str>,
}

/// A step behind a name.
struct Found<'a> {
    step: &'a Step,
    /// It is of the flow, not of what is around it.
    is_own: bool,
}

impl<'a> Names<'a> {
    pub fn new(flow: &'a Flow, around: Option<&'a Names<'a>>) -> Self {
        Self {
            around,
            follows_run: false,
            by_name: flow.steps.iter().map(|step| (step.name.as_str(), &**step)).collect(),
            gaps: &flow.gaps,
            params: flow.params.iter().map(|param| param.name.as_str()).collect(),
            secrets: flow.secrets.iter().map(|secret| secret.name.as_str()).collect(),
            sources: flow.sources.keys().map(String::as_str).collect(),
        }
    }

    /// Those of a group, which knows what the step knows that it is in.
    pub fn of_group(flow: &'a Flow, around: &'a Names<'a>, step: &Step) -> Self {
        let follows_run = around.follows(step);
        Self { follows_run, ..Self::new(flow, Some(around)) }
    }

    /// Whether a step follows the run, or is in a group that does.
    fn follows(&self, step: &Step) -> bool {
        self.follows_run || step.follows_run()
    }

    /// A step of the flow, or of what is around it.
    fn find(&self, name: &str) -> Option<Found<'a>> {
        match self.by_name.get(name) {
            Some(step) => Some(Found { step, is_own: true }),
            None => Some(Found { is_own: false, ..self.around?.find(name)? }),
        }
    }

    fn is_own(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Steps of a group have other names than those around it, so that a name means one step.
    pub fn check_shadows(&self, step: &Step, problems: &mut Problems) {
        if let Some(other) = self.around.and_then(|around| around.find(&step.name)) {
            let text = format!("a step outside of the group is called `{}` too", step.name);
            let problem = Problem::error("duplicate-step", text).at(step.span);
            problems.push(problem.see(other.step.span, "this one"));
        }
    }

    /// What a step waits for, written down or found in its templates, and for a group in those inside.
    /// What is not of this flow goes to `outside`.
    pub fn dependencies(
        &self,
        step: &Step,
        inside: Vec<Dependency>,
        outside: &mut Vec<Dependency>,
        problems: &mut Problems,
    ) -> Vec<Dependency> {
        let (mut after, mut known) = (Vec::new(), BTreeSet::new());
        let mut add = |dependency: Dependency, found: Option<Found<'a>>| match found {
            Some(Found { step, is_own: true }) => {
                if known.insert(step.name.as_str()) {
                    after.push(dependency);
                }
            }
            _ => outside.push(dependency),
        };
        for dependency in &step.after {
            let found = self.check_dependency(step, dependency, problems);
            if found.is_some() {
                add(dependency.clone(), found);
            }
        }
        for dependency in inside {
            let found = self.find(&dependency.step);
            if let Some(Found { step: needed, is_own: true }) = found {
                check_places(step, needed, dependency.span, problems);
            }
            add(dependency, found);
        }
        self.check_clauses(step, problems);
        step.visit(&mut |leaf| {
            for (reference, at) in leaf.references() {
                let needed = self.check_reference(step, reference, at, problems);
                if let Some(found) = needed {
                    let step = found.step.name.clone();
                    let needed = Dependency { step, is_inferred: true, file: None, span: at };
                    add(needed, Some(found));
                }
            }
        });
        after
    }

    /// A step of a group cannot choose by how one outside has ended: the group waits as a whole.
    fn check_clauses(&self, step: &Step, problems: &mut Problems) {
        for clause in &step.clauses {
            let outside = clause.steps.iter().filter(|name| !self.is_own(name));
            for name in outside.filter(|name| self.find(name).is_some()) {
                let text = format!("`{name}` is outside of the group that `{}` is in", step.name);
                let problem = Problem::error("wrong-place", text).at(clause.span);
                problems.push(problem.hint("say it in the `depends_on` of the group"));
            }
        }
    }

    /// The step that is waited for, if there is one.
    fn check_dependency(
        &self,
        step: &Step,
        dependency: &Dependency,
        problems: &mut Problems,
    ) -> Option<Found<'a>> {
        let (wanted, at) = (dependency.step.as_str(), dependency.span);
        let found = self.find(wanted);
        match &found {
            Some(Found { step: needed, is_own: true }) => check_places(step, needed, at, problems),
            Some(_) => {}
            None => {
                let text =
                    format!("step `{}` waits for `{wanted}`, which does not exist", step.name);
                self.missing_step(&text, wanted, Some(&step.name), at, problems);
            }
        }
        found
    }

    /// Reports a step that is not there. Nobody means the one that it is said in.
    fn missing_step(
        &self,
        text: &str,
        wanted: &str,
        said_in: Option<&str>,
        at: Span,
        problems: &mut Problems,
    ) {
        if self.gaps.has_section("flow") {
            return;
        }
        let problem = Problem::error("missing-step", text).at(at);
        let others = self.by_name.keys().copied().filter(|name| Some(*name) != said_in);
        let near = problems.nearest(wanted, others);
        problems.push(problem.did_you_mean(near));
    }

    /// The step that a template needs, if it needs one.
    fn check_reference(
        &self,
        step: &Step,
        reference: &Reference,
        at: Span,
        problems: &mut Problems,
    ) -> Option<Found<'a>> {
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
        let Some(found) = self.find(wanted) else {
            let text = format!("there is no step `{wanted}`");
            self.missing_step(&text, wanted, Some(&step.name), at, problems);
            return None;
        };
        if found.is_own {
            check_places(step, found.step, at, problems);
        }
        if root == "steps" {
            if let Some(name) = path.next() {
                check_about(&format!("steps.{wanted}"), name, &ABOUT_STEP, at, problems);
            }
        } else if !reference.has_default && !self.gaps.outputs.contains(wanted) {
            check_outputs(found.step, path, at, problems);
        }
        Some(found)
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
            "run" => return check_about_run(name, self.follows(step), at, problems),
            _ => self.declared(root),
        };
        self.check_name(root, (what, known), name, at, problems);
    }

    /// What must be declared to be named, and what is.
    pub fn declared(&self, root: &str) -> (&'static str, Option<&BTreeSet<&'a str>>) {
        match root {
            "params" => ("param", Some(&self.params)),
            "secrets" => ("secret", Some(&self.secrets)),
            "sources" => ("source", Some(&self.sources)),
            _ => ("", None),
        }
    }

    pub fn check_name(
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

fn check_about_run(name: &str, follows_run: bool, at: Span, problems: &mut Problems) {
    if ABOUT_WHOLE.contains(&name) {
        if !follows_run {
            let text = format!("`run.{name}` is known when all of the flow has ended");
            let problem = Problem::error("wrong-place", text).at(at);
            problems.push(problem.hint("use it in on_success, on_failure or finally"));
        }
        return;
    }
    let mut known = ABOUT_RUN.to_vec();
    if follows_run {
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
        Some(near) => problem.hint(format!("did you mean `{what}.{near}`?")),
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
            problem.hint(format!(
                "give it one:  outputs: {{ {wanted}: \"{{{{ stdout }}}}\" }},  or  outputs: [{wanted}]  if \
                 it writes `{wanted}=…` to $TIDEWHEEL_OUTPUT"
            ))
        }
        None => problem.hint(format!("its outputs: {}", names.join(", "))),
    });
}
