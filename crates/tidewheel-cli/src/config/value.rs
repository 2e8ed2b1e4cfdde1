//! [`Value`]: what a setting is set to, how it is read and how it is written.
//!
//! A text means the same in a file and in the environment. Which values a setting has is in
//! [`super::setting`].

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value as Json, json};
use tidewheel_client::text::nearest;
use tidewheel_client::text::{harmless, is_hidden};

use super::setting::{Definition, Kind, Off};
use crate::value::bytes;

/// What a setting is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Path(PathBuf),
    Bool(bool),
    Count(u64),
    Duration(Duration),
    /// In bytes.
    Size(u64),
    /// One of the words of a choice, or a text.
    Word(String),
    /// Switched off.
    Off,
}

impl Value {
    /// The word of a flag that has a few.
    pub fn word(word: &impl ValueEnum) -> Self {
        // Only a variant that cannot be written has no name, and nobody can have chosen that.
        let named = word.to_possible_value();
        Self::Word(named.map(|word| word.get_name().to_owned()).unwrap_or_default())
    }

    /// As it stands in a file.
    pub fn to_toml(&self) -> String {
        match self {
            Self::Bool(is_set) => is_set.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Path(path) => quoted(&path.to_string_lossy()),
            Self::Duration(time) => quoted(&duration_text(*time)),
            Self::Size(bytes) => quoted(&size_text(*bytes)),
            Self::Word(word) => quoted(word),
            Self::Off => quoted(OFF),
        }
    }

    /// For programs: durations in seconds, sizes in bytes, `null` for what is switched off.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Path(path) => json!(path.to_string_lossy()),
            Self::Bool(is_set) => json!(is_set),
            Self::Count(number) | Self::Size(number) => json!(number),
            Self::Duration(time) if time.subsec_nanos() == 0 => json!(time.as_secs()),
            Self::Duration(time) => json!(time.as_secs_f64()),
            Self::Word(word) => json!(word),
            Self::Off => Json::Null,
        }
    }
}

const OFF: &str = "off";
/// Letters of foreign text in a message.
const SHOWN_MAX: usize = 60;

impl Definition {
    /// Reads a value from text. `None`: it is none of this setting.
    pub fn read(&self, text: &str) -> Option<Value> {
        let plain = text.trim().to_ascii_lowercase();
        if self.off != Off::Never && plain == OFF {
            return Some(Value::Off);
        }
        let value = match self.kind {
            // A path keeps its spaces and its case.
            Kind::Path if text.is_empty() || text.contains('\0') => return None,
            Kind::Path => Value::Path(PathBuf::from(text)),
            Kind::Text => Value::Word(text.trim().to_owned()),
            Kind::Bool => Value::Bool(truth(&plain)?),
            Kind::Count { .. } => Value::Count(plain.parse().ok()?),
            Kind::Duration { .. } => Value::Duration(duration(&plain)?),
            Kind::Size { .. } => Value::Size(bytes(&plain).ok()?),
            Kind::Choice(words) => {
                Value::Word(words.iter().find(|word| **word == plain)?.to_string())
            }
        };
        self.checked(value)
    }

    /// Reads a number that stands in a file as such: a count, seconds or bytes.
    pub fn read_number(&self, number: u64) -> Option<Value> {
        self.checked(match self.kind {
            Kind::Count { .. } => Value::Count(number),
            Kind::Duration { .. } => Value::Duration(Duration::from_secs(number)),
            Kind::Size { .. } => Value::Size(number),
            Kind::Path | Kind::Text | Kind::Bool | Kind::Choice(_) => return None,
        })
    }

    /// The value, if it is one that this setting can have.
    pub fn checked(&self, value: Value) -> Option<Value> {
        let is_zero = value == Value::Duration(Duration::ZERO);
        let value = if is_zero && self.off == Off::WordOrZero { Value::Off } else { value };
        let is_within = match (self.kind, &value) {
            (Kind::Choice(words), Value::Word(word)) => words.contains(&word.as_str()),
            (Kind::Duration { min, max }, Value::Duration(time)) => (min..=max).contains(time),
            (Kind::Count { min, max }, Value::Count(number))
            | (Kind::Size { min, max }, Value::Size(number)) => (min..=max).contains(number),
            _ => true,
        };
        (is_within && self.is_of_kind(&value)).then_some(value)
    }

    /// Whether the value is one of the kind that this setting has, within its bounds or not.
    pub fn is_of_kind(&self, value: &Value) -> bool {
        match value {
            Value::Path(_) => matches!(self.kind, Kind::Path),
            Value::Bool(_) => matches!(self.kind, Kind::Bool),
            Value::Count(_) => matches!(self.kind, Kind::Count { .. }),
            Value::Duration(_) => matches!(self.kind, Kind::Duration { .. }),
            Value::Size(_) => matches!(self.kind, Kind::Size { .. }),
            Value::Word(_) => matches!(self.kind, Kind::Choice(_) | Kind::Text),
            Value::Off => self.off != Off::Never,
        }
    }

    /// The word of a choice that somebody meant.
    pub fn nearest_word(&self, text: &str) -> Option<&'static str> {
        match self.kind {
            Kind::Choice(words) if text.len() <= SHOWN_MAX => nearest(text, words.iter().copied()),
            _ => None,
        }
    }

    /// What can be written, in words.
    pub fn expected(&self) -> String {
        let expected = match self.kind {
            Kind::Path => "a path".to_owned(),
            Kind::Text => "a text".to_owned(),
            Kind::Bool => "true or false".to_owned(),
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Duration { min, max } => {
                let (min, max) = (duration_text(min), duration_text(max));
                format!("a duration from {min} to {max}, such as 30s, 5m or 12h")
            }
            Kind::Size { min, max } => {
                let (min, max) = (size_text(min), size_text(max));
                format!("a size from {min} to {max}, such as 500K or 64MiB")
            }
            Kind::Choice(words) => {
                let (last, first) = words.split_last().unwrap_or((&"", &[]));
                format!("{} or {last}", first.join(", "))
            }
        };
        match self.off {
            Off::Never => expected,
            Off::Word => format!("{expected}, or off"),
            Off::WordOrZero => format!("{expected}, or 0 or off"),
        }
    }
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Reads `30s`, `30 seconds` or `30`, which are seconds as well.
fn duration(text: &str) -> Option<Duration> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let millis: u64 = match unit.trim_start() {
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1,
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        "w" | "week" | "weeks" => 604_800_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(millis)?))
}

/// A duration in the largest unit in which it is whole.
fn duration_text(time: Duration) -> String {
    let millis = time.as_millis();
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let whole = units.into_iter().find(|(_, length)| millis > 0 && millis.is_multiple_of(*length));
    match whole {
        Some((unit, length)) => format!("{}{unit}", millis / length),
        None if millis == 0 => "0s".to_owned(),
        None => format!("{millis}ms"),
    }
}

/// An amount of data in the largest unit in which it is whole.
fn size_text(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.into_iter().find(|(_, bits)| bytes > 0 && bytes.trailing_zeros() >= *bits);
    match whole {
        Some((unit, bits)) => format!("{}{unit}", bytes >> bits),
        None => bytes.to_string(),
    }
}

/// A text of a file, without anything a terminal would obey.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if is_hidden(letter) => quoted.push_str(&match u32::from(letter) {
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            }),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Foreign text as it is put into a message: one line, not too long, and harmless.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", harmless(&text[..end])),
        None => harmless(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_escaped_and_read_back_as_it_was() {
        let text = "a\u{1b}\u{202e}\u{e0041}\"b\\";
        let quoted = quoted(text);
        assert_eq!(quoted, r#""a\u001B\u202E\U000E0041\"b\\""#);
        let document = format!("key = {quoted}");
        let read = toml::de::DeTable::parse(&document).unwrap();
        assert_eq!(read.get_ref()["key"].get_ref().as_str(), Some(text));
    }
}
