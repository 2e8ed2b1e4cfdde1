//! Filters of lists and maps as a whole.
//!
//! Those that look at each value one by one are in [`super::picking`].

use std::cmp::Ordering;

use super::super::arguments::{Given, count, flag, text, wanted};
use super::super::budget::Budget;
use super::super::error::TemplateError;
use super::super::expression::Operator;
use super::super::methods;
use super::super::operators;
use super::super::value::{MissingReason, Value};
use super::picking::attribute;

type Outcome = Result<Value, TemplateError>;

pub(super) fn length(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    budget.length(value).map(Value::count)
}

pub(super) fn list(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    let members = budget.members(value)?;
    budget.list(members)
}

fn nothing() -> Value {
    Value::missing(&(0..0), MissingReason::Told("the list is empty"))
}

pub(super) fn first(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    Ok(match value {
        Value::List(list) => list.values.first().cloned().unwrap_or_else(nothing),
        Value::Text(_) => value.member(&Value::Integer(0)).unwrap_or_else(nothing),
        other => budget.members(other)?.into_iter().next().unwrap_or_else(nothing),
    })
}

pub(super) fn last(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    Ok(match value {
        Value::List(list) => list.values.last().cloned().unwrap_or_else(nothing),
        Value::Text(_) => value.member(&Value::Integer(-1)).unwrap_or_else(nothing),
        other => budget.members(other)?.into_iter().next_back().unwrap_or_else(nothing),
    })
}

pub(super) fn reverse(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    if let Value::Text(text) = value {
        return budget.text(text.chars().rev().collect::<String>());
    }
    let mut members = budget.members(value)?;
    members.reverse();
    budget.list(members)
}

pub(super) fn items(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    let entries = methods::entries(budget, value)?;
    pairs(budget, entries.into_iter().map(|(key, value)| (Value::Text(key), value)))
}

fn pairs(budget: &mut Budget, entries: impl Iterator<Item = (Value, Value)>) -> Outcome {
    let mut pairs = Vec::new();
    for (key, value) in entries {
        pairs.push(budget.list(vec![key, value])?);
    }
    budget.list(pairs)
}

/// How values are put in order.
pub(super) struct Sorting {
    pub(super) is_case_sensitive: bool,
    pub(super) is_reversed: bool,
}

impl Sorting {
    /// Sorts by keys; the first error ends it, as far as anybody notices.
    pub(super) fn sort(
        &self,
        budget: &mut Budget,
        keyed: &mut [(Value, Value)],
    ) -> Result<(), TemplateError> {
        if !self.is_case_sensitive {
            for (key, _) in keyed.iter_mut() {
                *key = folded(budget, key)?;
            }
        }
        let mut fault = None;
        keyed.sort_by(|(left, _), (right, _)| {
            if fault.is_some() {
                return Ordering::Equal;
            }
            match operators::order(budget, left, right) {
                Ok(ordering) if self.is_reversed => ordering.reverse(),
                Ok(ordering) => ordering,
                Err(error) => {
                    fault = Some(error);
                    Ordering::Equal
                }
            }
        });
        fault.map_or(Ok(()), Err)
    }
}

fn folded(budget: &mut Budget, key: &Value) -> Outcome {
    match key {
        Value::Text(text) => {
            budget.allocate(text.len().saturating_mul(3))?;
            Ok(Value::Text(text.to_lowercase().into()))
        }
        other => Ok(other.clone()),
    }
}

fn keyed(
    budget: &mut Budget,
    value: &Value,
    path: Option<&Value>,
) -> Result<Vec<(Value, Value)>, TemplateError> {
    let members = budget.members(value)?;
    budget.allocate_values(members.len().saturating_mul(2))?;
    members
        .into_iter()
        .map(|member| attribute(budget, &member, path).map(|key| (key, member)))
        .collect()
}

pub(super) fn sort(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [reverse, case_sensitive, path] = given.bind(["reverse", "case_sensitive", "attribute"])?;
    let sorting = Sorting { is_case_sensitive: flag(case_sensitive), is_reversed: flag(reverse) };
    let mut keyed = keyed(budget, value, path.as_ref())?;
    sorting.sort(budget, &mut keyed)?;
    budget.list(keyed.into_iter().map(|(_, member)| member).collect())
}

pub(super) fn dictsort(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [case_sensitive, by, reverse] = given.bind(["case_sensitive", "by", "reverse"])?;
    let sorting = Sorting { is_case_sensitive: flag(case_sensitive), is_reversed: flag(reverse) };
    let is_by_value = match &*text(by, "key")? {
        "key" => false,
        "value" => true,
        _ => return Err(TemplateError::new("`by` is `key` or `value`")),
    };
    let mut keyed = Vec::new();
    for (key, value) in methods::entries(budget, value)? {
        let sorted_by = if is_by_value { value.clone() } else { Value::Text(key.clone()) };
        let pair = budget.list(vec![Value::Text(key), value])?;
        keyed.push((sorted_by, pair));
    }
    sorting.sort(budget, &mut keyed)?;
    budget.list(keyed.into_iter().map(|(_, pair)| pair).collect())
}

pub(super) fn unique(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [case_sensitive, path] = given.bind(["case_sensitive", "attribute"])?;
    let is_case_sensitive = flag(case_sensitive);
    let mut seen: Vec<Value> = Vec::new();
    let mut known = std::collections::HashSet::new();
    let mut kept = Vec::new();
    for (key, member) in keyed(budget, value, path.as_ref())? {
        let key = if is_case_sensitive { key } else { folded(budget, &key)? };
        // Texts are told apart by hashing; others are few, or pay for being compared.
        let is_new = match &key {
            Value::Text(text) => known.insert(text.clone()),
            key => {
                let mut is_new = true;
                for other in &seen {
                    if operators::equal(budget, other, key)? {
                        is_new = false;
                        break;
                    }
                }
                is_new
            }
        };
        if is_new {
            if !matches!(key, Value::Text(_)) {
                seen.push(key);
            }
            kept.push(member);
        }
    }
    budget.list(kept)
}

pub(super) fn min(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    extreme(budget, value, given, Ordering::Less)
}

pub(super) fn max(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    extreme(budget, value, given, Ordering::Greater)
}

fn extreme(budget: &mut Budget, value: &Value, given: Given, wanted: Ordering) -> Outcome {
    let [case_sensitive, path] = given.bind(["case_sensitive", "attribute"])?;
    let is_case_sensitive = flag(case_sensitive);
    let mut found: Option<(Value, Value)> = None;
    for (key, member) in keyed(budget, value, path.as_ref())? {
        let key = if is_case_sensitive { key } else { folded(budget, &key)? };
        let is_better = match &found {
            Some((best, _)) => operators::order(budget, &key, best)? == wanted,
            None => true,
        };
        if is_better {
            found = Some((key, member));
        }
    }
    Ok(found.map_or_else(nothing, |(_, member)| member))
}

pub(super) fn sum(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [path, start] = given.bind(["attribute", "start"])?;
    let mut sum = start.unwrap_or(Value::Integer(0));
    for (number, _) in keyed(budget, value, path.as_ref())? {
        if !matches!(number, Value::Integer(_) | Value::Float(_)) {
            return Err(wanted("a number", &number));
        }
        sum = operators::binary(budget, Operator::Add, &sum, &number)?;
    }
    Ok(sum)
}

pub(super) fn batch(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [size, filler] = given.bind(["linecount", "fill_with"])?;
    let size = count(size, 0)?;
    if size == 0 {
        return Err(TemplateError::new("the size of a batch is at least 1"));
    }
    let members = budget.members(value)?;
    let mut batches = Vec::new();
    for chunk in members.chunks(size) {
        let mut chunk = chunk.to_vec();
        if let Some(filler) = filler.as_ref().filter(|filler| !matches!(filler, Value::Null)) {
            budget.foresee_values(size)?;
            chunk.resize(size, filler.clone());
        }
        batches.push(budget.list(chunk)?);
    }
    budget.list(batches)
}

pub(super) fn slice(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [slices, filler] = given.bind(["slices", "fill_with"])?;
    let slices = count(slices, 0)?;
    if slices == 0 {
        return Err(TemplateError::new("there is at least 1 slice"));
    }
    budget.foresee_values(slices)?;
    let members = budget.members(value)?;
    let (size, longer) = (members.len() / slices, members.len() % slices);
    let mut made = Vec::new();
    let mut rest = &members[..];
    for index in 0..slices {
        let (part, behind) = rest.split_at(size + usize::from(index < longer));
        rest = behind;
        let mut part = part.to_vec();
        if let Some(filler) = filler.as_ref().filter(|filler| !matches!(filler, Value::Null))
            && index >= longer
        {
            part.push(filler.clone());
        }
        made.push(budget.list(part)?);
    }
    budget.list(made)
}
