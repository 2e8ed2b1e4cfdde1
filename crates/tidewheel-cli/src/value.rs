//! Values as people write them on a command line: spans of time, amounts of data and priorities.
//!
//! Instants are in the command that takes them.

use std::time::Duration;

use tidewheel::Priority;

/// Reads `250ms`, `90s`, `15m`, `12h`, `30d` or `4w`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "ms" => return Ok(Duration::from_millis(number)),
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => {
            return Err(format!(
                "`{text}` has no known unit; write it like 90s, 15m, 12h, 30d, 4w"
            ));
        }
    };
    let seconds = number.checked_mul(seconds).ok_or_else(|| format!("`{text}` is too long"))?;
    Ok(Duration::from_secs(seconds))
}

/// Reads `500`, `64K`, `10M`, `2G` or `1T`: bytes, in steps of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let unit = unit.to_ascii_lowercase();
    let power = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(format!("`{text}` has no known unit; write it like 500M, 2G")),
    };
    number.checked_mul(1024_u64.pow(power)).ok_or_else(|| format!("`{text}` is too much"))
}

/// Reads `critical`, `high`, `normal`, `low`, `background`, or a number from 0 to 100.
pub(crate) fn priority(text: &str) -> Result<Priority, String> {
    let is_beyond = |number: i64| !(0..=100).contains(&number);
    match text.trim().parse() {
        Ok(number) if is_beyond(number) => Err(format!("`{text}` is not from 0 to 100")),
        _ => text.parse::<Priority>().map_err(|error| error.to_string()),
    }
}

fn split(text: &str) -> Result<(u64, &str), String> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number =
        number.parse().map_err(|_| format!("`{text}` does not begin with a whole number"))?;
    Ok((number, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_are_read() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("12h", 43_200), ("30 d", 2_592_000)] {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
        for text in ["", "d", "-1d", "3", "3 fortnights", "1.5h", "99999999999999999999s"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_of_data_are_read() {
        for (text, amount) in [("500", 500), ("64K", 65_536), ("1 MiB", 1 << 20), ("2gb", 2 << 30)]
        {
            assert_eq!(bytes(text), Ok(amount), "{text}");
        }
        for text in ["", "G", "3x", "99999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
