//! The languages of a flow file: YAML with places, problems that point into it, templates, queries, and
//! literals.
//!
//! What a key means is not known here; that begins in [`crate::definition`].

pub(crate) mod instant;
pub(crate) mod literal;
pub(crate) mod problem;
pub(crate) mod query;
pub(crate) mod template;
pub(crate) mod tree;
pub(crate) mod words;
pub(crate) mod yaml;
