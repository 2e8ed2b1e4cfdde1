//! Problems for people: the message, the place, the line, carets under it, and what to do.
//!
//! Which part of a line is shown is decided in [`super::excerpt`].

use std::fmt::Write;

use super::clean;
use super::excerpt::Excerpt;
use super::list::Problems;
use super::report::{Problem, Severity};
use super::source::{SourceFiles, Span};

/// Narrower terminals are treated as if they had so many columns.
const WIDTH_MIN: usize = 40;

/// Whether colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Only text.
    Plain,
    /// Text with colours of a terminal.
    Colour,
}

impl Problems {
    /// All problems as text for a terminal of `width` columns, each with the line it is in.
    pub fn render(&self, files: &SourceFiles, style: Style, width: usize) -> String {
        let mut page = Page { files, style, width: width.max(WIDTH_MIN), text: String::new() };
        for problem in self {
            page.problem(problem);
        }
        if self.omitted() > 0 {
            let _ = writeln!(page.text, "... and {} more, not shown", self.omitted());
        }
        page.text
    }
}

/// What a part of the text is, and so its colour.
#[derive(Clone, Copy)]
enum Part {
    Title(Severity),
    Message,
    Frame,
    Related,
    Hint,
}

struct Page<'a> {
    files: &'a SourceFiles,
    style: Style,
    width: usize,
    text: String,
}

impl Page<'_> {
    fn problem(&mut self, problem: &Problem) {
        let title = Part::Title(problem.severity);
        self.paint(title, &format!("{}[{}]", problem.severity, problem.code));
        self.paint(Part::Message, &format!(": {}", problem.message));
        self.text.push('\n');
        let gutter = self.gutter(problem);
        if let Some(span) = problem.span {
            let label = problem.label.as_deref().unwrap_or_default();
            self.place(gutter, "-->", span, '^', title, label);
        }
        for (span, label) in &problem.related {
            self.place(gutter, ":::", *span, '-', Part::Related, label);
        }
        if let Some(hint) = &problem.hint {
            if problem.span.is_some() {
                self.frame(gutter, "", "|");
                self.text.push('\n');
            }
            self.frame(gutter, "", "= ");
            self.paint(Part::Hint, "help");
            let _ = write!(self.text, ": {hint}");
            self.text.push('\n');
        }
        self.text.push('\n');
    }

    /// Columns that the longest line number takes.
    fn gutter(&self, problem: &Problem) -> usize {
        let spans = problem.span.iter().chain(problem.related.iter().map(|(span, _)| span));
        let lines = spans.map(|span| self.files.line_column(*span).0);
        lines.max().map_or(0, |line| line.to_string().len())
    }

    /// One place with its line. Of a place of several lines, the first is shown.
    fn place(
        &mut self,
        gutter: usize,
        arrow: &str,
        span: Span,
        caret: char,
        part: Part,
        label: &str,
    ) {
        let Some(file) = self.files.get(span.file) else { return };
        if arrow == ":::" {
            self.frame(gutter, "", "|");
            self.text.push('\n');
        }
        let (line, column) = file.line_column(span.start as usize);
        let indent = " ".repeat(gutter);
        self.paint(Part::Frame, &format!("{indent}{arrow} "));
        let _ = writeln!(self.text, "{}:{line}:{column}", clean::name(&file.name));

        let range = file.line_range(span.start as usize);
        let start = file.floor(span.start as usize).clamp(range.start, range.end);
        let end = file.floor(span.end as usize).clamp(start, range.end);
        let line_text = file.text.get(range.clone()).unwrap_or_default();
        let columns = self.width.saturating_sub(gutter + 3);
        let mut excerpt = Excerpt::new(line_text, start - range.start, end - range.start, columns);
        excerpt.text.truncate(excerpt.text.trim_end().len());

        self.frame(gutter, "", "|");
        self.text.push('\n');
        self.frame(gutter, &line.to_string(), "|");
        if !excerpt.text.is_empty() {
            let _ = write!(self.text, " {}", excerpt.text);
        }
        self.text.push('\n');
        self.frame(gutter, "", "|");
        let _ = write!(self.text, " {}", " ".repeat(excerpt.indent));
        let carets: String = std::iter::repeat_n(caret, excerpt.carets).collect();
        let space = if label.is_empty() { "" } else { " " };
        self.paint(part, &format!("{carets}{space}{label}"));
        self.text.push('\n');
    }

    fn frame(&mut self, gutter: usize, number: &str, bar: &str) {
        self.paint(Part::Frame, &format!("{number:>gutter$} {bar}"));
    }

    fn paint(&mut self, part: Part, text: &str) {
        let colour = match part {
            Part::Title(Severity::Error) => "1;31",
            Part::Title(Severity::Warning) => "1;33",
            Part::Message => "1",
            Part::Frame | Part::Related => "1;34",
            Part::Hint => "1;36",
        };
        match self.style {
            Style::Plain => self.text.push_str(text),
            Style::Colour => {
                let _ = write!(self.text, "\x1b[{colour}m{text}\x1b[0m");
            }
        }
    }
}
