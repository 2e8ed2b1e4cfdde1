//! The grammar of cron expressions: OCPS 1.4, with positions in every error.
//!
//! What the fields mean together is in [`super::fields`]. Beyond OCPS, `a/n` is read as `a` to the
//! end of the field, `L-n` and `L-nW` count from the end of the month, a range of days may end in
//! `L`, and a range of weekdays may begin or end with Sunday by either of its numbers.

use super::error::CronError;
use super::fields::{DayField, Fields, WeekdayField, YearSet};

/// Longer texts are refused unread.
const LENGTH_MAX: usize = 1_024;
/// Steps wider than any field are allowed (they pick its first value) but not without bound.
const STEP_MAX: u32 = 9_999;

const NICKNAMES: [(&str, &str); 9] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
    // Not in OCPS; FreeBSD's cron and Cronos have them.
    ("@every_minute", "* * * * *"),
    ("@every_second", "* * * * * *"),
];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Reads an expression; `None` is `@reboot`.
pub(super) fn expression(text: &str) -> Result<Option<Fields>, CronError> {
    if text.len() > LENGTH_MAX {
        let message = format!("expression is longer than {LENGTH_MAX} bytes");
        return Err(CronError::new(0, text.len(), message));
    }
    let pieces = pieces(text);
    let Some(first) = pieces.first() else {
        return Err(CronError::new(0, text.len(), "expression is empty"));
    };
    if first.text.starts_with('@') {
        return nickname(&pieces);
    }
    let zero = Piece { text: "0", start: 0 };
    let (second, rest, year) = match *pieces.as_slice() {
        [minute, hour, day, month, weekday] => (zero, [minute, hour, day, month, weekday], None),
        [second, minute, hour, day, month, weekday] => {
            (second, [minute, hour, day, month, weekday], None)
        }
        [second, minute, hour, day, month, weekday, year] => {
            (second, [minute, hour, day, month, weekday], Some(year))
        }
        _ => return Err(wrong_count(text, &pieces)),
    };
    let [minute, hour, day, month, weekday] = rest;
    Ok(Some(Fields {
        seconds: set(Kind::Second, second)?,
        minutes: set(Kind::Minute, minute)?,
        hours: set(Kind::Hour, hour)?,
        days: day_field(day)?,
        months: set(Kind::Month, month)?,
        weekdays: weekday_field(weekday)?,
        years: year.map(year_set).transpose()?,
        both_days: weekday.text.starts_with('+') || day.is_star() || weekday.is_star(),
        interval: second.is_star() || minute.is_star() || hour.is_star(),
    }))
}

/// The parts of a text that blanks separate.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let trimmed = text.trim_ascii();
    let start = text.len() - text.trim_ascii_start().len();
    Piece { text: trimmed, start }
        .split(&[' ', '\t'])
        .filter(|piece| !piece.text.is_empty())
        .collect()
}

fn nickname(pieces: &[Piece<'_>]) -> Result<Option<Fields>, CronError> {
    let [name, rest @ ..] = pieces else { return Ok(None) };
    if let Some(extra) = rest.first() {
        return Err(extra.error("a nickname stands alone"));
    }
    if name.text == "@reboot" {
        return Ok(None);
    }
    match NICKNAMES.iter().find(|(nickname, _)| *nickname == name.text) {
        Some((_, meaning)) => expression(meaning),
        None => {
            let error = name.error(format!("`{}` is not a nickname", name.text));
            let lower = name.text.to_ascii_lowercase();
            let known = NICKNAMES.iter().map(|(nickname, _)| *nickname).chain(["@reboot"]);
            Err(match known.clone().find(|nickname| *nickname == lower) {
                Some(nickname) => error.with_hint(format!("write `{nickname}` in lower case")),
                None => error.with_hint(format!("known: {}", known.collect::<Vec<_>>().join(" "))),
            })
        }
    }
}

fn wrong_count(text: &str, pieces: &[Piece<'_>]) -> CronError {
    let message = format!("expected 5, 6 or 7 fields, found {}", pieces.len());
    let first = pieces[0];
    if first.text.contains('=') {
        let message = format!("`{}` does not belong in the expression", first.text);
        return first.error(message).with_hint("set the time zone on the schedule");
    }
    match pieces.get(7) {
        Some(extra) => extra.error(message),
        None => {
            let end = text.trim_ascii_end().len();
            let hint = "5 fields are minute hour day-of-month month day-of-week; \
                        a sixth in front is the second, a seventh at the end the year";
            CronError::new(first.start, end - first.start, message).with_hint(hint)
        }
    }
}

/// A part of the expression that knows where it stands.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Piece<'a> {
    fn error(self, message: impl Into<String>) -> CronError {
        CronError::new(self.start, self.text.len(), message)
    }

    fn split(self, separators: &'a [char]) -> impl Iterator<Item = Piece<'a>> {
        let mut start = self.start;
        self.text.split(separators).map(move |text| {
            let piece = Piece { text, start };
            start += text.len() + 1;
            piece
        })
    }

    fn split_once(self, separator: char) -> Option<(Piece<'a>, Piece<'a>)> {
        let (left, right) = self.text.split_once(separator)?;
        let right_start = self.start + left.len() + separator.len_utf8();
        Some((Piece { text: left, start: self.start }, Piece { text: right, start: right_start }))
    }

    /// What is left when `suffix` is taken off the end, in any case.
    fn strip_suffix(self, suffix: &str) -> Option<Piece<'a>> {
        let at = self.text.len().checked_sub(suffix.len())?;
        let (text, end) = self.text.split_at_checked(at)?;
        end.eq_ignore_ascii_case(suffix).then_some(Piece { text, start: self.start })
    }

    /// What is left when `prefix` is taken off the front, in any case.
    fn strip_prefix(self, prefix: &str) -> Option<Piece<'a>> {
        let (front, text) = self.text.split_at_checked(prefix.len())?;
        let start = self.start + prefix.len();
        front.eq_ignore_ascii_case(prefix).then_some(Piece { text, start })
    }

    fn is(self, text: &str) -> bool {
        self.text.eq_ignore_ascii_case(text)
    }

    /// Whether the field counts as unrestricted.
    fn is_star(self) -> bool {
        self.text.starts_with('*') || self.text == "?"
    }

    /// The number, when it consists of digits alone and is not absurdly long.
    fn number(self) -> Option<u32> {
        let digits = self.text.bytes().all(|byte| byte.is_ascii_digit());
        if digits { self.text.parse().ok() } else { None }
    }
}

/// Which field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Second,
    Minute,
    Hour,
    Day,
    Month,
    Weekday,
    Year,
}

impl Kind {
    fn label(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day of month",
            Self::Month => "month",
            Self::Weekday => "day of week",
            Self::Year => "year",
        }
    }

    fn bounds(self) -> (u32, u32) {
        match self {
            Self::Second | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::Day => (1, 31),
            Self::Month => (1, 12),
            Self::Weekday => (0, 7),
            Self::Year => (YearSet::FIRST as u32, YearSet::LAST as u32),
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Month => &MONTHS,
            Self::Weekday => &WEEKDAYS,
            _ => &[],
        }
    }

    fn value(self, piece: Piece<'_>) -> Result<u32, CronError> {
        let (min, max) = self.bounds();
        let label = self.label();
        if piece.text.is_empty() {
            return Err(piece.error(format!("{label} is missing a value")));
        }
        if let Some(index) = self.names().iter().position(|name| piece.is(name)) {
            return Ok(index as u32 + min);
        }
        match piece.number() {
            Some(value) if (min..=max).contains(&value) => Ok(value),
            None if !piece.text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(self.not_a_value(piece))
            }
            _ => {
                let error =
                    piece.error(format!("{label} {} is out of range {min}-{max}", piece.text));
                let midnight = self == Self::Hour && piece.text == "24";
                Err(if midnight { error.with_hint("midnight is hour 0") } else { error })
            }
        }
    }

    fn not_a_value(self, piece: Piece<'_>) -> CronError {
        let (min, max) = self.bounds();
        let label = self.label();
        let article = if label == "hour" { "an" } else { "a" };
        let error = piece.error(format!("`{}` is not {article} {label}", piece.text));
        let lower = piece.text.to_ascii_lowercase();
        let hint = if piece.text.contains('+') {
            "`+` stands only at the start of the day-of-week field".to_owned()
        } else if piece.text == "?" {
            "use `*`; `?` stands only alone in a day field".to_owned()
        } else if let Some(name) = self.names().iter().find(|name| lower.starts_with(**name)) {
            format!("write `{name}`")
        } else if let [first, .., last] = self.names() {
            format!("use {min}-{max} or {first}-{last}")
        } else {
            format!("use {min}-{max}")
        };
        error.with_hint(hint)
    }

    /// Reads one entry of a list: a star, a value or a range, perhaps with a step.
    fn run(self, item: Piece<'_>) -> Result<Run, CronError> {
        let (min, max) = self.bounds();
        let (body, step) = match item.split_once('/') {
            Some((body, step)) => (body, Some(self.step(step)?)),
            None => (item, None),
        };
        let (first, last) = if body.text == "*" {
            (min, max)
        } else if let Some((first, last)) = body.split_once('-') {
            self.range(body, first, last)?
        } else if body.text.is_empty() && step.is_some() {
            return Err(item.error("a step needs `*`, a value or a range before it"));
        } else {
            let first = self.value(body)?;
            (first, if step.is_some() { max } else { first })
        };
        Ok(Run { first, last, step: step.unwrap_or(1) })
    }

    fn step(self, piece: Piece<'_>) -> Result<u32, CronError> {
        match piece.number() {
            Some(step @ 1..=STEP_MAX) => Ok(step),
            Some(0) => Err(piece.error(format!("{} step 0 goes nowhere", self.label()))),
            _ if piece.text.is_empty() => {
                Err(piece.error(format!("{} step is missing after `/`", self.label())))
            }
            _ => Err(piece.error(format!(
                "{} step `{}` is not a number from 1 to {STEP_MAX}",
                self.label(),
                piece.text
            ))),
        }
    }

    fn range(
        self,
        range: Piece<'_>,
        first: Piece<'_>,
        last: Piece<'_>,
    ) -> Result<(u32, u32), CronError> {
        if self == Self::Day && first.text.is_empty() && last.number().is_some() {
            let error = range.error(format!("`{}` is not a day of month", range.text));
            return Err(error.with_hint("`L` is the last day, `L-1` the one before it"));
        }
        let mut from = self.value(first)?;
        let mut to = match self {
            // Months end sooner, but days they do not have never match.
            Self::Day if last.is("L") => self.bounds().1,
            _ => self.value(last)?,
        };
        // Sunday is both 0 and 7: take the number that makes the range go forward.
        if self == Self::Weekday && from > to {
            if to == 0 {
                to = 7;
            } else if from == 7 {
                from = 0;
            }
        }
        if from > to {
            let message = format!("{} range `{}` runs backwards", self.label(), range.text);
            return Err(range.error(message).with_hint(self.two_ranges(from, to)));
        }
        Ok((from, to))
    }

    /// How to write a range that runs past the end of the field.
    fn two_ranges(self, from: u32, to: u32) -> String {
        let (min, max) = self.bounds();
        // Saturday ends the week; bound 7 is Sunday again.
        let max = if self == Self::Weekday { 6 } else { max };
        let part = |a: u32, b: u32| if a == b { a.to_string() } else { format!("{a}-{b}") };
        format!("write `{},{}`", part(from, max), part(min, to))
    }
}

/// The values `first`, `first + step`, ... up to `last`.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    last: u32,
    step: u32,
}

impl Run {
    fn values(self) -> impl Iterator<Item = u32> {
        (self.first..=self.last).step_by(self.step as usize)
    }

    fn bits(self) -> u64 {
        self.values().fold(0, |set, value| set | 1 << value)
    }
}

/// Reads a field that is a plain set of numbers below 64.
fn set(kind: Kind, field: Piece<'_>) -> Result<u64, CronError> {
    let mut set = 0;
    for item in field.split(&[',']) {
        set |= kind.run(item)?.bits();
    }
    Ok(set)
}

fn year_set(field: Piece<'_>) -> Result<YearSet, CronError> {
    let mut years = YearSet::default();
    for item in field.split(&[',']) {
        for year in Kind::Year.run(item)?.values() {
            years.insert(year as i32);
        }
    }
    Ok(years)
}

fn day_field(field: Piece<'_>) -> Result<DayField, CronError> {
    let mut days = DayField::default();
    if field.text == "?" {
        days.days = u32::MAX;
        return Ok(days);
    }
    for item in field.split(&[',']) {
        if item.is("L") {
            days.before_last |= 1;
        } else if item.is("LW") {
            days.weekday_near_last |= 1;
        } else if let Some(day) = item.strip_suffix("W") {
            if field.text.contains(',') {
                return Err(item.error("`W` goes with a single day, not with a list"));
            }
            if let Some(before) = day.strip_prefix("L-") {
                days.weekday_near_last |= 1 << days_before_last(before)?;
            } else if day.number().is_some() && !day.text.is_empty() {
                days.weekday_near |= 1 << Kind::Day.value(day)?;
            } else {
                return Err(item
                    .error("`W` goes with a single day of the month")
                    .with_hint("`15W` is the weekday nearest to the 15th, `LW` the last one"));
            }
        } else if let Some(before) = item.strip_prefix("L-") {
            days.before_last |= 1 << days_before_last(before)?;
        } else {
            days.days |= Kind::Day.run(item)?.bits() as u32;
        }
    }
    Ok(days)
}

/// Reads the number in `L-3`.
fn days_before_last(piece: Piece<'_>) -> Result<u32, CronError> {
    match piece.number() {
        Some(days @ 0..=30) => Ok(days),
        _ => Err(piece.error("`L-` is followed by a number of days from 0 to 30")),
    }
}

fn weekday_field(field: Piece<'_>) -> Result<WeekdayField, CronError> {
    let mut weekdays = WeekdayField::default();
    // The `+` is about both day fields, see `both_days`.
    let field = field.strip_prefix("+").unwrap_or(field);
    if field.text == "?" {
        weekdays.every = 0x7f;
        return Ok(weekdays);
    }
    for item in field.split(&[',']) {
        if item.is("L") {
            return Err(item
                .error("`L` needs a day of week before it")
                .with_hint("`5L` is the last Friday of the month"));
        } else if let Some((day, nth)) = item.split_once('#') {
            let day = Kind::Weekday.value(day)? % 7;
            match nth.number() {
                _ if nth.is("L") => weekdays.last |= 1 << day,
                Some(nth @ 1..=5) => weekdays.nth[nth as usize - 1] |= 1 << day,
                _ => {
                    return Err(nth.error("`#` is followed by a number from 1 to 5 or by `L`"));
                }
            }
        } else if let Some(day) = item.strip_suffix("L") {
            weekdays.last |= 1 << (Kind::Weekday.value(day)? % 7);
        } else {
            let set = Kind::Weekday.run(item)?.bits() as u32;
            weekdays.every |= (set | set >> 7) & 0x7f;
        }
    }
    Ok(weekdays)
}
