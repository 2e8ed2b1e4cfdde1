//! What is wrong with a file that is not YAML, in words for the people who wrote it.
//!
//! The parser says what it stumbled over; what that has to do with is found in the text around.

use std::ops::Range;

use granit_parser::{ErrorKind, ScanError};

use crate::language::problem::{FileId, Problem, Span, quote};

/// What the parser had read when it stumbled.
pub(super) struct Surroundings<'a> {
    pub(super) file: FileId,
    pub(super) text: &'a str,
    /// The last scalar.
    pub(super) last: Range<usize>,
    /// The innermost bracket that is still open.
    pub(super) bracket: Option<usize>,
    pub(super) depth_max: usize,
}

/// The problem of a file that is not YAML.
pub(super) fn problem(error: &ScanError, around: &Surroundings<'_>) -> Problem {
    let place = around.text.floor_char_boundary(error.marker().byte_offset().unwrap_or(0));
    let problem = by_kind(error.kind(), place, around);
    match around.bracket {
        // Whatever else is wrong, it usually is because of the bracket.
        Some(bracket) if around.is_line_apart(bracket, place) => {
            let letter = around.text[bracket..].chars().next().unwrap_or('[');
            problem.see(around.letter(bracket), format!("this `{letter}` has not been closed"))
        }
        _ => problem,
    }
}

/// Too many lists and mappings inside each other.
pub(super) fn too_deep(depth_max: usize) -> Problem {
    let message = format!("more than {depth_max} lists and mappings are inside each other here");
    Problem::error("yaml-too-deep", message)
}

/// A tab where only spaces may be.
pub(super) fn tab() -> Problem {
    Problem::error("yaml-tab", "a tab cannot be used for indentation").hint("indent with spaces")
}

/// A list or a mapping where a key should be.
pub(super) fn key_not_text(text: &str, span: Span) -> Problem {
    let problem =
        Problem::error("yaml-key-not-text", "a key must be a text, not a list or a mapping");
    let is_template = text.get(..span.start as usize).is_some_and(|before| before.ends_with('{'));
    if is_template && text.get(span.range()).is_some_and(|key| key.starts_with('{')) {
        problem.at(span).hint("quote texts that start with a template: \"{{ … }}\"")
    } else {
        problem.at(span)
    }
}

fn by_kind(kind: &ErrorKind, place: usize, around: &Surroundings<'_>) -> Problem {
    match kind {
        ErrorKind::RecursionLimitExceeded => too_deep(around.depth_max).at(around.letter(place)),
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => {
            tab().at(around.letter(around.tab_after(place).unwrap_or(place)))
        }
        // The parser points at the quote itself, or at the line where the text breaks off.
        ErrorKind::UnclosedQuotedScalar => unclosed_quote(place, around),
        ErrorKind::InvalidQuotedScalarIndent | ErrorKind::DocumentIndicatorInQuotedScalar => {
            unclosed_quote(around.quote_before(place).unwrap_or(place), around)
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => behind_quote(place, around),
        ErrorKind::UnclosedFlowCollection { open } => {
            Problem::error("yaml-unclosed-bracket", format!("this `{open}` has no closing bracket"))
                .at(around.letter(place))
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            let message = format!("this `{open}` is closed by {}", quote(&close.to_string()));
            Problem::error("yaml-wrong-bracket", message).at(around.letter(place))
        }
        ErrorKind::MisplacedFlowCollectionEnd => {
            Problem::error("yaml-wrong-bracket", "this bracket closes nothing")
                .at(around.letter(place))
                .hint("quote texts that start with a bracket")
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            colon(place, around)
        }
        ErrorKind::UnexpectedCharacter { character } => {
            character_problem(*character, place, around)
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            Problem::error("yaml-key-expected", "a key and a `:` were expected here")
                .at(around.rest_of_line(place))
                .hint("write `key: value`, with a space behind the `:`")
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => {
            indentation("a key was expected here, in line with the keys above", place, around)
        }
        ErrorKind::ExpectedBlockSequenceEntry => {
            indentation("a `- ` was expected here, in line with those above", place, around)
        }
        ErrorKind::BlockSequenceEntryNotAllowed => {
            Problem::error("yaml-indentation", "a list cannot start here")
                .at(around.letter(place))
                .hint("start it in a line of its own, or quote the text if it is none")
        }
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidUnicodeEscape => escape(place, around),
        ErrorKind::ExpectedFlowMappingSeparator => separator('}', place, around),
        ErrorKind::ExpectedFlowSequenceSeparator => separator(']', place, around),
        ErrorKind::BomInsideDocument => {
            Problem::error("yaml-character", "a byte order mark is only allowed at the very start")
                .at(around.letter(place))
        }
        other => Problem::error("yaml-syntax", format!("this is not YAML: {other}"))
            .at(around.letter(place)),
    }
}

fn unclosed_quote(place: usize, around: &Surroundings<'_>) -> Problem {
    Problem::error("yaml-unclosed-quote", "this quote is not closed")
        .at(around.letter(place))
        .hint("close it in the same line, or indent the lines of the text more than its key")
}

fn behind_quote(place: usize, around: &Surroundings<'_>) -> Problem {
    let problem =
        Problem::error("yaml-behind-quote", "there is something behind the closing quote")
            .at(around.letter(place))
            .hint("quote all of the text, or none of it");
    match around.quote_before(place) {
        Some(quote) => problem.see(around.letter(quote), "the text starts here"),
        None => problem,
    }
}

fn separator(bracket: char, place: usize, around: &Surroundings<'_>) -> Problem {
    let message = format!("a `,` or a `{bracket}` was expected here");
    Problem::error("yaml-unclosed-bracket", message).at(around.letter(place))
}

fn indentation(message: &str, place: usize, around: &Surroundings<'_>) -> Problem {
    let problem = Problem::error("yaml-indentation", message).at(around.rest_of_line(place));
    let line = &around.text[around.line_start(place)..place];
    if line.trim().is_empty() {
        problem.hint("check how far this line is indented")
    } else {
        problem.hint("quote the text if all of it is meant to be the value")
    }
}

fn colon(place: usize, around: &Surroundings<'_>) -> Problem {
    let problem =
        Problem::error("yaml-colon", "a `:` is not allowed here").at(around.letter(place));
    if around.bracket.is_some_and(|bracket| around.is_line_apart(bracket, place)) {
        return problem.hint("close the bracket before the next key");
    }
    let last = around.last.clone();
    let text = around.text.get(last.clone()).unwrap_or_default();
    if !around.is_line_apart(last.start, place) || text.is_empty() {
        return problem.hint("quote texts with a `: ` in them");
    }
    let first_line = text.lines().next().unwrap_or_default();
    let see = Span::new(around.file, last.start..last.start + first_line.len());
    if let Some((key, _)) = first_line.split_once(':') {
        let hint = format!("write a space behind the `:` of {}", quote(key));
        return problem.see(see, "this line is no key").hint(hint);
    }
    problem
        .see(see, "the text that starts here goes on to the `:`")
        .hint("check how far this line is indented")
}

fn character_problem(letter: char, place: usize, around: &Surroundings<'_>) -> Problem {
    let shown = quote(&letter.to_string());
    let problem = if letter.is_control() {
        Problem::error("yaml-character", format!("the control character {shown} is not allowed"))
            .hint("in a text between double quotes it can be written as an escape sequence")
    } else {
        Problem::error("yaml-character", format!("a text cannot start with {shown}"))
            .hint("quote the text")
    };
    problem.at(around.letter(place))
}

fn escape(place: usize, around: &Surroundings<'_>) -> Problem {
    // The parser points at the quote that starts the text.
    let text = around.text.get(place..).unwrap_or_default();
    let wrong = wrong_escape(text).unwrap_or(0..0);
    let message = match text.get(wrong.clone()) {
        Some(sequence) if !wrong.is_empty() => format!("{} is no escape sequence", quote(sequence)),
        _ => "this text has a wrong escape sequence".to_owned(),
    };
    Problem::error("yaml-escape", message)
        .at(Span::new(around.file, place + wrong.start..place + wrong.end))
        .hint("write `\\\\` for a backslash, or use single quotes")
}

/// The first sequence in a quoted text that means nothing.
fn wrong_escape(text: &str) -> Option<Range<usize>> {
    let mut letters = text.char_indices().skip(1);
    while let Some((start, letter)) = letters.next() {
        if letter == '"' {
            return None;
        }
        if letter != '\\' {
            continue;
        }
        let (at, kind) = letters.next()?;
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '0' | 'a' | 'b' | 't' | '\t' | 'n' | 'v' | 'f' | 'r' | 'e' | ' ' | '"' | '/' | '\\'
            | 'N' | '_' | 'L' | 'P' | '\n' | '\r' => continue,
            _ => return Some(start..at + kind.len_utf8()),
        };
        let rest = &text[at + 1..];
        let good = rest.bytes().take(digits).take_while(u8::is_ascii_hexdigit).count();
        if good < digits {
            return Some(start..at + 1 + good);
        }
        if u32::from_str_radix(&rest[..digits], 16).ok().and_then(char::from_u32).is_none() {
            return Some(start..at + 1 + digits);
        }
    }
    None
}

impl Surroundings<'_> {
    /// The one letter at `place`; the place itself at the end of a line.
    fn letter(&self, place: usize) -> Span {
        let letter = self.text.get(place..).and_then(|rest| rest.chars().next());
        let length =
            letter.filter(|letter| !matches!(letter, '\n' | '\r')).map_or(0, char::len_utf8);
        Span::new(self.file, place..place + length)
    }

    fn rest_of_line(&self, place: usize) -> Span {
        let rest = self.text.get(place..).unwrap_or_default();
        let line = rest.split(['\n', '\r']).next().unwrap_or_default();
        Span::new(self.file, place..place + line.trim_end().len())
    }

    fn line_start(&self, place: usize) -> usize {
        let before = self.text.get(..place).unwrap_or_default();
        before.rfind(['\n', '\r']).map_or(0, |end| end + 1)
    }

    fn is_line_apart(&self, from: usize, to: usize) -> bool {
        self.text.get(from..to).is_some_and(|between| between.contains(['\n', '\r']))
    }

    /// The first tab that indents a line, from the line of `place` on.
    fn tab_after(&self, place: usize) -> Option<usize> {
        let mut start = self.line_start(place);
        for line in self.text[start..].split_inclusive(['\n', '\r']) {
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            if let Some(tab) = line[..indent].find('\t') {
                return Some(start + tab);
            }
            start += line.len();
        }
        None
    }

    /// The quote that starts the text which is being read at `place`: the first one behind what
    /// was read last.
    fn quote_before(&self, place: usize) -> Option<usize> {
        let mut start = self.last.end;
        for line in self.text.get(start..place)?.split_inclusive('\n') {
            let quote = line.find(['"', '\'']);
            let comment = line.find(" #").unwrap_or(line.len());
            if let Some(quote) = quote.filter(|quote| *quote < comment) {
                return Some(start + quote);
            }
            start += line.len();
        }
        None
    }
}
