//! What a scalar is: the core schema of YAML 1.2, and its tags.
//!
//! Keys are not typed: see [`super::expand`].

use granit_parser::{ScalarStyle, Tag};

/// What a tag asks a scalar to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// There is no tag.
    Any,
    Text,
    Null,
    Bool,
    Int,
    Float,
}

impl Wanted {
    /// What `tag` asks for; nothing if it is not one for scalars.
    pub(super) fn of(tag: &Tag) -> Option<Self> {
        if is_non_specific(tag) {
            return Some(Self::Text);
        }
        match tag.core_suffix()? {
            "str" => Some(Self::Text),
            "null" => Some(Self::Null),
            "bool" => Some(Self::Bool),
            "int" => Some(Self::Int),
            "float" => Some(Self::Float),
            _ => None,
        }
    }
}

/// Whether a tag is a lone `!`, which makes a scalar a text and nothing else anything else.
pub(super) fn is_non_specific(tag: &Tag) -> bool {
    tag.original() == "!"
}

/// A scalar with its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text,
    /// A whole number that does not fit.
    TooLarge,
    /// Not what its tag says.
    Mismatch,
}

/// The type of a scalar.
pub(super) fn scalar(text: &str, style: ScalarStyle, wanted: Wanted) -> Scalar {
    let found = match wanted {
        Wanted::Text => return Scalar::Text,
        Wanted::Any if style != ScalarStyle::Plain => return Scalar::Text,
        _ => plain(text),
    };
    match (wanted, found) {
        (Wanted::Any, _)
        | (Wanted::Null, Scalar::Null)
        | (Wanted::Bool, Scalar::Bool(_))
        | (Wanted::Int, Scalar::Int(_) | Scalar::TooLarge)
        | (Wanted::Float, Scalar::Float(_)) => found,
        (Wanted::Float, Scalar::Int(value)) => Scalar::Float(value as f64),
        (Wanted::Float, Scalar::TooLarge) => float(text).unwrap_or(Scalar::Mismatch),
        _ => Scalar::Mismatch,
    }
}

/// Whether a number starts with a zero that means nothing, as in `0644`.
pub(super) fn has_leading_zero(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a number ends with zeros that mean nothing, as in `3.10`. One behind the point is how
/// people write that a number need not be whole.
pub(super) fn has_trailing_zero(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some((whole, fraction)) = digits.split_once('.') else { return false };
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    is_number(whole) && is_number(fraction) && fraction.len() > 1 && fraction.ends_with('0')
}

fn plain(text: &str) -> Scalar {
    // Most texts start with a letter that begins nothing else.
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => {
            int(text).or_else(|| float(text)).unwrap_or(Scalar::Text)
        }
        Some(b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F') => match text {
            "~" | "null" | "Null" | "NULL" => Scalar::Null,
            "true" | "True" | "TRUE" => Scalar::Bool(true),
            "false" | "False" | "FALSE" => Scalar::Bool(false),
            _ => Scalar::Text,
        },
        Some(_) => Scalar::Text,
    }
}

fn int(text: &str) -> Option<Scalar> {
    let (digits, radix) = if let Some(digits) = text.strip_prefix("0o") {
        (digits, 8)
    } else if let Some(digits) = text.strip_prefix("0x") {
        (digits, 16)
    } else {
        (text.strip_prefix(['-', '+']).unwrap_or(text), 10)
    };
    let is_digit = |byte: u8| char::from(byte).is_digit(radix);
    if digits.is_empty() || !digits.bytes().all(is_digit) {
        return None;
    }
    let number = if radix == 10 { text } else { digits };
    Some(i64::from_str_radix(number, radix).map_or(Scalar::TooLarge, Scalar::Int))
}

fn float(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => {
            return Some(Scalar::Float(f64::NEG_INFINITY));
        }
        ".inf" | ".Inf" | ".INF" => return Some(Scalar::Float(f64::INFINITY)),
        _ if matches!(text, ".nan" | ".NaN" | ".NAN") => return Some(Scalar::Float(f64::NAN)),
        _ => {}
    }
    // Rust reads more than YAML does: `infinity`, for one.
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    let has_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && are_digits(digits)
    });
    if !has_digits || !are_digits(whole) || !are_digits(fraction) || !has_exponent {
        return None;
    }
    text.parse().ok().map(Scalar::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Scalar {
        scalar(text, ScalarStyle::Plain, Wanted::Any)
    }

    #[test]
    fn plain_scalars_have_the_types_of_the_core_schema() {
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(of(text), Scalar::Null, "{text}");
        }
        for (text, value) in [("true", true), ("True", true), ("TRUE", true), ("False", false)] {
            assert_eq!(of(text), Scalar::Bool(value), "{text}");
        }
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("+12", 12),
            ("-19", -19),
            ("017", 17),
            ("0o17", 15),
            ("0xfF", 255),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("0x7fffffffffffffff", i64::MAX),
        ] {
            assert_eq!(of(text), Scalar::Int(value), "{text}");
        }
        for (text, value) in [
            ("1.5", 1.5),
            (".5", 0.5),
            ("1.", 1.0),
            ("-1e3", -1000.0),
            ("+12e-1", 1.2),
            ("1E5", 1e5),
            ("-.inf", f64::NEG_INFINITY),
            ("+.Inf", f64::INFINITY),
            ("1e999", f64::INFINITY),
        ] {
            assert_eq!(of(text), Scalar::Float(value), "{text}");
        }
        assert!(matches!(of(".nan"), Scalar::Float(value) if value.is_nan()));
    }

    #[test]
    fn what_only_looks_like_something_else_is_a_text() {
        for text in [
            "no",
            "yes",
            "on",
            "off",
            "y",
            "tRUE",
            "nULL",
            "nil",
            "-",
            "+",
            ".",
            "..",
            "+.",
            "1_000",
            "0o8",
            "0xg",
            "0o",
            "0x",
            "-0x1",
            "0b1",
            "1e",
            "1e+",
            "e5",
            ".e5",
            "1.2.3",
            "12:30",
            "infinity",
            "inf",
            "nan",
            "-.nan",
            "--1",
            "+-1",
            "1 2",
            "2026-01-01",
            "1.5s",
            "٣",
        ] {
            assert_eq!(of(text), Scalar::Text, "{text}");
        }
    }

    #[test]
    fn whole_numbers_that_do_not_fit_are_told_apart() {
        for text in ["9223372036854775808", "-9223372036854775809", "0xffffffffffffffff"] {
            assert_eq!(of(text), Scalar::TooLarge, "{text}");
        }
    }

    #[test]
    fn quotes_and_tags_decide_before_the_letters() {
        let quoted = |text, wanted| scalar(text, ScalarStyle::DoubleQuoted, wanted);
        assert_eq!(quoted("12", Wanted::Any), Scalar::Text);
        assert_eq!(quoted("12", Wanted::Int), Scalar::Int(12));
        assert_eq!(quoted("", Wanted::Null), Scalar::Null);
        assert_eq!(quoted("twelve", Wanted::Int), Scalar::Mismatch);
        assert_eq!(scalar("12", ScalarStyle::Plain, Wanted::Text), Scalar::Text);
        assert_eq!(scalar("12", ScalarStyle::Plain, Wanted::Float), Scalar::Float(12.0));
        assert_eq!(scalar("1.5", ScalarStyle::Plain, Wanted::Int), Scalar::Mismatch);
    }

    #[test]
    fn zeros_that_mean_nothing_are_seen() {
        assert!(has_leading_zero("0644") && has_leading_zero("-01") && has_leading_zero("00"));
        assert!(!has_leading_zero("0") && !has_leading_zero("0o644") && !has_leading_zero("0.5"));
        assert!(
            has_trailing_zero("3.10") && has_trailing_zero("-1.00") && has_trailing_zero(".50")
        );
        for text in ["3.1", "3.0", "10", "1.0e10", "1.10e0", "3.10.0", "v3.10", ".10.", ""] {
            assert!(!has_trailing_zero(text), "{text}");
        }
    }
}
