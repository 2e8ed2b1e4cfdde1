//! What holds for every expression, zone and start, tried on many made up at random.
//!
//! Particular rules are tested beside the code.

use tidewheel_core::calendar::{ClockChanges, Cron, Fold, Gap, Zone};
use tidewheel_core::time::Timestamp;

/// A small generator of numbers (xorshift), the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len() as u64) as usize]
    }
}

const SECONDS: [&str; 5] = ["0", "*/20", "15,45", "0-2", "59"];
const MINUTES: [&str; 9] = ["*", "0", "30", "*/15", "5/20", "0-10/5", "0,30,59", "*/7,3", "*/999"];
const HOURS: [&str; 9] = ["*", "1", "2", "*/2", "0-23", "1-3", "0,2,23", "23", "*/3"];
const DAYS: [&str; 10] = ["*", "1", "*/2", "29", "31", "L", "LW", "15W", "L-2", "10-20"];
const MONTHS: [&str; 7] = ["*", "*", "*", "3,10,11", "1/3", "feb", "apr-sep"];
const WEEKDAYS: [&str; 8] = ["*", "*", "sun", "mon-fri", "*/2", "mon#2", "5L", "+sat,sun"];
const ZONES: [&str; 12] = [
    "UTC",
    "+05:30",
    "Europe/London",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Antarctica/Troll",
    "America/Santiago",
    "Asia/Tehran",
];
/// Instants near clock changes, and some far from any.
const MOMENTS: [&str; 14] = [
    "2025-03-30T01:00:00Z",
    "2025-10-26T01:00:00Z",
    "2025-03-09T07:00:00Z",
    "2025-11-02T06:00:00Z",
    "2025-10-04T15:30:00Z",
    "2025-04-05T15:00:00Z",
    "2018-11-04T03:00:00Z",
    "2018-02-18T02:00:00Z",
    "2011-12-30T10:00:00Z",
    "2025-04-24T22:00:00Z",
    "2025-10-30T21:00:00Z",
    "2025-04-06T02:00:00Z",
    "2024-02-28T23:59:59Z",
    "1999-12-31T12:00:00Z",
];

fn expression(random: &mut Random) -> String {
    let mut fields = vec![
        random.pick(&MINUTES),
        random.pick(&HOURS),
        random.pick(&DAYS),
        random.pick(&MONTHS),
        random.pick(&WEEKDAYS),
    ];
    if random.below(4) == 0 {
        fields.insert(0, random.pick(&SECONDS));
    }
    fields.join(" ")
}

fn clock_changes(random: &mut Random) -> ClockChanges {
    ClockChanges {
        gap: if random.below(4) == 0 { Gap::Skip } else { Gap::Next },
        fold: if random.below(4) == 0 { Fold::Both } else { Fold::First },
    }
}

/// A start within a day and a half of a notable instant.
fn start(random: &mut Random) -> Timestamp {
    let moment: Timestamp = random.pick(&MOMENTS).parse().expect("an instant");
    let micros = random.below(3 * 86_400_000_000) as i64 - 3 * 43_200_000_000;
    let micros = if random.below(2) == 0 { micros / 60_000_000 * 60_000_000 } else { micros };
    Timestamp::from_micros(moment.as_micros() + micros)
}

#[test]
fn forward_and_backward_search_counting_and_matching_agree() {
    let mut random = Random(0x5eed_cafe_f00d_0001);
    for _ in 0..4_000 {
        let text = expression(&mut random);
        let cron = Cron::parse(&text).expect(&text).with_clock_changes(clock_changes(&mut random));
        let zone = Zone::named(random.pick(&ZONES)).expect("bundled");
        let start = start(&mut random);
        let context = format!("`{text}` in {zone} after {start}");
        let found: Vec<Timestamp> = cron.upcoming(start, &zone).take(20).collect();
        let Some(last) = found.last().copied() else {
            assert!(!cron.has_instants(), "{context}");
            continue;
        };
        assert!(found[0] > start, "{context}");
        assert!(found.is_sorted_by(|a, b| a < b), "{context}: {found:?}");
        for (index, instant) in found.iter().enumerate() {
            assert!(cron.matches(*instant, &zone), "{context}: {instant}");
            // From anywhere between two firings the next one is the same.
            let before = if index == 0 { start } else { found[index - 1] };
            let micros = random.below((instant.as_micros() - before.as_micros()) as u64) as i64;
            let between = Timestamp::from_micros(before.as_micros() + micros);
            assert_eq!(cron.next_after(between, &zone), Some(*instant), "{context}: {between}");
            if index > 0 {
                let later = Timestamp::from_micros(between.as_micros() + 1);
                assert_eq!(cron.previous_before(later, &zone), Some(before), "{context}: {later}");
            }
            assert_eq!(cron.count_between(start, *instant, &zone), index as u64 + 1, "{context}");
        }
        assert_eq!(cron.count_between(last, last, &zone), 0, "{context}");
    }
}

#[test]
fn matching_every_second_finds_the_same_firings_as_the_search() {
    let mut random = Random(0x5eed_cafe_f00d_0002);
    for _ in 0..40 {
        let text = expression(&mut random);
        let cron = Cron::parse(&text).expect(&text).with_clock_changes(clock_changes(&mut random));
        let zone = Zone::named(random.pick(&ZONES)).expect("bundled");
        let start = start(&mut random);
        let first = start.as_micros().div_euclid(1_000_000) + 1;
        let end = Timestamp::from_seconds(first + 5 * 3_600);
        let tried: Vec<Timestamp> = (first..=first + 5 * 3_600)
            .map(Timestamp::from_seconds)
            .filter(|instant| cron.matches(*instant, &zone))
            .collect();
        let found: Vec<Timestamp> =
            cron.upcoming(start, &zone).take_while(|instant| *instant <= end).collect();
        assert_eq!(tried, found, "`{text}` in {zone} after {start}");
    }
}

#[test]
fn no_text_makes_the_parser_panic() {
    const PARTS: [&str; 40] = [
        "*",
        "?",
        "/",
        "-",
        ",",
        "#",
        "+",
        "L",
        "W",
        "l",
        "w",
        "@",
        " ",
        " ",
        " ",
        "\t",
        "0",
        "1",
        "5",
        "9",
        "59",
        "60",
        "31",
        "32",
        "99999999999",
        "mon",
        "SUN",
        "jan",
        "é",
        "\u{1F600}",
        "LW",
        "L-",
        "15W",
        "*/",
        "2024",
        "\n",
        "\0",
        "@daily",
        "=",
        "5L",
    ];
    let mut random = Random(0x5eed_cafe_f00d_0004);
    let zone = Zone::named("Australia/Lord_Howe").expect("bundled");
    let start = Timestamp::from_seconds(1_750_000_000);
    let mut accepted = 0;
    for round in 0..60_000 {
        let length = random.below(16) as usize;
        let mut text = String::new();
        for _ in 0..length {
            text.push_str(random.pick(&PARTS));
        }
        if round % 2 == 0 {
            // Half of them close to valid: one odd field among stars.
            text = format!("{} * * * *", text.replace([' ', '\t', '\n'], ""));
        }
        match Cron::parse(&text) {
            Ok(cron) => {
                accepted += 1;
                let _ = (cron.next_after(start, &zone), cron.previous_before(start, &zone));
            }
            Err(error) => {
                assert!(error.position() + error.length() <= text.len(), "`{text}`: {error:?}");
                assert!(text.is_char_boundary(error.position()), "`{text}`: {error:?}");
                assert!(error.caret(&text).contains('^'), "`{text}`: {error:?}");
            }
        }
        // Looking for similar names is slow.
        if round % 500 == 0 {
            let _ = (Zone::named(&text), Zone::named(&format!("+{text}")));
        }
    }
    assert!(accepted > 300, "{accepted}");
}
