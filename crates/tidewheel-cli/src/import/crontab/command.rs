//! The percent signs of a crontab: the first that is not escaped ends the command, and what follows
//! is its standard input, with a line end for each further one.
//!
//! A backslash before a percent sign escapes it and is taken away; every other one stays.

/// The command of an entry, and what it reads.
pub(super) fn split_input(text: &str) -> (String, Option<String>) {
    let mut command = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => return (command.trim_end().to_owned(), Some(input(letters.as_str()))),
            '\\' => match letters.next() {
                Some('%') => command.push('%'),
                // The letter after a backslash is never special, be it another backslash.
                next => {
                    command.push('\\');
                    command.extend(next);
                }
            },
            letter => command.push(letter),
        }
    }
    (command.trim_end().to_owned(), None)
}

fn input(text: &str) -> String {
    let mut input = String::with_capacity(text.len() + 1);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => input.push('\n'),
            '\\' if letters.peek() == Some(&'%') => input.extend(letters.next()),
            letter => input.push(letter),
        }
    }
    if !input.is_empty() && !input.ends_with('\n') {
        input.push('\n');
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_are_treated_as_cron_treats_them() {
        for (text, command, input) in [
            ("backup", "backup", None),
            ("date +\\%F\\%T", "date +%F%T", None),
            ("mail -s x a%Hi,%%bye", "mail -s x a", Some("Hi,\n\nbye\n")),
            ("cat %a\\%b", "cat", Some("a%b\n")),
            ("cat%", "cat", Some("")),
            ("cat%%", "cat", Some("\n")),
            ("cat%a%", "cat", Some("a\n")),
            ("echo \\\\%x", "echo \\\\", Some("x\n")),
            ("cat%a\\\\%b", "cat", Some("a\\%b\n")),
            ("echo 'a\\nb' \\", "echo 'a\\nb' \\", None),
        ] {
            let expected = (command.to_owned(), input.map(str::to_owned));
            assert_eq!(split_input(text), expected, "{text}");
        }
    }
}
