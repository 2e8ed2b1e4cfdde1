//! When an entry runs: the columns of a crontab as a schedule of ours.
//!
//! What a cron expression means is decided in `tidewheel_core::calendar`. It treats the two columns
//! for days as cron does: if both are restricted, either is enough.

use tidewheel_core::calendar::Cron;

/// When an entry runs.
#[derive(Debug, PartialEq)]
pub(super) enum When {
    Cron {
        expression: String,
        /// What people should know about how it was read.
        remarks: Vec<String>,
    },
    /// So many seconds after the run before has ended.
    After(u64),
    /// When the machine starts.
    Reboot,
    /// A schedule could not say it, for this reason.
    Unknown { text: String, why: String },
}

impl When {
    pub fn is_valid(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }
}

/// Names and bounds of the five columns.
const COLUMNS: [(&str, u64, u64); 5] = [
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of month", 1, 31),
    ("month", 1, 12),
    ("day of week", 0, 6),
];

/// Reads the columns. What is chosen by chance in cron depends on `command` here, so that the same
/// crontab always gives the same flows.
pub(super) fn read_when(columns: &[&str], command: &str) -> When {
    if let [nickname] = columns {
        return read_nickname(nickname);
    }
    let mut remarks = Vec::new();
    let mut fields = Vec::with_capacity(columns.len());
    for (column, (label, min, max)) in columns.iter().zip(COLUMNS) {
        if is_step_from_value(column) {
            remarks.push(format!(
                "cron programs differ about {label} `{column}`; it is read as from there to the end"
            ));
        }
        let seed = format!("{label} {command}");
        match chosen(column, min, max, &seed) {
            Some(value) => {
                remarks.push(format!("{label} `{column}` is any value; {value} was chosen"));
                fields.push(value.to_string());
            }
            None => fields.push((*column).to_owned()),
        }
    }
    checked(fields.join(" "), remarks)
}

fn read_nickname(nickname: &str) -> When {
    let lower = nickname.to_ascii_lowercase();
    if lower == "@reboot" {
        return When::Reboot;
    }
    match lower[1..].parse() {
        Ok(seconds) if seconds > 0 => When::After(seconds),
        _ => checked(lower, Vec::new()),
    }
}

fn checked(expression: String, remarks: Vec<String>) -> When {
    match Cron::parse(&expression) {
        Ok(cron) if cron.has_instants() => When::Cron { expression, remarks },
        Ok(_) => When::Unknown { text: expression, why: "no date matches it".to_owned() },
        Err(error) => {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            When::Unknown { text: expression, why: format!("{error}{hint}") }
        }
    }
}

/// Whether a column is of the form `5/15`.
fn is_step_from_value(column: &str) -> bool {
    column.split(',').any(|part| match part.split_once('/') {
        Some((start, _)) => !start.starts_with('*') && !start.contains('-') && !start.is_empty(),
        None => false,
    })
}

/// `a~b` in place of a column: one of these values, which stays the same.
fn chosen(column: &str, min: u64, max: u64, seed: &str) -> Option<u64> {
    let (from, to) = column.split_once('~')?;
    let bound = |text: &str, default: u64| match text {
        "" => Some(default),
        text => text.parse().ok().filter(|value| (min..=max).contains(value)),
    };
    let (from, to) = (bound(from, min)?, bound(to, max)?);
    let count = to.checked_sub(from)? + 1;
    // FNV-1a: short, and the same everywhere.
    let hash = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Some(from + (hash >> 16) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> When {
        read_when(&text.split(' ').collect::<Vec<_>>(), "backup")
    }

    #[test]
    fn expressions_are_kept() {
        for text in [
            "30 2 * * *",
            "*/5 * * * *",
            "0 0 1,15 * mon-fri",
            "0 9-17/2 * JAN-MAR 7",
            "@hourly",
            "@midnight",
            "@annually",
            "@every_minute",
        ] {
            let expected = When::Cron { expression: text.to_owned(), remarks: Vec::new() };
            assert_eq!(read(text), expected);
        }
        assert_eq!(read("@Weekly"), read("@weekly"));
    }

    #[test]
    fn what_is_no_cron_expression_is_said_otherwise() {
        assert_eq!(read("@reboot"), When::Reboot);
        assert_eq!(read("@600"), When::After(600));
    }

    #[test]
    fn what_cannot_be_said_has_a_reason() {
        for (text, reason) in [
            ("61 * * * *", "minute 61 is out of range 0-59"),
            ("0 22-6 * * *", "runs backwards"),
            ("0 9 * * monday", "write `mon`"),
            ("0 0 30 2 *", "no date matches it"),
            ("@sometimes", "is not a nickname"),
            ("@0", "is not a nickname"),
            ("H * * * *", "is not a minute"),
            ("50~70 * * * *", "is not a minute"),
            ("*/0 * * * *", "goes nowhere"),
        ] {
            match read(text) {
                When::Unknown { why, .. } => assert!(why.contains(reason), "{text}: {why}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_value_by_chance_is_chosen_once_and_for_all() {
        for (text, from, to) in
            [("~", 0, 59), ("10~20", 10, 20), ("50~", 50, 59), ("~5", 0, 5), ("7~7", 7, 7)]
        {
            let columns = [text, "2", "*", "*", "*"];
            let When::Cron { expression, remarks } = read_when(&columns, "backup") else {
                panic!("{text}");
            };
            let minute: u64 = expression.split(' ').next().unwrap().parse().unwrap();
            assert!((from..=to).contains(&minute), "{expression}");
            assert!(remarks[0].contains("was chosen"));
            assert_eq!(read_when(&columns, "backup"), When::Cron { expression, remarks });
        }
    }

    #[test]
    fn steps_from_a_value_are_remarked_upon() {
        let When::Cron { remarks, .. } = read("5/15 * * * *") else { panic!("it is read") };
        assert_eq!(remarks.len(), 1);
        let When::Cron { remarks, .. } = read("*/15 0-12/3 * * *") else { panic!("it is read") };
        assert!(remarks.is_empty());
    }
}
