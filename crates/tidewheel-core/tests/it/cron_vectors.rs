//! Vectors of cron expressions: own ones, and those of other projects, with the reasons for each difference.
//!
//! The vectors of others are not part of the repository: `./test data` needs them. Instants around clock changes are
//! in `src/calendar/golden.txt`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidewheel_core::calendar::{Cron, Zone};
use tidewheel_core::time::Timestamp;

/// One line of the vector file.
struct Vector {
    id: String,
    operation: String,
    expression: String,
    dialect: String,
    zone: String,
    start: String,
    inclusive: bool,
    expected: Vec<String>,
    fields: u64,
    both_days: bool,
    star_step_day: bool,
    changes: Vec<String>,
    options: Value,
}

impl Vector {
    fn read(line: &str) -> Self {
        let value: Value = serde_json::from_str(line).expect("a line of JSON");
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let list = |key: &str| -> Vec<String> {
            let items = value[key].as_array().map(Vec::as_slice).unwrap_or_default();
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            id: text("id"),
            operation: text("op"),
            expression: text("expr"),
            dialect: text("dialect"),
            zone: text("zone"),
            start: text("start"),
            inclusive: value["inclusive"] == true,
            expected: list("expect"),
            fields: value["fields"].as_u64().unwrap_or_default(),
            both_days: value["both_days"] == true,
            star_step_day: value["star_step_day"] == true,
            changes: list("dst"),
            options: value["options"].clone(),
        }
    }

    /// Reads a line of `tests/data/cron.txt`.
    fn own(line: &str) -> Self {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [operation, expression, zone, start, expected] = parts[..] else { panic!("{line}") };
        let mut value =
            json!({ "op": operation, "expr": expression, "zone": zone, "start": start });
        value["expect"] = expected.split_whitespace().collect();
        Self::read(&value.to_string())
    }

    fn is_required(&self) -> bool {
        matches!(self.dialect.as_str(), "consensus" | "crondst" | "cronsim")
            || self.dialect.starts_with("ocps-")
    }

    fn is(&self, dialect: &str) -> bool {
        self.dialect == dialect
    }

    fn has_change(&self, kind: &str) -> bool {
        self.changes.iter().any(|change| change == kind)
    }

    /// The fields of times of day: seconds if any, minutes, hours.
    fn clock_fields(&self) -> Vec<&str> {
        let count = if self.fields == 5 { 2 } else { 3 };
        self.expression.split_whitespace().take(count).collect()
    }

    fn is_rhythm(&self) -> bool {
        self.clock_fields().iter().any(|field| field.starts_with('*'))
    }

    /// The entries of all lists in the expression, without their steps.
    fn entries(&self) -> impl Iterator<Item = &str> {
        self.expression
            .split([' ', '\t', ','])
            .map(|entry| entry.split_once('/').map_or(entry, |(body, _)| body))
    }

    /// The ranges in the expression, names as numbers.
    fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        self.entries().filter_map(|entry| {
            let (first, last) = entry.split_once('-')?;
            Some((number(first)?, number(last)?))
        })
    }

    fn step_max(&self) -> u32 {
        let steps = self.expression.split([' ', '\t', ',']).filter_map(|entry| {
            let (_, step) = entry.split_once('/')?;
            step.parse().ok()
        });
        steps.max().unwrap_or_default()
    }

    /// Whether we give the answer that is expected.
    fn check(&self) -> Result<(), String> {
        let parsed = Cron::parse(&self.expression);
        match (self.operation.as_str(), &parsed) {
            ("reject", Err(_)) | ("accept", Ok(_)) | ("nonportable", _) => return Ok(()),
            ("reject", Ok(_)) => return Err("accepted".to_owned()),
            _ => {}
        }
        let cron = parsed.map_err(|error| error.to_string())?;
        let zone = Zone::named(&self.zone).map_err(|error| error.to_string())?;
        let start: Timestamp = self.start.parse().map_err(|_| "start".to_owned())?;
        match self.operation.as_str() {
            "match" if cron.matches(start, &zone) => Ok(()),
            "nomatch" if !cron.matches(start, &zone) => Ok(()),
            "match" | "nomatch" => Err("the contrary".to_owned()),
            "never" => match cron.next_after(start, &zone) {
                None => Ok(()),
                Some(found) => Err(found.to_string()),
            },
            "next" => self.check_next(&cron, &zone, start),
            other => Err(format!("unknown operation {other}")),
        }
    }

    fn check_next(&self, cron: &Cron, zone: &Zone, start: Timestamp) -> Result<(), String> {
        // Decimals beyond the sixth are cut off when read, so such a start is already passed.
        let decimals = self.start.split_once('.').map_or(0, |(_, rest)| rest.len() - 1);
        let start = if self.inclusive && decimals <= 6 {
            Timestamp::from_micros(start.as_micros() - 1)
        } else {
            start
        };
        let found: Vec<String> = cron
            .upcoming(start, zone)
            .take(self.expected.len())
            .map(|instant| instant.to_string())
            .collect();
        if found == self.expected { Ok(()) } else { Err(found.join(" ")) }
    }
}

/// A number, or the name of a month or weekday as one.
fn number(text: &str) -> Option<u32> {
    const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
    const WEEKDAYS: &str = "sunmontuewedthufrisat";
    let lower = text.to_ascii_lowercase();
    if lower.len() == 3 && !lower.as_bytes()[0].is_ascii_digit() {
        let index = |names: &str| names.find(&lower).map(|at| at as u32 / 3);
        return index(MONTHS).map(|month| month + 1).or_else(|| index(WEEKDAYS));
    }
    lower.parse().ok()
}

type Predicate = fn(&Vector) -> bool;

/// Why a vector of a dialect that is not ours may differ, and how many do.
const REASONS: [(&str, usize, Predicate); 22] = [
    ("Cronos requires both day fields, as croniter does with day_or=False", 87, |v| {
        v.both_days && (v.is("cronos") || v.options["day_or"] == "False")
    }),
    ("robfig, croniter and fugit count a star with a step as restricted", 4, |v| {
        v.star_step_day && !v.expression.contains('&')
    }),
    ("OCPS refuses ranges that run backwards", 118, |v| v.ranges().any(|(a, b)| a > b)),
    ("Cronos and gorhill refuse steps as wide as the field", 16, |v| {
        v.operation == "reject" && v.step_max() >= 8
    }),
    ("Cronos knows no year", 2, |v| v.is("cronos") && v.operation == "reject" && v.fields == 7),
    ("nicknames are case-sensitive in OCPS", 24, |v| {
        v.is("cronos") && v.expression.trim().starts_with('@')
    }),
    ("OCPS allows `?` in the day fields only", 2, |v| v.clock_fields().contains(&"?")),
    ("Cronos fires a rhythm, too, at the end of a gap", 11, |v| {
        v.is("cronos") && v.has_change("gap") && v.is_rhythm()
    }),
    ("Cronos leaves out the end of a gap when it is the start and inclusive", 2, |v| {
        v.is("cronos") && v.has_change("gap") && !v.is_rhythm() && v.inclusive
    }),
    ("Cronos counts ranges and steps without a star as a rhythm", 28, |v| {
        let clock = v.clock_fields().join(" ");
        v.is("cronos") && v.has_change("overlap") && !v.is_rhythm() && clock.contains(['-', '/'])
    }),
    ("robfig skips gaps", 2, |v| v.is("robfig") && v.has_change("gap") && !v.is_rhythm()),
    ("robfig fires twice what comes twice", 3, |v| {
        v.is("robfig") && v.has_change("overlap") && !v.is_rhythm()
    }),
    ("gorhill takes full names of weekdays, which Cronos and OCPS refuse", 3, |v| {
        v.is("gorhill") && v.expression.contains("friday")
    }),
    ("the sixth field is the year in gorhill", 1, |v| v.is("gorhill") && v.fields == 6),
    ("seconds come last in croniter", 10, |v| {
        v.is("croniter") && v.fields >= 6 && v.options["second_at_beginning"] != "True"
    }),
    ("a range from Sunday to Sunday is a week in croniter", 3, |v| {
        v.is("croniter") && v.ranges().any(|(a, b)| a == b)
    }),
    ("croniter takes `#` after a range", 10, |v| {
        v.is("croniter") && v.entries().any(|entry| entry.contains('-') && entry.contains('#'))
    }),
    ("`31W` falls on another day in short months in croniter, on none in Cronos", 1, |v| {
        v.is("croniter") && v.expression.contains("31W")
    }),
    ("croniter takes `W15` for `15W`", 1, |v| v.is("croniter") && v.expression.contains("W15")),
    ("fugit counts days from the end as negative numbers or writes `last`", 10, |v| {
        let negative = |entry: &str| entry.starts_with('-') || entry.ends_with("#-1");
        v.is("fugit") && (v.expression.contains("last") || v.entries().any(negative))
    }),
    ("fugit has hour 24", 1, |v| v.is("fugit") && v.clock_fields().contains(&"24")),
    ("fugit has `%` and `&`", 9, |v| v.is("fugit") && v.expression.contains(['%', '&'])),
];

/// How many vectors of each dialect we agree with, those that newer zone data overtook included.
const AGREED: [(&str, usize); 13] = [
    ("consensus", 568),
    ("crondst", 450),
    ("croniter", 125),
    ("cronos", 1_213),
    ("cronsim", 120),
    ("fugit", 42),
    ("gorhill", 60),
    ("ocps-1.0", 21),
    ("ocps-1.1", 19),
    ("ocps-1.2", 12),
    ("ocps-1.3", 11),
    ("ocps-1.4", 9),
    ("robfig", 89),
];

/// How many required vectors newer zone data may overtake.
const OVERTAKEN_MAX: usize = 3;

/// Morocco gave up its changing clocks in September 2026, after the vectors were computed: with a
/// newer zone database, rows that reach beyond cannot hold.
fn is_overtaken(vector: &Vector) -> bool {
    let zone = Zone::named("Africa/Casablanca").expect("bundled");
    let midnight = Cron::parse("0 0 1 1 *").expect("valid");
    let new_rules = midnight.matches("2027-01-01T00:00:00Z".parse().expect("valid"), &zone);
    let beyond = vector.expected.iter().any(|instant| instant.as_str() > "2026-09-20");
    vector.zone == "Africa/Casablanca" && beyond && new_rules
}

#[test]
fn every_own_vector_holds() {
    let lines = include_str!("../data/cron.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        assert_eq!(Vector::own(line).check(), Ok(()), "{line}");
        count += 1;
    }
    assert!(count > 50, "only {count} vectors were read");
}

mod shared_data {
    use super::*;

    #[test]
    #[ignore = "needs the shared data: ./test data"]
    fn every_vector_agrees_or_differs_for_a_known_reason() {
        let path = tidewheel_testing::shared_data("cron/vectors.jsonl");
        let text = std::fs::read_to_string(path).expect("text");
        let vectors: Vec<Vector> = text.lines().map(Vector::read).collect();
        let vectors: Vec<Vector> =
            vectors.into_iter().filter(|vector| !vector.is("systemd")).collect();
        let mut agreed: BTreeMap<&str, usize> = BTreeMap::new();
        let mut differing = [0; REASONS.len()];
        let mut overtaken = 0;
        let mut failures = Vec::new();
        for vector in &vectors {
            let Err(answer) = vector.check() else {
                *agreed.entry(&vector.dialect).or_default() += 1;
                continue;
            };
            let reason = REASONS.iter().position(|(_, _, applies)| applies(vector));
            match reason {
                _ if vector.is_required() && is_overtaken(vector) => {
                    *agreed.entry(&vector.dialect).or_default() += 1;
                    overtaken += 1;
                }
                Some(reason) if !vector.is_required() => differing[reason] += 1,
                _ => failures.push(format!(
                    "{} {} `{}` {} {}: {answer}, expected {:?}",
                    vector.dialect,
                    vector.id,
                    vector.expression,
                    vector.zone,
                    vector.start,
                    vector.expected
                )),
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        assert!(overtaken <= OVERTAKEN_MAX, "{overtaken}");
        assert_eq!(agreed, AGREED.into_iter().collect());
        for ((reason, expected, _), found) in REASONS.iter().zip(differing) {
            assert_eq!(found, *expected, "{reason}");
        }
    }
}
