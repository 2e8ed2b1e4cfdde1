//! Steps that wait.

use std::time::Duration;

use super::super::definition::{Wait, WaitFor};
use super::super::literal;
use super::super::problem::Problem;
use super::super::yaml::{Node, Value};
use super::{Decoder, fields};

const EVERY_DEFAULT: Duration = Duration::from_secs(1);
/// Looking more often would only keep the machine busy.
const EVERY_MIN: Duration = Duration::from_millis(50);

impl Decoder<'_> {
    pub(super) fn wait(&mut self, node: &Node) -> Option<Wait> {
        let map = match &node.value {
            Value::Map(map) => map,
            _ => {
                let what = WaitFor::Time(literal::duration(node).ok()?);
                return Some(Wait { what, every: EVERY_DEFAULT });
            }
        };
        let kinds = ["duration", "until", "file", "http", "approval"];
        let said: Vec<&str> = kinds.into_iter().filter(|kind| map.get(kind).is_some()).collect();
        let [kind] = said[..] else {
            let text = "`wait` needs exactly one of duration, until, file, http, approval";
            self.problems.push(Problem::error("contradiction", text).at(node.span));
            return None;
        };
        let value = map.get(kind)?;
        let what = match kind {
            "duration" => WaitFor::Time(literal::duration(value).ok()?),
            "until" => WaitFor::Instant(self.tree(value, "wait.until")),
            "file" => WaitFor::File(self.tree(value, "wait.file")),
            "http" => WaitFor::Http(Box::new(self.http(value)?)),
            _ => WaitFor::Approval(fields::node_text(value).map(str::to_owned)),
        };
        if let (WaitFor::Instant(tree), at) = (&what, value.span)
            && let Some(text) = tree.as_value().and_then(serde_json::Value::as_str)
            && super::super::instant::parse(text).is_none()
        {
            let text = "`until` must be an instant such as 2030-01-31T08:00:00Z";
            self.problems.push(Problem::error("bad-value", text).at(at));
        }
        let every = fields::duration(map, "every").unwrap_or(EVERY_DEFAULT).max(EVERY_MIN);
        Some(Wait { what, every })
    }
}
