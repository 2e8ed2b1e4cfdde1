//! JMESPath: a query that takes parts of a JSON value and makes another of them.
//!
//! An implementation of our own, because neither queries nor data are trusted: parsing cannot
//! exhaust the stack, and every operation and every byte of a result is paid for from a budget.
//!
//! Which queries there are, and what their results are used for, is not decided here.

mod functions;
mod lexer;
mod parser;
#[expect(clippy::module_inception, reason = "the type has the name of the language")]
mod query;
mod search;

#[cfg(test)]
mod compliance_tests;
#[cfg(test)]
mod tests;

pub use query::{Query, QueryError};
