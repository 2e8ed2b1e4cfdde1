//! Single values as YAML: when a text can stand plainly, and how it is quoted when it cannot.
//!
//! What is written is read as the same value by readers of YAML 1.1 and of YAML 1.2. Where values
//! stand in a document is not known here.

use serde_json::{Number, Value as Json};
use tidewheel_client::text::is_hidden;

/// Words that some version of YAML reads as something other than a text.
const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
/// Letters that can begin a plain text although they are no letters or digits.
const STARTS: [char; 5] = ['/', '.', '_', '$', '('];
/// Letters besides these make it clear that a text is no number and no date.
const NUMERIC: &str = "0123456789abcdefABCDEFxXoO_.:+-tTzZ infINF,";
/// A key is looked ahead for so many letters only.
const KEY_LENGTH_MAX: usize = 120;

/// A value after a key or a dash; further lines begin with `indent` blanks.
pub(super) fn block(value: &Json, indent: usize) -> String {
    match value {
        Json::String(text) if is_plain(text) => text.clone(),
        Json::String(text) => literal(text, indent).unwrap_or_else(|| quoted(text)),
        other => simple(other),
    }
}

/// A value between brackets, or nothing where it is too much for that.
pub(super) fn inline(value: &Json) -> Option<String> {
    match value {
        Json::String(text) if text.contains('\n') => None,
        Json::String(text)
            if is_plain(text) && !text.contains([',', '[', ']', '{', '}', ':', '?']) =>
        {
            Some(text.clone())
        }
        Json::String(text) => Some(quoted(text)),
        other => Some(simple(other)),
    }
}

/// A key.
pub(super) fn key(text: &str) -> String {
    if is_plain(text) && text.len() <= KEY_LENGTH_MAX { text.to_owned() } else { quoted(text) }
}

/// Whether a letter can be written as it is.
pub(super) fn is_printable(letter: char) -> bool {
    !is_hidden(letter)
}

fn simple(value: &Json) -> String {
    match value {
        Json::Number(number) => number_text(number),
        other => other.to_string(),
    }
}

/// A number. Readers of YAML 1.1 want a point and a sign in floating-point numbers.
fn number_text(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return text };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// Whether a text can stand without quotes.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let starts_well = first.is_alphanumeric() || STARTS.contains(&first) || is_option(text);
    starts_well
        && text.chars().all(is_printable)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !is_ambiguous(text)
}

/// Whether a text is an option of a program, such as `-c` or `--all`.
fn is_option(text: &str) -> bool {
    let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).unwrap_or_default();
    name.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Whether some version of YAML could read a text as a number, a date or a truth value.
fn is_ambiguous(text: &str) -> bool {
    let starts_like_one = text.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it));
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
        || (starts_like_one
            && !is_option(text)
            && text.chars().all(|letter| NUMERIC.contains(letter)))
}

/// A text between quotes, in one line.
fn quoted(text: &str) -> String {
    let is_simple = text.chars().all(is_printable);
    if is_simple && !text.contains(['"', '\\']) {
        return format!("\"{text}\"");
    }
    if is_simple {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut line = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            letter if is_printable(letter) => line.push(letter),
            letter => match u32::from(letter) {
                code @ 0..=0xff => line.push_str(&format!("\\x{code:02x}")),
                code @ 0x100..=0xffff => line.push_str(&format!("\\u{code:04x}")),
                code => line.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    line.push('"');
    line
}

/// A text of several lines as it stands, if it can be written so.
fn literal(text: &str, indent: usize) -> Option<String> {
    let is_fine = |letter: char| is_printable(letter) || letter == '\n' || letter == '\t';
    let body = text.strip_suffix('\n').unwrap_or(text);
    let first = body.lines().next()?;
    // More than one line end at the end would swallow what is written after it.
    if !text.contains('\n')
        || body.ends_with('\n')
        || first.trim().is_empty()
        || !text.chars().all(is_fine)
    {
        return None;
    }
    let mut block = String::from("|");
    if first.starts_with([' ', '\t']) {
        block.push('2');
    }
    if !text.ends_with('\n') {
        block.push('-');
    }
    for line in body.split('\n') {
        block.push('\n');
        if !line.is_empty() {
            block.extend(std::iter::repeat_n(' ', indent));
            block.push_str(line);
        }
    }
    Some(block)
}
