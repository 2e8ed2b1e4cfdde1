//! A line taken apart: letters that are shown, colours, and everything else that a terminal would obey, which is
//! left out.
//!
//! A line end breaks off whatever sequence has begun, so no line can do anything to the next but colour it.

use memchr::{memchr, memchr2, memchr2_iter, memrchr};
use tidewheel_flow::picture::letters::{PICTURE, columns_of, is_hidden};

use super::style::Style;

/// Marks that may stand on one letter; more only serve to deface the lines around.
const MARKS_MAX: usize = 3;
/// Joins pictures to one.
const JOINER: char = '\u{200d}';
const ESCAPE: u8 = 0x1b;
/// The first byte of control characters beyond 0x7f.
const BEYOND: u8 = 0xc2;

/// What a line is made of.
enum Part<'a> {
    Letters(&'a [u8]),
    /// What stands between `ESC [` and `m`.
    Colour(&'a [u8]),
}

/// The parts of a line.
struct Parts<'a>(&'a [u8]);

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        while !self.0.is_empty() {
            let Some((at, length)) = introducer(self.0) else {
                return Some(Part::Letters(std::mem::take(&mut self.0)));
            };
            if at > 0 {
                let (letters, rest) = self.0.split_at(at);
                self.0 = rest;
                return Some(Part::Letters(letters));
            }
            if let Some(colour) = self.sequence(length) {
                return Some(Part::Colour(colour));
            }
        }
        None
    }
}

impl<'a> Parts<'a> {
    /// Passes over the sequence that begins here; what it says if it is a colour.
    fn sequence(&mut self, introducer: usize) -> Option<&'a [u8]> {
        let (begin, rest) = self.0.split_at(introducer);
        // Beyond 0x7f a character alone means what another does behind an escape.
        let (kind, rest) = match begin {
            [ESCAPE] => match rest.split_first() {
                Some((kind, after)) if kind.is_ascii() && !kind.is_ascii_control() => {
                    (*kind, after)
                }
                // It is the beginning of nothing.
                _ => (b'@', rest),
            },
            [_, second] => (second - 0x40, rest),
            _ => (b'@', rest),
        };
        let among = |from: u8, to: u8| {
            move |bytes: &[u8]| {
                let is_other = |byte: &u8| !(from..=to).contains(byte);
                bytes.iter().position(is_other).unwrap_or(bytes.len())
            }
        };
        match kind {
            b'[' => {
                let (parameters, after) = rest.split_at(among(b' ', b'?')(rest));
                let last = after.first().copied().filter(|last| (b'@'..=b'~').contains(last));
                self.0 = &after[usize::from(last.is_some())..];
                let is_plain = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':');
                let is_colour = last == Some(b'm') && parameters.iter().all(is_plain);
                return (is_colour && begin == [ESCAPE]).then_some(parameters);
            }
            b']' | b'P' | b'X' | b'^' | b'_' => self.0 = &rest[string_length(rest)..],
            b' '..=b'/' => {
                let after = &rest[among(b' ', b'/')(rest)..];
                let has_last = after.first().is_some_and(|last| matches!(last, b'0'..=b'~'));
                self.0 = &after[usize::from(has_last)..];
            }
            _ => self.0 = rest,
        }
        None
    }
}

/// Where the next control sequence begins, and how many bytes say so.
fn introducer(bytes: &[u8]) -> Option<(usize, usize)> {
    memchr2_iter(ESCAPE, BEYOND, bytes).find_map(|at| match bytes[at] {
        ESCAPE => Some((at, 1)),
        _ => match bytes.get(at + 1) {
            Some(0x90 | 0x98 | 0x9b | 0x9d..=0x9f) => Some((at, 2)),
            _ => None,
        },
    })
}

/// How long a text for the terminal itself is; one that does not end is the rest of the line.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at..] {
            [0x07, ..] => return at + 1,
            [ESCAPE, b'\\', ..] | [BEYOND, 0x9c, ..] => return at + 2,
            _ => at += 1,
        }
    }
    at
}

/// A line without its end, in two: what was written over, and what stands there at last.
pub(super) fn last_state(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |at| at + 1);
    let line = &line[..end];
    line.split_at(memrchr(b'\r', line).map_or(0, |at| at + 1))
}

/// The letters of a line with their styles, beginning in this one, which goes on behind it.
pub(super) fn spans(line: &[u8], style: &mut Style) -> Vec<(Style, String)> {
    let mut spans: Vec<(Style, String)> = Vec::new();
    for part in Parts(line) {
        match part {
            Part::Colour(colour) => {
                style.take(colour);
            }
            Part::Letters(letters) => match spans.last_mut() {
                Some((last, text)) if last == style => text.push_str(&visible(letters)),
                _ => spans.push((*style, visible(letters))),
            },
        }
    }
    spans
}

/// What whole lines do to the style of those that follow.
pub(super) fn carry(lines: &[u8], style: &mut Style) {
    let Some(first) = memchr(ESCAPE, lines) else { return };
    let from = memrchr(b'\n', &lines[..first]).map_or(0, |at| at + 1);
    let lines = &lines[from..];
    // What stands before the last word that undoes everything need not be looked at.
    let undone = ["\x1b[0m", "\x1b[m"]
        .iter()
        .filter_map(|word| memchr::memmem::rfind(lines, word.as_bytes()));
    if let Some(undone) = undone.max() {
        let from = memrchr(b'\n', &lines[..undone]).map_or(0, |at| at + 1);
        let mut last = *style;
        // Unless it is part of a longer sequence.
        if carry_lines(&lines[from..], &mut last) {
            *style = last;
            return;
        }
    }
    carry_lines(lines, style);
}

/// The same line by line; says whether everything before them was undone.
fn carry_lines(lines: &[u8], style: &mut Style) -> bool {
    let mut is_undone = false;
    for line in lines.split(|byte| *byte == b'\n') {
        for part in Parts(line) {
            if let Part::Colour(colour) = part {
                is_undone |= style.take(colour);
            }
        }
    }
    is_undone
}

/// Lines as they are searched: without sequences, and of what was written over the last state. `None` if they are
/// that already.
pub(super) fn plain<'a>(lines: &[u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    memchr2(ESCAPE, b'\r', lines)?;
    room.clear();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let (line, end) = match line.split_last() {
            Some((b'\n', line)) => (line, &b"\n"[..]),
            _ => (line, &b""[..]),
        };
        for part in Parts(last_state(line).1) {
            if let Part::Letters(letters) = part {
                room.extend_from_slice(letters);
            }
        }
        room.extend_from_slice(end);
    }
    Some(room)
}

/// Letters that can be shown anywhere: control characters as signs, what cannot be seen escaped.
fn visible(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if bytes.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\t') {
        return text.into_owned();
    }
    let mut clean = String::with_capacity(text.len());
    let (mut marks, mut is_picture) = (0, false);
    for letter in text.chars() {
        let is_hidden = is_hidden(letter) && !(letter == JOINER && is_picture);
        let is_mark = !is_hidden && columns_of(letter) == 0;
        marks = if is_mark { marks + 1 } else { 0 };
        is_picture = letter == PICTURE || columns_of(letter) == 2;
        match letter {
            '\t' => clean.push(letter),
            '\0'..='\x1f' => clean.extend(char::from_u32(0x2400 + u32::from(letter))),
            '\x7f' => clean.push('\u{2421}'),
            _ if is_hidden => clean.extend(letter.escape_unicode()),
            _ if marks > MARKS_MAX => {}
            _ => clean.push(letter),
        }
    }
    clean
}
