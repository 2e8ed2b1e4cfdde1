//! Text cut to so many columns of a terminal, or in rows of so many.
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

/// A text in rows of at most so many columns, broken behind spaces where there are any. Nothing but spaces at the ends of rows is
/// left out.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> Vec<&str> {
    let mut rows = Vec::new();
    let (mut start, mut at, mut used) = (0, 0, 0);
    // Behind the last space of the row, and the columns up to there.
    let mut space: Option<(usize, usize)> = None;
    for (cluster, columns) in clusters(text) {
        let is_space = cluster == " ";
        while used + columns > width && at > start && !is_space {
            let (end, taken) = space.take().unwrap_or((at, used));
            rows.push(text[start..end].trim_end_matches(' '));
            start = end;
            used -= taken;
        }
        used += columns;
        at += cluster.len();
        // What a row begins with is no place to break it.
        if is_space && !text[start..at].trim_start_matches(' ').is_empty() {
            space = Some((at, used));
        }
    }
    rows.push(text[start..].trim_end_matches(' '));
    rows
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

    #[test]
    fn wrapping_breaks_behind_spaces_and_leaves_out_no_letter() {
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("aaaa bbbb", 4), ["aaaa", "bbbb"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("a bcdefghij", 4), ["a", "bcde", "fghi", "j"]);
        assert_eq!(wrapped("    abcdef", 6), ["    ab", "cdef"], "what it begins with stays");
        assert_eq!(wrapped("東京都庁", 5), ["東京", "都庁"]);
        assert_eq!(wrapped("x 東京 y", 5), ["x", "東京", "y"]);
        assert_eq!(wrapped("e\u{301}e\u{301}e\u{301}", 2), ["e\u{301}e\u{301}", "e\u{301}"]);
        assert_eq!(wrapped("東京", 1), ["東", "京"], "a row has at least a letter");
        for width in 1..40 {
            let text = "a wide 東京都庁 and a-very-long-word-that-fits-nowhere, x";
            let rows = wrapped(text, width);
            assert_eq!(rows.concat().replace(' ', ""), text.replace(' ', ""), "{width}");
            assert!(rows.iter().all(|row| columns(row) <= width.max(2)), "{width}: {rows:?}");
        }
    }
}
