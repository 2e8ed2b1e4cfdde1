//! Walking an expression forwards and backwards on a clock that never changes.
//!
//! Times here are seconds since 1970-01-01 00:00 on the wall of some place. Time zones and their
//! clock changes are in [`super::search`].

use super::date::{DAY_SECONDS, Date, YEARS};
use super::fields::Fields;

/// After so many years the calendar repeats, weekdays included: what did not match by then never
/// will. This bounds every search.
const CYCLE_YEARS: i32 = 400;

impl Fields {
    /// Whether the expression names this local second.
    pub(super) fn matches_local(&self, local: i64) -> bool {
        let (day, time) = split(local);
        self.has_day(day) && self.has_time(time)
    }

    /// The first local second that matches and is not before `from`.
    pub(super) fn next_local(&self, from: i64) -> Option<i64> {
        let (day, time) = split(from);
        if self.has_day(day)
            && let Some(time) = self.next_time(time)
        {
            return Some(day * DAY_SECONDS + time);
        }
        Some(self.next_day(day + 1)? * DAY_SECONDS + self.next_time(0)?)
    }

    /// The last local second that matches and is not after `until`.
    pub(super) fn previous_local(&self, until: i64) -> Option<i64> {
        let (day, time) = split(until);
        if self.has_day(day)
            && let Some(time) = self.previous_time(time)
        {
            return Some(day * DAY_SECONDS + time);
        }
        let day = self.previous_day(day - 1)?;
        Some(day * DAY_SECONDS + self.previous_time(DAY_SECONDS - 1)?)
    }

    /// How many local seconds from `from` to `until`, both included, match.
    pub(super) fn count_local(&self, from: i64, until: i64) -> u64 {
        if until < from {
            return 0;
        }
        let (first_day, first_time) = split(from);
        let (last_day, last_time) = split(until + 1);
        let mut count = self.count_days(first_day, last_day) * self.times_before(DAY_SECONDS);
        if self.has_day(last_day) {
            count += self.times_before(last_time);
        }
        if self.has_day(first_day) {
            // Cannot be negative: either the whole first day was counted, or it is also the last.
            count -= self.times_before(first_time);
        }
        count
    }

    fn has_day(&self, day: i64) -> bool {
        let date = Date::from_days(day);
        self.days_of(date.year, date.month) >> date.day & 1 == 1
    }

    fn next_day(&self, from: i64) -> Option<i64> {
        let Date { mut year, mut month, day } = Date::from_days(from);
        let limit = match self.years {
            Some(_) => *YEARS.end(),
            None => (year + CYCLE_YEARS).min(*YEARS.end()),
        };
        let mut days = self.days_of(year, month) & (u32::MAX << day);
        while days == 0 {
            month += 1;
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
            if let Some(years) = self.years
                && !years.contains(year)
            {
                (year, month) = (years.at_or_after(year)?, 1);
            }
            if year > limit {
                return None;
            }
            days = self.days_of(year, month);
        }
        Some(Date { year, month, day: days.trailing_zeros() }.to_days())
    }

    fn previous_day(&self, until: i64) -> Option<i64> {
        let Date { mut year, mut month, day } = Date::from_days(until);
        let limit = match self.years {
            Some(_) => *YEARS.start(),
            None => (year - CYCLE_YEARS).max(*YEARS.start()),
        };
        let mut days = self.days_of(year, month) & (u32::MAX >> (31 - day));
        while days == 0 {
            month -= 1;
            if month < 1 {
                (year, month) = (year - 1, 12);
            }
            if let Some(years) = self.years
                && !years.contains(year)
            {
                (year, month) = (years.at_or_before(year)?, 12);
            }
            if year < limit {
                return None;
            }
            days = self.days_of(year, month);
        }
        Some(Date { year, month, day: days.ilog2() }.to_days())
    }

    /// How many days from `from`, up to but without `until`, match.
    fn count_days(&self, from: i64, until: i64) -> u64 {
        let Date { mut year, mut month, day } = Date::from_days(from);
        let end = Date::from_days(until);
        let mut days = self.days_of(year, month) & (u32::MAX << day);
        let mut count = 0;
        while (year, month) < (end.year, end.month) {
            count += u64::from(days.count_ones());
            month += 1;
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
            days = self.days_of(year, month);
        }
        count + u64::from((days & !(u32::MAX << end.day)).count_ones())
    }

    fn has_time(&self, time: i64) -> bool {
        let (hour, minute, second) = clock(time);
        self.hours >> hour & self.minutes >> minute & self.seconds >> second & 1 == 1
    }

    fn next_time(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = clock(from);
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = next_bit(self.seconds, second)
            {
                return Some(seconds_of(hour, minute, second));
            }
            if let Some(minute) = next_bit(self.minutes, minute + 1) {
                return Some(seconds_of(hour, minute, next_bit(self.seconds, 0)?));
            }
        }
        let hour = next_bit(self.hours, hour + 1)?;
        Some(seconds_of(hour, next_bit(self.minutes, 0)?, next_bit(self.seconds, 0)?))
    }

    fn previous_time(&self, until: i64) -> Option<i64> {
        let (hour, minute, second) = clock(until);
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = last_bit_before(self.seconds, second + 1)
            {
                return Some(seconds_of(hour, minute, second));
            }
            if let Some(minute) = last_bit_before(self.minutes, minute) {
                return Some(seconds_of(hour, minute, last_bit_before(self.seconds, 60)?));
            }
        }
        let hour = last_bit_before(self.hours, hour)?;
        let minute = last_bit_before(self.minutes, 60)?;
        Some(seconds_of(hour, minute, last_bit_before(self.seconds, 60)?))
    }

    /// How many times of a matching day lie before `time`, which may be the end of the day.
    fn times_before(&self, time: i64) -> u64 {
        let (hour, minute, second) = clock(time);
        let per_minute = u64::from(self.seconds.count_ones());
        let per_hour = per_minute * u64::from(self.minutes.count_ones());
        let mut count = per_hour * bits_below(self.hours, hour);
        if self.hours >> hour & 1 == 1 {
            count += per_minute * bits_below(self.minutes, minute);
            if self.minutes >> minute & 1 == 1 {
                count += bits_below(self.seconds, second);
            }
        }
        count
    }
}

/// The day, and the second of the day.
fn split(local: i64) -> (i64, i64) {
    (local.div_euclid(DAY_SECONDS), local.rem_euclid(DAY_SECONDS))
}

/// Hour, minute and second; the hour is 24 at the end of a day.
fn clock(time: i64) -> (u32, u32, u32) {
    let time = time as u32;
    (time / 3_600, time / 60 % 60, time % 60)
}

fn seconds_of(hour: u32, minute: u32, second: u32) -> i64 {
    i64::from(hour * 3_600 + minute * 60 + second)
}

/// The lowest bit of `set` at `from` or above; `from` is below 64.
fn next_bit(set: u64, from: u32) -> Option<u32> {
    let above = set & (u64::MAX << from);
    (above != 0).then(|| above.trailing_zeros())
}

/// The highest bit of `set` below `end`; `end` is below 64.
fn last_bit_before(set: u64, end: u32) -> Option<u32> {
    let below = set & !(u64::MAX << end);
    (below != 0).then(|| below.ilog2())
}

fn bits_below(set: u64, end: u32) -> u64 {
    u64::from((set & !(u64::MAX << end)).count_ones())
}
