//! Foreign text made harmless: nothing in it moves a cursor, hides or reorders letters.
//!
//! How long a text may be is decided where there is only so much room; see [`super::cut`].

use std::borrow::Cow;

use tidewheel_flow::picture::letters::{PICTURE, columns_of, is_hidden};

/// Bytes of output, or of a sentence, that are looked at.
const LENGTH_MAX: usize = 4096;
/// Marks that may stand on one character; more only serve to deface the lines around.
const MARKS_MAX: usize = 3;
/// Joins pictures to one.
const JOINER: char = '\u{200d}';

/// Output made harmless: without control sequences, and what a carriage return overwrote is gone.
#[must_use]
pub fn output(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    let line = line.rsplit('\r').next().unwrap_or(line);
    visible(&without_sequences(beginning(line)))
}

/// A line of output for a terminal: colours pass, every other control sequence is left out, and what would
/// overwrite the line stands beside it.
#[must_use]
pub fn coloured(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut has_colour = false;
    let mut rest = line.trim_end_matches('\r');
    while let Some(at) = rest.find('\x1b') {
        shown.push_str(&visible(&without_sequences(&rest[..at])));
        let sequence = &rest[at..];
        let parameters = sequence.strip_prefix("\x1b[").unwrap_or_default();
        let end = parameters.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        let length = match end {
            Some(end) if parameters[end..].starts_with('m') => {
                let colour = &sequence[..end + 3];
                shown.push_str(colour);
                has_colour = true;
                colour.len()
            }
            _ => sequence_length(sequence),
        };
        rest = &sequence[length..];
    }
    shown.push_str(&visible(&without_sequences(rest)));
    if has_colour {
        shown.push_str("\x1b[0m");
    }
    shown
}

/// How many bytes of a text the control sequence at its beginning takes.
fn sequence_length(text: &str) -> usize {
    let mut chars = text.chars().peekable();
    skip_sequence(&mut chars);
    text.len() - chars.map(char::len_utf8).sum::<usize>()
}

/// A sentence of somebody else made harmless: one line, without control sequences.
#[must_use]
pub fn sentence(text: &str) -> String {
    let text = without_sequences(beginning(text.trim()));
    let mut lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("").to_owned();
    visible(&lines.fold(first, |all, line| all + " / " + line))
}

/// A name made harmless. Whatever cannot be seen is shown escaped, so that names that differ look
/// different.
#[must_use]
pub fn name(name: &str) -> String {
    visible(name)
}

/// Foreign text of several lines, each of them harmless.
#[must_use]
pub fn block(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(harmless).collect();
    lines.join("\n")
}

/// Foreign text in one line, without anything a terminal would obey: colours are left out, everything
/// else is shown for what it is.
#[must_use]
pub fn harmless(text: &str) -> String {
    let text = without_colours(text);
    let mut shown = String::with_capacity(text.len());
    for letter in text.trim_end().chars() {
        match letter {
            '\n' | '\t' => shown.push(' '),
            letter if is_hidden(letter) => shown.extend(letter.escape_unicode()),
            letter => shown.push(letter),
        }
    }
    shown
}

/// As much as anybody could see of a line.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LENGTH_MAX)]
}

/// Escapes what cannot be seen: control characters, changes of direction, empty characters.
fn visible(text: &str) -> String {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len());
    let mut marks = 0;
    let mut is_picture = false;
    for char in text.chars() {
        // Pictures are joined to one by a character that hides something anywhere else.
        let is_hidden = is_hidden(char) && !(char == JOINER && is_picture);
        let is_mark = !is_hidden && columns_of(char) == 0;
        marks = if is_mark { marks + 1 } else { 0 };
        is_picture = char == PICTURE || columns_of(char) == 2;
        match char {
            '\t' => clean.push_str("    "),
            _ if is_hidden => clean.extend(char.escape_default()),
            _ if marks > MARKS_MAX => {}
            _ => clean.push(char),
        }
    }
    clean
}

/// Removes control sequences; of one that does not end, everything.
fn without_sequences(text: &str) -> Cow<'_, str> {
    if !text.contains(is_introducer) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match is_introducer(char) {
            true => skip_rest(char, &mut chars),
            false => clean.push(char),
        }
    }
    Cow::Owned(clean)
}

fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if let Some(introducer) = chars.next() {
        skip_rest(introducer, chars);
    }
}

/// Skips what follows the beginning of a control sequence.
fn skip_rest(introducer: char, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    let kind = if introducer == '\x1b' { chars.next() } else { second_half(introducer) };
    match kind {
        Some('[') => skip_parameters(chars),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        // The charset and other intermediates are followed by one more.
        Some(' '..='/') => {
            while chars.next_if(|char| (' '..='/').contains(char)).is_some() {}
            chars.next();
        }
        _ => {}
    }
}

fn is_introducer(char: char) -> bool {
    matches!(char, '\x1b' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}')
}

/// The letter that, after an escape, means the same as this character alone.
fn second_half(char: char) -> Option<char> {
    char::from_u32(u32::from(char).checked_sub(0x40)?)
}

fn skip_parameters(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|char| (' '..='?').contains(char)).is_some() {}
    chars.next_if(|char| ('@'..='~').contains(char));
}

fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(char) = chars.next() {
        match char {
            '\x07' | '\u{9c}' => return,
            '\x1b' if chars.next_if_eq(&'\\').is_some() => return,
            _ => {}
        }
    }
}

/// Text without the sequences that only colour it.
fn without_colours(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "\u{1b}[";
    if !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(BEGIN);
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.trim_start_matches(|it: char| it.is_ascii_digit() || it == ';').strip_prefix('m')
        {
            Some(rest) => clean.push_str(rest),
            None => {
                clean.push_str(BEGIN);
                clean.push_str(part);
            }
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_command_a_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\u{1b}[0m \u{1b}[1;38;5;9mc\u{1b}[m\n"), "ab c");
        assert_eq!(harmless("a\u{1b}[2Jb\u{1b}[31\n"), "a\\u{1b}[2Jb\\u{1b}[31");
        assert_eq!(harmless("a\nb"), "a b");
        assert_eq!(block("a\u{1b}[2J\r\n\tb\n"), "a\\u{1b}[2J\n b");
        assert_eq!(harmless("\u{202e}x"), "\\u{202e}x");
    }

    #[test]
    fn control_sequences_vanish_from_output() {
        let cases = [
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]52;c;Y2xpcA==\x1b\\text", "text"),
            ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPq#0\x1b\\after", "after"),
            ("\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\x", "x"),
            ("\u{9b}2Jtext", "text"),
            ("\u{9d}0;title\u{9c}text", "text"),
            ("\x1b(0lqk\x1b(B", "lqk"),
            ("\x1b[?1049h\x1b[6n\x1b[>ctext", "text"),
            ("\x1bctext", "text"),
            ("\x1b]0;never ends", ""),
            ("\x1b[12", ""),
            ("text\x1b", "text"),
            ("10%\r20%\r30%", "30%"),
            ("dos\r\n", "dos"),
            ("a\tb", "a    b"),
            (&"é".repeat(5000), &"é".repeat(2048)),
            ("\x07\x08\x00", "\\u{7}\\u{8}\\u{0}"),
        ];
        for (text, clean) in cases {
            assert_eq!(output(text), clean, "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_seen_in_a_name_is_escaped() {
        assert_eq!(name("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(name("a\nb"), "a\\nb");
        assert_eq!(name("safe\u{202e}evil"), "safe\\u{202e}evil");
        assert_eq!(name("in\u{200b}visible"), "in\\u{200b}visible");
        assert_eq!(name("grün 東京 e\u{301}"), "grün 東京 e\u{301}");
        assert_eq!(name(&format!("e{}", "\u{301}".repeat(50))), "e\u{301}\u{301}\u{301}");
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_is_left() {
        for first in (0..=0x9f).filter_map(char::from_u32) {
            for second in (0..=0x9f).filter_map(char::from_u32) {
                let text: String = ['a', first, second, 'm', 'z'].iter().collect();
                for clean in [output(&text), sentence(&text), name(&text), harmless(&text)] {
                    assert!(!clean.contains(char::is_control), "{text:?} became {clean:?}");
                }
            }
        }
    }

    #[test]
    fn a_sentence_is_one_line() {
        assert_eq!(sentence("  exit code 1\n\n  see log\r\n"), "exit code 1 / see log");
    }
}
