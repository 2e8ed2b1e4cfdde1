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

/// A word in which a shell reads nothing but the word itself, whatever is in it. The one place where
/// values become text for a shell.
pub(crate) fn quoted(word: &[u8]) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in word {
        match byte {
            // Between single quotes everything but their end stands for itself.
            b'\'' => text.extend(b"'\\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
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
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    use super::*;

    /// What a real shell makes of quoted words: each with an end of its own, so that none is lost.
    fn read_by_shell(words: &[Vec<u8>]) -> Vec<u8> {
        let mut script = b"printf '%s\\0'".to_vec();
        for word in words {
            script.extend([b" ".as_slice(), &quoted(word)].concat());
        }
        let script = std::ffi::OsString::from_vec(script);
        let output = Command::new("/bin/sh").arg("-c").arg(script).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    #[test]
    fn a_shell_reads_quoted_words_as_they_are() {
        let mut words: Vec<Vec<u8>> = [
            "",
            "'",
            "''",
            "'\\''",
            "$(id)",
            "`id`",
            "$HOME",
            "\\",
            "\n",
            "a b",
            "-n",
            "!",
            "*",
            "~",
            "#x",
            "a;b",
            "\"",
            "\\'",
            "é\u{202e}",
            "\r\t",
        ]
        .map(|word| word.as_bytes().to_vec())
        .to_vec();
        // Every byte but zero, and words made of what means something, by a fixed chance.
        words.extend((1..=255_u8).map(|byte| vec![b'a', byte, b'\'', byte]));
        let letters = b"'\"\\$`(){}[]<>|&;!#~*? \n\t=%^-a\xff";
        let mut chance = 0x9e37_79b9_u32;
        let mut next = |most: usize| {
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (chance >> 8) as usize % most
        };
        for _ in 0..2_000 {
            let length = next(12);
            words.push((0..length).map(|_| letters[next(letters.len())]).collect());
        }
        for some in words.chunks(500) {
            let expected: Vec<u8> =
                some.iter().flat_map(|word| word.iter().copied().chain([0])).collect();
            assert_eq!(read_by_shell(some), expected);
        }
    }

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
