//! Steps that wait, and steps that are done again.
//!
//! What is looked for while waiting is in `execute`.

use std::time::Duration;

use super::step::{result_names, shell_of};
use super::{Decoder, fields};
use crate::definition::keys::WAITS;
use crate::definition::{Repeat, Wait, WaitFor, Work};
use crate::language::instant;
use crate::language::literal;
use crate::language::problem::Problem;
use crate::language::tree::Tree;
use crate::language::yaml::{Map, Node, Value};

const EVERY_DEFAULT: Duration = Duration::from_secs(1);
/// Looking more often would only keep the machine busy.
const EVERY_MIN: Duration = Duration::from_millis(50);

impl Decoder<'_> {
    /// What a step waits for; `step` says what surrounds a command.
    pub(super) fn wait(&mut self, node: &Node, step: &Map) -> Option<Wait> {
        let map = match &node.value {
            Value::Map(map) => map,
            _ => {
                let what = WaitFor::Time(literal::duration(node).ok()?);
                return Some(Wait { what, every: EVERY_DEFAULT });
            }
        };
        let said = fields::said(map, &WAITS).into_iter();
        let said = said.filter_map(|kind| Some((kind, map.get(kind)?)));
        let mut whats: Vec<_> = said.map(|(kind, node)| self.wait_for(kind, node, step)).collect();
        if whats.len() != 1 {
            let text = "`wait` needs exactly one of duration, until, file, run, http, approval";
            self.problems.push(Problem::error("contradiction", text).at(node.span));
        }
        let every = fields::duration(map, "every").unwrap_or(EVERY_DEFAULT).max(EVERY_MIN);
        Some(Wait { what: whats.pop()??, every })
    }

    fn wait_for(&mut self, kind: &str, node: &Node, step: &Map) -> Option<WaitFor> {
        Some(match kind {
            "duration" => WaitFor::Time(literal::duration(node).ok()?),
            "until" => {
                let tree = self.tree(node, "wait.until");
                self.check_instant(&tree, node);
                WaitFor::Instant(tree)
            }
            "file" => WaitFor::File(self.tree(node, "wait.file")),
            "run" => match self.shell(node, shell_of(step))? {
                Work::Process(work) => WaitFor::Run(work),
                _ => return None,
            },
            "http" => WaitFor::Http(Box::new(self.http(node)?)),
            _ => {
                self.check_as_it_stands(node, "approval");
                WaitFor::Approval(fields::node_text(node).map(str::to_owned))
            }
        })
    }

    /// `repeat:`: until when a step is done again.
    pub(super) fn repeat(&mut self, step: &Map) -> Option<Repeat> {
        let map = fields::mapping(step, "repeat")?;
        let until = map.get("until").and_then(|node| {
            let names = result_names(step).chain(["round"]);
            self.with_names(names, |decoder| decoder.expression(node, "repeat.until"))
        })?;
        let every = fields::duration(map, "every").unwrap_or(EVERY_DEFAULT).max(EVERY_MIN);
        Some(Repeat { until, every, rounds_max: fields::count(map, "max") })
    }

    fn check_instant(&mut self, tree: &Tree, node: &Node) {
        let text = tree.as_value().and_then(serde_json::Value::as_str);
        if text.is_some_and(|text| instant::parse(text).is_none()) {
            let text = "`until` must be an instant such as 2030-01-31T08:00:00Z";
            self.problems.push(Problem::error("bad-value", text).at(node.span));
        }
    }
}
