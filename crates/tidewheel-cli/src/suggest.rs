//! The word somebody meant: the nearest of a few known ones.
//!
//! Names of tasks are matched in the library; here it is fields and resources.

/// The nearest of `known` within a third of the length of `wanted`, the first of equals.
pub(crate) fn nearest<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let mut best = None;
    let mut limit = (wanted.chars().count() / 3).max(1);
    for candidate in known {
        let distance = edits(wanted, candidate);
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

/// Letters to be changed, added, removed or swapped with a neighbour, not counting case.
fn edits(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
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

    #[test]
    fn the_nearest_word_is_proposed_or_none() {
        let known = ["name", "duration", "after", "priority"];
        assert_eq!(nearest("duraton", known), Some("duration"));
        assert_eq!(nearest("Nmae", known), Some("name"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
    }
}
