//! Variables in texts of others: `$NAME`, `${NAME}` and `${NAME.key}`.
//!
//! What each stands for is known where the text comes from.

use std::collections::BTreeSet;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    /// A variable with what is asked of it: `NAME` and `key.other`.
    Variable {
        name: &'a str,
        path: &'a str,
        whole: &'a str,
    },
}

/// The parts of a text. Inside quotes of one kind, as a shell reads them, nothing is a variable if
/// `is_shell`.
pub(super) fn parts(text: &str, is_shell: bool) -> Vec<Part<'_>> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    let (mut is_literal, mut is_quoted) = (false, false);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_shell && !is_literal => at += 2,
            b'"' if is_shell && !is_literal => {
                is_quoted = !is_quoted;
                at += 1;
            }
            b'\'' if is_shell && !is_quoted => {
                is_literal = !is_literal;
                at += 1;
            }
            b'$' if !is_literal => match variable(&text[at..]) {
                Some((variable, length)) => {
                    if start < at {
                        parts.push(Part::Text(&text[start..at]));
                    }
                    parts.push(variable);
                    at += length;
                    start = at;
                }
                None => at += 1,
            },
            _ => at += 1,
        }
    }
    if start < text.len() {
        parts.push(Part::Text(&text[start..]));
    }
    parts
}

/// A text for a shell that fails where it asks for one of these variables, as long as it is not set.
pub(super) fn guarded(text: &str, unset: &BTreeSet<String>) -> String {
    let mut guarded = String::new();
    for part in parts(text, false) {
        match part {
            Part::Variable { name, path: "", .. } if unset.contains(name) => {
                guarded.push_str(&format!("${{{name}:?}}"));
            }
            Part::Variable { whole: text, .. } | Part::Text(text) => guarded.push_str(text),
        }
    }
    guarded
}

/// The variable that a text begins with, and how long that is.
fn variable(text: &str) -> Option<(Part<'_>, usize)> {
    let after = text.strip_prefix('$')?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if let Some(inner) = after.strip_prefix('{') {
        let end = inner.find('}')?;
        let inside = &inner[..end];
        let (name, path) = inside.split_once('.').unwrap_or((inside, ""));
        if name.is_empty() || !name.chars().all(is_letter) {
            return None;
        }
        let whole = &text[..end + 3];
        return Some((Part::Variable { name, path, whole }, whole.len()));
    }
    let length = match after.starts_with(|letter: char| letter.is_ascii_digit()) {
        true => 1,
        false => after.find(|letter| !is_letter(letter)).unwrap_or(after.len()),
    };
    let name = &after[..length];
    let whole = &text[..=length];
    (length > 0).then_some((Part::Variable { name, path: "", whole }, whole.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, is_shell: bool) -> Vec<String> {
        let name = |part: &Part<'_>| match part {
            Part::Variable { name, path, .. } => Some(format!("{name}:{path}")),
            Part::Text(_) => None,
        };
        parts(text, is_shell).iter().filter_map(name).collect()
    }

    #[test]
    fn what_is_not_set_fails_who_asks_for_it() {
        let unset = BTreeSet::from(["A".to_owned()]);
        let text = "rm \"$A\"/${A} ${A:-x} $AB '$B'";
        assert_eq!(guarded(text, &unset), "rm \"${A:?}\"/${A:?} ${A:-x} $AB '$B'");
    }

    #[test]
    fn variables_are_found_where_a_shell_would_find_them() {
        assert_eq!(names("a $A-${B} ${C.x.y} $1x $ $$", false), ["A:", "B:", "C:x.y", "1:"]);
        assert_eq!(names("'$A' \"it's $B\" \\$C '\"$D\"'", true), ["B:"]);
        assert_eq!(names("${A:-x} ${}", true), Vec::<String>::new());
        let text = "x${A}y";
        let whole: String = parts(text, true)
            .iter()
            .map(|part| match part {
                Part::Text(text) => *text,
                Part::Variable { whole, .. } => whole,
            })
            .collect();
        assert_eq!(whole, text);
    }
}
