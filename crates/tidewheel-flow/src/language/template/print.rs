//! Writes values: as text into a text, and as JSON.
//!
//! In a text, null is nothing, booleans are `true` and `false`, and lists and maps are JSON.

use std::ops::Range;

use super::budget::Budget;
use super::error::TemplateError;
use super::value::{Missing, MissingReason, Value};
use crate::language::problem::nearest;

/// Appends a value as it stands in a text.
pub(super) fn write_text(
    budget: &mut Budget,
    out: &mut String,
    value: &Value,
) -> Result<(), TemplateError> {
    match value {
        // Somebody said that there is no value; that is no mistake, as an unknown name is.
        Value::Null => Ok(()),
        Value::Text(text) => push(budget, out, text),
        other => write_json(budget, out, other, None, 0),
    }
}

/// A value as text.
pub(super) fn to_text(budget: &mut Budget, value: &Value) -> Result<String, TemplateError> {
    let mut out = String::new();
    write_text(budget, &mut out, value)?;
    Ok(out)
}

/// Appends a value as JSON; with an indent on lines of its own.
pub(super) fn write_json(
    budget: &mut Budget,
    out: &mut String,
    value: &Value,
    indent: Option<usize>,
    level: usize,
) -> Result<(), TemplateError> {
    match value {
        Value::Null => push(budget, out, "null"),
        Value::Bool(bool) => push(budget, out, if *bool { "true" } else { "false" }),
        Value::Integer(integer) => push(budget, out, &integer.to_string()),
        Value::Float(float) => {
            let number = serde_json::Number::from_f64(*float).ok_or_else(no_number)?;
            push(budget, out, &number.to_string())
        }
        Value::Text(text) => {
            budget.read(text.len())?;
            let quoted = serde_json::to_string(&**text).unwrap_or_default();
            push(budget, out, &quoted)
        }
        Value::List(list) => {
            let members = list.values.iter().map(|value| (None, value));
            write_members(budget, out, "[]", members, indent, level)
        }
        Value::Map(map) => {
            let members = map.iter().map(|(key, value)| (Some(&**key), value));
            write_members(budget, out, "{}", members, indent, level)
        }
        Value::Lookup(_) => {
            budget.spend(1_000)?;
            let entries = value.entries()?;
            let members = entries.iter().map(|(key, value)| (Some(&**key), value));
            write_members(budget, out, "{}", members, indent, level)
        }
        other => Err(TemplateError::new(format!("{} cannot be written", other.kind()))),
    }
}

fn write_members<'a>(
    budget: &mut Budget,
    out: &mut String,
    brackets: &str,
    members: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    indent: Option<usize>,
    level: usize,
) -> Result<(), TemplateError> {
    push(budget, out, &brackets[..1])?;
    let mut is_empty = true;
    for (key, value) in members {
        if !is_empty {
            push(budget, out, if indent.is_some() { "," } else { ", " })?;
        }
        is_empty = false;
        write_line(budget, out, indent, level + 1)?;
        if let Some(key) = key {
            budget.read(key.len())?;
            push(budget, out, &serde_json::to_string(key).unwrap_or_default())?;
            push(budget, out, ": ")?;
        }
        write_json(budget, out, value, indent, level + 1)?;
    }
    if !is_empty {
        write_line(budget, out, indent, level)?;
    }
    push(budget, out, &brackets[1..])
}

fn write_line(
    budget: &mut Budget,
    out: &mut String,
    indent: Option<usize>,
    level: usize,
) -> Result<(), TemplateError> {
    let Some(indent) = indent else { return Ok(()) };
    let width = indent.saturating_mul(level);
    budget.allocate(width.saturating_add(1))?;
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', width));
    Ok(())
}

fn push(budget: &mut Budget, out: &mut String, text: &str) -> Result<(), TemplateError> {
    budget.allocate(text.len())?;
    out.push_str(text);
    Ok(())
}

/// A value as JSON, refused when it would be longer than `bytes_max` written down.
pub(super) fn to_json(
    value: &Value,
    bytes_left: &mut usize,
) -> Result<serde_json::Value, TemplateError> {
    // A value takes more memory than the digit it may be written with.
    let cost = if let Value::Text(text) = value { text.len() + 8 } else { 8 };
    *bytes_left = bytes_left.checked_sub(cost).ok_or_else(too_long)?;
    Ok(match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(bool) => (*bool).into(),
        Value::Integer(integer) => {
            let number = i64::try_from(*integer).map(serde_json::Number::from);
            number
                .or_else(|_| u64::try_from(*integer).map(Into::into))
                .map_err(|_| {
                    TemplateError::new("this integer has more digits than can be handed on")
                })?
                .into()
        }
        Value::Float(float) => serde_json::Number::from_f64(*float).ok_or_else(no_number)?.into(),
        Value::Text(text) => serde_json::Value::String(text.to_string()),
        Value::List(list) => {
            let values = list.values.iter().map(|value| to_json(value, bytes_left));
            serde_json::Value::Array(values.collect::<Result<_, _>>()?)
        }
        Value::Map(_) | Value::Lookup(_) => {
            let mut object = serde_json::Map::new();
            for (key, value) in value.entries()? {
                *bytes_left = bytes_left.checked_sub(key.len()).ok_or_else(too_long)?;
                object.insert(key.to_string(), to_json(&value, bytes_left)?);
            }
            serde_json::Value::Object(object)
        }
        other => {
            return Err(TemplateError::new(format!("{} cannot be a result", other.kind())));
        }
    })
}

pub(super) fn too_long() -> TemplateError {
    TemplateError::limit("what comes out is too long")
}

fn no_number() -> TemplateError {
    TemplateError::new("the result is no finite number")
}

/// How many known names a message lists.
const LISTED_MAX: usize = 8;

/// The error of using something that is not there.
pub(super) fn undefined(source: &str, missing: &Missing) -> TemplateError {
    let path = shown(source, &missing.range);
    let mut error = TemplateError::new(format!("`{path}` is not there")).at(&missing.range);
    match &missing.reason {
        MissingReason::Name(known) => {
            let known: Vec<&str> = known.iter().map(|name| &**name).collect();
            error.hint = Some(known_names("there is", &path, &known));
        }
        MissingReason::Key { of, of_range, key } => {
            let of_path = shown(source, of_range);
            error.hint = match of {
                Value::Undefined(_) => None,
                Value::Map(_) | Value::Lookup(_) => {
                    let names = of.members().unwrap_or_default();
                    let known: Vec<&str> = names
                        .iter()
                        .filter_map(|name| name.as_text().map(|name| &**name))
                        .collect();
                    Some(known_names(&format!("`{of_path}` has"), key, &known))
                }
                Value::List(list) => {
                    Some(format!("`{of_path}` is a list of {}", list.values.len()))
                }
                other => Some(format!("`{of_path}` is {}", other.kind())),
            };
        }
        MissingReason::NoElse => {}
        MissingReason::Told(reason) => error.hint = Some((*reason).to_owned()),
    }
    error.undefined = Some(path);
    error
}

fn known_names(there_is: &str, name: &str, known: &[&str]) -> String {
    if let Some(near) = nearest(name, known.iter().copied()) {
        return format!("perhaps `{near}` is meant");
    }
    if known.is_empty() {
        return format!("{there_is} nothing");
    }
    let listed: Vec<String> =
        known.iter().take(LISTED_MAX).map(|name| format!("`{name}`")).collect();
    let more = if known.len() > LISTED_MAX { " and more" } else { "" };
    format!("{there_is} {}{more}", listed.join(", "))
}

/// An expression as it was written, on one line.
fn shown(source: &str, range: &Range<usize>) -> String {
    let written = source.get(range.clone()).unwrap_or_default();
    let mut shown: String = written.split_whitespace().collect::<Vec<_>>().join(" ");
    if shown.chars().count() > 120 {
        shown = shown.chars().take(119).chain(['…']).collect();
    }
    shown
}
