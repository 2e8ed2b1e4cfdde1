//! `steps:` in a step: a group, which is treated as one.
//!
//! What its steps say of each other, and of those around them, is seen to in `connect`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Decoder, fields};
use crate::definition::{ChildFlow, Flow, Place, Work};
use crate::language::problem::Problem;
use crate::language::yaml::{Map, Node, Value};

/// What a group says for its steps.
const FOR_STEPS: [&str; 4] = ["env", "cwd", "inherit", "shell"];

/// What is about the end of a single attempt.
const OF_ATTEMPTS: [&str; 5] = ["on", "codes", "not_codes", "when", "jitter"];
/// Tasks for each of them are there from the start.
const TRIES_MAX: u32 = 100;

impl Decoder<'_> {
    /// A group. Its templates know the element of the step it is in.
    pub(super) fn group(
        &mut self,
        node: &Node,
        map: &Map,
        sources: &BTreeMap<String, Node>,
    ) -> Option<ChildFlow> {
        let nodes = node.as_list()?;
        if nodes.is_empty() {
            let problem = Problem::error("missing-key", "a group needs steps").at(node.span);
            self.problems.push(problem.hint("a step needs a name and something to do"));
        }
        let outside = self.defaults.clone();
        self.defaults = within(&outside, map);
        let steps = nodes.iter().filter_map(|node| self.step(node, Place::Flow, sources));
        let steps: Vec<_> = steps.map(Arc::new).collect();
        self.defaults = outside;
        self.check_duplicates(&steps);
        let mut flow = Flow::of_group(steps);
        flow.is_sequence = fields::boolean(map, "sequence").unwrap_or_default();
        let flow = Arc::new(flow);
        Some(ChildFlow { flow, params: Vec::new(), is_group: true })
    }

    /// Refuses what cannot be said of the tries of a group, or of a flow that is called.
    pub(super) fn check_tries(&mut self, map: &Map, work: &Work) {
        let (Work::Flow(_), Some(node)) = (work, map.get("retry")) else { return };
        for key in OF_ATTEMPTS {
            if let Some(entry) = fields::as_mapping(node).and_then(|retry| retry.entry(key)) {
                let text = format!("`retry.{key}` has no effect on several steps together");
                let problem = Problem::error("contradiction", text).at(entry.key_span);
                self.problems.push(problem.hint("say it in the steps that fail so"));
            }
        }
        let tries = self.retry(node).map_or(0, |retry| retry.retries);
        if tries > TRIES_MAX {
            let text = format!("several steps together are tried again at most {TRIES_MAX} times");
            self.problems.push(Problem::error("out-of-range", text).at(node.span));
        }
    }
}

/// The defaults for the steps of a group.
fn within(outside: &Map, group: &Map) -> Map {
    let mut defaults = outside.clone();
    for key in FOR_STEPS {
        let Some(entry) = group.entry(key) else { continue };
        let value = match (fields::mapping(&defaults, key), &entry.value.value) {
            (Some(outer), Value::Map(inner)) => {
                Node { value: Value::Map(laid_under(inner, outer)), span: entry.value.span }
            }
            _ => entry.value.clone(),
        };
        defaults.insert(key.to_owned(), entry.key_span, value);
    }
    defaults
}

/// A mapping with what it does not say from another.
pub(super) fn laid_under(said: &Map, under: &Map) -> Map {
    let mut map = said.clone();
    for entry in under.iter() {
        if map.get(&entry.key).is_none() {
            map.insert(entry.key.clone(), entry.key_span, entry.value.clone());
        }
    }
    map
}
