//! [`Node`]: a value and the place where it was written.
//!
//! Mappings are in [`super::map`], texts in [`super::text`].

use std::sync::Arc;

use crate::language::problem::Span;

use super::map::Map;
use super::text::Text;

/// A value and the place where it was written.
///
/// The value behind an alias has the place of the alias (`*name`); what is inside of it, and the
/// letters of its text, have the place where they were written.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub span: Span,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: `null`, `~`, or no value at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a point or an exponent. It may be infinite or not a number.
    Float(f64),
    /// A text.
    Text(Text),
    /// A list.
    List(Vec<Node>),
    /// A mapping.
    Map(Map),
}

impl Node {
    /// A text that stands for all of `span`, as one that was not written but made.
    pub fn text(letters: impl Into<Arc<str>>, span: Span) -> Self {
        Self { value: Value::Text(Text::new(letters, span)), span }
    }

    /// What it is, in words for a message: `a list`, `a text`.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The whole number, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Value::Int(value) = self.value { Some(value) } else { None }
    }

    /// The number, if it is one, whole or not. Large whole numbers lose digits.
    pub fn as_float(&self) -> Option<f64> {
        match self.value {
            Value::Int(value) => Some(value as f64),
            Value::Float(value) => Some(value),
            _ => None,
        }
    }

    /// The text with its places, if it is one.
    pub fn as_text(&self) -> Option<&Text> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The letters, if it is a text.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().map(Text::as_str)
    }

    /// The values, if it is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        if let Value::List(list) = &self.value { Some(list) } else { None }
    }

    /// The mapping, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        if let Value::Map(map) = &self.value { Some(map) } else { None }
    }

    /// The same value without its places. Numbers that JSON cannot write become null.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(text) => text.as_str().into(),
            Value::List(list) => list.iter().map(Node::to_json).collect(),
            Value::Map(map) => {
                map.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
            }
        }
    }
}
