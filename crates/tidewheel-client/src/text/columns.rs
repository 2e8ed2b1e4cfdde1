//! Text cut to so many columns of a terminal.
//!
//! What a letter takes is in [`tidewheel_flow::picture::letters`].

use std::borrow::Cow;

use tidewheel_flow::picture::letters::{clusters, columns};

/// The longest beginning of a text that fits into so many columns, with `mark` in place of the
/// rest if there is one. Marks stay with their character.
#[must_use]
pub fn cut<'a>(text: &'a str, width: usize, mark: &str) -> Cow<'a, str> {
    // No character takes more columns than bytes.
    if text.len() <= width || columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(columns(mark));
    let mut used = 0;
    let mut end = 0;
    for (cluster, width_of_it) in clusters(text) {
        if used + width_of_it > room {
            break;
        }
        used += width_of_it;
        end += cluster.len();
    }
    let mark = if columns(mark) <= width { mark } else { "" };
    Cow::Owned(format!("{}{mark}", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
