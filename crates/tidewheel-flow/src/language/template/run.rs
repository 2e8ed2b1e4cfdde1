//! Carries out statements: printing, branches, loops, assignments and macros.
//!
//! Expressions are worked out in [`super::evaluate`].

use std::sync::{Arc, Mutex};

use super::budget::Level;
use super::error::TemplateError;
use super::evaluate::{Environment, Evaluator};
use super::expression::{Arguments, FilterCall};
use super::print;
use super::statements::{Loop, Macro, Statement, Target};
use super::value::{BoundMacro, List, LoopPosition, MissingReason, Place, Value, lock};

/// How it goes on behind a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Statement,
    Break,
    Continue,
}

impl Evaluator<'_> {
    /// Carries out statements in their order.
    pub(super) fn run(&mut self, body: &[Statement]) -> Result<Next, TemplateError> {
        for statement in body {
            let next = match self.budget.descend(Level::Statement) {
                Ok(()) => self.statement(statement),
                Err(error) => Err(error),
            };
            self.budget.ascend(Level::Statement);
            match next? {
                Next::Statement => {}
                next => return Ok(next),
            }
        }
        Ok(Next::Statement)
    }

    fn statement(&mut self, statement: &Statement) -> Result<Next, TemplateError> {
        match statement {
            Statement::Raw(raw) => self.write_raw(raw)?,
            Statement::Print(expression) => {
                let value = self.value(expression)?;
                self.write(&value).map_err(|error| error.at(&expression.range))?;
            }
            Statement::If { branches, otherwise } => {
                for (test, body) in branches {
                    if self.truth(test)? {
                        return self.run(body);
                    }
                }
                return otherwise.as_ref().map_or(Ok(Next::Statement), |body| self.run(body));
            }
            Statement::For(repetition) => {
                let over = self.value(&repetition.over)?;
                self.repeat(repetition, &over, 0)?;
            }
            Statement::With { assignments, body } => return self.with(assignments, body),
            Statement::Set { target, value } => {
                let value = self.evaluate(value)?;
                self.assign(target, value)?;
            }
            Statement::SetBody { target, filters, body } => {
                let value = self.caught_and_filtered(filters, body)?;
                self.assign(target, value)?;
            }
            Statement::FilterBody { filters, body } => {
                let value = self.caught_and_filtered(filters, body)?;
                self.write(&value)?;
            }
            Statement::Macro(definition) => self.define(definition)?,
            Statement::CallBody { name, arguments, range, body } => {
                let Some(Value::Macro(bound)) = self.local(name) else {
                    return Err(TemplateError::new(format!("there is no macro `{name}`")).at(range));
                };
                let caller = BoundMacro { definition: body.clone(), place: self.here() };
                let caller = Value::Macro(Arc::new(caller));
                let text = self.call_macro(&bound, arguments, Some(caller))?;
                self.write(&text)?;
            }
            Statement::Do(expression) => {
                self.evaluate(expression)?;
            }
            Statement::Break => return Ok(Next::Break),
            Statement::Continue => return Ok(Next::Continue),
        }
        Ok(Next::Statement)
    }

    fn write(&mut self, value: &Value) -> Result<(), TemplateError> {
        let Some(mut out) = self.outputs.pop() else { return Ok(()) };
        let written = print::write_text(&mut self.budget, &mut out, value);
        self.outputs.push(out);
        written?;
        self.check_output()
    }

    fn write_raw(&mut self, raw: &str) -> Result<(), TemplateError> {
        self.budget.allocate(raw.len())?;
        if let Some(out) = self.outputs.last_mut() {
            out.push_str(raw);
        }
        self.check_output()
    }

    fn check_output(&self) -> Result<(), TemplateError> {
        if self.outputs.last().is_some_and(|out| out.len() > self.output_bytes_max) {
            return Err(print::too_long());
        }
        Ok(())
    }

    /// Catches what statements write.
    fn caught(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), TemplateError>,
    ) -> Result<Value, TemplateError> {
        self.outputs.push(String::new());
        let written = write(self);
        let text = self.outputs.pop().unwrap_or_default();
        written?;
        Ok(Value::Text(text.into()))
    }

    fn caught_and_filtered(
        &mut self,
        filters: &[FilterCall],
        body: &[Statement],
    ) -> Result<Value, TemplateError> {
        let mut value = self.caught(|this| {
            this.frames().push(Vec::new());
            let next = this.run(body);
            this.frames().pop();
            next.map(|_| ())
        })?;
        for filter in filters {
            value = self.filtered(&value, filter)?;
            value = self.require(value)?;
        }
        Ok(value)
    }

    fn frames(&mut self) -> &mut Vec<Vec<(Arc<str>, Value)>> {
        let last = self.environments.len() - 1;
        &mut self.environments[last].frames
    }

    fn bind(&mut self, name: &Arc<str>, value: Value) {
        let Some(frame) = self.frames().last_mut() else { return };
        match frame.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => frame.push((name.clone(), value)),
        }
    }

    fn assign(&mut self, target: &Target, value: Value) -> Result<(), TemplateError> {
        match target {
            Target::Name(name) => {
                // A macro under another name would be called where its names are not.
                if matches!(value, Value::Macro(_) | Value::Loop(_)) {
                    value.check_keepable()?;
                }
                self.bind(name, value);
                Ok(())
            }
            Target::Parts(parts, range) => {
                let value = self.require(value)?;
                let values = match &value {
                    // A group of `groupby` is a map; its parts are the values.
                    Value::Map(map) => map.iter().map(|(_, value)| value.clone()).collect(),
                    value => self.budget.members(value).map_err(|error| error.at(range))?,
                };
                if values.len() != parts.len() {
                    let message = format!("{} names for {} values", parts.len(), values.len());
                    return Err(TemplateError::new(message).at(range));
                }
                parts.iter().zip(values).try_for_each(|(part, value)| self.assign(part, value))
            }
            Target::Member { namespace, name } => {
                let value = self.require(value)?;
                value.check_keepable().map_err(|error| error.at(&namespace.range))?;
                let Value::Namespace(map) = self.value(namespace)? else {
                    return Err(TemplateError::new("only names in a `namespace()` can be set so")
                        .at(&namespace.range));
                };
                lock(&map).insert(name.clone(), value);
                Ok(())
            }
        }
    }

    fn with(
        &mut self,
        assignments: &[(Target, super::expression::Expression)],
        body: &[Statement],
    ) -> Result<Next, TemplateError> {
        let mut values = Vec::new();
        for (_, value) in assignments {
            values.push(self.evaluate(value)?);
        }
        self.frames().push(Vec::new());
        let assigned = assignments
            .iter()
            .zip(values)
            .try_for_each(|((target, _), value)| self.assign(target, value));
        let next = assigned.and_then(|()| self.run(body));
        self.frames().pop();
        next
    }

    fn define(&mut self, definition: &Arc<Macro>) -> Result<(), TemplateError> {
        let bound = BoundMacro { definition: definition.clone(), place: self.here() };
        self.budget.spend(1)?;
        self.bind(&definition.name, Value::Macro(Arc::new(bound)));
        Ok(())
    }

    fn repeat(
        &mut self,
        repetition: &Arc<Loop>,
        over: &Value,
        depth: usize,
    ) -> Result<(), TemplateError> {
        let list = match over {
            // As it is: a list of the context is not copied to go over it.
            Value::List(list) => list.clone(),
            over => {
                let members = self.budget.members(over);
                let members = members.map_err(|error| error.at(&repetition.over.range))?;
                Arc::new(List::new(members))
            }
        };
        let mut values = &list.values;
        let mut kept = Vec::new();
        if let Some(only_if) = &repetition.only_if {
            for value in values {
                self.frames().push(Vec::new());
                let is_kept = self
                    .assign(&repetition.target, value.clone())
                    .and_then(|()| self.truth(only_if));
                self.frames().pop();
                if is_kept? {
                    self.budget.allocate_values(1)?;
                    kept.push(value.clone());
                }
            }
            values = &kept;
        }
        if values.is_empty() {
            return self.run(&repetition.otherwise).map(|_| ());
        }
        let recursion = repetition.is_recursive.then(|| (repetition.clone(), self.here()));
        let seen = Arc::new(Mutex::new(None));
        for index in 0..values.len() {
            self.budget.spend(1)?;
            let position = LoopPosition {
                index,
                length: values.len(),
                depth,
                previous: index.checked_sub(1).map(|before| values[before].clone()),
                next: values.get(index + 1).cloned(),
                seen: seen.clone(),
                recursion: recursion.clone(),
            };
            self.frames().push(vec![("loop".into(), Value::Loop(Arc::new(position)))]);
            let next = self
                .assign(&repetition.target, values[index].clone())
                .and_then(|()| self.run(&repetition.body));
            self.frames().pop();
            if next? == Next::Break {
                break;
            }
        }
        Ok(())
    }

    /// `loop(values)`: the same loop over other values.
    pub(super) fn recurse(
        &mut self,
        position: &LoopPosition,
        arguments: &Arguments,
    ) -> Result<Value, TemplateError> {
        let (Some((repetition, place)), [over], []) =
            (&position.recursion, &arguments.positional[..], &arguments.named[..])
        else {
            return Err(TemplateError::new("only a `recursive` loop can be called, with one list"));
        };
        let over = self.value(over)?;
        self.in_environment(*place, |this| {
            this.caught(|this| this.repeat(repetition, &over, position.depth + 1))
        })
    }

    /// Calls a macro; what it writes is its value.
    pub(super) fn call_macro(
        &mut self,
        bound: &BoundMacro,
        arguments: &Arguments,
        caller: Option<Value>,
    ) -> Result<Value, TemplateError> {
        let definition = &bound.definition;
        let name = &definition.name;
        if arguments.positional.len() > definition.parameters.len() {
            let count = definition.parameters.len();
            return Err(TemplateError::new(format!("`{name}` takes {count} arguments")));
        }
        let mut given: Vec<Option<Value>> = Vec::new();
        for value in &arguments.positional {
            given.push(Some(self.passed(value)?));
        }
        given.resize(definition.parameters.len(), None);
        for (argument, value) in &arguments.named {
            let known = definition.parameters.iter().position(|(known, _)| known == argument);
            let Some(place) = known.filter(|place| given[*place].is_none()) else {
                let message = format!("`{name}` has no argument `{argument}` left");
                return Err(TemplateError::new(message).at(&value.range));
            };
            given[place] = Some(self.passed(value)?);
        }
        self.in_environment(bound.place, |this| {
            for ((parameter, default), value) in definition.parameters.iter().zip(given) {
                let value = match (value, default) {
                    (Some(value), _) => value,
                    (None, Some(default)) => this.evaluate(default)?,
                    (None, None) => Value::missing(
                        &definition.range,
                        MissingReason::Told("the macro was called without this argument"),
                    ),
                };
                this.bind(parameter, value);
            }
            if let Some(caller) = caller {
                this.bind(&"caller".into(), caller);
            }
            this.caught(|this| this.run(&definition.body).map(|_| ()))
        })
    }

    /// An argument of a macro, which may be something that is not there.
    fn passed(
        &mut self,
        expression: &super::expression::Expression,
    ) -> Result<Value, TemplateError> {
        let value = self.evaluate(expression)?;
        if matches!(value, Value::Macro(_) | Value::Loop(_)) {
            value.check_keepable().map_err(|error| error.at(&expression.range))?;
        }
        Ok(value)
    }

    /// Works with the names that are seen from a place, and new ones of its own.
    fn in_environment<T>(
        &mut self,
        parent: Place,
        work: impl FnOnce(&mut Self) -> Result<T, TemplateError>,
    ) -> Result<T, TemplateError> {
        self.budget.descend(Level::Call)?;
        self.environments.push(Environment { frames: vec![Vec::new()], parent: Some(parent) });
        let result = work(self);
        self.environments.pop();
        self.budget.ascend(Level::Call);
        result
    }
}
