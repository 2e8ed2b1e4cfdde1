//! `depends_on:`: steps that are waited for, and how they must have ended.
//!
//! Whether there are such steps is seen to in `connect`.

use std::collections::BTreeSet;

use tidewheel::run::Ends;

use super::{Decoder, fields};
use crate::definition::keys::FORMS;
use crate::definition::{Dependency, Place, StepClause};
use crate::language::problem::{Problem, Span};
use crate::language::yaml::{Map, Node};

impl Decoder<'_> {
    /// What a step waits for by name, and what must have become of it.
    pub(super) fn depends_on(
        &mut self,
        map: &Map,
        place: Place,
    ) -> (Vec<Dependency>, Vec<StepClause>) {
        let (mut after, mut clauses) = (Vec::new(), Vec::new());
        let mut plain: BTreeSet<String> = BTreeSet::new();
        for node in fields::many(map, "depends_on") {
            let Some(entry) = fields::as_mapping(node) else {
                let name = fields::name(node);
                plain.extend(name.clone());
                after.extend(name.map(|step| dependency(step, node.span)));
                continue;
            };
            let Some((named, is_any)) = self.named(node, entry) else { continue };
            let ends = ends(entry).or(is_any.then_some(Ends::SUCCEEDED));
            after.extend(named.iter().map(|(step, span)| dependency(step.clone(), *span)));
            let steps = named.into_iter().map(|(step, _)| step);
            match ends {
                Some(ends) => {
                    clauses.push(StepClause {
                        steps: steps.collect(),
                        is_any,
                        ends,
                        span: node.span,
                    });
                }
                None => plain.extend(steps),
            }
        }
        self.check_clauses(&clauses, &plain, place);
        (after, clauses)
    }

    /// The steps that an entry names, and whether one of them is enough.
    fn named(&mut self, node: &Node, entry: &Map) -> Option<(Vec<(String, Span)>, bool)> {
        let [form] = fields::said(entry, &FORMS)[..] else {
            let text = format!("a dependency needs exactly one of {}", FORMS.join(", "));
            let problem = Problem::error("contradiction", text).at(node.span);
            self.problems.push(problem.hint("write  { step: NAME, when: failed }"));
            return None;
        };
        let nodes = fields::many(entry, form).iter();
        let named = nodes.filter_map(|node| Some((fields::name(node)?, node.span)));
        Some((named.collect(), form == "any"))
    }

    fn check_clauses(&mut self, clauses: &[StepClause], plain: &BTreeSet<String>, place: Place) {
        for clause in clauses {
            if let Some(step) = clause.steps.iter().find(|step| plain.contains(*step)) {
                let text = format!("`{step}` is waited for in two ways");
                let problem = Problem::error("contradiction", text).at(clause.span);
                self.problems.push(problem.hint("name it once, with what must have become of it"));
            }
            if place != Place::Flow {
                let text = "steps that follow the run cannot choose by how others have ended";
                let problem = Problem::error("wrong-place", text).at(clause.span);
                self.problems.push(problem.hint(
                    "wait for it by its name with `on_dependency_error: continue`, and say \
                     `when: steps.NAME.state == 'failed'`",
                ));
            }
        }
    }
}

fn dependency(step: String, span: Span) -> Dependency {
    Dependency { step, is_inferred: false, file: None, span }
}

/// How the steps of an entry must have ended. A step that was skipped because something failed counts as
/// failed here: it is not there, and not because nobody wanted it.
fn ends(entry: &Map) -> Option<Ends> {
    let words = fields::many(entry, "when").iter().filter_map(fields::name);
    let ends = words.map(|word| match word.to_ascii_lowercase().as_str() {
        "succeeded" => Ends::SUCCEEDED,
        "failed" => Ends::FAILED.or(Ends::PREVENTED),
        "skipped" => Ends::DECLINED,
        "cancelled" => Ends::CANCELLED,
        _ => Ends::ANY,
    });
    ends.reduce(Ends::or)
}
