//! Durations, sizes and rates as people write them.
//!
//! The same text means the same in files, on the command line and in configuration.

use std::time::Duration;

use tidewheel::policy::Rate;
use tidewheel_picture::letters::is_hidden;

use crate::language::yaml::{Node, Value};

/// Nothing in a flow lasts longer: 100 years.
const DURATION_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);

const UNITS: [(&str, f64); 18] = [
    ("ms", 0.001),
    ("s", 1.0),
    ("sec", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("minute", 60.0),
    ("minutes", 60.0),
    ("h", 3_600.0),
    ("hour", 3_600.0),
    ("hours", 3_600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
    ("days", 86_400.0),
    ("w", 604_800.0),
    ("week", 604_800.0),
    ("weeks", 604_800.0),
];

/// Why a text is no value of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LiteralError(String);

/// Reads `250ms`, `30s`, `1h 30m`, `1.5h`, or a bare number of seconds.
///
/// ```
/// use std::time::Duration;
/// use tidewheel_flow::parse_duration;
///
/// assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_secs(5_400)));
/// assert_eq!(parse_duration("0.25"), Ok(Duration::from_millis(250)));
/// assert!(parse_duration("soon").is_err());
/// ```
///
/// # Errors
///
/// When the text is nothing of the kind, or longer than a hundred years.
pub fn parse_duration(text: &str) -> Result<Duration, LiteralError> {
    let wrong =
        || LiteralError(format!("`{}` is no duration; write it like 30s, 5m, 1h 30m", short(text)));
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<f64>() {
        return from_seconds(seconds, text);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
        let end = rest.find(|letter| !is_number(letter)).ok_or_else(wrong)?;
        let number: f64 = rest[..end].parse().map_err(|_| wrong())?;
        rest = rest[end..].trim_start();
        let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = UNITS.iter().find(|(name, _)| rest[..end].eq_ignore_ascii_case(name));
        seconds += number * unit.ok_or_else(wrong)?.1;
        rest = rest[end..].trim_start();
    }
    from_seconds(seconds, text)
}

fn from_seconds(seconds: f64, text: &str) -> Result<Duration, LiteralError> {
    match Duration::try_from_secs_f64(seconds) {
        // Fractions that people write are exact to the microsecond.
        Ok(duration) if duration <= DURATION_MAX => {
            Ok(Duration::from_micros((duration.as_nanos().saturating_add(500) / 1000) as u64))
        }
        Ok(_) => Err(LiteralError(format!("`{}` is too long", short(text)))),
        Err(_) => Err(LiteralError(format!("`{}` is no duration", short(text)))),
    }
}

/// Reads `500`, `64K`, `64KiB`, `10M` or `2G`: bytes, in steps of 1024.
///
/// ```
/// assert_eq!(tidewheel_flow::parse_size("64MiB"), Ok(64 << 20));
/// ```
///
/// # Errors
///
/// When the text is nothing of the kind.
pub fn parse_size(text: &str) -> Result<u64, LiteralError> {
    let wrong =
        || LiteralError(format!("`{}` is no size; write it like 500, 64K, 10M, 2G", short(text)));
    let trimmed = text.trim();
    let end = trimmed.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(trimmed.len());
    let number: u64 = trimmed[..end].parse().map_err(|_| wrong())?;
    let unit = trimmed[end..].trim_start().to_ascii_lowercase();
    let power = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" if unit.is_empty() || unit == "b" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(wrong()),
    };
    number
        .checked_mul(1024_u64.pow(power))
        .ok_or_else(|| LiteralError(format!("`{}` is too much", short(text))))
}

/// Reads `10/1m`: so many per time.
///
/// # Errors
///
/// When the text is nothing of the kind.
pub fn parse_rate(text: &str) -> Result<Rate, LiteralError> {
    let wrong = || LiteralError(format!("`{}` is no rate; write it like 10/1m", short(text)));
    let (count, per) = text.split_once('/').ok_or_else(wrong)?;
    let count = count.trim().parse().map_err(|_| wrong())?;
    let per = per.trim();
    // `5/s` is short for `5/1s`.
    let per = if per.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        parse_duration(&format!("1{per}"))?
    } else {
        parse_duration(per)?
    };
    Rate::new(count, per).map_err(|error| LiteralError(error.to_string()))
}

pub(crate) fn duration(node: &Node) -> Result<Duration, LiteralError> {
    match &node.value {
        Value::Int(seconds) => from_seconds(*seconds as f64, &seconds.to_string()),
        Value::Float(seconds) => from_seconds(*seconds, &seconds.to_string()),
        Value::Text(text) => parse_duration(text.as_str()),
        _ => Err(LiteralError("a duration is a text or a number".to_owned())),
    }
}

pub(crate) fn size(node: &Node) -> Result<u64, LiteralError> {
    match &node.value {
        Value::Int(bytes) => {
            u64::try_from(*bytes).map_err(|_| LiteralError(format!("`{bytes}` is no size")))
        }
        Value::Text(text) => parse_size(text.as_str()),
        _ => Err(LiteralError("a size is a text or a whole number".to_owned())),
    }
}

pub(crate) fn rate(node: &Node) -> Result<Rate, LiteralError> {
    match &node.value {
        Value::Text(text) => parse_rate(text.as_str()),
        _ => Err(LiteralError("a rate is a text such as 10/1m".to_owned())),
    }
}

/// What people wrote, short enough for a message.
fn short(text: &str) -> String {
    let shown: String = text.chars().filter(|letter| !is_hidden(*letter)).take(40).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, millis) in [
            ("30s", 30_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("250ms", 250),
            ("1.5 hours", 5_400_000),
            ("2d", 172_800_000),
            ("3", 3_000),
            ("0.1", 100),
            ("0", 0),
            (" 5 min ", 300_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1s", "5 fortnights", "1h 30", "nan", "inf", "1e300", "101y", "5m-"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("500", 500), ("64K", 65_536), ("1 MiB", 1 << 20), ("2gb", 2 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "3x", "99999999T", "-1", "1.5G", "1i"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_read() {
        let rate = parse_rate("10/1m").unwrap();
        assert_eq!((rate.count(), rate.per()), (10, Duration::from_secs(60)));
        assert_eq!(parse_rate("5/s").unwrap().per(), Duration::from_secs(1));
        for text in ["10", "x/1m", "10/", "0/1s", "1/0s"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }
}
