//! Arithmetic, comparison and slices, with their cost paid before they are done.
//!
//! As in Python, and so in Jinja: `/` gives a float, `//` and `%` round down.

use std::cmp::Ordering;

use super::arguments::Given;
use super::budget::Budget;
use super::error::TemplateError;
use super::expression::{Comparison, Operator};
use super::filters;
use super::print;
use super::value::Value;

/// Works out `left operator right`.
pub(super) fn binary(
    budget: &mut Budget,
    operator: Operator,
    left: &Value,
    right: &Value,
) -> Result<Value, TemplateError> {
    match (operator, left, right) {
        (Operator::Join, _, _) => {
            let mut text = print::to_text(budget, left)?;
            print::write_text(budget, &mut text, right)?;
            Ok(Value::Text(text.into()))
        }
        (_, Value::Integer(left), Value::Integer(right)) => integers(operator, *left, *right),
        (_, Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
            floats(operator, as_float(left), as_float(right))
        }
        (Operator::Add, Value::Text(left), Value::Text(right)) => {
            budget.allocate(left.len().saturating_add(right.len()))?;
            Ok(Value::Text([&**left, &**right].concat().into()))
        }
        (Operator::Add, Value::List(left), Value::List(right)) => {
            budget.foresee_values(left.values.len().saturating_add(right.values.len()))?;
            budget.list([&left.values[..], &right.values[..]].concat())
        }
        (
            Operator::Multiply,
            repeated @ (Value::Text(_) | Value::List(_)),
            Value::Integer(times),
        )
        | (
            Operator::Multiply,
            Value::Integer(times),
            repeated @ (Value::Text(_) | Value::List(_)),
        ) => repeat(budget, repeated, *times),
        (Operator::Remainder, Value::Text(_), _) => fill_in(budget, left, right),
        (Operator::Add, Value::Text(_), _) | (Operator::Add, _, Value::Text(_)) => {
            Err(unfit(operator, left, right).with_hint("`~` joins anything as text"))
        }
        _ => Err(unfit(operator, left, right)),
    }
}

/// `'%s of %s' % (1, 2)`: the same as the filter `format`.
fn fill_in(budget: &mut Budget, pattern: &Value, with: &Value) -> Result<Value, TemplateError> {
    let mut given = Given::default();
    match with {
        Value::List(list) => given.positional.clone_from(&list.values),
        Value::Map(map) => given.named = map.iter().cloned().collect(),
        other => given.positional.push(other.clone()),
    }
    budget.read(with.weight())?;
    filters::format(budget, pattern, given)
}

fn unfit(operator: Operator, left: &Value, right: &Value) -> TemplateError {
    let sign = sign(operator);
    TemplateError::new(format!("`{sign}` does not work with {} and {}", left.kind(), right.kind()))
}

fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::DivideWhole => "//",
        Operator::Remainder => "%",
        Operator::Power => "**",
        Operator::Join => "~",
    }
}

fn integers(operator: Operator, left: i128, right: i128) -> Result<Value, TemplateError> {
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Power if right >= 0 => {
            u32::try_from(right).ok().and_then(|power| left.checked_pow(power))
        }
        Operator::Divide | Operator::Power => {
            return floats(operator, left as f64, right as f64);
        }
        _ if right == 0 => return Err(by_zero()),
        Operator::DivideWhole => left.checked_div_euclid(right).map(|quotient| {
            // Euclid rounds away from zero where the divisor is negative.
            let is_rounded = right < 0 && left.rem_euclid(right) != 0;
            quotient - i128::from(is_rounded)
        }),
        _ => left
            .checked_rem_euclid(right)
            .map(|rest| if right < 0 && rest != 0 { rest + right } else { rest }),
    };
    result.map(Value::Integer).ok_or_else(|| TemplateError::new("the result has too many digits"))
}

fn floats(operator: Operator, left: f64, right: f64) -> Result<Value, TemplateError> {
    if right == 0.0
        && matches!(operator, Operator::Divide | Operator::DivideWhole | Operator::Remainder)
    {
        return Err(by_zero());
    }
    let rest = || {
        let rest = left % right;
        if rest != 0.0 && (rest < 0.0) != (right < 0.0) { rest + right } else { rest }
    };
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::DivideWhole => (left / right).floor(),
        Operator::Remainder => rest(),
        Operator::Power | Operator::Join => left.powf(right),
    };
    if result.is_finite() {
        return Ok(Value::Float(result));
    }
    Err(TemplateError::new("the result is no finite number"))
}

fn by_zero() -> TemplateError {
    TemplateError::new("a division by zero")
}

fn as_float(value: &Value) -> f64 {
    match value {
        Value::Integer(integer) => *integer as f64,
        Value::Float(float) => *float,
        _ => f64::NAN,
    }
}

fn repeat(budget: &mut Budget, repeated: &Value, times: i128) -> Result<Value, TemplateError> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    match repeated {
        Value::Text(text) => {
            budget.allocate(text.len().saturating_mul(times))?;
            Ok(Value::Text(text.repeat(times).into()))
        }
        Value::List(list) => {
            budget.foresee_values(list.values.len().saturating_mul(times))?;
            // Nothing, however often: without this an empty list would be gone over for ages.
            let times = if list.values.is_empty() { 0 } else { times };
            budget
                .list(list.values.iter().cycle().take(list.values.len() * times).cloned().collect())
        }
        other => Err(TemplateError::new(format!("{} cannot be repeated", other.kind()))),
    }
}

/// `-value`.
pub(super) fn negative(value: &Value) -> Result<Value, TemplateError> {
    match value {
        Value::Integer(integer) => integers(Operator::Subtract, 0, *integer),
        Value::Float(float) => Ok(Value::Float(-float)),
        other => Err(TemplateError::new(format!("`-` does not work with {}", other.kind()))),
    }
}

/// Works out `left comparison right`.
pub(super) fn compare(
    budget: &mut Budget,
    comparison: Comparison,
    left: &Value,
    right: &Value,
) -> Result<bool, TemplateError> {
    Ok(match comparison {
        Comparison::Equal => equal(budget, left, right)?,
        Comparison::Unequal => !equal(budget, left, right)?,
        Comparison::Less => order(budget, left, right)?.is_lt(),
        Comparison::LessOrEqual => order(budget, left, right)?.is_le(),
        Comparison::Greater => order(budget, left, right)?.is_gt(),
        Comparison::GreaterOrEqual => order(budget, left, right)?.is_ge(),
        Comparison::In => contains(budget, right, left)?,
        Comparison::NotIn => !contains(budget, right, left)?,
    })
}

/// Whether two values are the same; maps may have their keys in any order.
pub(super) fn equal(
    budget: &mut Budget,
    left: &Value,
    right: &Value,
) -> Result<bool, TemplateError> {
    budget.spend(1)?;
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => {
            budget.read(left.len().min(right.len()))?;
            left == right
        }
        (Value::Integer(left), Value::Integer(right)) => left == right,
        (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
            as_float(left) == as_float(right)
        }
        (Value::List(left), Value::List(right)) => {
            if left.values.len() != right.values.len() {
                return Ok(false);
            }
            for (left, right) in left.values.iter().zip(&right.values) {
                if !equal(budget, left, right)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(_) | Value::Lookup(_), Value::Map(_) | Value::Lookup(_)) => {
            if budget.length(left)? != budget.length(right)? {
                return Ok(false);
            }
            for (key, value) in left.entries()? {
                match right.member(&Value::Text(key)) {
                    Some(other) if equal(budget, &value, &other)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        _ => false,
    })
}

/// Which comes first; only likes can be compared.
pub(super) fn order(
    budget: &mut Budget,
    left: &Value,
    right: &Value,
) -> Result<Ordering, TemplateError> {
    budget.spend(1)?;
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Ok(left.cmp(right)),
        (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
            Ok(as_float(left).total_cmp(&as_float(right)))
        }
        (Value::Text(left), Value::Text(right)) => {
            budget.read(left.len().min(right.len()))?;
            Ok(left.cmp(right))
        }
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        (Value::List(left), Value::List(right)) => {
            for (left, right) in left.values.iter().zip(&right.values) {
                let ordering = order(budget, left, right)?;
                if ordering.is_ne() {
                    return Ok(ordering);
                }
            }
            Ok(left.values.len().cmp(&right.values.len()))
        }
        _ => Err(TemplateError::new(format!("{} and {} have no order", left.kind(), right.kind()))),
    }
}

/// Whether a list has a value, a map a key, or a text a part.
pub(super) fn contains(
    budget: &mut Budget,
    container: &Value,
    wanted: &Value,
) -> Result<bool, TemplateError> {
    match (container, wanted) {
        (Value::Text(text), Value::Text(part)) => {
            budget.read(text.len())?;
            Ok(text.contains(&**part))
        }
        (Value::List(list), _) => {
            for value in &list.values {
                if equal(budget, value, wanted)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Value::Map(_) | Value::Lookup(_) | Value::Namespace(_), _) => {
            Ok(container.member(wanted).is_some())
        }
        _ => Err(TemplateError::new(format!(
            "`in` does not look for {} in {}",
            wanted.kind(),
            container.kind()
        ))),
    }
}

/// `value[start:stop:step]`.
pub(super) fn slice(
    budget: &mut Budget,
    value: &Value,
    bounds: &[Option<i128>; 3],
) -> Result<Value, TemplateError> {
    budget.read(value.weight())?;
    let length = match value {
        Value::Text(_) | Value::List(_) => value.length()?,
        other => return Err(TemplateError::new(format!("{} cannot be sliced", other.kind()))),
    };
    let (start, stop, step) = bounded(length, bounds)?;
    let places = std::iter::successors(Some(start), |at| Some(at.saturating_add(step)))
        .take_while(|at| if step > 0 { *at < stop } else { *at > stop })
        .filter_map(|at| usize::try_from(at).ok());
    match value {
        Value::Text(text) if step == 1 => {
            let (start, stop) = (start as usize, stop.max(start) as usize);
            budget.allocate(text.len())?;
            Ok(Value::Text(text.chars().skip(start).take(stop - start).collect::<String>().into()))
        }
        Value::Text(text) => {
            budget.allocate(length.saturating_mul(size_of::<char>()))?;
            let letters: Vec<char> = text.chars().collect();
            budget.text(places.map(|at| letters[at]).collect::<String>())
        }
        Value::List(list) => budget.list(places.map(|at| list.values[at].clone()).collect()),
        _ => Ok(Value::Null),
    }
}

/// Where a slice begins, what it ends before, and how it goes on.
fn bounded(length: usize, bounds: &[Option<i128>; 3]) -> Result<(i128, i128, i128), TemplateError> {
    let [start, stop, step] = *bounds;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(TemplateError::new("a slice cannot go on by 0"));
    }
    let length = length as i128;
    let (lowest, highest) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |bound: Option<i128>, default| match bound {
        None => default,
        Some(bound) if bound < 0 => bound.saturating_add(length).clamp(lowest, highest),
        Some(bound) => bound.clamp(lowest, highest),
    };
    let start = bound(start, if step > 0 { lowest } else { highest });
    let stop = bound(stop, if step > 0 { highest } else { lowest });
    Ok((start, stop, step))
}
