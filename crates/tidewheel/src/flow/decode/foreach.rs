//! Steps that are done for many elements: `foreach:` and `matrix:`.

use super::super::definition::{Foreach, ForeachList};
use super::super::problem::Problem;
use super::super::yaml::{Map, Node, Value};
use super::{Decoder, ROOTS, fields};

const COUNT_MAX_DEFAULT: usize = 10_000;

impl Decoder<'_> {
    /// What the step is done for. Its variable is known to templates of the step only.
    pub(super) fn foreach(&mut self, map: &Map) -> Option<Foreach> {
        let said = |key| map.get(key).filter(|node| !node.is_null());
        match (said("foreach"), said("matrix")) {
            (Some(_), Some(node)) => {
                let text = "a step has either `foreach` or `matrix`";
                self.problems.push(Problem::error("contradiction", text).at(node.span));
                None
            }
            (Some(node), None) => self.elements(node),
            (None, Some(node)) => {
                let axes = fields::as_mapping(node)?;
                let axes = axes.iter().map(|entry| {
                    let place = format!("matrix.{}", entry.key);
                    (entry.key.clone(), self.tree(&entry.value, &place))
                });
                Some(Foreach {
                    list: ForeachList::Product(axes.collect()),
                    variable: "matrix".to_owned(),
                    parallel: None,
                    count_max: COUNT_MAX_DEFAULT,
                })
            }
            (None, None) => None,
        }
    }

    fn elements(&mut self, node: &Node) -> Option<Foreach> {
        let Value::Map(map) = &node.value else {
            return Some(Foreach {
                list: ForeachList::Elements(self.tree(node, "foreach")),
                variable: "item".to_owned(),
                parallel: None,
                count_max: COUNT_MAX_DEFAULT,
            });
        };
        let variable = fields::owned(map, "as").unwrap_or_else(|| "item".to_owned());
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let taken = ROOTS.contains(&variable.as_str()) || variable == "index";
        if taken || !variable.chars().all(is_word) || variable.is_empty() {
            let text = format!("`{variable}` cannot be the name of an element");
            let at = map.get("as").map_or(node.span, |node| node.span);
            self.problems.push(Problem::error("bad-name", text).at(at));
        }
        let count_max = fields::integer(map, "max").and_then(|max| usize::try_from(max).ok());
        Some(Foreach {
            list: ForeachList::Elements(self.tree(map.get("in")?, "foreach.in")),
            variable,
            parallel: fields::count(map, "parallel"),
            count_max: count_max.unwrap_or(COUNT_MAX_DEFAULT),
        })
    }
}
