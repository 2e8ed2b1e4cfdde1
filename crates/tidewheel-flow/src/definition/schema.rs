//! The JSON Schema of flow files, for editors.
//!
//! It is made from the same tables that files are checked with, so the two cannot differ.

use serde_json::{Map, Value as Json, json};

use crate::definition::keys::{FLOW, RULES, Rule, TYPES};
use crate::definition::shape::{Key, Kind, Shape};

/// Numbers with units, one behind another; a number alone is seconds.
const DURATION: &str = r"^\s*(?:(?:\d+\.?\d*|\.\d+)|(?:(?:\d+\.?\d*|\.\d+)\s*UNIT\s*)+)\s*$";
const UNIT: &str = "(?:[mM][sS]|[sS](?:[eE][cC](?:[oO][nN][dD][sS]?)?)?|[mM](?:[iI][nN](?:[uU][tT][eE][sS]?)?)?\
                    |[hH](?:[oO][uU][rR][sS]?)?|[dD](?:[aA][yY][sS]?)?|[wW](?:[eE][eE][kK][sS]?)?)";
/// A number with a unit, in steps of 1024.
const SIZE: &str = r"^\s*\d+\s*(?:[kKmMgGtT][iI]?)?[bB]?\s*$";
/// So many per time.
const RATE: &str = r"^\s*\d+\s*/\s*(?:\d|\.\d|UNIT\s*$)";
/// A word with an @, or five to seven fields.
const CRON: &str = r"^\s*(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly|every_minute|every_second)|[0-9A-Za-z*/,?#+-]+(?:\s+[0-9A-Za-z*/,?#+-]+){4,6})\s*$";

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
    let mut object = loose(shape, definitions);
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

/// A mapping of which anything may be missing.
fn loose(shape: &Shape, definitions: &mut Map<String, Json>) -> Json {
    let property = |key: &Key, definitions: &mut Map<String, Json>| {
        let mut value = of(&key.kind, definitions);
        // A key without a value is as good as absent, but a name must be one.
        value = match key.kind {
            Kind::Name => value,
            Kind::Template if key.is_required => json!({ "type": ["string", "number", "boolean"] }),
            _ if key.is_required => value,
            _ => or_null(value),
        };
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
    let rules = RULES.iter().filter(|(name, _)| *name == shape.name);
    let rules: Vec<Json> = rules.flat_map(|(_, rule)| ruled(rule, definitions)).collect();
    if !rules.is_empty() {
        object["allOf"] = Json::Array(rules);
    }
    if !patterns.is_empty() {
        object["patternProperties"] = Json::Object(patterns);
    }
    object
}

/// What keys say of each other.
fn ruled(rule: &Rule, definitions: &mut Map<String, Json>) -> Vec<Json> {
    let one = |keys: &[&str]| keys.iter().map(|key| said(&[key])).collect::<Vec<Json>>();
    match rule {
        Rule::ExactlyOne(keys) => vec![json!({ "oneOf": one(keys) })],
        Rule::NotBoth(first, second) => vec![json!({ "not": said(&[first, second]) })],
        Rule::Needs(key, others) => {
            vec![json!({ "if": said(&[key]), "then": { "anyOf": one(others) } })]
        }
        Rule::Some(key) => vec![property(key, json!({ "minItems": 1 }))],
        Rule::Fits(key, pattern) => vec![property(key, json!({ "pattern": pattern }))],
        Rule::Configured => {
            let types = TYPES.iter().map(|(name, shape)| {
                let mut then = property("configuration", reference(shape, definitions));
                if shape.keys.iter().any(|key| key.is_required) {
                    then["required"] = json!(["configuration"]);
                } else {
                    then["properties"]["configuration"] =
                        or_null(then["properties"]["configuration"].take());
                }
                json!({ "if": is_type(name), "then": then })
            });
            types.collect()
        }
        Rule::PartlyConfigured => {
            let mut parts: Vec<Json> = Vec::new();
            for (name, shape) in &TYPES {
                let part = or_null(part(shape, definitions));
                let then = property("configuration", part);
                parts.push(json!({ "if": is_type(name), "then": then }));
            }
            let any: Vec<Json> =
                TYPES.iter().map(|(_, shape)| or_null(part(shape, definitions))).collect();
            let unsaid = property("configuration", json!({ "anyOf": any }));
            parts.push(json!({ "if": { "not": said(&["type"]) }, "then": unsaid }));
            parts
        }
    }
}

fn property(key: &str, value: Json) -> Json {
    json!({ "properties": { key: value } })
}

/// Keys that are there, with a value.
fn said(keys: &[&str]) -> Json {
    let properties =
        keys.iter().map(|key| ((*key).to_owned(), json!({ "not": { "type": "null" } })));
    json!({ "required": keys, "properties": properties.collect::<Map<_, _>>() })
}

fn is_type(name: &str) -> Json {
    let pattern = format!("^{}$", in_any_case(name));
    let mut is_type = property("type", json!({ "type": "string", "pattern": pattern }));
    is_type["required"] = json!(["type"]);
    is_type
}

/// What may also be left empty.
fn or_null(mut value: Json) -> Json {
    let nothing = json!({ "type": "null" });
    let Some(map) = value.as_object_mut().filter(|map| !map.is_empty()) else { return value };
    if let Some(Json::Array(kinds)) = map.get_mut("anyOf") {
        kinds.push(nothing);
    } else if let Some(kind) = map.get_mut("type") {
        let mut kinds = match kind.take() {
            Json::Array(kinds) => kinds,
            kind => vec![kind],
        };
        if !kinds.contains(&json!("null")) {
            kinds.push(json!("null"));
        }
        *kind = Json::Array(kinds);
    } else {
        return json!({ "anyOf": [value, nothing] });
    }
    value
}

fn of(kind: &Kind, definitions: &mut Map<String, Json>) -> Json {
    let with_units = |pattern: &str| pattern.replace("UNIT", UNIT);
    match kind {
        Kind::Any => json!({}),
        Kind::Text => json!({ "type": "string" }),
        Kind::Name => json!({ "type": ["string", "number", "boolean"], "pattern": r"\S" }),
        Kind::Template => json!({ "type": ["string", "number", "boolean", "null"] }),
        Kind::Expression => json!({ "type": ["string", "boolean"] }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Integer { min, max } => number("integer", *min, *max),
        Kind::Number { min, max } => number("number", *min, *max),
        Kind::Duration => json!({
            "type": ["string", "number"],
            "minimum": 0,
            "pattern": with_units(DURATION),
            "examples": ["30s", "1h 30m"],
        }),
        Kind::Size => json!({
            "type": ["string", "integer"],
            "minimum": 0,
            "pattern": SIZE,
            "examples": ["64MiB"],
        }),
        Kind::Rate => {
            json!({ "type": "string", "pattern": with_units(RATE), "examples": ["10/1m"] })
        }
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
        Kind::Either(kinds) => either(kinds, definitions),
    }
}

fn number(kind: &str, min: i64, max: i64) -> Json {
    let mut number = json!({ "type": kind });
    if min > i64::MIN {
        number["minimum"] = json!(min);
    }
    if max < i64::MAX {
        number["maximum"] = json!(max);
    }
    number
}

/// One of several kinds. What is a mapping is meant as one that has known keys, if there is such a kind.
fn either(kinds: &[Kind], definitions: &mut Map<String, Json>) -> Json {
    let has_keys = kinds.iter().any(|kind| matches!(kind, Kind::Object(_)));
    let kinds = kinds.iter().map(|kind| match kind {
        Kind::Any if has_keys => json!({ "not": { "type": "object" } }),
        kind => of(kind, definitions),
    });
    let kinds: Vec<Json> = kinds.collect();
    match kinds.as_slice() {
        [kind] => kind.clone(),
        _ => json!({ "anyOf": kinds }),
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
    defined(bare(shape), definitions, |definitions| object(shape, definitions))
}

/// The same without what it needs.
fn part(shape: &Shape, definitions: &mut Map<String, Json>) -> Json {
    let name = format!("part-of-{}", bare(shape));
    defined(name, definitions, |definitions| loose(shape, definitions))
}

fn defined(
    name: String,
    definitions: &mut Map<String, Json>,
    make: impl FnOnce(&mut Map<String, Json>) -> Json,
) -> Json {
    if !definitions.contains_key(&name) {
        // The name is taken before the inside is made, which may refer to it.
        definitions.insert(name.clone(), Json::Null);
        let made = make(definitions);
        definitions.insert(name.clone(), made);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// The name of a shape without its article.
fn bare(shape: &Shape) -> String {
    shape.name.trim_start_matches("an ").trim_start_matches("a ").replace(' ', "-")
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
