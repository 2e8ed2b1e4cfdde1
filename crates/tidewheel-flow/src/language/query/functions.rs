//! The functions of JMESPath.
//!
//! They take values of certain types only; a wrong one is an error.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::QueryError;
use super::parser::{Kind, Part};
use super::search::{self, Budget, equal, float, integer, order};

type Found<'a> = Result<Cow<'a, Value>, QueryError>;
type Run = fn(&mut Budget, &[Cow<'_, Value>]) -> Result<Value, QueryError>;

/// A function by its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function {
    name: &'static str,
    arguments_min: usize,
    arguments_max: usize,
    work: Work,
}

#[derive(Debug, Clone, Copy)]
enum Work {
    /// Of its arguments alone.
    Plain(Run),
    /// Of a list, with a query for each of its values: `sort_by(list, &query)`.
    By(By),
    /// `map(&query, list)`
    Map,
}

#[derive(Debug, Clone, Copy)]
enum By {
    Max,
    Min,
    Sort,
}

/// The function of that name.
pub(super) fn find(name: &str) -> Option<Function> {
    FUNCTIONS.iter().find(|function| function.name == name).copied()
}

const ANY: usize = usize::MAX;

const fn plain(name: &'static str, min: usize, max: usize, run: Run) -> Function {
    Function { name, arguments_min: min, arguments_max: max, work: Work::Plain(run) }
}

const fn by(name: &'static str, by: By) -> Function {
    Function { name, arguments_min: 2, arguments_max: 2, work: Work::By(by) }
}

const FUNCTIONS: &[Function] = &[
    plain("abs", 1, 1, abs),
    plain("avg", 1, 1, avg),
    plain("ceil", 1, 1, ceil),
    plain("contains", 2, 2, contains),
    plain("ends_with", 2, 2, |_, given| {
        Ok(Value::Bool(text(&given[0])?.ends_with(text(&given[1])?)))
    }),
    plain("floor", 1, 1, floor),
    plain("join", 2, 2, join),
    plain("keys", 1, 1, keys),
    plain("length", 1, 1, length),
    Function { name: "map", arguments_min: 2, arguments_max: 2, work: Work::Map },
    plain("max", 1, 1, |budget, given| extreme(budget, &given[0], Ordering::Greater)),
    by("max_by", By::Max),
    plain("merge", 1, ANY, merge),
    plain("min", 1, 1, |budget, given| extreme(budget, &given[0], Ordering::Less)),
    by("min_by", By::Min),
    plain("not_null", 1, ANY, |budget, given| {
        let found = given.iter().find(|value| !value.is_null());
        found.map_or(Ok(Value::Null), |value| budget.owned(value.clone()))
    }),
    plain("reverse", 1, 1, reverse),
    plain("sort", 1, 1, sort),
    by("sort_by", By::Sort),
    plain("starts_with", 2, 2, |_, given| {
        Ok(Value::Bool(text(&given[0])?.starts_with(text(&given[1])?)))
    }),
    plain("sum", 1, 1, sum),
    plain("to_array", 1, 1, |budget, given| {
        let value = budget.owned(given[0].clone())?;
        Ok(if value.is_array() { value } else { Value::Array(vec![value]) })
    }),
    plain("to_number", 1, 1, to_number),
    plain("to_string", 1, 1, to_string),
    plain("type", 1, 1, |_, given| Ok(Value::from(type_of(&given[0])))),
    plain("values", 1, 1, values),
];

impl Function {
    /// Refuses a call with too few or too many arguments.
    pub(super) fn check_count(&self, count: usize) -> Result<(), QueryError> {
        if (self.arguments_min..=self.arguments_max).contains(&count) {
            return Ok(());
        }
        let wanted = match (self.arguments_min, self.arguments_max) {
            (1, 1) => "one argument".to_owned(),
            (min, ANY) => format!("at least {min} arguments"),
            (min, _) => format!("{min} arguments"),
        };
        Err(QueryError::new(format!("`{}` takes {wanted}, not {count}", self.name)))
    }

    pub(super) fn call<'a>(
        &self,
        budget: &mut Budget,
        arguments: &'a [Part],
        value: &'a Value,
    ) -> Found<'a> {
        let result = match (self.work, arguments) {
            (Work::By(by), [list, query]) => {
                let list = search::find(budget, list, value)?;
                sorted_by(budget, by, array(&list)?, query_of(query)?)
            }
            (Work::Map, [query, list]) => {
                let list = search::find(budget, list, value)?;
                mapped(budget, query_of(query)?, array(&list)?)
            }
            (Work::Plain(run), arguments) => {
                let mut given = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    given.push(search::find(budget, argument, value)?);
                }
                run(budget, &given)
            }
            _ => return self.check_count(arguments.len()).map(|()| Cow::Owned(Value::Null)),
        };
        result.map(Cow::Owned).map_err(|mut error| {
            if !error.message.starts_with('`') {
                error.message = format!("`{}`: {}", self.name, error.message);
            }
            error
        })
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn wanted(what: &str, found: &Value) -> QueryError {
    QueryError::new(format!("{what} is needed, not of type {}", type_of(found)))
}

fn text(value: &Value) -> Result<&str, QueryError> {
    value.as_str().ok_or_else(|| wanted("a string", value))
}

fn number(value: &Value) -> Result<&Number, QueryError> {
    value.as_number().ok_or_else(|| wanted("a number", value))
}

fn array(value: &Value) -> Result<&Vec<Value>, QueryError> {
    value.as_array().ok_or_else(|| wanted("an array", value))
}

fn object(value: &Value) -> Result<&Map<String, Value>, QueryError> {
    value.as_object().ok_or_else(|| wanted("an object", value))
}

fn query_of(part: &Part) -> Result<&Part, QueryError> {
    match &part.kind {
        Kind::Expression(query) => Ok(query),
        _ => Err(QueryError::new("a query with `&` before it is needed").at(part.offset)),
    }
}

/// A number of JSON: an integer where it is one and has room.
fn number_of(float: f64) -> Value {
    let is_whole = float.fract() == 0.0 && float.abs() < 9e15;
    if is_whole { Value::from(float as i64) } else { Value::from(float) }
}

fn whole(integer: i128) -> Value {
    match (i64::try_from(integer), u64::try_from(integer)) {
        (Ok(integer), _) => Value::from(integer),
        (_, Ok(integer)) => Value::from(integer),
        _ => Value::from(integer as f64),
    }
}

fn abs(_: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let number = number(&given[0])?;
    Ok(integer(number).map_or_else(|| Value::from(float(number).abs()), |i| whole(i.abs())))
}

fn ceil(_: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let number = number(&given[0])?;
    Ok(integer(number).map_or_else(|| number_of(float(number).ceil()), whole))
}

fn floor(_: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let number = number(&given[0])?;
    Ok(integer(number).map_or_else(|| number_of(float(number).floor()), whole))
}

fn sum(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let values = array(&given[0])?;
    budget.spend(values.len())?;
    let mut integers = Some(0_i128);
    let mut floats = 0.0;
    for value in values {
        let number = number(value)?;
        integers = integers.zip(integer(number)).and_then(|(sum, more)| sum.checked_add(more));
        floats += float(number);
    }
    Ok(integers.map_or_else(|| Value::from(floats), whole))
}

fn avg(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let values = array(&given[0])?;
    budget.spend(values.len())?;
    if values.is_empty() {
        return Ok(Value::Null);
    }
    let mut sum = 0.0;
    for value in values {
        sum += float(number(value)?);
    }
    Ok(Value::from(sum / values.len() as f64))
}

fn contains(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    match &*given[0] {
        Value::String(text) => {
            budget.spend(text.len() / 64)?;
            Ok(Value::Bool(given[1].as_str().is_some_and(|part| text.contains(part))))
        }
        Value::Array(values) => {
            for value in values {
                if equal(budget, value, &given[1])? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        other => Err(wanted("an array or a string", other)),
    }
}

fn join(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let glue = text(&given[0])?;
    let mut joined = String::new();
    for (index, value) in array(&given[1])?.iter().enumerate() {
        let value = text(value)?;
        budget.spend(1)?;
        budget.allocate(glue.len() + value.len())?;
        if index > 0 {
            joined.push_str(glue);
        }
        joined.push_str(value);
    }
    Ok(Value::String(joined))
}

fn keys(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let mut keys = Vec::new();
    for key in object(&given[0])?.keys() {
        keys.push(budget.text(key.clone())?.into_owned());
    }
    Ok(Value::Array(keys))
}

fn values(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let values = object(&given[0])?.values();
    values
        .map(|value| budget.owned(Cow::Borrowed(value)))
        .collect::<Result<_, _>>()
        .map(Value::Array)
}

fn length(_: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    Ok(Value::from(match &*given[0] {
        Value::String(text) => text.chars().count(),
        Value::Array(values) => values.len(),
        Value::Object(entries) => entries.len(),
        other => return Err(wanted("an array, an object or a string", other)),
    }))
}

fn reverse(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    match &*given[0] {
        Value::String(text) => budget.text(text.chars().rev().collect()).map(Cow::into_owned),
        Value::Array(values) => {
            let values = values.iter().rev().map(|value| budget.owned(Cow::Borrowed(value)));
            values.collect::<Result<_, _>>().map(Value::Array)
        }
        other => Err(wanted("an array or a string", other)),
    }
}

fn merge(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let mut merged = Map::new();
    for value in given {
        for (key, value) in object(value)? {
            budget.allocate(key.len())?;
            merged.insert(key.clone(), budget.owned(Cow::Borrowed(value))?);
        }
    }
    Ok(Value::Object(merged))
}

fn to_number(_: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    Ok(match &*given[0] {
        Value::Number(number) => Value::Number(number.clone()),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => Value::Null,
        },
        _ => Value::Null,
    })
}

fn to_string(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    match &*given[0] {
        Value::String(text) => budget.text(text.clone()).map(Cow::into_owned),
        other => {
            // Pays for a copy, which is about as long; the rest is paid with the text.
            budget.owned(Cow::Borrowed(other))?;
            budget.text(other.to_string()).map(Cow::into_owned)
        }
    }
}

fn mapped(budget: &mut Budget, query: &Part, values: &[Value]) -> Result<Value, QueryError> {
    let mut mapped = Vec::new();
    for value in values {
        let found = search::find(budget, query, value)?;
        mapped.push(budget.owned(found)?);
    }
    Ok(Value::Array(mapped))
}

/// Compares two keys, which are both numbers or both strings.
fn order_keys(budget: &mut Budget, left: &Value, right: &Value) -> Result<Ordering, QueryError> {
    budget.spend(1)?;
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Ok(order(left, right)),
        (Value::String(left), Value::String(right)) => {
            budget.spend(left.len().min(right.len()) / 64)?;
            Ok(left.cmp(right))
        }
        _ => Err(QueryError::new("all values have to be numbers, or all strings")),
    }
}

/// Refuses keys that cannot be compared, also where there is only one.
fn check_keys<'a>(keys: impl Iterator<Item = &'a Value>) -> Result<(), QueryError> {
    let mut first = None;
    for key in keys {
        if !key.is_number() && !key.is_string() {
            return Err(wanted("a number or a string", key));
        }
        if first.get_or_insert(type_of(key)) != &type_of(key) {
            return Err(QueryError::new("all values have to be numbers, or all strings"));
        }
    }
    Ok(())
}

fn extreme(budget: &mut Budget, list: &Value, wanted: Ordering) -> Result<Value, QueryError> {
    let values = array(list)?;
    check_keys(values.iter())?;
    let mut best: Option<&Value> = None;
    for value in values {
        best = match best {
            Some(best) if order_keys(budget, value, best)? != wanted => Some(best),
            _ => Some(value),
        };
    }
    best.map_or(Ok(Value::Null), |best| budget.owned(Cow::Borrowed(best)))
}

fn sort(budget: &mut Budget, given: &[Cow<'_, Value>]) -> Result<Value, QueryError> {
    let values = array(&given[0])?;
    check_keys(values.iter())?;
    let mut sorted = Vec::new();
    for value in values {
        sorted.push(budget.owned(Cow::Borrowed(value))?);
    }
    sort_values(budget, &mut sorted, |value| value)?;
    Ok(Value::Array(sorted))
}

fn sort_values<T>(
    budget: &mut Budget,
    values: &mut [T],
    key: fn(&T) -> &Value,
) -> Result<(), QueryError> {
    let mut fault = None;
    values.sort_by(|left, right| {
        if fault.is_some() {
            return Ordering::Equal;
        }
        order_keys(budget, key(left), key(right)).unwrap_or_else(|error| {
            fault = Some(error);
            Ordering::Equal
        })
    });
    fault.map_or(Ok(()), Err)
}

fn sorted_by(
    budget: &mut Budget,
    by: By,
    values: &[Value],
    query: &Part,
) -> Result<Value, QueryError> {
    let mut keyed = Vec::new();
    for value in values {
        let key = search::find(budget, query, value)?;
        keyed.push((budget.owned(key)?, value));
    }
    check_keys(keyed.iter().map(|(key, _)| key))?;
    if let By::Sort = by {
        sort_values(budget, &mut keyed, |(key, _)| key)?;
        let values = keyed.into_iter().map(|(_, value)| budget.owned(Cow::Borrowed(value)));
        return values.collect::<Result<_, _>>().map(Value::Array);
    }
    let wanted = if let By::Max = by { Ordering::Greater } else { Ordering::Less };
    let mut best: Option<&(Value, &Value)> = None;
    for pair in &keyed {
        best = match best {
            Some(best) if order_keys(budget, &pair.0, &best.0)? != wanted => Some(best),
            _ => Some(pair),
        };
    }
    best.map_or(Ok(Value::Null), |(_, value)| budget.owned(Cow::Borrowed(value)))
}
