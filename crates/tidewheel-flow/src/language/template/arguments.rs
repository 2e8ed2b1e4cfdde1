//! The values a filter, a test, a function or a method is given.
//!
//! The expressions they come from are in [`super::expression`].

use std::sync::Arc;

use super::error::TemplateError;
use super::value::Value;

/// Values in order and by name.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(Arc<str>, Value)>,
}

impl Given {
    /// Sorts the values by the names of the parameters.
    pub(super) fn bind<const COUNT: usize>(
        self,
        parameters: [&str; COUNT],
    ) -> Result<[Option<Value>; COUNT], TemplateError> {
        let mut bound = [const { None }; COUNT];
        if self.positional.len() > COUNT {
            return Err(TemplateError::new(match COUNT {
                0 => "it takes no arguments".to_owned(),
                1 => "it takes one argument".to_owned(),
                count => format!("it takes at most {count} arguments"),
            }));
        }
        for (place, value) in bound.iter_mut().zip(self.positional) {
            *place = Some(value);
        }
        for (name, value) in self.named {
            match parameters.iter().position(|parameter| **parameter == *name) {
                Some(place) if bound[place].is_none() => bound[place] = Some(value),
                Some(_) => {
                    return Err(TemplateError::new(format!(
                        "the argument `{name}` is there twice"
                    )));
                }
                None => return Err(TemplateError::new(format!("it has no argument `{name}`"))),
            }
        }
        Ok(bound)
    }
}

/// A text, or the default.
pub(super) fn text(value: Option<Value>, default: &str) -> Result<Arc<str>, TemplateError> {
    match value {
        None => Ok(default.into()),
        Some(Value::Text(text)) => Ok(text),
        Some(other) => Err(wanted("a text", &other)),
    }
}

/// A text that has to be there.
pub(super) fn required_text(value: Option<Value>, name: &str) -> Result<Arc<str>, TemplateError> {
    match value {
        None => Err(TemplateError::new(format!("the argument `{name}` is missing"))),
        some => text(some, ""),
    }
}

/// Any value that has to be there.
pub(super) fn required(value: Option<Value>, name: &str) -> Result<Value, TemplateError> {
    value.ok_or_else(|| TemplateError::new(format!("the argument `{name}` is missing")))
}

/// An integer, or the default.
pub(super) fn integer(value: Option<Value>, default: i128) -> Result<i128, TemplateError> {
    match value {
        None => Ok(default),
        Some(Value::Integer(integer)) => Ok(integer),
        Some(other) => Err(wanted("an integer", &other)),
    }
}

/// How many of something, or the default.
pub(super) fn count(value: Option<Value>, default: usize) -> Result<usize, TemplateError> {
    let count = integer(value, default as i128)?;
    usize::try_from(count).map_err(|_| TemplateError::new("a count cannot be negative"))
}

/// Whether something is wanted.
pub(super) fn flag(value: Option<Value>) -> bool {
    value.is_some_and(|value| value.is_true())
}

pub(super) fn wanted(what: &str, found: &Value) -> TemplateError {
    TemplateError::new(format!("{what} is needed, not {}", found.kind()))
}
