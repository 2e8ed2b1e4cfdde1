//! The tests behind `is`.
//!
//! Filters are in [`super::filters`].

use super::arguments::{self, Given};
use super::budget::Budget;
use super::error::TemplateError;
use super::expression::Comparison;
use super::operators;
use super::value::Value;

/// A test by its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) takes_argument: bool,
    /// Whether it asks about something that may not be there.
    pub(super) takes_undefined: bool,
    run: fn(&mut Budget, &Value, Given) -> Result<bool, TemplateError>,
}

impl Check {
    pub(super) fn run(
        &self,
        budget: &mut Budget,
        value: &Value,
        given: Given,
    ) -> Result<bool, TemplateError> {
        budget.spend(1)?;
        (self.run)(budget, value, given).map_err(|mut error| {
            if !error.is_limit && error.undefined.is_none() {
                error.message = format!("the test `{}`: {}", self.name, error.message);
            }
            error
        })
    }
}

/// The test of that name.
pub(super) fn find(name: &str) -> Option<Check> {
    CHECKS.iter().find(|check| check.name == name).copied()
}

/// All names, for messages.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.name)
}

type Run = fn(&mut Budget, &Value, Given) -> Result<bool, TemplateError>;

const fn plain(name: &'static str, run: Run) -> Check {
    Check { name, takes_argument: false, takes_undefined: false, run }
}

const fn about(name: &'static str, run: Run) -> Check {
    Check { name, takes_argument: false, takes_undefined: true, run }
}

const fn with(name: &'static str, run: Run) -> Check {
    Check { name, takes_argument: true, takes_undefined: false, run }
}

const CHECKS: &[Check] = &[
    about("defined", |_, value, given| none(given, !value.is_undefined())),
    about("undefined", |_, value, given| none(given, value.is_undefined())),
    plain("none", |_, value, given| none(given, matches!(value, Value::Null))),
    plain("boolean", |_, value, given| none(given, matches!(value, Value::Bool(_)))),
    plain("true", |_, value, given| none(given, matches!(value, Value::Bool(true)))),
    plain("false", |_, value, given| none(given, matches!(value, Value::Bool(false)))),
    plain("integer", |_, value, given| none(given, matches!(value, Value::Integer(_)))),
    plain("float", |_, value, given| none(given, matches!(value, Value::Float(_)))),
    plain("number", |_, value, given| {
        none(given, matches!(value, Value::Integer(_) | Value::Float(_)))
    }),
    plain("string", |_, value, given| none(given, matches!(value, Value::Text(_)))),
    plain("mapping", |_, value, given| {
        none(given, matches!(value, Value::Map(_) | Value::Lookup(_)))
    }),
    plain("sequence", |_, value, given| none(given, is_iterable(value))),
    plain("iterable", |_, value, given| none(given, is_iterable(value))),
    plain("odd", |_, value, given| none(given, integer(value)? % 2 != 0)),
    plain("even", |_, value, given| none(given, integer(value)? % 2 == 0)),
    plain("lower", |budget, value, given| {
        none(given, text(budget, value)?.chars().all(|letter| !letter.is_uppercase()))
    }),
    plain("upper", |budget, value, given| {
        none(given, text(budget, value)?.chars().all(|letter| !letter.is_lowercase()))
    }),
    with("divisibleby", |_, value, given| {
        let [by] = given.bind(["num"])?;
        let by = arguments::integer(by, 0)?;
        if by == 0 {
            return Err(TemplateError::new("a division by zero"));
        }
        Ok(integer(value)?.checked_rem(by).unwrap_or(0) == 0)
    }),
    with("startingwith", |budget, value, given| {
        let [start] = given.bind(["start"])?;
        Ok(text(budget, value)?.starts_with(&*arguments::required_text(start, "start")?))
    }),
    with("endingwith", |budget, value, given| {
        let [end] = given.bind(["end"])?;
        Ok(text(budget, value)?.ends_with(&*arguments::required_text(end, "end")?))
    }),
    with("in", |budget, value, given| compared(budget, Comparison::In, value, given)),
    with("sameas", |budget, value, given| compared(budget, Comparison::Equal, value, given)),
    with("eq", |budget, value, given| compared(budget, Comparison::Equal, value, given)),
    with("equalto", |budget, value, given| compared(budget, Comparison::Equal, value, given)),
    with("==", |budget, value, given| compared(budget, Comparison::Equal, value, given)),
    with("ne", |budget, value, given| compared(budget, Comparison::Unequal, value, given)),
    with("!=", |budget, value, given| compared(budget, Comparison::Unequal, value, given)),
    with("lt", |budget, value, given| compared(budget, Comparison::Less, value, given)),
    with("lessthan", |budget, value, given| compared(budget, Comparison::Less, value, given)),
    with("<", |budget, value, given| compared(budget, Comparison::Less, value, given)),
    with("le", |budget, value, given| compared(budget, Comparison::LessOrEqual, value, given)),
    with("<=", |budget, value, given| compared(budget, Comparison::LessOrEqual, value, given)),
    with("gt", |budget, value, given| compared(budget, Comparison::Greater, value, given)),
    with("greaterthan", |budget, value, given| compared(budget, Comparison::Greater, value, given)),
    with(">", |budget, value, given| compared(budget, Comparison::Greater, value, given)),
    with("ge", |budget, value, given| compared(budget, Comparison::GreaterOrEqual, value, given)),
    with(">=", |budget, value, given| compared(budget, Comparison::GreaterOrEqual, value, given)),
];

fn none(given: Given, answer: bool) -> Result<bool, TemplateError> {
    let [] = given.bind([])?;
    Ok(answer)
}

fn is_iterable(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Text(_) | Value::Map(_) | Value::Lookup(_))
}

fn integer(value: &Value) -> Result<i128, TemplateError> {
    match value {
        Value::Integer(integer) => Ok(*integer),
        other => Err(arguments::wanted("an integer", other)),
    }
}

fn text<'a>(budget: &mut Budget, value: &'a Value) -> Result<&'a str, TemplateError> {
    budget.read(value.weight())?;
    value.as_text().map(|text| &**text).ok_or_else(|| arguments::wanted("a text", value))
}

fn compared(
    budget: &mut Budget,
    comparison: Comparison,
    value: &Value,
    given: Given,
) -> Result<bool, TemplateError> {
    let [other] = given.bind(["other"])?;
    operators::compare(budget, comparison, value, &arguments::required(other, "other")?)
}
