//! The forms in which a secret shows up in output: encoded, escaped, quoted.
//!
//! Finding them in a stream is in `masker.rs`.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value as Json;

/// Parts of a secret, its lines and its fields, are secrets too if they have this many bytes; shorter
/// ones, such as a brace or the word `prod`, would be found everywhere.
const PART_MIN: usize = 8;

/// No form of a secret is shorter; such a one would be found everywhere.
const FORM_MIN: usize = 4;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Adds every form of a secret, of its lines, and of its fields if it is JSON.
pub(super) fn add(forms: &mut BTreeSet<Vec<u8>>, secret: &[u8]) {
    add_with_lines(forms, secret);
    for field in fields(secret) {
        if field.len() >= PART_MIN {
            add_with_lines(forms, field.as_bytes());
        }
    }
    forms.retain(|form| form.len() >= FORM_MIN);
}

fn add_with_lines(forms: &mut BTreeSet<Vec<u8>>, secret: &[u8]) {
    add_forms(forms, secret);
    if secret.contains(&b'\n') {
        for line in secret.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if line.len() >= PART_MIN {
                add_forms(forms, line);
            }
        }
    }
}

/// The texts and whole numbers in a secret that is an object or a list in JSON. Names are no secrets.
fn fields(secret: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    // Its depth is bounded by the parser.
    let mut left = match serde_json::from_slice(secret) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => vec![value],
        _ => Vec::new(),
    };
    while let Some(value) = left.pop() {
        match value {
            Json::Object(map) => left.extend(map.into_iter().map(|(_, value)| value)),
            Json::Array(values) => left.extend(values),
            Json::String(text) => found.push(text),
            // Others have many spellings.
            Json::Number(number) if number.is_i64() || number.is_u64() => {
                found.push(number.to_string());
            }
            _ => {}
        }
    }
    found
}

fn add_forms(forms: &mut BTreeSet<Vec<u8>>, secret: &[u8]) {
    forms.insert(secret.to_vec());
    for alphabet in [STANDARD, URL_SAFE] {
        let whole = base64(alphabet, secret, 0, false);
        forms.insert([&whole[..], &b"=="[..(3 - secret.len() % 3) % 3]].concat());
        forms.insert(whole);
        for before in 0..3 {
            forms.insert(base64(alphabet, secret, before, true));
        }
    }
    let hex = |upper: bool| {
        let digits = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        let digit = |value: u8| digits[usize::from(value)];
        secret.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect::<Vec<u8>>()
    };
    forms.insert(hex(false));
    forms.insert(hex(true));
    for (is_upper, plus) in [(true, false), (false, false), (true, true), (false, true)] {
        forms.insert(percent(secret, is_upper, plus));
    }
    if let Ok(text) = std::str::from_utf8(secret) {
        for (slash, ascii) in [(false, false), (true, false), (false, true), (true, true)] {
            forms.insert(json(text, slash, ascii));
        }
    }
    forms.insert(replace(secret, b"'", br"'\''"));
    forms.insert(replace(secret, b"'", br#"'"'"'"#));
    forms.insert(escape(secret, |byte| br#""\$`"#.contains(&byte)));
    forms.insert(escape(secret, |byte| byte.is_ascii() && !is_plain_in_shell(byte)));
    // As `printf %q` and traces of shells write what spans lines: $'one\ntwo'.
    let ansi = escape(secret, |byte| byte == b'\'' || byte == b'\\');
    forms.insert(replace(&replace(&ansi, b"\n", br"\n"), b"\t", br"\t"));
}

/// Base64 of a secret that has some bytes before it. Only the characters that the secret alone
/// decides are given, or, for a whole one, also the last that it decides in part.
fn base64(alphabet: &[u8; 64], secret: &[u8], before: usize, only_decided: bool) -> Vec<u8> {
    let bits = (before + secret.len()) * 8;
    let first = (before * 8).div_ceil(6);
    let end = if only_decided { bits / 6 } else { bits.div_ceil(6) };
    let bit = |place: usize| {
        let byte = (place / 8).checked_sub(before).and_then(|place| secret.get(place));
        byte.is_some_and(|byte| byte >> (7 - place % 8) & 1 == 1)
    };
    let character = |place: usize| {
        let value =
            (0..6).fold(0, |value, offset| value << 1 | usize::from(bit(place * 6 + offset)));
        alphabet[value]
    };
    (first..end).map(character).collect()
}

fn percent(secret: &[u8], is_upper: bool, plus: bool) -> Vec<u8> {
    let mut text = String::new();
    for byte in secret {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte));
            }
            b' ' if plus => text.push('+'),
            _ if is_upper => drop(write!(text, "%{byte:02X}")),
            _ => drop(write!(text, "%{byte:02x}")),
        }
    }
    text.into_bytes()
}

fn json(secret: &str, slash: bool, ascii: bool) -> Vec<u8> {
    let mut text = String::new();
    for character in secret.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '/' if slash => text.push_str("\\/"),
            other if (other as u32) < 0x20 => drop(write!(text, "\\u{:04x}", other as u32)),
            other if ascii && !other.is_ascii() => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
            other => text.push(other),
        }
    }
    text.into_bytes()
}

fn is_plain_in_shell(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte)
}

fn escape(secret: &[u8], is_special: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(secret.len());
    for byte in secret {
        if is_special(*byte) {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
    }
    escaped
}

fn replace(secret: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(secret.len());
    for byte in secret {
        if [*byte] == from {
            replaced.extend_from_slice(to);
        } else {
            replaced.push(*byte);
        }
    }
    replaced
}
