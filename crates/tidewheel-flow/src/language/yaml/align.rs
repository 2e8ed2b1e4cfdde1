//! Finds the letters of a text again in the way it was written.
//!
//! The parser gives the text as it reads and the range in which it was written. Both are walked
//! side by side here, by the rules of the style; where they do not agree, nothing is claimed.

use granit_parser::ScalarStyle;

/// A run of bytes of a text, and what is written for it.
///
/// If both are equally long, they are the same; otherwise it is one letter written as an escape
/// sequence, or a folded line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first byte in the text.
    pub(super) text: u32,
    /// How many bytes of the text.
    pub(super) length: u32,
    /// The first byte in the file.
    pub(super) source: u32,
    /// How many bytes of the file.
    pub(super) written: u32,
}

impl Piece {
    /// Whether it is written as it reads.
    pub(super) fn is_verbatim(self) -> bool {
        self.written == self.length
    }

    /// Where the byte of the text at `offset`, which is in this piece or behind it, starts.
    pub(super) fn start_of(self, offset: u32) -> u32 {
        let inside = offset - self.text;
        match inside < self.length {
            true if self.is_verbatim() => self.source + inside,
            true => self.source,
            false => self.source + self.written,
        }
    }

    /// Where the byte of the text before `offset`, which is in this piece, ends.
    pub(super) fn end_of(self, offset: u32) -> u32 {
        let inside = offset - self.text;
        if self.is_verbatim() && inside < self.length {
            self.source + inside
        } else {
            self.source + self.written
        }
    }
}

/// Where the bytes of `text` are in `file`, which has them in `start..end`, quotes included.
pub(super) fn align(
    file: &str,
    start: usize,
    end: usize,
    style: ScalarStyle,
    text: &str,
) -> Option<Vec<Piece>> {
    let quote = usize::from(matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
    let (start, end) = (start + quote, end.checked_sub(quote)?);
    let written = file.get(start..end)?;
    if written == text {
        let (length, source) = (u32::try_from(text.len()).ok()?, u32::try_from(start).ok()?);
        return Some(vec![Piece { text: 0, length, source, written: length }]);
    }
    let mut walk = Walk {
        written: written.as_bytes(),
        text,
        base: start,
        at_written: 0,
        at_text: 0,
        pieces: Vec::new(),
        adjoins: false,
    };
    // The range of a block starts behind the indentation of its first line.
    let indent = start - file[..start].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    match style {
        ScalarStyle::Literal => walk.literal(indent)?,
        ScalarStyle::Folded => walk.folded()?,
        _ => walk.inline(style)?,
    }
    Some(walk.pieces)
}

struct Walk<'a> {
    written: &'a [u8],
    text: &'a str,
    base: usize,
    at_written: usize,
    at_text: usize,
    pieces: Vec<Piece>,
    /// Whether the next byte continues the last piece.
    adjoins: bool,
}

impl Walk<'_> {
    /// A block that starts with `|`: every line without the indentation.
    fn literal(&mut self, indent: usize) -> Option<()> {
        self.skip(0, self.text_blanks("\n"));
        while let Some(wanted) = self.text_byte() {
            let rest = &self.written[self.at_written..];
            let line = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            if line != Some(0) {
                // The last line of a file may lack its end, which the text has nevertheless.
                let is_end = rest.is_empty() && self.text.get(self.at_text..) == Some("\n");
                if is_end {
                    self.skip(0, 1);
                    break;
                }
                self.take(line.unwrap_or(rest.len()).max(1))?;
            } else if wanted == b'\n' {
                self.line_break()?;
                let line = &self.written[self.at_written..];
                let spaces = line.iter().take(indent).take_while(|byte| **byte == b' ').count();
                self.skip(spaces, 0);
            } else {
                return None;
            }
        }
        Some(())
    }

    /// A block that starts with `>`: line breaks may be spaces, and the other way round.
    fn folded(&mut self) -> Option<()> {
        self.skip(0, self.text_blanks("\n"));
        while self.text_byte().is_some() {
            let blanks = self.written_blanks();
            if self.at_written == self.written.len() {
                self.skip(0, self.text_blanks("\n"));
                break;
            }
            if blanks.line_breaks > 0 {
                self.skip(blanks.length, self.text_blanks(" \t\n"));
            } else {
                self.take(blanks.length.max(1))?;
            }
        }
        self.text_byte().is_none().then_some(())
    }

    /// A text in quotes, or without any.
    fn inline(&mut self, style: ScalarStyle) -> Option<()> {
        while self.text_byte().is_some() {
            match self.written.get(self.at_written)? {
                b'\\' if style == ScalarStyle::DoubleQuoted => self.escape()?,
                b'\'' if style == ScalarStyle::SingleQuoted => {
                    self.take(1)?;
                    self.skip(1, 0);
                }
                b' ' | b'\t' | b'\n' | b'\r' => self.blanks()?,
                _ => self.take(1)?,
            }
        }
        Some(())
    }

    /// Blanks inside a line stay; around line breaks they are folded into one space, or into one
    /// line break less than there are.
    fn blanks(&mut self) -> Option<()> {
        let blanks = self.written_blanks();
        let folded = match blanks.line_breaks {
            0 => return self.take(blanks.length),
            1 => (self.text_byte() == Some(b' ')).then_some(1),
            breaks => {
                let rest = self.text.as_bytes().get(self.at_text..)?;
                let same = rest.iter().take_while(|byte| **byte == b'\n').count();
                (same >= breaks - 1).then_some(breaks - 1)
            }
        }?;
        self.skip(blanks.length, folded);
        Some(())
    }

    /// A backslash and what belongs to it.
    fn escape(&mut self) -> Option<()> {
        let letter = self.text.get(self.at_text..)?.chars().next()?;
        let written = match self.written.get(self.at_written + 1)? {
            b'\n' | b'\r' => {
                self.skip(1, 0);
                let blanks = self.written_blanks();
                self.skip(blanks.length, 0);
                return Some(());
            }
            b'x' => 4,
            // A letter beyond the first plane may be a pair of them.
            b'u' if letter > '\u{ffff}' => 12,
            b'u' => 6,
            b'U' => 10,
            _ => 2,
        };
        self.skip(written, letter.len_utf8());
        Some(())
    }

    fn text_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at_text).copied()
    }

    /// Some bytes that are the same on both sides.
    fn take(&mut self, length: usize) -> Option<()> {
        let written = self.written.get(self.at_written..self.at_written + length)?;
        if written != self.text.as_bytes().get(self.at_text..self.at_text + length)? {
            return None;
        }
        match self.pieces.last_mut().filter(|_| self.adjoins) {
            Some(piece) => {
                let bytes = u32::try_from(length).ok()?;
                piece.length += bytes;
                piece.written += bytes;
            }
            None => self.push(length, length),
        }
        self.at_text += length;
        self.at_written += length;
        self.adjoins = true;
        Some(())
    }

    /// Bytes that are not the same on both sides.
    fn skip(&mut self, written: usize, text: usize) {
        let written = written.min(self.written.len() - self.at_written);
        if text > 0 {
            self.push(written, text);
        }
        self.at_written += written;
        self.at_text += text;
        self.adjoins &= written == 0 && text == 0;
    }

    fn push(&mut self, written: usize, text: usize) {
        // Files are kept far below 4 GiB.
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        self.pieces.push(Piece {
            text: number(self.at_text),
            length: number(text),
            source: number(self.base + self.at_written),
            written: number(written),
        });
    }

    /// How many bytes of the text from here on are one of `blanks`.
    fn text_blanks(&self, blanks: &str) -> usize {
        let rest = self.text.get(self.at_text..).unwrap_or_default();
        rest.len() - rest.trim_start_matches(|letter| blanks.contains(letter)).len()
    }

    /// One line break on both sides.
    fn line_break(&mut self) -> Option<()> {
        if self.written[self.at_written..].starts_with(b"\n") {
            return self.take(1);
        }
        let is_pair = self.written[self.at_written..].starts_with(b"\r\n");
        self.skip(if is_pair { 2 } else { 1 }, 1);
        Some(())
    }

    fn written_blanks(&self) -> Blanks {
        let rest = &self.written[self.at_written..];
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let length = rest.iter().take_while(is_blank).count();
        let pairs = rest[..length].windows(2).filter(|pair| pair == b"\r\n").count();
        let ends = rest[..length].iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
        Blanks { length, line_breaks: ends - pairs }
    }
}

/// A run of blanks as it was written.
struct Blanks {
    length: usize,
    line_breaks: usize,
}
