//! Making strangers' text harmless, measuring it, and cutting it to a width.
//!
//! Escaping for a format is in the file of that format.

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
    match letter {
        '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(' '),
        // Joiners, fillers and the mark at the start of a file have no width and no meaning here.
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => None,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => Some(' '),
        // These turn the reading order around, also of what follows.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => {
            Some('\u{fffd}')
        }
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => Some('\u{fffd}'),
        _ if letter.is_control() || u32::from(letter) & 0xfffe == 0xfffe => Some('\u{fffd}'),
        _ if letter.is_whitespace() => Some(' '),
        _ => Some(letter),
    }
}

/// How many columns of a terminal the text takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The text in at most so many columns, with an ellipsis in place of what is left out.
pub(super) fn cut_to_columns(text: &str, columns_max: usize) -> String {
    cut(text, columns_max, columns_of)
}

/// About how wide the text is at a font size of 1000, in a sans-serif font.
pub(super) fn breadth(text: &str) -> usize {
    text.chars().map(breadth_of).sum()
}

/// The text in at most such a breadth, with an ellipsis in place of what is left out.
pub(super) fn cut_to_breadth(text: &str, breadth_max: usize) -> String {
    cut(text, breadth_max, breadth_of)
}

/// Cuts from the middle, nearer to the end: names that differ often differ at the end only.
fn cut(text: &str, size_max: usize, size_of: fn(char) -> usize) -> String {
    if text.chars().map(size_of).sum::<usize>() <= size_max {
        return text.to_owned();
    }
    let room = size_max.saturating_sub(size_of('…'));
    let tail_room = room / 3;
    let mut tail_size = 0;
    let tail: Vec<char> = text
        .chars()
        .rev()
        .take_while(|letter| {
            tail_size += size_of(*letter);
            tail_size <= tail_room
        })
        .collect();
    let tail_size: usize = tail.iter().copied().map(size_of).sum();
    let mut head_size = 0;
    let head = text.chars().take_while(|letter| {
        head_size += size_of(*letter);
        head_size + tail_size <= room
    });
    head.chain(std::iter::once('…')).chain(tail.iter().rev().copied()).collect()
}

fn columns_of(letter: char) -> usize {
    match u32::from(letter) {
        // Marks that are put on the letter before them.
        0x300..=0x36f
        | 0x483..=0x489
        | 0x591..=0x5bd
        | 0x610..=0x61a
        | 0x64b..=0x65f
        | 0x6d6..=0x6dc
        | 0x93c
        | 0x941..=0x94d
        | 0xe31
        | 0xe34..=0xe3a
        | 0xe47..=0xe4e
        | 0x1ab0..=0x1aff
        | 0x1dc0..=0x1dff
        | 0x20d0..=0x20ff
        | 0xfe00..=0xfe0f
        | 0xfe20..=0xfe2f => 0,
        // Scripts that are written in squares, and most pictures of things.
        0x1100..=0x115f
        | 0x231a..=0x231b
        | 0x23e9..=0x23f3
        | 0x25fd..=0x25fe
        | 0x2614..=0x2615
        | 0x2648..=0x2653
        | 0x26a1
        | 0x26aa..=0x26ab
        | 0x26bd..=0x26be
        | 0x26c4..=0x26c5
        | 0x26ce
        | 0x26d4
        | 0x26ea
        | 0x26f2..=0x26f5
        | 0x26fa..=0x26fd
        | 0x2705
        | 0x270a..=0x270b
        | 0x2728
        | 0x274c..=0x2757
        | 0x2795..=0x2797
        | 0x27b0..=0x27bf
        | 0x2b1b..=0x2b1c
        | 0x2b50..=0x2b55
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xa960..=0xa97f
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f000..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
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
