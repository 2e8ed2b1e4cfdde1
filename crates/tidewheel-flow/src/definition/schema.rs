//! The JSON Schema of flow files, for editors.
//!
//! It is made from the same tables that files are checked with, so the two cannot differ.

use serde_json::{Map, Value as Json, json};

use crate::definition::keys::{EXACTLY_ONE, FLOW};
use crate::definition::shape::{Key, Kind, Shape};

/// Numbers with units, one behind another; a number alone is seconds.
const DURATION: &str = r"^\s*\d+(?:\.\d+)?\s*(?:[A-Za-z]+\s*(?:\d+(?:\.\d+)?\s*[A-Za-z]+\s*)*)?$";
/// A word with an @, or five or six fields.
const CRON: &str = r"^\s*(?:@\S+(?:\s+\S+)?|\S+(?:\s+\S+){4,6})\s*$";

/// The JSON Schema (2020-12) of flow files.
#[must_use]
pub fn schema() -> Json {
    let mut definitions = Map::new();
    let mut whole = object(&FLOW, &mut definitions);
    if let Some(map) = whole.as_object_mut() {
        map.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        map.insert("title".into(), "Tidewheel flow".into());
        map.insert("$defs".into(), Json::Object(definitions));
    }
    whole
}

fn object(shape: &Shape, definitions: &mut Map<String, Json>) -> Json {
    let required: Vec<&str> =
        shape.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    let property = |key: &Key, definitions: &mut Map<String, Json>| {
        let mut value = of(&key.kind, definitions);
        if let Some(map) = value.as_object_mut() {
            map.insert("description".into(), key.about.into());
        }
        (key.name.to_owned(), value)
    };
    let is_pattern = |key: &&Key| key.name.ends_with('*');
    let properties: Map<String, Json> = shape
        .keys
        .iter()
        .filter(|key| !is_pattern(key))
        .map(|key| property(key, definitions))
        .collect();
    let patterns = shape.keys.iter().filter(is_pattern).map(|key| {
        let (name, value) = property(key, definitions);
        (format!("^{}", name.trim_end_matches('*')), value)
    });
    let patterns: Map<String, Json> = patterns.collect();
    let mut object = json!({
        "type": "object",
        "description": shape.about,
        "properties": properties,
        "additionalProperties": false,
    });
    if let Some((_, keys)) = EXACTLY_ONE.iter().find(|(name, _)| *name == shape.name) {
        let one = keys.iter().map(|key| json!({ "required": [key] }));
        object["oneOf"] = one.collect();
    }
    if !patterns.is_empty() {
        object["patternProperties"] = Json::Object(patterns);
    }
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn of(kind: &Kind, definitions: &mut Map<String, Json>) -> Json {
    match kind {
        Kind::Any => json!({}),
        Kind::Text => json!({ "type": "string" }),
        Kind::Name => json!({ "type": ["string", "number", "boolean"] }),
        Kind::Template => json!({ "type": ["string", "number", "boolean", "null"] }),
        Kind::Expression => json!({ "type": ["string", "boolean"] }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Integer { min: i64::MIN, max: i64::MAX } => json!({ "type": "integer" }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Duration => json!({
            "type": ["string", "number"],
            "pattern": DURATION,
            "examples": ["30s", "1h 30m"],
        }),
        Kind::Size => json!({
            "type": ["string", "integer"],
            "pattern": r"^\s*\d+\s*[A-Za-z]*\s*$",
            "examples": ["64MiB"],
        }),
        Kind::Rate => json!({ "type": "string", "pattern": r"^\s*\d+\s*/", "examples": ["10/1m"] }),
        Kind::Cron => json!({ "type": "string", "pattern": CRON, "examples": ["0 3 * * *"] }),
        Kind::Choice(words) => {
            let any_case: Vec<String> = words.iter().map(|word| in_any_case(word)).collect();
            let pattern = format!("^(?:{})$", any_case.join("|"));
            json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": pattern }] })
        }
        Kind::List(kind) => json!({ "type": "array", "items": of(kind, definitions) }),
        Kind::Many(kind) => {
            let one = of(kind, definitions);
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        Kind::Map(kind) => {
            json!({ "type": "object", "additionalProperties": of(kind, definitions) })
        }
        Kind::Object(shape) => reference(shape, definitions),
        Kind::Either(kinds) => {
            let kinds: Vec<Json> = kinds.iter().map(|kind| of(kind, definitions)).collect();
            match kinds.as_slice() {
                [kind] => kind.clone(),
                _ => json!({ "anyOf": kinds }),
            }
        }
    }
}

/// A pattern for a word, since words may be in any case.
fn in_any_case(word: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphabetic() {
        true => format!("[{}{}]", letter.to_ascii_uppercase(), letter.to_ascii_lowercase()),
        false => letter.to_string(),
    };
    word.chars().map(letter).collect()
}

/// Mappings are defined once, since steps have steps in them.
fn reference(shape: &Shape, definitions: &mut Map<String, Json>) -> Json {
    let name = shape.name.trim_start_matches("an ").trim_start_matches("a ").replace(' ', "-");
    if !definitions.contains_key(&name) {
        // The name is taken before the inside is made, which may refer to it.
        definitions.insert(name.clone(), Json::Null);
        let made = object(shape, definitions);
        definitions.insert(name.clone(), made);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
