//! `steps:` in a step: a group, which is treated as one.
//!
//! What its steps say of each other, and of those around them, is seen to in `connect`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Decoder, fields};
use crate::definition::{ChildFlow, Flow, Place};
use crate::language::problem::Problem;
use crate::language::yaml::{Map, Node, Value};

/// What a group says for its steps.
const FOR_STEPS: [&str; 4] = ["env", "cwd", "inherit", "shell"];

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
