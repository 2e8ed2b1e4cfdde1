//! What steps of Dagu leave for others: a variable, or values by name.
//!
//! Who asks for them is in `values`.

use serde_json::{Map, Value as Json, json};

use super::values::{key_of, text_of};
use super::whole::Converter;
use crate::import::document::Mapping;

/// What is said beside the name of a variable.
const BESIDE: [&str; 3] = ["key", "omit", "schema"];
/// How a value is made of what a step writes.
const WAYS: [&str; 5] = ["value", "from", "path", "decode", "select"];

/// What a step says that it leaves.
#[derive(Debug)]
pub(super) enum Output {
    /// All that it writes, as a variable.
    Variable(String, Map<String, Json>),
    /// Values that others ask for by its name: `${step.output.name}`.
    Values(Map<String, Json>),
}

impl Output {
    pub fn of(said: &Json) -> Option<Self> {
        let plain = |name: &str| name.trim().trim_start_matches('$').to_owned();
        match said {
            Json::String(name) => Some(Self::Variable(plain(name), Map::new())),
            Json::Object(said) => Some(match said.get("name") {
                Some(Json::String(name)) if is_variable_with_more(said) => {
                    let mut more = said.clone();
                    more.remove("name");
                    Self::Variable(plain(name), more)
                }
                _ => Self::Values(said.clone()),
            }),
            _ => None,
        }
    }
}

fn is_variable_with_more(said: &Map<String, Json>) -> bool {
    said.keys().all(|key| key == "name" || BESIDE.contains(&key.as_str()))
}

impl Converter {
    /// Notes what a step leaves, before anybody asks for it.
    pub(super) fn note_output(&mut self, step: &Map<String, Json>, name: &str) {
        for listed in step.get("outputs").into_iter().flat_map(listed) {
            self.values.left.insert((name.to_owned(), listed));
        }
        let is_call = step.contains_key("call") || self.is_call(step);
        match step.get("output").and_then(Output::of) {
            // What flows leave is known by their steps.
            Some(Output::Variable(variable, _)) if is_call => {
                self.values.unset.insert(variable);
            }
            Some(Output::Variable(variable, _)) => {
                self.values.outputs.insert(variable, name.to_owned());
            }
            Some(Output::Values(values)) if !is_call => {
                let kept = values.iter().filter(|(_, said)| way(said, false).is_some());
                let kept = kept.map(|(key, _)| (name.to_owned(), key.clone()));
                self.values.left.extend(kept);
            }
            _ => {}
        }
    }

    /// The outputs that a step writes to a file.
    pub(super) fn listed_outputs(&mut self, step: &mut Mapping, said: &Json, place: &str) {
        let is_program = step.has("run") || step.has("argv");
        match listed(said) {
            names if !names.is_empty() && is_program && !step.has("outputs") => {
                step.add("outputs", json!(names));
            }
            _ => self.remarks.lose(place, format!("`outputs: {said}`, so who asks for one fails")),
        }
    }

    pub(super) fn output(&mut self, step: &mut Mapping, said: &Json, place: &str) {
        let is_request = step.has("http");
        let is_call = step.has("flow") || step.has("steps");
        let mut outputs = Mapping::new();
        match Output::of(said) {
            Some(Output::Variable(variable, _)) if is_call => {
                let text =
                    format!("`output: {said}` of a flow, so who asks for `{variable}` fails");
                self.remarks.lose(place, text);
            }
            Some(Output::Variable(variable, mut more)) => {
                more.remove("omit");
                self.lost_keys(more, &format!("{place}, output"));
                outputs.add(&variable, format!("{{{{ {} }}}}", whole(is_request)).as_str());
            }
            Some(Output::Values(values)) => {
                for (key, said) in values {
                    match way(&said, is_request).filter(|_| !is_call) {
                        Some(Way::Template(template)) => outputs.add(&key, template.as_str()),
                        Some(Way::Text(text)) => {
                            outputs.add(&key, self.values.rendered(&text).as_str());
                        }
                        Some(Way::Value(value)) => outputs.add(&key, value),
                        None => {
                            let text = format!("`output.{key}: {said}`, so who asks for it fails");
                            self.remarks.lose(place, text);
                        }
                    }
                }
            }
            None => self.remarks.lose(place, format!("`output: {said}`")),
        }
        if !outputs.is_empty() {
            step.add("outputs", outputs);
        }
    }
}

/// The names that a step says it writes to the file of outputs.
fn listed(said: &Json) -> Vec<String> {
    let entries = said.as_array().into_iter().flatten();
    entries.filter_map(|entry| Some(entry.get("name")?.as_str()?.to_owned())).collect()
}

/// How a value comes to be.
#[derive(Debug)]
enum Way {
    /// By what the step has written.
    Template(String),
    /// As it is written, with variables filled in.
    Text(String),
    Value(Json),
}

/// How a value comes to be, if that can be said here.
fn way(said: &Json, is_request: bool) -> Option<Way> {
    let Json::Object(said) = said else {
        return Some(match said {
            Json::String(text) => Way::Text(text.clone()),
            other => Way::Value(other.clone()),
        });
    };
    if said.is_empty() || !said.keys().all(|key| WAYS.contains(&key.as_str())) {
        return None;
    }
    let word = |key: &str| said.get(key).map(text_of);
    if let Some(value) = said.get("value") {
        return (said.len() == 1 && !value.is_object()).then(|| way(value, is_request)).flatten();
    }
    let template = match (word("from").as_deref(), word("decode").as_deref(), word("select")) {
        (Some("stdout"), None | Some("text"), None) => whole(is_request),
        (Some("stderr"), None | Some("text"), None) if !is_request => "stderr | trim",
        (Some("stdout"), Some("json"), None) => "json",
        (Some("stdout"), Some("json"), Some(path)) => {
            return selected(&path).map(|path| Way::Template(format!("{{{{ json{path} }}}}")));
        }
        _ => return None,
    };
    Some(Way::Template(format!("{{{{ {template} }}}}")))
}

/// All that a step has written.
fn whole(is_request: bool) -> &'static str {
    match is_request {
        true => "data if data is string else data | tojson",
        false => "stdout | trim",
    }
}

/// `.a.b-c`, as what stands behind a value here. Whatever else programs for JSON know has no equal.
fn selected(path: &str) -> Option<String> {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
    match path.trim().strip_prefix('.')? {
        "" => Some(String::new()),
        names => {
            let is_name = |name: &str| !name.is_empty() && name.chars().all(is_letter);
            let names: Vec<&str> = names.split('.').collect();
            let is_plain = names.iter().all(|name| is_name(name));
            is_plain.then(|| names.into_iter().map(key_of).collect())
        }
    }
}
