//! A parsed expression as sets of bits, and which days of a month it names.
//!
//! Reading text is in [`super::parse`]; walking from one time to the next is in [`super::local`].

use super::date::{Date, days_in_month, weekday};

/// Every field of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    /// Bit n: second n.
    pub(super) seconds: u64,
    /// Bit n: minute n.
    pub(super) minutes: u64,
    /// Bit n: hour n.
    pub(super) hours: u64,
    pub(super) days: DayField,
    /// Bit n: month n, counted from 1.
    pub(super) months: u64,
    pub(super) weekdays: WeekdayField,
    /// `None`: every year.
    pub(super) years: Option<YearSet>,
    /// Both day fields must agree; otherwise either is enough.
    pub(super) both_days: bool,
    /// The expression describes a rhythm, not times of day: its second, minute or hour field
    /// begins with a star. Such expressions follow the wall clock through clock changes.
    pub(super) interval: bool,
}

/// The day of month field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DayField {
    /// Bit n: day n, counted from 1.
    pub(super) days: u32,
    /// Bit n: n days before the last day (`L`, `L-3`).
    pub(super) before_last: u32,
    /// Bit n: the weekday nearest to day n (`15W`).
    pub(super) weekday_near: u32,
    /// Bit n: the weekday nearest to n days before the last day (`LW`, `L-3W`).
    pub(super) weekday_near_last: u32,
}

/// The day of week field; in each set bit 0 is Sunday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WeekdayField {
    /// These days in every week.
    pub(super) every: u32,
    /// Element n: these days in their (n + 1)th occurrence in the month (`mon#2`).
    pub(super) nth: [u32; 5],
    /// The last of these days in the month (`5L`, `fri#L`).
    pub(super) last: u32,
}

/// Years from [`YearSet::FIRST`] to [`YearSet::LAST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct YearSet([u64; 4]);

impl YearSet {
    pub(super) const FIRST: i32 = 1970;
    pub(super) const LAST: i32 = 2199;

    pub(super) fn insert(&mut self, year: i32) {
        if (Self::FIRST..=Self::LAST).contains(&year) {
            let bit = (year - Self::FIRST) as usize;
            self.0[bit / 64] |= 1 << (bit % 64);
        }
    }

    pub(super) fn contains(self, year: i32) -> bool {
        if !(Self::FIRST..=Self::LAST).contains(&year) {
            return false;
        }
        let bit = (year - Self::FIRST) as usize;
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// The first year of the set that is not before `year`.
    pub(super) fn at_or_after(self, year: i32) -> Option<i32> {
        (year.max(Self::FIRST)..=Self::LAST).find(|year| self.contains(*year))
    }

    /// The last year of the set that is not after `year`.
    pub(super) fn at_or_before(self, year: i32) -> Option<i32> {
        (Self::FIRST..=year.min(Self::LAST)).rev().find(|year| self.contains(*year))
    }
}

impl Fields {
    /// The days of one month that match, bit n for day n; the month and year fields included.
    pub(super) fn days_of(&self, year: i32, month: u32) -> u32 {
        #[cfg(test)]
        super::steps::add();
        if self.months >> month & 1 == 0 || self.years.is_some_and(|years| !years.contains(year)) {
            return 0;
        }
        let last = days_in_month(year, month);
        let first_weekday = weekday(Date { year, month, day: 1 }.to_days());
        let by_day = self.days.in_month(last, first_weekday);
        let by_weekday = self.weekdays.in_month(last, first_weekday);
        let days = if self.both_days { by_day & by_weekday } else { by_day | by_weekday };
        days & days_through(last)
    }
}

/// The days 1 to `last`.
fn days_through(last: u32) -> u32 {
    // `last` is at most 31, so the shift stays within 64 bits.
    ((1_u64 << (last + 1)) - 2) as u32
}

impl DayField {
    fn in_month(&self, last: u32, first_weekday: u32) -> u32 {
        let mut days = self.days;
        if self.before_last | self.weekday_near | self.weekday_near_last == 0 {
            return days;
        }
        for before in bits(self.before_last).filter(|before| *before < last) {
            days |= 1 << (last - before);
        }
        for day in bits(self.weekday_near).filter(|day| *day <= last) {
            days |= 1 << nearest_weekday(day, last, first_weekday);
        }
        for before in bits(self.weekday_near_last).filter(|before| *before < last) {
            days |= 1 << nearest_weekday(last - before, last, first_weekday);
        }
        days
    }
}

impl WeekdayField {
    fn in_month(&self, last: u32, first_weekday: u32) -> u32 {
        let mut days = spread(self.every, first_weekday);
        if self.nth != [0; 5] {
            for (week, set) in self.nth.iter().enumerate() {
                let week = 0b1111_1110_u64 << (7 * week);
                days |= spread(*set, first_weekday) & week as u32;
            }
        }
        if self.last != 0 {
            days |= spread(self.last, first_weekday) & !days_through(last - 7);
        }
        days & days_through(last)
    }
}

/// All days of a month that fall on a weekday of `set`, when day 1 falls on `first_weekday`.
fn spread(set: u32, first_weekday: u32) -> u32 {
    // Rotate the week so that bit 0 is the weekday of day 1, repeat it five times, count from 1.
    let week = u64::from((set >> first_weekday | set << (7 - first_weekday)) & 0x7f);
    ((week | week << 7 | week << 14 | week << 21 | week << 28) << 1) as u32
}

/// The day from Monday to Friday nearest to `day`, without leaving the month.
fn nearest_weekday(day: u32, last: u32, first_weekday: u32) -> u32 {
    match (first_weekday + day - 1) % 7 {
        6 if day > 1 => day - 1,
        6 => day + 2,
        0 if day < last => day + 1,
        0 => day - 2,
        _ => day,
    }
}

/// The positions of the bits that are set, lowest first.
fn bits(mut set: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let bit = set.trailing_zeros();
            set &= set - 1;
            bit
        })
    })
}
