//! Every step of a run in one strip: a column has the colour of the worst that stands in it.
//!
//! A script goes on changing columns, by the letters that it is given beside.

use std::fmt::Write as _;

use super::words::{Markup, count};

/// Columns at the most.
const COLUMNS: usize = 240;

/// What is worse comes first.
const ORDER: [(char, &str); 7] = [
    ('F', "failed"),
    ('U', "unknown"),
    ('R', "running"),
    ('C', "cancelled"),
    ('P', "pending"),
    ('K', "skipped"),
    ('S', "succeeded"),
];

/// How many steps stand how, the worst first: letter, word, number.
pub(crate) fn counts(letters: &str) -> Vec<(char, &'static str, usize)> {
    let number = |wanted: char| letters.chars().filter(|letter| *letter == wanted).count();
    let all = ORDER.map(|(letter, word)| (letter, word, number(letter)));
    all.into_iter().filter(|(.., number)| *number > 0).collect()
}

/// The strip of a run.
pub(crate) fn strip(letters: &str) -> Markup {
    let letters: Vec<char> = letters.chars().collect();
    let columns = letters.len().clamp(1, COLUMNS);
    let place = |letter: char| ORDER.iter().position(|(known, _)| *known == letter);
    let words: Vec<&str> = (0..columns)
        .map(|column| {
            let (from, to) =
                (column * letters.len() / columns, (column + 1) * letters.len() / columns);
            let worst = letters[from..to].iter().filter_map(|letter| place(*letter)).min();
            worst.map_or("pending", |place| ORDER[place].1)
        })
        .collect();
    let said = count(letters.len(), "step");
    let mut out = format!(
        "<svg class=\"strip\" role=\"img\" aria-label=\"{said}\" viewBox=\"0 0 {columns} 10\" preserveAspectRatio=\"none\">"
    );
    for (column, word) in words.iter().enumerate() {
        _ = write!(out, "<rect class=\"is-{word}\" x=\"{column}\" width=\"1.02\" height=\"10\"/>");
    }
    out.push_str("</svg>");
    Markup(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_shows_the_worst_that_stands_in_it() {
        let letters: String =
            (0..2400).map(|place| if place == 1205 { 'F' } else { 'S' }).collect();
        let strip = strip(&letters).0;
        assert_eq!(strip.matches("<rect").count(), COLUMNS);
        assert_eq!(strip.matches("is-failed").count(), 1);
        assert!(strip.contains("<rect class=\"is-failed\" x=\"120\""), "{strip}");
        assert_eq!(
            counts("SSFPS"),
            [('F', "failed", 1), ('P', "pending", 1), ('S', "succeeded", 3)]
        );
    }
}
