//! [`import`]: the files of a flow put together, its keys in our order, and what is said above them.
//!
//! Sources and steps are written in the files beside this one.

use serde_json::{Map, Value as Json};

use super::source::Sources;
use super::{keys, step};
use crate::import::document::Mapping;
use crate::import::{Imported, Warning};

/// Differences that concern every flow.
const HEADER: [&str; 7] = [
    "Imported from flowtoy. What is different from there, besides the comments below:",
    "- `tidewheel run` exits with 1 when a step has failed; flowtoy always exited with 0.",
    "- A step that fails stops the run unless `on_error` says otherwise; in flowtoy only a step \
     that others need did.",
    "- Processes run in the folder of this file (`cwd` names another); in flowtoy, in the folder \
     it was started in.",
    "- Processes get PATH, HOME and a few more variables (`inherit` and `env` add others), and \
     nothing to read; in flowtoy they got everything.",
    "- Keys and names are checked before anything runs: what is misspelt or missing is an error.",
    "- Every template of a step can name other steps, and the step waits for them.",
];

/// Makes one flow of files that flowtoy would merge from left to right.
///
/// The error says what is wrong.
pub(crate) fn import(files: Vec<(String, Json)>) -> Result<Imported, String> {
    let mut whole = Map::new();
    for (name, value) in files {
        match value {
            Json::Null => {}
            Json::Object(map) => merge(&mut whole, map),
            _ => return Err(format!("{name}: a flow file is a mapping with the key `flow`")),
        }
    }
    let mut converter = Converter { warnings: Vec::new(), is_old: false };
    let (root, steps) = converter.flow(whole)?;
    Ok(Imported::new(&HEADER, &root, steps, converter.warnings))
}

/// Mappings are merged key by key, everything else is replaced, as flowtoy does it.
fn merge(whole: &mut Map<String, Json>, over: Map<String, Json>) {
    for (key, value) in over {
        match (whole.get_mut(&key), value) {
            (Some(Json::Object(known)), Json::Object(value)) => merge(known, value),
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
}

/// What is found out while a flow is converted.
pub(super) struct Converter {
    warnings: Vec<Warning>,
    /// Whether something in it is written as in 0.1.0.
    pub is_old: bool,
}

impl Converter {
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(Warning { line: None, text: text.into() });
    }

    /// Leaves out what flowtoy never looked at.
    pub fn drop_unknown(&mut self, map: &mut Map<String, Json>, known: &[&str], place: &str) {
        map.retain(|key, _| {
            let is_known = known.contains(&key.as_str());
            if !is_known {
                self.warn(format!("{place}: `{key}` had no effect in flowtoy and is left out"));
            }
            is_known
        });
    }

    fn flow(&mut self, mut whole: Map<String, Json>) -> Result<(Mapping, usize), String> {
        self.drop_unknown(&mut whole, &keys::FLOW, "the flow");
        let steps = match whole.remove("flow") {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(steps)) => steps,
            Some(_) => return Err("`flow` must be a list of steps".to_owned()),
        };
        let sources = Sources::new(whole.remove("sources"))?;
        self.is_old = steps.iter().any(step::has_old_input);
        let mut root = Mapping::new();
        for key in ["name", "description"] {
            if let Some(Json::String(text)) = whole.remove(key) {
                root.add(key, text.as_str());
            }
        }
        if let Some(runner) = whole.remove("runner") {
            let runner = self.runner(runner);
            if !runner.is_empty() {
                root.add("runner", runner);
            }
        }
        let converted = self.sources(&sources);
        if !converted.is_empty() {
            root.add("sources", converted);
        }
        let steps = self.steps(steps, &sources);
        let count = steps.len();
        root.add("flow", steps);
        Ok((root, count))
    }

    fn runner(&mut self, runner: Json) -> Mapping {
        let mut converted = Mapping::new();
        let Json::Object(mut map) = runner else {
            self.warn("`runner` is no mapping; it had no effect in flowtoy and is left out");
            return converted;
        };
        self.drop_unknown(&mut map, &keys::RUNNER, "runner");
        match map.get("max_workers") {
            // Python takes true for 1, and flowtoy takes 0 for nothing.
            Some(Json::Bool(true)) => converted.add("max_workers", Json::from(1)),
            Some(Json::Number(number)) if number.as_u64().is_some_and(|count| count > 0) => {
                converted.add("max_workers", Json::Number(number.clone()));
            }
            None | Some(Json::Null) => {}
            Some(other) => {
                let text = format!("runner: `max_workers: {other}` had no effect and is left out");
                self.warn(text);
            }
        }
        if let Some(word) =
            map.get("on_error").and_then(|word| self.word_for_failure(word, "runner"))
        {
            converted.add("on_error", word);
        }
        converted
    }

    /// What a word for failures means; what flowtoy did not know meant `fail`.
    pub fn word_for_failure(&mut self, value: &Json, place: &str) -> Option<&'static str> {
        let Json::String(word) = value else {
            if !matches!(value, Json::Null | Json::Bool(false)) {
                self.warn(format!("{place}: `on_error: {value}` is no word and is left out"));
            }
            return None;
        };
        match word.to_lowercase().as_str() {
            "" => None,
            "fail" => Some("fail"),
            "skip" => Some("skip"),
            "continue" => Some("continue"),
            _ => {
                self.warn(format!("{place}: `on_error: {word}` meant `fail`"));
                Some("fail")
            }
        }
    }
}
