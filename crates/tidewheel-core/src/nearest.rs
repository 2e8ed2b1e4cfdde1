//! The word somebody meant: the nearest of those that are known.
//!
//! How it is proposed is up to whoever shows the error.

/// Longer words are not misspelt but something else; comparing them would take long.
const WORD_CHARS_MAX: usize = 64;

/// The nearest of `known` to `word`, the first of equals; nothing if all are too different.
///
/// One letter of three may be changed, added, removed or swapped with its neighbour, and always
/// one of a word of two. Case does not count, nor whether parts are joined by `-`, `_` or a space.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = letters(word)?;
    let mut limit = match word.len() {
        0 => return None,
        1 => 0,
        length => (length / 3).max(1),
    };
    let mut best = None;
    for candidate in known {
        let Some(letters) = letters(candidate) else { continue };
        if word.len().abs_diff(letters.len()) > limit {
            continue;
        }
        let distance = edits(&word, &letters);
        if distance <= limit {
            best = Some(candidate);
            if distance == 0 {
                break;
            }
            limit = distance - 1;
        }
    }
    best
}

/// What counts of a word; nothing of one that is too long.
fn letters(word: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = word
        .chars()
        .flat_map(char::to_lowercase)
        .map(|letter| if matches!(letter, '_' | ' ') { '-' } else { letter })
        .take(WORD_CHARS_MAX + 1)
        .collect();
    (letters.len() <= WORD_CHARS_MAX).then_some(letters)
}

/// Letters to be changed, added, removed or swapped with a neighbour.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = Vec::with_capacity(right.len() + 1);
        row.push(i + 1);
        for (j, b) in right.iter().enumerate() {
            let changed = last[j] + usize::from(a != b);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 6] = ["name", "duration", "after", "priority", "max-attempts", "if"];

    #[test]
    fn the_nearest_word_is_proposed_or_none() {
        assert_eq!(nearest("duraton", KNOWN), Some("duration"));
        assert_eq!(nearest("Nmae", KNOWN), Some("name"));
        assert_eq!(nearest("PRIORITY", KNOWN), Some("priority"));
        assert_eq!(nearest("max_attempt", KNOWN), Some("max-attempts"));
        assert_eq!(nearest("afetr", KNOWN), Some("after"));
        assert_eq!(nearest("fi", KNOWN), Some("if"));
        assert_eq!(nearest("colour", KNOWN), None);
        assert_eq!(nearest("", KNOWN), None);
        assert_eq!(nearest("x", KNOWN), None);
    }

    #[test]
    fn the_first_of_equals_wins_and_an_exact_word_beats_all() {
        assert_eq!(nearest("cat", ["car", "cab"]), Some("car"));
        assert_eq!(nearest("Cat", ["car", "cat", "cab"]), Some("cat"));
        assert_eq!(nearest("größe", ["grösse", "größen"]), Some("größen"));
    }

    #[test]
    fn a_word_without_end_is_no_misspelling() {
        let long = "a".repeat(1_000_000);
        assert_eq!(nearest(&long, KNOWN), None);
        assert_eq!(nearest("name", [long.as_str(), "nam"]), Some("nam"));
    }
}
