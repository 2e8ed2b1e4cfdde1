//! A line of the view: pieces of text with a tone each, and the signs they are made of.
//!
//! What a line says is decided in `row` and `view`; here it is only kept and painted.

use tidewheel_client::api::StepState;
use tidewheel_client::text;

/// One row of the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
    width: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    text: String,
    tone: Tone,
}

/// What a piece of text is, for its colour. It never says more than the words do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// Most important.
    Strong,
    /// Least important.
    Faint,
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// It needs a look.
    Doubtful,
    /// It goes on.
    Active,
}

impl Tone {
    /// That of what has come to a state.
    #[must_use]
    pub const fn of(state: StepState) -> Self {
        match state {
            StepState::Succeeded => Self::Good,
            StepState::Failed | StepState::Unknown => Self::Bad,
            StepState::Running => Self::Active,
            StepState::Pending => Self::Plain,
            StepState::Skipped | StepState::Cancelled => Self::Doubtful,
        }
    }
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a piece of text.
    #[must_use]
    pub fn with(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.push(tone, text);
        self
    }

    /// Adds a piece of text.
    pub fn push(&mut self, tone: Tone, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.width += text::columns(&text);
            self.spans.push(Span { text, tone });
        }
    }

    /// Adds as much of a text as fits into a line of so many columns.
    pub fn push_cut(&mut self, tone: Tone, text: &str, width: usize, signs: &Signs) {
        let room = width.saturating_sub(self.width);
        if room > 0 {
            self.push(tone, text::cut(text, room, signs.cut));
        }
    }

    /// Adds spaces up to a column.
    pub fn pad_to(&mut self, column: usize) {
        self.push(Tone::Plain, " ".repeat(column.saturating_sub(self.width)));
    }

    /// Cuts what is beyond so many columns.
    pub fn fit(&mut self, width: usize) {
        if self.width > width {
            let spans = std::mem::take(&mut self.spans);
            self.width = 0;
            for span in spans {
                let room = width - self.width;
                self.push(span.tone, text::cut(&span.text, room, ""));
            }
        }
    }

    /// Its pieces, each with its tone.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (&str, Tone)> {
        self.spans.iter().map(|span| (span.text.as_str(), span.tone))
    }

    /// Adds all of another line.
    pub(crate) fn append(&mut self, other: Self) {
        self.width += other.width;
        self.spans.extend(other.spans);
    }

    /// Columns it takes.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Its words, without tones and without spaces at the end.
    pub fn text(&self) -> String {
        let text: String = self.spans.iter().map(|span| span.text.as_str()).collect();
        text.trim_end().to_owned()
    }
}

/// A question mark for each column of what a terminal without Unicode cannot show.
pub(crate) fn push_ascii(painted: &mut String, text: &str) {
    let mut buffer = [0; 4];
    for char in text.chars() {
        if char.is_ascii() {
            painted.push(char);
        } else {
            let width = text::columns(char.encode_utf8(&mut buffer));
            painted.extend(std::iter::repeat_n('?', width));
        }
    }
}

/// The signs of the view, in Unicode or in ASCII.
#[derive(Debug, PartialEq, Eq)]
pub struct Signs {
    /// A step that succeeded.
    pub succeeded: &'static str,
    /// One that failed.
    pub failed: &'static str,
    /// One that was skipped.
    pub skipped: &'static str,
    /// One that was cancelled.
    pub cancelled: &'static str,
    /// One of which nobody can say.
    pub unknown: &'static str,
    /// One that waits for others.
    pub blocked: &'static str,
    /// One that could start.
    pub ready: &'static str,
    /// One that is tried again.
    pub delayed: &'static str,
    /// Before one that decided how long the run took.
    pub critical: &'static str,
    /// One that runs, picture by picture.
    pub spinner: &'static [&'static str],
    /// The part of a bar that is done.
    pub done: &'static str,
    /// The part that is not.
    pub todo: &'static str,
    /// What is cut off.
    pub cut: &'static str,
    /// There are more.
    pub more: &'static str,
    /// Beside what a step wrote.
    pub gutter: &'static str,
    /// A line across.
    pub rule: &'static str,
    /// Before what is not certain.
    pub about: &'static str,
    /// Where something is typed.
    pub caret: &'static str,
}

/// The signs where the locale is UTF-8.
pub static UNICODE: Signs = Signs {
    succeeded: "✓",
    failed: "✗",
    // These two as in drawings of what waits for what, and on the page.
    skipped: "–",
    cancelled: "⊘",
    unknown: "?",
    blocked: "·",
    ready: "○",
    delayed: "↻",
    critical: "*",
    spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    done: "█",
    todo: "░",
    cut: "…",
    more: "…",
    gutter: "│",
    rule: "─",
    about: "~",
    caret: "▏",
};

/// The signs where it is not.
pub static ASCII: Signs = Signs {
    succeeded: "+",
    failed: "x",
    skipped: "-",
    cancelled: "/",
    unknown: "?",
    blocked: ".",
    ready: "o",
    delayed: "@",
    critical: "*",
    spinner: &[">", "v", "<", "^"],
    done: "#",
    todo: "-",
    cut: "~",
    more: "...",
    gutter: "|",
    rule: "-",
    about: "~",
    caret: "_",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_sign_of_its_own() {
        for signs in [&UNICODE, &ASCII] {
            let mut all = vec![
                signs.succeeded,
                signs.failed,
                signs.skipped,
                signs.cancelled,
                signs.unknown,
                signs.blocked,
                signs.ready,
                signs.delayed,
            ];
            all.extend(signs.spinner);
            assert!(all.iter().all(|sign| text::columns(sign) == 1));
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
