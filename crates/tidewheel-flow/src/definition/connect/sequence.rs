//! `sequence: true`: each step waits for the one that is written before it.
//!
//! What else steps wait for was found before.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidewheel::policy::OnSkip;

use super::missing::may_decline;
use crate::definition::{Dependency, Flow, Step};

/// Adds that each step waits for the one before it. That one's condition does not keep it from running,
/// unless it needs it anyway.
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
        let (step, before) = (&flow.steps[place], &flow.steps[place - 1]);
        let is_said = step.after.iter().any(|it| it.step == before.name);
        if is_said || step.place != before.place || step.name == before.name {
            continue;
        }
        let (name, span) = (before.name.clone(), step.span);
        let dependency = Dependency { step: name, is_inferred: false, file: None, span };
        Arc::make_mut(&mut flow.steps[place]).after.push(dependency);
        let whose = match (&known[place - 1], &known[place]) {
            (before, _) if !before.declines => None,
            (before, _) if before.is_free() => Some(place - 1),
            (_, step) if step.is_free() => Some(place),
            _ => None,
        };
        if let Some(whose) = whose {
            let treatment = &mut Arc::make_mut(&mut flow.steps[whose]).treatment;
            treatment.on_skip = treatment.on_skip.or(Some(OnSkip::Continue));
        }
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
}

impl Known {
    fn of(step: &Step, needed: &BTreeSet<&str>, declines: &BTreeSet<String>) -> Self {
        let is_declining = declines.contains(&step.name);
        Self {
            declines: is_declining,
            is_needed: is_declining && needed.contains(step.name.as_str()),
            may_miss: step.after.iter().any(|it| declines.contains(&it.step)),
        }
    }

    /// Whether its word for skips says nothing but what becomes of the order: it counts for those that need
    /// the step, and for what the step needs.
    fn is_free(&self) -> bool {
        !self.is_needed && !self.may_miss
    }
}
