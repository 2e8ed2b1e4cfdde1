//! Steps of flowtoy: their input, their outputs, what they wait for, and their word for failures.
//!
//! What a source does is in `source`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::keys;
use super::source::Sources;
use super::whole::Converter;
use crate::import::document::{Element, Mapping, Tree};
use crate::import::text::has_template;

const ON_ERROR: &str = "flowtoy went by this only when something the step needs had failed. Here \
                        it also says what the step's own failure means; for the first alone write \
                        `on_dependency_error`.";
const DEPENDS_ON: &str = "flowtoy passed over this, since it was no list.";
const OLD_INPUT: &str =
    "Written as in flowtoy 0.1.0 before; 0.4.0 passed on the mapping as it was.";
const NESTED: &str = "Templates in here are filled in; flowtoy passed them on as they were.";
const LONE: &str = "A lone expression keeps its type here; in flowtoy it became text.";
const OLD_DATA: &str = "Since flowtoy 0.4.0 the data of a process has `stdout`, `stderr`, \
                        `returncode` and `json`; in 0.1.0 it was the JSON, or else the text, \
                        itself.";
const REQUEST: &str = "Tidewheel would try a request again, up to 3 times; flowtoy did not.";

impl Converter {
    pub(super) fn steps(&mut self, steps: Vec<Json>, sources: &Sources) -> Vec<Element> {
        let mut last: BTreeMap<String, usize> = BTreeMap::new();
        for (step, place) in steps.iter().zip(0..) {
            if let Some(name) = step.get("name").and_then(Json::as_str) {
                last.insert(name.to_owned(), place);
            }
        }
        let mut converted = Vec::new();
        for (step, place) in steps.into_iter().zip(0..) {
            let number = place + 1;
            let Json::Object(step) = step else {
                self.warn(format!("step {number}: it is no mapping; flowtoy passed over it"));
                continue;
            };
            let Some(Json::String(name)) = step.get("name").cloned() else {
                self.warn(format!(
                    "step {number}: it has no text as `name`; flowtoy passed over it"
                ));
                continue;
            };
            // Of several steps with one name the last one counts.
            if last.get(&name) != Some(&place) {
                self.warn(format!(
                    "step {number}: another `{name}` follows, which takes its place"
                ));
                continue;
            }
            let step = self.step(&name, step, sources);
            converted.push(Element::from(Tree::from(step)));
        }
        converted
    }

    fn step(&mut self, name: &str, mut map: Map<String, Json>, sources: &Sources) -> Mapping {
        let place = format!("step `{name}`");
        self.drop_unknown(&mut map, &keys::STEP, &place);
        if !is_fit(name) {
            self.warn(format!("{place}: names have no / [ ] {{ }} * or quotes here; rename it"));
        }
        let mut step = Mapping::new();
        step.add("name", name);
        if let Some(Json::String(text)) = map.remove("description") {
            step.add("description", text.as_str());
        }
        let kind = self.step_source(&mut step, map.remove("source"), sources, &place);
        if let Some(input) = map.remove("input").filter(|input| !input.is_null()) {
            self.input(&mut step, input, &place);
        }
        if let Some(output) = map.remove("output") {
            self.outputs(&mut step, output, kind.as_deref(), &place);
        }
        self.depends_on(&mut step, map.remove("depends_on"), &place);
        if let Some(value) = map.remove("on_error")
            && let Some(word) = self.word_for_failure(&value, &place)
        {
            step.add_with(vec![ON_ERROR.to_owned()], "on_error", word);
        }
        step
    }

    /// The source, and what of it is different. Gives the type.
    fn step_source(
        &mut self,
        step: &mut Mapping,
        source: Option<Json>,
        sources: &Sources,
        place: &str,
    ) -> Option<String> {
        let source = source.unwrap_or_default();
        let nature = sources.nature(&source);
        match source {
            Json::String(name) => {
                let is_known = sources.by_name.contains_key(&name);
                if !is_known && !["env", "process", "rest"].contains(&name.as_str()) {
                    self.warn(format!("{place}: there is no source `{name}`"));
                }
                step.add("source", name.as_str());
            }
            Json::Object(map) => {
                let source = self.source(map, sources, place);
                step.add("source", source);
            }
            _ => {
                self.warn(format!(
                    "{place}: it has no source; flowtoy let it fail, and so it does here"
                ));
                step.add("run", "echo 'this step has no source' >&2; exit 1");
            }
        }
        if nature.kind.as_deref() == Some("rest") && nature.is_writing {
            step.add_with(vec![REQUEST.to_owned()], "retry", Json::from(0));
        }
        nature.kind
    }

    fn input(&mut self, step: &mut Mapping, input: Json, place: &str) {
        let mut comments = Vec::new();
        let input = match old_value(&input) {
            Some(value) => {
                self.warn(format!("{place}: `input` is written as in flowtoy 0.1.0"));
                comments.push(OLD_INPUT.to_owned());
                value.clone()
            }
            None => input,
        };
        match &input {
            Json::String(text) if is_lone(text) => comments.push(LONE.to_owned()),
            Json::Object(_) | Json::Array(_) if has_nested(&input) => {
                comments.push(NESTED.to_owned());
            }
            _ => {}
        }
        step.add_with(comments, "input", input);
    }

    fn outputs(&mut self, step: &mut Mapping, output: Json, kind: Option<&str>, place: &str) {
        let Json::Array(outputs) = output else {
            if !output.is_null() {
                self.warn(format!("{place}: `output` is no list and is left out"));
            }
            return;
        };
        let mut converted = Vec::new();
        for output in outputs {
            match output {
                Json::Object(map) if matches!(map.get("name"), Some(Json::String(_))) => {
                    converted.push(self.output(map, place));
                }
                _ => self.warn(format!("{place}: an output without a name is left out")),
            }
        }
        let is_changed = self.is_old && kind == Some("process") && !converted.is_empty();
        let comments = if is_changed { vec![OLD_DATA.to_owned()] } else { Vec::new() };
        if is_changed {
            self.warn(format!("{place}: outputs of processes are different since flowtoy 0.4.0"));
        }
        if !converted.is_empty() {
            step.add_with(comments, "output", converted);
        }
    }

    fn output(&mut self, mut map: Map<String, Json>, place: &str) -> Element {
        self.drop_unknown(&mut map, &keys::OUTPUT, place);
        let name = map.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
        let place = format!("{place}, output `{name}`");
        let mut output = Mapping::new();
        output.add("name", name.as_str());
        match map.get("type").and_then(Json::as_str) {
            Some("jmespath") => {
                output.add("type", "jmespath");
                match map.get("value") {
                    Some(Json::String(query)) => output.add("value", query.as_str()),
                    _ => {
                        self.warn(format!("{place}: it has no expression, and so is null"));
                        output.add("value", "`null`");
                    }
                }
            }
            None | Some("raw" | "json") => {
                output.add("type", "raw");
                if map.contains_key("value") {
                    self.warn(format!("{place}: `value` has no effect with `raw` and is left out"));
                }
            }
            Some(word) => {
                self.warn(format!("{place}: there is no type `{word}`, in flowtoy neither"));
                for (key, value) in map.iter().filter(|(key, _)| *key != "name") {
                    output.add(key, value.clone());
                }
            }
        }
        if let Some(Json::String(text)) = map.get("description") {
            output.add("description", text.as_str());
        }
        Element::from(Tree::from(output))
    }

    fn depends_on(&mut self, step: &mut Mapping, names: Option<Json>, place: &str) {
        let (names, comments) = match names {
            None | Some(Json::Null) => return,
            Some(Json::String(name)) => {
                self.warn(format!("{place}: `depends_on` was no list, so flowtoy passed over it"));
                (vec![Json::String(name)], vec![DEPENDS_ON.to_owned()])
            }
            Some(Json::Array(names)) => (names, Vec::new()),
            Some(other) => {
                self.warn(format!("{place}: `depends_on: {other}` names no steps and is left out"));
                return;
            }
        };
        let (texts, others): (Vec<Json>, Vec<Json>) = names.into_iter().partition(Json::is_string);
        if !others.is_empty() {
            self.warn(format!("{place}: `depends_on` names something that is no text; left out"));
        }
        if !texts.is_empty() {
            step.add_with(comments, "depends_on", Json::Array(texts));
        }
    }
}

/// Whether the input of a step is written as in 0.1.0.
pub(super) fn has_old_input(step: &Json) -> bool {
    step.get("input").and_then(old_value).is_some()
}

/// What an input of 0.1.0 is about: `{type: parameter, value}` or `{type: filter, template}`.
fn old_value(input: &Json) -> Option<&Json> {
    let map = input.as_object().filter(|map| map.len() == 2)?;
    match map.get("type")?.as_str()? {
        "parameter" => map.get("value"),
        "filter" | "body" => map.get("template"),
        _ => None,
    }
}

/// Whether a text is one expression and nothing else.
fn is_lone(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| !inner.contains("{{") && !inner.contains("}}"))
}

fn has_nested(value: &Json) -> bool {
    match value {
        Json::String(text) => has_template(text),
        Json::Array(values) => values.iter().any(has_nested),
        Json::Object(map) => map.values().any(has_nested),
        _ => false,
    }
}

/// Whether a name can be that of a step.
fn is_fit(name: &str) -> bool {
    let is_bad = |letter: char| letter.is_control() || "/[]{}\"'\\`*".contains(letter);
    !name.trim().is_empty() && name == name.trim() && !name.chars().any(is_bad)
}
