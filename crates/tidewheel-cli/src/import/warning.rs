//! [`Warning`]: what was lost or changed on the way, in words.
//!
//! How it is shown is the business of the command.

use std::fmt;

/// Something about the original that could not be kept as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    /// The line it is about, from 1, where it is known.
    pub line: Option<usize>,
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "line {line}: {}", self.text),
            None => formatter.write_str(&self.text),
        }
    }
}
