//! `Retry-After`: how long another side asks to be left alone, in seconds or until a date.
//!
//! Whether the answer may be retried at all is in [`super::failure`].

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest wait that is honoured; whoever asks for more is not worth waiting for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The wait asked for. Nothing if the text is neither a number of seconds nor a date.
///
/// A date is compared with the `Date` of the answer, so that a wrong clock on either side does
/// not matter; without that, with our own clock.
pub(super) fn wait_of(
    retry_after: &str,
    answer_date: Option<&str>,
    now: SystemTime,
) -> Option<Duration> {
    let text = retry_after.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a long wait, not an unreadable one.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let now_seconds = seconds_since_epoch(now);
    let until = parse_date(text, now_seconds)?;
    let from = answer_date.and_then(|date| parse_date(date.trim(), now_seconds));
    let wait = until.saturating_sub(from.unwrap_or(now_seconds));
    Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
}

fn seconds_since_epoch(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |s| -s),
    }
}

/// Seconds since 1970 of a date in one of the three forms of HTTP.
fn parse_date(text: &str, now: i64) -> Option<i64> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (day, month, year, clock) = match *words.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        [weekday, day, month, year, clock, "GMT"] if weekday.ends_with(',') => {
            (number(day, 2)?, month, number(year, 4)?, clock)
        }
        // Sunday, 06-Nov-94 08:49:37 GMT
        [weekday, date, clock, "GMT"] if weekday.ends_with(',') => {
            let mut parts = date.split('-');
            let day = number(parts.next()?, 2)?;
            let month = parts.next()?;
            let short_year = number(parts.next()?, 2)?;
            if parts.next().is_some() {
                return None;
            }
            (day, month, full_year(short_year, now), clock)
        }
        // Sun Nov  6 08:49:37 1994
        [_, month, day, clock, year] => (number(day, day.len())?, month, number(year, 4)?, clock),
        _ => return None,
    };
    let month = month_number(month)?;
    let mut clock = clock.split(':');
    let hour = number(clock.next()?, 2)?;
    let minute = number(clock.next()?, 2)?;
    let second = number(clock.next()?, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    // A second 60 is a leap second.
    let in_range = (1..=days_in_month).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if clock.next().is_some() || !in_range {
        return None;
    }
    Some(days_since_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain && text.len() == digits { text.parse().ok() } else { None }
}

fn month_number(name: &str) -> Option<i64> {
    const NAMES: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    (1..).zip(NAMES).find(|(_, own)| *own == name).map(|(number, _)| number)
}

/// A year of two digits is never more than 50 years ahead (RFC 9110, 5.6.7).
fn full_year(short_year: i64, now: i64) -> i64 {
    // A mean year is exact enough to find the century.
    let this_year = 1970 + now.div_euclid(31_556_952);
    let year = this_year - this_year.rem_euclid(100) + short_year;
    if year > this_year + 50 { year - 100 } else { year }
}

/// Days of the proleptic Gregorian calendar. March starts the year, so that leap days end it.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUNDAY: i64 = 784_111_777;

    fn wait(text: &str, date: Option<&str>, now: i64) -> Option<u64> {
        let now = UNIX_EPOCH + Duration::from_secs(now.unsigned_abs());
        wait_of(text, date, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn the_three_forms_of_a_date_are_one_instant() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse_date(text, SUNDAY), Some(SUNDAY), "{text}");
            assert_eq!(wait(text, None, SUNDAY - 90), Some(90), "{text}");
            assert_eq!(wait(text, None, SUNDAY + 90), Some(0), "{text}");
        }
        assert_eq!(parse_date("Thu, 01 Jan 1970 00:00:00 GMT", 0), Some(0));
        assert_eq!(parse_date("Thu, 29 Feb 2024 12:00:00 GMT", 0), Some(1_709_208_000));
        assert_eq!(parse_date("Fri, 31 Dec 9999 23:59:59 GMT", 0), Some(253_402_300_799));
    }

    #[test]
    fn short_years_are_at_most_fifty_years_ahead() {
        let in_2026 = 1_790_000_000;
        assert_eq!(full_year(27, in_2026), 2027);
        assert_eq!(full_year(76, in_2026), 2076);
        assert_eq!(full_year(77, in_2026), 1977);
        assert_eq!(full_year(94, SUNDAY), 1994);
    }

    #[test]
    fn the_date_of_the_answer_counts_before_our_clock() {
        let until = "Sun, 06 Nov 1994 08:51:37 GMT";
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(wait(until, date, 1_790_000_000), Some(120));
        assert_eq!(wait(until, Some("yesterday"), SUNDAY + 100), Some(20));
    }

    #[test]
    fn seconds_are_seconds_and_nonsense_is_nothing() {
        assert_eq!(wait("120", None, 0), Some(120));
        assert_eq!(wait(" 0 ", None, 0), Some(0));
        assert_eq!(wait("99999999999999999999999", None, 0), Some(u64::MAX));
        for text in [
            "",
            "-5",
            "1.5",
            "soon",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06-Nov-94-95 08:49:37 GMT",
            "Sun Nov 123 08:49:37 1994",
            "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(wait(text, None, 0), None, "{text}");
        }
    }
}
