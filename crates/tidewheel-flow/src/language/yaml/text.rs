//! [`Text`]: a text that knows where each of its letters was written.
//!
//! How letters are found again in the file is in [`super::align`].

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::language::problem::Span;

use super::align::Piece;

/// A text that knows where each of its letters was written. Cloning it copies no letters.
#[derive(Clone, PartialEq)]
pub struct Text {
    letters: Arc<str>,
    span: Span,
    places: Places,
}

/// Where the letters are.
#[derive(Debug, Clone, PartialEq)]
enum Places {
    /// Somewhere in the span.
    Unknown,
    /// All in one go from this byte on.
    Verbatim(u32),
    /// In pieces, one behind the other.
    Pieces(Arc<[Piece]>),
}

impl Text {
    /// A text that stands for all of `span`, as one that was not written but made.
    pub fn new(letters: impl Into<Arc<str>>, span: Span) -> Self {
        Self { letters: letters.into(), span, places: Places::Unknown }
    }

    /// A text of which `pieces` say where it was written; `None` if it could not be found out.
    pub(super) fn written(letters: &str, span: Span, pieces: Option<Vec<Piece>>) -> Self {
        let places = match pieces.as_deref() {
            None => Places::Unknown,
            Some([piece]) if piece.is_verbatim() && piece.length as usize == letters.len() => {
                Places::Verbatim(piece.source)
            }
            Some(pieces) => Places::Pieces(pieces.into()),
        };
        Self { letters: letters.into(), span, places }
    }

    /// The letters.
    pub fn as_str(&self) -> &str {
        &self.letters
    }

    /// Where all of it was written, quotes included.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Where a range of its bytes was written.
    ///
    /// Exact for whatever is written as it reads; a letter written as an escape sequence is all
    /// of that sequence, a line break that was folded is all that separates the lines.
    pub fn span_of(&self, range: Range<usize>) -> Span {
        let start = range.start.min(self.letters.len());
        let end = range.end.clamp(start, self.letters.len());
        let (start, end) = match &self.places {
            Places::Unknown => return self.span,
            Places::Verbatim(source) => (*source + start as u32, *source + end as u32),
            Places::Pieces(pieces) => {
                let first = self.start_of(pieces, start as u32);
                let last = if start == end { first } else { self.end_of(pieces, end as u32) };
                (first, last)
            }
        };
        Span { file: self.span.file, start, end: end.max(start) }
    }

    /// Where the letter at `offset` starts.
    fn start_of(&self, pieces: &[Piece], offset: u32) -> u32 {
        let after = pieces.partition_point(|piece| piece.text <= offset);
        let piece = after.checked_sub(1).map(|index| pieces[index]);
        piece.map_or(self.span.start, |piece| piece.start_of(offset))
    }

    /// Where the letter before `offset` ends.
    fn end_of(&self, pieces: &[Piece], offset: u32) -> u32 {
        let after = pieces.partition_point(|piece| piece.text < offset);
        let piece = after.checked_sub(1).map(|index| pieces[index]);
        piece.map_or(self.span.end, |piece| piece.end_of(offset))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.letters
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.letters
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.letters.fmt(formatter)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.letters.fmt(formatter)
    }
}
