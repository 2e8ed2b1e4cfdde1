//! Functions that templates call by name: `range`, `dict`, `namespace`, and those of the embedder.
//!
//! None of them reads a file, a clock or the environment: the same context gives the same result.

use std::sync::{Arc, Mutex};

use super::arguments::{Given, integer, wanted};
use super::budget::Budget;
use super::engine::Functions;
use super::error::TemplateError;
use super::print;
use super::value::{Map, Value};

/// The functions that every template has.
pub(super) const NAMES: [&str; 3] = ["dict", "namespace", "range"];

/// Calls a function.
pub(super) fn call(
    budget: &mut Budget,
    functions: &Functions,
    name: &str,
    given: Given,
) -> Result<Value, TemplateError> {
    match name {
        "range" => range(budget, given),
        "dict" => {
            let map = dict(given)?;
            budget.map(map)
        }
        "namespace" => {
            let map = dict(given)?;
            budget.allocate(map.len())?;
            Ok(Value::Namespace(Arc::new(Mutex::new(map))))
        }
        _ => foreign(budget, functions, name, given),
    }
}

fn range(budget: &mut Budget, given: Given) -> Result<Value, TemplateError> {
    let [first, second, step] = given.bind(["start", "stop", "step"])?;
    let step = integer(step, 1)?;
    let (start, stop) = match second {
        None => (0, integer(first, 0)?),
        Some(stop) => (integer(first, 0)?, integer(Some(stop), 0)?),
    };
    if step == 0 {
        return Err(TemplateError::new("a range cannot go on by 0"));
    }
    let span = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
    let count = span.max(0) / step.saturating_abs();
    budget.foresee_values(usize::try_from(count).unwrap_or(usize::MAX))?;
    let mut values = Vec::new();
    let mut at = start;
    while if step > 0 { at < stop } else { at > stop } {
        values.push(Value::Integer(at));
        at = at.saturating_add(step);
    }
    budget.list(values)
}

/// A map of the entries of another map, and of the named arguments.
fn dict(given: Given) -> Result<Map, TemplateError> {
    let mut map = Map::default();
    for value in &given.positional {
        for (key, value) in value.entries()? {
            map.insert(key, value);
        }
    }
    for (name, value) in given.named {
        map.insert(name, value);
    }
    Ok(map)
}

fn foreign(
    budget: &mut Budget,
    functions: &Functions,
    name: &str,
    given: Given,
) -> Result<Value, TemplateError> {
    let Some(function) = functions.get(name) else {
        return Err(TemplateError::new(format!("there is no function `{name}`")));
    };
    if let Some((argument, _)) = given.named.first() {
        return Err(TemplateError::new(format!("`{name}` has no argument `{argument}`")));
    }
    let mut arguments = Vec::new();
    for value in &given.positional {
        let mut bytes_left = FOREIGN_BYTES_MAX;
        arguments.push(print::to_json(value, &mut bytes_left)?);
        budget.allocate(FOREIGN_BYTES_MAX - bytes_left)?;
    }
    let result = function(&arguments)
        .map_err(|message| TemplateError::new(format!("`{name}`: {message}")))?;
    let value = Value::from_json(result);
    let mut bytes_left = FOREIGN_BYTES_MAX;
    print::to_json(&value, &mut bytes_left)?;
    budget.allocate(FOREIGN_BYTES_MAX - bytes_left)?;
    match value {
        Value::Undefined(_) => Err(wanted("a value", &value)),
        value => Ok(value),
    }
}

/// How much may be handed to a function of the embedder, and back, at once.
const FOREIGN_BYTES_MAX: usize = 4 * 1024 * 1024;
