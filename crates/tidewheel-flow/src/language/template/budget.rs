//! How much one rendering may do: operations, bytes it builds, and how deep it may nest.
//!
//! Everything that grows with its input asks here before it grows.

use std::sync::Arc;

use super::error::TemplateError;
use super::value::{List, Map, Value};

/// The bounds of a template and of each rendering of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How long the text of a template may be. 64 KiB unless told otherwise.
    pub source_bytes_max: usize,
    /// How long what comes out may be: the text, or a value written as JSON. 1 MiB.
    pub output_bytes_max: usize,
    /// How much a rendering may build on its way, counting what it drops again. 8 MiB.
    pub memory_bytes_max: usize,
    /// How many operations a rendering may take; reading 64 bytes is one. 500,000.
    pub operations_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes_max: 64 * 1024,
            output_bytes_max: 1024 * 1024,
            memory_bytes_max: 8 * 1024 * 1024,
            operations_max: 500_000,
        }
    }
}

/// How deep lists and maps may nest in each other: as deep as JSON is read, and some more.
pub(super) const NESTING_MAX: u16 = 140;
/// How deep statements, expressions and macros may be in each other while they are evaluated, each
/// with the weight of the stack it takes.
const DEPTH_MAX: u32 = 160;

/// What one level takes of the depth there is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Level {
    Expression = 1,
    Statement = 2,
    Call = 4,
}

/// What one value in a list takes.
const VALUE_BYTES: usize = size_of::<Value>();
/// What one entry of a map takes, without its key.
const ENTRY_BYTES: usize = 2 * VALUE_BYTES;
/// How many bytes are as much work as one operation.
const BYTES_PER_OPERATION: u64 = 64;

/// What is left of the limits of one rendering.
#[derive(Debug)]
pub(super) struct Budget {
    operations_left: u64,
    operations_max: u64,
    bytes_left: usize,
    bytes_max: usize,
    depth: u32,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            operations_left: limits.operations_max,
            operations_max: limits.operations_max,
            bytes_left: limits.memory_bytes_max,
            bytes_max: limits.memory_bytes_max,
            depth: 0,
        }
    }

    /// Pays for work.
    pub(super) fn spend(&mut self, operations: u64) -> Result<(), TemplateError> {
        match self.operations_left.checked_sub(operations) {
            Some(left) => {
                self.operations_left = left;
                Ok(())
            }
            None => {
                self.operations_left = 0;
                let max = self.operations_max;
                Err(TemplateError::limit(format!("the template takes more than {max} operations")))
            }
        }
    }

    /// Pays for reading over so many bytes.
    pub(super) fn read(&mut self, bytes: usize) -> Result<(), TemplateError> {
        self.spend(bytes as u64 / BYTES_PER_OPERATION + 1)
    }

    /// Pays for memory, before it is taken.
    pub(super) fn allocate(&mut self, bytes: usize) -> Result<(), TemplateError> {
        self.read(bytes)?;
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => {
                self.bytes_left = 0;
                let max = self.bytes_max;
                let message = format!("the template builds more than {max} bytes of values");
                Err(TemplateError::limit(message))
            }
        }
    }

    /// Refuses at once what could not be paid for later, when it is there.
    pub(super) fn foresee_values(&mut self, count: usize) -> Result<(), TemplateError> {
        if count.saturating_mul(VALUE_BYTES) > self.bytes_left {
            return self.allocate_values(count);
        }
        Ok(())
    }

    /// Pays for so many places in a list.
    pub(super) fn allocate_values(&mut self, count: usize) -> Result<(), TemplateError> {
        self.allocate(count.saturating_mul(VALUE_BYTES))
    }

    /// How many members a value has, paid for where they have to be listed to be counted.
    pub(super) fn length(&mut self, value: &Value) -> Result<usize, TemplateError> {
        let length = value.length()?;
        match value {
            Value::Lookup(_) => self.spend(length as u64)?,
            value => self.read(value.weight())?,
        }
        Ok(length)
    }

    /// The members of a value, paid for.
    pub(super) fn members(&mut self, value: &Value) -> Result<Vec<Value>, TemplateError> {
        let count = match value {
            Value::Text(text) => text.len(),
            Value::List(_) | Value::Map(_) | Value::Lookup(_) => value.length()?,
            _ => 0,
        };
        self.allocate_values(count)?;
        value.members()
    }

    /// A text, paid for.
    pub(super) fn text(&mut self, text: impl Into<Arc<str>>) -> Result<Value, TemplateError> {
        let text = text.into();
        self.allocate(text.len())?;
        Ok(Value::Text(text))
    }

    /// A list, paid for, of things that may be kept in one.
    pub(super) fn list(&mut self, values: Vec<Value>) -> Result<Value, TemplateError> {
        self.allocate_values(values.len())?;
        values.iter().try_for_each(Value::check_keepable)?;
        let list = List::new(values);
        check_nesting(list.nesting)?;
        Ok(Value::List(Arc::new(list)))
    }

    /// A map, paid for, of things that may be kept in one.
    pub(super) fn map(&mut self, map: Map) -> Result<Value, TemplateError> {
        let keys: usize = map.iter().map(|(key, _)| key.len()).sum();
        self.allocate(keys.saturating_add(map.len().saturating_mul(ENTRY_BYTES)))?;
        map.iter().try_for_each(|(_, value)| value.check_keepable())?;
        check_nesting(map.nesting())?;
        Ok(Value::Map(Arc::new(map)))
    }

    /// Goes one level deeper; every call has one of [`Self::ascend`] behind it.
    pub(super) fn descend(&mut self, level: Level) -> Result<(), TemplateError> {
        self.spend(1)?;
        self.depth += level as u32;
        if self.depth > DEPTH_MAX {
            return Err(TemplateError::limit("the template nests too deeply")
                .with_hint("a macro or a recursive loop that calls itself needs an end"));
        }
        Ok(())
    }

    pub(super) fn ascend(&mut self, level: Level) {
        self.depth = self.depth.saturating_sub(level as u32);
    }
}

fn check_nesting(nesting: u16) -> Result<(), TemplateError> {
    if nesting > NESTING_MAX {
        return Err(TemplateError::limit("lists and maps nest too deeply"));
    }
    Ok(())
}
