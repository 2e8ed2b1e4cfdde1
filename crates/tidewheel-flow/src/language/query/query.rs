//! [`Query`]: a query that was read, and what can be wrong with one.
//!
//! How its text is read is in `parser`, what it finds in `search`.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::parser::{self, Part};
use super::search;

/// How long a query may be.
const QUERY_BYTES_MAX: usize = 16 * 1024;

/// A query that was read. Cheap to clone.
#[derive(Clone)]
pub struct Query {
    read: Arc<(String, Part)>,
}

impl Query {
    /// Reads a query. Unknown functions, and functions with too few or too many arguments, are
    /// errors here already.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > QUERY_BYTES_MAX {
            let message = format!("the query is longer than {QUERY_BYTES_MAX} bytes");
            return Err(QueryError { message, offset: None });
        }
        let part = parser::parse(text)?;
        Ok(Self { read: Arc::new((text.to_owned(), part)) })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.read.0
    }

    /// What the query finds in a value: null where there is nothing.
    pub fn search(&self, value: &Value) -> Result<Value, QueryError> {
        search::search(&self.read.1, value)
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Query").field(&self.read.0).finish()
    }
}

/// A query that cannot be read, or that does not fit the value it is used on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct QueryError {
    /// What is wrong, in a sentence without a capital and a full stop.
    pub message: String,
    /// At which byte of the query it is.
    pub offset: Option<usize>,
}

impl QueryError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), offset: None }
    }

    /// Says where it is, unless that is known already.
    pub(super) fn at(mut self, offset: usize) -> Self {
        self.offset.get_or_insert(offset);
        self
    }
}
