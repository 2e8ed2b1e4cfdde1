//! `tidewheel schedule next`: when does a schedule, or a cron expression, fire next?
//!
//! What an expression means is decided in `tidewheel_core::calendar`.

use anyhow::anyhow;
use jiff::tz::{Offset, TimeZone};
use serde_json::json;
use tidewheel::clock::wall_clock;
use tidewheel_client::desk::Desk;
use tidewheel_core::calendar::{Cron, CronError, Zone, ZoneError};
use tidewheel_core::time::Timestamp;

use super::named::upcoming;
use crate::cli::Format;
use crate::data::DataArgs;
use crate::error::CommandError;
use crate::ui::Ui;

/// Print the next instants of a schedule, or of a cron expression
///
/// An expression has five fields (minute, hour, day of month, month, day of week), six with seconds
/// first, seven with the year last, or is a nickname such as @daily. Names, ranges, lists, steps, L,
/// W and # are understood. If both day fields are restricted, either is enough.
///
/// When clocks change, a time of day that is left out fires once at the first instant after the gap,
/// and one that comes twice fires once, the first time. Expressions that repeat within the hour
/// follow the wall clock.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel schedule next nightly
  tidewheel schedule next --cron '*/15 9-17 * * mon-fri' --tz America/New_York
  tidewheel schedule next --cron '0 9 * * mon#1' --from 2027-01-01T00:00:00Z --count 12
  tidewheel schedule next --cron @weekly --format json

In JSON the result is { \"next\": [\"2026-11-16T02:30:00Z\", ...] }; the list is empty when no instant
follows.")]
pub(super) struct NextArgs {
    /// The schedule, of the data folder
    #[arg(required_unless_present = "cron", conflicts_with_all = ["cron", "tz", "from"])]
    schedule: Option<String>,

    /// The cron expression, in quotes
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    cron: Option<String>,

    /// The time zone it is read in: an IANA name or an offset such as +05:30
    #[arg(long, value_name = "ZONE", default_value = "UTC", allow_hyphen_values = true)]
    tz: String,

    /// Print instants strictly after this one (RFC 3339) [default: now]
    #[arg(long, value_name = "INSTANT")]
    from: Option<String>,

    /// How many instants to print
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    count: u32,

    #[command(flatten)]
    data: DataArgs,
}

pub(super) fn next(ui: &Ui, args: &NextArgs) -> Result<(), CommandError> {
    match (&args.schedule, &args.cron) {
        (Some(schedule), _) => of_schedule(ui, args, schedule),
        (None, cron) => of_expression(ui, args, cron.as_deref().unwrap_or_default()),
    }
}

fn of_schedule(ui: &Ui, args: &NextArgs, schedule: &str) -> Result<(), CommandError> {
    let count = args.count;
    let ask = async |desk: Desk| Ok(desk.upcoming(schedule, count).await?);
    let found = args.data.at_desk(ui, ask)?;
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(&found),
        Format::Human => ui.print(&upcoming(&found)),
    }
}

fn of_expression(ui: &Ui, args: &NextArgs, cron: &str) -> Result<(), CommandError> {
    let cron = Cron::parse(cron).map_err(|error| cron_error(&error, cron))?;
    let zone = Zone::named(&args.tz).map_err(zone_error)?;
    let from = match &args.from {
        Some(text) => instant(text, &zone)?,
        None => wall_clock(),
    };
    let instants: Vec<Timestamp> = cron.upcoming(from, &zone).take(args.count as usize).collect();
    match ui.format(Format::Human) {
        Format::Json => {
            let texts: Vec<String> = instants.iter().map(Timestamp::to_string).collect();
            ui.print(&json!({ "next": texts }).to_string())
        }
        Format::Human if args.count == 0 => Ok(()),
        Format::Human => ui.print(&describe(&cron, &zone, from, &instants)),
    }
}

/// An instant, or a local time in the zone.
fn instant(text: &str, zone: &Zone) -> Result<Timestamp, CommandError> {
    let text = text.trim();
    if text == "now" {
        return Ok(wall_clock());
    }
    text.parse().or_else(|error: tidewheel_core::time::ParseTimestampError| {
        let has_no_offset = text.parse::<jiff::Timestamp>().is_err();
        if has_no_offset
            && let Ok(local) = text.parse::<jiff::civil::DateTime>()
            && let Ok(zoned) = rules(zone).to_ambiguous_zoned(local).compatible()
        {
            return Ok(Timestamp::from_micros(zoned.timestamp().as_microsecond()));
        }
        Err(CommandError::input(anyhow!(error).context("failed to read --from"))
            .hint("write an instant such as 2026-11-15T08:27:00Z, or a local time without offset"))
    })
}

fn cron_error(error: &CronError, expression: &str) -> CommandError {
    let shown = CommandError::input(anyhow!("{error}"))
        .excerpt(error.caret(expression))
        .position(error.position());
    match error.hint() {
        Some(hint) => shown.hint(hint),
        None => shown,
    }
}

fn zone_error(error: ZoneError) -> CommandError {
    CommandError::input(error)
        .hint("name a zone as in Europe/Zurich, an offset as in +05:30, or UTC")
}

fn describe(cron: &Cron, zone: &Zone, from: Timestamp, instants: &[Timestamp]) -> String {
    let mut text = format!("{cron}  ({zone})\n");
    if instants.is_empty() {
        let why = if cron.is_reboot() {
            "it names an event, not a time"
        } else if cron.has_instants() {
            "its last instant has passed"
        } else {
            "no date matches"
        };
        text.push_str(&format!("  never: {why}\n"));
        return text;
    }
    let rules = rules(zone);
    for instant in instants {
        let ahead = distance(instant.since(from).as_secs());
        text.push_str(&format!("  {}   {ahead}\n", local(*instant, &rules)));
    }
    text
}

/// As people there read it: weekday, local time, offset.
fn local(instant: Timestamp, rules: &TimeZone) -> String {
    match jiff::Timestamp::from_microsecond(instant.as_micros()) {
        Ok(stamp) => stamp.to_zoned(rules.clone()).strftime("%a %Y-%m-%d %H:%M:%S %:z").to_string(),
        Err(_) => instant.to_string(),
    }
}

/// The zone as the library that prints local times knows it.
fn rules(zone: &Zone) -> TimeZone {
    let name = zone.name();
    if let Some((sign, digits)) =
        name.split_at_checked(1).filter(|(sign, _)| matches!(*sign, "+" | "-"))
    {
        // The core writes offsets as +05:30.
        let mut parts = digits.split(':').map(|part| part.parse().unwrap_or(0));
        let seconds = parts.next().unwrap_or(0) * 3600 + parts.next().unwrap_or(0) * 60;
        let seconds: i32 = if sign == "-" { -seconds } else { seconds };
        return Offset::from_seconds(seconds).map_or(TimeZone::UTC, TimeZone::fixed);
    }
    jiff::tz::db().get(name).unwrap_or(TimeZone::UTC)
}

/// A length of time in its two greatest units.
fn distance(seconds: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    if seconds >= 2 * 365 * 86_400 {
        return format!("in {} years", seconds / (365 * 86_400 + 20_926));
    }
    let first = UNITS.iter().position(|(_, length)| seconds >= *length).unwrap_or(3);
    let mut left = seconds;
    let mut words = vec!["in".to_owned()];
    for (unit, length) in UNITS.iter().skip(first).take(2) {
        let count = left / length;
        left %= length;
        if count > 0 || words.len() == 1 {
            words.push(format!("{count} {unit}"));
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_two_units() {
        for (seconds, text) in [
            (0, "in 0 s"),
            (59, "in 59 s"),
            (60, "in 1 min"),
            (3_725, "in 1 h 2 min"),
            (90_000, "in 1 d 1 h"),
            (86_400, "in 1 d"),
            (3 * 31_557_600, "in 3 years"),
        ] {
            assert_eq!(distance(seconds), text);
        }
    }

    #[test]
    fn local_times_carry_their_offset() {
        let winter: Timestamp = "2026-11-16T01:30:00Z".parse().expect("an instant");
        for (zone, text) in [
            ("Europe/Zurich", "Mon 2026-11-16 02:30:00 +01:00"),
            ("-03:30", "Sun 2026-11-15 22:00:00 -03:30"),
            ("UTC", "Mon 2026-11-16 01:30:00 +00:00"),
        ] {
            let zone = Zone::named(zone).expect("a zone");
            assert_eq!(local(winter, &rules(&zone)), text);
        }
    }

    #[test]
    fn a_local_time_is_read_in_the_zone() {
        let zone = Zone::named("Europe/Zurich").expect("a zone");
        let read = |text| instant(text, &zone).map(|instant| instant.to_string()).ok();
        assert_eq!(read("2026-07-01T12:00:00").as_deref(), Some("2026-07-01T10:00:00Z"));
        assert_eq!(read("2026-07-01T12:00:00+00:00").as_deref(), Some("2026-07-01T12:00:00Z"));
        assert_eq!(read("tomorrow"), None);
    }
}
