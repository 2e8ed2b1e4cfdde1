//! Steps that are done for many elements: `foreach:` and `matrix:`.
//!
//! Which elements there are is rendered when a run is compiled.

use serde_json::Value as Json;

use super::{Decoder, fields};
use crate::definition::names::ROOTS;
use crate::definition::{Foreach, ForeachList, Matrix};
use crate::language::problem::Problem;
use crate::language::template::has_syntax;
use crate::language::tree::{Leaf, Tree};
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
        self.label(map, foreach.as_mut());
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
        let mut matrix = Matrix { axes: Vec::new(), include: None, exclude: None };
        for entry in fields::as_mapping(node)?.iter() {
            let tree = self.list(&entry.value, &format!("matrix.{}", entry.key));
            match entry.key.as_str() {
                "include" => matrix.include = Some(tree),
                "exclude" => matrix.exclude = Some(tree),
                _ => matrix.axes.push((entry.key.clone(), tree)),
            }
        }
        self.check_changes(fields::as_mapping(node)?, &matrix);
        Some(Foreach { variable: MATRIX.to_owned(), ..plain(ForeachList::Product(matrix)) })
    }

    /// What is included or left out are mappings, and only what is there can be left out.
    fn check_changes(&mut self, map: &Map, matrix: &Matrix) {
        let is_axis = |name: &str| matrix.axes.iter().any(|(axis, _)| axis == name);
        for key in ["include", "exclude"] {
            for node in fields::list(map, key) {
                let Some(entry) = fields::as_mapping(node) else {
                    if !node.as_str().is_some_and(has_syntax) {
                        let text = format!("each of `{key}` must be a mapping of names to values");
                        let problem = Problem::error("wrong-type", text).at(node.span);
                        self.problems.push(problem.label(format!("this is {}", node.kind())));
                    }
                    continue;
                };
                for wrong in entry.iter().filter(|it| key == "exclude" && !is_axis(&it.key)) {
                    let text = format!("the matrix has no `{}` that could be left out", wrong.key);
                    let problem = Problem::error("unknown-name", text).at(wrong.key_span);
                    let axes = matrix.axes.iter().map(|(axis, _)| axis.as_str());
                    let near = self.problems.nearest(&wrong.key, axes);
                    self.problems.push(problem.did_you_mean(near));
                }
            }
        }
    }

    /// What elements are called: only they themselves decide about it.
    fn label(&mut self, map: &Map, foreach: Option<&mut Foreach>) {
        let Some(node) = said(map, "label") else { return };
        let Some(foreach) = foreach else {
            let text = "`label` has no effect on a step without elements";
            let problem = Problem::error("contradiction", text).at(node.span);
            self.problems.push(problem.hint("it belongs to `foreach` and `matrix`"));
            return;
        };
        foreach.label = self.with_names(element_names(map), |it| it.leaf(node, "label", false));
        let known = [foreach.variable.as_str(), "index", "params"];
        for (reference, at) in foreach.label.iter().flat_map(Leaf::references) {
            if reference.path.first().is_some_and(|root| !known.contains(&root.as_str())) {
                let text = "what an element is called depends on the element only";
                let problem = Problem::error("wrong-place", text).at(at);
                self.problems.push(problem.hint(format!("known here: {}", known.join(", "))));
            }
        }
    }

    /// A list, or a template that gives one.
    fn list(&mut self, node: &Node, place: &str) -> Tree {
        let tree = self.tree(node, place);
        // What cannot be read as a template has been told.
        let is_told = node.as_str().is_some_and(has_syntax);
        if let Some(Json::String(text)) = tree.as_value().filter(|_| !is_told) {
            let said = format!("`{place}` must be a list, or a template that gives one");
            let problem = Problem::error("wrong-type", said).at(node.span).label("this is a text");
            let words: Vec<&str> = text.split([' ', ',']).filter(|it| !it.is_empty()).collect();
            self.problems.push(problem.hint(format!("write a list: [{}]", words.join(", "))));
        }
        tree
    }

    fn elements(&mut self, node: &Node) -> Option<Foreach> {
        let Value::Map(map) = &node.value else {
            return Some(plain(ForeachList::Elements(self.list(node, "foreach"))));
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
            label: None,
        })
    }
}

/// Elements about which nothing else is said.
fn plain(list: ForeachList) -> Foreach {
    let variable = ITEM.to_owned();
    Foreach { list, variable, parallel: None, count_max: COUNT_MAX_DEFAULT, label: None }
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
