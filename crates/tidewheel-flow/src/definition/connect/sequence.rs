//! `sequence: true`: each step waits for the one that is written before it.
//!
//! What else steps wait for was found before.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidewheel::policy::OnSkip;
use tidewheel::run::Ends;

use super::missing::may_decline;
use crate::definition::{Dependency, Flow, Step, StepClause};

/// Adds that each step waits for the one before it. That one's condition does not keep it from running,
/// unless it needs it anyway.
///
/// What runs in every case, or because of how others ended, says nothing of how the sequence goes: behind it
/// a step waits for the last ordinary one as well. It comes itself when all that may run before it has ended.
pub(super) fn follow_order(flow: &mut Flow) {
    if !flow.is_sequence {
        return;
    }
    let declines = may_decline(flow);
    let needed: BTreeSet<&str> =
        flow.steps.iter().flat_map(|step| &step.after).map(|it| it.step.as_str()).collect();
    let known = flow.steps.iter().map(|step| Known::of(step, &needed, &declines));
    let known: Vec<Known> = known.collect();
    for place in 1..flow.steps.len() {
        let all = all_before(&flow.steps, &known, place);
        if let Some(last) = all.iter().find(|before| !known[**before].stands_apart) {
            keep_own_word(flow, place, *last);
        }
        for before in all {
            wait(flow, &known, place, before);
        }
    }
}

/// The word of a step for its own failure says nothing about one before it: a step whose failure would not
/// matter does not run because of that after one that does.
fn keep_own_word(flow: &mut Flow, place: usize, last: usize) {
    let word = flow.steps[last].treatment.on_error.unwrap_or(flow.runner.on_error);
    let treatment = &flow.steps[place].treatment;
    if treatment.on_error.is_some() && treatment.on_dependency_error.is_none() {
        Arc::make_mut(&mut flow.steps[place]).treatment.on_dependency_error = Some(word);
    }
}

/// The places of the steps that one waits for because they are written before it.
fn all_before(steps: &[Arc<Step>], known: &[Known], place: usize) -> Vec<usize> {
    let is_here = |before: &usize| steps[*before].place == steps[place].place;
    let earlier = || (0..place).rev().filter(is_here);
    let last = earlier().find(|before| !known[*before].stands_apart);
    let is_before = |before: &usize| match known[place].stands_apart {
        // Those that were kept from running by a failure may end before others that run.
        true => known[*before].stands_apart || Some(*before) == last,
        false => last.is_none_or(|last| *before >= last),
    };
    earlier().filter(is_before).collect()
}

/// One step waits for another.
fn wait(flow: &mut Flow, known: &[Known], place: usize, before: usize) {
    let (step, name) = (&flow.steps[place], flow.steps[before].name.clone());
    let is_named = step.after.iter().any(|it| it.step == name);
    // Of several of which one is enough, the others are not waited for.
    let is_one_of = step.clauses.iter().any(|it| it.is_any && it.steps.contains(&name));
    if step.name == name || is_named && !is_one_of {
        return;
    }
    let (span, chooses) = (step.span, !step.clauses.is_empty());
    let step = Arc::make_mut(&mut flow.steps[place]);
    if !is_named {
        step.after.push(Dependency { step: name.clone(), is_inferred: false, file: None, span });
    }
    if chooses {
        step.clauses.push(StepClause { steps: vec![name], is_any: false, ends: Ends::ANY, span });
        return;
    }
    let whose = match (&known[before], &known[place]) {
        (before, _) if !before.declines => None,
        (of, _) if of.is_free() => Some(before),
        (_, step) if step.is_free() => Some(place),
        _ => None,
    };
    if let Some(whose) = whose {
        let treatment = &mut Arc::make_mut(&mut flow.steps[whose]).treatment;
        treatment.on_skip = treatment.on_skip.or(Some(OnSkip::Continue));
    }
}

/// What is known of a step without the order of the sequence.
struct Known {
    /// Whether it may be skipped although nothing fails.
    declines: bool,
    /// Whether another step needs it.
    is_needed: bool,
    /// Whether something it needs may be skipped so.
    may_miss: bool,
    /// Whether it runs in every case, or because of how others ended.
    stands_apart: bool,
}

impl Known {
    fn of(step: &Step, needed: &BTreeSet<&str>, declines: &BTreeSet<String>) -> Self {
        let is_declining = declines.contains(&step.name);
        Self {
            declines: is_declining,
            is_needed: is_declining && needed.contains(step.name.as_str()),
            may_miss: step.after.iter().any(|it| declines.contains(&it.step)),
            stands_apart: step.treatment.always || !step.clauses.is_empty(),
        }
    }

    /// Whether its word for skips says nothing but what becomes of the order: it counts for those that need
    /// the step, and for what the step needs.
    fn is_free(&self) -> bool {
        !self.is_needed && !self.may_miss
    }
}
