//! Turns the tree of a flow file into a [`Flow`](super::Flow), collecting every problem on the way.
//!
//! Types and unknown keys were checked against the tables before; what is of the wrong type is
//! passed over here without a second complaint. What steps say of each other is checked in
//! `super::check`.

mod fields;
mod flow;
mod foreach;
mod http;
mod params;
mod process;
mod schedule;
mod source;
mod step;
mod treatment;
mod wait;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::definition::Flow;
use super::problem::{Problem, Problems};
use super::template::Engine;
use super::tree::{Leaf, Tree};
use super::yaml::{Node, Value};

pub(super) use flow::decode;

/// Finds the flow that a step calls.
pub(super) trait FindFlow {
    fn find(&mut self, path: &str, node: &Node, problems: &mut Problems) -> Option<Arc<Flow>>;
}

/// What every template may name.
const ROOTS: [&str; 5] = ["flows", "params", "run", "secrets", "sources"];

/// Holds what decoding needs everywhere.
pub(super) struct Decoder<'a> {
    pub engine: &'a Engine,
    pub problems: &'a mut Problems,
    pub finder: &'a mut dyn FindFlow,
    /// The folder that relative paths start at.
    pub folder: &'a Path,
    /// Names that templates may use here beside those that they may use everywhere.
    names: BTreeSet<String>,
    /// Whether names that are not there are nothing here.
    is_lenient: bool,
    /// Sources that some step uses.
    used_sources: BTreeSet<String>,
}

impl<'a> Decoder<'a> {
    fn new(
        engine: &'a Engine,
        problems: &'a mut Problems,
        finder: &'a mut dyn FindFlow,
        folder: &'a Path,
    ) -> Self {
        Self {
            engine,
            problems,
            finder,
            folder,
            names: BTreeSet::new(),
            is_lenient: false,
            used_sources: BTreeSet::new(),
        }
    }

    /// Does something with more names for templates.
    fn with_names<T>(&mut self, names: &[&str], action: impl FnOnce(&mut Self) -> T) -> T {
        let added: Vec<&str> =
            names.iter().copied().filter(|name| self.names.insert((*name).to_owned())).collect();
        let result = action(self);
        for name in added {
            self.names.remove(name);
        }
        result
    }

    /// A value with templates at any depth.
    fn tree(&mut self, node: &Node, place: &str) -> Tree {
        match &node.value {
            Value::Text(_) => self.text_tree(node, place),
            Value::List(nodes) => {
                let trees: Vec<Tree> = nodes
                    .iter()
                    .zip(0..)
                    .map(|(node, index)| self.tree(node, &format!("{place}[{index}]")))
                    .collect();
                match trees.iter().all(|tree| tree.as_value().is_some()) {
                    true => Tree::Value(node.to_json()),
                    false => Tree::List(trees),
                }
            }
            Value::Map(map) => {
                let entries: Vec<(String, Tree)> = map
                    .iter()
                    .map(|entry| {
                        let place = format!("{place}.{}", entry.key);
                        (entry.key.clone(), self.tree(&entry.value, &place))
                    })
                    .collect();
                match entries.iter().all(|(_, tree)| tree.as_value().is_some()) {
                    true => Tree::Value(node.to_json()),
                    false => Tree::Map(entries),
                }
            }
            _ => Tree::Value(node.to_json()),
        }
    }

    fn text_tree(&mut self, node: &Node, place: &str) -> Tree {
        match self.leaf(node, place, false) {
            Some(leaf) if !leaf.template.is_literal() => Tree::Text(leaf),
            _ => Tree::Value(node.to_json()),
        }
    }

    /// A condition.
    fn expression(&mut self, node: &Node, place: &str) -> Option<Leaf> {
        self.leaf(node, place, true)
    }

    fn leaf(&mut self, node: &Node, place: &str, is_expression: bool) -> Option<Leaf> {
        let boolean;
        let (text, scalar) = match &node.value {
            Value::Text(text) => (text.as_str(), Some(text)),
            Value::Bool(value) => {
                boolean = value.to_string();
                (boolean.as_str(), None)
            }
            _ => return None,
        };
        let made = match (is_expression, self.is_lenient) {
            (true, _) => self.engine.expression(text),
            (false, true) => self.engine.lenient().template(text),
            (false, false) => self.engine.template(text),
        };
        let span_of = |range: Option<std::ops::Range<usize>>| match (range, scalar) {
            (Some(range), Some(scalar)) => scalar.span_of(range),
            _ => node.span,
        };
        let template = match made {
            Ok(template) => template,
            Err(error) => {
                let mut problem = Problem::error("bad-template", error.message.clone())
                    .at(span_of(error.range.clone()));
                if let Some(hint) = &error.hint {
                    problem = problem.hint(hint.clone());
                }
                self.problems.push(problem);
                return None;
            }
        };
        let names: Arc<[_]> =
            template.references().iter().map(|it| span_of(Some(it.range.clone()))).collect();
        for (reference, at) in template.references().iter().zip(names.iter()) {
            let Some(root) = reference.path.first() else { continue };
            let is_known = ROOTS.contains(&root.as_str()) || self.names.contains(root);
            if is_known || reference.has_default || self.is_lenient {
                continue;
            }
            let known: Vec<&str> =
                self.names.iter().map(String::as_str).chain(ROOTS.iter().copied()).collect();
            let text = format!("there is no `{root}` here");
            let problem = Problem::error("unknown-name", text).at(*at);
            self.problems.push(match self.problems.nearest(root, known.iter().copied()) {
                Some(near) => problem.hint(format!("did you mean `{near}`?")),
                None => problem.hint(format!("known here: {}", known.join(", "))),
            });
        }
        let span = node.span;
        Some(Leaf { template, span, names, place: Arc::from(place) })
    }
}
