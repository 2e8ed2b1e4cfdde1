//! What is wrong with a cron expression, and where in it.
//!
//! The rules themselves are in [`super::parse`].

/// A cron expression that could not be understood.
///
/// It knows the offending bytes of the expression, says what is wrong, and where it can what to
/// write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (position {})", .start + 1)]
pub struct CronError {
    start: usize,
    length: usize,
    message: String,
    hint: Option<String>,
}

impl CronError {
    pub(super) fn new(start: usize, length: usize, message: impl Into<String>) -> Self {
        Self { start, length, message: message.into(), hint: None }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Where the offending part begins: a byte offset into the expression, counted from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.start
    }

    /// How many bytes of the expression are at fault; 0 when something is missing.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// What is wrong, without the position.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to write instead, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The expression on one line and carets under the offending part on the next.
    #[must_use]
    pub fn caret(&self, expression: &str) -> String {
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        let mut text = String::with_capacity(expression.len());
        let mut marks = String::new();
        for (offset, c) in expression.char_indices() {
            text.push(printable(c));
            if offset + c.len_utf8() <= self.start {
                marks.push(' ');
            } else if offset < self.start + self.length.max(1) {
                marks.push('^');
            }
        }
        if self.start >= expression.len() {
            marks.push('^');
        }
        format!("{text}\n{marks}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_culprit() {
        let error = CronError::new(3, 2, "minute 61 is out of range 0-59");
        assert_eq!(error.caret("1, 61 * * *"), "1, 61 * * *\n   ^^");
        assert_eq!(error.to_string(), "minute 61 is out of range 0-59 (position 4)");
    }

    #[test]
    fn the_caret_survives_another_expression_and_wide_characters() {
        let error = CronError::new(4, 2, "x");
        assert_eq!(error.caret("ä"), "ä\n ^");
        assert_eq!(error.caret("ä\t\u{1F600}z"), "ä \u{1F600}z\n  ^");
        assert_eq!(error.caret(""), "\n^");
    }
}
