//! Labels in pictures: strangers' text made harmless, measured, and cut to a width.
//!
//! Which letters are dangerous is in [`super::letters`], escaping for a format in the file of that
//! format.

use super::letters::{Hidden, clusters, columns, columns_of, hidden};

/// How many marks may be put on one letter before the rest is dropped.
const MARKS_MAX: usize = 3;

/// The text on one line, without anything that steers a terminal, a parser or the reading order.
///
/// Line breaks and tabs become spaces, what is dangerous becomes `U+FFFD` so that it is seen, and
/// what nobody sees is left out. At most `letters_max` letters are kept.
pub(super) fn harmless(text: &str, letters_max: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(letters_max));
    let mut letters = 0;
    let mut marks = 0;
    for letter in text.chars().filter_map(tamed) {
        marks = if columns_of(letter) == 0 { marks + 1 } else { 0 };
        if marks > MARKS_MAX {
            continue;
        }
        if letters == letters_max {
            kept.push('…');
            break;
        }
        kept.push(letter);
        letters += 1;
    }
    kept
}

/// What stands for a character; none where it has no look of its own.
fn tamed(letter: char) -> Option<char> {
    match hidden(letter) {
        Some(Hidden::Break | Hidden::Blank) => Some(' '),
        Some(Hidden::Empty) => None,
        Some(Hidden::Direction | Hidden::Control) => Some('\u{fffd}'),
        None if letter.is_whitespace() => Some(' '),
        None => Some(letter),
    }
}

/// The text in at most so many columns, with an ellipsis in place of what is left out.
pub(super) fn cut_to_columns(text: &str, columns_max: usize) -> String {
    cut(text, columns_max, columns)
}

/// About how wide the text is at a font size of 1000, in a sans-serif font.
pub(super) fn breadth(text: &str) -> usize {
    text.chars().map(breadth_of).sum()
}

/// The text in at most such a breadth, with an ellipsis in place of what is left out.
pub(super) fn cut_to_breadth(text: &str, breadth_max: usize) -> String {
    cut(text, breadth_max, breadth)
}

/// Cuts from the middle, nearer to the end: names that differ often differ at the end only. Marks stay
/// with their letter.
fn cut(text: &str, size_max: usize, size_of: fn(&str) -> usize) -> String {
    if size_of(text) <= size_max {
        return text.to_owned();
    }
    let letters: Vec<&str> = clusters(text).map(|(letter, _)| letter).collect();
    let room = size_max.saturating_sub(size_of("…"));
    let fitting = |letters: &mut dyn Iterator<Item = &&str>, room: usize| {
        let mut size = 0;
        letters
            .take_while(|letter| {
                size += size_of(letter);
                size <= room
            })
            .count()
    };
    let tail = &letters[letters.len() - fitting(&mut letters.iter().rev(), room / 3)..];
    let tail_size: usize = tail.iter().map(|letter| size_of(letter)).sum();
    let head = &letters[..fitting(&mut letters.iter(), room - tail_size)];
    [head, &["…"], tail].concat().concat()
}

/// Thousandths of the font size; rather too much than too little, since fonts differ.
fn breadth_of(letter: char) -> usize {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | '!' | 'I' => 315,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '{' | '}' | ' ' | '`' | '/' | '\\' | '·' => 385,
        '-' | '"' | '*' => 450,
        's' | 'c' | 'k' | 'v' | 'x' | 'y' | 'z' | 'J' | '?' => 565,
        'm' | 'M' | 'w' => 900,
        'W' | '@' | '%' | '…' | '—' => 1000,
        'a'..='z' | '0'..='9' | '_' => 625,
        'A'..='Z' | '&' | '#' | '+' | '=' | '~' | '<' | '>' => 735,
        _ if letter.is_ascii() => 600,
        _ => match columns_of(letter) {
            0 => 0,
            1 => 640,
            _ => 1040,
        },
    }
}
