//! Filters that look at each value of a list: pick some, or make something of each.
//!
//! A value without the attribute that is asked for is an error, unless a default is given.

use std::sync::Arc;

use super::super::arguments::{Given, flag, required, required_text};
use super::super::budget::Budget;
use super::super::checks;
use super::super::error::TemplateError;
use super::super::operators;
use super::super::value::{Map, Value};
use super::lists::Sorting;

type Outcome = Result<Value, TemplateError>;

/// The part of a value at a path such as `owner.name`, or the value itself.
pub(super) fn attribute(
    budget: &mut Budget,
    value: &Value,
    path: Option<&Value>,
) -> Result<Value, TemplateError> {
    let Some(path) = path.filter(|path| !matches!(path, Value::Null)) else {
        return Ok(value.clone());
    };
    found(budget, value, path)?.ok_or_else(|| {
        let path = path.as_key().unwrap_or_default();
        let mut error = TemplateError::new(format!("a value has no `{path}`"));
        error.undefined = Some(path.to_string());
        error
    })
}

fn found(budget: &mut Budget, value: &Value, path: &Value) -> Result<Option<Value>, TemplateError> {
    budget.spend(1)?;
    let Value::Text(path) = path else { return Ok(value.member(path)) };
    budget.read(path.len())?;
    let mut value = value.clone();
    for part in path.split('.') {
        let key = part.parse().map_or_else(|_| Value::text(part), Value::Integer);
        match value.member(&key) {
            Some(member) => value = member,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// What `select` and its likes do with each value.
struct Picking {
    path: Option<Value>,
    check: Option<checks::Check>,
    arguments: Vec<Value>,
    is_kept: bool,
}

impl Picking {
    fn new(given: Given, has_path: bool, is_kept: bool) -> Result<Self, TemplateError> {
        let Given { positional, named } = given;
        if let Some((name, _)) = named.first() {
            return Err(TemplateError::new(format!("it has no argument `{name}`")));
        }
        let mut positional = positional.into_iter();
        let path = if has_path { Some(required(positional.next(), "attribute")?) } else { None };
        let check = match positional.next() {
            None => None,
            some => {
                let name = required_text(some, "test")?;
                let check = checks::find(&name);
                Some(
                    check
                        .ok_or_else(|| TemplateError::new(format!("there is no test `{name}`")))?,
                )
            }
        };
        Ok(Self { path, check, arguments: positional.collect(), is_kept })
    }

    fn pick(&self, budget: &mut Budget, value: &Value) -> Outcome {
        let mut kept = Vec::new();
        for member in budget.members(value)? {
            if self.holds(budget, &member)? == self.is_kept {
                kept.push(member);
            }
        }
        budget.list(kept)
    }

    fn holds(&self, budget: &mut Budget, member: &Value) -> Result<bool, TemplateError> {
        budget.spend(1)?;
        let takes_undefined = self.check.is_some_and(|check| check.takes_undefined);
        let subject = match &self.path {
            Some(path) if takes_undefined => {
                let found = found(budget, member, path)?;
                found.unwrap_or_else(Value::absent)
            }
            path => attribute(budget, member, path.as_ref())?,
        };
        match self.check {
            None => Ok(subject.is_true()),
            Some(check) => {
                let given = Given { positional: self.arguments.clone(), named: Vec::new() };
                check.run(budget, &subject, given)
            }
        }
    }
}

pub(super) fn select(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    Picking::new(given, false, true)?.pick(budget, value)
}

pub(super) fn reject(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    Picking::new(given, false, false)?.pick(budget, value)
}

pub(super) fn selectattr(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    Picking::new(given, true, true)?.pick(budget, value)
}

pub(super) fn rejectattr(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    Picking::new(given, true, false)?.pick(budget, value)
}

/// `map('upper')` applies a filter to each, `map(attribute='name')` takes a part of each.
pub(super) fn map(budget: &mut Budget, value: &Value, mut given: Given) -> Outcome {
    let members = budget.members(value)?;
    let mut mapped = Vec::with_capacity(members.len());
    if given.positional.is_empty() {
        let [path, default] = given.bind(["attribute", "default"])?;
        let path = required(path, "attribute")?;
        for member in &members {
            mapped.push(match &default {
                Some(default) => found(budget, member, &path)?.unwrap_or_else(|| default.clone()),
                None => attribute(budget, member, Some(&path))?,
            });
        }
        return budget.list(mapped);
    }
    let name = required_text(Some(given.positional.remove(0)), "filter")?;
    let filter = super::find(&name)
        .ok_or_else(|| TemplateError::new(format!("there is no filter `{name}`")))?;
    for member in &members {
        budget.spend(1)?;
        let given = Given { positional: given.positional.clone(), named: given.named.clone() };
        match filter.run(budget, member, given)? {
            Value::Undefined(_) => {
                return Err(TemplateError::new(format!("`{name}` found nothing")));
            }
            value => mapped.push(value),
        }
    }
    budget.list(mapped)
}

/// Groups as maps with `grouper` and `list`, which can be taken apart like pairs.
pub(super) fn groupby(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [path, default, case_sensitive] = given.bind(["attribute", "default", "case_sensitive"])?;
    let path = required(path, "attribute")?;
    let sorting = Sorting { is_case_sensitive: flag(case_sensitive), is_reversed: false };
    let mut keyed = Vec::new();
    for member in budget.members(value)? {
        let key = match &default {
            Some(default) => found(budget, &member, &path)?.unwrap_or_else(|| default.clone()),
            None => attribute(budget, &member, Some(&path))?,
        };
        let pair = budget.list(vec![key.clone(), member])?;
        keyed.push((key, pair));
    }
    sorting.sort(budget, &mut keyed)?;
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for (key, pair) in keyed {
        let Value::List(pair) = pair else { continue };
        let member = pair.values[1].clone();
        match groups.last_mut() {
            Some((known, _, members)) if operators::equal(budget, known, &key)? => {
                members.push(member);
            }
            _ => groups.push((key, pair.values[0].clone(), vec![member])),
        }
    }
    let mut made = Vec::new();
    for (_, key, members) in groups {
        let list = budget.list(members)?;
        let group: Map =
            [(Arc::from("grouper"), key), (Arc::from("list"), list)].into_iter().collect();
        made.push(budget.map(group)?);
    }
    budget.list(made)
}
