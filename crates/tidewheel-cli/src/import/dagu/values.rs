//! Params and variables of Dagu: every param and every captured output is a variable there.
//!
//! What steps make of them is in `step`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

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
    /// Variables of which nobody knows the value here.
    pub unset: BTreeSet<String>,
    /// What is said of params beside their defaults.
    pub described: BTreeMap<String, Map<String, Json>>,
    /// Outputs by name, and the step that leaves each.
    pub outputs: BTreeMap<String, String>,
    /// Values that steps leave by name: the step, and the name.
    pub left: BTreeSet<(String, String)>,
    /// Steps by what they are called there.
    pub steps: BTreeMap<String, String>,
    /// Whether a step may be skipped while what is behind it goes on.
    pub has_gaps: bool,
    /// Variables of our own that templates ask for.
    pub ours: BTreeSet<String>,
    /// Whether what is converted follows the run.
    pub is_hook: bool,
    /// Values that texts ask for and nobody knows here.
    pub unknown: Vec<String>,
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
        if let Some(step) = self.steps.get(name)
            && let Some(asked) = path.strip_prefix("output.")
        {
            return self.left_by(step, asked);
        }
        if self.says_where(name, path) {
            return self.placed(name, path);
        }
        let place =
            name.parse::<usize>().ok().filter(|place| (1..=self.places.len()).contains(place));
        match (place, name) {
            (Some(place), _) => Some(format!("{{{{ params.p{place} }}}}")),
            (None, "ITEM") if plain => Some("{{ item }}".to_owned()),
            (None, "ITEM") => Some(format!("{{{{ item.{path} }}}}")),
            (None, name) if plain && self.of_run(name).is_some() => {
                self.of_run(name).map(str::to_owned)
            }
            _ if plain && self.params.iter().any(|(param, _)| param == name) => {
                Some(format!("{{{{ params.{name} }}}}"))
            }
            _ => None,
        }
    }

    /// The template for `${step.output.name}`, as a text.
    pub fn left_by(&self, step: &str, asked: &str) -> Option<String> {
        let mut names = asked.split('.');
        let name = names.next()?;
        let is_known = self.left.contains(&(step.to_owned(), name.to_owned()));
        let path: String = names.map(key_of).collect();
        let value = format!("flows{}{}{path}", key_of(step), key_of(name));
        let value = match self.is_hook || self.has_gaps {
            true => format!("({value} | default(''))"),
            false => value,
        };
        let template = format!("{{{{ {value} if {value} is string else {value} | tojson }}}}");
        is_known.then_some(template)
    }

    /// A text in which variables are filled in, as a template.
    pub fn rendered(&mut self, text: &str) -> String {
        let mut rendered = String::new();
        for part in parts(text, false) {
            match part {
                Part::Text(text) => rendered.push_str(&as_template(text)),
                Part::Variable { name, path, whole } => {
                    let value = self.filled_in(self.meant(name, path), whole);
                    rendered.push_str(&value);
                }
            }
        }
        rendered
    }

    fn filled_in(&mut self, (name, path): (&str, &str), whole: &str) -> String {
        if let Some(template) = self.template(name, path) {
            return template;
        }
        if self.unset.contains(name) {
            return format!("{{{{ {{}}['{name}'] }}}}");
        }
        if !path.is_empty() {
            self.unknown.push(whole.to_owned());
            return format!("{{{{ {{}}['{name}.{path}'] }}}}");
        }
        match self.env.iter().rev().find(|(known, _)| known == name) {
            Some((_, value)) => value.clone(),
            None => {
                self.ours.insert(name.to_owned());
                format!("{{{{ sources.ours.{name} }}}}")
            }
        }
    }
}

fn has_command(value: &str) -> bool {
    value.contains('`') || value.contains("$(")
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
                Json::Object(mut map) if map.contains_key("name") => {
                    let name = map.remove("name").map(|it| text_of(&it)).unwrap_or_default();
                    let default = map.remove("default").unwrap_or_default();
                    self.values.params.push((name.clone(), default));
                    self.values.described.insert(name, map);
                }
                Json::Object(map) => self.values.params.extend(map),
                other => self.values.places.push(text_of(&other)),
            }),
            Json::Object(mut map) => {
                let values = map.remove("values").filter(|_| map.contains_key("schema"));
                match values {
                    Some(Json::Object(values)) => {
                        let schema = map.remove("schema").unwrap_or_default();
                        self.remarks.lose("params", format!("`schema: {schema}`"));
                        self.values.params.extend(values);
                    }
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
            let is_said = !self.must_be_said(value, &format!("param {place}"));
            let value =
                if is_said { Json::from(value.as_str()) } else { json!({ "type": "text" }) };
            written.add_with(self.remarks.comments(), &format!("p{place}"), value);
        }
        for (name, value) in self.values.params.clone() {
            let place = format!("param `{name}`");
            let evaluated =
                self.values.described.get_mut(&name).and_then(|said| said.remove("eval"));
            let is_open = match evaluated {
                Some(said) => {
                    let text = format!("`eval: {said}`, so it must be said by `--param`");
                    self.remarks.lose(&place, text);
                    true
                }
                None => self.must_be_said(&text_of(&value), &place),
            };
            let comments = self.remarks.comments();
            match value {
                _ if is_open => written.add_with(comments, &name, json!({ "type": "text" })),
                value if self.values.described.contains_key(&name) => {
                    let param = self.described(&name, value);
                    let comments = comments.into_iter().chain(self.remarks.comments()).collect();
                    written.add_with(comments, &name, param);
                }
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

    /// Whether a param is what a command writes, or made of others, which whoever runs it must say here.
    fn must_be_said(&mut self, value: &str, place: &str) -> bool {
        let is_variable = |part: &Part<'_>| matches!(part, Part::Variable { name, .. } if name.parse::<usize>().is_err());
        let what = match parts(value, false).iter().any(is_variable) {
            _ if has_command(value) => "a command",
            true => "a variable",
            false => return false,
        };
        let text = format!("{what} in a value: {value}, so it must be said by `--param`");
        self.remarks.lose(place, text);
        true
    }

    /// A param of which more is said than its default.
    fn described(&mut self, name: &str, default: Json) -> Mapping {
        let mut said = self.values.described.remove(name).unwrap_or_default();
        let mut param = Mapping::new();
        let kind = match said.remove("type").as_ref().and_then(Json::as_str) {
            Some("integer") => "int",
            Some("number") => "number",
            Some("boolean") => "bool",
            Some("string") => "text",
            _ => "any",
        };
        param.add("type", kind);
        let is_needed = said.remove("required") == Some(Json::Bool(true));
        let is_text = ["text", "any"].contains(&kind) && !said.contains_key("enum");
        match default {
            // There it is empty if nobody says it.
            Json::Null if is_text && !is_needed => param.add("default", ""),
            Json::Null => {}
            value => param.add("default", value),
        }
        for (key, ours) in [
            ("enum", "choices"),
            ("description", "description"),
            ("minimum", "min"),
            ("maximum", "max"),
        ] {
            if let Some(value) = said.remove(key) {
                param.add(ours, value);
            }
        }
        self.lost_keys(said, &format!("param `{name}`"));
        param
    }

    /// Whether a variable has a value that nobody knows here, as a command would write it. Then it is not set.
    fn is_unread(&mut self, name: &str, value: &str, place: &str) -> bool {
        let values = &self.values;
        let asked: Vec<(&str, &str)> = parts(value, false)
            .iter()
            .filter_map(|part| match part {
                Part::Variable { name, path, .. } => Some(values.meant(name, path)),
                Part::Text(_) => None,
            })
            .collect();
        let is_unset = asked.iter().any(|(name, _)| values.unset.contains(*name));
        let is_nowhere =
            |(name, path): &(&str, &str)| !path.is_empty() && values.template(name, path).is_none();
        let why = match (has_command(value), is_unset, asked.iter().any(is_nowhere)) {
            (true, ..) => "a command in a value",
            (_, true, _) => "a value of one that is not set",
            (.., true) => "a value that is not known here",
            _ => {
                self.values.unset.remove(name);
                return false;
            }
        };
        self.remarks.lose(place, format!("{why}: {value}, so who asks for `{name}` fails"));
        self.values.unset.insert(name.to_owned());
        true
    }

    /// Variables in any of their forms, as templates. Each knows those before it, and so do all that come behind.
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
            let place = format!("{place}, variable `{name}`");
            if self.is_unread(&name, &value, &place) {
                continue;
            }
            let Some(value) = self.variable(&name, &value, &place) else { continue };
            self.values.env.push((name.clone(), value.clone()));
            variables.push((name, value));
        }
        variables
    }
}

impl Converter {
    /// The value of a variable. What decides which code is loaded is not made of values here, but may add to what it was.
    fn variable(&mut self, name: &str, value: &str, place: &str) -> Option<String> {
        if name != "PATH" {
            return Some(self.values.rendered(value));
        }
        let mut written = String::new();
        for part in parts(value, false) {
            match part {
                Part::Text(text) => written.push_str(text),
                Part::Variable { name: "PATH", path: "", .. } => written.push_str("$PATH"),
                Part::Variable { name, .. } => {
                    let known = self.values.env.iter().rev().find(|(known, _)| known == name);
                    match known.filter(|(_, value)| !value.contains("{{")) {
                        Some((_, value)) => written.push_str(value),
                        None => {
                            self.remarks.lose(place, format!("`PATH: {value}`"));
                            return None;
                        }
                    }
                }
            }
        }
        Some(written)
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

/// Words between blanks. Those between quotes are one, and so are the commands whose output stands in a word.
pub(super) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_open) = (Vec::new(), String::new(), None, false);
    let (mut depth, mut before) = (0, ' ');
    for letter in text.chars() {
        let is_command = depth > 0 || quote == Some('`');
        match (quote, letter) {
            (None, '(') if before == '$' || depth > 0 => depth += 1,
            (None, ')') if depth > 0 => depth -= 1,
            _ => {}
        }
        match (quote, letter) {
            (Some('`'), '`') => {
                quote = None;
                word.push(letter);
            }
            (None, '`') if depth == 0 => {
                quote = Some(letter);
                word.push(letter);
                is_open = true;
            }
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') if !is_command => {
                quote = Some(letter);
                is_open = true;
            }
            (None, letter) if letter.is_whitespace() && !is_command => {
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
        before = letter;
    }
    if is_open {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_words_are_not_taken_apart() {
        for (text, expected) in [
            ("A=`date +%F` B=3", vec!["A=`date +%F`", "B=3"]),
            ("A=$(date \"+%F $(x y)\") B", vec!["A=$(date \"+%F $(x y)\")", "B"]),
            ("'a b'  \"c d\"e", vec!["a b", "c de"]),
            ("A=\"`date +%F` x\" ''", vec!["A=`date +%F` x", ""]),
        ] {
            assert_eq!(words(text), expected);
        }
    }
}
