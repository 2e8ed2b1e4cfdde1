//! `defaults:`: what counts for the steps of a file that do not say it themselves.
//!
//! What the keys mean is decoded as if each step had said them.

use std::borrow::Cow;

use super::group::laid_under;
use super::{Decoder, fields};
use crate::language::yaml::{Map, Node, Value};

/// What each key of the defaults counts for; `wait.run` is a wait that looks by a command.
const REACH: [(&str, &[&str]); 8] = [
    // Only groups say it for their steps; a file has a key of its own.
    ("env", &["run", "argv", "source", "wait.run", "steps"]),
    ("shell", &["run", "wait.run"]),
    ("cwd", &["run", "argv", "source", "wait"]),
    ("inherit", &["run", "argv", "source", "wait.run"]),
    ("retry", &["run", "argv", "source", "http"]),
    ("timeout", &["run", "argv", "source", "http"]),
    ("limits", &["run", "argv", "source", "http"]),
    ("on_error", &["run", "argv", "source", "http", "wait", "flow", "steps"]),
];

impl Decoder<'_> {
    /// What a step says, with the defaults where it says nothing. A null that is written says something:
    /// that there is none.
    pub(super) fn with_defaults<'m>(&self, said: &'m Map) -> Cow<'m, Map> {
        if self.defaults.is_empty() {
            return Cow::Borrowed(said);
        }
        let mut map = said.clone();
        for (key, works) in REACH {
            let Some(entry) = self.defaults.entry(key) else { continue };
            let does = |work: &&str| match work.split_once('.') {
                Some((outer, inner)) => {
                    fields::mapping(&map, outer).is_some_and(|it| it.get(inner).is_some())
                }
                None => map.get(work).is_some(),
            };
            if !works.iter().any(does) {
                continue;
            }
            let own = fields::mapping(said, key);
            match (map.get(key), own.zip(fields::as_mapping(&entry.value))) {
                (None, _) => map.insert(key.to_owned(), entry.key_span, entry.value.clone()),
                // Variables are added to each other.
                (Some(node), Some((own, under))) if key == "env" => {
                    let (value, span) = (Value::Map(laid_under(own, under)), node.span);
                    map.insert(key.to_owned(), entry.key_span, Node { value, span });
                }
                _ => {}
            }
        }
        Cow::Owned(map)
    }
}
