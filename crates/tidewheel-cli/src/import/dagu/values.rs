//! Params and variables of Dagu: every param and every captured output is a variable there.
//!
//! What steps make of them is in `step`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::whole::Converter;
use crate::import::document::Mapping;
use crate::import::text::as_template;
use crate::import::variables::{Part, parts};

/// What the variables of a flow stand for.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Named params, with their defaults.
    pub params: Vec<(String, Json)>,
    /// Defaults of params that are known by their place.
    pub places: Vec<String>,
    /// Variables of the flow, as templates.
    pub env: Vec<(String, String)>,
    /// Outputs by name, and the step that leaves each.
    pub outputs: BTreeMap<String, String>,
    /// Steps by what they are called there.
    pub steps: BTreeMap<String, String>,
    /// Whether a step may be skipped while what is behind it goes on.
    pub has_gaps: bool,
    /// Variables of our own that templates ask for.
    pub ours: BTreeSet<String>,
    /// Whether what is converted follows the run.
    pub is_hook: bool,
}

impl Values {
    /// The template for a variable, if it is known what it stands for.
    pub fn template(&self, name: &str, path: &str) -> Option<String> {
        let plain = path.is_empty();
        if let Some(step) = self.outputs.get(name) {
            let value = format!("flows{}{}", key_of(step), key_of(name));
            let value = match plain {
                true => value,
                false => format!("({value} | fromjson).{path}"),
            };
            let default = if self.is_hook || self.has_gaps { " | default('')" } else { "" };
            return Some(format!("{{{{ {value}{default} }}}}"));
        }
        if let Some(step) = self.steps.get(name).filter(|_| path == "exit_code") {
            return Some(format!("{{{{ steps{}.code }}}}", key_of(step)));
        }
        let place =
            name.parse::<usize>().ok().filter(|place| (1..=self.places.len()).contains(place));
        match (place, name) {
            (Some(place), _) => Some(format!("{{{{ params.p{place} }}}}")),
            (None, "ITEM") if plain => Some("{{ item }}".to_owned()),
            (None, "ITEM") => Some(format!("{{{{ item.{path} }}}}")),
            (None, "DAG_RUN_ID") => Some("{{ run.id }}".to_owned()),
            (None, "DAG_NAME") => Some("{{ run.flow }}".to_owned()),
            _ if plain && self.params.iter().any(|(param, _)| param == name) => {
                Some(format!("{{{{ params.{name} }}}}"))
            }
            _ => None,
        }
    }

    /// A text in which variables are filled in, as a template.
    pub fn rendered(&mut self, text: &str) -> String {
        let mut rendered = String::new();
        for part in parts(text, false) {
            match part {
                Part::Text(text) => rendered.push_str(&as_template(text)),
                Part::Variable { name, path, .. } => match self.template(name, path) {
                    Some(template) => rendered.push_str(&template),
                    None => match self.env.iter().rev().find(|(known, _)| known == name) {
                        Some((_, value)) => rendered.push_str(value),
                        None => {
                            self.ours.insert(name.to_owned());
                            rendered.push_str(&format!("{{{{ sources.ours.{name} }}}}"));
                        }
                    },
                },
            }
        }
        rendered
    }
}

/// A name behind a dot, or in brackets.
pub(super) fn key_of(name: &str) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    match name.chars().all(is_letter) && !name.starts_with(|letter: char| letter.is_ascii_digit()) {
        true => format!(".{name}"),
        false => format!("['{name}']"),
    }
}

impl Converter {
    /// Params in any of their forms.
    pub(super) fn params(&mut self, value: Json) {
        match value {
            Json::String(text) => {
                for word in words(&text) {
                    self.param_word(&word);
                }
            }
            Json::Array(values) => values.into_iter().for_each(|value| match value {
                Json::String(word) => self.param_word(&word),
                Json::Object(map) if map.contains_key("name") => {
                    let name = map["name"].as_str().unwrap_or_default().to_owned();
                    self.values
                        .params
                        .push((name, map.get("default").cloned().unwrap_or_default()));
                }
                Json::Object(map) => self.values.params.extend(map),
                other => self.values.places.push(text_of(&other)),
            }),
            Json::Object(mut map) => {
                let values = map.remove("values").filter(|_| map.contains_key("schema"));
                match values {
                    Some(Json::Object(values)) => self.values.params.extend(values),
                    _ => self.values.params.extend(map),
                }
            }
            Json::Null => {}
            other => self.values.places.push(text_of(&other)),
        }
    }

    fn param_word(&mut self, word: &str) {
        match word.split_once('=').filter(|(name, _)| is_variable(name)) {
            Some((name, value)) => self.values.params.push((name.to_owned(), value.into())),
            None => self.values.places.push(word.to_owned()),
        }
    }

    /// The params as ours.
    pub(super) fn written_params(&mut self) -> Mapping {
        let mut written = Mapping::new();
        let places = self.values.places.clone();
        for (place, value) in (1..).zip(&places) {
            self.unread(value, &format!("param {place}"));
            written.add_with(self.remarks.comments(), &format!("p{place}"), value.as_str());
        }
        for (name, value) in self.values.params.clone() {
            self.unread(&text_of(&value), &format!("param `{name}`"));
            let comments = self.remarks.comments();
            match value {
                Json::Null => {
                    let mut param = Mapping::new();
                    param.add("type", "any");
                    written.add_with(comments, &name, param);
                }
                value => written.add_with(comments, &name, value),
            }
        }
        written
    }

    /// Commands and variables in values that are read once: nothing reads them here.
    pub(super) fn unread(&mut self, value: &str, place: &str) {
        if value.contains('`') || value.contains("$(") {
            self.remarks.lose(place, format!("a command in a value: {value}"));
        }
    }

    /// Variables in any of their forms, as templates.
    pub(super) fn variables(&mut self, value: Json, place: &str) -> Vec<(String, String)> {
        let pairs: Vec<(String, Json)> = match value {
            Json::Object(map) => map.into_iter().collect(),
            Json::Array(values) => values
                .into_iter()
                .flat_map(|value| match value {
                    Json::Object(map) => map.into_iter().collect(),
                    Json::String(text) => {
                        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
                        vec![(name.to_owned(), Json::from(value))]
                    }
                    _ => Vec::new(),
                })
                .collect(),
            _ => Vec::new(),
        };
        let mut variables = Vec::new();
        for (name, value) in pairs {
            let value = text_of(&value);
            self.unread(&value, &format!("{place}, variable `{name}`"));
            variables.push((name, self.values.rendered(&value)));
        }
        variables
    }
}

pub(super) fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

pub(super) fn is_variable(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty()
        && name.chars().all(is_letter)
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Words between blanks, those between quotes together.
pub(super) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_open) = (Vec::new(), String::new(), None, false);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                is_open = true;
            }
            (None, letter) if letter.is_whitespace() => {
                if is_open {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            (_, letter) => {
                word.push(letter);
                is_open = true;
            }
        }
    }
    if is_open {
        words.push(word);
    }
    words
}
