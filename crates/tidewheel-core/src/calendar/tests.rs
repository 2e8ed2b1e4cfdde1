//! What expressions mean, rule by rule, and a table of instants worked out by other means.
//!
//! The vectors of other projects and the properties that hold for all expressions are in the
//! crate's `tests` folder.

use std::time::Duration;

use super::steps::counted;
use super::{ClockChanges, Cron, Fold, Gap, Zone};
use crate::time::Timestamp;

const NEW_YORK: &str = "America/New_York";

fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

fn zone(name: &str) -> Zone {
    Zone::named(name).expect("bundled")
}

fn cron(text: &str) -> Cron {
    Cron::parse(text).unwrap_or_else(|error| panic!("{error}\n{}", error.caret(text)))
}

/// The first `count` instants after `start`, as text.
fn next(expression: &str, zone_name: &str, start: &str, count: usize) -> Vec<String> {
    let zone = zone(zone_name);
    cron(expression).upcoming(at(start), &zone).take(count).map(|at| at.to_string()).collect()
}

#[test]
fn the_golden_table_holds() {
    let mut rows = 0;
    for line in include_str!("golden.txt").lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [expression, zone_name, start, expected] = parts[..] else { panic!("{line}") };
        let zone = zone(zone_name);
        let cron = cron(expression);
        let expected: Vec<Timestamp> = expected.split(' ').map(at).collect();
        let found: Vec<Timestamp> = cron.upcoming(at(start), &zone).take(expected.len()).collect();
        assert_eq!(found, expected, "{line}");
        let last = expected[expected.len() - 1];
        assert_eq!(cron.count_between(at(start), last, &zone), 5, "{line}");
        for pair in expected.windows(2) {
            assert_eq!(cron.previous_before(pair[1], &zone), Some(pair[0]), "{line}");
            assert!(cron.matches(pair[0], &zone), "{line}");
        }
        rows += 1;
    }
    assert_eq!(rows, 624);
}

#[test]
fn a_fixed_time_in_the_repeated_hour_fires_once_on_the_first_pass() {
    assert_eq!(
        next("30 1 * * *", NEW_YORK, "2025-11-02T04:00:00Z", 2),
        ["2025-11-02T05:30:00Z", "2025-11-03T06:30:00Z"]
    );
    assert_eq!(
        next("30 1 * * *", NEW_YORK, "2025-11-02T06:10:00Z", 1),
        ["2025-11-03T06:30:00Z"],
        "a start within the second pass does not bring it back"
    );
}

#[test]
fn a_rhythm_keeps_its_spacing_through_both_changes() {
    for start in ["2025-03-09T04:00:00Z", "2025-11-02T03:00:00Z"] {
        let zone = zone(NEW_YORK);
        let cron = cron("*/15 * * * *");
        let found: Vec<Timestamp> = cron.upcoming(at(start), &zone).take(40).collect();
        for pair in found.windows(2) {
            assert_eq!(pair[1].since(pair[0]), Duration::from_secs(900), "{start}");
        }
    }
}

#[test]
fn fixed_times_in_the_missing_hour_fire_once_together_when_it_ends() {
    assert_eq!(
        next("30 2 * * *", NEW_YORK, "2025-03-09T00:00:00Z", 2),
        ["2025-03-09T07:00:00Z", "2025-03-10T06:30:00Z"]
    );
    assert_eq!(
        next("0,20,40 2,3 * * *", NEW_YORK, "2025-03-09T00:00:00Z", 3),
        ["2025-03-09T07:00:00Z", "2025-03-09T07:20:00Z", "2025-03-09T07:40:00Z"]
    );
}

#[test]
fn the_gap_is_found_from_every_second_before_it() {
    let gap = at("2025-03-09T07:00:00Z");
    let zone = zone(NEW_YORK);
    let cron = cron("30 2 * * *");
    for seconds in [1, 2, 29, 30, 31, 59, 60, 61, 119, 120, 121, 1_800, 3_599, 3_600, 3_601] {
        let start = gap.before(Duration::from_secs(seconds));
        assert_eq!(cron.next_after(start, &zone), Some(gap), "{seconds} s before");
    }
    let just_before = gap.before(Duration::from_micros(1));
    assert_eq!(cron.next_after(just_before, &zone), Some(gap));
    assert_eq!(cron.next_after(gap, &zone), Some(at("2025-03-10T06:30:00Z")));
}

#[test]
fn a_schedule_may_skip_the_gap_instead() {
    let skip = ClockChanges { gap: Gap::Skip, fold: Fold::First };
    let cron = cron("30 2 * * *").with_clock_changes(skip);
    let zone = zone(NEW_YORK);
    assert_eq!(
        cron.next_after(at("2025-03-09T00:00:00Z"), &zone),
        Some(at("2025-03-10T06:30:00Z"))
    );
    assert_eq!(
        cron.previous_before(at("2025-03-10T00:00:00Z"), &zone),
        Some(at("2025-03-08T07:30:00Z"))
    );
    assert!(!cron.matches(at("2025-03-09T07:00:00Z"), &zone));
    assert_eq!(cron.clock_changes(), skip);
}

#[test]
fn a_schedule_may_fire_on_both_passes() {
    let both = ClockChanges { gap: Gap::Next, fold: Fold::Both };
    let cron = cron("30 1 * * *").with_clock_changes(both);
    let zone = zone(NEW_YORK);
    let found: Vec<Timestamp> = cron.upcoming(at("2025-11-02T04:00:00Z"), &zone).take(3).collect();
    let expected = ["2025-11-02T05:30:00Z", "2025-11-02T06:30:00Z", "2025-11-03T06:30:00Z"].map(at);
    assert_eq!(found, expected);
}

#[test]
fn a_star_in_seconds_minutes_or_hours_makes_a_rhythm() {
    let day = |expression| {
        let (start, end) = (at("2025-11-02T04:00:00Z"), at("2025-11-03T05:00:00Z"));
        cron(expression).count_between(start, end, &zone(NEW_YORK))
    };
    assert_eq!(day("0 1 * * *"), 1);
    assert_eq!(day("0 * * * *"), 25);
    assert_eq!(day("0 0-23 * * *"), 24);
    assert_eq!(day("*/30 1 * * *"), 4);
    assert_eq!(day("0/30 1 * * *"), 2);
    assert_eq!(day("*/30 0 1 * * *"), 4);
    assert_eq!(day("0 0 */1 * * *"), 25);
}

#[test]
fn a_missing_day_fires_what_it_held_once_when_it_ends() {
    // Samoa went from 29 December 2011 to 31 December at midnight.
    assert_eq!(
        next("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", 3),
        ["2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"]
    );
    assert_eq!(
        next("0 12 30 * *", "Pacific/Apia", "2011-12-01T00:00:00Z", 2),
        ["2011-12-30T10:00:00Z", "2012-01-29T22:00:00Z"]
    );
}

#[test]
fn an_expression_that_never_matches_is_found_out() {
    let zone = zone(NEW_YORK);
    let now = at("2026-11-15T08:27:00Z");
    for text in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 L-30 2 *", "0 0 1 * +sun#5"] {
        let cron = cron(text);
        assert!(!cron.has_instants(), "{text}");
        assert_eq!(cron.next_after(now, &zone), None, "{text}");
        assert_eq!(cron.previous_before(now, &zone), None, "{text}");
        assert_eq!(cron.count_between(Timestamp::UNIX_EPOCH, now, &zone), 0);
    }
    assert!(cron("0 0 29 2 *").has_instants());
    assert!(cron("0 0 0 29 2 +thu 2024").has_instants());
    assert!(!cron("0 0 0 29 2 +fri 2024").has_instants());
}

#[test]
fn no_search_takes_long() {
    const ZONES: [&str; 4] = ["UTC", "America/New_York", "Africa/Casablanca", "Pacific/Apia"];
    const STARTS: [&str; 4] = [
        "1999-12-31T12:00:00Z",
        "2011-12-30T10:00:00Z",
        "2025-03-09T07:00:00Z",
        "2150-06-01T00:00:00Z",
    ];
    let mut most = 0;
    for days in ["30", "31", "29", "L-30", "31W", "L-29W"] {
        for weekday in ["+mon#5", "+sun#1", "*", "+fri", "+wedL"] {
            for year in ["*", "1970", "2199", "2100", "2000/100"] {
                let text = format!("0 30 2 {days} 2 {weekday} {year}");
                let cron = cron(&text);
                for (zone_name, start) in
                    ZONES.iter().flat_map(|it| STARTS.map(|start| (it, at(start))))
                {
                    let zone = zone(zone_name);
                    let (ahead, next) = counted(|| cron.next_after(start, &zone));
                    let (back, previous) = counted(|| cron.previous_before(start, &zone));
                    assert!(cron.has_instants() || (next, previous) == (None, None), "`{text}`");
                    most = most.max(ahead).max(back);
                }
            }
        }
    }
    // The calendar repeats after 4,800 months; some of them are examined twice around a clock change.
    assert!((100..=3 * 4_800).contains(&most), "{most} steps");
}

#[test]
fn counting_does_not_walk() {
    let start = at("2025-01-01T00:00:00Z");
    let end = start.after(Duration::from_secs(400 * 86_400));
    let cron = cron("* * * * * *");
    let zone = zone("Europe/London");
    let (steps, count) = counted(|| cron.count_between(start, end, &zone));
    assert_eq!(count, 400 * 86_400);
    // Each of 14 months and 3 segments, a few times at the most.
    assert!((17..=100).contains(&steps), "{steps} steps");
}

#[test]
fn firings_are_counted_without_the_start_and_with_the_end() {
    let zone = zone("Europe/London");
    let start = at("2025-01-01T00:00:00Z");
    let end = start.after(Duration::from_secs(400 * 86_400));
    assert_eq!(cron("* * * * * *").count_between(start, end, &zone), 400 * 86_400);
    assert_eq!(cron("0 12 * * *").count_between(start, end, &zone), 400);
    assert_eq!(cron("0 12 * * *").count_between(end, start, &zone), 0);
    let noon = at("2025-01-01T12:00:00Z");
    let just_before = noon.before(Duration::from_micros(1));
    assert_eq!(cron("0 12 * * *").count_between(just_before, noon, &zone), 1);
    assert_eq!(cron("0 12 * * *").count_between(noon, noon, &zone), 0);
}

#[test]
fn instants_lie_strictly_after_the_start_to_the_microsecond() {
    let utc = Zone::utc();
    let noon = at("2026-11-15T12:00:00Z");
    let cron = cron("0 12 * * *");
    assert_eq!(cron.next_after(noon, &utc), Some(at("2026-11-16T12:00:00Z")));
    assert_eq!(cron.next_after(Timestamp::from_micros(noon.as_micros() - 1), &utc), Some(noon));
    assert_eq!(cron.previous_before(noon, &utc), Some(at("2026-11-14T12:00:00Z")));
    assert_eq!(
        cron.previous_before(Timestamp::from_micros(noon.as_micros() + 1), &utc),
        Some(noon)
    );
    assert!(cron.matches(noon, &utc));
    assert!(!cron.matches(Timestamp::from_micros(noon.as_micros() + 1), &utc));
}

#[test]
fn either_day_field_is_enough_unless_one_begins_with_a_star_or_plus() {
    let november = |expression: &str| -> Vec<u32> {
        let utc = Zone::utc();
        let end = at("2026-12-01T00:00:00Z");
        cron(expression)
            .upcoming(at("2026-10-31T23:59:59Z"), &utc)
            .take_while(|at| *at < end)
            .map(|at| at.to_string()[8..10].parse().expect("a day"))
            .collect()
    };
    // November 2026 begins on a Sunday.
    assert_eq!(november("0 0 1 * mon"), [1, 2, 9, 16, 23, 30]);
    assert_eq!(november("0 0 2 * +mon"), [2]);
    assert_eq!(november("0 0 */10 * mon"), Vec::<u32>::new());
    assert_eq!(november("0 0 */5 * mon"), [16]);
    assert_eq!(november("0 0 1-7 * */7"), [1]);
    assert_eq!(november("0 0 ? * fri"), [6, 13, 20, 27]);
    assert_eq!(november("0 0 13 * ?"), [13]);
    assert_eq!(november("0 0 L * 7"), [1, 8, 15, 22, 29, 30]);
    assert_eq!(november("0 0 L-29,L,10 * *"), [1, 10, 30]);
    assert_eq!(november("0 0 1W * *"), [2]);
    assert_eq!(november("0 0 14w * *"), [13]);
    assert_eq!(november("0 0 31W * *"), Vec::<u32>::new());
    assert_eq!(november("0 0 lw * *"), [30]);
    assert_eq!(november("0 0 L-2W * *"), [27]);
    assert_eq!(november("0 0 * * sun#5,MON#1,2#L,3l"), [2, 24, 25, 29]);
    assert_eq!(november("0 0 28-L * *"), [28, 29, 30]);
}

#[test]
fn sunday_is_the_first_and_the_last_day_of_the_week() {
    let days = |expression: &str| {
        let (start, end) = (at("2026-11-14T23:59:59Z"), at("2026-11-21T23:59:59Z"));
        let utc = Zone::utc();
        let cron = cron(expression);
        let mut days: Vec<i64> = cron
            .upcoming(start, &utc)
            .take_while(|at| *at <= end)
            .map(|at| (at.as_micros() / 86_400_000_000 + 4) % 7)
            .collect();
        days.sort_unstable();
        days
    };
    assert_eq!(days("0 0 * * 0"), [0]);
    assert_eq!(days("0 0 * * 7"), [0]);
    assert_eq!(days("0 0 * * fri-sun"), [0, 5, 6]);
    assert_eq!(days("0 0 * * 5-7"), [0, 5, 6]);
    assert_eq!(days("0 0 * * 6-0"), [0, 6]);
    assert_eq!(days("0 0 * * 7-2"), [0, 1, 2]);
    assert_eq!(days("0 0 * * sun-mon"), [0, 1]);
    assert_eq!(days("0 0 * * sun-sun"), [0]);
    assert_eq!(days("0 0 * * 0-7"), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(days("0 0 * * */2"), [0, 2, 4, 6]);
}

#[test]
fn nicknames_stand_for_their_expressions() {
    for (nickname, expression) in [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        (" @monthly\t", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ] {
        let start = "2026-11-15T08:27:00Z";
        assert_eq!(next(nickname, NEW_YORK, start, 3), next(expression, NEW_YORK, start, 3));
    }
    let reboot = cron("@reboot");
    assert!(reboot.is_reboot() && !reboot.has_instants());
    assert_eq!(reboot.next_after(Timestamp::UNIX_EPOCH, &Zone::utc()), None);
    assert_eq!(reboot.upcoming(Timestamp::UNIX_EPOCH, &Zone::utc()).count(), 0);
    assert!(!cron("@daily").is_reboot());
}

#[test]
fn six_fields_have_seconds_and_seven_a_year() {
    assert_eq!(
        next("10/25 59 23 * * *", "UTC", "2026-11-15T23:59:10Z", 2),
        ["2026-11-15T23:59:35Z", "2026-11-16T23:59:10Z"]
    );
    assert_eq!(
        next("0 0 0 1 1 * 2020-2030/5,2199", "UTC", "2024-01-01T00:00:00Z", 9),
        ["2025-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "2199-01-01T00:00:00Z"]
    );
    let cron = cron("0 0 0 1 1 * 2020");
    let utc = Zone::utc();
    let start = at("2020-01-01T00:00:00Z");
    assert_eq!(cron.next_after(start, &utc), None);
    assert_eq!(cron.previous_before(at("2300-01-01T00:00:00Z"), &utc), Some(start));
    assert_eq!(cron.previous_before(start, &utc), None);
}

#[test]
fn the_ends_of_time_are_reached_without_trouble() {
    let zone = zone("Europe/London");
    let (first, last) = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
    let cron = cron("30 2 * * *");
    assert_eq!(cron.next_after(last, &zone), None);
    assert_eq!(cron.previous_before(first, &zone), None);
    assert!(cron.next_after(first, &zone).is_some());
    assert!(cron.previous_before(last, &zone).is_some());
    assert!(!cron.matches(first, &zone) && !cron.matches(last, &zone));
    assert!(cron.count_between(first, last, &zone) > 7_000_000);
}

#[test]
fn errors_name_the_place_and_a_way_out() {
    for (text, position, message, hint) in [
        ("60 * * * *", 0, "minute 60 is out of range 0-59", ""),
        ("0 24 * * *", 2, "hour 24 is out of range 0-23", "midnight is hour 0"),
        ("0 22-2 * * *", 2, "hour range `22-2` runs backwards", "write `22-23,0-2`"),
        ("0 0 * * fri-mon", 8, "day of week range `fri-mon` runs backwards", "write `5-6,0-1`"),
        ("0 0 * * friday", 8, "`friday` is not a day of week", "write `fri`"),
        ("0 0 * foo *", 6, "`foo` is not a month", "use 1-12 or jan-dec"),
        ("0 0 -1 * *", 4, "`-1` is not a day of month", "`L` is the last day"),
        ("0 0 1,2W * *", 6, "`W` goes with a single day, not with a list", ""),
        ("0 0 1-15W * *", 4, "`W` goes with a single day of the month", "`15W`"),
        ("0 0 * * L", 8, "`L` needs a day of week before it", "`5L`"),
        ("0 0 * * mon#6", 12, "`#` is followed by a number from 1 to 5 or by `L`", ""),
        ("*/0 * * * *", 2, "minute step 0 goes nowhere", ""),
        ("/30 * * * *", 0, "a step needs `*`, a value or a range before it", ""),
        ("1,,2 * * * *", 2, "minute is missing a value", ""),
        ("? * * * *", 0, "`?` is not a minute", "use `*`"),
        ("0 12 +1 * mon", 5, "`+1` is not a day of month", "`+` stands only"),
        ("  * * *", 2, "expected 5, 6 or 7 fields, found 3", "5 fields are minute"),
        ("* * * * * * * *", 14, "expected 5, 6 or 7 fields, found 8", ""),
        ("@Daily", 0, "`@Daily` is not a nickname", "write `@daily` in lower case"),
        ("@dayly", 0, "`@dayly` is not a nickname", "known: @yearly"),
        ("@daily 0", 7, "a nickname stands alone", ""),
        ("TZ=UTC 0 0 0 * * * * *", 0, "`TZ=UTC` does not belong in the expression", "set the"),
        ("", 0, "expression is empty", ""),
    ] {
        let error = Cron::parse(text).expect_err(text);
        assert_eq!((error.position(), error.message()), (position, message), "{text}");
        assert!(error.hint().unwrap_or("").starts_with(hint), "{text}: {:?}", error.hint());
        assert_eq!(error.to_string(), format!("{message} (position {})", position + 1));
    }
    let text = "0 61 * * *";
    let error = Cron::parse(text).expect_err("hour 61");
    assert_eq!(error.caret(text), "0 61 * * *\n  ^^");
}

#[test]
fn the_text_is_kept_as_written() {
    let text = "0  9 * * MON-FRI";
    assert_eq!(cron(text).to_string(), text);
    assert_eq!(text.parse::<Cron>().expect("valid"), cron(text));
}
