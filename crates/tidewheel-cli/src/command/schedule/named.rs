//! Schedules by name: how they stand, what became of their instants, and wishes about them.
//!
//! What is known and who may wish what is known at the desk.

use anyhow::anyhow;
use tidewheel::Timestamp;
use tidewheel_client::api::{
    BackfillWish, LedgerFate, LedgerLine, LedgerWish, ScheduleAsked, ScheduleLine, ScheduleWord,
    Upcoming,
};
use tidewheel_client::desk::{Desk, ScheduleWish};
use tidewheel_client::text::{ago, count, harmless, short_id, until};

use crate::cli::Format;
use crate::data::DeskArgs;
use crate::error::CommandError;
use crate::table::Table;
use crate::ui::Ui;

/// List schedules, with when they fire next
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel schedule list
  tidewheel schedule list --all --format json

It reads the data folder, so it works without a server; a schedule that no server has is `idle`.")]
pub(super) struct ListArgs {
    /// Those that have ended, too
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    data: DeskArgs,
}

pub(super) fn list(ui: &Ui, args: &ListArgs) -> Result<(), CommandError> {
    let all = args.all;
    let list = args.data.at_desk(ui, async |desk| Ok(desk.schedules(all).await?))?;
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&list);
    }
    if list.schedules.is_empty() {
        ui.note("there are no schedules; `tidewheel serve --flows DIR` sets those of flow files");
        return Ok(());
    }
    let mut table = Table::new(["SCHEDULE", "WHEN", "STATE", "NEXT", "LAST", "FIRED", "SKIPPED"]);
    for line in &list.schedules {
        table.row([
            harmless(&line.name),
            rule(line),
            state(line.state).to_owned(),
            line.next.filter(|_| line.state != ScheduleWord::Paused).map_or("-".into(), until),
            line.last.map_or("-".into(), ago),
            (line.fired + line.asked_for).to_string(),
            line.skipped.to_string(),
        ]);
    }
    ui.print(&table.to_string())
}

fn rule(line: &ScheduleLine) -> String {
    match line.zone.as_deref().filter(|zone| *zone != "UTC") {
        Some(zone) => format!("{} ({})", harmless(&line.rule), harmless(zone)),
        None => harmless(&line.rule),
    }
}

const fn state(word: ScheduleWord) -> &'static str {
    match word {
        ScheduleWord::Active => "active",
        ScheduleWord::Paused => "paused",
        ScheduleWord::Idle => "idle",
        ScheduleWord::Ended => "ended",
    }
}

/// The next instants of a schedule, for people.
pub(super) fn upcoming(found: &Upcoming) -> String {
    let zone = found.zone.as_deref().unwrap_or("UTC");
    let mut text = format!("{}  {}  ({})\n", harmless(&found.schedule), found.rule, harmless(zone));
    if found.next.is_empty() {
        text.push_str("  never, or not known yet\n");
    }
    for firing in &found.next {
        let mark = if firing.clock_change { "   the clocks change on this day" } else { "" };
        text.push_str(&format!("  {}   {}{mark}\n", firing.local, until(firing.at)));
    }
    text
}

/// The instants that a backfill would fire, for people.
fn would_fire(found: &Upcoming) -> String {
    let zone = harmless(found.zone.as_deref().unwrap_or("UTC"));
    let instants = count(found.next.len(), "instant");
    let mut text = format!("{}: {instants} would fire ({zone})\n", harmless(&found.schedule));
    for firing in &found.next {
        text.push_str(&format!("  {}   {}\n", firing.local, ago(firing.at)));
    }
    text
}

/// Show what became of each instant of a schedule, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel schedule ledger nightly
  tidewheel schedule ledger nightly --limit 100 --format json

Instants in a row that were skipped for one reason are one line. It reads the data folder, so it works
without a server, also for schedules that have ended.")]
pub(super) struct LedgerArgs {
    /// The schedule
    schedule: String,

    /// Only instants before this one (RFC 3339)
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    before: Option<Timestamp>,

    /// At most so many lines
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,

    #[command(flatten)]
    data: DeskArgs,
}

pub(super) fn ledger(ui: &Ui, args: &LedgerArgs) -> Result<(), CommandError> {
    let wish = LedgerWish { version: None, before: args.before, limit: args.limit };
    let ask =
        async |desk: tidewheel_client::desk::Desk| Ok(desk.ledger(&args.schedule, wish).await?);
    let ledger = args.data.at_desk(ui, ask)?;
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&ledger);
    }
    let mut table = Table::new(["INSTANT", "BY", "BECAME", "RUN", "STATE"]);
    for line in &ledger.firings {
        table.row([
            instants(line),
            line.origin.clone(),
            match line.fate {
                LedgerFate::Ran => "ran".to_owned(),
                LedgerFate::Skipped => format!("skipped: {}", why(line)),
                LedgerFate::NotMade => format!("no run: {}", why(line)),
            },
            line.run_id.as_deref().map_or("-".to_owned(), |run| short_id(run).to_string()),
            line.state.map_or("-".to_owned(), |state| state.to_string()),
        ]);
    }
    ui.print(&table.to_string())
}

fn why(line: &LedgerLine) -> String {
    line.why.as_deref().map(harmless).unwrap_or_default()
}

fn instants(line: &LedgerLine) -> String {
    match line.last {
        Some(last) => format!("{} to {last} ({})", line.nominal, line.count),
        None => line.nominal.to_string(),
    }
}

/// Let no instant of a schedule fire until it is resumed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel schedule pause nightly

A server must have it. What runs goes on, and a file that changes does not resume it.")]
pub(super) struct PauseArgs {
    /// The schedule
    schedule: String,

    #[command(flatten)]
    data: DeskArgs,
}

pub(super) fn pause(ui: &Ui, args: &PauseArgs) -> Result<(), CommandError> {
    wish(ui, &args.data, &args.schedule, ScheduleWish::Pause)
}

/// Let a schedule fire again
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel schedule resume nightly

A server must have it. What was missed follows its `misfire`.")]
pub(super) struct ResumeArgs {
    /// The schedule
    schedule: String,

    #[command(flatten)]
    data: DeskArgs,
}

pub(super) fn resume(ui: &Ui, args: &ResumeArgs) -> Result<(), CommandError> {
    wish(ui, &args.data, &args.schedule, ScheduleWish::Resume)
}

/// Fire a schedule once, now, outside its rule
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel schedule run nightly

A server must have it. It meets `overlap`, and works while the schedule is paused.")]
pub(super) struct RunArgs {
    /// The schedule
    schedule: String,

    #[command(flatten)]
    data: DeskArgs,
}

pub(super) fn fire(ui: &Ui, args: &RunArgs) -> Result<(), CommandError> {
    wish(ui, &args.data, &args.schedule, ScheduleWish::Fire)
}

/// Fire instants of the past
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel schedule backfill nightly --from 2026-11-01T00:00:00Z --until 2026-11-08T00:00:00Z
  tidewheel schedule backfill nightly --missed --dry-run
  tidewheel schedule backfill nightly --missed

A server must have it. Instants fire oldest first and one after the other, and each has a line of its own in
the ledger; steps know the instant as {{ run.scheduled_at }}.")]
pub(super) struct BackfillArgs {
    /// The schedule
    schedule: String,

    /// From this instant on (RFC 3339)
    #[arg(long, value_name = "INSTANT", value_parser = instant, required_unless_present = "missed")]
    from: Option<Timestamp>,

    /// Before this instant [default: now]
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    until: Option<Timestamp>,

    /// Only those that did not run
    #[arg(long)]
    missed: bool,

    /// Refuse to fire more than so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max: u32,

    /// Let them run beside each other
    #[arg(long)]
    at_once: bool,

    /// Show which instants would fire, and fire nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    data: DeskArgs,
}

pub(super) fn backfill(ui: &Ui, args: &BackfillArgs) -> Result<(), CommandError> {
    let wish = BackfillWish {
        version: None,
        from: args.from,
        until: args.until,
        missed: args.missed,
        max: Some(args.max),
        at_once: args.at_once,
    };
    let name = &args.schedule;
    if args.dry_run {
        let found = async |desk: Desk| Ok(desk.preview_backfill(name, wish).await?);
        let found = args.data.at_owner(ui, found)?;
        return match ui.format(Format::Human) {
            Format::Json => ui.print_json(&found),
            Format::Human => ui.print(&would_fire(&found)),
        };
    }
    let asked = args.data.at_owner(ui, async |desk| Ok(desk.backfill(name, wish).await?))?;
    said(ui, &asked)
}

fn wish(ui: &Ui, data: &DeskArgs, name: &str, wish: ScheduleWish) -> Result<(), CommandError> {
    let asked = data.at_owner(ui, async |desk| Ok(desk.ask_schedule(name, wish).await?))?;
    said(ui, &asked)
}

fn said(ui: &Ui, asked: &ScheduleAsked) -> Result<(), CommandError> {
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(asked);
    }
    let name = harmless(&asked.schedule);
    ui.print(&match asked.firings.filter(|_| asked.asked == "backfilled") {
        Some(firings) => format!("{name}: {} asked for", count(firings as usize, "firing")),
        None => format!("{name}: {}", asked.asked),
    })
}

fn instant(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|error: tidewheel_core::time::ParseTimestampError| {
        anyhow!(error).context("write an instant such as 2026-11-15T08:27:00Z").to_string()
    })
}
