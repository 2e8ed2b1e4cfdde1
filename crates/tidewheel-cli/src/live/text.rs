//! Text for a terminal: made harmless, measured and cut in columns, and times in words.
//!
//! Nothing here knows about steps or colours.

use std::borrow::Cow;
use std::time::Duration;

use tidewheel_flow::is_hidden;
use unicode_width::UnicodeWidthChar as _;

/// Bytes of output, or of a sentence, that are looked at.
const LENGTH_MAX: usize = 4096;
/// Marks that may stand on one character; more only serve to deface the lines around.
const MARKS_MAX: usize = 3;
/// The variation selector that makes a symbol a picture, which is two columns wide.
const PICTURE: char = '\u{fe0f}';
/// Joins pictures to one.
const JOINER: char = '\u{200d}';

/// Output made harmless: without control sequences, and what a carriage return overwrote is gone.
pub(crate) fn output(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    let line = line.rsplit('\r').next().unwrap_or(line);
    visible(&without_sequences(beginning(line)))
}

/// A sentence of somebody else made harmless: one line, without control sequences.
pub(crate) fn sentence(text: &str) -> String {
    let text = without_sequences(beginning(text.trim()));
    let mut lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("").to_owned();
    visible(&lines.fold(first, |all, line| all + " / " + line))
}

/// A name made harmless. Whatever cannot be seen is shown escaped, so that names that differ look
/// different.
pub(crate) fn name(name: &str) -> String {
    visible(name)
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
        let is_mark = !is_hidden && char.width() == Some(0);
        marks = if is_mark { marks + 1 } else { 0 };
        is_picture = char == PICTURE || char.width() == Some(2);
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
        if !is_introducer(char) {
            clean.push(char);
            continue;
        }
        let kind = if char == '\x1b' { chars.next() } else { second_half(char) };
        match kind {
            Some('[') => skip_parameters(&mut chars),
            Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
            // The charset and other intermediates are followed by one more.
            Some(' '..='/') => {
                while chars.next_if(|char| (' '..='/').contains(char)).is_some() {}
                chars.next();
            }
            _ => {}
        }
    }
    Cow::Owned(clean)
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

/// The columns a text takes. Where terminals disagree, the larger number.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    Clusters(text).map(|(_, width)| width).sum()
}

/// The longest beginning of a text that fits into so many columns, with `mark` in place of the
/// rest if there is one. Marks stay with their character.
pub(crate) fn cut<'a>(text: &'a str, width: usize, mark: &str) -> Cow<'a, str> {
    // No character takes more columns than bytes.
    if text.len() <= width || columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(columns(mark));
    let mut used = 0;
    let mut end = 0;
    for (cluster, columns) in Clusters(text) {
        if used + columns > room {
            break;
        }
        used += columns;
        end += cluster.len();
    }
    let mark = if columns(mark) <= width { mark } else { "" };
    Cow::Owned(format!("{}{mark}", &text[..end]))
}

/// Characters with the marks on them, and their columns.
struct Clusters<'a>(&'a str);

impl<'a> Iterator for Clusters<'a> {
    type Item = (&'a str, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let mut chars = self.0.char_indices();
        let (_, first) = chars.next()?;
        let mut width = first.width().unwrap_or(1);
        let mut end = self.0.len();
        for (at, char) in chars {
            if char.width() != Some(0) {
                end = at;
                break;
            }
            if char == PICTURE {
                width = width.max(2);
            }
        }
        let (cluster, rest) = self.0.split_at(end);
        self.0 = rest;
        Some((cluster, width))
    }
}

/// A duration that is over, with tenths where they matter: `2.1 s`, `1m20s`, `3h05m`.
pub(crate) fn took(duration: Duration) -> String {
    let tenths = (duration.as_millis() + 50) / 100;
    if tenths < 600 {
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    about(duration.max(Duration::from_secs(60)))
}

/// A duration that goes on, or that nobody knows exactly, in whole seconds: `2 s`, `1m20s`.
pub(crate) fn about(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes}m{:02}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h{minutes:02}m"),
        (days, hours, _) => format!("{days}d{hours:02}h"),
    }
}

/// A time still to come, rounded up so that nothing is due before it happens.
pub(crate) fn until(duration: Duration) -> String {
    if !duration.is_zero() && duration < Duration::from_secs(1) {
        return format!("{} ms", duration.as_millis().max(1));
    }
    about(Duration::from_secs(duration.as_millis().div_ceil(1000) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

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
                for clean in [output(&text), sentence(&text), name(&text)] {
                    assert!(!clean.contains(char::is_control), "{text:?} became {clean:?}");
                }
            }
        }
    }

    #[test]
    fn a_sentence_is_one_line() {
        assert_eq!(sentence("  exit code 1\n\n  see log\r\n"), "exit code 1 / see log");
    }

    #[test]
    fn cutting_counts_columns_and_keeps_marks_with_their_character() {
        assert_eq!(cut("abcdef", 6, "…"), "abcdef");
        assert_eq!(cut("abcdef", 5, "…"), "abcd…");
        assert_eq!(cut("東京都庁", 8, "…"), "東京都庁");
        assert_eq!(cut("東京都庁", 7, "…"), "東京都…");
        assert_eq!(cut("東京都庁", 6, "…"), "東京…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2, "…"), "e\u{301}…");
        assert_eq!(cut("e\u{301}e\u{301}", 2, "…"), "e\u{301}e\u{301}");
        assert_eq!(cut("abc", 0, "…"), "");
        assert_eq!(cut("abc", 1, "..."), "");
        assert_eq!(columns("❤\u{fe0f}"), 2);
    }

    #[test]
    fn times_are_short() {
        let cases = [
            (0, "0.0 s", "0 s", "0 s"),
            (49, "0.0 s", "0 s", "49 ms"),
            (2_120, "2.1 s", "2 s", "3 s"),
            (59_949, "59.9 s", "59 s", "1m00s"),
            (59_950, "1m00s", "59 s", "1m00s"),
            (80_000, "1m20s", "1m20s", "1m20s"),
            (3_900_000, "1h05m", "1h05m", "1h05m"),
            (97_200_000, "1d03h", "1d03h", "1d03h"),
        ];
        for (millis, past, present, future) in cases {
            let duration = Duration::from_millis(millis);
            assert_eq!(took(duration), past);
            assert_eq!(about(duration), present);
            assert_eq!(until(duration), future);
        }
    }
}
