//! Outputs that may not be there: of steps that a condition may skip, used where that skips nobody else.
//!
//! What is not there because something failed is not spoken of: then there is a failure to look at.

use std::collections::{BTreeMap, BTreeSet};

use tidewheel::policy::OnSkip;
use tidewheel::run::Ends;

use crate::definition::{Flow, Step, Work};
use crate::language::problem::{Problem, Problems, Span};
use crate::language::template::Reference;
use crate::language::tree::Leaf;

/// The steps of a flow that may be skipped although nothing fails: by a condition of their own, or because
/// one they need is.
pub(super) fn may_decline(flow: &Flow) -> BTreeSet<String> {
    let own = flow.steps.iter().filter(|step| declines_itself(step));
    let mut open: Vec<&Step> = own.map(|step| &**step).collect();
    if open.is_empty() {
        return BTreeSet::new();
    }
    let mut dependents: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
    for step in &flow.steps {
        for needed in &step.after {
            dependents.entry(&needed.step).or_default().push(step);
        }
    }
    let mut found: BTreeSet<&str> = open.iter().map(|step| step.name.as_str()).collect();
    while let Some(step) = open.pop() {
        for dependent in dependents.get(step.name.as_str()).into_iter().flatten() {
            if !runs_without(flow, dependent, step) && found.insert(&dependent.name) {
                open.push(dependent);
            }
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// Whether a step has a condition of its own. Where each element looks for itself, the step does not.
fn declines_itself(step: &Step) -> bool {
    let of_work = step.foreach.is_none() && !step.skip_codes.is_empty();
    step.when.is_some() && !step.asks_element() || of_work || !step.clauses.is_empty()
}

/// Whether a step runs although one that it needs was skipped by a condition.
fn runs_without(flow: &Flow, step: &Step, needed: &Step) -> bool {
    let mut clauses = step.clauses.iter().filter(|clause| clause.steps.contains(&needed.name));
    if let Some(first) = clauses.next() {
        let needs_success =
            |it: &crate::definition::StepClause| !it.is_any && it.ends == Ends::SUCCEEDED;
        return !needs_success(first) && !clauses.any(needs_success);
    }
    let word = step.treatment.on_skip.or(needed.treatment.on_skip).unwrap_or(flow.runner.on_skip);
    step.treatment.always || step.follows_run() || word == OnSkip::Continue
}

/// Reports outputs without a default that are not there when a condition skips their step.
pub(super) fn check_missing(flow: &Flow, problems: &mut Problems) {
    for step in &flow.steps {
        check_step(flow, (step, step), &BTreeSet::new(), problems);
    }
}

/// The same for a step of a flow, and for all that is in it if it is a group: those in there run if it does. `asked`
/// are the steps of which it is asked further out whether they are there.
fn check_step(
    flow: &Flow,
    (whole, step): (&Step, &Step),
    asked: &BTreeSet<&str>,
    problems: &mut Problems,
) {
    let guarded = step.when.as_deref().map(guarded_in).unwrap_or_default();
    step.visit(&mut |leaf| {
        let here = guarded_in(leaf);
        for (reference, at) in leaf.references() {
            let Some((name, missing)) = missing(flow, whole, reference) else { continue };
            let is_asked = here.contains(name) || asked.contains(name);
            if !is_asked && (!guarded.contains(name) || is_of_when(step, leaf)) {
                report(step, missing, reference, at, problems);
            }
        }
    });
    if let Work::Flow(child) = &step.work
        && child.is_group
    {
        let asked = asked.union(&guarded).copied().collect();
        for inner in &child.flow.steps {
            check_step(flow, (whole, inner), &asked, problems);
        }
    }
}

/// The step of this flow that an output is of, and the step that may be skipped.
fn missing<'a>(flow: &'a Flow, step: &Step, reference: &Reference) -> Option<(&'a str, &'a Step)> {
    let mut path = reference.path.iter().map(String::as_str);
    if path.next() != Some("flows") || reference.has_default {
        return None;
    }
    let needed = flow.step(path.next()?)?;
    let is_named = needed.clauses_of(step);
    let may_miss = flow.may_decline.contains(&needed.name) || is_named;
    if may_miss && runs_without(flow, step, needed) {
        return Some((&needed.name, needed));
    }
    let mut within: &Step = needed;
    loop {
        let Work::Flow(child) = &within.work else { return None };
        let inner = child.flow.step(path.next().filter(|_| within.foreach.is_none())?)?;
        if child.flow.may_decline.contains(&inner.name) {
            return Some((needed.name.as_str(), inner));
        }
        within = inner;
    }
}

impl Step {
    /// Whether another step chooses by how this one has ended.
    fn clauses_of(&self, other: &Self) -> bool {
        other.clauses.iter().any(|clause| clause.steps.contains(&self.name))
    }
}

/// Steps about which a template asks whether they are there.
fn guarded_in(leaf: &Leaf) -> BTreeSet<&str> {
    let guards = leaf.template.references().iter().filter(|reference| {
        let root = reference.path.first().map(String::as_str);
        root == Some("steps") || root == Some("flows") && reference.has_default
    });
    guards.filter_map(|reference| reference.path.get(1)).map(String::as_str).collect()
}

fn is_of_when(step: &Step, leaf: &Leaf) -> bool {
    step.when.as_deref().is_some_and(|when| std::ptr::eq(when, leaf))
}

fn report(step: &Step, missing: &Step, reference: &Reference, at: Span, problems: &mut Problems) {
    let (path, name) = (reference.path.join("."), &step.name);
    let text = format!(
        "`{path}` is not there when `{}` is skipped, and `{name}` runs all the same",
        missing.name
    );
    let problem = Problem::error("may-be-missing", text).at(at).see(missing.span, "may be skipped");
    problems.push(problem.hint(format!("say what to take then:  {path} | default('…')")));
}
