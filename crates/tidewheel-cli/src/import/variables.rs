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

/// How a text for a shell asks for a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum How {
    /// `${NAME:-x}` and the like, which say themselves what is to be if it is not set.
    WithDefault,
    /// `$NAME` or `${NAME}`.
    Plainly,
    /// `${NAME#x}`, `$((NAME + 1))`, `-e NAME`: what makes nothing of one that is not set.
    InPart,
}

/// The variables that a text for a shell asks for, each as often as it does. Lines that are comments ask for
/// nothing; in a here-document none is one.
pub(super) fn asked(text: &str) -> Vec<(&str, How)> {
    let mut asked = Vec::new();
    let has_documents = text.contains("<<");
    let is_comment = |line: &&str| !has_documents && line.trim_start().starts_with('#');
    for line in text.lines().filter(|line| !is_comment(line)) {
        let expansions = line.match_indices('$').filter_map(|(at, _)| expansion(&line[at + 1..]));
        asked.extend(expansions);
        asked.extend(names_alone(line).map(|name| (name, How::InPart)));
    }
    asked
}

/// Whether a text gives a variable its value.
pub(super) fn sets(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + name.len()..];
        let is_word_start = before.is_none_or(|it| it.is_whitespace() || ";&|(".contains(it));
        is_word_start && (after.starts_with('=') || after.starts_with("+="))
    })
}

/// A text for a shell that fails where it asks for one of these variables, as long as it is not set.
pub(super) fn guarded(text: &str, unset: &BTreeSet<String>) -> String {
    let is_in_part = |(name, how): &(&str, How)| *how == How::InPart && unset.contains(*name);
    let first: BTreeSet<&str> = asked(text).into_iter().filter(is_in_part).map(|it| it.0).collect();
    let mut guarded = String::new();
    for name in first {
        let why = format!("{name} has no value here, say it in env");
        guarded.push_str(&format!(": \"${{{name}:?{why}}}\"\n"));
    }
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

/// What a text behind a dollar asks for.
fn expansion(after: &str) -> Option<(&str, How)> {
    let Some(inner) = after.strip_prefix('{') else {
        return leading_name(after).map(|name| (name, How::Plainly));
    };
    // The length of one, or what the one is called that is meant.
    let marked = inner.strip_prefix(['#', '!']).filter(|rest| leading_name(rest).is_some());
    let name = leading_name(marked.unwrap_or(inner))?;
    let rest = &marked.unwrap_or(inner)[name.len()..];
    let has_default = ["-", "+", "=", "?"]
        .into_iter()
        .any(|sign| rest.strip_prefix(':').unwrap_or(rest).starts_with(sign));
    Some(match marked {
        None if rest.starts_with('}') => (name, How::Plainly),
        None if has_default => (name, How::WithDefault),
        _ => (name, How::InPart),
    })
}

/// Names that stand in a line without a dollar: in sums, and where programs are told which variables to hand on.
fn names_alone(line: &str) -> impl Iterator<Item = &str> {
    let sums = line.match_indices("((").filter_map(move |(at, _)| {
        let inside = &line[at + 2..];
        inside.find("))").map(|end| &inside[..end])
    });
    let in_sums = sums
        .flat_map(|sum| sum.split(|it| !is_letter(it)))
        .filter(|word| leading_name(word).is_some());
    let words: Vec<&str> = line.split_whitespace().collect();
    let handed: Vec<&str> = words
        .windows(2)
        .filter(|pair| ["-e", "--env", "printenv"].contains(&pair[0]))
        .map(|pair| pair[1])
        .chain(words.iter().filter_map(|word| word.strip_prefix("--env=")))
        .collect();
    let is_name = |word: &&str| leading_name(word) == Some(*word);
    in_sums.chain(handed.into_iter().filter(is_name))
}

/// The name of a variable that a text begins with.
fn leading_name(text: &str) -> Option<&str> {
    let end = text.find(|letter| !is_letter(letter)).unwrap_or(text.len());
    let is_name = end > 0 && !text.starts_with(|letter: char| letter.is_ascii_digit());
    is_name.then_some(&text[..end])
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The variable that a text begins with, and how long that is.
fn variable(text: &str) -> Option<(Part<'_>, usize)> {
    let after = text.strip_prefix('$')?;
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
    fn what_makes_nothing_of_one_that_is_not_set_fails_before_it_begins() {
        let unset = BTreeSet::from(["A".to_owned()]);
        for text in [
            "x ${A#y}",
            "x ${A%%y}",
            "x ${A/y/z}",
            "x ${A:0:7}",
            "x ${A^^}",
            "x ${#A}",
            "x $((A + 1))",
            "run -e A x",
        ] {
            let expected = format!(": \"${{A:?A has no value here, say it in env}}\"\n{text}");
            assert_eq!(guarded(text, &unset), expected);
        }
        for text in [
            "x ${A:-y}",
            "x ${A-y}",
            "x ${A:+y}",
            "x ${A:=y}",
            "x ${A:?y}",
            "x ${B#y}",
            "  # ${A#y}",
            "run -e A=1",
        ] {
            assert_eq!(guarded(text, &unset), text);
        }
        // What is taken instead is asked for as well.
        assert_eq!(guarded("x ${B:-$A}", &unset), "x ${B:-${A:?}}");
        assert_eq!(guarded("x ${B:-${A#y}}", &unset).lines().count(), 2);
    }

    #[test]
    fn what_a_text_sets_is_known() {
        for (text, expected) in [
            ("A=1", true),
            ("export A=1", true),
            ("x; A+=1", true),
            ("XA=1", false),
            ("echo A", false),
        ] {
            assert_eq!(sets(text, "A"), expected, "{text}");
        }
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
