//! Letters of strangers: which of them do something else than to show a sign, and how many columns
//! of a terminal a text takes.
//!
//! The one table of dangerous letters is here, because this is the lowest room that shows foreign text.
//! What stands for such a letter (an escape, a space, nothing) is up to whoever shows it.

use unicode_width::UnicodeWidthChar as _;

/// What a letter does instead of showing a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// It ends a line, or leaves room within one.
    Break,
    /// It turns the direction of reading, also of what follows.
    Direction,
    /// It takes no place at all: joiners, fillers, the mark at the start of a file.
    Empty,
    /// It takes a place in which nothing is to be seen.
    Blank,
    /// It steers a terminal, tags or annotates other letters, or is none.
    Control,
}

/// What a letter does instead of showing a sign, if it does.
///
/// Marks that are written over the letter before them are not hidden, nor are ordinary spaces.
#[must_use]
pub fn hidden(letter: char) -> Option<Hidden> {
    Some(match letter {
        '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Hidden::Break,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => {
            Hidden::Direction
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{feff}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' => Hidden::Empty,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => Hidden::Blank,
        '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => Hidden::Control,
        // No letters, and never to be any.
        '\u{fdd0}'..='\u{fdef}' => Hidden::Control,
        _ if letter.is_control() || u32::from(letter) & 0xfffe == 0xfffe => Hidden::Control,
        _ => return None,
    })
}

/// Whether a letter does something else than to show a sign.
#[must_use]
pub fn is_hidden(letter: char) -> bool {
    hidden(letter).is_some()
}

/// The variation selector that makes a symbol a picture, which is two columns wide.
pub const PICTURE: char = '\u{fe0f}';

/// The columns of a terminal that a letter takes on its own; none for a mark on the one before it.
#[must_use]
pub fn columns_of(letter: char) -> usize {
    letter.width().unwrap_or(1)
}

/// The columns of a terminal that a text takes. Where terminals disagree, the larger number.
#[must_use]
pub fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    clusters(text).map(|(_, columns)| columns).sum()
}

/// Letters with the marks on them, and their columns.
pub fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> + Clone {
    Clusters(text)
}

#[derive(Clone)]
struct Clusters<'a>(&'a str);

impl<'a> Iterator for Clusters<'a> {
    type Item = (&'a str, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let mut letters = self.0.char_indices();
        let (_, first) = letters.next()?;
        let mut columns = columns_of(first);
        let mut end = self.0.len();
        for (at, letter) in letters {
            if columns_of(letter) > 0 {
                end = at;
                break;
            }
            if letter == PICTURE {
                columns = columns.max(2);
            }
        }
        let (cluster, rest) = self.0.split_at(end);
        self.0 = rest;
        Some((cluster, columns))
    }
}
