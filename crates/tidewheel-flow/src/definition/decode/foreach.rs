//! Steps that are done for many elements: `foreach:` and `matrix:`.
//!
//! Which elements there are is rendered when a run is compiled.

use serde_json::Value as Json;

use super::{Decoder, fields};
use crate::definition::names::ROOTS;
use crate::definition::{Foreach, ForeachList};
use crate::language::problem::Problem;
use crate::language::tree::Tree;
use crate::language::yaml::{Map, Node, Value};

const COUNT_MAX_DEFAULT: usize = 10_000;
/// What an element is called unless something else is said.
const ITEM: &str = "item";
const MATRIX: &str = "matrix";

impl Decoder<'_> {
    /// What the step is done for.
    pub(super) fn foreach(&mut self, map: &Map) -> Option<Foreach> {
        let (elements, matrix) = (said(map, "foreach"), said(map, "matrix"));
        if let (Some(_), Some(node)) = (elements, matrix) {
            let text = "a step has either `foreach` or `matrix`";
            self.problems.push(Problem::error("contradiction", text).at(node.span));
        }
        let elements = elements.and_then(|node| self.elements(node));
        let matrix = matrix.and_then(|node| self.matrix(node));
        let mut foreach = elements.or(matrix);
        self.bound(map, foreach.as_mut());
        foreach
    }

    /// How many elements at once, where the step says it beside them.
    fn bound(&mut self, map: &Map, foreach: Option<&mut Foreach>) {
        let Some(node) = said(map, "parallel") else { return };
        let text = match foreach {
            Some(foreach) if foreach.parallel.is_none() => {
                foreach.parallel = fields::count(map, "parallel");
                return;
            }
            Some(_) => "`parallel` is said twice",
            None => "`parallel` has no effect on a step without elements",
        };
        let problem = Problem::error("contradiction", text).at(node.span);
        self.problems.push(problem.hint("it belongs to `foreach` and `matrix`"));
    }

    fn matrix(&mut self, node: &Node) -> Option<Foreach> {
        let axes = fields::as_mapping(node)?.iter().map(|entry| {
            let place = format!("matrix.{}", entry.key);
            (entry.key.clone(), self.list(&entry.value, &place))
        });
        Some(Foreach {
            list: ForeachList::Product(axes.collect()),
            variable: MATRIX.to_owned(),
            parallel: None,
            count_max: COUNT_MAX_DEFAULT,
        })
    }

    /// A list, or a template that gives one.
    fn list(&mut self, node: &Node, place: &str) -> Tree {
        let tree = self.tree(node, place);
        if let Some(Json::String(text)) = tree.as_value() {
            let said = format!("`{place}` must be a list, or a template that gives one");
            let problem = Problem::error("wrong-type", said).at(node.span).label("this is a text");
            let words: Vec<&str> = text.split([' ', ',']).filter(|it| !it.is_empty()).collect();
            self.problems.push(problem.hint(format!("write a list: [{}]", words.join(", "))));
        }
        tree
    }

    fn elements(&mut self, node: &Node) -> Option<Foreach> {
        let Value::Map(map) = &node.value else {
            return Some(Foreach {
                list: ForeachList::Elements(self.list(node, "foreach")),
                variable: ITEM.to_owned(),
                parallel: None,
                count_max: COUNT_MAX_DEFAULT,
            });
        };
        let variable = variable_of(node);
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let taken = ROOTS.contains(&variable.as_str()) || variable == "index";
        if taken || !variable.chars().all(is_word) || variable.is_empty() {
            let text = format!("`{variable}` cannot be the name of an element");
            let at = map.get("as").map_or(node.span, |node| node.span);
            self.problems.push(Problem::error("bad-name", text).at(at));
        }
        let count_max = fields::integer(map, "max").and_then(|max| usize::try_from(max).ok());
        Some(Foreach {
            list: ForeachList::Elements(self.list(map.get("in")?, "foreach.in")),
            variable,
            parallel: fields::count(map, "parallel"),
            count_max: count_max.unwrap_or(COUNT_MAX_DEFAULT),
        })
    }
}

/// What templates of a step can name because it is done for many elements, be they understood or
/// not.
pub(super) fn element_names(map: &Map) -> Vec<String> {
    let variable = said(map, "foreach").map(variable_of);
    let matrix = said(map, "matrix").map(|_| MATRIX.to_owned());
    let mut names: Vec<String> = variable.into_iter().chain(matrix).collect();
    if !names.is_empty() {
        names.push("index".to_owned());
    }
    names
}

fn variable_of(foreach: &Node) -> String {
    let said = fields::as_mapping(foreach).and_then(|map| fields::owned(map, "as"));
    said.unwrap_or_else(|| ITEM.to_owned())
}

fn said<'a>(map: &'a Map, key: &str) -> Option<&'a Node> {
    map.get(key).filter(|node| !node.is_null())
}
