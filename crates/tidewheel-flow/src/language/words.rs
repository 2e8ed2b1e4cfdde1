//! Splits a command as a shell would, without running one: quotes, backslashes, blanks.
//!
//! What stands between the braces of a template stays together.

/// The words of a command.
pub(crate) fn split_words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some((template, after)) = template_at(rest) {
            word.get_or_insert_default().push_str(template);
            rest = after;
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        match letter {
            '\'' => {
                let end = rest.find('\'').ok_or("a ' is not closed")?;
                word.get_or_insert_default().push_str(&rest[..end]);
                rest = &rest[end + 1..];
            }
            '"' => rest = double_quoted(rest, word.get_or_insert_default())?,
            '\\' => {
                let next = rest.chars().next().ok_or("a \\ at the end stands for nothing")?;
                rest = &rest[next.len_utf8()..];
                word.get_or_insert_default().push(next);
            }
            letter if letter.is_whitespace() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

fn double_quoted<'a>(mut rest: &'a str, word: &mut String) -> Result<&'a str, &'static str> {
    loop {
        if let Some((template, after)) = template_at(rest) {
            word.push_str(template);
            rest = after;
            continue;
        }
        let letter = rest.chars().next().ok_or("a \" is not closed")?;
        rest = &rest[letter.len_utf8()..];
        match letter {
            '"' => return Ok(rest),
            '\\' if rest.starts_with(['"', '\\']) => {
                word.push_str(&rest[..1]);
                rest = &rest[1..];
            }
            letter => word.push(letter),
        }
    }
}

/// A template at the start of the text, and what follows it.
fn template_at(text: &str) -> Option<(&str, &str)> {
    let closing = ["{{", "{%"].into_iter().zip(["}}", "%}"]);
    let (_, closing) = closing.into_iter().find(|(opening, _)| text.starts_with(opening))?;
    let end = text[2..].find(closing)? + 4;
    Some(text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_would() {
        for (text, words) in [
            ("echo a  b", vec!["echo", "a", "b"]),
            ("  ", vec![]),
            ("echo 'a b' \"c d\"", vec!["echo", "a b", "c d"]),
            ("echo a'b'\"c\"", vec!["echo", "abc"]),
            ("echo '' x", vec!["echo", "", "x"]),
            (r#"echo "a\"b" \ c a\\"#, vec!["echo", "a\"b", " c", "a\\"]),
            ("a | b > c", vec!["a", "|", "b", ">", "c"]),
            ("echo {{ flows.a.b | join(' ') }}x", vec!["echo", "{{ flows.a.b | join(' ') }}x"]),
            ("echo \"{{ a[\"b c\"] }} d\"", vec!["echo", "{{ a[\"b c\"] }} d"]),
            ("é 'ü ö'", vec!["é", "ü ö"]),
        ] {
            assert_eq!(split_words(text).unwrap(), words, "{text}");
        }
        for text in ["echo 'a", "echo \"a", "echo \\"] {
            assert!(split_words(text).is_err(), "{text}");
        }
    }
}
