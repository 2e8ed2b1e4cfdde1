//! The lines of a crontab: blank, comment, variable or entry.
//!
//! What follows from them is not known here.

use super::schedule::{When, read_when};

/// One line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Blank,
    Comment(String),
    Variable {
        name: String,
        value: String,
    },
    Entry(Entry),
    /// Nothing of the above, and why.
    Unreadable(&'static str),
}

/// A command and when it runs.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub when: When,
    /// Whom it runs as, where that has a column.
    pub user: Option<String>,
    /// Words of some cron programs between the columns and the command, such as `-n`.
    pub flags: Vec<String>,
    /// As it stands in the line, with its percent signs.
    pub command: String,
}

/// Reads a line without its end.
pub(super) fn read_line(text: &str, is_system: bool) -> Line {
    let text = text.trim_matches([' ', '\t']);
    if text.is_empty() {
        return Line::Blank;
    }
    if let Some(comment) = text.strip_prefix('#') {
        return Line::Comment(comment.trim_start_matches('#').trim().to_owned());
    }
    match variable(text) {
        Some((name, value)) => Line::Variable { name, value },
        None => entry(text, is_system),
    }
}

/// `NAME = value`, either of them in quotes if need be. Nothing is expanded in it.
fn variable(text: &str) -> Option<(String, String)> {
    let (name, rest) = match text.chars().next()? {
        quote @ ('"' | '\'') => text[1..].split_once(quote)?,
        _ => text.split_at(text.find(['=', ' ', '\t'])?),
    };
    let value = rest.trim_start_matches([' ', '\t']).strip_prefix('=')?;
    let value = value.trim_matches([' ', '\t']);
    let is_name = !name.is_empty() && !name.contains(['*', '/', ',', '@', '#']);
    is_name.then(|| (name.to_owned(), unquoted(value).to_owned()))
}

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

fn entry(text: &str, is_system: bool) -> Line {
    // A dash in front keeps some cron programs from logging.
    let quiet = text.strip_prefix('-').filter(|rest| {
        rest.starts_with(|letter: char| letter.is_ascii_digit() || "*@".contains(letter))
    });
    let mut flags = Vec::new();
    if quiet.is_some() {
        flags.push("-".to_owned());
    }
    let text = quiet.unwrap_or(text);
    let count = if text.starts_with('@') { 1 } else { 5 };
    let Some((columns, mut rest)) = columns(text, count) else {
        return Line::Unreadable(if count == 1 { "it has no command" } else { "too few columns" });
    };
    let mut user = None;
    if is_system {
        let Some((word, after)) = next_word(rest) else {
            return Line::Unreadable("it has no user");
        };
        user = Some(word.to_owned());
        rest = after;
    }
    while let Some((word, after)) = next_word(rest).filter(|(word, _)| is_flag(word)) {
        flags.push(word.to_owned());
        rest = after;
    }
    if rest.is_empty() {
        return Line::Unreadable("it has no command");
    }
    Line::Entry(Entry { when: read_when(&columns, rest), user, flags, command: rest.to_owned() })
}

/// The first columns, and what follows them.
fn columns(text: &str, count: usize) -> Option<(Vec<&str>, &str)> {
    let mut words = Vec::with_capacity(count);
    let mut rest = text;
    for _ in 0..count {
        let (word, after) = next_word(rest)?;
        words.push(word);
        rest = after;
    }
    (!rest.is_empty()).then_some((words, rest))
}

fn next_word(text: &str) -> Option<(&str, &str)> {
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (!word.is_empty()).then(|| (word, rest.trim_start_matches([' ', '\t'])))
}

fn is_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| {
        !letters.is_empty() && letters.chars().all(|letter| "nqsm".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_cron_reads_them() {
        for (text, expected) in [
            ("MAILTO=root", Some(("MAILTO", "root"))),
            ("MAILTO=", Some(("MAILTO", ""))),
            ("MAILTO=\"\"", Some(("MAILTO", ""))),
            ("  A = b c  ", Some(("A", "b c"))),
            ("A='  b '", Some(("A", "  b "))),
            ("\"A\" = 'b=c'", Some(("A", "b=c"))),
            ("PATH=$HOME/bin:/bin # all", Some(("PATH", "$HOME/bin:/bin # all"))),
            ("A=\"b\" c", Some(("A", "\"b\" c"))),
            ("A=\"", Some(("A", "\""))),
            ("* * * * * A=b", None),
            ("@daily A=b c", None),
            ("*=b", None),
            ("=b", None),
            ("\"A = b", None),
            ("A b = c", None),
        ] {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(variable(text.trim_matches(' ')), expected, "{text}");
        }
    }

    #[test]
    fn entries_are_split_into_columns() {
        let read = |text: &str, is_system| match read_line(text, is_system) {
            Line::Entry(entry) => (entry.user, entry.flags.join(" "), entry.command),
            other => panic!("{text}: {other:?}"),
        };
        let none = String::new;
        for (text, command) in [
            ("* * * * * a  b", "a  b"),
            ("\t1\t2 3  4 5\ta", "a"),
            ("@daily a # b", "a # b"),
            ("0 5 * * * FOO=1 a", "FOO=1 a"),
            ("* * * * * # only a comment for the shell", "# only a comment for the shell"),
        ] {
            assert_eq!(read(text, false), (None, none(), command.to_owned()), "{text}");
        }
        assert_eq!(read("* * * * * root a", true), (Some("root".into()), none(), "a".into()));
        assert_eq!(
            read("@600 www:www -n -q a", true),
            (Some("www:www".into()), "-n -q".into(), "a".into())
        );
        assert_eq!(read("-*/5 * * * * a", false), (None, "-".into(), "a".into()));
        assert_eq!(read("* * * * * -ns a -n", false), (None, "-ns".into(), "a -n".into()));
    }

    #[test]
    fn what_is_no_entry_says_why() {
        for (text, is_system, why) in [
            ("hello", false, "too few columns"),
            ("* * * * *", false, "too few columns"),
            ("* * * * a", false, "too few columns"),
            ("@daily", false, "it has no command"),
            ("* * * * * root", true, "it has no command"),
            ("* * * * * -n", false, "it has no command"),
        ] {
            assert_eq!(read_line(text, is_system), Line::Unreadable(why), "{text}");
        }
        assert_eq!(read_line(" \t ", false), Line::Blank);
        assert_eq!(read_line(" ## a ", false), Line::Comment("a".into()));
    }
}
