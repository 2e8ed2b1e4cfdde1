//! Works out expressions.
//!
//! Statements are carried out in [`super::run`]. Whatever is not there is carried along until
//! somebody uses it; asking whether it is there, and giving a default, are no use.

use std::sync::Arc;

use super::arguments::Given;
use super::budget::{Budget, Level, Limits};
use super::checks::Check;
use super::context::Context;
use super::engine::Functions;
use super::error::TemplateError;
use super::expression::{Arguments, Comparison, Expression, FilterCall, Kind, Operator};
use super::functions;
use super::methods;
use super::operators;
use super::print;
use super::value::{LoopPosition, Map, Missing, MissingReason, Place, Value, lock};

/// One rendering of one template.
pub(super) struct Evaluator<'a> {
    pub(super) source: &'a str,
    pub(super) context: &'a Context,
    pub(super) functions: &'a Functions,
    pub(super) budget: Budget,
    pub(super) environments: Vec<Environment>,
    /// What is being written: the result, and on top of it what statements catch.
    pub(super) outputs: Vec<String>,
    pub(super) output_bytes_max: usize,
    /// Whether what is not there is nothing instead of an error.
    pub(super) is_lenient: bool,
}

/// The names of a template, or of a macro while it is called.
#[derive(Debug, Default)]
pub(super) struct Environment {
    pub(super) frames: Vec<Vec<(Arc<str>, Value)>>,
    /// Where names are looked up that are not here.
    pub(super) parent: Option<Place>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        source: &'a str,
        context: &'a Context,
        functions: &'a Functions,
        limits: &Limits,
    ) -> Self {
        Self {
            source,
            context,
            functions,
            budget: Budget::new(limits),
            environments: vec![Environment { frames: vec![Vec::new()], parent: None }],
            outputs: vec![String::new()],
            output_bytes_max: limits.output_bytes_max,
            is_lenient: false,
        }
    }

    /// What an expression comes to, which has to be there.
    pub(super) fn value(&mut self, expression: &Expression) -> Result<Value, TemplateError> {
        let value = self.evaluate(expression)?;
        self.require(value)
    }

    pub(super) fn require(&self, value: Value) -> Result<Value, TemplateError> {
        match value {
            // `'-v' if verbose` is written so that otherwise there is nothing, as in Jinja.
            Value::Undefined(missing) if matches!(missing.reason, MissingReason::NoElse) => {
                Ok(Value::Null)
            }
            Value::Undefined(_) if self.is_lenient => Ok(Value::Null),
            Value::Undefined(missing) => Err(print::undefined(self.source, &missing)),
            value => Ok(value),
        }
    }

    /// Whether an expression is taken for true.
    pub(super) fn truth(&mut self, expression: &Expression) -> Result<bool, TemplateError> {
        let value = self.value(expression)?;
        if matches!(value, Value::Lookup(_)) {
            self.budget.length(&value)?;
        }
        Ok(value.is_true())
    }

    /// What an expression comes to, which may be that it is not there.
    pub(super) fn evaluate(&mut self, expression: &Expression) -> Result<Value, TemplateError> {
        let value = match self.budget.descend(Level::Expression) {
            Ok(()) => self.evaluate_kind(expression),
            Err(error) => Err(error),
        };
        self.budget.ascend(Level::Expression);
        value.map_err(|error| error.at(&expression.range))
    }

    fn evaluate_kind(&mut self, expression: &Expression) -> Result<Value, TemplateError> {
        match &expression.kind {
            Kind::Constant(value) => Ok(value.clone()),
            Kind::Name(name) => Ok(self.name(name, expression)),
            Kind::Member { of, key } => self.member(of, key, expression),
            Kind::Slice { of, bounds } => self.slice(of, bounds),
            Kind::Not(of) => Ok(Value::Bool(!self.truth(of)?)),
            Kind::Negative(of) => operators::negative(&self.value(of)?),
            Kind::Binary { operator, sides } => self.binary(*operator, sides),
            Kind::Compare { first, rest } => self.comparison(first, rest),
            Kind::And(sides) => self.logic(sides, false),
            Kind::Or(sides) => self.logic(sides, true),
            Kind::Condition { then, otherwise } => {
                self.condition(then, otherwise.as_deref(), expression)
            }
            Kind::Filter { of, filter } => self.filter(of, filter, expression),
            Kind::Check { of, check, arguments, is_negated } => {
                self.check(of, *check, arguments, *is_negated)
            }
            Kind::Call { name, arguments } => self.call(name, arguments, expression),
            Kind::Method { of, name, arguments } => self.method(of, name, arguments, expression),
            Kind::List(values) => self.list(values),
            Kind::Map(entries) => self.map(entries),
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        sides: &[Expression; 2],
    ) -> Result<Value, TemplateError> {
        let left = self.value(&sides[0])?;
        let right = self.value(&sides[1])?;
        operators::binary(&mut self.budget, operator, &left, &right)
    }

    fn filter(
        &mut self,
        of: &Expression,
        filter: &FilterCall,
        expression: &Expression,
    ) -> Result<Value, TemplateError> {
        let value = self.evaluate(of)?;
        let value = if filter.filter.takes_undefined { value } else { self.require(value)? };
        let value = self.filtered(&value, filter)?;
        Ok(placed(value, expression))
    }

    fn check(
        &mut self,
        of: &Expression,
        check: Check,
        arguments: &Arguments,
        is_negated: bool,
    ) -> Result<Value, TemplateError> {
        let value = self.evaluate(of)?;
        let value = if check.takes_undefined { value } else { self.require(value)? };
        let given = self.given(arguments)?;
        Ok(Value::Bool(check.run(&mut self.budget, &value, given)? != is_negated))
    }

    fn method(
        &mut self,
        of: &Expression,
        name: &str,
        arguments: &Arguments,
        expression: &Expression,
    ) -> Result<Value, TemplateError> {
        let value = self.value(of)?;
        let given = self.given(arguments)?;
        let value = match &value {
            Value::Loop(position) => self.loop_method(position, name, given)?,
            value => methods::call(&mut self.budget, value, name, given)?,
        };
        Ok(placed(value, expression))
    }

    fn list(&mut self, values: &[Expression]) -> Result<Value, TemplateError> {
        let values: Result<_, _> = values.iter().map(|value| self.value(value)).collect();
        self.budget.list(values?)
    }

    fn name(&mut self, name: &str, expression: &Expression) -> Value {
        if let Some(value) = self.local(name) {
            return value;
        }
        match self.context.get(name) {
            Some(value) => value.clone(),
            None => Value::missing(&expression.range, MissingReason::Name(self.context.names())),
        }
    }

    /// The value a statement of the template gave to a name.
    pub(super) fn local(&self, name: &str) -> Option<Value> {
        let mut place = self.here();
        loop {
            let environment = &self.environments[place.environment];
            let frames = environment.frames.iter().take(place.frames).rev();
            for (known, value) in frames.flat_map(|frame| frame.iter().rev()) {
                if **known == *name {
                    return Some(value.clone());
                }
            }
            place = environment.parent?;
        }
    }

    /// Where names are looked up now.
    pub(super) fn here(&self) -> Place {
        let environment = self.environments.len() - 1;
        Place { environment, frames: self.environments[environment].frames.len() }
    }

    fn member(
        &mut self,
        of: &Expression,
        key: &Expression,
        expression: &Expression,
    ) -> Result<Value, TemplateError> {
        let value = self.evaluate(of)?;
        let key = self.value(key)?;
        if matches!(value, Value::Text(_)) {
            self.budget.read(value.weight())?;
        }
        let member = match &value {
            // What is not there has no members, for the reason that it is not there.
            Value::Undefined(missing) => {
                return Ok(Value::missing(&expression.range, missing.reason.clone()));
            }
            Value::Loop(position) => loop_member(position, &key),
            value => value.member(&key),
        };
        if let Some(member) = member {
            return Ok(placed(member, expression));
        }
        let key = match key.as_key() {
            Some(key) => key,
            None => return Err(TemplateError::new(format!("{} is no key", key.kind()))),
        };
        let of_range = of.range.clone();
        Ok(Value::missing(&expression.range, MissingReason::Key { of: value, of_range, key }))
    }

    fn slice(
        &mut self,
        of: &Expression,
        bounds: &[Option<Expression>; 3],
    ) -> Result<Value, TemplateError> {
        let value = self.value(of)?;
        let mut numbers = [None; 3];
        for (number, bound) in numbers.iter_mut().zip(bounds) {
            let Some(bound) = bound else { continue };
            *number = match self.value(bound)? {
                Value::Integer(integer) => Some(integer),
                Value::Null => None,
                other => {
                    return Err(super::arguments::wanted("an integer", &other).at(&bound.range));
                }
            };
        }
        operators::slice(&mut self.budget, &value, &numbers)
    }

    fn comparison(
        &mut self,
        first: &Expression,
        rest: &[(Comparison, Expression)],
    ) -> Result<Value, TemplateError> {
        let mut left = self.value(first)?;
        for (comparison, right) in rest {
            let right = self.value(right)?;
            if !operators::compare(&mut self.budget, *comparison, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    /// `and` and `or` give the side that decides, as in Python.
    fn logic(&mut self, sides: &[Expression; 2], ends: bool) -> Result<Value, TemplateError> {
        let left = self.value(&sides[0])?;
        if left.is_true() == ends { Ok(left) } else { self.value(&sides[1]) }
    }

    fn condition(
        &mut self,
        then: &[Expression; 2],
        otherwise: Option<&Expression>,
        expression: &Expression,
    ) -> Result<Value, TemplateError> {
        if self.truth(&then[1])? {
            return self.evaluate(&then[0]);
        }
        match otherwise {
            Some(otherwise) => self.evaluate(otherwise),
            None => Ok(Value::missing(&expression.range, MissingReason::NoElse)),
        }
    }

    pub(super) fn filtered(
        &mut self,
        value: &Value,
        call: &FilterCall,
    ) -> Result<Value, TemplateError> {
        let given = self.given(&call.arguments)?;
        call.filter.run(&mut self.budget, value, given).map_err(|error| error.at(&call.range))
    }

    /// The values in the parentheses, all of which have to be there.
    fn given(&mut self, arguments: &Arguments) -> Result<Given, TemplateError> {
        let mut given = Given::default();
        for value in &arguments.positional {
            let value = self.value(value)?;
            value.check_keepable()?;
            given.positional.push(value);
        }
        for (name, value) in &arguments.named {
            let value = self.value(value)?;
            value.check_keepable()?;
            given.named.push((name.clone(), value));
        }
        Ok(given)
    }

    fn call(
        &mut self,
        name: &Arc<str>,
        arguments: &Arguments,
        expression: &Expression,
    ) -> Result<Value, TemplateError> {
        match self.local(name) {
            Some(Value::Macro(bound)) => self.call_macro(&bound, arguments, None),
            Some(Value::Loop(position)) => self.recurse(&position, arguments),
            Some(other) => {
                let message = format!("`{name}` is {} and cannot be called", other.kind());
                Err(TemplateError::new(message))
            }
            None => {
                let mut given = self.given(arguments)?;
                // A query that names no value is about the input, as flowtoy has it.
                if &**name == "jmespath" && given.positional.len() == 1 {
                    given.positional.extend(self.context.get("json").cloned());
                }
                functions::call(&mut self.budget, self.functions, name, given)
                    .map(|value| placed(value, expression))
            }
        }
    }

    fn loop_method(
        &mut self,
        position: &LoopPosition,
        name: &str,
        given: Given,
    ) -> Result<Value, TemplateError> {
        match name {
            "cycle" if !given.positional.is_empty() => {
                Ok(given.positional[position.index % given.positional.len()].clone())
            }
            "changed" => {
                let mut seen = lock(&position.seen);
                let before = seen.replace(given.positional.clone());
                let before = before.map(super::value::List::new).map(Arc::new).map(Value::List);
                let now = self.budget.list(given.positional)?;
                match before {
                    Some(before) => {
                        Ok(Value::Bool(!operators::equal(&mut self.budget, &before, &now)?))
                    }
                    None => Ok(Value::Bool(true)),
                }
            }
            _ => Err(TemplateError::new(format!("`loop` has no method `{name}`"))),
        }
    }

    fn map(&mut self, entries: &[(Expression, Expression)]) -> Result<Value, TemplateError> {
        let mut map = Map::default();
        for (key, value) in entries {
            let found = self.value(key)?;
            let Some(found) = found.as_key() else {
                let message = format!("{} cannot be the key of a map", found.kind());
                return Err(TemplateError::new(message).at(&key.range));
            };
            map.insert(found, self.value(value)?);
        }
        self.budget.map(map)
    }
}

/// What came out as not there without saying where it was wanted.
fn placed(value: Value, expression: &Expression) -> Value {
    match value {
        Value::Undefined(missing) if missing.range.is_empty() => {
            Value::Undefined(Arc::new(Missing {
                range: expression.range.clone(),
                reason: missing.reason.clone(),
            }))
        }
        value => value,
    }
}

fn loop_member(position: &LoopPosition, key: &Value) -> Option<Value> {
    let LoopPosition { index, length, depth, .. } = *position;
    Some(match &**key.as_text()? {
        "index" => Value::count(index + 1),
        "index0" => Value::count(index),
        "revindex" => Value::count(length - index),
        "revindex0" => Value::count(length - index - 1),
        "first" => Value::Bool(index == 0),
        "last" => Value::Bool(index + 1 == length),
        "length" => Value::count(length),
        "depth" => Value::count(depth + 1),
        "depth0" => Value::count(depth),
        "previtem" => position.previous.clone().unwrap_or_else(|| {
            Value::missing(&(0..0), MissingReason::Told("there is nothing before the first"))
        }),
        "nextitem" => position.next.clone().unwrap_or_else(|| {
            Value::missing(&(0..0), MissingReason::Told("there is nothing behind the last"))
        }),
        _ => return None,
    })
}
