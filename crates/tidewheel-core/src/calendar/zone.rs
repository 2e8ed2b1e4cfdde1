//! Time zones: finding one by name, and the stretches of time between its clock changes.
//!
//! What a schedule does at a clock change is in [`super::search`].

use std::fmt;
use std::sync::Arc;

use jiff::tz::{Offset, TimeZone};

use crate::time::Timestamp;

/// How many names an error proposes at most.
const SUGGESTIONS_MAX: usize = 3;

/// A time zone: a region of the IANA database, UTC, or a fixed offset. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// `None` stands for UTC, so that [`Zone::utc`] can be const.
    name: Option<Arc<str>>,
    rules: TimeZone,
    /// The offset in seconds, of zones whose clocks never change.
    fixed: Option<i64>,
}

impl Zone {
    /// Coordinated Universal Time.
    #[must_use]
    pub const fn utc() -> Self {
        Self { name: None, rules: TimeZone::UTC, fixed: Some(0) }
    }

    /// The zone called `name`: a name of the IANA database such as `Europe/Lisbon`, in any case,
    /// or a fixed offset such as `+05:30`.
    ///
    /// # Errors
    ///
    /// When the name is unknown (the error proposes similar ones), the offset is not an offset, or
    /// no time zone database is at hand.
    pub fn named(name: &str) -> Result<Self, ZoneError> {
        let name = name.trim();
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("z") {
            return Ok(Self::utc());
        }
        if name.starts_with(['+', '-']) {
            return Self::offset(name);
        }
        match jiff::tz::db().get(name) {
            Ok(rules) => {
                let name = Arc::from(rules.iana_name().unwrap_or(name));
                Ok(Self { name: Some(name), rules, fixed: None })
            }
            Err(_) if jiff::tz::db().available().next().is_none() => {
                Err(ZoneError::NoDatabase { name: name.to_owned() })
            }
            Err(_) => {
                Err(ZoneError::Unknown { name: name.to_owned(), suggestions: similar_names(name) })
            }
        }
    }

    /// The name: as the IANA database spells it, or an offset such as `+05:30`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("UTC")
    }

    /// An instant as people there read it: weekday, local time, offset, as in `Sun 2026-03-29 03:00:00 +02:00`.
    #[must_use]
    pub fn local(&self, at: Timestamp) -> String {
        match jiff::Timestamp::from_microsecond(at.as_micros()) {
            Ok(at) => {
                at.to_zoned(self.rules.clone()).strftime("%a %Y-%m-%d %H:%M:%S %:z").to_string()
            }
            Err(_) => at.to_string(),
        }
    }

    /// Whether the clocks there change on the day of this instant.
    #[must_use]
    pub fn changes_on_day_of(&self, at: Timestamp) -> bool {
        let Ok(at) = jiff::Timestamp::from_microsecond(at.as_micros()) else { return false };
        let start = at.to_zoned(self.rules.clone()).start_of_day();
        let end = start.as_ref().ok().and_then(|start| start.tomorrow().ok());
        match (start, end) {
            (Ok(start), Some(end)) => start.offset() != end.offset(),
            _ => false,
        }
    }

    fn offset(text: &str) -> Result<Self, ZoneError> {
        let invalid = || ZoneError::Offset { text: text.to_owned() };
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let digits = &text[1..];
        let (hours, minutes) = match digits.split_once(':') {
            Some(pair) => pair,
            None => digits.split_at_checked(2).ok_or_else(invalid)?,
        };
        let minutes = if digits.len() == 2 { "00" } else { minutes };
        let number = |text: &str| match text.as_bytes() {
            [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
                Ok(i32::from(tens - b'0') * 10 + i32::from(ones - b'0'))
            }
            _ => Err(invalid()),
        };
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        if hours > 23 || minutes > 59 {
            return Err(invalid());
        }
        let seconds = sign * (hours * 3_600 + minutes * 60);
        let offset = Offset::from_seconds(seconds).map_err(|_| invalid())?;
        let sign = if sign < 0 { '-' } else { '+' };
        let name = format!("{sign}{hours:02}:{minutes:02}");
        Ok(Self {
            name: Some(Arc::from(name)),
            rules: TimeZone::fixed(offset),
            fixed: Some(i64::from(seconds)),
        })
    }

    /// The offset from UTC, in seconds, at this second.
    pub(super) fn offset_at(&self, at: i64) -> i64 {
        match self.fixed {
            Some(offset) => offset,
            None => i64::from(self.rules.to_offset(instant(at)).seconds()),
        }
    }

    /// The stretch of time without a clock change that this second lies in.
    pub(super) fn segment_at(&self, at: i64) -> Segment {
        #[cfg(test)]
        super::steps::add();
        if let Some(offset) = self.fixed {
            return Segment { start: None, end: None, offset, shift: 0 };
        }
        let at = instant(at);
        let next_second = instant(at.as_second() + 1);
        let start =
            self.rules.preceding(next_second).next().map(|change| {
                (change.timestamp().as_second(), i64::from(change.offset().seconds()))
            });
        let end = self.rules.following(at).next().map(|change| change.timestamp().as_second());
        match start {
            Some((start, offset)) => {
                let shift = offset - self.offset_at(start - 1);
                Segment { start: Some(start), end, offset, shift }
            }
            None => {
                let offset = i64::from(self.rules.to_offset(at).seconds());
                Segment { start: None, end, offset, shift: 0 }
            }
        }
    }
}

/// The name.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A stretch of time between two clock changes. All times are Unix seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    /// Its first second; `None` when no change came before.
    pub(super) start: Option<i64>,
    /// The second after its last; `None` when no change follows.
    pub(super) end: Option<i64>,
    /// What to add to get local time.
    pub(super) offset: i64,
    /// By how much the clocks were moved at `start`: above 0 a gap, below 0 a repetition.
    pub(super) shift: i64,
}

/// The first and last second the time zone library knows.
pub(super) fn bounds() -> (i64, i64) {
    (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second())
}

fn instant(second: i64) -> jiff::Timestamp {
    let (first, last) = bounds();
    jiff::Timestamp::from_second(second.clamp(first, last)).unwrap_or(jiff::Timestamp::MAX)
}

/// A time zone that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ZoneError {
    /// No zone has this name.
    #[error("unknown time zone `{name}`{}", proposal(.suggestions))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Similar names, best first.
        suggestions: Vec<String>,
    },
    /// Text that begins like an offset but is none.
    #[error("`{text}` is not an offset from UTC such as +05:30")]
    Offset {
        /// What was asked for.
        text: String,
    },
    /// The program was built without a time zone database and the system has none.
    #[error("time zone `{name}` cannot be looked up: there is no time zone database")]
    NoDatabase {
        /// What was asked for.
        name: String,
    },
}

fn proposal(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [start @ .., last] => format!("; did you mean {} or {last}?", start.join(", ")),
    }
}

/// Names close to `wanted`: same city, or few letters apart.
fn similar_names(wanted: &str) -> Vec<String> {
    let wanted = wanted.to_lowercase().replace([' ', '-'], "_");
    if wanted.is_empty() || wanted.len() > 64 {
        return Vec::new();
    }
    let wanted_city = wanted.rsplit('/').next().unwrap_or(&wanted);
    let mut ranked: Vec<(usize, String)> = Vec::new();
    for name in jiff::tz::db().available() {
        let name = name.as_str();
        let lower = name.to_lowercase();
        let city = lower.rsplit('/').next().unwrap_or(&lower);
        // A wrong region with the right city is closer than a misspelled city.
        let distance = edits(&wanted, &lower).min(edits(wanted_city, city) + 1);
        if distance <= 1 + wanted_city.len() / 4 {
            ranked.push((distance, name.to_owned()));
        }
    }
    ranked.sort();
    ranked.truncate(SUGGESTIONS_MAX);
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// How many letters must be changed, added or removed to turn one text into the other.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_spelled_as_the_database_does() {
        let zone = Zone::named("europe/lisbon").expect("bundled");
        assert_eq!(zone.name(), "Europe/Lisbon");
        assert_eq!(zone, Zone::named("Europe/Lisbon").expect("bundled"));
        assert_eq!(Zone::named("utc").expect("built in"), Zone::utc());
    }

    #[test]
    fn the_days_on_which_clocks_change_are_known() {
        let zone = Zone::named("Europe/Zurich").expect("bundled");
        let at = |text: &str| text.parse().expect("an instant");
        for (instant, local, is_change) in [
            ("2026-03-28T22:59:59Z", "Sat 2026-03-28 23:59:59 +01:00", false),
            ("2026-03-28T23:00:00Z", "Sun 2026-03-29 00:00:00 +01:00", true),
            ("2026-03-29T21:59:59Z", "Sun 2026-03-29 23:59:59 +02:00", true),
            ("2026-03-29T22:00:00Z", "Mon 2026-03-30 00:00:00 +02:00", false),
            ("2026-10-25T12:00:00Z", "Sun 2026-10-25 13:00:00 +01:00", true),
        ] {
            let instant: Timestamp = at(instant);
            assert_eq!(zone.local(instant), local);
            assert_eq!(zone.changes_on_day_of(instant), is_change, "{local}");
        }
        assert!(!Zone::utc().changes_on_day_of(at("2026-03-29T01:00:00Z")));
    }

    #[test]
    fn offsets_are_zones() {
        for (text, name, seconds) in [
            ("+05:30", "+05:30", 19_800),
            ("-0800", "-08:00", -28_800),
            ("+01", "+01:00", 3_600),
            ("+00:00", "+00:00", 0),
        ] {
            let zone = Zone::named(text).expect(text);
            assert_eq!((zone.name(), zone.offset_at(0)), (name, seconds));
        }
        for text in ["+", "+1", "+5:30", "+24", "+01:60", "+1:300", "+aa", "+01:", "-0:800", "+٣٣"]
        {
            assert!(matches!(Zone::named(text), Err(ZoneError::Offset { .. })), "{text}");
        }
    }

    #[test]
    fn an_unknown_name_proposes_similar_ones() {
        let error = Zone::named("Europe/Lodon").expect_err("misspelled");
        assert_eq!(
            error.to_string(),
            "unknown time zone `Europe/Lodon`; did you mean Europe/London?"
        );
        let error = Zone::named("New York").expect_err("no region");
        assert!(error.to_string().contains("America/New_York"), "{error}");
        let error = Zone::named("Middle-earth").expect_err("not a zone");
        assert_eq!(error.to_string(), "unknown time zone `Middle-earth`");
        assert!(Zone::named("").is_err());
    }
}
