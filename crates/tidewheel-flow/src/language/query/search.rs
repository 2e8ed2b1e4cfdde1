//! Works out what a query finds.
//!
//! Functions are in [`super::functions`].

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::QueryError;
use super::parser::{Kind, Part};

/// How many values a search may look at.
const OPERATIONS_MAX: usize = 1_000_000;
/// How much a search may build, counting what it drops again.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// How deep what is found may nest; JSON is read up to 128.
const NESTING_MAX: usize = 140;

pub(super) fn search(part: &Part, value: &Value) -> Result<Value, QueryError> {
    let mut budget = Budget { operations_left: OPERATIONS_MAX, bytes_left: BYTES_MAX };
    let found = find(&mut budget, part, value)?;
    budget.owned(found)
}

/// What is left of what a search may do.
pub(super) struct Budget {
    operations_left: usize,
    bytes_left: usize,
}

impl Budget {
    /// Pays for looking at so many values.
    pub(super) fn spend(&mut self, operations: usize) -> Result<(), QueryError> {
        self.operations_left = self
            .operations_left
            .checked_sub(operations)
            .ok_or_else(|| QueryError::new("the query takes too many operations"))?;
        Ok(())
    }

    /// Pays for memory.
    pub(super) fn allocate(&mut self, bytes: usize) -> Result<(), QueryError> {
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| QueryError::new("the query builds too much"))?;
        Ok(())
    }

    /// Pays for a copy of a value.
    fn pay(&mut self, value: &Value, nesting: usize) -> Result<(), QueryError> {
        self.spend(1)?;
        if nesting > NESTING_MAX {
            return Err(QueryError::new("what the query finds nests too deeply"));
        }
        self.allocate(size_of::<Value>())?;
        match value {
            Value::String(text) => self.allocate(text.len()),
            Value::Array(values) => {
                values.iter().try_for_each(|value| self.pay(value, nesting + 1))
            }
            Value::Object(entries) => entries.iter().try_for_each(|(key, value)| {
                self.allocate(key.len() + size_of::<Value>())?;
                self.pay(value, nesting + 1)
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn owned(&mut self, value: Cow<'_, Value>) -> Result<Value, QueryError> {
        // What is owned was paid for, but not yet looked at for its depth.
        self.pay(&value, 0)?;
        Ok(value.into_owned())
    }

    pub(super) fn text<'a>(&mut self, text: String) -> Result<Cow<'a, Value>, QueryError> {
        self.allocate(text.len())?;
        Ok(Cow::Owned(Value::String(text)))
    }
}

/// What a query finds in a value.
pub(super) fn find<'a>(
    budget: &mut Budget,
    part: &'a Part,
    value: &'a Value,
) -> Result<Cow<'a, Value>, QueryError> {
    budget.spend(1)?;
    let found = match &part.kind {
        Kind::Current => Cow::Borrowed(value),
        Kind::Field(name) => value.get(name).map_or(NULL, Cow::Borrowed),
        Kind::Literal(literal) => Cow::Borrowed(literal),
        Kind::Index(index) => at(value, *index).map_or(NULL, Cow::Borrowed),
        Kind::Slice(bounds) => slice(budget, value, bounds)?,
        Kind::Chain(parts) => {
            let found = find(budget, &parts[0], value)?;
            find_in(budget, &parts[1], found)?
        }
        Kind::Each(parts) => {
            let list = find(budget, &parts[0], value)?;
            let Value::Array(values) = &*list else { return Ok(NULL) };
            each(budget, values.iter(), &parts[1], None)?
        }
        Kind::EachValue(parts) => {
            let map = find(budget, &parts[0], value)?;
            let Value::Object(entries) = &*map else { return Ok(NULL) };
            each(budget, entries.values(), &parts[1], None)?
        }
        Kind::Filter(parts) => {
            let list = find(budget, &parts[0], value)?;
            let Value::Array(values) = &*list else { return Ok(NULL) };
            each(budget, values.iter(), &parts[2], Some(&parts[1]))?
        }
        Kind::Flatten(part) => flatten(budget, part, value)?,
        Kind::Or(parts) => {
            let left = find(budget, &parts[0], value)?;
            if is_true(&left) { left } else { find(budget, &parts[1], value)? }
        }
        Kind::And(parts) => {
            let left = find(budget, &parts[0], value)?;
            if is_true(&left) { find(budget, &parts[1], value)? } else { left }
        }
        Kind::Not(part) => Cow::Owned(Value::Bool(!is_true(&*find(budget, part, value)?))),
        Kind::Compare(sign, parts) => {
            let left = find(budget, &parts[0], value)?;
            let right = find(budget, &parts[1], value)?;
            Cow::Owned(compare(budget, sign, &left, &right)?)
        }
        Kind::List(_) | Kind::Map(_) if value.is_null() => NULL,
        Kind::List(parts) => {
            let mut values = Vec::with_capacity(parts.len());
            for part in parts {
                let found = find(budget, part, value)?;
                values.push(budget.owned(found)?);
            }
            Cow::Owned(Value::Array(values))
        }
        Kind::Map(entries) => {
            let mut map = Map::new();
            for (key, part) in entries {
                let found = find(budget, part, value)?;
                map.insert(key.clone(), budget.owned(found)?);
            }
            Cow::Owned(Value::Object(map))
        }
        Kind::Call(function, arguments) => {
            function.call(budget, arguments, value).map_err(|error| error.at(part.offset))?
        }
        Kind::Expression(_) => {
            let message = "`&` makes sense only as an argument of a function that takes a query";
            return Err(QueryError::new(message).at(part.offset));
        }
    };
    Ok(found)
}

const NULL: Cow<'static, Value> = Cow::Owned(Value::Null);

/// What a query finds in what another has found.
fn find_in<'a>(
    budget: &mut Budget,
    part: &'a Part,
    value: Cow<'a, Value>,
) -> Result<Cow<'a, Value>, QueryError> {
    match value {
        Cow::Borrowed(value) => find(budget, part, value),
        Cow::Owned(value) => {
            let found = find(budget, part, &value)?;
            budget.owned(found).map(Cow::Owned)
        }
    }
}

/// What a query finds in each value, where it finds something.
fn each<'a, 'v>(
    budget: &mut Budget,
    values: impl Iterator<Item = &'v Value>,
    part: &Part,
    condition: Option<&Part>,
) -> Result<Cow<'a, Value>, QueryError> {
    let mut found = Vec::new();
    for value in values {
        if let Some(condition) = condition
            && !is_true(&*find(budget, condition, value)?)
        {
            continue;
        }
        let part = find(budget, part, value)?;
        if !part.is_null() {
            found.push(budget.owned(part)?);
        }
    }
    Ok(Cow::Owned(Value::Array(found)))
}

fn flatten<'a>(
    budget: &mut Budget,
    part: &'a Part,
    value: &'a Value,
) -> Result<Cow<'a, Value>, QueryError> {
    let list = find(budget, part, value)?;
    let Value::Array(values) = &*list else { return Ok(NULL) };
    let mut flat = Vec::new();
    for value in values {
        match value {
            Value::Array(inner) => {
                for value in inner {
                    flat.push(budget.owned(Cow::Borrowed(value))?);
                }
            }
            value => flat.push(budget.owned(Cow::Borrowed(value))?),
        }
    }
    Ok(Cow::Owned(Value::Array(flat)))
}

fn at(value: &Value, index: i64) -> Option<&Value> {
    let values = value.as_array()?;
    let index = if index < 0 { index.checked_add_unsigned(values.len() as u64)? } else { index };
    values.get(usize::try_from(index).ok()?)
}

fn slice<'a>(
    budget: &mut Budget,
    value: &'a Value,
    bounds: &[Option<i64>; 3],
) -> Result<Cow<'a, Value>, QueryError> {
    let Value::Array(values) = value else { return Ok(NULL) };
    let length = i64::try_from(values.len()).unwrap_or(i64::MAX);
    let [start, stop, step] = *bounds;
    let step = step.unwrap_or(1);
    let (lowest, highest) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |bound: Option<i64>, default| match bound {
        None => default,
        Some(bound) if bound < 0 => bound.saturating_add(length).clamp(lowest, highest),
        Some(bound) => bound.clamp(lowest, highest),
    };
    let mut at = bound(start, if step > 0 { lowest } else { highest });
    let stop = bound(stop, if step > 0 { highest } else { lowest });
    let mut found = Vec::new();
    while if step > 0 { at < stop } else { at > stop } {
        if let Some(value) = usize::try_from(at).ok().and_then(|at| values.get(at)) {
            found.push(budget.owned(Cow::Borrowed(value))?);
        }
        at = at.saturating_add(step);
    }
    Ok(Cow::Owned(Value::Array(found)))
}

/// Everything is taken for true but false, null and what is empty; zero is true.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(bool) => *bool,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
    }
}

/// Only numbers have an order; what has none compares to null.
fn compare(
    budget: &mut Budget,
    sign: &str,
    left: &Value,
    right: &Value,
) -> Result<Value, QueryError> {
    match sign {
        "==" => return equal(budget, left, right).map(Value::Bool),
        "!=" => return equal(budget, left, right).map(|is_equal| Value::Bool(!is_equal)),
        _ => {}
    }
    let (Value::Number(left), Value::Number(right)) = (left, right) else {
        return Ok(Value::Null);
    };
    let order = order(left, right);
    Ok(Value::Bool(match sign {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }))
}

/// Which number is larger: integers exactly, others as floats.
pub(super) fn order(left: &Number, right: &Number) -> std::cmp::Ordering {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => float(left).total_cmp(&float(right)),
    }
}

pub(super) fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

pub(super) fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Whether two values are the same; `1` and `1.0` are.
pub(super) fn equal(budget: &mut Budget, left: &Value, right: &Value) -> Result<bool, QueryError> {
    budget.spend(1)?;
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Ok(order(left, right).is_eq()),
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (left, right) in left.iter().zip(right) {
                if !equal(budget, left, right)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
            for (key, left) in left {
                match right.get(key) {
                    Some(right) if equal(budget, left, right)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Value::String(left), Value::String(right)) => {
            budget.spend(left.len().min(right.len()) / 64)?;
            Ok(left == right)
        }
        (left, right) => Ok(left == right),
    }
}
