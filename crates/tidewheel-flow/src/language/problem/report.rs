//! [`Problem`]: one thing that is wrong in a file.
//!
//! Many of them are collected in [`super::Problems`].

use std::fmt;

use super::clean;
use super::source::Span;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but probably says something else than was meant.
    Warning,
}

impl Severity {
    /// The word for it, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One thing that is wrong, and where.
///
/// All texts are cleaned when they are set: control characters, signs that turn the direction of
/// writing and the like become `\u{..}`, a line break becomes `\n`, and what is very long is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name for machines, in kebab case.
    pub code: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// What to say at the place itself.
    pub label: Option<String>,
    /// Other places that matter, and what is there.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// Something that makes a file unusable.
    pub fn error(code: &'static str, message: impl AsRef<str>) -> Self {
        Self::new(Severity::Error, code, message.as_ref())
    }

    /// Something that is probably not meant.
    pub fn warning(code: &'static str, message: impl AsRef<str>) -> Self {
        Self::new(Severity::Warning, code, message.as_ref())
    }

    fn new(severity: Severity, code: &'static str, message: &str) -> Self {
        let message = clean::message(message);
        let related = Vec::new();
        Self { severity, code, message, span: None, label: None, related, hint: None }
    }

    /// Says which file it is about, for what has no place in one.
    #[must_use]
    pub fn about(self, name: &str) -> Self {
        Self { message: clean::message(&format!("{name}: {}", self.message)), ..self }
    }

    /// Says where.
    #[must_use]
    pub fn at(self, span: Span) -> Self {
        Self { span: Some(span), ..self }
    }

    /// Says something at the place itself.
    #[must_use]
    pub fn label(self, label: impl AsRef<str>) -> Self {
        Self { label: Some(clean::message(label.as_ref())), ..self }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl AsRef<str>) -> Self {
        Self { hint: Some(clean::message(hint.as_ref())), ..self }
    }

    /// Proposes the word that was probably meant, if there is one.
    #[must_use]
    pub fn did_you_mean(self, word: Option<&str>) -> Self {
        match word {
            Some(word) => self.hint(format!("did you mean {}?", clean::quote(word))),
            None => self,
        }
    }

    /// Shows another place that matters.
    #[must_use]
    pub fn see(mut self, span: Span, label: impl AsRef<str>) -> Self {
        self.related.push((span, clean::message(label.as_ref())));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}[{}]: {}", self.severity, self.code, self.message)
    }
}
