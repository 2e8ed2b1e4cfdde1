//! [`KnownElements`]: the elements that a step is done for, as far as they stand in the file.
//!
//! Lists that need params, or what steps leave, are rendered when a run is compiled, or while it goes on.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::definition::{Step, Work, values_of};
use crate::language::template::{Context, Reference};
use crate::language::tree::Tree;

/// More elements at once, those of groups around the step included, are not looked into.
const ELEMENTS_MAX: usize = 100;

/// What templates of a step are given that is known from the text: once for each element that it is done for.
#[derive(Debug, Clone)]
pub(crate) struct KnownElements {
    contexts: Vec<Context>,
    /// What is known of every element.
    names: BTreeSet<String>,
}

/// Outside of all elements: the step is done once, and nothing is known.
impl Default for KnownElements {
    fn default() -> Self {
        Self { contexts: vec![Context::new()], names: BTreeSet::new() }
    }
}

impl KnownElements {
    /// What is known in a step, whose elements are added, or hide those of the same name if nobody knows them yet.
    pub fn of(&self, step: &Step) -> Self {
        let Some(foreach) = step.foreach.as_deref() else { return self.clone() };
        let mut is_known = true;
        foreach.list.visit(&mut |leaf| is_known &= self.know(leaf.template.references()));
        let own = [foreach.variable.as_str(), "index"];
        let mut contexts = Vec::new();
        for context in self.contexts.iter().filter(|_| is_known) {
            let Ok(values) = values_of(step, foreach, context) else { return self.without(own) };
            if contexts.len() + values.len() > ELEMENTS_MAX {
                return self.without(own);
            }
            let with = |(index, value): (usize, Json)| {
                context.clone().with(own[0], value).with(own[1], json!(index))
            };
            contexts.extend(values.into_iter().enumerate().map(with));
        }
        match is_known {
            true => {
                let own = own.map(str::to_owned);
                Self { contexts, names: self.names.iter().cloned().chain(own).collect() }
            }
            false => self.without(own),
        }
    }

    /// What is known to the steps inside of one: a group knows what is around it, and a called flow does not.
    pub fn inside(&self, step: &Step) -> Self {
        match &step.work {
            Work::Flow(child) if child.is_group => self.of(step),
            _ => Self::default(),
        }
    }

    fn without(&self, hidden: [&str; 2]) -> Self {
        let mut known = self.clone();
        known.names.retain(|name| !hidden.contains(&name.as_str()));
        known
    }

    /// These texts as they are for each element, each of them once. One that needs what is not known, or cannot be
    /// rendered, stays as it is written. None if all do.
    pub fn fill_in<const N: usize>(&self, trees: [&Tree; N]) -> Option<BTreeSet<[String; N]>> {
        let known = trees.map(|tree| self.fills(tree));
        if !known.contains(&true) {
            return None;
        }
        let text = |context: &Context, place: usize| {
            let rendered = known[place].then(|| trees[place].render_text(context).ok());
            rendered.flatten().or_else(|| as_written(trees[place])).unwrap_or_default()
        };
        let texts = |context: &Context| std::array::from_fn(|place| text(context, place));
        Some(self.contexts.iter().map(texts).collect())
    }

    /// Whether a text has something in it that is filled in, and nothing that is not known.
    fn fills(&self, tree: &Tree) -> bool {
        matches!(tree, Tree::Text(leaf) if self.know(leaf.template.references()))
    }

    fn know(&self, references: &[Reference]) -> bool {
        let is_known =
            |it: &Reference| it.path.first().is_some_and(|root| self.names.contains(root));
        references.iter().all(is_known)
    }
}

/// A text as it is written, templates included.
pub(super) fn as_written(tree: &Tree) -> Option<String> {
    match tree {
        Tree::Value(value) => Some(crate::language::tree::text_of(value)),
        Tree::Text(leaf) => Some(leaf.template.text().to_owned()),
        Tree::List(_) | Tree::Map(_) => None,
    }
}
