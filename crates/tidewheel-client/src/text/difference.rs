//! What changed between two texts.
//!
//! One stretch of lines is found, not the least change: files are compared, not sources merged.

use super::harmless;

/// Lines around a change that help to find it.
const CONTEXT: usize = 2;

/// The lines in which two texts differ: those that are gone with `-`, those that are new with `+`.
#[must_use]
pub fn difference(before: &str, now: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same_start;
    let same_end =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    let mut line = |mark: char, line: &str| text.push_str(&format!("{mark} {}\n", harmless(line)));
    for kept in &old[same_start.saturating_sub(CONTEXT)..same_start] {
        line(' ', kept);
    }
    for gone in &old[same_start..old.len() - same_end] {
        line('-', gone);
    }
    for added in &new[same_start..new.len() - same_end] {
        line('+', added);
    }
    let after = old.len() - same_end;
    for kept in &old[after..(after + CONTEXT).min(old.len())] {
        line(' ', kept);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_changed_and_a_little_around_it() {
        let before = "a\nb\nc\nd\ne\n";
        assert_eq!(difference(before, "a\nb\nX\nd\ne\n"), "  a\n  b\n- c\n+ X\n  d\n  e\n");
        assert_eq!(difference("a\n", "a\nb\n"), "  a\n+ b\n");
        assert_eq!(difference(before, before), "  d\n  e\n");
    }
}
