//! What can be wrong with a template, told to the person who wrote it.
//!
//! Where each fault is found is with the code that finds it.

use std::ops::Range;

/// A template that cannot be read, or that cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct TemplateError {
    /// What is wrong, in a sentence without a capital and a full stop.
    pub message: String,
    /// Which bytes of the template's text it is about.
    pub range: Option<Range<usize>>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The path that was used and is not there, where that is what is wrong.
    pub undefined: Option<String>,
    /// Whether the template asked for more work or memory than it may have.
    pub is_limit: bool,
}

impl TemplateError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), range: None, hint: None, undefined: None, is_limit: false }
    }

    pub(super) fn limit(message: impl Into<String>) -> Self {
        Self { is_limit: true, ..Self::new(message) }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says where it is, unless a more exact place is known already.
    pub(super) fn at(mut self, range: &Range<usize>) -> Self {
        self.range.get_or_insert_with(|| range.clone());
        self
    }
}
