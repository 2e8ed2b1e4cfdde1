//! [`Decoder`]: what decoding needs everywhere, and templates read in place.
//!
//! What each part of a file becomes is in the files beside this one.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use crate::definition::names::ROOTS;
use crate::definition::{Flow, Gaps};
use crate::language::problem::{Problem, Problems};
use crate::language::template::{Engine, Template, TemplateError, has_syntax};
use crate::language::tree::{Leaf, Tree};
use crate::language::yaml::{Map, Node, Value};

/// Finds the flow that a step calls.
pub(crate) trait FindFlow {
    fn find(&mut self, path: &str, node: &Node, problems: &mut Problems) -> Option<Arc<Flow>>;
}

/// Holds what decoding needs everywhere.
pub(super) struct Decoder<'a> {
    pub engine: &'a Engine,
    pub problems: &'a mut Problems,
    pub finder: &'a mut dyn FindFlow,
    /// The folder that relative paths start at.
    pub folder: &'a Path,
    /// Names that templates may use here beside those that they may use everywhere.
    names: Vec<Cow<'static, str>>,
    /// Whether names that are not there are nothing here.
    pub is_lenient: bool,
    /// Whether a line end at the end of a text does not count, as in flowtoy's files.
    pub drops_line_end: bool,
    /// Sources that some step uses.
    pub used_sources: BTreeSet<String>,
    /// Templates that were read: many steps say the same.
    templates: HashMap<String, Template>,
    /// What counts for steps that say nothing else.
    pub defaults: Map,
    /// What could not be understood so far.
    pub gaps: Gaps,
}

impl<'a> Decoder<'a> {
    pub fn new(
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
            names: Vec::new(),
            is_lenient: false,
            drops_line_end: false,
            used_sources: BTreeSet::new(),
            templates: HashMap::new(),
            defaults: Map::default(),
            gaps: Gaps::default(),
        }
    }

    /// Does something with more names for templates.
    pub fn with_names<T, N: Into<Cow<'static, str>>>(
        &mut self,
        names: impl IntoIterator<Item = N>,
        action: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.names.len();
        self.names.extend(names.into_iter().map(Into::into));
        let result = action(self);
        self.names.truncate(before);
        result
    }

    /// A value with templates at any depth. Where it stands is written down only if it has some.
    pub fn tree(&mut self, node: &Node, place: impl Display) -> Tree {
        match &node.value {
            Value::Text(_) => self.text_tree(node, place),
            Value::List(nodes) => {
                let trees: Vec<Tree> = nodes
                    .iter()
                    .zip(0..)
                    .map(|(node, index)| self.tree(node, format_args!("{place}[{index}]")))
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
                        let key = entry.key.clone();
                        let tree = self.tree(&entry.value, format_args!("{place}.{key}"));
                        (key, tree)
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

    /// Refuses templates in a text that is taken as it stands: they would stay as they are, and
    /// nobody would notice.
    pub fn check_as_it_stands(&mut self, node: &Node, key: &str) {
        if node.as_str().is_some_and(has_syntax) {
            let text = format!("`{key}` is taken as it stands: templates are not rendered in it");
            let problem = Problem::error("wrong-place", text).at(node.span);
            self.problems.push(problem.hint("write a text without braces"));
        }
    }

    /// Says that templates in a text for people stay as they are.
    pub fn check_description(&mut self, map: &Map) {
        if let Some(node) = map.get("description").filter(|it| it.as_str().is_some_and(has_syntax))
        {
            let text = "`description` is taken as it stands: templates are not rendered in it";
            self.problems.push(Problem::warning("no-effect", text).at(node.span));
        }
    }

    pub fn text_tree(&mut self, node: &Node, place: impl Display) -> Tree {
        if !node.as_str().is_some_and(has_syntax) {
            return match node.as_str() {
                Some(text) => Tree::Value(self.taken(text).into()),
                None => Tree::Value(node.to_json()),
            };
        }
        match self.leaf(node, place, false) {
            Some(leaf) => match leaf.template.constant() {
                Some(text) => Tree::Value(text.into()),
                None => Tree::Text(leaf),
            },
            None => Tree::Value(node.to_json()),
        }
    }

    /// What counts of a text.
    fn taken<'t>(&self, text: &'t str) -> &'t str {
        match self.drops_line_end {
            true => text.strip_suffix('\n').unwrap_or(text),
            false => text,
        }
    }

    /// Does something with texts whose last line end does not count.
    pub fn without_line_end<T>(&mut self, action: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.drops_line_end, true);
        let result = action(self);
        self.drops_line_end = before;
        result
    }

    /// A condition.
    pub fn expression(&mut self, node: &Node, place: impl Display) -> Option<Leaf> {
        self.leaf(node, place, true)
    }

    pub fn leaf(&mut self, node: &Node, place: impl Display, is_expression: bool) -> Option<Leaf> {
        let boolean;
        let (text, scalar) = match &node.value {
            Value::Text(text) => (self.taken(text.as_str()), Some(text)),
            Value::Bool(value) => {
                boolean = value.to_string();
                (boolean.as_str(), None)
            }
            _ => return None,
        };
        let made = match (is_expression, self.is_lenient) {
            (true, _) => self.engine.expression(text),
            (false, true) => self.engine.lenient().template(text),
            (false, false) => self.template(text),
        };
        let span_of = |range: Option<std::ops::Range<usize>>| match (range, scalar) {
            (Some(range), Some(scalar)) => scalar.span_of(range),
            _ => node.span,
        };
        let template = match made {
            Ok(template) => template,
            Err(error) => {
                self.bad_template(&error, node);
                return None;
            }
        };
        let names: Arc<[_]> =
            template.references().iter().map(|it| span_of(Some(it.range.clone()))).collect();
        for (reference, at) in template.references().iter().zip(names.iter()) {
            let Some(root) = reference.path.first() else { continue };
            if self.is_known(root) || reference.has_default || self.is_lenient {
                continue;
            }
            let known: Vec<&str> =
                self.names.iter().map(|name| &**name).chain(ROOTS.iter().copied()).collect();
            let text = format!("there is no `{root}` here");
            let problem = Problem::error("unknown-name", text).at(*at);
            self.problems.push(match self.problems.nearest(root, known.iter().copied()) {
                Some(near) => problem.hint(format!("did you mean `{near}`?")),
                None => problem.hint(format!("known here: {}", known.join(", "))),
            });
        }
        let span = node.span;
        Some(Leaf { template, span, names, place: place.to_string().into() })
    }

    pub fn template(&mut self, text: &str) -> Result<Template, TemplateError> {
        if let Some(known) = self.templates.get(text) {
            return Ok(known.clone());
        }
        let template = self.engine.template(text)?;
        self.templates.insert(text.to_owned(), template.clone());
        Ok(template)
    }

    /// Whether templates may use this name here.
    pub fn is_known(&self, root: &str) -> bool {
        ROOTS.contains(&root) || self.names.iter().any(|name| name == root)
    }

    pub fn bad_template(&mut self, error: &TemplateError, node: &Node) {
        let span = match (&error.range, node.as_text()) {
            (Some(range), Some(text)) => text.span_of(range.clone()),
            _ => node.span,
        };
        let problem = Problem::error("bad-template", &error.message).at(span);
        self.problems.push(match &error.hint {
            Some(hint) => problem.hint(hint),
            None if node.as_str().is_some_and(is_of_another_language) => {
                problem.hint("if the braces are meant as they stand: {% raw %}{{…}}{% endraw %}")
            }
            None => problem,
        });
    }
}

/// Whether braces in a text look like those of Go's templates and their like, where names begin with
/// a sign.
fn is_of_another_language(text: &str) -> bool {
    let mut inner = text.split("{{").skip(1).map(str::trim_start);
    inner.any(|inner| inner.starts_with(['.', '$', '#', '/', '>', '&', '^']))
}
