//! What a step wrote to `$TIDEWHEEL_OUTPUT`: lines `NAME=value`, or one JSON object.
//!
//! Which of it is used by whom is said in the flow; where the file is, in `run_folder`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value as Json};

/// What a step wrote. The error says where in it something is wrong, and nothing of what is in it: that may be
/// a secret.
pub(super) type Taken = Result<Map<String, Json>, String>;

/// Reads a file that a step wrote; the outer error if the system does not let us.
pub(super) fn read(path: &Path, bytes_max: u64) -> io::Result<Taken> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    if !is_file {
        return Ok(Err("the step put something else in the place of the file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok(understand(bytes, bytes_max))
}

fn understand(bytes: Vec<u8>, bytes_max: u64) -> Taken {
    if bytes.len() as u64 > bytes_max {
        return Err(format!(
            "the step wrote more than {bytes_max} bytes; say `capture_max` for more, or leave large \
             things in a file of $TIDEWHEEL_RUN_DIR"
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8 text")
    })?;
    parse(&text)
}

fn parse(text: &str) -> Result<Map<String, Json>, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("it begins as a JSON object and is none: line {line}, column {column}: {error}")
        });
    }
    let mut values = Map::new();
    let mut lines = text.lines().zip(1_usize..);
    while let Some((line, number)) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        let (name, value) = match (line.find('='), line.find("<<")) {
            (Some(equals), heredoc) if heredoc.is_none_or(|start| equals < start) => {
                (&line[..equals], line[equals + 1..].to_owned())
            }
            (_, Some(start)) => {
                let end = &line[start + 2..];
                let inside = until(&mut lines, end).ok_or_else(|| {
                    format!("line {number}: the text that begins here has no line that ends it")
                })?;
                (&line[..start], inside)
            }
            _ => {
                return Err(format!("line {number} is neither NAME=value nor NAME<<END"));
            }
        };
        check_name(name).map_err(|why| format!("line {number}: {why}"))?;
        values.insert(name.to_owned(), Json::String(value));
    }
    Ok(values)
}

/// The lines before the one that is `end`; `None` if there is none.
fn until<'a>(lines: &mut impl Iterator<Item = (&'a str, usize)>, end: &str) -> Option<String> {
    let mut inside = Vec::new();
    if end.trim().is_empty() {
        return None;
    }
    loop {
        match lines.next()? {
            (line, _) if line == end => return Some(inside.join("\n")),
            (line, _) => inside.push(line),
        }
    }
}

/// A name that templates can say.
fn check_name(name: &str) -> Result<(), String> {
    let is_right = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    match name {
        "" => Err("there is no name before the value".to_owned()),
        name if name.chars().all(is_right) => Ok(()),
        _ => Err("a name has letters, digits, _ and -, and no blanks around it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_texts_of_many_lines_and_objects_are_understood() {
        let of = |text: &str| Json::Object(parse(text).unwrap());
        assert_eq!(of(""), json!({}));
        assert_eq!(of("a=1\n\nb-2=x=y \na=2"), json!({ "a": "2", "b-2": "x=y " }));
        assert_eq!(
            of("x<<EOF\none\n two=2\n\nEOF\ny=3\n"),
            json!({ "x": "one\n two=2\n", "y": "3" })
        );
        assert_eq!(of("x<<E=F\nE=F\n"), json!({ "x": "" }));
        assert_eq!(of("url=a<<b"), json!({ "url": "a<<b" }));
        assert_eq!(of(" {\"n\": 3, \"l\": [1]}\n"), json!({ "n": 3, "l": [1] }));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = |text: &str| parse(text).expect_err(text);
        assert!(wrong("a=1\nhello\n").starts_with("line 2 is neither"));
        assert!(wrong("a=1\nx<<EOF\nno end").starts_with("line 2: the text that begins here"));
        assert!(wrong("x<<\n\n").starts_with("line 1: the text that begins here"));
        assert!(wrong("a = 1").starts_with("line 1: a name has letters"));
        assert!(wrong("\n=1").starts_with("line 2: there is no name"));
        assert!(wrong("{\"a\": 1}\n{\"b\": 2}").contains("line 2, column 1"));
        assert!(wrong("[1]").starts_with("line 1 is neither"));
    }

    #[test]
    fn files_are_bounded_text() {
        let scratch = tidewheel_testing::temp_folder("written");
        let path = scratch.path().join("written");
        fs::write(&path, "a=1\nb=\u{e9}\n").unwrap();
        let read = |bytes_max: u64| read(&path, bytes_max).unwrap();
        assert_eq!(read(11).unwrap().len(), 2);
        assert!(read(8).expect_err("too much").contains("more than 8 bytes"));
        fs::write(&path, b"a=1\nb=\xff\n").unwrap();
        assert_eq!(read(100), Err("line 2 is not UTF-8 text".to_owned()));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(read(100).is_err(), "links are not followed");
    }
}
