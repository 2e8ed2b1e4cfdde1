//! Text that is safe to show: no character of it moves a cursor, hides or reorders others.
//!
//! Which characters those are is in [`tidewheel_picture::letters`]; lines of files are cut to their
//! width in [`super::excerpt`].

use std::borrow::Cow;
use std::fmt::Write;

use tidewheel_picture::letters::is_hidden;

/// Longest part of foreign text that a message quotes, in characters.
const QUOTE_CHARS_MAX: usize = 60;

/// Longest message, label or hint, in characters.
const MESSAGE_CHARS_MAX: usize = 1_000;

/// A piece of foreign text between backticks, cleaned and shortened, for use in a message.
pub fn quote(text: &str) -> String {
    format!("`{}`", shorten(text, QUOTE_CHARS_MAX))
}

/// What may stand in a message, a label or a hint.
pub(super) fn message(text: &str) -> String {
    shorten(text, MESSAGE_CHARS_MAX)
}

/// A foreign name, whole, for the terminal.
pub(super) fn name(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_hidden) {
        let mut clean = String::with_capacity(text.len() + 16);
        text.chars().for_each(|letter| push(&mut clean, letter));
        Cow::Owned(clean)
    } else {
        Cow::Borrowed(text)
    }
}

fn shorten(text: &str, chars_max: usize) -> String {
    let cut = text.char_indices().nth(chars_max).map(|(index, _)| index);
    let mut clean = String::new();
    // The last place makes room for the sign that something is missing.
    let kept = if cut.is_some() { chars_max - 1 } else { chars_max };
    text.chars().take(kept).for_each(|letter| push(&mut clean, letter));
    if cut.is_some() {
        clean.push('…');
    }
    clean
}

/// Adds a character, or what stands for it.
pub(super) fn push(clean: &mut String, letter: char) {
    match letter {
        '\n' => clean.push_str("\\n"),
        '\r' => clean.push_str("\\r"),
        '\t' => clean.push_str("\\t"),
        _ if is_hidden(letter) => {
            // Writing to a string cannot fail.
            let _ = write!(clean, "\\u{{{:x}}}", u32::from(letter));
        }
        _ => clean.push(letter),
    }
}
