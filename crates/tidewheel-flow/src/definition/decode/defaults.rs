//! `defaults:`: what counts for the steps of a file that do not say it themselves.
//!
//! What the keys mean is decoded as if each step had said them.

use super::Decoder;
use crate::language::yaml::Map;

/// What each key of the defaults counts for.
const REACH: [(&str, &[&str]); 7] = [
    ("shell", &["run"]),
    ("cwd", &["run", "argv", "source", "wait"]),
    ("inherit", &["run", "argv", "source"]),
    ("retry", &["run", "argv", "source", "http"]),
    ("timeout", &["run", "argv", "source", "http"]),
    ("limits", &["run", "argv", "source", "http"]),
    ("on_error", &["run", "argv", "source", "http", "wait", "flow", "steps"]),
];

impl Decoder<'_> {
    /// What a step says, with the defaults where it says nothing. A null that is written says something:
    /// that there is none.
    pub(super) fn with_defaults(&self, said: &Map) -> Map {
        let mut map = said.clone();
        for (key, works) in REACH {
            let Some(entry) = self.defaults.entry(key) else { continue };
            if map.get(key).is_none() && works.iter().any(|work| map.get(work).is_some()) {
                map.insert(key.to_owned(), entry.key_span, entry.value.clone());
            }
        }
        map
    }
}
