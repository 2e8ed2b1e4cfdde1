//! Values of a mapping by key, where they are of the right kind.
//!
//! What is of the wrong kind was reported by the check of the shape, and is as good as absent.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use crate::language::literal;
use crate::language::yaml::{Map, Node, Value};

pub(super) fn text<'a>(map: &'a Map, key: &str) -> Option<&'a str> {
    map.get(key).and_then(node_text)
}

pub(super) fn node_text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    }
}

/// A name. A number is called as JSON writes it, which is as people do wherever nothing is lost.
pub(super) fn name(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) => Some(text.as_str().to_owned()),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => Some(node.to_json().to_string()),
        _ => None,
    }
}

pub(super) fn owned(map: &Map, key: &str) -> Option<String> {
    text(map, key).map(str::to_owned)
}

/// Which of several keys have a value.
pub(super) fn said<'k>(map: &Map, keys: &[&'k str]) -> Vec<&'k str> {
    let is_said = |key: &&str| map.get(key).is_some_and(|node| !node.is_null());
    keys.iter().copied().filter(is_said).collect()
}

pub(super) fn boolean(map: &Map, key: &str) -> Option<bool> {
    match map.get(key)?.value {
        Value::Bool(value) => Some(value),
        _ => None,
    }
}

pub(super) fn integer(map: &Map, key: &str) -> Option<i64> {
    match map.get(key)?.value {
        Value::Int(value) => Some(value),
        _ => None,
    }
}

pub(super) fn count(map: &Map, key: &str) -> Option<u32> {
    integer(map, key).and_then(|value| u32::try_from(value).ok())
}

pub(super) fn number(map: &Map, key: &str) -> Option<f64> {
    match map.get(key)?.value {
        Value::Int(value) => Some(value as f64),
        Value::Float(value) => Some(value),
        _ => None,
    }
}

pub(super) fn duration(map: &Map, key: &str) -> Option<Duration> {
    literal::duration(map.get(key)?).ok()
}

pub(super) fn size(map: &Map, key: &str) -> Option<u64> {
    literal::size(map.get(key)?).ok()
}

/// A word of a choice, in lower case.
pub(super) fn word(map: &Map, key: &str) -> Option<String> {
    map.get(key).and_then(name).map(|word| word.to_ascii_lowercase())
}

/// A word that some type of the scheduler knows.
pub(super) fn parsed<T: FromStr>(map: &Map, key: &str) -> Option<T> {
    word(map, key)?.parse().ok()
}

pub(super) fn list<'a>(map: &'a Map, key: &str) -> &'a [Node] {
    match map.get(key).map(|node| &node.value) {
        Some(Value::List(nodes)) => nodes,
        _ => &[],
    }
}

/// One of something, or a list of it.
pub(super) fn many<'a>(map: &'a Map, key: &str) -> &'a [Node] {
    match map.get(key) {
        Some(node) => match &node.value {
            Value::List(nodes) => nodes,
            Value::Null => &[],
            _ => std::slice::from_ref(node),
        },
        None => &[],
    }
}

pub(super) fn texts(map: &Map, key: &str) -> Vec<String> {
    list(map, key).iter().filter_map(name).collect()
}

pub(super) fn codes(map: &Map, key: &str) -> Vec<i32> {
    let code = |node: &Node| match node.value {
        Value::Int(code) => i32::try_from(code).ok(),
        _ => None,
    };
    many(map, key).iter().filter_map(code).collect()
}

pub(super) fn mapping<'a>(map: &'a Map, key: &str) -> Option<&'a Map> {
    as_mapping(map.get(key)?)
}

pub(super) fn as_mapping(node: &Node) -> Option<&Map> {
    match &node.value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

pub(super) fn counts(map: &Map) -> BTreeMap<String, u32> {
    map.iter()
        .filter_map(|entry| match entry.value.value {
            Value::Int(value) => Some((entry.key.clone(), u32::try_from(value).ok()?)),
            _ => None,
        })
        .collect()
}
