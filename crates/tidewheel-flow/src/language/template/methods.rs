//! The methods of Python's texts, lists and maps that people use in templates.
//!
//! Those that are filters as well are worked out there.

use super::arguments::{Given, count, required, required_text};
use super::budget::Budget;
use super::error::TemplateError;
use super::filters;
use super::operators;
use super::value::Value;

const NAMES: &[&str] = &[
    "capitalize",
    "changed",
    "count",
    "cycle",
    "endswith",
    "find",
    "get",
    "index",
    "isalnum",
    "isalpha",
    "isdigit",
    "islower",
    "isspace",
    "isupper",
    "items",
    "join",
    "keys",
    "lower",
    "lstrip",
    "removeprefix",
    "removesuffix",
    "replace",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "upper",
    "values",
    "zfill",
];

pub(super) fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// Calls a method of a value.
pub(super) fn call(
    budget: &mut Budget,
    value: &Value,
    name: &str,
    given: Given,
) -> Result<Value, TemplateError> {
    budget.read(value.weight())?;
    let result = match value {
        Value::Text(text) => of_text(budget, value, text, name, given),
        Value::List(_) => of_list(budget, value, name, given),
        Value::Map(_) | Value::Lookup(_) | Value::Namespace(_) => {
            of_map(budget, value, name, given)
        }
        _ => Ok(None),
    };
    result
        .map_err(|mut error| {
            if !error.is_limit {
                error.message = format!("the method `{name}`: {}", error.message);
            }
            error
        })?
        .ok_or_else(|| TemplateError::new(format!("{} has no method `{name}`", value.kind())))
}

fn of_text(
    budget: &mut Budget,
    value: &Value,
    text: &str,
    name: &str,
    given: Given,
) -> Result<Option<Value>, TemplateError> {
    let filter = match name {
        "upper" | "lower" | "title" | "capitalize" | "replace" | "split" => name,
        "splitlines" => "lines",
        _ => "",
    };
    if let Some(filter) = filters::find(filter) {
        return filter.run_bare(budget, value, given).map(Some);
    }
    Ok(Some(match name {
        "strip" | "lstrip" | "rstrip" => {
            let [letters] = given.bind(["chars"])?;
            let stripped = strip(text, name, letters)?;
            budget.text(stripped)?
        }
        "startswith" | "endswith" => {
            let [part] = given.bind(["part"])?;
            let part = required_text(part, "part")?;
            let found = if name == "startswith" {
                text.starts_with(&*part)
            } else {
                text.ends_with(&*part)
            };
            Value::Bool(found)
        }
        "removeprefix" | "removesuffix" => {
            let [part] = given.bind(["part"])?;
            let part = required_text(part, "part")?;
            let rest = if name == "removeprefix" {
                text.strip_prefix(&*part)
            } else {
                text.strip_suffix(&*part)
            };
            budget.text(rest.unwrap_or(text))?
        }
        "find" => {
            let [part] = given.bind(["part"])?;
            let found = text.find(&*required_text(part, "part")?);
            found.map_or(Value::Integer(-1), |at| Value::count(text[..at].chars().count()))
        }
        "count" => {
            let [part] = given.bind(["part"])?;
            Value::count(text.matches(&*required_text(part, "part")?).count())
        }
        "join" => {
            let [values] = given.bind(["values"])?;
            let given = Given { positional: vec![value.clone()], named: Vec::new() };
            return join(budget, &required(values, "values")?, given).map(Some);
        }
        "zfill" => {
            let [width] = given.bind(["width"])?;
            let width = count(width, 0)?;
            budget.allocate(width)?;
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", text),
            };
            let zeros = width.saturating_sub(text.chars().count());
            budget.text(format!("{sign}{}{digits}", "0".repeat(zeros)))?
        }
        _ => return Ok(letters(text, name).map(Value::Bool)),
    }))
}

/// What kind of letters a text has; never any where it is empty.
fn letters(text: &str, name: &str) -> Option<bool> {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    let any = |test: fn(char) -> bool| text.chars().any(test);
    Some(match name {
        "isdigit" => all(|letter| letter.is_ascii_digit()),
        "isalpha" => all(char::is_alphabetic),
        "isalnum" => all(char::is_alphanumeric),
        "isspace" => all(char::is_whitespace),
        "islower" => any(char::is_lowercase) && !any(char::is_uppercase),
        "isupper" => any(char::is_uppercase) && !any(char::is_lowercase),
        _ => return None,
    })
}

fn join(budget: &mut Budget, values: &Value, given: Given) -> Result<Value, TemplateError> {
    match filters::find("join") {
        Some(filter) => filter.run_bare(budget, values, given),
        None => Err(TemplateError::new("there is no filter `join`")),
    }
}

fn strip<'a>(text: &'a str, name: &str, letters: Option<Value>) -> Result<&'a str, TemplateError> {
    let letters = match letters {
        None | Some(Value::Null) => None,
        some => Some(required_text(some, "chars")?),
    };
    let is_stripped = |letter: char| match &letters {
        Some(letters) => letters.contains(letter),
        None => letter.is_whitespace(),
    };
    Ok(match name {
        "lstrip" => text.trim_start_matches(is_stripped),
        "rstrip" => text.trim_end_matches(is_stripped),
        _ => text.trim_matches(is_stripped),
    })
}

fn of_list(
    budget: &mut Budget,
    value: &Value,
    name: &str,
    given: Given,
) -> Result<Option<Value>, TemplateError> {
    if !matches!(name, "index" | "count") {
        return Ok(None);
    }
    let [wanted] = given.bind(["value"])?;
    let wanted = required(wanted, "value")?;
    let mut found = 0_usize;
    for (place, member) in budget.members(value)?.iter().enumerate() {
        if operators::equal(budget, member, &wanted)? {
            if name == "index" {
                return Ok(Some(Value::count(place)));
            }
            found += 1;
        }
    }
    if name == "index" {
        return Err(TemplateError::new("the value is not in the list"));
    }
    Ok(Some(Value::count(found)))
}

fn of_map(
    budget: &mut Budget,
    value: &Value,
    name: &str,
    given: Given,
) -> Result<Option<Value>, TemplateError> {
    Ok(Some(match name {
        "get" => {
            let [key, default] = given.bind(["key", "default"])?;
            let found = value.member(&required(key, "key")?);
            found.or(default).unwrap_or(Value::Null)
        }
        "keys" | "values" | "items" => {
            let [] = given.bind([])?;
            let mut members = Vec::new();
            for (key, value) in entries(budget, value)? {
                members.push(match name {
                    "keys" => Value::Text(key),
                    "values" => value,
                    _ => budget.list(vec![Value::Text(key), value])?,
                });
            }
            budget.list(members)?
        }
        _ => return Ok(None),
    }))
}

/// The entries of a map, paid for.
pub(super) fn entries(
    budget: &mut Budget,
    value: &Value,
) -> Result<Vec<(std::sync::Arc<str>, Value)>, TemplateError> {
    if matches!(value, Value::Map(_) | Value::Lookup(_)) {
        budget.allocate_values(value.length()?.saturating_mul(2))?;
    }
    value.entries()
}
