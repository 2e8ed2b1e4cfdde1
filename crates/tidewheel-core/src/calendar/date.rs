//! Days of the proleptic Gregorian calendar as plain numbers.
//!
//! Time zones are not here: a day is counted from 1970-01-01 of whatever clock the caller reads.
//! The arithmetic is ours because the search steps through months by the thousand and must not
//! handle an error at each.

/// Seconds in a day without a clock change.
pub(super) const DAY_SECONDS: i64 = 86_400;

/// The first and last year the search looks at; the range of the time zone library.
pub(super) const YEARS: std::ops::RangeInclusive<i32> = -9_999..=9_999;

/// A year, a month (1-12) and a day of the month (1-31).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i32,
    pub(super) month: u32,
    pub(super) day: u32,
}

impl Date {
    /// The date `days` days after 1970-01-01.
    ///
    /// Counts in years that begin in March, so that the leap day is the last day of the year, and
    /// in eras of 400 years (146,097 days), after which the calendar repeats.
    pub(super) fn from_days(days: i64) -> Self {
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year: year as i32, month: month as u32, day: day as u32 }
    }

    /// Days since 1970-01-01.
    pub(super) fn to_days(self) -> i64 {
        let year = i64::from(self.year) - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted_month = i64::from((self.month + 9) % 12);
        let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }
}

/// The day of the week of a day counted from 1970-01-01, with Sunday as 0.
pub(super) fn weekday(days: i64) -> u32 {
    (days + 4).rem_euclid(7) as u32
}

/// How many days `month` has in `year`.
pub(super) fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_survive_the_way_there_and_back() {
        for days in (-4_371_222..=2_932_896).step_by(97) {
            let date = Date::from_days(days);
            assert_eq!(date.to_days(), days, "{date:?}");
            assert!((1..=days_in_month(date.year, date.month)).contains(&date.day), "{date:?}");
        }
    }

    #[test]
    fn known_days_have_their_weekday() {
        assert_eq!(weekday(0), 4, "1970-01-01 was a Thursday");
        let day = Date { year: 2024, month: 2, day: 29 }.to_days();
        assert_eq!(weekday(day), 4, "2024-02-29 was a Thursday");
        assert_eq!(weekday(-1), 3);
    }
}
